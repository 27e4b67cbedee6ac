/* test_openclawait.c - whose the reference to a command's event is
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test is the driver, the program and the collector of times. A reference
 * that is released twice, or never, is an event that is used when it is gone,
 * or stays.
 */
#include "agent/inject/opencl/openclawait.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define EVENTS 200000

struct ck_ring inject_ring;

static char room[EVENTS][256];
static _Atomic int references[EVENTS]; /* as the driver has them */
static struct ck_ring_slot slot = {.tid = 4194303};
static struct ck_ring_writer writer = {.slot = &slot};
static pthread_barrier_t begin;
static _Atomic size_t turn; /* events that the program has come to */

static cl_event event_at(size_t number)
{
    return (cl_event)room[number];
}

static _Atomic int *references_of(cl_event event)
{
    return &references[((char *)event - room[0]) / sizeof(room[0])];
}

static cl_int CL_API_CALL event_retain(cl_event event)
{
    atomic_fetch_add(references_of(event), 1);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL event_release(cl_event event)
{
    assert_true(atomic_fetch_sub(references_of(event), 1) > 0);
    return CL_SUCCESS;
}

static const struct _cl_icd_dispatch driver = {
    .clRetainEvent = event_retain,
    .clReleaseEvent = event_release,
};
const struct _cl_icd_dispatch *opencl_driver = &driver;

/* A command's event, which the program has got. */
static cl_event event_make(size_t number)
{
    struct opencl_call call = {.call = {.writer = &writer, .slot = &slot}};

    call.call.number = (uint32_t)number + 1;
    references[number] = 1;
    assert_true(await_share(event_at(number), &call));
    return event_at(number);
}

/* As the wrappers do it. */
static void program_retains(cl_event event)
{
    (void)event_retain(event);
    await_retained(event);
}

static void program_releases(cl_event event)
{
    if (!await_released(event)) {
        (void)event_release(event);
    }
}

static void ck_leaves(cl_event event)
{
    if (await_leave(event)) {
        (void)event_release(event);
    }
}

static unsigned known(cl_event event)
{
    struct await_found found;

    await_find(&found, &(struct awaited){1, &event});
    return found.count;
}

static void an_event_is_there_until_both_are_done(void **state)
{
    cl_event event = event_make(0);

    (void)state;
    assert_int_equal(known(event), 1);
    program_releases(event);
    assert_int_equal(references[0], 1);
    assert_int_equal(known(event), 0);
    ck_leaves(event);
    assert_int_equal(references[0], 0);
    event = event_make(1);
    ck_leaves(event);
    assert_int_equal(references[1], 1);
    assert_int_equal(known(event), 0);
    program_releases(event);
    assert_int_equal(references[1], 0);
}

static void the_driver_counts_the_programs_references(void **state)
{
    cl_event event = event_make(0);

    (void)state;
    for (int i = 1; i < 600; i++) {
        program_retains(event);
        assert_int_equal(references[0] - (int)await_held(event), i + 1);
    }
    for (int i = 599; i > 0; i--) {
        program_releases(event);
        assert_int_equal(references[0] - (int)await_held(event), i);
    }
    assert_int_equal(await_held(event), 1);
    program_releases(event);
    assert_int_equal(references[0], 1);
    ck_leaves(event);
    assert_int_equal(references[0], 0);
}

static void a_few_more_are_counted_by_the_way(void **state)
{
    cl_event event = event_make(0);

    (void)state;
    program_retains(event);
    program_retains(event);
    program_releases(event);
    assert_int_equal(await_held(event), 0);
    assert_int_equal(references[0], 2);
    program_releases(event);
    program_releases(event);
    assert_int_equal(references[0], 1);
    ck_leaves(event);
    assert_int_equal(references[0], 0);
}

static void a_user_event_is_the_programs(void **state)
{
    struct opencl_call call = {
        .call = {.writer = &writer, .slot = &slot, .number = 7}};
    cl_event event = event_at(0);

    (void)state;
    references[0] = 1;
    await_enter(event, &call);
    assert_int_equal(known(event), 1);
    program_retains(event);
    program_releases(event);
    assert_int_equal(references[0], 1);
    await_set(event);
    assert_int_equal(known(event), 0);
    program_releases(event);
    assert_int_equal(references[0], 0);
}

static void *leave_all(void *state)
{
    (void)pthread_barrier_wait(&begin);
    for (size_t i = 0; i < EVENTS / 2; i++) {
        while (atomic_load(&turn) <= i) {
        }
        ck_leaves(event_at(i));
    }
    return state;
}

/* Both at the same time; meanwhile a third makes events of the other half,
 * whose addresses are used again. */
static void *make_others(void *state)
{
    (void)pthread_barrier_wait(&begin);
    for (size_t i = 0; i < 4 * EVENTS; i++) {
        cl_event event = event_make(EVENTS / 2 + i % (EVENTS / 2));

        program_releases(event);
        ck_leaves(event);
    }
    return state;
}

static void each_reference_is_released_once(void **state)
{
    pthread_t leaver;
    pthread_t maker;

    (void)state;
    for (size_t i = 0; i < EVENTS / 2; i++) {
        (void)event_make(i);
    }
    assert_int_equal(pthread_barrier_init(&begin, NULL, 3), 0);
    assert_int_equal(pthread_create(&leaver, NULL, leave_all, NULL), 0);
    assert_int_equal(pthread_create(&maker, NULL, make_others, NULL), 0);
    (void)pthread_barrier_wait(&begin);
    for (size_t i = 0; i < EVENTS / 2; i++) {
        atomic_store(&turn, i + 1);
        program_releases(event_at(i));
    }
    (void)pthread_join(leaver, NULL);
    (void)pthread_join(maker, NULL);
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(references[i], 0);
        assert_int_equal(known(event_at(i)), 0);
    }
    (void)pthread_barrier_destroy(&begin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_there_until_both_are_done),
        cmocka_unit_test(the_driver_counts_the_programs_references),
        cmocka_unit_test(a_few_more_are_counted_by_the_way),
        cmocka_unit_test(a_user_event_is_the_programs),
        cmocka_unit_test(each_reference_is_released_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
