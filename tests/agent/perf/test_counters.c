/* test_counters.c - counters of a real child that works for a known time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the machine and its container allow differs: hardware counters are
 * there, or a note has the reason. Time, switches and faults are always there.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/counters.h"
#include "tests/agent/said.h"

#define WORK_NS (300 * CK_TIME_MS)
#define PAGES 2000

struct child {
    pid_t pid;
    int go;   /* closing lets it start */
    int done; /* readable when it has worked */
    int end;  /* closing lets it end */
};

static int64_t cpu_now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

static void *work(void *unused)
{
    int64_t end = cpu_now() + WORK_NS;
    size_t bytes = (size_t)PAGES * 4096;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)unused;
    (void)madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096) {
        memory[i] = 1;
    }
    while (cpu_now() < end) {
    }
    return NULL;
}

/* Run again as this program with an argument, so that there is an exec. */
static int child_main(int done, int end)
{
    pthread_t thread;
    char byte = 0;

    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    (void)work(NULL);
    (void)pthread_join(thread, NULL);
    return write(done, &byte, 1) == 1 && read(end, &byte, 1) == 0 ? 0 : 1;
}

static void child_start(struct child *child)
{
    int go[2], done[2], end[2];
    char byte;

    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(done), 0);
    assert_int_equal(pipe(end), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        (void)close(go[1]);
        (void)close(end[1]);
        if (read(go[0], &byte, 1) == 0) {
            (void)dup2(done[1], 3);
            (void)dup2(end[0], 4);
            (void)execl("/proc/self/exe", "test_counters", "work",
                        (char *)NULL);
        }
        _exit(127);
    }
    (void)close(go[0]);
    (void)close(done[1]);
    (void)close(end[0]);
    child->go = go[1];
    child->done = done[0];
    child->end = end[1];
}

static uint32_t name_id(const struct said *said, const char *name)
{
    const struct ck_text *text = NULL;

    while ((text = said_next(said, CK_KIND_NAME, text)) != NULL) {
        if (text->length == strlen(name) &&
            memcmp(ck_text_bytes(text), name, text->length) == 0) {
            return text->e.name;
        }
    }
    return 0;
}

/* The last value recorded; tid 0 = of the tree. NULL if none. */
static const struct ck_counter *
value_of(const struct said *said, const char *name, uint32_t tid)
{
    const struct ck_counter *counter = NULL, *last = NULL;
    uint32_t id = name_id(said, name);

    while ((counter = said_next(said, CK_KIND_COUNTER, counter)) != NULL) {
        if (counter->e.name == id && counter->tid == tid && id != 0) {
            last = counter;
        }
    }
    return last;
}

static int notes(const struct said *said, const char *word)
{
    const struct ck_text *text = NULL;
    int found = 0;

    while ((text = said_next(said, CK_KIND_NOTE, text)) != NULL) {
        found += memmem(ck_text_bytes(text), text->length, word,
                        strlen(word)) != NULL;
    }
    return found;
}

static void a_child_of_two_threads_is_counted(void **state)
{
    struct said said;
    struct child child;
    struct ck_err err;
    struct counters *counters;
    const struct ck_counter *clock, *faults, *main_thread;
    char byte;
    int status;

    (void)state;
    said_init(&said);
    child_start(&child);
    counters = counters_create(child.pid, &err);
    assert_non_null(counters);
    (void)close(child.go);
    assert_int_equal(read(child.done, &byte, 1), 1);
    assert_int_equal(counters_read(counters, said.selfstream, NULL), 0);
    said_read(&said);
    faults = value_of(&said, "minor-faults", 0);
    assert_non_null(faults);
    assert_in_range(faults->value, 2 * PAGES, 10 * PAGES); /* with start */
    (void)close(child.end);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(status, 0);
    counters_end(counters, &(struct frontpipe_end){.minor_faults = 1000000});
    assert_int_equal(counters_read(counters, said.selfstream, NULL), 0);
    counters_destroy(counters);
    (void)close(child.done);
    said_read(&said);

    clock = value_of(&said, "task-clock", 0);
    assert_non_null(clock);
    assert_in_range(clock->value, WORK_NS * 2 * 9 / 10, WORK_NS * 2 * 3);
    assert_true(clock->running > 0 && clock->running <= clock->enabled);
    faults = value_of(&said, "minor-faults", 0);
    assert_non_null(faults);
    assert_int_equal(faults->value, 1000000); /* the end knows more */
    assert_non_null(value_of(&said, "context-switches", 0));
    assert_int_equal(notes(&said, "cpu-migrations"), 1); /* no samples */
    main_thread = value_of(&said, "thread-cpu-time", (uint32_t)child.pid);
    assert_non_null(main_thread);
    assert_in_range(main_thread->value, WORK_NS * 9 / 10, WORK_NS * 2);
    assert_non_null(
        value_of(&said, "involuntary-switches", (uint32_t)child.pid));
    /* A hardware counter is either there or noted as missing. */
    assert_int_equal(value_of(&said, "cycles", 0) == NULL,
                     notes(&said, "cycles") == 1);
    said_fini(&said);
}

static void a_child_that_never_ran_has_no_time(void **state)
{
    struct said said;
    struct child child;
    struct ck_err err;
    struct counters *counters;
    const struct ck_counter *clock;
    int status;

    (void)state;
    said_init(&said);
    child_start(&child);
    counters = counters_create(child.pid, &err);
    assert_non_null(counters);
    assert_int_equal(counters_read(counters, said.selfstream, NULL), 0);
    counters_destroy(counters);
    (void)close(child.end);
    (void)close(child.done);
    (void)close(child.go);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    said_read(&said);
    /* One that had no page fault yet has not begun: nothing is recorded of it.
     */
    clock = value_of(&said, "task-clock", 0);
    assert_true(clock == NULL || clock->value < WORK_NS / 3);
    said_fini(&said);
}

static void
of_a_child_that_was_gone_at_the_first_look_nothing_is_said(void **state)
{
    struct said said;
    struct child child;
    struct ck_err err;
    struct counters *counters;
    int status;

    (void)state;
    said_init(&said);
    child_start(&child);
    counters = counters_create(child.pid, &err);
    assert_non_null(counters);
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(counters_read(counters, said.selfstream, NULL), 0);
    said_read(&said);
    assert_true(name_id(&said, "task-clock") != 0);
    assert_null(value_of(&said, "task-clock", 0));
    assert_null(value_of(&said, "minor-faults", 0));
    /* Who waited for it knows. */
    counters_end(counters,
                 &(struct frontpipe_end){.user_ns = 5, .minor_faults = 1});
    assert_int_equal(counters_read(counters, said.selfstream, NULL), 0);
    said_read(&said);
    assert_non_null(value_of(&said, "task-clock", 0));
    assert_int_equal(value_of(&said, "task-clock", 0)->value, 5);
    counters_destroy(counters);
    (void)close(child.end);
    (void)close(child.done);
    (void)close(child.go);
    said_fini(&said);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_two_threads_is_counted),
        cmocka_unit_test(a_child_that_never_ran_has_no_time),
        cmocka_unit_test(
            of_a_child_that_was_gone_at_the_first_look_nothing_is_said),
    };

    if (argc == 2 && strcmp(argv[1], "work") == 0) {
        return child_main(3, 4);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
