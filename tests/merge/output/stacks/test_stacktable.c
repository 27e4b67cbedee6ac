/* test_stacktable.c - stacks of samples, added up and written
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "merge/model/comm.h"
#include "merge/output/stacks/folded.h"
#include "merge/output/stacks/speedscope.h"

#define TID 7
#define NUMBERS 3

static struct defs *defs;
static struct stacktable *table;
static char path[] = "/tmp/ck-stacktable.XXXXXX";
static char text[65536];

static void place_put(uint32_t process, uint64_t address, const char *function)
{
    struct place place = {texts_keep(defs->texts, function, strlen(function)),
                          NULL, 0};

    names_set_place(defs->processes[process].names, address, place);
}

/* Frames that a test puts behind those of the program. */
#define KERNEL_MOST 4

/* Frames `depth`, ..., 2, 1, so that address 1 is innermost. */
static void stack_put(struct defs_stack *stack, uint32_t depth)
{
    stack->frames = calloc(depth + KERNEL_MOST, sizeof(*stack->frames));
    stack->count = stack->depth = depth;
    for (uint32_t i = 0; i < depth; i++) {
        stack->frames[i] = i + 1;
    }
}

static int setup(void **state)
{
    struct region part = {100, 1000};
    int fd;

    (void)state;
    defs = defs_create();
    for (int rank = 0; rank < 2; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t number = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, number, 1);
        struct defs_agent *agent = &defs->agents[number];

        agent->rank = defs->processes[process].rank = rank;
        defs->processes[process].pid = TID;
        (void)defs_thread_find(defs, process, TID);
        stack_put(defs_stack_enter(agent, 1), 2);
        stack_put(defs_stack_enter(agent, 2), DEFS_STACK_DEPTH);
        stack_put(defs_stack_enter(agent, 3), 1);
        place_put(process, 1, "leaf;of 5");
        place_put(process, 2, "main\n");
    }
    defs_close(defs);
    comm_close(defs);
    table = stacktable_create(defs, part);
    strcpy(path + sizeof(path) - 7, "XXXXXX");
    fd = mkstemp(path);
    return table == NULL || fd < 0 || close(fd) != 0;
}

static int teardown(void **state)
{
    (void)state;
    stacktable_destroy(table);
    defs_destroy(defs);
    return unlink(path);
}

static void sample(uint32_t process, ck_time_t time, uint64_t stack)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_SAMPLE, .name = 1, .start = time},
        .tid = TID,
        .stack = stack,
        .weight = 10};
    struct timeline_event event = {.record = &record.e,
                                   .start = time,
                                   .end = time,
                                   .rank = (int32_t)process,
                                   .process = process,
                                   .thread = process};

    assert_int_equal(stacktable_take(table, &event), 0);
}

