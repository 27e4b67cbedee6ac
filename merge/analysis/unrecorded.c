/* unrecorded.c - the newest launches of each thread
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/unrecorded.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"

#define NAMES_KNOWN 64

struct launch {
    ck_time_t enter;
    uint32_t call;
};

struct thread {
    struct launch *items; /* a queue: [first, count) */
    size_t first, count, room;
    uint64_t more;      /* behind those */
    uint32_t more_last; /* the newest of these */
    uint32_t done;      /* newest call of which work came */
};

struct process {
    ck_time_t last;  /* end of its last call */
    ck_time_t first; /* launch without a record; these two at the end */
    uint64_t count;
};

struct unrecorded {
    const struct cast *cast;
    struct thread *threads;
    struct process *processes;
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_launch;
    } known[NAMES_KNOWN];
};

struct unrecorded *unrecorded_create(const struct cast *cast)
{
    struct unrecorded *unrecorded = calloc(1, sizeof(*unrecorded));

    if (unrecorded == NULL) {
        return NULL;
    }
    unrecorded->cast = cast;
    unrecorded->threads =
        calloc(cast->threads_count + 1, sizeof(*unrecorded->threads));
    unrecorded->processes =
        calloc(cast->processes_count + 1, sizeof(*unrecorded->processes));
    if (unrecorded->threads == NULL || unrecorded->processes == NULL) {
        unrecorded_destroy(unrecorded);
        return NULL;
    }
    for (size_t i = 0; i < cast->processes_count; i++) {
        unrecorded->processes[i].last = INT64_MIN;
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
         unrecorded->threads != NULL && i < unrecorded->cast->threads_count;
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

/* What lies before the front is let go now and then. */
static void thread_move(struct thread *thread)
{
    if (thread->first > thread->count / 2) {
        memmove(thread->items, thread->items + thread->first,
                (thread->count - thread->first) * sizeof(*thread->items));
        thread->count -= thread->first;
        thread->first = 0;
    }
}

static int thread_add(struct thread *thread, const struct launch *launch)
{
    thread_move(thread);
    if (thread->more > 0 || thread->count - thread->first >= UNRECORDED_MAX) {
        thread->more++;
        thread->more_last = launch->call;
        return 0;
    }
    if (array_grow(&thread->items, &thread->room, thread->count,
                   sizeof(*thread->items)) != 0) {
        return -1;
    }
    thread->items[thread->count++] = *launch;
    return 0;
}

int unrecorded_launch(struct unrecorded *unrecorded,
                      const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    struct launch launch = {event->start, call->call};
    struct thread *thread;

    if (event->thread >= unrecorded->cast->threads_count) {
        return 0;
    }
    if (event->end > unrecorded->processes[event->process].last) {
        unrecorded->processes[event->process].last = event->end;
    }
    thread = &unrecorded->threads[event->thread];
    if (call->call == 0 || (call->e.flags & CK_FLAG_FAILED) != 0 ||
        (int32_t)(call->call - thread->done) <= 0 ||
        !is_launch(unrecorded,
                   cast_name(unrecorded->cast, event->process, call->e.name))) {
        return 0;
    }
    return thread_add(thread, &launch);
}

bool unrecorded_has(const struct unrecorded *unrecorded, uint32_t process)
{
    return unrecorded->processes[process].last != INT64_MIN;
}

void unrecorded_work(struct unrecorded *unrecorded,
                     uint32_t number,
                     uint32_t call)
{
    struct thread *thread;

    if (number >= unrecorded->cast->threads_count) {
        return;
    }
    thread = &unrecorded->threads[number];
    if ((int32_t)(call - thread->done) <= 0) {
        return;
    }
    thread->done = call;
    while (thread->first < thread->count &&
           (int32_t)(call - thread->items[thread->first].call) >= 0) {
        thread->first++;
    }
    if (thread->more > 0 && (int32_t)(call - thread->more_last) >= 0) {
        thread->more = 0;
    }
}

void unrecorded_close(struct unrecorded *unrecorded)
{
    for (size_t i = 0; i < unrecorded->cast->threads_count; i++) {
        const struct thread *thread = &unrecorded->threads[i];
        struct process *process =
            &unrecorded->processes[unrecorded->cast->threads[i].process];

        process->count += thread->count - thread->first + thread->more;
        if (thread->first < thread->count &&
            thread->items[thread->first].enter < process->first) {
            process->first = thread->items[thread->first].enter;
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
