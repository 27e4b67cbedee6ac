/* test_commands.c - what enqueued commands wait for, and which never ended
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events as the timeline gives them, of one process: thread 7 enqueues, thread
 * 8 sets user events. Queue 1 and 2 are in-order queues of devices 1 and 2,
 * queue 3 is an out-of-order one of device 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/commands.h"
#include "merge/analysis/history/failures.h"
#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define HOST 7
#define SETTER 8
#define SPIN 1
#define FINISH 2

struct world {
    struct defs *defs;
    struct commands *commands;
};

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    uint8_t id[16] = {1};
    struct defs *defs = world->defs = defs_create();
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];

    defs->agents[agent].rank = 0;
    (void)defs_thread_find(defs, process, HOST);
    (void)defs_thread_find(defs, process, SETTER);
    assert_int_equal(names_set(p->names, SPIN, "spin"), 0);
    assert_int_equal(names_set(p->names, FINISH, "clFinish"), 0);
    p->devices = calloc(2, sizeof(*p->devices));
    p->devices_count = p->devices_room = 2;
    p->queues = calloc(3, sizeof(*p->queues));
    p->queues_count = p->queues_room = 3;
    for (uint32_t i = 0; i < 2; i++) {
        p->devices[i] =
            (struct defs_device){.number = i + 1, .name = "d", .uuid = ""};
    }
    for (uint32_t i = 0; i < 3; i++) {
        p->queues[i] = (struct defs_queue){.id = i + 1,
                                           .device = i == 1 ? 2 : 1,
                                           .name = "",
                                           .is_in_order = i < 2};
    }
    defs_close(defs);
    comm_close(defs);
    world->commands = commands_create(defs);
    assert_non_null(world->commands);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    commands_destroy(world->commands);
    defs_destroy(world->defs);
    free(world);
    return 0;
}

static void take(struct world *world,
                 const void *record,
                 uint32_t tid,
                 ck_time_t start,
                 ck_time_t end)
{
    struct timeline_event event = {.record = record,
                                   .start = start,
                                   .end = end,
                                   .thread = tid == HOST ? 0 : 1};

    assert_int_equal(commands_take(world->commands, &event), 0);
}

static void
enqueue(struct world *world, uint32_t call, uint32_t queue, ck_time_t at)
{
    struct ck_call record = {.e = {.kind = CK_KIND_API_OPENCL, .name = 9},
                             .site = 1000 + call,
                             .call = call,
                             .object = queue,
                             .extra = SPIN};

    take(world, &record, HOST, at, at + 1);
}

static void make_event(struct world *world, uint32_t call, ck_time_t at)
{
    struct ck_call record = {.e = {.kind = CK_KIND_API_OPENCL, .name = 8},
                             .call = call,
                             .extra = CK_COMMAND_EVENT};

    take(world, &record, HOST, at, at + 1);
}

static void await(struct world *world,
                  enum ck_kind kind,
                  uint32_t call,
                  uint32_t queue,
                  uint32_t awaited,
                  ck_time_t at)
{
    struct ck_await record = {.e = {.kind = (uint16_t)kind},
                              .call = call,
                              .queue = queue,
                              .awaited_tid = HOST,
                              .awaited_call = awaited};

    take(world, &record, kind == CK_KIND_AWAIT_SET ? SETTER : HOST, at, at);
}

static void run(struct world *world,
                uint32_t call,
                uint32_t queue,
                ck_time_t start,
                ck_time_t end)
{
    struct ck_kernel record = {.e = {.kind = CK_KIND_KERNEL, .name = SPIN},
                               .tid = HOST,
                               .call = call,
                               .queue = queue,
                               .device = queue == 2 ? 2 : 1};

    take(world, &record, HOST, start, end);
}

static void
finish(struct world *world, uint32_t call, uint32_t queue, ck_time_t at)
{
    struct ck_call record = {.e = {.kind = CK_KIND_API_OPENCL, .name = FINISH},
                             .call = call,
                             .object = queue};

    take(world, &record, HOST, at, at + 1);
}

/* "R5[10,20) Q5[20,30) E3[30,40) " */
struct story {
    char text[256];
    ck_time_t until;
};

