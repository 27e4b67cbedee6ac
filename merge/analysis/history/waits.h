/* waits.h - until when each MPI call had to wait, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call waits for what is complete when it returns: of a receive until its
 * message was sent (late sender), of a large or synchronous send until its
 * receive was posted, if that came before the send was over (late receiver), of
 * a collective until its members came (collective.h). Of several the latest
 * counts; for a call that returns with the first of many (MPI_Waitany,
 * MPI_Waitsome) the earliest. A late receiver counts only where no sender is
 * waited for. Calls that only test do not wait.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_WAITS_H
#define CK_MERGE_ANALYSIS_HISTORY_WAITS_H

#include "merge/analysis/history/history.h"
#include "merge/clocks/align.h"
#include "merge/messages/collective.h"
#include "merge/messages/match.h"
#include "merge/messages/waitkind.h"

/* Facts about calls kept in all threads together, and at least in each. */
#define WAITS_MAX ((size_t)1 << 17)
#define WAITS_MIN ((size_t)1 << 9)

struct wait {
    enum wait_kind kind;
    ck_time_t until; /* INT64_MIN = did not wait */
    uint32_t thread; /* that came last, DEFS_NONE */
    ck_time_t error; /* of comparing the clocks of the two */
    int64_t mark;    /* the largest one of what was waited for; INT64_MIN */
    ck_time_t doubt; /* so long it may have waited from `until` on; mostly 0 */
    bool is_circle;  /* that one waits for this one in turn (stuck.h) */
};

struct waits;
/* Borrowed. A send of up to so many bytes needs no receive. */
struct waits *waits_create(const struct defs *defs,
                           const struct align *align,
                           uint64_t eager_bytes);
void waits_destroy(struct waits *waits);
/* Facts about calls that were left by then may go. */
typedef ck_time_t (*waits_horizon_f)(const void *state, ck_time_t now);
void waits_horizon(struct waits *waits, waits_horizon_f f, const void *state);
/* The next event of any kind; `mark` belongs to its call. */
void waits_take(struct waits *waits,
                const struct timeline_event *event,
                int64_t mark);
/* For whom calls waited that waits.h knows nothing of. */
typedef bool (*waits_find_f)(const void *state,
                             uint32_t thread,
                             const struct history_span *call,
                             struct wait *wait);
void waits_others(struct waits *waits, waits_find_f f, const void *state);
/* What a call of a thread waited for, once all events up to its return were
 * taken. False when not all is known that it takes, or it is no such call. Of
 * one that is known to have waited the rest may be in doubt (wait->doubt). */
bool waits_find(const struct waits *waits,
                uint32_t thread,
                const struct history_span *call,
                struct wait *wait);
/* Write into a wait of a thread that began at `start` by how much it may be
 * wrong at most, at its start or at its end: within a clock domain not at all.
 * False when the two clocks cannot be compared. */
bool waits_error(const struct waits *waits,
                 uint32_t thread,
                 ck_time_t start,
                 struct wait *wait);
struct match_counts waits_counts(const struct waits *waits);

#endif
