/* phase.c - the part of a run that a range of the program takes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

/* What is looked for, and what was met. */
struct phase {
    const struct defs *defs;
    const char *name;
    size_t name_length;
    unsigned long number;  /* 0 = all */
    ck_time_t *until;      /* by thread: end of its last one */
    unsigned long *counts; /* by rank */
    unsigned long most;
    struct region region;
    const char *others[PHASE_NAMES_MAX]; /* kept texts */
    size_t others_count;
};

/* "NAME#3" */
static void what_split(struct phase *phase, const char *what)
{
    const char *mark = strrchr(what, '#');
    char *end = NULL;

    phase->name = what;
    phase->name_length = strlen(what);
    if (mark != NULL && mark[1] >= '1' && mark[1] <= '9') {
        phase->number = strtoul(mark + 1, &end, 10);
    }
    if (end != NULL && *end == '\0') {
        phase->name_length = (size_t)(mark - what);
    } else {
        phase->number = 0;
    }
}

static bool is_sought(const struct phase *phase, const char *name)
{
    return strlen(name) == phase->name_length &&
           memcmp(name, phase->name, phase->name_length) == 0;
}

static void other_add(struct phase *phase, const char *name)
{
    for (size_t i = 0; i < phase->others_count; i++) {
        if (phase->others[i] == name) {
            return;
        }
    }
    if (phase->others_count < PHASE_NAMES_MAX) {
        phase->others[phase->others_count++] = name;
    }
}

static int phase_take(void *consumer, const struct timeline_event *event)
{
    struct phase *phase = consumer;
    const char *name;
    uint32_t rank = defs_rank_index(phase->defs, event->rank);

    if (event->record->kind != CK_KIND_RANGE || rank == DEFS_NONE ||
        event->thread >= phase->defs->threads_count) {
        return 0;
    }
    name = defs_name(phase->defs, event->process, event->record->name);
    name = name == NULL ? "" : name;
    if (!is_sought(phase, name)) {
        other_add(phase, name);
        return 0;
    }
    if (event->start < phase->until[event->thread]) {
        return 0;
    }
    phase->until[event->thread] = event->end;
    if (++phase->counts[rank] > phase->most) {
        phase->most = phase->counts[rank];
    }
    if (phase->number != 0 && phase->counts[rank] != phase->number) {
        return 0;
    }
    if (event->start < phase->region.start) {
        phase->region.start = event->start;
    }
    if (event->end > phase->region.end) {
        phase->region.end = event->end;
    }
    return 0;
}

static int none_found(const struct phase *phase, struct ck_err *err)
{
    char names[256] = "";
    size_t used = 0;

    if (phase->most > 0) {
        return ck_err_set(err,
                          "--region %s: no rank has that many of it, %lu at "
                          "most",
                          phase->name, phase->most);
    }
    for (size_t i = 0; i < phase->others_count && used < sizeof(names); i++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.40s",
                                 i > 0 ? ", " : "", phase->others[i]);
    }
    return ck_err_set(
        err, "--region %s: the run has no such range; %s%s", phase->name,
        used > 0 ? "some that it has: " : "it marks none (ck.h)", names);
}

/* Read the marks. 0 or -1. */
static int marks_read(struct rundir *store,
                      const struct axis *axis,
                      struct phase *phase,
                      struct ck_err *err)
{
    struct timeline_consumer consumer = {phase_take, phase, 1u << CK_CLASS_MARK,
                                         false};
    struct timeline timeline = {.store = store,
                                .defs = phase->defs,
                                .axis = axis,
                                .consumers = &consumer,
                                .consumers_count = 1,
                                .witnesses_count = 1};
    uint64_t events;

    return timeline_run(&timeline, &events, err);
}

int phase_find(struct rundir *store,
               const struct defs *defs,
               const struct axis *axis,
               const char *what,
               struct region *region,
               struct ck_err *err)
{
    struct phase phase = {.defs = defs, .region = {INT64_MAX, INT64_MIN}};
    int rc;

    what_split(&phase, what);
    phase.until = xmalloc((defs->threads_count + 1) * sizeof(*phase.until));
    phase.counts = xcalloc(defs->ranks_count + 1, sizeof(*phase.counts));
    for (size_t i = 0; i <= defs->threads_count; i++) {
        phase.until[i] = INT64_MIN;
    }
    rc = marks_read(store, axis, &phase, err);
    if (rc == 0 && phase.region.start >= phase.region.end) {
        rc = none_found(&phase, err);
    }
    *region = phase.region;
    free(phase.until);
    free(phase.counts);
    return rc;
}
