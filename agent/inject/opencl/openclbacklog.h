/* openclbacklog.h - commands of an in-order queue that are not recorded yet
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Such commands end in the order in which they were enqueued, so that one look
 * does for many: it records those that are complete, oldest first. The program
 * looks at every BACKLOG_STRIDE commands that it enqueues, and while it waits
 * for the queue: a driver's queue goes on meanwhile, which a callback holds up,
 * as drivers make it on the thread that runs the queue. So a callback is out
 * only for when the program does neither, and costs a driver an allocation, a
 * lock and often the wake-up of a thread, where a short kernel costs little
 * more than that. A callback that finds that the program has looked since the
 * last one only asks for another one.
 *
 * How far on the next callback is: as many commands as end in BACKLOG_LATE by
 * the pace of the last ones, and BACKLOG_AHEAD at most; so records are late by
 * about that time, and of commands that turn slow by that many. Thousands of
 * commands may be enqueued, so one that is far on is found by a post at each
 * BACKLOG_STEP of them: to walk there costs the thread that runs the queue
 * more than all the rest.
 *
 * The program's own records go to the same slot: a look of the program leaves
 * commands where half of that is full, and then the callback records them, on
 * its own thread.
 *
 * Where threads share a queue their commands may be in another order here
 * than in the driver. Then the first one that is not complete holds up others
 * for a while; none is lost by it.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLBACKLOG_H
#define CK_AGENT_INJECT_OPENCL_OPENCLBACKLOG_H

#include "agent/inject/opencl/openclpending.h"

#define BACKLOG_STRIDE 64
#define BACKLOG_STEP 1024
#define BACKLOG_AHEAD (2 * BACKLOG_STEP)
#define BACKLOG_POSTS (PENDING_MAX / BACKLOG_STEP)
#define BACKLOG_LATE 10000000 /* ns */
/* Threads that wait at a time; others only do what the program asked for. */
#define BACKLOG_WAITERS 64

/* All zero: empty. */
struct backlog {
    /* The process image's incarnation, of who looks at it now; 0 = none. */
    _Atomic uint32_t holder;
    /* The same, where a callback is out. */
    _Atomic uint32_t asked;
    _Atomic int ended;                /* how that callback's command ended */
    _Atomic(struct pending *) newest; /* since the last look, newest first */
    _Atomic uint32_t added;           /* since the program's last look, about */
    _Atomic uint32_t looks;           /* of the program */
    /* The holder's: */
    uint32_t incarnation; /* whose commands these are */
    uint32_t gathered;    /* commands so far */
    uint32_t recorded;    /* of these, or given up */
    struct pending *first;
    struct pending *last;
    cl_event event; /* that was asked for last, of one of these; NULL = none */
    ck_time_t looked; /* RAW ns */
    uint32_t ahead;
    uint32_t seen; /* looks of the program at the last callback */
    /* Commands whose number is a multiple of BACKLOG_STEP. */
    struct pending *posts[BACKLOG_POSTS];
};

/* Have the end of a watched command recorded. Any thread. */
void backlog_add(struct backlog *backlog, struct pending *pending);
/* For a thread that is about to wait for the whole queue (its id): wait until
 * few of the commands that it has now are left, and record the others
 * meanwhile. Not for what other threads enqueue meanwhile, which may wait for
 * this one, nor for another queue's. */
void backlog_wait(struct backlog *backlog, uint32_t queue);
/* How many references to an event such threads have. */
cl_uint backlog_held(cl_event event);
/* Record what has ended, for a thread that has waited. */
void backlog_record_ended(struct backlog *backlog);
/* Nothing is left, nor looked at now. */
bool backlog_is_empty(struct backlog *backlog);

#endif
