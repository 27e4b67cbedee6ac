/* test_cuptigroup.c - a launch has the communicator that was given for it, and
 * never another one's
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptigroup.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WRITERS 4
#define READERS 2
#define ROUNDS 2000000

nccl_link_f ck_nccl_link;

static _Atomic unsigned running;
static _Atomic uint64_t mixed, found;

/* A writer's correlations all fall into one entry; the number follows from the
 * correlation. */
static void *writer_main(void *of)
{
    uint32_t step = WRITERS * GROUP_LAUNCHES;
    uint32_t first = (uint32_t)(uintptr_t)of * GROUP_LAUNCHES + 1;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t correlation = first + i % 8 * step;

        ck_nccl_link()->begin((struct nccl_group){correlation, ~correlation});
        group_launch(correlation);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

static void *reader_main(void *unused)
{
    while (atomic_load(&running) > 0) {
        for (uint32_t i = 0; i < 8 * WRITERS; i++) {
            uint32_t correlation = i * GROUP_LAUNCHES + 1;
            struct nccl_group group = group_get(correlation);

            if (group.name == 0) {
                continue;
            }
            atomic_fetch_add(&found, 1);
            if (group.name != correlation || group.number != ~correlation) {
                atomic_fetch_add(&mixed, 1);
            }
        }
    }
    return unused;
}

static void writers_of_one_entry_never_mix(void **state)
{
    pthread_t threads[WRITERS + READERS];

    (void)state;
    atomic_store(&running, WRITERS);
    for (uintptr_t i = 0; i < WRITERS + READERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < WRITERS ? writer_main : reader_main,
                                        (void *)i),
                         0);
    }
    for (size_t i = 0; i < WRITERS + READERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_true(atomic_load(&found) > 0);
    assert_int_equal(atomic_load(&mixed), 0);
}

static void a_launch_is_of_what_was_begun_on_its_thread(void **state)
{
    (void)state;
    ck_nccl_link()->begin((struct nccl_group){7, 65});
    group_launch(12);
    ck_nccl_link()->begin((struct nccl_group){0, 0});
    group_launch(13);
    assert_int_equal(group_get(12).name, 7);
    assert_int_equal(group_get(12).number, 65);
    assert_int_equal(group_get(13).name, 0);
    /* the entry's next user */
    assert_int_equal(group_get(12 + GROUP_LAUNCHES).name, 0);
}

static void the_newest_launch_is_named_once(void **state)
{
    (void)state;
    group_launch(20);
    group_launch(21);
    assert_true(ck_nccl_link()->launched((struct nccl_group){3, 1}));
    assert_false(ck_nccl_link()->launched((struct nccl_group){3, 2}));
    assert_int_equal(group_get(20).name, 0);
    assert_int_equal(group_get(21).number, 1);
}

static void *late_main(void *unused)
{
    group_launch(40);
    atomic_store(&running, 1);
    (void)usleep(200);
    (void)ck_nccl_link()->launched((struct nccl_group){9, 4});
    return unused;
}

static void a_record_waits_for_the_report_behind_its_launch(void **state)
{
    pthread_t thread;
    struct nccl_group group;

    (void)state;
    (void)ck_nccl_link()->launched((struct nccl_group){0, 0});
    atomic_store(&running, 0);
    assert_int_equal(pthread_create(&thread, NULL, late_main, NULL), 0);
    while (atomic_load(&running) == 0) {
    }
    group = group_get(40);
    (void)pthread_join(thread, NULL);
    assert_int_equal(group.name, 9);
    /* not for ever, and not each time, where nothing is reported */
    group_launch(41);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(group_get(41).name, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_of_what_was_begun_on_its_thread),
        cmocka_unit_test(the_newest_launch_is_named_once),
        cmocka_unit_test(a_record_waits_for_the_report_behind_its_launch),
        cmocka_unit_test(writers_of_one_entry_never_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
