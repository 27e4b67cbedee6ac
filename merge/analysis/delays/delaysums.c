/* delaysums.c - delay costs added up by who waited where, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/delaysums.h"

#include <math.h>
#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

#define NONE UINT32_MAX

/* The time of one source in one group. */
struct entry {
    uint32_t source; /* DELAY_NONE = unexplained */
    uint32_t next;   /* of the group; NONE */
    ck_time_t ns;
};

struct group {
    uint32_t first; /* entry; NONE */
    int32_t blamed;
    uint64_t waits;
    uint64_t stamp; /* of the gathering that has it */
};

/* A part of the wait that is looked at. */
struct piece {
    struct delaysums_group group;
    ck_time_t ns;
};

/* What a rank is blamed for in a wait, and what that cost because of it. */
struct rank {
    int32_t number;
    double blamed;
    double costs;
};

struct delaysums {
    struct table *groups_keys;
    struct group *groups;
    size_t groups_count, groups_room;
    struct table *entries_keys; /* group, source */
    struct entry *entries;
    size_t entries_count, entries_room;
    uint64_t left_out;        /* costs that found no entry */
    struct table *found_keys; /* NULL = not gathering */
    struct delaysums_cost *found;
    size_t found_count, found_room;
    uint64_t stamp;
    uint64_t waits; /* of what was gathered */
    bool has_no_starts;
    struct piece *pieces;
    size_t pieces_count, pieces_room;
    struct rank *ranks; /* of the wait that is looked at */
    size_t ranks_count, ranks_room;
};

struct delaysums *delaysums_create(void)
{
    struct delaysums *sums = xcalloc(1, sizeof(*sums));

    sums->groups_keys = table_create();
    sums->entries_keys = table_create();
    return sums;
}

uint64_t delaysums_left_out(const struct delaysums *sums)
{
    return sums->left_out;
}

void delaysums_destroy(struct delaysums *sums)
{
    if (sums == NULL) {
        return;
    }
    table_destroy(sums->groups_keys);
    table_destroy(sums->entries_keys);
    table_destroy(sums->found_keys);
    free(sums->groups);
    free(sums->entries);
    free(sums->found);
    free(sums->pieces);
    free(sums->ranks);
    free(sums);
}

static struct table_key group_key(const struct delaysums_group *group)
{
    return (struct table_key){group->site, (uint32_t)group->blamed,
                              (uint64_t)group->wait << 1 |
                                  (uint64_t)group->is_start};
}

/* Number of a group. */
static int64_t group_number(struct delaysums *sums,
                            const struct delaysums_group *group)
{
    int64_t number = table_number(sums->groups_keys, group_key(group));

    if ((size_t)number < sums->groups_count) {
        return number;
    }
    array_grow(&sums->groups, &sums->groups_room, sums->groups_count,
               sizeof(*sums->groups));
    sums->groups[sums->groups_count++] =
        (struct group){.first = NONE, .blamed = group->blamed};
    return number;
}

static void
entry_add(struct delaysums *sums, uint32_t group, uint32_t source, ck_time_t ns)
{
    struct table_key key = {group, source, 0};
    int64_t number;

    if (ns == 0) {
        return;
    }
    if (sums->entries_count >= DELAYSUMS_MAX && source != DELAY_NONE &&
        !table_has(sums->entries_keys, key)) {
        sums->left_out++;
        source = DELAY_NONE;
        key.b = source;
    }
    number = table_number(sums->entries_keys, key);
    if ((size_t)number == sums->entries_count) {
        array_grow(&sums->entries, &sums->entries_room, sums->entries_count,
                   sizeof(*sums->entries));
        sums->entries[sums->entries_count++] =
            (struct entry){source, sums->groups[group].first, 0};
        sums->groups[group].first = (uint32_t)number;
    }
    sums->entries[number].ns += ns;
}

