/* kernelcalls.h - calls of kernels, and which executions belong to which
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call may run on several cores at once: so many executions are one call.
 * An execution whose tracking id is that of a submission belongs to it, unless
 * ids are equal by chance: there are some of both types that fit nothing, or
 * one ends before its submission begins. Where ids do not show it, the order
 * does, and only if it must: as many submissions as calls, a whole multiple of
 * executions, the executions of each call overlapping, and none that ends
 * before its submission begins. Where submissions are not as many as calls, or
 * there are none, executions may fit the calls in the same way: then they have
 * name and line of their call. Else they stay without.
 */
#ifndef CK_MERGE_PROFILES_KERNELCALLS_H
#define CK_MERGE_PROFILES_KERNELCALLS_H

#include <stddef.h>
#include <stdint.h>

#include "merge/profiles/import.h"

/* What the program called, in order. */
struct kernel_call {
    uint32_t name; /* of the import */
    uint32_t place;
};

/* A submission by the host (nrt_execute), or an execution on a core. */
struct kernel_span {
    int64_t start;
    int64_t end;
    int64_t id;
    int64_t device_clock; /* length by the device's clock, -1 = not known */
};

struct kernelcalls {
    struct kernel_call *calls;
    size_t calls_count, calls_room;
    struct kernel_span *submissions;
    size_t submissions_count, submissions_room;
    struct kernel_span *executions;
    size_t executions_count, executions_room;
};

void kernelcalls_fini(struct kernelcalls *calls);
void kernelcalls_call(struct kernelcalls *calls, struct kernel_call call);
void kernelcalls_submission(struct kernelcalls *calls, struct kernel_span span);
void kernelcalls_execution(struct kernelcalls *calls, struct kernel_span span);
/* Put submissions and executions into the import. 0 or -1. */
int kernelcalls_finish(struct kernelcalls *calls,
                       struct import *import,
                       unsigned thread,
                       struct import_facts *facts);

#endif
