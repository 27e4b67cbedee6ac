/* commthreads.c - ranks whose first thread waits while others of them are in
 * MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nothing is recorded when a thread ends. One that has no records any
 * more may compute, or be gone; that shows when a record of it comes again, or
 * not. Until then what depends on it is kept beside the latest of such threads:
 * it falls with each of them that was there before.
 */
#include "merge/analysis/totals/commthreads.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* A thread in MPI beside the first one. */
struct member {
    uint32_t thread;
    bool is_silent;
    ck_time_t since;              /* it is */
    struct commthreads_time time; /* true if it and those before it are gone */
};

struct team {
    uint32_t first;
    ck_time_t to; /* looked at up to there */
    struct commthreads_time time;
    struct member *members;
    size_t members_count, members_room;
};

struct commthreads {
    const struct defs *defs;     /* borrowed */
    const struct layers *layers; /* borrowed; by thread */
    struct region region;
    struct team *teams; /* by rank */
    bool has_members;   /* some team */
};

struct commthreads *commthreads_create(const struct defs *defs,
                                       const struct layers *layers,
                                       struct region region)
{
    struct commthreads *of = xcalloc(1, sizeof(*of));

    of->defs = defs;
    of->layers = layers;
    of->region = region;
    of->teams = xcalloc(defs->ranks_count + 1, sizeof(*of->teams));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        of->teams[i].first = DEFS_NONE;
    }
    return of;
}

void commthreads_destroy(struct commthreads *of)
{
    if (of == NULL) {
        return;
    }
    for (size_t i = 0; i < of->defs->ranks_count; i++) {
        free(of->teams[i].members);
    }
    free(of->teams);
    free(of);
}

uint32_t commthreads_first(const struct commthreads *of, uint32_t rank)
{
    return of->teams[rank].first;
}

static bool is_waiting(enum layer layer)
{
    return layer == LAYER_LOCK || layer == LAYER_BLOCKED;
}

/* What the members do at an instant. */
struct glance {
    bool has_mpi;
    bool has_work;
    struct member *silent; /* the latest one that is */
};

static struct glance
glance_at(const struct commthreads *of, struct team *team, ck_time_t *next)
{
    struct glance glance = {false, false, NULL};

    for (size_t i = 0; i < team->members_count; i++) {
        struct member *member = &team->members[i];
        enum layer layer =
            layers_at(&of->layers[member->thread], team->to, next);

        if (layer != LAYER_NONE) {
            glance.has_mpi = glance.has_mpi || layer == LAYER_MPI;
            glance.has_work =
                glance.has_work || (layer != LAYER_MPI && !is_waiting(layer));
            continue;
        }
        if (!member->is_silent) {
            member->is_silent = true;
            member->since = team->to;
        }
        if (glance.silent == NULL || member->since > glance.silent->since) {
            glance.silent = member;
        }
    }
    return glance;
}

static void team_settle(struct commthreads *of, struct team *team, ck_time_t to)
{
    ck_time_t end = to < of->region.end ? to : of->region.end;

    while (team->to < end) {
        ck_time_t next = end;
        enum layer first = layers_at(&of->layers[team->first], team->to, &next);
        struct glance glance = glance_at(of, team, &next);
        struct commthreads_time *time =
            glance.silent != NULL ? &glance.silent->time : &team->time;

        if (is_waiting(first) && glance.has_mpi && !glance.has_work) {
            *(first == LAYER_LOCK ? &time->lock : &time->blocked) +=
                next - team->to;
        }
        team->to = next;
    }
}

static struct member *member_find(struct team *team, uint32_t thread)
{
    for (size_t i = 0; i < team->members_count; i++) {
        if (team->members[i].thread == thread) {
            return &team->members[i];
        }
    }
    return NULL;
}

void commthreads_enter(struct commthreads *of,
                       uint32_t rank,
                       uint32_t thread,
                       ck_time_t time)
{
    struct team *team = &of->teams[rank];
    ck_time_t begin;

    if (team->first == DEFS_NONE) {
        team->first = thread;
    }
    if (team->first == thread || member_find(team, thread) != NULL) {
        return;
    }
    array_grow(&team->members, &team->members_room, team->members_count,
               sizeof(*team->members));
    begin = of->defs->processes[of->defs->threads[thread].process].begin;
    begin = begin > of->region.start ? begin : of->region.start;
    if (team->members_count == 0) {
        team->to = begin > time ? begin : time;
    }
    team_settle(of, team, time);
    team->members[team->members_count++] = (struct member){.thread = thread};
    of->has_members = true;
}

/* It was there all the time: it worked, and so had those that waited for it. */
static void member_rouse(struct team *team, struct member *member)
{
    for (size_t i = 0; i < team->members_count; i++) {
        struct member *other = &team->members[i];

        if (other->is_silent && other->since >= member->since) {
            other->time = (struct commthreads_time){0, 0};
        }
    }
    member->is_silent = false;
}

void commthreads_seen(struct commthreads *of, uint32_t thread, ck_time_t time)
{
    const struct defs *defs = of->defs;
    struct member *member;
    struct team *team;
    uint32_t rank;

    if (!of->has_members) {
        return;
    }
    rank = defs_rank_index(defs,
                           defs->processes[defs->threads[thread].process].rank);
    if (rank == DEFS_NONE || of->teams[rank].members_count == 0) {
        return;
    }
    team = &of->teams[rank];
    team_settle(of, team, time);
    member = member_find(team, thread);
    if (member != NULL && member->is_silent) {
        member_rouse(team, member);
    }
}

struct commthreads_time
commthreads_rank(struct commthreads *of, uint32_t rank, ck_time_t end)
{
    struct team *team = &of->teams[rank];
    struct commthreads_time sum;

    team_settle(of, team, team->members_count > 0 ? end : 0);
    sum = team->time;
    for (size_t i = 0; i < team->members_count; i++) {
        sum.lock += team->members[i].time.lock;
        sum.blocked += team->members[i].time.blocked;
    }
    return sum;
}