/* Enter a piece that cost that. */
static void piece_enter(struct delaysums *sums,
                        const struct delaysums_group *group,
                        ck_time_t ns,
                        const struct delay_of *of)
{
    int64_t number = group_number(sums, group);
    double scale = of->ns > 0 ? (double)ns / (double)of->ns : 0;
    double exact = 0;
    ck_time_t given = 0;

    sums->groups[number].waits++;
    /* Each gets what the sum so far rounds up or down to, beyond the others. */
    for (size_t i = 0; i < of->count; i++) {
        ck_time_t upto;

        exact += of->costs[i].ns * scale;
        upto = (ck_time_t)llround(exact);
        upto = upto > ns ? ns : upto;
        entry_add(sums, (uint32_t)number, of->costs[i].source, upto - given);
        given = upto;
    }
    entry_add(sums, (uint32_t)number, DELAY_NONE, ns - given);
}

/* ---- the pieces of a wait ------------------------------------------------ */

static bool is_same(const struct delaysums_group *a,
                    const struct delaysums_group *b)
{
    return a->site == b->site && a->blamed == b->blamed && a->wait == b->wait &&
           a->is_start == b->is_start;
}

void delaysums_piece(struct delaysums *sums,
                     const struct delaysums_group *group,
                     ck_time_t ns)
{
    size_t i = 0;

    while (i < sums->pieces_count && !is_same(&sums->pieces[i].group, group)) {
        i++;
    }
    if (i == sums->pieces_count) {
        array_grow(&sums->pieces, &sums->pieces_room, i, sizeof(*sums->pieces));
        sums->pieces[sums->pieces_count++] = (struct piece){*group, 0};
    }
    sums->pieces[i].ns += ns;
}

static struct rank *rank_find(struct delaysums *sums, int32_t number)
{
    size_t i = 0;

    while (i < sums->ranks_count && sums->ranks[i].number != number) {
        i++;
    }
    if (i == sums->ranks_count) {
        array_grow(&sums->ranks, &sums->ranks_room, i, sizeof(*sums->ranks));
        sums->ranks[sums->ranks_count++] = (struct rank){.number = number};
    }
    return &sums->ranks[i];
}

/* What of a rank's time both have. */
static double common(const struct rank *rank)
{
    return rank->blamed < rank->costs ? rank->blamed : rank->costs;
}

/* A wait on its way into the sums. */
struct sharing {
    struct delaysums *sums;
    const struct delay_of *of;
    int32_t ranks[DELAY_COSTS_MAX]; /* of the costs */
    double scale;                   /* of the costs to the pieces */
    double left;                    /* of the pieces, beyond own costs */
};

/* Sum up by rank. */
static void ranks_add(struct sharing *sharing,
                      const struct defs *defs,
                      const struct delay *delay)
{
    struct delaysums *sums = sharing->sums;
    struct rank *rank;

    sums->ranks_count = 0;
    for (size_t i = 0; i < sharing->of->count; i++) {
        uint32_t thread =
            delaysources_get(delay_sources(delay), sharing->of->costs[i].source)
                .thread;

        sharing->ranks[i] = defs->processes[defs->threads[thread].process].rank;
        rank = rank_find(sums, sharing->ranks[i]);
        rank->costs += sharing->of->costs[i].ns * sharing->scale;
    }
    for (size_t i = 0; i < sums->pieces_count; i++) {
        rank = rank_find(sums, sums->pieces[i].group.blamed);
        rank->blamed += (double)sums->pieces[i].ns;
    }
    for (size_t i = 0; i < sums->ranks_count; i++) {
        sharing->left += sums->ranks[i].blamed - common(&sums->ranks[i]);
    }
}