static void story_take(void *state,
                       struct region piece,
                       enum commands_reason reason,
                       const struct command *command)
{
    struct story *story = state;
    size_t used = strlen(story->text);

    assert_true(piece.start < piece.end);
    assert_true(story->until == INT64_MIN || story->until == piece.start);
    story->until = piece.end;
    (void)snprintf(story->text + used, sizeof(story->text) - used,
                   "%c%u[%d,%d) ", "RQE"[reason], command -> call,
                   (int)piece.start, (int)piece.end);
}

static const char *
told(struct world *world, uint32_t call, struct region part, struct story *to)
{
    *to = (struct story){.until = INT64_MIN};
    commands_walk(world->commands, 0, HOST, call, part, story_take, to);
    return to->text;
}

static ck_time_t awaited(struct world *world, uint32_t call)
{
    return commands_awaited(world->commands, 0, HOST, call);
}

static void a_kernel_of_another_device_is_what_is_waited_for(void **state)
{
    struct world *world = *state;
    struct story story;

    enqueue(world, 1, 1, 10);
    await(world, CK_KIND_AWAIT, 2, 2, 1, 20);
    enqueue(world, 2, 2, 20);
    run(world, 1, 1, 30, 70);
    run(world, 2, 2, 75, 80);
    assert_int_equal(awaited(world, 2), 70);
    assert_string_equal(told(world, 2, (struct region){20, 70}, &story),
                        "Q1[20,30) R1[30,70) ");
    assert_int_equal(awaited(world, 1), INT64_MIN);
}

static void a_user_event_is_waited_for_until_it_is_set(void **state)
{
    struct world *world = *state;
    struct story story;

    make_event(world, 1, 5);
    await(world, CK_KIND_AWAIT, 2, 1, 1, 10);
    enqueue(world, 2, 1, 10);
    await(world, CK_KIND_AWAIT_SET, 40, 0, 1, 50);
    run(world, 2, 1, 52, 60);
    assert_int_equal(awaited(world, 2), 50);
    assert_string_equal(told(world, 2, (struct region){10, 50}, &story),
                        "E1[10,50) ");
}

static void markers_and_barriers_hand_the_wait_on(void **state)
{
    struct world *world = *state;
    struct story story;

    make_event(world, 1, 5);
    await(world, CK_KIND_AWAIT_QUEUE, 2, 2, 1, 10); /* a marker */
    await(world, CK_KIND_AWAIT_QUEUE, 3, 3, 2, 11); /* a barrier */
    enqueue(world, 4, 3, 12);
    await(world, CK_KIND_AWAIT_SET, 40, 0, 1, 50);
    run(world, 4, 3, 55, 60);
    assert_int_equal(awaited(world, 4), 50);
    assert_string_equal(told(world, 4, (struct region){12, 50}, &story),
                        "E1[12,50) ");
}

static void a_later_barrier_holds_nothing_back(void **state)
{
    struct world *world = *state;

    make_event(world, 1, 5);
    make_event(world, 2, 6);
    await(world, CK_KIND_AWAIT_QUEUE, 3, 1, 1, 10);
    enqueue(world, 4, 1, 11);
    await(world, CK_KIND_AWAIT_QUEUE, 5, 1, 2, 12);
    enqueue(world, 6, 1, 13);
    await(world, CK_KIND_AWAIT_SET, 40, 0, 1, 30);
    run(world, 4, 1, 31, 40);
    await(world, CK_KIND_AWAIT_SET, 41, 0, 2, 90);
    run(world, 6, 1, 91, 95);
    assert_int_equal(awaited(world, 4), 30);
    assert_int_equal(awaited(world, 6), 90);
}

