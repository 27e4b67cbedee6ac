/* test_lane.c - folding leaves nothing out, and stays within its bound
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

#include "merge/output/lanes/lane.h"
#include "tests/merge/chance.h"

#define LENGTH 1000000
#define ITEMS_MOST 3000

/* Items of lengths from 1 ns to a tenth of the lane, in bursts and alone. */
static size_t items_draw(struct lane_item *items)
{
    ck_time_t at = chance_below(1000);
    size_t count = 0;

    while (count < ITEMS_MOST) {
        ck_time_t length = 1 + chance_below((int64_t)1 << chance_below(17));
        ck_time_t gap = chance_below(chance_below(3) == 0 ? 20000 : 4);

        if (at + gap + length > LENGTH) {
            break;
        }
        at += gap;
        items[count++] = lane_item(at, at + length, (uint8_t)chance_below(5),
                                   chance_below(2) == 0 ? "one" : "other");
        at += length;
    }
    return count;
}

/* Is each item in one of the lane, and each that is kept there as it is? */
static bool has_all(const struct lane_items *lane,
                    const struct lane_item *items,
                    size_t count,
                    ck_time_t w)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lane_item *in;
        ck_time_t length = items[i].end - items[i].start;

        while (at < lane->count && lane->all[at].end < items[i].end) {
            at++;
        }
        in = &lane->all[at];
        if (at == lane->count || in->start > items[i].start ||
            in->longest < length ||
            (length >= w / 2 &&
             (in->count != 1 || in->start != items[i].start ||
              in->class != items[i].class))) {
            return false;
        }
    }
    return true;
}

static bool has_sums(const struct lane_items *lane,
                     const struct lane_item *items,
                     size_t count)
{
    ck_time_t busy = 0;
    uint64_t many = 0;

    for (size_t i = 0; i < count; i++) {
        busy += items[i].busy;
    }
    for (size_t i = 0; i < lane->count; i++) {
        busy -= lane->all[i].busy;
        many += lane->all[i].count;
        if (lane->all[i].class_busy > lane->all[i].busy ||
            (i > 0 && lane->all[i].start < lane->all[i - 1].end)) {
            return false;
        }
    }
    return busy == 0 && many == count;
}

static bool is_right(const struct lane *lane,
                     const struct lane_item *items,
                     size_t count,
                     ck_time_t w)
{
    struct lane_items read = {NULL, 0, 0};
    bool right;

    lane_read(lane, &read);
    right = read.count == lane->count && has_all(&read, items, count, w) &&
            has_sums(&read, items, count) &&
            lane->count <= 4 * (size_t)LENGTH / (size_t)w + 1;
    free(read.all);
    return right;
}

static void fill(struct lane *lane,
                 const struct lane_item *items,
                 size_t count,
                 ck_time_t w)
{
    for (size_t i = 0; i < count; i++) {
        lane_add(lane, &items[i], w);
    }
}

/* Folded at once, and from the level before. */
static bool is_wrong(void *state)
{
    struct lane_item *items = state;
    struct lane again = {0};
    size_t count = items_draw(items);
    bool wrong = false;

    fill(&again, items, count, 0);
    wrong = again.count != count;
    for (ck_time_t w = 2; !wrong && w < 2 * LENGTH; w *= 4) {
        struct lane once = {0};

        fill(&once, items, count, w);
        lane_fold(&again, w);
        wrong = !is_right(&once, items, count, w) ||
                !is_right(&again, items, count, w);
        lane_fini(&once);
    }
    lane_fini(&again);
    return wrong;
}

static void folding_leaves_nothing_out_at_any_level(void **state)
{
    struct lane_item *items = calloc(ITEMS_MOST, sizeof(*items));

    (void)state;
    assert_non_null(items);
    chance_worlds(300, is_wrong, items);
    free(items);
}

static void a_run_names_its_longest_item(void **state)
{
    struct lane lane = {0};
    const struct lane_item items[] = {lane_item(0, 2, 1, "short"),
                                      lane_item(3, 8, 2, "long"),
                                      lane_item(9, 10, 1, "short")};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        lane_add(&lane, &items[i], 100);
    }
    assert_int_equal(lane.count, 1);
    assert_int_equal(lane.last.count, 3);
    assert_int_equal(lane.last.busy, 8);
    assert_int_equal(lane.last.longest, 5);
    assert_string_equal(lane.last.name, "long");
    assert_int_equal(lane.last.class, 2);
    lane_fini(&lane);
}

/* Any number of any size and sign, and any name, as a damaged file may have. */
static ck_time_t any_time(void)
{
    return (ck_time_t)(((uint64_t)chance_below(INT64_MAX) << 1) >>
                       chance_below(64));
}

static bool is_other(void *state)
{
    struct lane_item *items = state;
    const size_t count = 1 + (size_t)chance_below(ITEMS_MOST);
    struct lane lane = {.count = 0};
    struct lane_items read = {NULL, 0, 0};
    bool is_other;

    for (size_t i = 0; i < count; i++) {
        bool is_exact = chance_below(2) == 0;
        ck_time_t start = any_time(), length = any_time();

        items[i] = (struct lane_item){
            .start = start,
            .end = (ck_time_t)((uint64_t)start + (uint64_t)length),
            .busy = is_exact ? length : any_time(),
            .longest = is_exact ? length : any_time(),
            .class_busy = is_exact ? length : any_time(),
            .name = (const char *)(uintptr_t)any_time(),
            .count = is_exact ? 1 : 2 + (uint32_t)chance_below(UINT32_MAX - 2),
            .class = (uint8_t)chance_below(256)};
        lane_add(&lane, &items[i], 0);
    }
    lane_read(&lane, &read);
    is_other = read.count != count;
    for (size_t i = 0; !is_other && i < count; i++) {
        const struct lane_item *one = &items[i], *other = &read.all[i];

        is_other = one->start != other->start || one->end != other->end ||
                   one->busy != other->busy || one->longest != other->longest ||
                   one->class_busy != other->class_busy ||
                   one->name != other->name || one->count != other->count ||
                   one->class != other->class;
    }
    free(read.all);
    lane_fini(&lane);
    return is_other;
}

static void any_item_is_read_as_it_was_added(void **state)
{
    struct lane_item *items = calloc(ITEMS_MOST, sizeof(*items));

    (void)state;
    assert_non_null(items);
    chance_worlds(100, is_other, items);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_leaves_nothing_out_at_any_level),
        cmocka_unit_test(a_run_names_its_longest_item),
        cmocka_unit_test(any_item_is_read_as_it_was_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
