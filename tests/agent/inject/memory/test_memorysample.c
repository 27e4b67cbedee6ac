/* test_memorysample.c - which blocks are sampled, by what threads, in children
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/memory/memorysample.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/agent/inject/injectring.h"

#define MEAN 1024
#define LATE 300 /* more than threads without a writer may leave to others */
#define LATE_KEPT 256

static struct inject_label label_ask = INJECT_LABEL("ask");
static struct inject_label label_give = INJECT_LABEL("give");
static pthread_key_t key;

static int setup(void **state)
{
    (void)state;
    if (injectring_make(CK_LIBRARY_MEMORY, CK_CLOCK_TSC) != 0 ||
        inject_at_fork(memorysample_forking, memorysample_forked) != 0) {
        return -1;
    }
    memorysample_begin(MEAN);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return injectring_remove();
}

static void ask(size_t bytes)
{
    (void)memorysample_took((const void *)0x10000, bytes, &label_ask,
                            (void *)0x1000);
}

static void one_in_the_mean_is_sampled(void **state)
{
    unsigned sampled = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        injectring_empty();
        for (int j = 0; j < 1024; j++) {
            ask(16);
        }
        sampled += injectring_count(CK_KIND_ALLOCATED);
    }
    /* Of 16 B x 102,400 with 1 - exp(-16 / 1024): 1,588, five deviations. */
    assert_in_range(sampled, 1588 - 200, 1588 + 200);
}

/* A block whose address has the hash of a sampled one is not sampled. */
static void who_asks_learns_whether_it_is_sampled(void **state)
{
    unsigned told = 0;

    (void)state;
    injectring_empty();
    for (uintptr_t i = 1; i <= 1024; i++) {
        told += memorysample_took((const void *)(0x10000 + 16 * i), 16,
                                  &label_ask, (void *)0x1000);
    }
    assert_in_range(told, 1, 100);
    assert_int_equal(injectring_count(CK_KIND_ALLOCATED), told);
}

/* A thread that others have taken the processor's counter from. */
static void *asks_without_a_clock(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        ask(16);
    }
    return NULL;
}

static int without_a_clock(void)
{
    pthread_t thread;

    atomic_store(&inject_ring.is_closed, true);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) {
        return 77;
    }
    if (pthread_create(&thread, NULL, asks_without_a_clock, NULL) != 0) {
        return 1;
    }
    return pthread_join(thread, NULL);
}

static void a_thread_without_a_writer_needs_no_clock(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        _exit(without_a_clock());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* this processor's counter cannot be forbidden */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Bytes that a child asks for until its first sample. */
static int64_t distance_of_child(void)
{
    int ends[2];
    int64_t distance = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        ask(0);
        memorysample_left -= 1; /* before it is drawn it is 0 */
        ask(0);
        distance = memorysample_left;
        _exit(write(ends[1], &distance, sizeof(distance)) != sizeof(distance));
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(ends[0], &distance, sizeof(distance)),
                     sizeof(distance));
    (void)close(ends[0]);
    (void)close(ends[1]);
    return distance;
}

static void children_draw_numbers_of_their_own(void **state)
{
    int64_t first, second, third;

    (void)state;
    memorysample_begin(1 << 30);
    first = distance_of_child();
    second = distance_of_child();
    third = distance_of_child();
    memorysample_begin(MEAN);
    assert_int_not_equal(first, second);
    assert_int_not_equal(second, third);
    assert_int_not_equal(first, third);
}

/* At its end, behind inject.c's: it has no writer any more. */
static void late_give(void *unused)
{
    struct live_block block = {.address = 0x20000, .bytes = 16};

    (void)unused;
    for (int i = 0; i < LATE; i++) {
        memorysample_gone(&block, &label_give);
    }
}

static void *ends_late(void *unused)
{
    (void)unused;
    (void)pthread_setspecific(key, inject_writer());
    return NULL;
}

static void late_thread_run(void)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, ends_late, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void what_threads_give_back_at_their_end_is_recorded(void **state)
{
    struct live_block block = {.address = 0x30000, .bytes = 16};
    uint64_t noslot = atomic_load(&inject_ring.header->noslot);

    (void)state;
    assert_int_equal(pthread_key_create(&key, late_give), 0);
    injectring_empty();
    late_thread_run();
    assert_int_equal(atomic_load(&inject_ring.header->noslot) - noslot,
                     LATE - LATE_KEPT);
    assert_int_equal(injectring_count(CK_KIND_FREED), 0);
    memorysample_gone(&block, &label_give);
    assert_int_equal(injectring_count(CK_KIND_FREED), LATE_KEPT + 1);
}

static int of_child(void)
{
    struct live_block block = {.address = 0x30000, .bytes = 16};

    if (inject_writer() == NULL) {
        return 2;
    }
    injectring_empty();
    memorysample_gone(&block, &label_give);
    return injectring_count(CK_KIND_FREED) == 1 ? 0 : 1;
}

static void a_child_records_nothing_of_its_parents(void **state)
{
    int status;
    pid_t child;

    (void)state;
    late_thread_run();
    child = fork();
    if (child == 0) {
        _exit(of_child());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_in_the_mean_is_sampled),
        cmocka_unit_test(who_asks_learns_whether_it_is_sampled),
        cmocka_unit_test(a_thread_without_a_writer_needs_no_clock),
        cmocka_unit_test(children_draw_numbers_of_their_own),
        cmocka_unit_test(what_threads_give_back_at_their_end_is_recorded),
        cmocka_unit_test(a_child_records_nothing_of_its_parents),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
