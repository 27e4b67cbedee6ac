/* idealnetwork.h - the same run on a network that takes no time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a thread does outside MPI keeps its length; an MPI call is over when
 * those that it waits for have come, in the replay. What of it is not known
 * keeps its length too, and is counted.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_IDEALNETWORK_H
#define CK_MERGE_ANALYSIS_TOTALS_IDEALNETWORK_H

#include "merge/model/defs.h"
#include "merge/model/interval.h"

struct idealnetwork;
/* Definitions borrowed. */
struct idealnetwork *idealnetwork_create(const struct defs *defs,
                                         struct region region);
void idealnetwork_destroy(struct idealnetwork *idealnetwork);
/* The thread enters an MPI call; its one before must have been left. When the
 * replay enters it: the mark that goes with the call (waits.h). */
int64_t idealnetwork_enter(struct idealnetwork *idealnetwork,
                           uint32_t thread,
                           ck_time_t start);
/* When the replay entered the thread's latest call. */
int64_t idealnetwork_mark(const struct idealnetwork *idealnetwork,
                          uint32_t thread);

/* The thread leaves the call that it entered last: at `mark`, or at once where
 * that was before, and then what of the call is not known. */
void idealnetwork_leave(struct idealnetwork *idealnetwork,
                        uint32_t thread,
                        ck_time_t end,
                        struct region unknown,
                        int64_t mark);

/* A rank: of the thread that called MPI first. */
struct idealnetwork_rank {
    bool is_seen;
    ck_time_t startup; /* of the region, before its return from MPI_Init */
    ck_time_t mpi;     /* its time in MPI within the region */
    ck_time_t unknown; /* of that what kept its length */
    int64_t end;       /* when the replay comes to the region's end */
};
struct idealnetwork_rank
idealnetwork_rank(const struct idealnetwork *idealnetwork, uint32_t index);

#endif
