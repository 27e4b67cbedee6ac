/* openclqueue.h - queues: their ids, and what the program asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue is entered when it is created, or at its first command if the layer
 * did not see that. Its QUEUE record and its device's DEVICE record are written
 * once a process image. Any thread.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLQUEUE_H
#define CK_AGENT_INJECT_OPENCL_OPENCLQUEUE_H

#include "agent/inject/opencl/opencl.h"
#include "agent/inject/opencl/openclbacklog.h"
#include "agent/inject/opencl/opencldevice.h"

#define QUEUE_MAX 65536
/* Longest property list that is extended by the profiling bit. */
#define QUEUE_PROPERTIES_MAX 32

/* What the program asked for, where ck changed it. */
enum queue_change {
    QUEUE_UNCHANGED = 0, /* the program asked for profiling, or unknown */
    QUEUE_BIT = 1,       /* the bit was put in its own properties */
    QUEUE_PAIR = 2,      /* a pair was appended to its list */
    QUEUE_LIST = 3,      /* it gave no list at all */
};

enum queue_state {
    QUEUE_FREE = 0,
    QUEUE_TAKEN = 1,
    QUEUE_RELEASED = 2, /* events may still belong to it */
};

struct opencl_queue {
    _Atomic int state; /* enum queue_state */
    _Atomic uintptr_t handle;
    _Atomic uint64_t known; /* incarnation << 32 | QUEUE id */
    struct opencl_device *device;
    _Atomic int change; /* enum queue_change */
    cl_command_queue_properties properties;
    struct backlog backlog; /* empty when another queue takes the entry */
};

/* The queue's entry, entered now if need be; NULL: no room, or no queue. */
struct opencl_queue *queue_find(cl_command_queue handle);
/* Enter a queue just created, replacing what was known of its address. False:
 * there is no room. */
bool queue_enter(cl_command_queue handle, enum queue_change change);
/* The program releases its last reference. Events of the queue may outlive it,
 * so it is known until another one takes its address, or its room. */
void queue_release(cl_command_queue handle);
/* QUEUE id in this process image, recorded before if need be; 0 = not known. */
uint32_t queue_id(struct opencl_queue *queue);
uint32_t queue_id_of(cl_command_queue handle);
/* False where it is not known. */
bool queue_is_in_order(cl_command_queue handle);
/* Have the end of a command of the queue recorded. The entry and the reference
 * to its event are taken. */
void queue_watch(struct opencl_queue *queue, struct pending *pending);

#endif
