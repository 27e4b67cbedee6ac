/* kernelcalls.c - calls of kernels, and which executions belong to which
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/kernelcalls.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

#define NO_CALL SIZE_MAX

static const char submit_name[] = "nrt_execute";
static const char execute_name[] = "nc_exec_running";

/* What the order shows: 0 = nothing. */
struct callorder {
    size_t cores;     /* executions a submission */
    size_t calls;     /* executions a call, where those do not fit
                         submissions */
    bool is_one_each; /* as many submissions as calls */
    bool is_refuted;  /* the number fits, but not the times */
};

void kernelcalls_fini(struct kernelcalls *calls)
{
    free(calls->calls);
    free(calls->submissions);
    free(calls->executions);
}

void kernelcalls_call(struct kernelcalls *calls, struct kernel_call call)
{
    array_grow(&calls->calls, &calls->calls_room, calls->calls_count,
               sizeof(call));
    calls->calls[calls->calls_count++] = call;
}

void kernelcalls_submission(struct kernelcalls *calls, struct kernel_span span)
{
    array_grow(&calls->submissions, &calls->submissions_room,
               calls->submissions_count, sizeof(span));
    calls->submissions[calls->submissions_count++] = span;
}

void kernelcalls_execution(struct kernelcalls *calls, struct kernel_span span)
{
    array_grow(&calls->executions, &calls->executions_room,
               calls->executions_count, sizeof(span));
    calls->executions[calls->executions_count++] = span;
}

CK_ORDER(by_start, struct kernel_span, CK_UP(start) ?: CK_UP(id))

CK_ORDER(by_id, struct kernel_span, CK_UP(id))

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

/* False when an execution would end before the submission of its place in the
 * order begins: then what is as many is of other calls. */
static bool are_in_order(const struct kernelcalls *calls, size_t cores)
{
    for (size_t i = 0; i < calls->executions_count; i++) {
        if (calls->executions[i].end < calls->submissions[i / cores].start) {
            return false;
        }
    }
    return true;
}

/* How many executions each of so many has; 0 = they do not fit. */
static size_t cores_of(const struct kernelcalls *calls, size_t count)
{
    size_t executions = calls->executions_count;

    return count > 0 && executions > 0 && executions % count == 0 &&
                   groups_overlap(calls, executions / count)
               ? executions / count
               : 0;
}

static struct callorder order_find(const struct kernelcalls *calls)
{
    struct callorder order = {.is_one_each = calls->submissions_count ==
                                             calls->calls_count};

    if (order.is_one_each || calls->calls_count == 0) {
        order.cores = cores_of(calls, calls->submissions_count);
        if (order.cores > 0 && !are_in_order(calls, order.cores)) {
            order.cores = 0;
            order.is_refuted = true;
        }
    } else {
        order.calls = cores_of(calls, calls->calls_count);
    }
    return order;
}

/* Host submissions; their place in the order is their number. `callers` are
 * the calls of kernels that they are of. */
static int submissions_put(const struct kernelcalls *calls,
                           struct import *import,
                           unsigned thread,
                           const size_t *callers)
{
    uint32_t name = import_name(import, submit_name, sizeof(submit_name) - 1);

    for (size_t i = 0; i < calls->submissions_count; i++) {
        struct ck_call call = {
            .e = {.kind = CK_KIND_API_NEURON,
                  .name = name,
                  .start = calls->submissions[i].start},
            .dur = calls->submissions[i].end - calls->submissions[i].start,
            .call = (uint32_t)i + 1,
            .site = callers[i] != NO_CALL ? calls->calls[callers[i]].place : 0,
        };

        if (import_put(import, thread, &call) != 0) {
            return -1;
        }
    }
    return 0;
}

static void submissions_sum(const struct kernelcalls *calls,
                            struct import_facts *facts)
{
    facts->submits = calls->submissions_count;
    for (size_t i = 0; i < calls->submissions_count; i++) {
        facts->submit +=
            calls->submissions[i].end - calls->submissions[i].start;
    }
}

/* Numbers of submissions, sorted by their ids. */
static struct kernel_span *ids_sort(const struct kernelcalls *calls)
{
    struct kernel_span *ids =
        xcalloc(calls->submissions_count + 1, sizeof(*ids));

    for (size_t i = 0; i < calls->submissions_count; i++) {
        ids[i].id = calls->submissions[i].id;
        ids[i].start = (int64_t)i;
    }
    qsort(ids, calls->submissions_count, sizeof(*ids), by_id);
    return ids;
}

/* The submission whose id an execution has. */
static size_t id_find(const struct kernelcalls *calls,
                      const struct kernel_span *ids,
                      size_t execution)
{
    const struct kernel_span *found =
        bsearch(&calls->executions[execution], ids, calls->submissions_count,
                sizeof(*ids), by_id);

    return found != NULL ? (size_t)found->start : NO_CALL;
}

/* Whether one id is used for both, or each type of event counts for itself and
 * some are equal by chance: then executions without a submission are left and
 * submissions without an execution, or one ends before the other begins.
 * `callers` by submission is changed. */
static bool ids_tell(const struct kernelcalls *calls,
                     const struct kernel_span *ids,
                     size_t *callers)
{
    size_t lone = 0, met = 0;

    for (size_t i = 0; i < calls->submissions_count; i++) {
        callers[i] = NO_CALL;
    }
    for (size_t i = 0; i < calls->executions_count; i++) {
        size_t found = id_find(calls, ids, i);

        if (found == NO_CALL) {
            lone++;
            continue;
        }
        if (calls->executions[i].end < calls->submissions[found].start) {
            return false;
        }
        met += callers[found] == NO_CALL;
        callers[found] = i;
    }
    return lone == 0 || met == calls->submissions_count;
}

