/* test_devicehistory.c - what each process's devices did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "merge/analysis/history/devicehistory.h"
#include "tests/merge/chance.h"

#define LENGTH 200

/* What ran at each instant: the kernel that began first, 0 = none. */
struct seen {
    uint32_t names[LENGTH];
    ck_time_t at;
};

static void piece_take(void *where,
                       struct region piece,
                       const struct devicehistory_item *item,
                       bool is_running)
{
    struct seen *seen = where;

    if (item != NULL) {
        assert_true(is_running ? item->start <= piece.start
                               : item->start >= piece.end);
    }
    assert_int_equal(piece.start, seen->at);
    assert_true(piece.start < piece.end);
    for (; seen->at < piece.end; seen->at++) {
        seen->names[seen->at] = is_running ? item->name : 0;
    }
}

static void kernel_add(struct devicehistory *devicehistory,
                       uint32_t process,
                       struct region part,
                       uint32_t name)
{
    struct devicehistory_item *item;

    devicehistory_place(devicehistory, process, part, &item);
    if (item != NULL) {
        item->name = name;
    }
}

static void pieces_show_which_kernel_began_first(void **unused)
{
    (void)unused;
    for (int world = 0; world < 2000; world++) {
        struct devicehistory *devicehistory = devicehistory_create(2);
        uint32_t truth[LENGTH] = {0};
        struct seen seen = {.at = 0};
        struct region part = {chance_below(LENGTH / 2), 0};
        ck_time_t time = 0;

        assert_non_null(devicehistory);
        for (uint32_t name = 1; time < LENGTH; name++) {
            ck_time_t end = time + chance_below(20);

            kernel_add(devicehistory, 1, (struct region){time, end}, name);
            for (ck_time_t t = time; t < end && t < LENGTH; t++) {
                truth[t] = truth[t] == 0 ? name : truth[t];
            }
            time += chance_below(15);
        }
        part.end = part.start + 1 + chance_below(LENGTH - part.start);
        seen.at = part.start;
        devicehistory_walk(devicehistory, 1, part, piece_take, &seen);
        assert_int_equal(seen.at, part.end);
        for (ck_time_t t = part.start; t < part.end; t++) {
            assert_int_equal(seen.names[t], truth[t]);
        }
        devicehistory_destroy(devicehistory);
    }
}

static void count_take(void *where,
                       struct region piece,
                       const struct devicehistory_item *item,
                       bool is_running)
{
    ck_time_t *known = where;

    assert_non_null(item);
    *known += is_running ? region_length(piece) : 0;
}

static void only_the_latest_are_kept(void **unused)
{
    struct devicehistory *devicehistory = devicehistory_create(1);
    struct region all = {0, 10 * (ck_time_t)DEVICEHISTORY_MAX};
    ck_time_t known = 0;

    (void)unused;
    assert_non_null(devicehistory);
    for (ck_time_t i = 0; i < 10 * (ck_time_t)DEVICEHISTORY_MAX; i++) {
        kernel_add(devicehistory, 0, (struct region){i, i + 1}, 1);
    }
    devicehistory_walk(devicehistory, 0, all, count_take, &known);
    assert_int_equal(known, DEVICEHISTORY_MAX);
    devicehistory_destroy(devicehistory);
}

static void room_is_made_of_what_is_not_asked_for(void **unused)
{
    struct devicehistory *devicehistory = devicehistory_create(1);
    ck_time_t kept = 3 * (ck_time_t)DEVICEHISTORY_FIRST;
    ck_time_t end = 40 * kept;
    ck_time_t known = 0;

    (void)unused;
    assert_non_null(devicehistory);
    for (ck_time_t i = 0; i < end; i++) {
        if (devicehistory_is_full(devicehistory, 0)) {
            devicehistory_make_room(devicehistory, 0, i - kept);
        }
        assert_false(devicehistory_is_full(devicehistory, 0));
        kernel_add(devicehistory, 0, (struct region){i, i + 1}, 1);
    }
    devicehistory_walk(devicehistory, 0, (struct region){0, end}, count_take,
                       &known);
    assert_true(known >= kept);
    assert_true(known <= 8 * (ck_time_t)DEVICEHISTORY_FIRST);
    /* Without a horizon all are kept that there is room for. */
    for (ck_time_t i = end; i < end + (ck_time_t)DEVICEHISTORY_MAX; i++) {
        if (devicehistory_is_full(devicehistory, 0)) {
            devicehistory_make_room(devicehistory, 0, INT64_MIN);
        }
        kernel_add(devicehistory, 0, (struct region){i, i + 1}, 1);
    }
    known = 0;
    devicehistory_walk(devicehistory, 0,
                       (struct region){0, end + (ck_time_t)DEVICEHISTORY_MAX},
                       count_take, &known);
    assert_int_equal(known, DEVICEHISTORY_MAX);
    devicehistory_destroy(devicehistory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_show_which_kernel_began_first),
        cmocka_unit_test(only_the_latest_are_kept),
        cmocka_unit_test(room_is_made_of_what_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
