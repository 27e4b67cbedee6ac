/* history.h - what the host threads did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls and ranges of each thread, kept as far back as a client may still ask
 * (the horizon), and never more than a bound: what is dropped beyond it is
 * known to be unknown.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_HISTORY_H
#define CK_MERGE_ANALYSIS_HISTORY_HISTORY_H

#include "merge/timeline/timeline.h"

/* Spans kept in all threads together, and at least in each. */
#define HISTORY_SPANS_MAX ((size_t)1 << 19)
#define HISTORY_SPANS_MIN ((size_t)1 << 10)
#define HISTORY_NONE UINT32_MAX

/* One call or range of a thread. */
struct history_span {
    ck_time_t start;
    ck_time_t end;
    uint64_t site;
    uint32_t process;
    uint32_t name;
    uint32_t call;   /* number in its thread; 0 = has none */
    uint32_t parent; /* that was open when it began; HISTORY_NONE */
    uint32_t prior;  /* last call before it, of libc left out; HISTORY_NONE */
    uint32_t holder; /* tid that held the lock; 0 = no lock, not known */
    uint32_t path;   /* name of the file, in the process; 0 = none */
    uint32_t what;   /* equal for spans of one process, name, site and kind;
                        0 = not known. The host's, as is the next. */
    bool is_device_wait; /* a call that returns when the device is done */
    bool is_call;        /* else a range */
    uint16_t kind;
};

/* Why a thread that is between calls does not run. */
enum history_off {
    HISTORY_ON, /* it does, as far as is known */
    HISTORY_PREEMPTED,
    HISTORY_BLOCKED,
};

/* What a thread did in a piece of time; pointers hold during the call. */
struct history_state {
    bool is_known;
    uint32_t thread;                   /* of the definitions */
    const struct history_span *call;   /* innermost, NULL = between calls */
    const struct history_span *range;  /* innermost, NULL = none */
    const struct history_span *before; /* between calls: the one left last */
    const struct history_span *after;  /* and the one entered next */
    enum history_off off;              /* between calls */
    /* That ran on the thread's device while it was in the call
     * (CK_KIND_KERNEL), or was launched and did not begin yet (CK_KIND_QUEUE),
     * its site that of the launch; NULL = none, or not looked for. */
    const struct history_span *kernel;
};

struct history_sample {
    uint32_t stack;   /* of the agent; 0 = not known */
    ck_time_t weight; /* of CPU time; UINT32_MAX at most */
    ck_time_t time;   /* history_samples() fills it in */
    bool is_faulting; /* it handled a page fault */
    bool is_wait; /* there the thread left the CPU to wait in the kernel; its
                     weight is how long */
};

struct history;
/* `defs` is borrowed. `limit`: spans kept of one thread, 0 = as above. */
struct history *history_create(const struct defs *defs, size_t limit);
void history_destroy(struct history *history);

/* The place of a thread's next span, to be filled (parent and prior are the
 * host's), and its taking in; starts never step back in a thread.
 * history_next() gives NULL when there is no room; history_place() makes some,
 * spans that ended by `horizon` may go. */
struct history_span *history_next(struct history *history, uint32_t thread);
struct history_span *
history_place(struct history *history, uint32_t thread, ck_time_t horizon);
void history_placed(struct history *history, uint32_t thread);
/* Spans kept of a thread. */
size_t history_count(const struct history *history, uint32_t thread);
/* When the first of those began; INT64_MAX = there is none. */
ck_time_t history_first_start(const struct history *history, uint32_t thread);
/* True when the next two will not need a horizon. */
bool history_has_off_room(const struct history *history, uint32_t thread);
bool history_has_sample_room(const struct history *history, uint32_t thread);
bool history_has_wait_room(const struct history *history, uint32_t thread);
/* Add a time without a CPU, or a sample. Starts never step back in a thread. */
void history_add_off(struct history *history,
                     uint32_t thread,
                     struct region part,
                     enum history_off off,
                     ck_time_t horizon);
void history_add_sample(struct history *history,
                        uint32_t thread,
                        ck_time_t time,
                        const struct history_sample *sample,
                        ck_time_t horizon);
/* The same of a wait in the kernel with a stack, which is no sample. */
void history_add_wait(struct history *history,
                      uint32_t thread,
                      ck_time_t time,
                      const struct history_sample *wait,
                      ck_time_t horizon);
/* Call `take` for each sample of a thread in `part`. */
typedef void (*history_sample_f)(void *state,
                                 const struct history_sample *sample);
void history_samples(const struct history *history,
                     uint32_t thread,
                     struct region part,
                     history_sample_f take,
                     void *state);
/* And for each such wait that begins there. */
void history_stacked_waits(const struct history *history,
                           uint32_t thread,
                           struct region part,
                           history_sample_f take,
                           void *state);
/* In place of all threads of a process that made no record of their own, where
 * it is about samples. */
uint32_t history_rest(const struct history *history, uint32_t process);
/* How long in `part` the thread was ready to run and had no CPU, in a call or
 * not. */
ck_time_t history_preempted(const struct history *history,
                            uint32_t thread,
                            struct region part);
/* Process of an agent's image, DEFS_NONE = not in the run. */
uint32_t history_process(const struct history *history,
                         uint32_t agent,
                         uint32_t incarnation);
/* Thread of a process by its tid, HISTORY_NONE = not in the run. */
uint32_t
history_thread(const struct history *history, uint32_t process, uint32_t tid);
/* Thread that a record of a collector is about, its process in the record's
 * name; HISTORY_NONE = not in the run. */
uint32_t history_told(const struct history *history,
                      const struct defs *defs,
                      const struct timeline_event *event,
                      uint32_t tid);
/* True once anything was added for it. */
bool history_is_seen(const struct history *history, uint32_t thread);
/* Enter of the call with that number, INT64_MIN when it ended too long ago to
 * be kept. False when it is not recorded (so far). */
bool history_call(const struct history *history,
                  uint32_t thread,
                  uint32_t call,
                  ck_time_t *enter);

/* The call with that number, NULL when it is not recorded or was let go. */
const struct history_span *history_call_span(const struct history *history,
                                             uint32_t thread,
                                             uint32_t call);

/* The call with that number launched a copy of that kind that ended by `end`:
 * when it returned no earlier, it waited for the copy, and its span gets the
 * copy's kind. Only of calls whose names do not show it. */
void history_copied(struct history *history,
                    uint32_t thread,
                    uint32_t call,
                    unsigned kind,
                    ck_time_t end);

/* The longest call of a thread so far, and the innermost range around it
 * (copied; is_call: there is none). False: it made no call. */
bool history_longest(const struct history *history,
                     uint32_t thread,
                     struct history_span *call,
                     struct history_span *range);

/* Calls `take` for each piece of `part`, in order, without holes. */
typedef void (*history_take_f)(void *state,
                               struct region piece,
                               const struct history_state *did);
void history_walk(const struct history *history,
                  uint32_t thread,
                  struct region part,
                  history_take_f take,
                  void *state);
/* A function that takes pieces, and what it is called with. */
struct history_taker {
    history_take_f take;
    void *state;
};
/* Start of the last span of the thread, INT64_MIN = it has none. */
ck_time_t history_last_start(const struct history *history, uint32_t thread);

/* Up to when what the thread did is known, by `until` at the latest: where it
 * is between calls, the next one is asked for, too. */
ck_time_t history_settled(const struct history *history,
                          uint32_t thread,
                          ck_time_t until);

#endif