static void what_is_waited_for_waits_itself(void **state)
{
    struct world *world = *state;
    struct story story;

    make_event(world, 1, 5);
    enqueue(world, 2, 1, 8); /* runs first on device 1 */
    await(world, CK_KIND_AWAIT, 3, 1, 1, 10);
    enqueue(world, 3, 1, 10);
    await(world, CK_KIND_AWAIT, 4, 2, 3, 20);
    enqueue(world, 4, 2, 20);
    run(world, 2, 1, 21, 60);
    await(world, CK_KIND_AWAIT_SET, 40, 0, 1, 40);
    run(world, 3, 1, 65, 80);
    run(world, 4, 2, 85, 90);
    assert_int_equal(awaited(world, 4), 80);
    assert_string_equal(told(world, 4, (struct region){20, 80}, &story),
                        "E1[20,40) R2[40,60) Q3[60,65) R3[65,80) ");
}

static void circles_and_unknown_ends_end_the_story(void **state)
{
    struct world *world = *state;
    struct story story;

    await(world, CK_KIND_AWAIT_QUEUE, 1, 1, 2, 10);
    await(world, CK_KIND_AWAIT_QUEUE, 2, 2, 1, 11);
    await(world, CK_KIND_AWAIT, 3, 1, 99, 12);
    enqueue(world, 3, 1, 12);
    run(world, 3, 1, 20, 30);
    assert_int_equal(awaited(world, 3), INT64_MIN);
    assert_string_equal(told(world, 3, (struct region){12, 20}, &story), "");
}

/* Markers that each wait twice for the one before: 2^30 ways. */
static void many_ways_are_gone_once(void **state)
{
    struct world *world = *state;
    size_t count;
    struct commands_undone *undone;

    make_event(world, 1, 5);
    for (uint32_t i = 2; i < 32; i++) {
        await(world, CK_KIND_AWAIT, i, 3, i - 1, i * 10);
        await(world, CK_KIND_AWAIT, i, 3, i - 1, i * 10);
    }
    await(world, CK_KIND_AWAIT, 40, 3, 31, 400);
    enqueue(world, 40, 3, 400);
    undone = commands_undone(world->commands, &count);
    assert_non_null(undone);
    assert_int_equal(count, 1);
    assert_true(undone[0].awaited.is_event);
    free(undone);
    await(world, CK_KIND_AWAIT_SET, 50, 0, 1, 500);
    run(world, 40, 3, 501, 510);
    assert_int_equal(awaited(world, 40), 500);
}

/* Each waits for the one before, in its queue, too, and all run at once: in
 * [30, 900) nothing waited, and 2^31 ways would lead through it. */
static void what_ran_all_the_time_did_not_wait(void **state)
{
    struct world *world = *state;
    struct story story;

    for (uint32_t i = 1; i <= 40; i++) {
        if (i > 1) {
            await(world, CK_KIND_AWAIT, i, 3, i - 1, 10);
        }
        enqueue(world, i, 3, 10);
        run(world, i, 3, 20, 2000 - i);
    }
    await(world, CK_KIND_AWAIT, 41, 2, 40, 11);
    enqueue(world, 41, 2, 11);
    assert_string_equal(told(world, 41, (struct region){30, 900}, &story),
                        "R40[30,900) ");
}

static void a_second_record_of_a_command_is_no_other_one(void **state)
{
    struct world *world = *state;
    struct story story;

    enqueue(world, 1, 1, 5);
    enqueue(world, 2, 1, 6);
    await(world, CK_KIND_AWAIT, 3, 2, 2, 7);
    enqueue(world, 3, 2, 7);
    run(world, 1, 1, 10, 40);
    run(world, 2, 1, 45, 50);
    run(world, 2, 1, 45, 70);
    assert_string_equal(told(world, 3, (struct region){20, 70}, &story),
                        "R1[20,40) Q2[40,45) R2[45,70) ");
}

/* Commands 2 and 3 each ran before the other: 7 looks at their waits are more
 * than a question may take, and COMMANDS_LINKS looks would end with 3. */
