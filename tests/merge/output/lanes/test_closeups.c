/* test_closeups.c - a close look has every item that there was
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/output/lanes/closeups.h"
#include "tests/merge/chance.h"

#define RANKS 6
#define ROWS (3 * RANKS)
#define CAUSES_HERE 5
#define ITEMS ((size_t)300000)
#define WORLDS 12
/* Until pieces of the late rows are known. */
#define LAG 5000

/* Everything that there was. */
struct world {
    struct closeup_item *items;
    size_t count;
    struct region longest[CAUSES_HERE];
    int32_t rank[CAUSES_HERE];
};

static bool is_late(uint32_t row)
{
    return row % 3 == 0;
}

static int32_t rank_of(const struct closeup_item *item)
{
    return (int32_t)(item->row / 3);
}

/* Rows in which no two items touch; now and then an item
 * is very long. */
static struct closeup_item item_draw(uint32_t row, ck_time_t ends[ROWS])
{
    ck_time_t start = ends[row] + 1 + chance_below(40);
    ck_time_t length = 1 + chance_below(chance_below(5000) == 0 ? 2000000 : 60);

    ends[row] = start + length;
    return (struct closeup_item){.start = start,
                                 .end = start + length,
                                 .row = row,
                                 .class = (uint8_t)chance_below(9)};
}

static int by_arrival(const void *a, const void *b)
{
    const struct closeup_item *one = a, *other = b;
    ck_time_t left = is_late(one->row) ? LAG + one->end : one->start;
    ck_time_t right = is_late(other->row) ? LAG + other->end : other->start;

    return (left > right) - (left < right);
}

static void world_draw(struct world *world)
{
    ck_time_t ends[ROWS] = {0};

    world->items = malloc(ITEMS * sizeof(*world->items));
    assert_non_null(world->items);
    for (world->count = 0; world->count < ITEMS; world->count++) {
        uint32_t row = 0;

        for (uint32_t i = 1; i < ROWS; i++) {
            row = ends[i] < ends[row] ? i : row;
        }
        world->items[world->count] = item_draw(row, ends);
    }
    qsort(world->items, world->count, sizeof(*world->items), by_arrival);
}

static void item_put(struct closeups *closeups,
                     const struct closeup_item *item,
                     bool is_item_late)
{
    const struct region part = {item->start, item->end};

    if (is_item_late) {
        closeups_late(closeups, item->row, item->end);
    }
    closeups_put(closeups, item->row, part, item->class, item->name);
}

/* The items come, and those of late rows are pieces of causes. */
static void world_play(struct world *world, struct closeups *closeups)
{
    for (uint32_t row = 0; row < ROWS; row++) {
        closeups_row(closeups, row, (int32_t)(row / 3), is_late(row));
    }
    for (size_t i = 0; i < world->count; i++) {
        const struct closeup_item *item = &world->items[i];
        const struct closeup_of of = {.cause = item->class % CAUSES_HERE,
                                      .blamed = -1};
        int32_t rank = rank_of(item);
        const int32_t ranks[CLOSEUP_RANKS] = {rank, (rank + 1) % RANKS, rank};
        struct region piece = {item->start, item->end};

        item_put(closeups, item, is_late(item->row));
        if (!is_late(item->row)) {
            continue;
        }
        closeups_piece(closeups, &of, piece, ranks);
        if (region_length(piece) > region_length(world->longest[of.cause])) {
            world->longest[of.cause] = piece;
            world->rank[of.cause] = rank;
        }
    }
    closeups_finish(closeups);
}

static bool is_seen(const struct closeup *closeup,
                    const struct closeup_item *item)
{
    return item->end > closeup->part.start && item->start < closeup->part.end &&
           (rank_of(item) == closeup->ranks[0] ||
            rank_of(item) == closeup->ranks[1]);
}

/* Each item, but of a row whose pieces come late and that has none at all. */
static void check(const struct world *world, const struct closeup *closeup)
{
    size_t there[ROWS] = {0}, seen[ROWS] = {0};

    for (size_t i = 0; i < world->count; i++) {
        there[world->items[i].row] += is_seen(closeup, &world->items[i]);
    }
    for (size_t i = 0; i < closeup->count; i++) {
        const struct closeup_item *item = &closeup->items[i];

        seen[item->row]++;
        assert_true(is_seen(closeup, item));
        assert_true(i == 0 || item->row > item[-1].row ||
                    (item->row == item[-1].row && item->start >= item[-1].end));
    }
    assert_true(closeup->count <= CLOSEUP_ITEMS);
    for (uint32_t row = 0; row < ROWS; row++) {
        assert_true(seen[row] == there[row] ||
                    (is_late(row) && seen[row] == 0 &&
                     (int32_t)(row / 3) != closeup->ranks[0]));
    }
}

static void each_cause_has_its_longest_piece_with_all_around_it(void **state)
{
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        struct world world = {.count = 0};
        struct closeups *closeups = closeups_create();

        world_draw(&world);
        world_play(&world, closeups);
        for (uint32_t cause = 0; cause < CAUSES_HERE; cause++) {
            const struct closeup *closeup = closeups_find(
                closeups, world.longest[cause], world.rank[cause]);

            assert_non_null(closeup);
            assert_true(closeup->part.end >= world.longest[cause].end);
            check(&world, closeup);
        }
        closeups_destroy(closeups);
        free(world.items);
    }
}

static void a_piece_that_goes_on_is_one(void **state)
{
    struct closeups *closeups = closeups_create();
    const struct closeup_of of = {.cause = 1};
    const int32_t ranks[CLOSEUP_RANKS] = {0, 1, 1};
    const struct closeup *closeup;

    (void)state;
    closeups_row(closeups, 0, 0, true);
    for (ck_time_t at = 0; at < 1000; at += 10) {
        const struct closeup_item item = {at, at + 10, NULL, 0, 1};

        item_put(closeups, &item, true);
        if (at < 300 || at >= 320) {
            closeups_piece(closeups, &of, (struct region){at, at + 10}, ranks);
        }
    }
    closeups_finish(closeups);
    closeup = closeups_find(closeups, (struct region){320, 1000}, 0);
    assert_non_null(closeup);
    assert_true(closeup->part.start <= 320 && closeup->part.end >= 1000);
    assert_null(closeups_find(closeups, (struct region){320, 1000}, 5));
    closeups_destroy(closeups);
}

static void causes_of_little_time_are_not_copied(void **state)
{
    struct closeups *closeups = closeups_create();
    const int32_t ranks[CLOSEUP_RANKS] = {0, 0, 0};

    (void)state;
    closeups_row(closeups, 0, 0, true);
    for (uint32_t i = 0; i < 2000; i++) {
        const struct closeup_of of = {.cause = 1, .did = i};
        const struct closeup_item item = {10 * i, 10 * i + 5, NULL, 0, 1};

        item_put(closeups, &item, true);
        closeups_piece(closeups, &of, (struct region){item.start, item.end},
                       ranks);
    }
    closeups_finish(closeups);
    assert_null(closeups_find(closeups, (struct region){0, 20000}, 0));
    closeups_destroy(closeups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_its_longest_piece_with_all_around_it),
        cmocka_unit_test(a_piece_that_goes_on_is_one),
        cmocka_unit_test(causes_of_little_time_are_not_copied),
    };

    chance_seed(chance_rand_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
