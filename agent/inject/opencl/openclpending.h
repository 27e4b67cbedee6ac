/* openclpending.h - commands enqueued and not yet complete
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bounded pool without a lock. A wrapper takes an entry and hands it to the
 * driver with the command's event, or to its queue's backlog; a callback of the
 * driver writes the record and gives the entry back. What is still here at exit
 * is reported as lost.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLPENDING_H
#define CK_AGENT_INJECT_OPENCL_OPENCLPENDING_H

#include "agent/inject/opencl/opencl.h"
#include "agent/inject/opencl/opencldevice.h"

#define PENDING_MAX (1 << 20)

/* What a command does, as its wrapper knows it. */
struct command_work {
    enum ck_kind kind; /* KERNEL or one of the COPY class; NONE: no record */
    uint32_t name;
    uint64_t bytes;
    uint32_t global[3];
    uint32_t local[3];
};

struct pending {
    _Atomic uint32_t next; /* in the free list: index + 1 */
    uint32_t index;        /* of this entry */
    _Atomic uint32_t state;
    uint32_t incarnation;
    uint32_t tid;
    uint32_t call;
    uint32_t queue;
    bool is_shared; /* the event is the program's too (openclawait.h) */
    struct opencl_device *device;
    struct pending *later; /* in the backlog */
    cl_event event;        /* there until the entry's end */
    cl_ulong ended;        /* the device's stamp; 0 = not asked yet */
    int64_t start;         /* of the enqueueing call, on the ring's clock */
    ck_time_t before;      /* RAW around it; 0 = no clock sample */
    ck_time_t after;
    struct command_work work;
};

/* Thousands of commands come between an entry's two uses: no line more. */
_Static_assert(sizeof(struct pending) == 128, "two cache lines");

/* Before all others; at most so many commands are followed at once. */
void pending_begin(uint32_t entries);
/* NULL: the pool is exhausted (counted). */
struct pending *pending_take(void);
/* Count a command that cannot be followed for another reason. */
void pending_refuse(void);
void pending_give(struct pending *pending);
/* The program gets the command's event, which `call` has made. */
void pending_share(struct pending *pending,
                   cl_event event,
                   const struct opencl_call *call);
/* It is the driver's from now on: its end is to come. The entry and the
 * reference to its event are taken. */
void pending_watch(struct pending *pending);
/* Have the driver call for this command alone. */
void pending_callback(struct pending *pending);
/* For backlogs. How far its command is, CL_QUEUED where the driver has no
 * answer; record a command that is complete, or failed; count one that cannot
 * be followed. Both end the entry. */
cl_int pending_status(struct pending *pending);
/* Is half of this thread's slot free? */
bool pending_has_room(void);
void pending_done(struct pending *pending, cl_int status);
void pending_drop(struct pending *pending);
/* At exit: report what never completed, and stop recording. */
void pending_end(void);

#endif