static void a_circle_of_many_waits_is_left_in_time(void **state)
{
    struct world *world = *state;
    struct story story;

    _Static_assert(6 * 2500 < COMMANDS_STEPS && 7 * 2500 > COMMANDS_STEPS,
                   "the seventh is too much");
    enqueue(world, 1, 2, 5);
    for (uint32_t i = 2; i <= 3; i++) {
        for (uint32_t k = 0; k < 2500; k++) {
            await(world, CK_KIND_AWAIT, i, 3, 1, 6);
        }
        enqueue(world, i, 3, 6);
    }
    await(world, CK_KIND_AWAIT, 4, 2, 2, 7);
    enqueue(world, 4, 2, 7);
    run(world, 1, 2, 11, 15);
    run(world, 2, 3, 500, 510);
    run(world, 3, 3, 500, 510);
    run(world, 2, 3, 500, 510);
    assert_string_equal(told(world, 4, (struct region){20, 400}, &story),
                        "Q2[20,400) ");
    assert_int_equal(awaited(world, 4), 510);
}

static void any_number_of_an_error_is_reported(void **state)
{
    struct world *world = *state;
    const uint32_t args[] = {5, 0x80000000u, 0xffffffffu};
    const int32_t errors[] = {-5, INT32_MIN, 1};
    struct report report = {.present = 0};

    for (uint32_t i = 0; i < 3; i++) {
        struct ck_call record = {.e = {.kind = CK_KIND_API_OPENCL,
                                       .flags = CK_FLAG_FAILED,
                                       .name = 9},
                                 .call = i + 1,
                                 .arg = args[i]};

        for (uint32_t k = 3; k > i; k--) { /* the most first */
            take(world, &record, HOST, 10, 11);
        }
    }
    failures_report(commands_failures(world->commands), &report);
    assert_int_equal(report.failures_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(report.failures[i].error, errors[i]);
    }
    free(report.failures);
}

static void what_has_no_record_never_ended(void **state)
{
    struct world *world = *state;
    size_t count;
    struct commands_undone *undone;

    make_event(world, 1, 5);
    enqueue(world, 2, 1, 10);
    run(world, 2, 1, 11, 12);
    await(world, CK_KIND_AWAIT, 3, 1, 1, 20);
    enqueue(world, 3, 1, 20);
    enqueue(world, 4, 1, 30);
    enqueue(world, 5, 2, 31);
    finish(world, 6, 2, 40);
    undone = commands_undone(world->commands, &count);
    assert_non_null(undone);
    assert_int_equal(count, 1);
    assert_int_equal(undone[0].command.call, 3);
    assert_int_equal(undone[0].command.site, 1003);
    assert_int_equal(undone[0].count, 2);
    assert_int_equal(undone[0].awaited.call, 1);
    assert_true(undone[0].awaited.is_event);
    free(undone);
}

static void whoever_was_waited_for_has_ended_and_all_before_it(void **state)
{
    struct world *world = *state;
    size_t count;
    struct commands_undone *undone;

    enqueue(world, 1, 1, 10);
    enqueue(world, 2, 1, 11);
    enqueue(world, 3, 3, 12);
    enqueue(world, 4, 3, 13);
    await(world, CK_KIND_AWAIT_HOST, 5, 0, 2, 20);
    await(world, CK_KIND_AWAIT_HOST, 5, 0, 4, 20);
    undone = commands_undone(world->commands, &count);
    assert_non_null(undone);
    /* Queue 3 is out of order: its first one may still run. */
    assert_int_equal(count, 1);
    assert_int_equal(undone[0].command.call, 3);
    assert_int_equal(undone[0].count, 1);
    free(undone);
}

