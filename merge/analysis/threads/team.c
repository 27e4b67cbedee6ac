/* team.c - one run of a parallel region, while its records come
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/team.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

/* Where the compiler's own part of a function's name begins; NULL = it has
 * none: of gcc main._omp_fn.0, of clang since 16 main.omp_outlined. */
static const char *function_part(const char *function)
{
    const char *part = NULL;

    if (function != NULL && function[0] != '.') {
        part = strstr(function, "._omp_fn.");
        part = part == NULL ? strstr(function, ".omp_outlined") : part;
    }
    return part;
}

struct place team_place(const struct defs *defs,
                        uint32_t process,
                        uint64_t site,
                        const struct place *around)
{
    struct place place = defs_place(defs, process, site);
    const char *part = function_part(place.function);

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

void team_init(struct team *team)
{
    team->parts = NULL;
    team->parts_count = 0;
    team->last = DEFS_NONE;
    team->first_end = INT64_MAX;
    team->meet_until = INT64_MIN;
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

void team_begin(struct team *team, struct team_part *part, struct region time)
{
    part->start = time.start;
    part->end = time.end < team->part.end ? time.end : team->part.end;
    part->worked = INT64_MIN;
    part->at = team->part.start;
    if (part->end < team->first_end) {
        team->first_end = part->end;
    }
    team_worked(team, part, part->end);
}

void team_worked(struct team *team, struct team_part *part, ck_time_t until)
{
    uint32_t number = (uint32_t)(part - team->parts);
    ck_time_t done;

    until = until < team->part.end ? until : team->part.end;
    if (until <= part->worked) {
        return;
    }
    part->worked = until;
    done = team->last == DEFS_NONE ? INT64_MIN : team->parts[team->last].worked;
    if (until > done || (until == done && number < team->last)) {
        team->last = number;
    }
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

void team_enter(struct team *team,
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
        if (item.state == REPORT_TEAM_BARRIER && item.end > team->meet_until) {
            team->meet_until = item.end;
        }
    }
}

ck_time_t team_done(const struct team *team, uint32_t *last)
{
    *last = team->last;
    return *last == DEFS_NONE ? INT64_MIN : team->parts[*last].worked;
}

bool team_is_awaited(const struct team *team,
                     const struct team_part *part,
                     ck_time_t now,
                     uint32_t *row)
{
    bool is_last = team->last != DEFS_NONE && part == &team->parts[team->last];
    bool is_met = now < team->meet_until;
    bool is_awaited = false;

    *row = DEFS_NONE;
    if (!is_met && (!is_last || now < team->first_end)) {
        return false;
    }
    for (uint32_t i = 0; i < team->parts_count; i++) {
        const struct team_part *other = &team->parts[i];
        const struct team_item *top =
            other->depth == 0 ? NULL : &other->items[other->depth - 1];

        if (other == part || other->thread == DEFS_NONE) {
            continue;
        }
        if (top != NULL && top->end > now) {
            if (top->state == REPORT_TEAM_BARRIER) {
                *row = top->row;
                return true;
            }
        } else if (is_last && other->end <= now) {
            is_awaited = true;
        }
        if (is_awaited && !is_met) {
            return true;
        }
    }
    return is_awaited;
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
