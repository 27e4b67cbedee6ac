/* team.c - one run of a parallel region, while its records come
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/team.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

struct place team_place(const struct defs *defs,
                        uint32_t process,
                        uint64_t site,
                        const struct place *around)
{
    struct place place = defs_place(defs, process, site);
    const char *part =
        place.function == NULL ? NULL : strstr(place.function, "._omp_fn.");

    if (around != NULL && defs_is_team(defs, process, site)) {
        return *around;
    }
    if (part != NULL) {
        place.function = texts_keep(defs->texts, place.function,
                                    (size_t)(part - place.function));
    } else if (place.function != NULL && around != NULL &&
               strncmp(place.function, ".omp_outlined", 13) == 0) {
        place.function = around->function;
    }
    return place;
}

void team_fini(struct team *team)
{
    free(team->parts);
    team->parts = NULL;
    team->parts_count = 0;
}

struct team_part *team_part(struct team *team, uint32_t number)
{
    if (number >= TEAM_THREADS) {
        return NULL;
    }
    if (number >= team->parts_count) {
        uint32_t count = number + 1 > team->size && number + 1 > 8
                             ? number + 1
                             : (team->size > TEAM_THREADS ? 8 : team->size);

        count = count <= number ? number + 1 : count;
        team->parts = xrealloc(team->parts, count * sizeof(*team->parts));
        for (uint32_t i = team->parts_count; i < count; i++) {
            team->parts[i] = (struct team_part){.thread = DEFS_NONE};
        }
        team->parts_count = count;
    }
    return &team->parts[number];
}

struct team_part *team_find(struct team *team, uint32_t thread)
{
    for (uint32_t i = 0; i < team->parts_count; i++) {
        if (team->parts[i].thread == thread) {
            return &team->parts[i];
        }
    }
    return NULL;
}

static void give(const struct team *team,
                 struct team_part *part,
                 enum report_team_state state,
                 uint32_t row,
                 ck_time_t until,
                 const struct team_taker *taker)
{
    if (until > part->at) {
        taker->take(taker->state, team, part, state, row,
                    (struct region){part->at, until});
        part->at = until;
    }
}

/* Time within nothing: work, and behind its end a wait for the others,
 * which team_end() divides. */
static void give_base(const struct team *team,
                      struct team_part *part,
                      ck_time_t until,
                      const struct team_taker *taker)
{
    give(team, part, REPORT_TEAM_WORK, DEFS_NONE,
         until < part->end ? until : part->end, taker);
    give(team, part, REPORT_TEAM_IMBALANCE, DEFS_NONE, until, taker);
}

void team_pass(const struct team *team,
               struct team_part *part,
               ck_time_t now,
               const struct team_taker *taker)
{
    while (part->depth > 0) {
        struct team_item *top = &part->items[part->depth - 1];

        give(team, part, top->state, top->row, top->end < now ? top->end : now,
             taker);
        if (top->end > now) {
            return;
        }
        part->depth--;
    }
    give_base(team, part, now, taker);
}

void team_enter(const struct team *team,
                struct team_part *part,
                ck_time_t now,
                struct team_item item,
                const struct team_taker *taker)
{
    team_pass(team, part, now, taker);
    /* What begins within something ends within it. */
    if (part->depth > 0 && item.end > part->items[part->depth - 1].end) {
        item.end = part->items[part->depth - 1].end;
    }
    if (item.end > team->part.end) {
        item.end = team->part.end;
    }
    if (item.end > now && part->depth < TEAM_DEPTH) {
        part->items[part->depth++] = item;
    }
}

ck_time_t team_done(const struct team *team, uint32_t *last)
{
    ck_time_t done = INT64_MIN;

    *last = DEFS_NONE;
    for (uint32_t i = 0; i < team->parts_count; i++) {
        if (team->parts[i].thread != DEFS_NONE &&
            team->parts[i].worked > done) {
            done = team->parts[i].worked;
            *last = i;
        }
    }
    return done;
}

void team_end(struct team *team, const struct team_taker *taker)
{
    uint32_t last;
    ck_time_t done = team_done(team, &last);

    for (uint32_t i = 0; i < team->parts_count; i++) {
        struct team_part *part = &team->parts[i];

        if (part->thread == DEFS_NONE) {
            continue;
        }
        team_pass(team, part, done, taker);
        part->depth = 0;
        give(team, part, REPORT_TEAM_JOIN, DEFS_NONE, team->part.end, taker);
    }
}

bool team_meet(struct team *team,
               uint32_t number,
               uint32_t row,
               uint32_t thread,
               ck_time_t now,
               struct team_meeting *meeting)
{
    struct team_barrier *barrier = &team->barriers[number % TEAM_BARRIERS];

    if (barrier->number != number) {
        *barrier = (struct team_barrier){.number = number, .row = row};
    }
    barrier->count++;
    barrier->sum += now - team->part.start;
    if (barrier->count == 1 || now >= barrier->last_at) {
        barrier->last_at = now;
        barrier->last = thread;
    }
    if (barrier->count < team->size) {
        return false;
    }
    *meeting = (struct team_meeting){
        .row = barrier->row,
        .last = barrier->last,
        .waited = (barrier->last_at - team->part.start) * barrier->count -
                  barrier->sum,
    };
    barrier->number = 0;
    return true;
}
