/* waitstates.h - how long ranks waited in MPI, for whom, and why
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of every rank's threads, whether or not they use a device; of one beside that
 * which called MPI first only while that one does nothing but wait for threads
 * of its process. Rows as those of the ledger: `device` is the waiting rank's
 * index in the definitions, the cause mpi_wait or below_clock_resolution, count
 * the number of waits.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_WAITSTATES_H
#define CK_MERGE_ANALYSIS_WAITS_WAITSTATES_H

#include "merge/analysis/delays/delaysums.h"
#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/ledger.h"

struct waitstates;
/* Borrowed; `steps` may be NULL. */
struct waitstates *waitstates_create(const struct defs *defs,
                                     struct lookback *lookback,
                                     struct steps *steps,
                                     struct region region);
/* Ask `delay` (borrowed) what each wait cost; without it that is not asked. */
void waitstates_delay(struct waitstates *waitstates, const struct delay *delay);
/* The costs, NULL = not asked for. */
struct delaysums *waitstates_delays(const struct waitstates *waitstates);
void waitstates_destroy(struct waitstates *waitstates);
/* Report to it (borrowed) when each rank made others wait, by its index in the
 * definitions. */
void waitstates_watch(struct waitstates *waitstates, struct when *when);
/* The thread enters MPI. Where that is not known, waits of all threads count.
 */
void waitstates_enter(struct waitstates *waitstates, uint32_t thread);
/* A wait of a rank that is shown, whatever the region; borrowed. */
struct waitstates_seen {
    uint32_t thread;
    struct region part; /* of the call, until what it waited for was there */
    const struct wait *wait;
    bool is_below; /* within the clock error */
};
typedef void (*waitstates_see_f)(void *state,
                                 const struct waitstates_seen *seen);
/* Show each wait that is added from now on. */
void waitstates_see(struct waitstates *waitstates,
                    waitstates_see_f f,
                    void *state);
/* A call that the thread was in and what it waited for, once the lookback has
 * taken all that began by its return. */
void waitstates_add(struct waitstates *waitstates,
                    uint32_t thread,
                    struct region call,
                    const struct wait *wait);
const struct ledger_row *waitstates_rows(const struct waitstates *waitstates,
                                         size_t *count);

/* Sums of a rank, by its index in the definitions. */
struct waitstates_rank {
    ck_time_t waited; /* for others */
    ck_time_t data;   /* of that, outside of MPI */
    ck_time_t below;  /* the same, within the clock error: no rank is blamed */
    ck_time_t caused; /* that others waited because of it */
    ck_time_t ended;  /* of that, behind its end */
    uint64_t waits;
    ck_time_t waited_error; /* of waited, by comparing clocks */
    ck_time_t caused_error;
    uint64_t serial; /* of the last wait that it caused */
};
const struct waitstates_rank *
waitstates_rank(const struct waitstates *waitstates, uint32_t index);

#endif
