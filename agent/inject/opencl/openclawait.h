/* openclawait.h - what a command waits for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event is known by the call that made it (thread and number) as long as it
 * is not complete: an event of a command that the program has got, or a user
 * event. Who waits for one that is complete waits for nothing. Any thread.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLAWAIT_H
#define CK_AGENT_INJECT_OPENCL_OPENCLAWAIT_H

#include "agent/inject/opencl/opencl.h"

/* Events of one list that are recorded. */
#define AWAIT_MAX 64

/* The program's list; borrowed, for the time of the call. */
struct awaited {
    cl_uint count;
    const cl_event *events;
};

/* What is known of a list: thread << 32 | call of each. */
struct await_found {
    unsigned count;
    uint64_t makers[AWAIT_MAX];
};

/* A user event that `call` has made; until it is set. */
void await_enter(cl_event event, const struct opencl_call *call);
void await_set(cl_event event);
/* The event of a command that `call` has made. The program has the one
 * reference to it, and what the program does not want any more is ck's until
 * await_leave(). False: there is no room, so no wait for it will be recorded;
 * ck needs a reference of its own. */
bool await_share(cl_event event, const struct opencl_call *call);
/* The program retains the event, as the driver has done. */
void await_retained(cl_event event);
/* The program is about to release the event. True: ck has the reference now,
 * and the driver is not to be called. */
bool await_released(cl_event event);
/* ck is done with it. True: there is a reference to be released. */
bool await_leave(cl_event event);
/* How many of the references to an event are ck's. */
cl_uint await_held(cl_event event);
/* Those of the list that are known, and not complete yet. */
void await_find(struct await_found *found, const struct awaited *awaited);
/* A record of that kind for each of them; before the call's own record. */
void await_say_found(const struct opencl_call *call,
                     enum ck_kind kind,
                     const struct await_found *found);
/* Both in one. */
void await_say(const struct opencl_call *call,
               enum ck_kind kind,
               const struct awaited *awaited);

#endif
