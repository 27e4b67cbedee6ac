/* test_raster.c - cells have the class with most time, and what is rare or long
 * is kept besides
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

#include "merge/model/memory.h"
#include "merge/output/lanes/raster.h"
#include "tests/merge/chance.h"

#define RANKS 70
#define CLASSES 6
#define RARE 5
#define PLANTED 100

/* What a look at each item finds: time of each class in each cell. */
struct truth {
    ck_time_t *of; /* rank, column, class */
    size_t columns;
};

static void truth_add(struct truth *truth,
                      size_t rank,
                      struct region item,
                      ck_time_t width,
                      uint8_t class)
{
    for (size_t c = 0; c < truth->columns; c++) {
        ck_time_t from = (ck_time_t)c * width, to = from + width;
        ck_time_t start = item.start > from ? item.start : from;
        ck_time_t end = item.end < to ? item.end : to;

        if (end > start) {
            truth->of[(rank * truth->columns + c) * CLASSES + class] +=
                end - start;
        }
    }
}

/* The class of a cell is one with most time, and its share is that. */
static bool is_right(const struct truth *truth,
                     const struct raster *raster,
                     size_t rank,
                     size_t column)
{
    const ck_time_t *of =
        &truth->of[(rank * truth->columns + column) * CLASSES];
    struct raster_cell cell = raster_at(raster, rank, column);
    ck_time_t most = 0;
    double share;

    for (unsigned i = 0; i < CLASSES; i++) {
        most = of[i] > most ? of[i] : most;
    }
    if (most == 0 || cell.share == 0) {
        return most == 0 && cell.share == 0;
    }
    share = (double)most / (double)raster_width(raster) * RASTER_WHOLE;
    return of[cell.class] == most && (double)cell.share <= share + 1 &&
           (double)cell.share >= share - 1;
}

/* One lane of each rank, as of devices or as of calls. */
static void a_cell_has_the_class_with_most_time(void **state)
{
    (void)state;
    for (int world = 0; world < 20; world++) {
        ck_time_t length = 1 + chance_below((int64_t)1 << (8 + world));
        struct region part = {0, length};
        struct raster *raster = raster_create(part, RANKS, CLASSES);
        struct truth truth = {.columns = raster_columns(raster)};
        int wrong = 0;

        truth.of = xcalloc(RANKS * truth.columns * CLASSES, sizeof(ck_time_t));
        for (uint32_t rank = 0; rank < RANKS; rank += 23) {
            const struct raster_lane lane = {rank, rank, rank % 2 == 1};
            ck_time_t at = chance_below(length);

            for (int i = 0; i < 40 && at < length; i++) {
                struct region item = {at,
                                      at + 1 + chance_below(length / 8 + 1)};
                uint8_t class = (uint8_t)chance_below(CLASSES);
                struct region in = item;

                (void)region_clip(part, &in.start, &in.end);
                truth_add(&truth, rank, in, raster_width(raster), class);
                raster_item(raster, &lane, item, class);
                at = item.end + chance_below(length / 8 + 1);
            }
        }
        raster_finish(raster);
        for (size_t i = 0; i < RANKS * truth.columns; i++) {
            wrong +=
                !is_right(&truth, raster, i / truth.columns, i % truth.columns);
        }
        free(truth.of);
        raster_destroy(raster);
        assert_int_equal(wrong, 0);
    }
}

static bool has_mark(const struct raster *raster,
                     unsigned class,
                     const struct raster_mark *planted)
{
    struct raster_mark mark;

    for (size_t i = 0; raster_mark_at(raster, class, i, &mark); i++) {
        if (mark.start == planted->start && mark.end == planted->end &&
            mark.rank == planted->rank) {
            return true;
        }
    }
    return false;
}

/* 1 us to 1 ms of a rare class among a million items that take all the rest of
 * their cells, and as many of the usual class that are longer than usual. */
static void no_planted_event_vanishes(void **state)
{
    struct region part = {0, (ck_time_t)RANKS * 20000 * 1000};
    struct raster *raster = raster_create(part, RANKS, CLASSES);
    struct raster_mark planted[2 * PLANTED];
    size_t count = 0;

    (void)state;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct raster_lane lane = {rank, rank, false};
        ck_time_t at = 0;

        for (int i = 0; i < 15000; i++) {
            bool is_rare = rank < PLANTED / 2 && (i == 4000 || i == 9000);
            bool is_long = rank < PLANTED / 2 && (i == 5000 || i == 7000);
            uint8_t class = is_rare ? RARE : 0;
            ck_time_t length = is_rare   ? 1000 + chance_below(999000)
                               : is_long ? 3000000
                                         : 1000 + chance_below(20000);

            if (is_rare || is_long) {
                planted[count++] =
                    (struct raster_mark){at, at + length, rank, class};
            }
            raster_item(raster, &lane, (struct region){at, at + length}, class);
            at += length;
        }
    }
    raster_finish(raster);
    assert_int_equal(count, 2 * PLANTED);
    for (size_t i = 0; i < count; i++) {
        assert_true(has_mark(raster, planted[i].class, &planted[i]));
    }
    raster_destroy(raster);
}

/* A rank with a device is shown by that, also where its calls came first. */
static void calls_are_shown_where_there_is_no_device(void **state)
{
    struct raster *raster =
        raster_create((struct region){1000, 2000}, RANKS, CLASSES);
    const struct raster_lane call = {0, 3, true}, device = {1, 3, false};
    struct raster_mark mark;

    (void)state;
    raster_item(raster, &call, (struct region){0, 5000}, 2);
    raster_finish(raster);
    assert_int_equal(raster_at(raster, 3, 0).class, 2);
    assert_int_equal(raster_at(raster, 3, 0).share, RASTER_WHOLE);
    assert_true(raster_mark_at(raster, 2, 0, &mark));
    raster_item(raster, &device, (struct region){1000, 1001}, 4);
    raster_finish(raster);
    assert_int_equal(raster_at(raster, 3, 0).class, 4);
    assert_int_equal(raster_at(raster, 3, 999).share, 0);
    assert_false(raster_mark_at(raster, 2, 0, &mark));
    raster_destroy(raster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_has_the_class_with_most_time),
        cmocka_unit_test(no_planted_event_vanishes),
        cmocka_unit_test(calls_are_shown_where_there_is_no_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
