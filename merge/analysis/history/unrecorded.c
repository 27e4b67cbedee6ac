/* unrecorded.c - the newest launches of each thread
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/unrecorded.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

#define NAMES_KNOWN 64

struct launch {
    ck_time_t enter;
    uint32_t call;
};

struct thread {
    struct launch *items; /* a queue: [first, count) */
    size_t first, count, room;
    uint64_t more;        /* behind those */
    struct launch newest; /* of these */
    uint32_t done;        /* newest call whose work came */
};

struct process {
    ck_time_t last;  /* end of its last call */
    ck_time_t done;  /* the newest launch whose work came */
    ck_time_t first; /* launch behind that; these two at the end */
    uint64_t count;
    bool has_work;   /* of a device, whichever call launched it */
    bool is_unclear; /* launches have one number: whose work came is unknown */
};

struct unrecorded {
    const struct defs *defs;
    struct thread *threads;
    struct process *processes;
    struct report_launches all;
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_launch;
    } known[NAMES_KNOWN];
};

struct unrecorded *unrecorded_create(const struct defs *defs)
{
    struct unrecorded *unrecorded = xcalloc(1, sizeof(*unrecorded));

    unrecorded->defs = defs;
    unrecorded->threads =
        xcalloc(defs->threads_count + 1, sizeof(*unrecorded->threads));
    unrecorded->processes =
        xcalloc(defs->processes_count + 1, sizeof(*unrecorded->processes));
    for (size_t i = 0; i < defs->processes_count; i++) {
        unrecorded->processes[i].last = INT64_MIN;
        unrecorded->processes[i].done = INT64_MIN;
        unrecorded->processes[i].first = INT64_MAX;
    }
    return unrecorded;
}

void unrecorded_destroy(struct unrecorded *unrecorded)
{
    if (unrecorded == NULL) {
        return;
    }
    for (size_t i = 0;
         unrecorded->threads != NULL && i < unrecorded->defs->threads_count;
         i++) {
        free(unrecorded->threads[i].items);
    }
    free(unrecorded->threads);
    free(unrecorded->processes);
    free(unrecorded);
}

