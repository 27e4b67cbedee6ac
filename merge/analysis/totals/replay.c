/* replay.c - the same run on a network that takes no time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For each thread a pair of times, real and replayed, that belong to the same
 * point of its program: the return of its latest MPI call, and before the
 * first one where its process's part of the region begins.
 */
#include "merge/analysis/totals/replay.h"

#include <stdlib.h>

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

struct replay {
    const struct cast *cast; /* borrowed */
    struct region region;
    struct thread *threads;
    uint32_t *first; /* by rank: its first thread in MPI */
};

struct replay *replay_create(const struct cast *cast, struct region region)
{
    struct replay *replay = calloc(1, sizeof(*replay));

    if (replay == NULL) {
        return NULL;
    }
    replay->cast = cast;
    replay->region = region;
    replay->threads = calloc(cast->threads_count + 1, sizeof(*replay->threads));
    replay->first = calloc(cast->ranks_count + 1, sizeof(*replay->first));
    if (replay->threads == NULL || replay->first == NULL) {
        replay_destroy(replay);
        return NULL;
    }
    for (size_t i = 0; i < cast->threads_count; i++) {
        struct thread *thread = &replay->threads[i];
        ck_time_t begin = cast->processes[cast->threads[i].process].begin;

        begin = begin > region.start ? begin : region.start;
        thread->begin = begin < region.end ? begin : region.end;
        thread->left = thread->replayed = thread->mark = thread->begin;
    }
    for (size_t i = 0; i < cast->ranks_count; i++) {
        replay->first[i] = CAST_NONE;
    }
    return replay;
}

void replay_destroy(struct replay *replay)
{
    if (replay == NULL) {
        return;
    }
    free(replay->threads);
    free(replay->first);
    free(replay);
}

static ck_time_t
clip(const struct replay *replay, const struct thread *thread, ck_time_t time)
{
    if (time < thread->begin) {
        return thread->begin;
    }
    return time > replay->region.end ? replay->region.end : time;
}

int64_t replay_enter(struct replay *replay, uint32_t number, ck_time_t start)
{
    const struct cast *cast = replay->cast;
    struct thread *thread = &replay->threads[number];

    if (!thread->is_seen) {
        uint32_t rank = cast_rank_index(
            cast, cast->processes[cast->threads[number].process].rank);

        thread->is_seen = true;
        if (rank != CAST_NONE && replay->first[rank] == CAST_NONE) {
            replay->first[rank] = number;
        }
    }
    thread->enter = clip(replay, thread, start);
    thread->mark = thread->replayed + (thread->enter - thread->left);
    thread->is_inside = true;
    return thread->mark;
}

int64_t replay_mark(const struct replay *replay, uint32_t thread)
{
    return replay->threads[thread].mark;
}

void replay_leave(struct replay *replay,
                  uint32_t number,
                  ck_time_t end,
                  enum replay_call what,
                  int64_t mark)
{
    struct thread *thread = &replay->threads[number];
    ck_time_t left = clip(replay, thread, end);
    ck_time_t length = left - thread->enter;

    if (!thread->is_inside) {
        return;
    }
    thread->is_inside = false;
    thread->mpi += length;
    thread->replayed = thread->mark;
    if (what == REPLAY_UNKNOWN) {
        thread->unknown += length;
        thread->replayed += length;
    } else if (mark > thread->mark) {
        thread->replayed = mark;
    }
    thread->left = left;
}

struct replay_rank replay_rank(const struct replay *replay, uint32_t index)
{
    struct replay_rank rank = {.end = replay->region.end};
    const struct thread *thread;

    if (replay->first[index] == CAST_NONE) {
        return rank;
    }
    thread = &replay->threads[replay->first[index]];
    rank.is_seen = true;
    rank.startup = thread->begin - replay->region.start;
    rank.mpi = thread->mpi;
    rank.unknown = thread->unknown;
    rank.end = thread->replayed + (replay->region.end - thread->left);
    return rank;
}
