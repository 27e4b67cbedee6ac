/* openclcommand.h - one enqueued command, around the driver's call
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     struct command command;
 *     cl_event *end = command_enter(&command, &how, OPENCL_SITE, event);
 *
 *     rc = opencl_driver->clEnqueue...(..., end);
 *     return command_leave(&command, rc);
 *
 * The program's event handle stays its own: ck retains a reference until the
 * command's end. A command without one gets an event that only ck sees.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLCOMMAND_H
#define CK_AGENT_INJECT_OPENCL_OPENCLCOMMAND_H

#include "agent/inject/opencl/opencl.h"
#include "agent/inject/opencl/openclawait.h"
#include "agent/inject/opencl/openclpending.h"
#include "agent/inject/opencl/openclqueue.h"

/* What is known before the driver is called. */
struct command_how {
    enum opencl_function function;
    cl_command_queue queue;
    struct command_work work;
    struct awaited awaited; /* what it waits for */
    cl_bool is_blocking;    /* its end is the call's */
};

struct command {
    struct opencl_call call;
    struct command_work work;
    bool is_blocking;
    const void *from; /* the program's */
    struct opencl_queue *queue;
    struct pending *pending; /* NULL: its end is not recorded */
    cl_event *event;         /* the program's, may be NULL */
    cl_event own;
};

/* Returns where the driver shall put the event. */
cl_event *command_enter(struct command *command,
                        const struct command_how *how,
                        const void *site,
                        cl_event *event);
/* Returns rc. */
cl_int command_leave(struct command *command, cl_int rc);

/* A size as it is stored: cut at 2^32 - 1. */
static inline uint32_t command_size(size_t size)
{
    return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

#endif
