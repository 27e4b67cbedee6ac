/* delaysums.c - delay costs added up by who waited where, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delaysums.h"

#include <math.h>
#include <stdlib.h>

#include "merge/array.h"
#include "merge/table.h"

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
    uint64_t stamp; /* of the gathering that has it */
};

struct delaysums {
    struct table *groups_keys;
    struct group *groups;
    size_t groups_count, groups_room;
    struct table *entries_keys; /* group, source */
    struct entry *entries;
    size_t entries_count, entries_room;
    struct table *found_keys; /* NULL = not gathering */
    struct delaysums_cost *found;
    size_t found_count, found_room;
    uint64_t stamp;
    bool has_no_starts;
};

struct delaysums *delaysums_create(void)
{
    struct delaysums *sums = calloc(1, sizeof(*sums));

    if (sums == NULL) {
        return NULL;
    }
    sums->groups_keys = table_create();
    sums->entries_keys = table_create();
    if (sums->groups_keys == NULL || sums->entries_keys == NULL) {
        delaysums_destroy(sums);
        return NULL;
    }
    return sums;
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
    free(sums);
}

static struct table_key group_key(const struct delaysums_group *group)
{
    return (struct table_key){group->site, (uint32_t)group->blamed,
                              (uint64_t)group->wait << 1 |
                                  (uint64_t)group->is_start};
}

/* Number of a group; -1 with ENOMEM. */
static int64_t group_number(struct delaysums *sums,
                            const struct delaysums_group *group)
{
    int64_t number = table_number(sums->groups_keys, group_key(group));

    if (number < 0 || (size_t)number < sums->groups_count) {
        return number;
    }
    if (array_grow(&sums->groups, &sums->groups_room, sums->groups_count,
                   sizeof(*sums->groups)) != 0) {
        return -1;
    }
    sums->groups[sums->groups_count++] =
        (struct group){.first = NONE, .blamed = group->blamed};
    return number;
}

static int
entry_add(struct delaysums *sums, uint32_t group, uint32_t source, ck_time_t ns)
{
    struct table_key key = {group, source, 0};
    int64_t number;

    if (ns == 0) {
        return 0;
    }
    if (sums->entries_count >= DELAYSUMS_MAX && source != DELAY_NONE &&
        !table_has(sums->entries_keys, key)) {
        source = DELAY_NONE;
        key.b = source;
    }
    number = table_number(sums->entries_keys, key);
    if (number < 0) {
        return -1;
    }
    if ((size_t)number == sums->entries_count) {
        if (array_grow(&sums->entries, &sums->entries_room, sums->entries_count,
                       sizeof(*sums->entries)) != 0) {
            return -1;
        }
        sums->entries[sums->entries_count++] =
            (struct entry){source, sums->groups[group].first, 0};
        sums->groups[group].first = (uint32_t)number;
    }
    sums->entries[number].ns += ns;
    return 0;
}

int delaysums_add(struct delaysums *sums,
                  const struct delaysums_group *group,
                  ck_time_t ns,
                  const struct delay_of *of)
{
    int64_t number = group_number(sums, group);
    double scale = of->ns > 0 ? (double)ns / (double)of->ns : 0;
    double exact = 0;
    ck_time_t given = 0;

    if (number < 0) {
        return -1;
    }
    /* Each gets what the sum so far rounds up or down to, beyond the others. */
    for (size_t i = 0; i < of->count; i++) {
        ck_time_t upto;

        exact += of->costs[i].ns * scale;
        upto = (ck_time_t)llround(exact);
        upto = upto > ns ? ns : upto;
        if (entry_add(sums, (uint32_t)number, of->costs[i].source,
                      upto - given) != 0) {
            return -1;
        }
        given = upto;
    }
    return entry_add(sums, (uint32_t)number, DELAY_NONE, ns - given);
}

/* ---- gathering ---------------------------------------------------------- */

void delaysums_begin(struct delaysums *sums)
{
    table_destroy(sums->found_keys);
    sums->found_keys = NULL;
    sums->found_count = 0;
    sums->stamp++;
}

static int found_add(struct delaysums *sums, const struct entry *entry)
{
    int64_t number;

    if (sums->found_keys == NULL) {
        sums->found_keys = table_create();
        if (sums->found_keys == NULL) {
            return -1;
        }
    }
    number = table_number_of(sums->found_keys, entry->source, 0, 0);
    if (number < 0) {
        return -1;
    }
    if ((size_t)number == sums->found_count) {
        if (array_grow(&sums->found, &sums->found_room, sums->found_count,
                       sizeof(*sums->found)) != 0) {
            return -1;
        }
        sums->found[sums->found_count++] =
            (struct delaysums_cost){entry->source, 0};
    }
    sums->found[number].ns += entry->ns;
    return 0;
}

static int group_gather(struct delaysums *sums, struct group *group)
{
    if (group->stamp == sums->stamp) {
        return 0;
    }
    group->stamp = sums->stamp;
    for (uint32_t i = group->first; i != NONE; i = sums->entries[i].next) {
        if (found_add(sums, &sums->entries[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

void delaysums_forget_starts(struct delaysums *sums)
{
    sums->has_no_starts = true;
}

int delaysums_gather(struct delaysums *sums,
                     const struct delaysums_group *group)
{
    struct delaysums_group its = *group;

    for (int i = 0; i < (sums->has_no_starts ? 2 : 1); i++) {
        struct table_key key;

        its.is_start = i == 0 ? group->is_start : !group->is_start;
        key = group_key(&its);
        if (table_has(sums->groups_keys, key) &&
            group_gather(sums,
                         &sums->groups[table_number(sums->groups_keys, key)]) !=
                0) {
            return -1;
        }
    }
    return 0;
}

int delaysums_gather_rank(struct delaysums *sums, int32_t blamed)
{
    for (size_t i = 0; i < sums->groups_count; i++) {
        if (sums->groups[i].blamed == blamed &&
            group_gather(sums, &sums->groups[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int delaysums_gather_all(struct delaysums *sums)
{
    for (size_t i = 0; i < sums->groups_count; i++) {
        if (group_gather(sums, &sums->groups[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int by_ns(const void *left, const void *right)
{
    const struct delaysums_cost *a = left;
    const struct delaysums_cost *b = right;

    if (a->ns != b->ns) {
        return a->ns < b->ns ? 1 : -1;
    }
    return (a->source > b->source) - (a->source < b->source);
}

const struct delaysums_cost *delaysums_costs(struct delaysums *sums,
                                             size_t *count)
{
    if (sums->found_count > 1) {
        qsort(sums->found, sums->found_count, sizeof(*sums->found), by_ns);
    }
    *count = sums->found_count;
    return sums->found;
}
