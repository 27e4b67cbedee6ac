/* kernelcalls.c - calls of kernels, and which executions belong to which
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/kernelcalls.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"

#define NO_CALL SIZE_MAX

static const char submit_name[] = "nrt_execute";
static const char execute_name[] = "nc_exec_running";

/* The order that is used, once it is known that it may be. */
struct order {
    size_t cores;    /* executions a call; 0 = the order tells nothing */
    bool has_places; /* as many calls as submissions or groups */
};

void kernelcalls_fini(struct kernelcalls *calls)
{
    free(calls->calls);
    free(calls->submissions);
    free(calls->executions);
}

int kernelcalls_call(struct kernelcalls *calls, struct kernel_call call)
{
    if (array_grow(&calls->calls, &calls->calls_room, calls->calls_count,
                   sizeof(call)) != 0) {
        return -1;
    }
    calls->calls[calls->calls_count++] = call;
    return 0;
}

int kernelcalls_submission(struct kernelcalls *calls, struct kernel_span span)
{
    if (array_grow(&calls->submissions, &calls->submissions_room,
                   calls->submissions_count, sizeof(span)) != 0) {
        return -1;
    }
    calls->submissions[calls->submissions_count++] = span;
    return 0;
}

int kernelcalls_execution(struct kernelcalls *calls, struct kernel_span span)
{
    if (array_grow(&calls->executions, &calls->executions_room,
                   calls->executions_count, sizeof(span)) != 0) {
        return -1;
    }
    calls->executions[calls->executions_count++] = span;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct kernel_span *left = a;
    const struct kernel_span *right = b;

    if (left->start != right->start) {
        return left->start < right->start ? -1 : 1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

static int by_id(const void *a, const void *b)
{
    const struct kernel_span *left = a;
    const struct kernel_span *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

/* True when the executions of each group of `cores` run at once. */
static bool groups_overlap(const struct kernelcalls *calls, size_t cores)
{
    for (size_t i = 0; i < calls->executions_count; i += cores) {
        for (size_t k = 1; k < cores; k++) {
            if (calls->executions[i + k].start >= calls->executions[i].end) {
                return false;
            }
        }
    }
    return true;
}

static struct order order_find(const struct kernelcalls *calls)
{
    size_t wanted =
        calls->calls_count > 0 ? calls->calls_count : calls->submissions_count;
    struct order order = {0, calls->calls_count > 0};
    bool is_even = calls->submissions_count == 0 || calls->calls_count == 0 ||
                   calls->submissions_count == calls->calls_count;

    order.has_places = order.has_places && is_even;
    if (wanted > 0 && is_even && calls->executions_count > 0 &&
        calls->executions_count % wanted == 0 &&
        groups_overlap(calls, calls->executions_count / wanted)) {
        order.cores = calls->executions_count / wanted;
    }
    return order;
}

/* Host submissions; their place in the order is their number. */
static int submissions_put(const struct kernelcalls *calls,
                           struct import *import,
                           unsigned thread,
                           bool has_places)
{
    uint32_t name = import_name(import, submit_name, sizeof(submit_name) - 1);

    for (size_t i = 0; i < calls->submissions_count; i++) {
        struct ck_call call = {
            .e = {.kind = CK_KIND_API_NEURON,
                  .name = name,
                  .start = calls->submissions[i].start},
            .dur = calls->submissions[i].end - calls->submissions[i].start,
            .call = (uint32_t)i + 1,
            .site = has_places ? calls->calls[i].place : 0,
        };

        if (import_put(import, thread, &call) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Numbers of submissions, sorted by their ids. NULL with ENOMEM. */
static struct kernel_span *ids_sort(const struct kernelcalls *calls)
{
    struct kernel_span *ids =
        calloc(calls->submissions_count + 1, sizeof(*ids));

    for (size_t i = 0; ids != NULL && i < calls->submissions_count; i++) {
        ids[i].id = calls->submissions[i].id;
        ids[i].start = (int64_t)i;
    }
    if (ids != NULL) {
        qsort(ids, calls->submissions_count, sizeof(*ids), by_id);
    }
    return ids;
}

/* The call of an execution, by id or by order. */
static size_t call_of(const struct kernelcalls *calls,
                      const struct kernel_span *ids,
                      const struct order *order,
                      size_t execution,
                      struct import_facts *facts)
{
    const struct kernel_span *found =
        bsearch(&calls->executions[execution], ids, calls->submissions_count,
                sizeof(*ids), by_id);

    if (found != NULL) {
        facts->by_id++;
        return (size_t)found->start;
    }
    if (order->cores > 0) {
        facts->by_order++;
        return execution / order->cores;
    }
    return NO_CALL;
}

static int execution_put(const struct kernelcalls *calls,
                         struct import *import,
                         size_t execution,
                         size_t call,
                         struct ck_kernel *kernel)
{
    const struct kernel_span *span = &calls->executions[execution];

    kernel->e.start = span->start;
    kernel->dur = span->end - span->start;
    kernel->correlation = (uint64_t)span->id;
    if (call != NO_CALL && call < calls->calls_count) {
        kernel->e.name = calls->calls[call].name;
    }
    if (call != NO_CALL && call < calls->submissions_count) {
        kernel->call = (uint32_t)call + 1;
    }
    return import_put(import, IMPORT_DEVICE, kernel);
}

static int executions_put(const struct kernelcalls *calls,
                          struct import *import,
                          uint32_t tid,
                          const struct order *order,
                          struct import_facts *facts)
{
    struct kernel_span *ids = ids_sort(calls);
    uint32_t name = import_name(import, execute_name, sizeof(execute_name) - 1);
    size_t last = NO_CALL;
    int rc = ids == NULL ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < calls->executions_count; i++) {
        struct ck_kernel kernel = {.e = {.kind = CK_KIND_KERNEL, .name = name},
                                   .tid = tid};
        size_t call = call_of(calls, ids, order, i, facts);

        facts->operations++;
        if (call != NO_CALL && call == last) {
            kernel.e.flags |= CK_FLAG_PART;
            kernel.queue = (uint32_t)(order->cores > 0 ? i % order->cores : 1);
        } else {
            facts->groups++;
        }
        last = call;
        if (calls->executions[i].device_clock >= 0) {
            facts->device_clock += calls->executions[i].device_clock;
        }
        rc = execution_put(calls, import, i, call, &kernel);
    }
    free(ids);
    return rc;
}

int kernelcalls_finish(struct kernelcalls *calls,
                       struct import *import,
                       unsigned thread,
                       struct import_facts *facts)
{
    struct order order;

    if (calls->submissions_count > 0) {
        qsort(calls->submissions, calls->submissions_count,
              sizeof(*calls->submissions), by_start);
    }
    if (calls->executions_count > 0) {
        qsort(calls->executions, calls->executions_count,
              sizeof(*calls->executions), by_start);
    }
    order = order_find(calls);
    if (calls->calls_count > 0 && order.cores == 0 &&
        calls->executions_count > 0) {
        bool is_submitted = calls->submissions_count == 0 ||
                            calls->submissions_count == calls->calls_count;

        import_complain(import, 0,
                        !is_submitted
                            ? "not as many submissions (nrt_execute) as calls "
                              "of kernels: events were lost, or a call "
                              "submitted several times; lines stay without "
                              "device time"
                            : "executions do not fit the calls of kernels in "
                              "number: events were lost, or a call ran several "
                              "times; lines stay without device time");
    }
    return submissions_put(calls, import, thread,
                           order.has_places && calls->submissions_count ==
                                                   calls->calls_count) != 0
               ? -1
               : executions_put(calls, import, import_tid(import, thread),
                                &order, facts);
}
