/* idealnetwork.c - the same run on a network that takes no time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For each thread a pair of times, real and replayed, that belong to the same
 * point of its program: the return of its latest MPI call, and before the
 * first one where its process's part of the region begins.
 */
#include "merge/analysis/totals/idealnetwork.h"

#include <stdlib.h>

#include "merge/model/memory.h"

struct thread {
    bool is_seen;
    bool is_inside;
    ck_time_t begin;  /* of its process's part of the region */
    ck_time_t left;   /* return of the latest call */
    int64_t replayed; /* when the replay returns from it */
    ck_time_t enter;  /* of the call that it is in, cut to the region */
    int64_t mark;     /* when the replay enters it */
    ck_time_t mpi;
    ck_time_t unknown;
};

struct idealnetwork {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct thread *threads;
    uint32_t *first; /* by rank: its first thread in MPI */
};

struct idealnetwork *idealnetwork_create(const struct defs *defs,
                                         struct region region)
{
    struct idealnetwork *idealnetwork = xcalloc(1, sizeof(*idealnetwork));

    idealnetwork->defs = defs;
    idealnetwork->region = region;
    idealnetwork->threads =
        xcalloc(defs->threads_count + 1, sizeof(*idealnetwork->threads));
    idealnetwork->first =
        xcalloc(defs->ranks_count + 1, sizeof(*idealnetwork->first));
    for (size_t i = 0; i < defs->threads_count; i++) {
        struct thread *thread = &idealnetwork->threads[i];
        ck_time_t begin = defs->processes[defs->threads[i].process].begin;

        begin = begin > region.start ? begin : region.start;
        thread->begin = begin < region.end ? begin : region.end;
        thread->left = thread->replayed = thread->mark = thread->begin;
    }
    for (size_t i = 0; i < defs->ranks_count; i++) {
        idealnetwork->first[i] = DEFS_NONE;
    }
    return idealnetwork;
}

void idealnetwork_destroy(struct idealnetwork *idealnetwork)
{
    if (idealnetwork == NULL) {
        return;
    }
    free(idealnetwork->threads);
    free(idealnetwork->first);
    free(idealnetwork);
}

static ck_time_t clip(const struct idealnetwork *idealnetwork,
                      const struct thread *thread,
                      ck_time_t time)
{
    if (time < thread->begin) {
        return thread->begin;
    }
    return time > idealnetwork->region.end ? idealnetwork->region.end : time;
}

int64_t idealnetwork_enter(struct idealnetwork *idealnetwork,
                           uint32_t number,
                           ck_time_t start)
{
    const struct defs *defs = idealnetwork->defs;
    struct thread *thread = &idealnetwork->threads[number];

    if (!thread->is_seen) {
        uint32_t rank = defs_rank_index(
            defs, defs->processes[defs->threads[number].process].rank);

        thread->is_seen = true;
        if (rank != DEFS_NONE && idealnetwork->first[rank] == DEFS_NONE) {
            idealnetwork->first[rank] = number;
        }
    }
    thread->enter = clip(idealnetwork, thread, start);
    thread->mark = thread->replayed + (thread->enter - thread->left);
    thread->is_inside = true;
    return thread->mark;
}

int64_t idealnetwork_mark(const struct idealnetwork *idealnetwork,
                          uint32_t thread)
{
    return idealnetwork->threads[thread].mark;
}

void idealnetwork_leave(struct idealnetwork *idealnetwork,
                        uint32_t number,
                        ck_time_t end,
                        struct region unknown,
                        int64_t mark)
{
    struct thread *thread = &idealnetwork->threads[number];
    ck_time_t left = clip(idealnetwork, thread, end);
    ck_time_t kept = clip(idealnetwork, thread, unknown.end) -
                     clip(idealnetwork, thread, unknown.start);

    if (!thread->is_inside) {
        return;
    }
    thread->is_inside = false;
    thread->mpi += left - thread->enter;
    thread->unknown += kept;
    thread->replayed = (mark > thread->mark ? mark : thread->mark) + kept;
    thread->left = left;
}

struct idealnetwork_rank
idealnetwork_rank(const struct idealnetwork *idealnetwork, uint32_t index)
{
    struct idealnetwork_rank rank = {.end = idealnetwork->region.end};
    const struct thread *thread;

    if (idealnetwork->first[index] == DEFS_NONE) {
        return rank;
    }
    thread = &idealnetwork->threads[idealnetwork->first[index]];
    rank.is_seen = true;
    rank.startup = thread->begin - idealnetwork->region.start;
    rank.mpi = thread->mpi;
    rank.unknown = thread->unknown;
    rank.end = thread->replayed + (idealnetwork->region.end - thread->left);
    return rank;
}