/* The call of a kernel that an execution is of. */
static size_t
caller_of(const struct callorder *order, size_t execution, size_t submission)
{
    if (order->is_one_each) {
        return submission;
    }
    return order->calls > 0 ? execution / order->calls : NO_CALL;
}

/* By execution: its submission, and into callers by submission its call. What
 * is known of them into facts. */
static void executions_match(const struct kernelcalls *calls,
                             const struct callorder *order,
                             size_t *matches,
                             size_t *callers,
                             struct import_facts *facts)
{
    struct kernel_span *ids = ids_sort(calls);
    bool is_told = ids_tell(calls, ids, callers);

    for (size_t i = 0; i < calls->submissions_count; i++) {
        callers[i] = order->is_one_each ? i : NO_CALL;
    }
    for (size_t i = 0; i < calls->executions_count; i++) {
        size_t found = is_told ? id_find(calls, ids, i) : NO_CALL;
        bool is_by_id = found != NO_CALL;
        size_t caller;

        if (is_by_id) {
            matches[i] = found;
        } else if (order->cores > 0) {
            matches[i] = i / order->cores;
        } else {
            matches[i] = NO_CALL;
        }
        caller = caller_of(order, i, matches[i]);
        if (matches[i] != NO_CALL && !order->is_one_each) {
            callers[matches[i]] = caller;
        }
        facts->by_id += is_by_id;
        facts->by_order +=
            !is_by_id && (matches[i] != NO_CALL || caller != NO_CALL);
    }
    free(ids);
}

static int execution_put(const struct kernelcalls *calls,
                         struct import *import,
                         size_t execution,
                         size_t caller,
                         struct ck_kernel *kernel)
{
    const struct kernel_span *span = &calls->executions[execution];

    kernel->e.start = span->start;
    kernel->dur = span->end - span->start;
    kernel->correlation = (uint64_t)span->id;
    if (caller != NO_CALL) {
        kernel->e.name = calls->calls[caller].name;
    }
    if (caller != NO_CALL && kernel->call == 0) {
        kernel->e.flags |= CK_FLAG_SITE;
        kernel->correlation = calls->calls[caller].place;
    }
    return import_put(import, IMPORT_DEVICE, kernel);
}

static int executions_put(const struct kernelcalls *calls,
                          struct import *import,
                          uint32_t tid,
                          const size_t *matches,
                          const struct callorder *order,
                          struct import_facts *facts)
{
    uint32_t name = import_name(import, execute_name, sizeof(execute_name) - 1);
    size_t cores = order->cores > 0 ? order->cores : order->calls;
    size_t last = NO_CALL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < calls->executions_count; i++) {
        struct ck_kernel kernel = {
            .e = {.kind = CK_KIND_KERNEL, .name = name},
            .tid = tid,
            .call = matches[i] == NO_CALL ? 0 : (uint32_t)matches[i] + 1};
        size_t caller = caller_of(order, i, matches[i]);
        size_t group = caller != NO_CALL ? caller : matches[i];

        facts->operations++;
        if (group != NO_CALL && group == last) {
            kernel.e.flags |= CK_FLAG_PART;
            kernel.queue = (uint32_t)(cores > 0 ? i % cores : 1);
        } else {
            facts->groups++;
        }
        last = group;
        if (calls->executions[i].device_clock >= 0) {
            facts->device_clock += calls->executions[i].device_clock;
        }
        rc = execution_put(calls, import, i, caller, &kernel);
    }
    return rc;
}

static void spans_sort(struct kernel_span *spans, size_t count)
{
    if (count > 0) {
        qsort(spans, count, sizeof(*spans), by_start);
    }
}

/* Why the executions of each call are not known; NULL = they are, or there
 * is nothing to know. */
static const char *misfit_find(const struct kernelcalls *calls,
                               const struct callorder *order)
{
    bool is_submitted = calls->submissions_count == 0 || order->is_one_each;

    if (calls->calls_count == 0 || calls->executions_count == 0 ||
        order->cores + order->calls > 0) {
        return NULL;
    }
    if (order->is_refuted) {
        return "executions ended before the submissions of their places in "
               "the order began: they are of other calls, and some of these "
               "were lost; lines stay without device time";
    }
    if (!is_submitted) {
        return "not as many submissions (nrt_execute) as calls of kernels, and "
               "executions do not fit these: events were lost, or a call "
               "submitted several times; lines stay without device time";
    }
    return calls->executions_count % calls->calls_count != 0
               ? "executions do not fit the calls of kernels in number: events "
                 "were lost, or a call ran several times; lines stay without "
                 "device time"
               : "there are several executions a call of a kernel, and they "
                 "did not run at once, as those on several cores would: events "
                 "were lost, or a call ran several times; lines stay without "
                 "device time";
}

int kernelcalls_finish(struct kernelcalls *calls,
                       struct import *import,
                       unsigned thread,
                       struct import_facts *facts)
{
    size_t *matches = xcalloc(calls->executions_count + 1, sizeof(*matches));
    size_t *callers = xcalloc(calls->submissions_count + 1, sizeof(*callers));
    const char *misfit;
    struct callorder order;
    int rc = -1;

    spans_sort(calls->submissions, calls->submissions_count);
    spans_sort(calls->executions, calls->executions_count);
    order = order_find(calls);
    misfit = misfit_find(calls, &order);
    if (misfit != NULL) {
        import_complain(import, 0, misfit);
    }
    submissions_sum(calls, facts);
    executions_match(calls, &order, matches, callers, facts);
    if (submissions_put(calls, import, thread, callers) == 0) {
        rc = executions_put(calls, import, import_tid(import, thread), matches,
                            &order, facts);
    }
    free(matches);
    free(callers);
    return rc;
}