static void what_was_pushed_out_is_still_counted(void **state)
{
    struct world *world = *state;
    size_t count;
    struct commands_undone *undone;

    for (uint32_t i = 1; i <= 3 * COMMANDS_MAX; i++) {
        enqueue(world, i, 3, i);
    }
    for (uint32_t i = 1; i <= COMMANDS_MAX; i++) {
        run(world, i, 3, 4 * COMMANDS_MAX + i, 5 * COMMANDS_MAX);
    }
    undone = commands_undone(world->commands, &count);
    assert_non_null(undone);
    assert_int_equal(count, 1);
    assert_int_equal(undone[0].count, 2 * COMMANDS_MAX);
    free(undone);
}

static void of_a_process_that_lost_records_nothing_is_claimed(void **state)
{
    struct world *world = *state;
    size_t count = 1;
    struct commands_undone *undone;

    enqueue(world, 1, 1, 10);
    world->defs->agents[0].lost[CK_LOST_RING] = 1;
    undone = commands_undone(world->commands, &count);
    assert_non_null(undone);
    assert_int_equal(count, 0);
    free(undone);
}

/* Random commands; each may wait for some before it: the binding one
 * is found, and the story has no hole and no overlap. */
#define RANDOM_COMMANDS 40
#define RANDOM_WAITS 3

#define RANDOM_WORLDS 200

static bool world_is_wrong(void *state)
{
    struct world *world = state;
    struct {
        ck_time_t enter, start, end, until;
    } all[RANDOM_COMMANDS + 1];
    struct story story;

    commands_destroy(world->commands);
    world->commands = commands_create(world->defs);
    assert_non_null(world->commands);
    for (uint32_t i = 1; i <= RANDOM_COMMANDS; i++) {
        int64_t waits = i > 1 ? chance_below(RANDOM_WAITS + 1) : 0;

        all[i].enter = i * 10;
        all[i].until = INT64_MIN;
        for (int64_t k = 0; k < waits; k++) {
            uint32_t other = 1 + (uint32_t)chance_below(i - 1);

            await(world, CK_KIND_AWAIT, i, 3, other, all[i].enter);
            all[i].until =
                all[other].end > all[i].until ? all[other].end : all[i].until;
        }
        enqueue(world, i, 3, all[i].enter);
        all[i].start =
            (all[i].until > 10 * RANDOM_COMMANDS ? all[i].until
                                                 : 10 * RANDOM_COMMANDS) +
            1 + chance_below(5);
        all[i].end = all[i].start + 1 + chance_below(50);
    }
    for (uint32_t i = 1; i <= RANDOM_COMMANDS; i++) {
        run(world, i, 3, all[i].start, all[i].end);
    }
    for (uint32_t i = 1; i <= RANDOM_COMMANDS; i++) {
        struct region part = {all[i].enter, all[i].until};

        if (awaited(world, i) != all[i].until) {
            return true;
        }
        if (all[i].until != INT64_MIN) {
            (void)told(world, i, part, &story);
            if (story.until != part.end) {
                return true;
            }
        }
    }
    return false;
}

static void random_worlds_agree_with_a_look_at_all(void **state)
{
    chance_worlds(RANDOM_WORLDS, world_is_wrong, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(a_kernel_of_another_device_is_what_is_waited_for),
        CASE(a_user_event_is_waited_for_until_it_is_set),
        CASE(markers_and_barriers_hand_the_wait_on),
        CASE(a_later_barrier_holds_nothing_back),
        CASE(what_is_waited_for_waits_itself),
        CASE(circles_and_unknown_ends_end_the_story),
        CASE(many_ways_are_gone_once),
        CASE(what_ran_all_the_time_did_not_wait),
        CASE(a_second_record_of_a_command_is_no_other_one),
        CASE(a_circle_of_many_waits_is_left_in_time),
        CASE(any_number_of_an_error_is_reported),
        CASE(what_has_no_record_never_ended),
        CASE(whoever_was_waited_for_has_ended_and_all_before_it),
        CASE(what_was_pushed_out_is_still_counted),
        CASE(of_a_process_that_lost_records_nothing_is_claimed),
        CASE(random_worlds_agree_with_a_look_at_all),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
