/* lookback.h - what the host threads did lately, and for whom they waited
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes every event once for all analyses that look back: calls and ranges of
 * threads (history.h), times that a loss or a tracer covers (masked.h), who
 * waited for whom (waits.h). It keeps what began after the horizon, the
 * earliest time that one of its clients still asks about.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_LOOKBACK_H
#define CK_MERGE_ANALYSIS_HISTORY_LOOKBACK_H

#include "merge/analysis/history/commands.h"
#include "merge/analysis/history/history.h"
#include "merge/analysis/history/masked.h"
#include "merge/analysis/history/sockets.h"
#include "merge/analysis/history/waits.h"
#include "merge/analysis/history/devicehistory.h"
#include "merge/report/report.h"

#define LOOKBACK_CLIENTS_MAX 4
/* Holders of locks that are followed, each held up by the next. */
#define LOOKBACK_HOLDERS_MAX 4

struct lookback;
/* Borrowed; eager_bytes as in waits.h. */
struct lookback *lookback_create(const struct defs *defs,
                                 const struct align *align,
                                 uint64_t eager_bytes);
void lookback_destroy(struct lookback *lookback);
/* The process ended then: its threads did nothing from there on. */
void lookback_end(struct lookback *lookback, uint32_t process, ck_time_t time);
/* When the thread's process ended; INT64_MAX = not known. */
ck_time_t lookback_ended(const struct lookback *lookback, uint32_t thread);
/* The same of a process, whether or not a thread of it is known. */
ck_time_t lookback_gone(const struct lookback *lookback, uint32_t process);
/* For a client that asks about each thread from another time on: `f` takes what
 * it still wants of the thread, if need be, and returns from when on. One at
 * most. `spans` are kept of the thread: few may stay for later; SIZE_MAX:
 * nothing may, and it is about what is known of it beyond spans (or of
 * history_rest()). `f` returns 0. */
typedef void (*lookback_thread_f)(void *client,
                                  uint32_t thread,
                                  size_t spans,
                                  ck_time_t *from);
void lookback_thread_client(struct lookback *lookback,
                            lookback_thread_f f,
                            void *client);
/* Until when others of the process wait for a lock of the thread, as far as is
 * known by now; INT64_MIN = never. */
ck_time_t lookback_held(const struct lookback *lookback, uint32_t thread);
/* `f` returns from when on the client asks. At most LOOKBACK_CLIENTS_MAX. */
void lookback_client(struct lookback *lookback,
                     waits_horizon_f f,
                     const void *client);
/* The next event; `mark` belongs to its call. */
int lookback_take(struct lookback *lookback,
                  const struct timeline_event *event,
                  int64_t mark);

/* The paths of sampled stacks. */
struct callpaths *lookback_paths(const struct lookback *lookback);
/* CPU time of a sample, the longest of all; 0 = there was none. */
ck_time_t lookback_period(const struct lookback *lookback);
const struct defs *lookback_defs(const struct lookback *lookback);
const struct history *lookback_history(const struct lookback *lookback);
const struct devicehistory *lookback_work(const struct lookback *lookback);
const struct commands *lookback_commands(const struct lookback *lookback);
struct masked *lookback_shadow(struct lookback *lookback);
/* Once all was taken: launches without a record of their work are a loss. */
void lookback_close(struct lookback *lookback);
/* Behind that. */
struct report_launches lookback_launches(const struct lookback *lookback);
struct match_counts lookback_counts(const struct lookback *lookback);
/* Call `take` for each sample of the process's other threads in `part`, and of
 * the rank's other processes if they are wanted, too. */
typedef void (*lookback_other_f)(void *state,
                                 uint32_t process,
                                 const struct history_sample *sample);
struct lookback_others {
    uint32_t thread; /* that one not */
    bool has_processes;
    lookback_other_f take;
    void *state;
};
void lookback_others(const struct lookback *lookback,
                     const struct lookback_others *others,
                     struct region part);
/* The next process of the same rank and agent, in a circle: itself where there
 * is no other one. */
uint32_t lookback_sibling(const struct lookback *lookback, uint32_t process);
struct waits *lookback_waits(const struct lookback *lookback);
/* For whom the thread waited in a call of its (waits_find()). */
static inline bool lookback_wait(const struct lookback *lookback,
                                 uint32_t thread,
                                 const struct history_span *call,
                                 struct wait *wait)
{
    return waits_find(lookback_waits(lookback), thread, call, wait);
}
/* The stretch of waiting for data that the last event ended, NULL = none. */
const struct sockets_stretch *lookback_stretch(const struct lookback *lookback);
/* A process's first thread; HISTORY_NONE = nothing of it was recorded. */
uint32_t lookback_main(const struct lookback *lookback, uint32_t process);
/* For whose data a process's first thread, in a call of libc, waited at `time`
 * (sockets.h). False when that is not known, or it waited for none; either
 * holds until wait->until. */
bool lookback_data_wait(const struct lookback *lookback,
                        uint32_t thread,
                        const struct history_span *call,
                        ck_time_t time,
                        struct wait *wait);
/* As waits_error(). */
bool lookback_error(const struct lookback *lookback,
                    uint32_t thread,
                    ck_time_t start,
                    struct wait *wait);
/* Number of what a thread did, and what it counts as. */
int64_t lookback_activity(struct lookback *lookback,
                          const struct history_state *did);
/* The same, and what was seen of the thread in that part of it (samples, the
 * holder of a lock, a file) counts for the activity. */
int64_t lookback_did(struct lookback *lookback,
                     uint32_t thread,
                     struct region part,
                     const struct history_state *did);
/* What a thread's state, which is that activity, counts as: between calls it
 * may be off the CPU. */
enum cause lookback_cause(const struct lookback *lookback,
                          const struct history_state *did,
                          uint32_t number);
enum cause lookback_activity_cause(const struct lookback *lookback,
                                   uint32_t number);
/* Name of its innermost range, NULL = none. */
const char *lookback_activity_range(const struct lookback *lookback,
                                    uint32_t number);
/* What its kernel did (activity_device()). */
enum cause lookback_activity_device(const struct lookback *lookback,
                                    uint32_t number);
/* As activity_common() and activity_site(). */
int64_t lookback_activity_common(struct lookback *lookback, uint32_t number);
int64_t lookback_activity_site(struct lookback *lookback, uint32_t number);
/* The same activity without a kernel. */
uint32_t lookback_activity_call(const struct lookback *lookback,
                                uint32_t number);
struct report_activity lookback_activity_report(const struct lookback *lookback,
                                                uint32_t number);

#endif