static void piece_share(const struct sharing *sharing,
                        const struct piece *piece)
{
    struct delaysums *sums = sharing->sums;
    const struct rank *own = rank_find(sums, piece->group.blamed);
    struct delay_cost costs[DELAY_COSTS_MAX];
    struct delay_of of = {piece->ns, costs, sharing->of->count};
    double ns = (double)piece->ns;
    double part = own->blamed > 0 ? ns / own->blamed : 0;
    double left = sharing->left > 0
                      ? (own->blamed - common(own)) * part / sharing->left
                      : 0;

    for (size_t i = 0; i < of.count; i++) {
        const struct rank *its = rank_find(sums, sharing->ranks[i]);
        double all = sharing->of->costs[i].ns * sharing->scale;
        double taken = its->costs > 0 ? common(its) / its->costs : 0;

        costs[i].source = sharing->of->costs[i].source;
        costs[i].ns =
            all * (1 - taken) * left + (its == own ? all * taken * part : 0);
    }
    piece_enter(sums, &piece->group, piece->ns, &of);
}

void delaysums_share(struct delaysums *sums,
                     const struct defs *defs,
                     const struct delay *delay,
                     const struct delay_of *of)
{
    struct sharing sharing = {.sums = sums, .of = of};
    ck_time_t length = 0;

    for (size_t i = 0; i < sums->pieces_count; i++) {
        length += sums->pieces[i].ns;
    }
    sharing.scale = of->ns > 0 ? (double)length / (double)of->ns : 0;
    if (sums->pieces_count > 0) {
        ranks_add(&sharing, defs, delay);
    }
    for (size_t i = 0; i < sums->pieces_count; i++) {
        piece_share(&sharing, &sums->pieces[i]);
    }
    sums->pieces_count = 0;
}

/* ---- gathering ---------------------------------------------------------- */

void delaysums_begin(struct delaysums *sums)
{
    table_destroy(sums->found_keys);
    sums->found_keys = NULL;
    sums->found_count = 0;
    sums->waits = 0;
    sums->stamp++;
}

static void found_add(struct delaysums *sums, const struct entry *entry)
{
    int64_t number;

    if (sums->found_keys == NULL) {
        sums->found_keys = table_create();
    }
    number = table_number_of(sums->found_keys, entry->source, 0, 0);
    if ((size_t)number == sums->found_count) {
        array_grow(&sums->found, &sums->found_room, sums->found_count,
                   sizeof(*sums->found));
        sums->found[sums->found_count++] =
            (struct delaysums_cost){entry->source, 0};
    }
    sums->found[number].ns += entry->ns;
}

static void group_gather(struct delaysums *sums, struct group *group)
{
    if (group->stamp == sums->stamp) {
        return;
    }
    group->stamp = sums->stamp;
    sums->waits += group->waits;
    for (uint32_t i = group->first; i != NONE; i = sums->entries[i].next) {
        found_add(sums, &sums->entries[i]);
    }
}

void delaysums_forget_starts(struct delaysums *sums)
{
    sums->has_no_starts = true;
}

void delaysums_gather(struct delaysums *sums,
                      const struct delaysums_group *group)
{
    struct delaysums_group its = *group;

    for (int i = 0; i < (sums->has_no_starts ? 2 : 1); i++) {
        int64_t number;

        its.is_start = i == 0 ? group->is_start : !group->is_start;
        number = table_find(sums->groups_keys, group_key(&its));
        if (number >= 0) {
            group_gather(sums, &sums->groups[number]);
        }
    }
}

void delaysums_gather_rank(struct delaysums *sums, int32_t blamed)
{
    for (size_t i = 0; i < sums->groups_count; i++) {
        if (sums->groups[i].blamed == blamed) {
            group_gather(sums, &sums->groups[i]);
        }
    }
}

void delaysums_gather_all(struct delaysums *sums)
{
    for (size_t i = 0; i < sums->groups_count; i++) {
        group_gather(sums, &sums->groups[i]);
    }
}

uint64_t delaysums_waits(const struct delaysums *sums)
{
    return sums->waits;
}

CK_ORDER(by_ns, struct delaysums_cost, CK_DOWN(ns) ?: CK_UP(source))

const struct delaysums_cost *delaysums_costs(struct delaysums *sums,
                                             size_t *count)
{
    if (sums->found_count > 1) {
        qsort(sums->found, sums->found_count, sizeof(*sums->found), by_ns);
    }
    *count = sums->found_count;
    return sums->found;
}