/* What is in the file. */
static const char *written(void)
{
    FILE *file = fopen(path, "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    assert_int_equal(fclose(file), 0);
    text[length] = '\0';
    return text;
}

/* A wait of `ns`, and a CPU sample at its start. */
static void wait(uint32_t process, ck_time_t time, uint64_t stack, ck_time_t ns)
{
    struct ck_sample record = {
        .e = {.kind = CK_KIND_OFF_CPU, .name = 1, .start = time},
        .tid = TID,
        .stack = stack,
        .weight = ns};
    struct timeline_event event = {.record = &record.e,
                                   .start = time,
                                   .end = time,
                                   .rank = (int32_t)process,
                                   .process = process,
                                   .thread = process};

    assert_int_equal(stacktable_take(table, &event), 0);
    sample(process, time, stack);
}

static const char *folded(void)
{
    struct ck_err err;

    stacktable_resolve(table);
    assert_int_equal(folded_write(table, FOLDED_SAMPLES, path, &err), 0);
    return written();
}

static void waits_are_counted_by_their_time_in_the_part(void **state)
{
    struct ck_err err;

    (void)state;
    stacktable_destroy(table);
    table = stacktable_create(defs, (struct region){100000, 1000000});
    stacktable_of_waits(table);
    wait(0, 50000, 1, 40000);    /* over before the part */
    wait(0, 90000, 1, 30000);    /* 20 us in it */
    wait(0, 200000, 1, 7000);    /* all of its 7 us */
    wait(0, 990000, 1, 5000000); /* 10 us in it */
    wait(1, 1000000, 1, 50000);  /* after it */
    stacktable_resolve(table);
    assert_int_equal(folded_write(table, FOLDED_MICROSECONDS, path, &err), 0);
    assert_string_equal(written(), "rank 0;thread main;main_;leaf:of_5 37\n");
}

static void equal_stacks_of_a_thread_are_one_line(void **state)
{
    (void)state;
    sample(0, 100, 1);
    sample(1, 200, 1);
    sample(0, 999, 1);
    assert_string_equal(folded(), "rank 0;thread main;main_;leaf:of_5 2\n"
                                  "rank 1;thread main;main_;leaf:of_5 1\n");
}

static void samples_outside_of_the_part_are_left_out(void **state)
{
    (void)state;
    sample(0, 99, 1);
    sample(0, 1000, 1);
    assert_string_equal(folded(), "");
}

static void a_stack_that_was_cut_begins_with_deeper(void **state)
{
    const char *line;

    (void)state;
    sample(0, 100, 2);
    line = folded();
    assert_non_null(strstr(line, "rank 0;thread main;[deeper];[unknown];"));
    assert_non_null(strstr(line, ";[unknown];main_;leaf:of_5 1\n"));
}

static void a_number_that_was_never_recorded_has_no_stack(void **state)
{
    (void)state;
    sample(0, 100, 0);
    sample(0, 100, NUMBERS + 1);
    sample(0, 100, UINT64_MAX);
    assert_string_equal(folded(), "rank 0;thread main;[no stack] 3\n");
}

static void memory(ck_time_t time, uint64_t bytes)
{
    struct ck_stacked record = {
        .e = {.kind = CK_KIND_ALLOCATED, .name = 1, .start = time},
        .bytes = bytes,
        .stack = 3,
        .mean = 1000};
    struct timeline_event event = {.record = &record.e, .start = time};

    assert_int_equal(stacktable_take_memory(table, &event), 0);
}

/* As files that are damaged have them. */
static void bytes_of_memory_do_not_wrap(void **state)
{
    (void)state;
    memory(100, UINT64_MAX);
    memory(110, CK_BLOCK_BYTES_MAX + 1);
    memory(120, 1000000);
    stacktable_resolve(table);
    assert_int_equal(
        folded_write(table, FOLDED_WEIGHTS, path, &(struct ck_err){0}), 0);
    assert_string_equal(written(), "rank 0;thread main;leaf:of_5 1000000\n");
}

static void sums_of_memory_do_not_wrap(void **state)
{
    (void)state;
    for (int i = 0; i < 32769; i++) {
        memory(100, CK_BLOCK_BYTES_MAX);
    }
    stacktable_resolve(table);
    assert_int_equal(
        folded_write(table, FOLDED_WEIGHTS, path, &(struct ck_err){0}), 0);
    assert_string_equal(written(),
                        "rank 0;thread main;leaf:of_5 9223372036854775807\n");
}

static void the_kernel_without_names_is_one_frame(void **state)
{
    struct defs_stack *stack = defs_stack_enter(&defs->agents[0], 3);
    uint64_t *frames = stack->frames;

    (void)state;
    frames[1] = frames[2] = frames[4] = CK_SITE_KERNEL + 1;
    frames[3] = CK_SITE_KERNEL + 3;
    stack->kernel = 4;
    place_put(0, CK_SITE_KERNEL + 3, "read");
    sample(0, 100, 3);
    assert_string_equal(folded(), "rank 0;thread main;leaf:of_5;[kernel]_[k];"
                                  "read_[k];[kernel]_[k] 1\n");
}

static void speedscope_has_all_ranks_and_then_each_thread(void **state)
{
    const struct speedscope about = {"a \"run\"", "1"};
    struct ck_err err;

    (void)state;
    sample(1, 200, 3);
    sample(0, 100, 1);
    sample(0, 110, 1);
    stacktable_resolve(table);
    assert_int_equal(speedscope_write(table, &about, path, &err), 0);
    assert_string_equal(
        written(),
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
        "\n\"name\":\"a \\\"run\\\"\",\"exporter\":\"ck 1\","
        "\"activeProfileIndex\":0,\n"
        "\"shared\":{\"frames\":[\n{\"name\":\"leaf;of 5\"},\n"
        "{\"name\":\"main\\u000a\"}]},\n\"profiles\":[\n"
        "{\"type\":\"sampled\",\"name\":\"all ranks\",\"unit\":\"nanoseconds\","
        "\"startValue\":0,\"endValue\":30,\"samples\":[\n[1,0],\n[0]],"
        "\"weights\":[20,10]},\n"
        "{\"type\":\"sampled\",\"name\":\"rank 0 main\","
        "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":20,"
        "\"samples\":[\n[1,0]],\"weights\":[20]},\n"
        "{\"type\":\"sampled\",\"name\":\"rank 1 main\","
        "\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":10,"
        "\"samples\":[\n[0]],\"weights\":[10]}]}\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(waits_are_counted_by_their_time_in_the_part),
        CASE(equal_stacks_of_a_thread_are_one_line),
        CASE(samples_outside_of_the_part_are_left_out),
        CASE(a_stack_that_was_cut_begins_with_deeper),
        CASE(a_number_that_was_never_recorded_has_no_stack),
        CASE(bytes_of_memory_do_not_wrap),
        CASE(sums_of_memory_do_not_wrap),
        CASE(the_kernel_without_names_is_one_frame),
        CASE(speedscope_has_all_ranks_and_then_each_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
