/* test_depends.c - idle time in which work waited, by whom in the end
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks, each of one process. Rank 0 has the threads 7, which launches, and
 * 8, which sets user events, and the devices 1 and 2; rank 1 has thread 7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/ledger.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"

enum name { N_RUN = 1, N_FINISH, N_EVENT, N_SET, N_ALLREDUCE, N_SPIN };
static const char *const names[] = {NULL,
                                    "clEnqueueNDRangeKernel",
                                    "clFinish",
                                    "clCreateUserEvent",
                                    "clSetUserEventStatus",
                                    "MPI_Allreduce",
                                    "spin"};

enum thread { LAUNCHER, SETTER, OTHER }; /* by number in the definitions */
static const uint32_t tids[] = {7, 8, 7};

struct world {
    struct defs *defs;
    struct align *align;
    struct lookback *lookback;
    struct ledger *ledger;
};

static void process_make(struct defs *defs, int rank)
{
    struct {
        struct ck_text text;
        char bytes[64];
    } said = {.text = {.e = {.kind = CK_KIND_COMM, .name = 1}}};
    uint8_t id[16] = {(uint8_t)(rank + 1)};
    uint32_t agent = defs_agent_find(defs, id);
    uint32_t process = defs_process_find(defs, agent, 1);
    struct defs_process *p = &defs->processes[process];

    defs->agents[agent].rank = rank;
    for (uint32_t n = 1; n < sizeof(names) / sizeof(names[0]); n++) {
        assert_int_equal(names_set(p->names, n, names[n]), 0);
    }
    said.text.length =
        (uint32_t)snprintf(said.bytes, sizeof(said.bytes),
                           "how=world\nsize=2\nrank=%d\nmembers=0-1\n", rank);
    comm_enter(defs, process, &said.text);
    p->devices = calloc(2, sizeof(*p->devices));
    p->devices_count = p->devices_room = rank == 0 ? 2 : 0;
    for (uint32_t i = 0; i < p->devices_count; i++) {
        p->devices[i] =
            (struct defs_device){.number = i + 1, .name = "d", .uuid = ""};
    }
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct defs *defs = world->defs = defs_create();

    process_make(defs, 0);
    (void)defs_thread_find(defs, 0, 7);
    (void)defs_thread_find(defs, 0, 8);
    process_make(defs, 1);
    (void)defs_thread_find(defs, 1, 7);
    defs_close(defs);
    comm_close(defs);
    world->align = align_create();
    align_close(world->align, defs);
    align_settle(world->align, NULL);
    world->lookback = lookback_create(defs, world->align, 0);
    world->ledger =
        ledger_create(defs, world->lookback, NULL, (struct region){0, 100});
    assert_non_null(world->ledger);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    ledger_destroy(world->ledger);
    lookback_destroy(world->lookback);
    align_destroy(world->align);
    defs_destroy(world->defs);
    free(world);
    return 0;
}

static void take(struct world *world,
                 const void *record,
                 enum thread thread,
                 struct region part)
{
    struct timeline_event event = {.record = record,
                                   .start = part.start,
                                   .end = part.end,
                                   .rank = thread == OTHER,
                                   .process = thread == OTHER,
                                   .thread = (uint32_t)thread};

    ledger_settle(world->ledger, part.start);
    assert_int_equal(lookback_take(world->lookback, &event, 0), 0);
    ledger_take(world->ledger, &event);
}

static void call(struct world *world,
                 enum thread thread,
                 enum name name,
                 uint32_t number,
                 struct region part)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_API_OPENCL, .name = name, .start = part.start},
        .dur = region_length(part),
        .site = name,
        .call = number,
        .object = name == N_RUN || name == N_FINISH,
        .extra = name == N_RUN     ? N_SPIN
                 : name == N_EVENT ? CK_COMMAND_EVENT
                                   : 0};

    take(world, &record, thread, part);
}

static void await(struct world *world,
                  enum thread thread,
                  enum ck_kind kind,
                  uint32_t number,
                  uint32_t awaited,
                  ck_time_t at)
{
    struct ck_await record = {.e = {.kind = (uint16_t)kind, .start = at},
                              .call = number,
                              .queue = kind == CK_KIND_AWAIT,
                              .awaited_tid = tids[LAUNCHER],
                              .awaited_call = awaited};

    take(world, &record, thread, (struct region){at, at});
}

static void kernel(struct world *world,
                   uint32_t device,
                   uint32_t number,
                   struct region part)
{
    struct ck_kernel record = {
        .e = {.kind = CK_KIND_KERNEL, .name = N_SPIN, .start = part.start},
        .dur = region_length(part),
        .tid = tids[LAUNCHER],
        .call = number,
        .queue = device,
        .device = device};

