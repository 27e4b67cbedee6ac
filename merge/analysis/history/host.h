/* host.h - what the host threads did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calls and ranges of each thread, kept as far back as somebody may still ask
 * (the horizon), and never more than a bound: what is dropped beyond it is
 * known to be unknown.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_HOST_H
#define CK_MERGE_ANALYSIS_HISTORY_HOST_H

#include "merge/timeline/timeline.h"

/* Spans kept in all threads together, and at least in each. */
#define HOST_SPANS_MAX ((size_t)1 << 19)
#define HOST_SPANS_MIN ((size_t)1 << 10)
#define HOST_NONE UINT32_MAX

/* One call or range of a thread. */
struct host_span {
    ck_time_t start;
    ck_time_t end;
    uint64_t site;
    uint32_t process;
    uint32_t name;
    uint32_t call;       /* number in its thread; 0 = has none */
    uint32_t parent;     /* that was open when it began; HOST_NONE */
    uint32_t prior;      /* last call before it, of libc left out; HOST_NONE */
    uint32_t holder;     /* tid that held the lock; 0 = no lock, not known */
    uint32_t path;       /* name of the file, in the process; 0 = none */
    uint32_t what;       /* equal for spans of one process, name, site and kind;
                            0 = not known. The host's, as is the next: */
    bool is_device_wait; /* a call that returns when the device is done */
    bool is_call;        /* else a range */
    uint16_t kind;
};

/* Why a thread that is between calls does not run. */
enum host_off {
    HOST_ON, /* it does, as far as is known */
    HOST_PREEMPTED,
    HOST_BLOCKED,
};

/* What a thread did in a piece of time; pointers hold during the call. */
struct host_state {
    bool is_known;
    uint32_t thread;                /* of the cast */
    const struct host_span *call;   /* innermost, NULL = between calls */
    const struct host_span *range;  /* innermost, NULL = none */
    const struct host_span *before; /* between calls: the one left last */
    const struct host_span *after;  /* and the one entered next */
    enum host_off off;              /* between calls */
    /* That ran on the thread's device while it was in the call
     * (CK_KIND_KERNEL), or was launched and did not begin yet (CK_KIND_QUEUE),
     * its site that of the launch; NULL = none, or nobody looked. */
    const struct host_span *kernel;
};

struct host_sample {
    uint32_t stack;  /* of the agent; 0 = not known */
    uint32_t weight; /* ns of CPU time */
};

struct host;
/* `cast` is borrowed. `limit`: spans kept of one thread, 0 = as above. NULL
 * with ENOMEM. */
struct host *host_create(const struct cast *cast, size_t limit);
void host_destroy(struct host *host);

/* The place of a thread's next span, to be filled (parent and prior are the
 * host's), and its taking in; starts never step back in a thread. host_next()
 * gives NULL when there is no room; host_place() makes some, spans that ended
 * by `horizon` may go, and gives NULL with ENOMEM. */
struct host_span *host_next(struct host *host, uint32_t thread);
struct host_span *
host_place(struct host *host, uint32_t thread, ck_time_t horizon);
void host_placed(struct host *host, uint32_t thread);
/* Spans kept of a thread. */
size_t host_count(const struct host *host, uint32_t thread);
/* When the first of those began; INT64_MAX = there is none. */
ck_time_t host_first_start(const struct host *host, uint32_t thread);
/* True when the next two will not need a horizon. */
bool host_has_off_room(const struct host *host, uint32_t thread);
bool host_has_sample_room(const struct host *host, uint32_t thread);
/* Add a time without a CPU, or a sample. Starts never step back in a thread. 0,
 * or -1 with ENOMEM. */
int host_add_off(struct host *host,
                 uint32_t thread,
                 struct region part,
                 enum host_off off,
                 ck_time_t horizon);
int host_add_sample(struct host *host,
                    uint32_t thread,
                    ck_time_t time,
                    const struct host_sample *sample,
                    ck_time_t horizon);
/* Call `take` for each sample of a thread in `part`. */
typedef int (*host_sample_f)(void *state, const struct host_sample *sample);
int host_samples(const struct host *host,
                 uint32_t thread,
                 struct region part,
                 host_sample_f take,
                 void *state);
/* How long in `part` the thread was ready to run and had no CPU, in a call or
 * not. */
ck_time_t
host_preempted(const struct host *host, uint32_t thread, struct region part);
/* Process of an agent's image, CAST_NONE = not in the run. */
uint32_t
host_process(const struct host *host, uint32_t agent, uint32_t incarnation);
/* Thread of a process by its tid, HOST_NONE = not in the run. */
uint32_t host_thread(const struct host *host, uint32_t process, uint32_t tid);
/* Thread that a record of a collector speaks of, its process in the record's
 * name; HOST_NONE = not in the run. */
uint32_t host_told(const struct host *host,
                   const struct cast *cast,
                   const struct timeline_event *event,
                   uint32_t tid);
/* True once anything was added for it. */
bool host_is_seen(const struct host *host, uint32_t thread);
/* Enter of the call with that number, INT64_MIN when it ended too long ago to
 * be kept. False when it is not recorded (so far). */
bool host_call(const struct host *host,
               uint32_t thread,
               uint32_t call,
               ck_time_t *enter);

/* The call with that number, NULL when it is not recorded or was let go. */
const struct host_span *
host_call_span(const struct host *host, uint32_t thread, uint32_t call);

/* The call with that number launched a copy of that kind that ended by `end`:
 * when it returned no earlier, it waited for the copy, and its span gets the
 * copy's kind. Only of calls whose names say nothing of it. */
void host_copied(struct host *host,
                 uint32_t thread,
                 uint32_t call,
                 unsigned kind,
                 ck_time_t end);

/* The longest call of a thread so far, and the innermost range around it
 * (copied; is_call: there is none). False: it made no call. */
bool host_longest(const struct host *host,
                  uint32_t thread,
                  struct host_span *call,
                  struct host_span *range);

/* Calls `take` for each piece of `part`, in order, without holes. */
typedef int (*host_take_f)(void *state,
                           struct region piece,
                           const struct host_state *did);
int host_walk(const struct host *host,
              uint32_t thread,
              struct region part,
              host_take_f take,
              void *state);
/* A function that takes pieces, and what it is called with. */
struct host_taker {
    host_take_f take;
    void *state;
};
/* Start of the last span of the thread, INT64_MIN = it has none. */
ck_time_t host_last_start(const struct host *host, uint32_t thread);

/* Up to when what the thread did is known, by `until` at the latest: where it
 * is between calls, the next one is asked for, too. */
ck_time_t
host_settled(const struct host *host, uint32_t thread, ck_time_t until);

#endif
