/* test_openclbacklog.c - who records commands, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The test is the driver, and the pool that the commands come from. Drivers may
 * call back inside the call that asks, or late.
 */
#include "agent/inject/opencl/openclbacklog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COMMANDS 200000
#define QUEUE 1
/* What a command failed with. */
#define FAILURE (-36)

struct ck_ring inject_ring;

static struct backlog backlog;
static struct pending commands[COMMANDS];
static size_t done, failed, dropped;
static bool has_answers, has_callbacks, has_room, is_over;
static unsigned depth, deepest;
static size_t complete; /* without a callback, the first so many */
static size_t waits, references;
static size_t added;      /* of the commands */
static size_t awaited;    /* no later one may be waited for */
static size_t added_then; /* so many more while a thread waits */
static cl_event called;   /* whose callback runs */

/* What the driver is to call. */
static struct callback {
    cl_event event;
    void(CL_CALLBACK *call)(cl_event event, cl_int status, void *data);
    void *data;
} callback;

static cl_int status_of(cl_event event)
{
    return event == (cl_event)&commands[0] ? FAILURE : CL_COMPLETE;
}

/* The driver may have no answer to the status of an event that it calls for. */
static void event_call(const struct callback *made)
{
    cl_event outer = called;

    called = made->event;
    made->call(made->event, status_of(made->event), made->data);
    called = outer;
}

static void commands_add(size_t count, uint32_t queue)
{
    for (size_t i = added, end = added + count; i < end; i++) {
        commands[i] = (struct pending){
            .incarnation = 1, .queue = queue, .event = (cl_event)&commands[i]};
        added++;
        backlog_add(&backlog, &commands[i]);
    }
}

static cl_int CL_API_CALL callback_set(cl_event event,
                                       cl_int type,
                                       void(CL_CALLBACK *call)(cl_event event,
                                                               cl_int status,
                                                               void *data),
                                       void *data)
{
    assert_int_equal(type, CL_COMPLETE);
    callback = (struct callback){event, call, data};
    if (is_over) {
        depth++;
        deepest = depth > deepest ? depth : deepest;
        event_call(&callback);
        depth--;
    }
    return has_callbacks ? CL_SUCCESS : CL_INVALID_EVENT;
}