    take(world, &record, LAUNCHER, part);
}

static void allreduce(struct world *world,
                      enum thread thread,
                      uint32_t number,
                      struct region part)
{
    struct ck_collective record = {.e = {.kind = CK_KIND_COLLECTIVE,
                                         .name = N_ALLREDUCE,
                                         .start = part.start},
                                   .dur = region_length(part),
                                   .site = N_ALLREDUCE,
                                   .call = number,
                                   .comm = 1,
                                   .seq = 1,
                                   .root = -1,
                                   .bytes_out = 4,
                                   .bytes_in = 4};

    take(world, &record, thread, part);
}

/* Time of a device with a cause that is because of a rank; -1 = none. */
static ck_time_t
time_of(struct world *world, uint32_t device, enum cause cause, int32_t blamed)
{
    ck_time_t sum = 0;
    size_t count;
    const struct ledger_row *rows = ledger_rows(world->ledger, &count);

    for (size_t i = 0; i < count; i++) {
        if (rows[i].device == device - 1 && rows[i].cause == cause &&
            rows[i].blamed == blamed) {
            sum += rows[i].ns;
        }
    }
    return sum;
}

static void a_setter_that_waits_for_a_rank_blames_that_one(void **state)
{
    struct world *world = *state;

    call(world, LAUNCHER, N_RUN, 1, (struct region){0, 1});
    kernel(world, 1, 1, (struct region){2, 10});
    allreduce(world, SETTER, 1, (struct region){5, 50});
    call(world, LAUNCHER, N_EVENT, 2, (struct region){11, 12});
    await(world, LAUNCHER, CK_KIND_AWAIT, 3, 2, 12);
    call(world, LAUNCHER, N_RUN, 3, (struct region){12, 13});
    call(world, LAUNCHER, N_FINISH, 4, (struct region){13, 62});
    allreduce(world, OTHER, 1, (struct region){48, 50});
    await(world, SETTER, CK_KIND_AWAIT_SET, 2, 2, 55);
    call(world, SETTER, N_SET, 2, (struct region){55, 56});
    kernel(world, 1, 3, (struct region){58, 60});
    ledger_finish(world->ledger);
    assert_int_equal(time_of(world, 1, CAUSE_DEP_EVENT, 1), 48 - 12);
    assert_int_equal(time_of(world, 1, CAUSE_DEP_EVENT, 0), 55 - 48);
    assert_int_equal(time_of(world, 1, CAUSE_KERNEL_GAP, -1), 58 - 55);
    assert_int_equal(time_of(world, 1, CAUSE_LAUNCH_LATENCY, -1), 0);
    assert_int_equal(time_of(world, 1, CAUSE_END_OF_WORK, -1), 40);
}

static void a_devices_first_work_waits_from_its_launch_on(void **state)
{
    struct world *world = *state;

    call(world, LAUNCHER, N_RUN, 1, (struct region){0, 1});
    kernel(world, 1, 1, (struct region){2, 40});
    await(world, LAUNCHER, CK_KIND_AWAIT, 2, 1, 5);
    call(world, LAUNCHER, N_RUN, 2, (struct region){5, 6});
    kernel(world, 2, 2, (struct region){42, 50});
    ledger_finish(world->ledger);
    assert_int_equal(time_of(world, 2, CAUSE_STARTUP, -1), 5);
    assert_int_equal(time_of(world, 2, CAUSE_DEP_REMOTE, -1), 40 - 5);
    assert_int_equal(time_of(world, 2, CAUSE_KERNEL_GAP, -1), 2);
    assert_int_equal(time_of(world, 1, CAUSE_STARTUP, -1), 2);
}

static void what_never_ended_is_no_end_of_work(void **state)
{
    struct world *world = *state;
    struct defs_process *process = &world->defs->processes[0];

    process->queues = calloc(1, sizeof(*process->queues));
    process->queues_count = process->queues_room = 1;
    process->queues[0] = (struct defs_queue){.id = 1, .device = 1, .name = ""};
    call(world, LAUNCHER, N_RUN, 1, (struct region){0, 1});
    kernel(world, 1, 1, (struct region){2, 10});
    call(world, LAUNCHER, N_RUN, 2, (struct region){30, 31});
    ledger_finish(world->ledger);
    assert_int_equal(time_of(world, 1, CAUSE_END_OF_WORK, -1), 20);
    assert_int_equal(time_of(world, 1, CAUSE_UNFINISHED, -1), 70);
    assert_int_equal(time_of(world, 2, CAUSE_END_OF_WORK, -1), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(a_setter_that_waits_for_a_rank_blames_that_one),
        CASE(a_devices_first_work_waits_from_its_launch_on),
        CASE(what_never_ended_is_no_end_of_work),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
