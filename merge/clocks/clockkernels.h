/* clockkernels.h - what collective kernels of devices show of clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of devices have no messages, but kernels of NCCL and its like in
 * which every rank's kernel ends after the last one's has begun. The n-th of a
 * name and process group (kernelgroup.h) on one rank is the n-th on all others
 * of the group, where all have equally many: a profile that lacks some makes
 * the name useless, and none of it is used. Where kernels have their numbers in
 * the group, those of equal number are the same, and others are left out; where
 * they do not, the times of their ends may show it (kernelshift.h).
 *
 * That two kernels met is a fact only where their group is known. Those without
 * are compared with dates, and where these disagree it is either: clocks that
 * are off, or several groups. Then they move no clock.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKKERNELS_H
#define CK_MERGE_CLOCKS_CLOCKKERNELS_H

#include <stdbool.h>

#include "merge/clocks/clockdevices.h"
#include "merge/clocks/clockedges.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/timeline.h"

/* Kernels of a name and group that are looked at, and such pairs. */
#define CLOCKKERNELS_EACH 4096
#define CLOCKKERNELS_NAMES 64
/* Stamps of devices, which a tracer made times of the host, may be off by so
 * much: what contradicts dates by more refutes them. */
#define CLOCKKERNELS_STAMPS (20 * CK_TIME_US)

struct clockkernels;
/* Borrowed. */
struct clockkernels *clockkernels_create(const struct defs *defs,
                                         const struct axis *axis);
void clockkernels_destroy(struct clockkernels *kernels);
/* A timeline_take_f. */
int clockkernels_take(void *kernels, const struct timeline_event *event);
/* Which kernels without a known group are taken to be of all ranks. */
enum clockkernels_assume {
    CLOCKKERNELS_NONE,  /* other facts place the clocks */
    CLOCKKERNELS_ALIKE, /* those that end together: nothing else does */
    CLOCKKERNELS_ALL,   /* the user asked for it */
};
/* Hand over what can be used, each on the clock of its device. */
void clockkernels_finish(struct clockkernels *kernels,
                         enum clockkernels_assume assume,
                         const struct clockdevices *devices,
                         struct clockedges *edges);
/* Once all is settled, of kernels of a name and group (kept texts) without
 * numbers: that of the rank's first one (by rank of the definitions),
 * so that those of equal number met; 0 = as the n-th are the same, or it is not
 * known. `kernels` may be NULL. */
uint32_t clockkernels_first(const struct clockkernels *kernels,
                            const char *name,
                            const char *group,
                            size_t rank);
/* Some recordings are profiles, which may lack some; false of NULL. */
bool clockkernels_is_partial(const struct clockkernels *kernels);
/* It is not known: nothing shows that the n-th are the same. */
bool clockkernels_is_doubtful(const struct clockkernels *kernels,
                              const char *name,
                              const char *group);
/* Once all is settled: those that a rank leaves before the last enters, into
 * report->causality. */
void clockkernels_report(const struct clockkernels *kernels,
                         struct report *report);
/* Do the dates of the clocks agree with these kernels? */
struct clockkernels_dates {
    uint64_t kernels; /* that were looked at */
    bool is_refuted;  /* a rank would leave long before another enters */
    ck_time_t worst;  /* of that, how long before; 0 = never */
    /* Without a known group, of names in which a rank would. */
    uint64_t apart;
    ck_time_t apart_worst;
};
/* While clocks are placed by their dates: `errors` (by rank of the definitions)
 * gets how far a rank's ends are from the others', again and again: as far its
 * date may be off. */
void clockkernels_dates(struct clockkernels *kernels,
                        struct clockkernels_dates *dates,
                        ck_time_t *errors);
/* True for a kernel that no rank can leave before all have entered. */
bool clockkernels_is_meeting(const char *name);

#endif