static cl_int CL_API_CALL event_retain(cl_event event)
{
    (void)event;
    references++;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL event_release(cl_event event)
{
    assert_int_equal(backlog_held(event), 0);
    references--;
    return CL_SUCCESS;
}

/* What is before it has ended, too. */
static cl_int CL_API_CALL events_wait(cl_uint count, const cl_event *events)
{
    size_t place = (size_t)((const struct pending *)events[0] - commands) + 1;

    assert_int_equal(count, 1);
    assert_int_equal(references, 1);
    assert_int_equal(backlog_held(events[0]), 1);
    assert_in_range(place, 1, awaited);
    complete = has_answers ? place : complete;
    waits++;
    commands_add(added_then, QUEUE);
    return CL_SUCCESS;
}

static const struct _cl_icd_dispatch driver = {
    .clSetEventCallback = callback_set,
    .clRetainEvent = event_retain,
    .clReleaseEvent = event_release,
    .clWaitForEvents = events_wait,
};
const struct _cl_icd_dispatch *opencl_driver = &driver;

cl_int pending_status(struct pending *pending)
{
    assert_ptr_not_equal(pending->event, called);
    return (is_over && has_answers) || pending < commands + complete
               ? status_of(pending->event)
               : CL_QUEUED;
}

bool pending_has_room(void)
{
    return has_room;
}

void pending_done(struct pending *pending, cl_int status)
{
    assert_int_equal(status, status_of(pending->event));
    assert_ptr_equal(pending, &commands[done]);
    done++;
    failed += status == FAILURE;
}

void pending_drop(struct pending *pending)
{
    (void)pending;
    dropped++;
}

static int setup(void **state)
{
    (void)state;
    inject_ring.incarnation = 1;
    memset(&backlog, 0, sizeof(backlog));
    done = failed = dropped = 0;
    depth = deepest = 0;
    complete = waits = references = 0;
    added = added_then = 0;
    awaited = COMMANDS;
    called = NULL;
    has_answers = has_callbacks = has_room = true;
    is_over = false;
    return 0;
}

/* All of them end at once. */
static void commands_end(void)
{
    is_over = true;
    event_call(&callback);
}

static void one_callback_does_for_all_that_ended(void **state)
{
    (void)state;
    commands_add(COMMANDS, QUEUE);
    commands_end();
    assert_int_equal(done, COMMANDS);
    assert_int_equal(failed, 1);
    assert_int_equal(deepest, 0);
}

static void callbacks_lead_on_where_events_have_no_answer(void **state)
{
    (void)state;
    has_answers = false;
    commands_add(COMMANDS, QUEUE);
    commands_end();
    assert_int_equal(done, COMMANDS);
    assert_int_equal(failed, 1);
    assert_int_equal(deepest, 1);
    assert_int_equal(backlog.holder, 0);
}

static void a_command_that_ended_before_it_was_added_is_recorded(void **state)
{
    (void)state;
    has_answers = false;
    is_over = true;
    commands_add(COMMANDS, QUEUE);
    assert_int_equal(done, COMMANDS);
    assert_int_equal(deepest, 1);
}

static void a_driver_without_callbacks_has_none_followed(void **state)
{
    (void)state;
    has_callbacks = false;
    commands_add(COMMANDS, QUEUE);
    assert_int_equal(done, 0);
    assert_int_equal(dropped, COMMANDS);
}

/* The driver's callback comes late, or its thread has no CPU. */
static void a_program_that_goes_on_records_what_has_ended(void **state)
{
    (void)state;
    complete = COMMANDS - 1000;
    commands_add(COMMANDS, QUEUE);
    assert_in_range(done, complete - BACKLOG_STRIDE, complete);
    complete = COMMANDS;
    backlog_record_ended(&backlog);
    assert_int_equal(done, COMMANDS);
    /* The callback that was asked for finds nothing. */
    commands_end();
    assert_int_equal(done, COMMANDS);
    assert_int_equal(backlog.holder, 0);
}

/* To count them off one by one would take the queue's own thread too long. */
static void the_next_callback_is_some_thousand_commands_on(void **state)
{
    size_t place;

    (void)state;
    complete = COMMANDS / 2;
    commands_add(COMMANDS, QUEUE);
    event_call(&callback);
    place = (size_t)((const struct pending *)callback.event - commands);
    assert_in_range(place, done + BACKLOG_STEP, done + BACKLOG_AHEAD);
    assert_int_equal(place % BACKLOG_STEP, 0);
}

static void
a_program_whose_slot_fills_leaves_commands_to_the_callback(void **state)
{
    (void)state;
    has_room = false;
    complete = COMMANDS;
    commands_add(COMMANDS, QUEUE);
    backlog_wait(&backlog, QUEUE);
    complete = COMMANDS;
    backlog_record_ended(&backlog);
    assert_int_equal(done, 0);
    event_call(&callback);
    assert_int_equal(done, COMMANDS);
    assert_int_equal(backlog.holder, 0);
}

static void who_waits_for_the_queue_records_meanwhile(void **state)
{
    (void)state;
    commands_add(COMMANDS, QUEUE);
    backlog_wait(&backlog, QUEUE);
    assert_in_range(done, COMMANDS - BACKLOG_AHEAD, COMMANDS);
    assert_in_range(waits, COMMANDS / BACKLOG_AHEAD, COMMANDS / 100);
    assert_int_equal(references, 0);
    complete = COMMANDS;
    backlog_record_ended(&backlog);
    assert_int_equal(done, COMMANDS);
}

static void a_wait_whose_events_have_no_answer_ends(void **state)
{
    (void)state;
    has_answers = false;
    commands_add(COMMANDS, QUEUE);
    backlog_wait(&backlog, QUEUE);
    assert_int_equal(waits, 1);
    assert_int_equal(references, 0);
    commands_end();
    assert_int_equal(done, COMMANDS);
}

/* They may be such that this thread is to set off. */
static void a_wait_is_not_for_what_others_enqueue_meanwhile(void **state)
{
    (void)state;
    commands_add(10, QUEUE);
    awaited = 10;
    added_then = 100;
    backlog_wait(&backlog, QUEUE);
    assert_in_range(waits, 1, 10);
    assert_in_range(done, 1, 10);
    assert_int_equal(references, 0);
    added_then = 0;
    commands_end();
    assert_int_equal(done, added);
}

/* They may wait for an event that is not set before this thread goes on. */
static void a_wait_is_not_for_another_queues_commands(void **state)
{
    (void)state;
    commands_add(10, QUEUE);
    commands_add(10, QUEUE + 1);
    backlog_wait(&backlog, QUEUE + 1);
    assert_int_equal(waits, 0);
    assert_int_equal(references, 0);
    complete = 10;
    backlog_record_ended(&backlog);
    backlog_wait(&backlog, QUEUE + 1);
    assert_in_range(waits, 1, 10);
    assert_in_range(done, 11, 20);
    assert_int_equal(references, 0);
}

static void a_backlog_is_empty_when_all_is_recorded(void **state)
{
    (void)state;
    assert_true(backlog_is_empty(&backlog));
    commands_add(2, QUEUE);
    complete = 1;
    assert_false(backlog_is_empty(&backlog));
    complete = 2;
    assert_true(backlog_is_empty(&backlog));
    assert_int_equal(done, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_callback_does_for_all_that_ended, setup),
        cmocka_unit_test_setup(callbacks_lead_on_where_events_have_no_answer,
                               setup),
        cmocka_unit_test_setup(
            a_command_that_ended_before_it_was_added_is_recorded, setup),
        cmocka_unit_test_setup(a_driver_without_callbacks_has_none_followed,
                               setup),
        cmocka_unit_test_setup(a_program_that_goes_on_records_what_has_ended,
                               setup),
        cmocka_unit_test_setup(the_next_callback_is_some_thousand_commands_on,
                               setup),
        cmocka_unit_test_setup(
            a_program_whose_slot_fills_leaves_commands_to_the_callback, setup),
        cmocka_unit_test_setup(who_waits_for_the_queue_records_meanwhile,
                               setup),
        cmocka_unit_test_setup(a_wait_whose_events_have_no_answer_ends, setup),
        cmocka_unit_test_setup(a_wait_is_not_for_what_others_enqueue_meanwhile,
                               setup),
        cmocka_unit_test_setup(a_wait_is_not_for_another_queues_commands,
                               setup),
        cmocka_unit_test_setup(a_backlog_is_empty_when_all_is_recorded, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
