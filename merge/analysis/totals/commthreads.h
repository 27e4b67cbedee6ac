/* commthreads.h - ranks whose first thread waits while others of them are in
 * MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where threads beside the first one call MPI, the first one may wait for them,
 * as in pthread_join. The rank is in MPI, too, while the first one waits so,
 * another one is in MPI, and none of those that call MPI works.
 */
#ifndef CK_MERGE_ANALYSIS_TOTALS_COMMTHREADS_H
#define CK_MERGE_ANALYSIS_TOTALS_COMMTHREADS_H

#include "merge/analysis/totals/layers.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"

struct commthreads;
/* `layers`, by thread, and definitions are borrowed. */
struct commthreads *commthreads_create(const struct defs *defs,
                                       const struct layers *layers,
                                       struct region region);
void commthreads_destroy(struct commthreads *of);
/* The rank's first thread in MPI, DEFS_NONE = none as yet. */
uint32_t commthreads_first(const struct commthreads *of, uint32_t rank);
/* The thread of that rank enters MPI. */
void commthreads_enter(struct commthreads *of,
                       uint32_t rank,
                       uint32_t thread,
                       ck_time_t time);
/* Something of the thread is recorded at that time, and will change its layers:
 * whatever comes behind begins no earlier. */
void commthreads_seen(struct commthreads *of, uint32_t thread, ck_time_t time);

/* What the first thread waited in while others were in MPI. */
struct commthreads_time {
    ck_time_t lock;
    ck_time_t blocked;
};
/* Of the rank, up to its end; to be asked for last. */
struct commthreads_time
commthreads_rank(struct commthreads *of, uint32_t rank, ck_time_t end);

#endif