/* Calls that put a kernel, or a graph of them, on a device. */
static bool names_launch(const char *name)
{
    static const char *const launches[] = {
        "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel",
        "cudaGraphLaunch",  "cuLaunchKernel",     "cuLaunchCooperativeKernel",
        "cuGraphLaunch"};

    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
        if (name != NULL &&
            strncmp(name, launches[i], strlen(launches[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_launch(struct unrecorded *unrecorded, const char *name)
{
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;

    if (unrecorded->known[at].name != name) {
        unrecorded->known[at].name = name;
        unrecorded->known[at].is_launch = names_launch(name);
    }
    return unrecorded->known[at].is_launch;
}

/* What is before the front is let go now and then. */
static void thread_move(struct thread *thread)
{
    if (thread->first > thread->count / 2) {
        memmove(thread->items, thread->items + thread->first,
                (thread->count - thread->first) * sizeof(*thread->items));
        thread->count -= thread->first;
        thread->first = 0;
    }
}

static void thread_add(struct thread *thread, const struct launch *launch)
{
    thread_move(thread);
    if (thread->more > 0 || thread->count - thread->first >= UNRECORDED_MAX) {
        thread->more++;
        thread->newest = *launch;
        return;
    }
    array_grow(&thread->items, &thread->room, thread->count,
               sizeof(*thread->items));
    thread->items[thread->count++] = *launch;
}

void unrecorded_launch(struct unrecorded *unrecorded,
                       const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    struct launch launch = {event->start, call->call};
    struct thread *thread;

    if (event->thread >= unrecorded->defs->threads_count) {
        return;
    }
    if (event->end > unrecorded->processes[event->process].last) {
        unrecorded->processes[event->process].last = event->end;
    }
    if ((call->e.flags & CK_FLAG_SHARED) != 0) {
        unrecorded->processes[event->process].is_unclear = true;
    }
    thread = &unrecorded->threads[event->thread];
    if (call->call == 0 || (call->e.flags & CK_FLAG_FAILED) != 0 ||
        !is_launch(unrecorded,
                   defs_name(unrecorded->defs, event->process, call->e.name))) {
        return;
    }
    unrecorded->all.calls++;
    if (!((int32_t)(call->call - thread->done) <= 0)) {
        thread_add(thread, &launch);
    }
}

static void done_add(struct process *process, const struct launch *launch)
{
    process->done =
        launch->enter > process->done ? launch->enter : process->done;
}

void unrecorded_work(struct unrecorded *unrecorded,
                     uint32_t number,
                     uint32_t call)
{
    struct process *process;
    struct thread *thread;

    if (number >= unrecorded->defs->threads_count) {
        return;
    }
    thread = &unrecorded->threads[number];
    process = &unrecorded->processes[unrecorded->defs->threads[number].process];
    process->has_work = true;
    if ((int32_t)(call - thread->done) <= 0) {
        return;
    }
    thread->done = call;
    while (thread->first < thread->count &&
           (int32_t)(call - thread->items[thread->first].call) >= 0) {
        done_add(process, &thread->items[thread->first++]);
    }
    if (thread->more > 0 && (int32_t)(call - thread->newest.call) >= 0) {
        done_add(process, &thread->newest);
        thread->more = 0;
    }
}

void unrecorded_kernel(struct unrecorded *unrecorded,
                       const struct timeline_event *event)
{
    const struct ck_kernel *kernel = (const struct ck_kernel *)event->record;
    struct process *process = &unrecorded->processes[event->process];
    bool is_timed = (kernel->e.flags & CK_FLAG_BAD_TIME) == 0;

    process->has_work = true;
    unrecorded->all.kernels++;
    unrecorded->all.untimed += !is_timed;
    if (kernel->call == 0 && is_timed && event->start > process->done) {
        process->done = event->start; /* any launch before it may be its own */
    }
}

/* Launches into a graph that is captured never have work of their own: what
 * is before a launch whose work came, of any thread, is no evidence. */
static void thread_close(const struct thread *thread, struct process *process)
{
    size_t first = thread->first;

    while (first < thread->count &&
           thread->items[first].enter <= process->done) {
        first++;
    }
    process->count += thread->count - first;
    if (first < thread->count && thread->items[first].enter < process->first) {
        process->first = thread->items[first].enter;
    }
    if (thread->more > 0 && thread->newest.enter > process->done) {
        process->count += thread->more;
        if (process->first == INT64_MAX) {
            process->first = process->done;
        }
    }
}

void unrecorded_close(struct unrecorded *unrecorded)
{
    for (size_t i = 0; i < unrecorded->defs->threads_count; i++) {
        uint32_t process = unrecorded->defs->threads[i].process;

        if (!unrecorded->processes[process].is_unclear) {
            thread_close(&unrecorded->threads[i],
                         &unrecorded->processes[process]);
        }
    }
}

uint64_t unrecorded_count(const struct unrecorded *unrecorded,
                          uint32_t process,
                          struct region *part)
{
    const struct process *found = &unrecorded->processes[process];

    *part = (struct region){found->first, found->last};
    return found->count;
}

struct report_launches unrecorded_report(const struct unrecorded *unrecorded)
{
    struct report_launches all = unrecorded->all;

    for (size_t i = 0; i < unrecorded->defs->processes_count; i++) {
        const struct process *process = &unrecorded->processes[i];

        if (process->count == 0) {
            continue;
        }
        all.first = all.processes++ == 0 || process->first < all.first
                        ? process->first
                        : all.first;
        all.unrecorded += process->count;
        if (!process->has_work) {
            all.blind++;
            all.unseen += process->count;
        }
    }
    return all;
}
