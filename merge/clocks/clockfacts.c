/* clockfacts.c - all that a run's events show of its clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockfacts.h"

#include <stdlib.h>

#include "merge/clocks/clockdevices.h"
#include "merge/clocks/clockedges.h"
#include "merge/clocks/clockkernels.h"
#include "merge/model/memory.h"
#include "merge/timeline/timeline.h"

#define OF(class) ((uint32_t)1 << CK_CLASS_##class)

struct clockfacts {
    const struct defs *defs; /* borrowed */
    const struct axis *axis; /* borrowed */
    struct clockedges *edges;
    struct clockkernels *kernels;
    struct clockdevices *devices;
};

struct clockfacts *clockfacts_create(const struct defs *defs,
                                     const struct axis *axis)
{
    struct clockfacts *facts = xcalloc(1, sizeof(*facts));

    facts->defs = defs;
    facts->axis = axis;
    facts->edges = clockedges_create(defs, axis);
    facts->kernels = clockkernels_create(defs, axis);
    facts->devices = clockdevices_create(defs, axis, facts->edges);
    return facts;
}

void clockfacts_destroy(struct clockfacts *facts)
{
    if (facts != NULL) {
        clockdevices_destroy(facts->devices);
        clockkernels_destroy(facts->kernels);
        clockedges_destroy(facts->edges);
        free(facts);
    }
}

int clockfacts_read(struct clockfacts *facts,
                    enum clockkernels_assume assume,
                    struct rundir *store,
                    struct ck_err *err)
{
    /* Calls are many: they are read where they may be launches. */
    bool has_devices = facts->defs->physicals_count > 0;
    const struct timeline_consumer consumers[] = {
        /* Counters report what is lost. */
        {clockedges_take, facts->edges,
         OF(MESSAGE) | OF(COLLECTIVE) | OF(COUNTER), false},
        {clockkernels_take, facts->kernels, OF(KERNEL), false},
        {clockdevices_take, facts->devices, OF(KERNEL) | OF(COPY) | OF(CALL),
         false}};
    struct timeline timeline = {
        .store = store,
        .defs = facts->defs,
        .axis = facts->axis,
        .consumers = consumers,
        .consumers_count = has_devices ? 3 : 1,
    };
    uint64_t events;

    if (timeline_run(&timeline, &events, err) != 0) {
        return -1;
    }
    clockdevices_finish(facts->devices);
    clockkernels_finish(facts->kernels, assume, facts->devices, facts->edges);
    return 0;
}

const struct clockkernels *clockfacts_kernels(const struct clockfacts *facts)
{
    return facts->kernels;
}

const struct clockedges *clockfacts_edges(const struct clockfacts *facts)
{
    return facts->edges;
}

void clockfacts_dates(const struct clockfacts *facts,
                      struct clockkernels_dates *dates,
                      ck_time_t *errors)
{
    clockkernels_dates(facts->kernels, dates, errors);
    /* The stamps of such a device are on no date. */
    for (size_t i = 0; i < clockedges_devices(facts->edges); i++) {
        if (clockedges_device_at(facts->edges, i)->is_apart) {
            dates->kernels = 0;
        }
    }
}

void clockfacts_report(const struct clockfacts *facts, struct report *report)
{
    clockkernels_report(facts->kernels, report);
    clockdevices_report(facts->devices, report);
}
