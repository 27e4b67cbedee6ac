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

/* An event that `call` has made; is_held: ck has a reference to it until
 * await_forget(). False: it is not recorded, or there is no room, so no wait
 * for it will be recorded. */
bool await_enter(cl_event event, const struct opencl_call *call, bool is_held);
/* How many of the references to an event are ck's. */
cl_uint await_held(cl_event event);
/* The event is complete. */
void await_forget(cl_event event);
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
