/* test_follower.c - a follower's consumers see what the merge saw, in its order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge/model/memory.h"
#include "merge/timeline/follower.h"
#include "schema/fnv.h"
#include "tests/merge/chance.h"

#define EVENTS 200000
#define CONSUMERS 3

/* What a consumer saw, added up so that the order counts. */
struct seen {
    uint64_t hash;
    uint64_t count;
    uint64_t fails_at; /* 0 = never */
    bool is_slow;
};

static void seen_add(struct seen *seen, const void *bytes, size_t length)
{
    seen->hash = ck_fnv(seen->hash, bytes, length);
    seen->count++;
}

static int seen_take(void *state, const struct timeline_event *event)
{
    struct seen *seen = state;
    const ck_time_t times[] = {event->start, event->end, event->rank,
                               event->process, event->thread};

    if (seen->is_slow && seen->count % 5000 == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    seen_add(seen, times, sizeof(times));
    seen_add(seen, event->record, (size_t)event->record->units * CK_UNIT_BYTES);
    if (seen->fails_at > 0 && seen->count >= seen->fails_at) {
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

static void seen_note(void *state, const void *note)
{
    seen_add(state, note, 24);
}

/* The same by a thread and at once. */
struct world {
    struct follower *follower;
    struct seen behind[CONSUMERS];
    struct seen here[CONSUMERS];
};

static const uint32_t classes_of[CONSUMERS] = {
    0, 1u << CK_CLASS_KERNEL, 1u << CK_CLASS_CALL | 1u << CK_CLASS_MARK};

/* The first consumer is a witness. */
static struct world *world_make(void)
{
    struct world *world = xcalloc(1, sizeof(*world));

    world->follower = follower_create(FOLLOWER_RECORDS);
    if (world->follower == NULL) {
        free(world);
        return NULL;
    }
    for (size_t i = 0; i < CONSUMERS; i++) {
        const struct timeline_consumer consumer = {seen_take, &world->behind[i],
                                                   classes_of[i], true};

        follower_consumer(world->follower, &consumer, i == 0);
    }
    return world;
}

static void world_destroy(struct world *world)
{
    follower_destroy(world->follower);
    free(world);
}

/* A record of any length, and what is seen of it at once. 0, or -1. */
static int event_give(struct world *world, ck_time_t at)
{
    static const uint16_t kinds[] = {CK_KIND_API_OPENCL, CK_KIND_KERNEL,
                                     CK_KIND_RANGE, CK_KIND_COUNTER};
    uint64_t bytes[UINT8_MAX * CK_UNIT_BYTES / 8] = {0};
    struct ck_event *record = (struct ck_event *)bytes;
    bool is_wanted = chance_below(4) > 0;
    struct timeline_event event = {.record = record,
                                   .start = at,
                                   .end = at + chance_below(100),
                                   .rank = (int32_t)chance_below(8) - 1,
                                   .process = (uint32_t)chance_below(8),
                                   .thread = (uint32_t)chance_below(16)};
    enum ck_class cls;

    record->kind = kinds[chance_below(4)];
    record->units =
        (uint8_t)(chance_below(50) == 0 ? 1 + chance_below(UINT8_MAX)
                                        : 1 + chance_below(3));
    bytes[2] = (uint64_t)chance_below(INT64_MAX);
    cls = ck_kind_class(record->kind);
    for (size_t i = 0; i < CONSUMERS; i++) {
        uint32_t classes = classes_of[i] == 0 ? UINT32_MAX : classes_of[i];

        if ((is_wanted || i == 0) && (classes >> cls & 1) != 0) {
            (void)seen_take(&world->here[i], &event);
        }
    }
    return follower_event(world->follower, &event, cls, is_wanted);
}

static void note_give(struct world *world, ck_time_t at)
{
    const int64_t note[3] = {at, chance_below(1000), 7};

    seen_note(&world->here[1], note);
    follower_note(world->follower, seen_note, &world->behind[1], note,
                  sizeof(note));
}

static void all_is_seen_in_its_order(void **state)
{
    (void)state;
    for (int slow = 0; slow < 3; slow++) {
        struct world *world = world_make();

        if (world == NULL) {
            skip(); /* one CPU */
        }
        world->behind[0].is_slow = slow == 1;
        world->here[0].is_slow = slow == 2;
        for (ck_time_t at = 0; at < EVENTS; at++) {
            assert_int_equal(event_give(world, at), 0);
            if (chance_below(3) == 0) {
                note_give(world, at);
            }
        }
        assert_int_equal(follower_finish(world->follower), 0);
        for (size_t i = 0; i < CONSUMERS; i++) {
            assert_true(world->here[i].count > EVENTS / 10);
            assert_int_equal(world->here[i].count, world->behind[i].count);
            assert_int_equal(world->here[i].hash, world->behind[i].hash);
        }
        world_destroy(world);
    }
}

/* The merge sees it later, and no consumer is called again. */
static void a_consumer_that_fails_ends_the_merge(void **state)
{
    struct world *world = world_make();
    ck_time_t at = 0;

    (void)state;
    if (world == NULL) {
        skip();
    }
    world->behind[1].fails_at = 1000;
    while (at < EVENTS && event_give(world, at) == 0) {
        at++;
    }
    assert_true(at < EVENTS);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(follower_finish(world->follower), -1);
    assert_int_equal(errno, ENOSPC);
    assert_true(world->behind[1].count <= 1001);
    world_destroy(world);
}

static void a_failure_behind_the_last_event_is_seen_at_the_end(void **state)
{
    struct world *world = world_make();

    (void)state;
    if (world == NULL) {
        skip();
    }
    world->behind[0].fails_at = 1;
    assert_int_equal(event_give(world, 1), 0);
    assert_int_equal(follower_finish(world->follower), -1);
    assert_int_equal(errno, ENOSPC);
    world_destroy(world);
}

static void one_that_got_nothing_ends(void **state)
{
    struct world *world = world_make();

    (void)state;
    if (world == NULL) {
        skip();
    }
    world_destroy(world);
}

static void there_is_none_for_few_records_or_one_cpu(void **state)
{
    cpu_set_t before, one;
    int cpu = 0;

    (void)state;
    assert_null(follower_create(FOLLOWER_RECORDS - 1));
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    while (!CPU_ISSET(cpu, &before)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_null(follower_create(UINT64_MAX));
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_seen_in_its_order),
        cmocka_unit_test(a_consumer_that_fails_ends_the_merge),
        cmocka_unit_test(a_failure_behind_the_last_event_is_seen_at_the_end),
        cmocka_unit_test(one_that_got_nothing_ends),
        cmocka_unit_test(there_is_none_for_few_records_or_one_cpu),
    };

    chance_seed(20261124);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
