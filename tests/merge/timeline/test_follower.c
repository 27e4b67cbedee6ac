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
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "merge/model/memory.h"
#include "merge/timeline/follower.h"
#include "schema/fnv.h"
#include "tests/merge/chance.h"
#include "tests/merge/onecpu.h"

#define EVENTS 200000
/* One that asks others, and those behind it. */
#define CONSUMERS 4
#define BEHIND 1
/* The one that gets the notes. */
#define NOTED 2

/* What a consumer saw, added up so that the order counts. */
struct seen {
    uint64_t hash;
    uint64_t count;
    uint64_t fails_at; /* 0 = never */
    bool has_failed;
    bool is_called_again; /* behind that */
    bool is_slow;
    struct follower *notes; /* of the one that asks: it notes; NULL = at once */
    struct seen *noted;     /* to that one; NULL = it notes nothing */
};

static void seen_add(struct seen *seen, const void *bytes, size_t length)
{
    seen->hash = ck_fnv(seen->hash, bytes, length);
    seen->count++;
}

static void seen_note(void *state, const void *note)
{
    struct seen *seen = state;

    seen->is_called_again |= seen->has_failed;
    seen_add(seen, note, 24);
}

/* Notes of three lengths of time, before some events. */
static void seen_tell(const struct seen *seen,
                      const struct timeline_event *event)
{
    const int64_t note[3] = {event->start, event->end, event->rank};

    for (ck_time_t i = event->start % 5; seen->noted != NULL && i > 2; i--) {
        if (seen->notes != NULL) {
            memcpy(follower_note(seen->notes, seen_note, seen->noted,
                                 sizeof(note)),
                   note, sizeof(note));
        } else {
            seen_note(seen->noted, note);
        }
    }
}

static int seen_take(void *state, const struct timeline_event *event)
{
    struct seen *seen = state;
    const ck_time_t times[] = {event->start, event->end, event->rank,
                               event->process, event->thread};

    seen->is_called_again |= seen->has_failed;
    if (seen->is_slow && seen->count % 5000 == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    seen_add(seen, times, sizeof(times));
    seen_add(seen, event->record, (size_t)event->record->units * CK_UNIT_BYTES);
    seen_tell(seen, event);
    if (seen->fails_at > 0 && seen->count >= seen->fails_at) {
        seen->has_failed = true;
        errno = ENOSPC;
        return -1;
    }
    return 0;
}

/* The same by threads and at once. */
struct world {
    struct follower *follower;
    struct seen behind[CONSUMERS];
    struct seen here[CONSUMERS];
};

static const uint32_t classes_of[CONSUMERS] = {
    1u << CK_CLASS_CALL | 1u << CK_CLASS_KERNEL | 1u << CK_CLASS_COUNTER, 0,
    1u << CK_CLASS_KERNEL, 1u << CK_CLASS_CALL | 1u << CK_CLASS_MARK};

/* The first two consumers are witnesses. */
#define WITNESSES 2

static struct world *world_make(void)
{
    struct world *world = xcalloc(1, sizeof(*world));

    world->follower = follower_create(FOLLOWER_RECORDS, 16);
    if (world->follower == NULL) {
        free(world);
        return NULL;
    }
    for (size_t i = 0; i < CONSUMERS; i++) {
        const struct timeline_consumer consumer = {seen_take, &world->behind[i],
                                                   classes_of[i], i >= BEHIND};

        follower_consumer(world->follower, &consumer, i < WITNESSES);
    }
    world->here[0].noted = &world->here[NOTED];
    world->behind[0].noted = &world->behind[NOTED];
    world->behind[0].notes = world->follower;
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

        if ((is_wanted || i < WITNESSES) && (classes >> cls & 1) != 0) {
            (void)seen_take(&world->here[i], &event);
        }
    }
    return follower_event(world->follower, &event, cls, is_wanted);
}

static void all_is_seen_in_its_order(void **state)
{
    (void)state;
    for (int slow = 0; slow < 4; slow++) {
        struct world *world = world_make();

        if (world == NULL) {
            skip(); /* one CPU */
        }
        world->behind[0].is_slow = slow == 1;
        world->behind[BEHIND].is_slow = slow == 2;
        world->here[0].is_slow = slow == 3;
        for (ck_time_t at = 0; at < EVENTS; at++) {
            assert_int_equal(event_give(world, at), 0);
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

/* The merge sees it later, and no consumer is called again, neither one that
 * asks others nor one behind it. */
static void a_consumer_that_fails_ends_the_merge(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONSUMERS; i++) {
        struct world *world = world_make();
        struct seen *failing;
        ck_time_t at = 0;

        if (world == NULL) {
            skip();
        }
        failing = &world->behind[i];
        failing->fails_at = 1000;
        while (at < EVENTS && event_give(world, at) == 0) {
            at++;
        }
        assert_true(at < EVENTS);
        assert_int_equal(errno, ENOSPC);
        assert_int_equal(follower_finish(world->follower), -1);
        assert_int_equal(errno, ENOSPC);
        assert_true(failing->has_failed && !failing->is_called_again);
        world_destroy(world);
    }
}

static void a_failure_behind_the_last_event_is_seen_at_the_end(void **state)
{
    struct world *world = world_make();

    (void)state;
    if (world == NULL) {
        skip();
    }
    world->behind[BEHIND].fails_at = 1;
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
    cpu_set_t before;

    (void)state;
    assert_null(follower_create(FOLLOWER_RECORDS - 1, 16));
    before = onecpu_begin();
    assert_null(follower_create(UINT64_MAX, 16));
    onecpu_end(before);
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
