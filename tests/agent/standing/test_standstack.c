/* test_standstack.c - threads that wait, seen from outside
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Children of this program that wait in a function whose place is known: their
 * state, their system call and their frames. A debugger's rights over one's own
 * children are there unless a policy takes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/standing/standstack.h"
#include "agent/standing/threadlook.h"
#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"
#include "tests/emulator.h"

/* Bytes of a function here, at most. */
#define FUNCTION 512
/* Of a heap with room for all tables. */
#define HEAP_BYTES (16 << 20)
/* Of a program with 4 MB of tables. */
#define FAULTS_FEW 100
#ifdef __SANITIZE_ADDRESS__
#define IS_CHECKED true
#else
#define IS_CHECKED false
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;
static void *volatile heap;
static int pipes[2];

__attribute__((noinline)) static void wait_inner(void)
{
    char byte;

    sink = (int)read(pipes[0], &byte, 1);
    sink = 1;
}

__attribute__((noinline)) static void wait_outer(void)
{
    wait_inner();
    sink = 2;
}

__attribute__((noinline)) static void want(void)
{
    pthread_mutex_lock(&lock);
    sink = 3;
}

static void *want_begin(void *unused)
{
    want();
    return unused;
}

__attribute__((noinline)) static void spin(void)
{
    for (;;) {
        sink++;
    }
}

/* As fork(); a child ends with this program, also where a test fails. */
static pid_t child_fork(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
    }
    return pid;
}

/* The child's number, once it waits in that call (or runs). */
static pid_t
child_start(void (*does)(void), struct threadlook *look, int64_t call)
{
    pid_t pid = child_fork();

    if (pid == 0) {
        does();
        _exit(1);
    }
    for (int i = 0; i < 2000; i++) {
        assert_true(threadlook_take(pid, (uint32_t)pid, look));
        if (look->error == EPERM || look->error == EACCES) {
            (void)kill(pid, SIGKILL);
            print_message("the memory of a child may not be read here\n");
            skip();
        }
        if (call >= 0
                ? look->has_place && look->call == call && look->state != 'R'
                : look->state == 'R' && !look->has_place) {
            return pid;
        }
        (void)usleep(1000);
    }
    fail_msg("the child does not wait");
    return -1;
}

static void child_end(pid_t pid)
{
    int status;

    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* It was neither stopped nor ended before. */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool is_in(uint64_t address, void (*function)(void))
{
    uint64_t begin = (uint64_t)(uintptr_t)function;

    return address > begin && address < begin + FUNCTION;
}

static void frames_of_a_waiting_thread_are_its_callers(void **state)
{
    uint64_t addresses[64];
    struct standstack_frames frames = {addresses, 64, 0};
    struct codemaps *codemaps = codemaps_create();
    struct unwind *unwind = unwind_create(codemaps);
    struct standstack *stacks[] = {standstack_create(NULL),
                                   standstack_create(unwind)};
    struct standstack_seen seen = {.changes = 5};
    struct threadlook look;
    char path[THREADLOOK_PATH];
    size_t inner;
    pid_t pid;

    (void)state;
    EMULATOR_SKIP("no process_vm_readv; its own calls in /proc");
    assert_true(stacks[0] != NULL && stacks[1] != NULL);
    assert_int_equal(pipe(pipes), 0);
    pid = child_start(wait_outer, &look, SYS_read);
    assert_int_equal(look.state, 'S');
    assert_string_equal(threadlook_call(look.call), "read");
    assert_true(threadlook_file(pid, &look, path));
    assert_non_null(strstr(path, "pipe:"));
    assert_int_equal(threadlook_lock(pid, &look).owner, 0);
    /* The second and third time of each its code is known. */
    for (int i = 0; i < 6; i++) {
        seen.lost += i == 5;
        standstack_begin(stacks[i % 2], pid, seen);
        frames.count = 0;
        assert_int_not_equal(
            standstack_take(stacks[i % 2], pid, (uint32_t)pid, &look, &frames),
            STANDSTACK_REFUSED);
        /* From outside two registers are known: frames that others lead to, as
         * those of a sanitizer's read(), are not found. */
        for (inner = 0;
             inner < frames.count && !is_in(addresses[inner], wait_inner);
             inner++) {
        }
        if (!IS_CHECKED) {
            assert_true(inner + 1 < frames.count);
            assert_true(is_in(addresses[inner + 1], wait_outer));
        }
    }
    child_end(pid);
    standstack_destroy(stacks[0]);
    standstack_destroy(stacks[1]);
    unwind_destroy(unwind);
    codemaps_destroy(codemaps);
}

/* Code that was lost of a process is read anew where others unwind. */
static void what_was_lost_of_the_code_is_read_anew(void **state)
{
    struct codemaps *codemaps = codemaps_create();
    struct unwind *unwind = unwind_create(codemaps);
    struct standstack *stack = standstack_create(unwind);
    uint64_t place = (uint64_t)(uintptr_t)wait_inner;
    const struct mapping wrong = {.start = 4096, .end = 8192, .path = "/none"};
    struct code code;

    (void)state;
    assert_non_null(stack);
    codemaps_execed(codemaps, getpid());
    codemaps_mapped(codemaps, getpid(), &wrong);
    standstack_begin(stack, getpid(), (struct standstack_seen){.changes = 1});
    assert_true(codemaps_find(codemaps, getpid(), 4096, &code));
    standstack_begin(stack, getpid(), (struct standstack_seen){.changes = 2});
    assert_true(codemaps_find(codemaps, getpid(), 4096, &code));
    standstack_begin(stack, getpid(),
                     (struct standstack_seen){.changes = 3, .lost = 1});
    assert_false(codemaps_find(codemaps, getpid(), 4096, &code));
    assert_true(codemaps_find(codemaps, getpid(), place, &code));
    standstack_destroy(stack);
    unwind_destroy(unwind);
    codemaps_destroy(codemaps);
}

static long faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* As in a collector, whose heap keeps what was freed (link/ship.c). */
static void what_looks_is_made_in_few_pages(void **state)
{
    struct codemaps *codemaps;
    struct standstack *stack;
    struct unwind *unwind;
    long before;

    (void)state;
    if (IS_CHECKED) {
        skip();
    }
    codemaps = codemaps_create();
    unwind = unwind_create(codemaps);
    assert_int_equal(mallopt(M_MMAP_THRESHOLD, 2 * HEAP_BYTES), 1);
    assert_int_equal(mallopt(M_TRIM_THRESHOLD, 2 * HEAP_BYTES), 1);
    heap = malloc(HEAP_BYTES); /* not a pair of calls that cancel */
    free(heap);
    before = faults();
    stack = standstack_create(unwind);
    assert_non_null(stack);
    assert_true(faults() - before < FAULTS_FEW);
    standstack_destroy(stack);
    unwind_destroy(unwind);
    codemaps_destroy(codemaps);
}

static void a_lock_names_the_thread_that_holds_it(void **state)
{
    struct threadlook_lock found = {0, 0};
    struct threadlook look;
    uint32_t tids[8];
    pid_t pid;

    (void)state;
    EMULATOR_SKIP("no process_vm_readv; its own calls in /proc");
    pid = child_fork();
    if (pid == 0) {
        pthread_t thread;

        pthread_mutex_lock(&lock);
        (void)pthread_create(&thread, NULL, want_begin, NULL);
        for (;;) {
            pause();
        }
    }
    for (int i = 0; found.owner == 0 && i < 2000; i++) {
        size_t count = threadlook_threads(pid, tids, 8);

        for (size_t t = 0; t < count && t < 8; t++) {
            if (threadlook_take(pid, tids[t], &look)) {
                if (look.error != 0) {
                    child_end(pid);
                    skip();
                }
                if (threadlook_lock(pid, &look).owner != 0) {
                    found = threadlook_lock(pid, &look);
                }
            }
        }
        (void)usleep(1000);
    }
    assert_int_equal(found.owner, pid);
    assert_int_equal(found.address, (uintptr_t)&lock);
    child_end(pid);
}

static void a_thread_that_runs_has_no_place(void **state)
{
    uint64_t addresses[64];
    struct standstack_frames frames = {addresses, 64, 0};
    struct standstack *stack = standstack_create(NULL);
    struct threadlook look;
    pid_t pid;

    (void)state;
    EMULATOR_SKIP("no process_vm_readv; its own calls in /proc");
    pid = child_start(spin, &look, -1);
    assert_int_equal(standstack_take(stack, pid, (uint32_t)pid, &look, &frames),
                     STANDSTACK_NONE);
    assert_int_equal(frames.count, 0);
    child_end(pid);
    standstack_destroy(stack);
}

static void a_thread_that_has_ended_is_not_there(void **state)
{
    struct threadlook look;
    uint32_t tids[2];
    int status;
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(threadlook_take(pid, (uint32_t)pid, &look));
    assert_int_equal(threadlook_threads(pid, tids, 2), 0);
}

/* Its stack is where nothing is, or is full of what is no frame. */
static void a_wrong_stack_is_no_harm(void **state)
{
    uint64_t addresses[64];
    struct standstack_frames frames = {addresses, 64, 0};
    struct standstack *stack = standstack_create(NULL);
    struct threadlook look = {.state = 'S', .call = 0, .has_place = true};
    uint64_t *wrong = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    EMULATOR_SKIP("no process_vm_readv; its own calls in /proc");
    assert_true(wrong != MAP_FAILED);
    look.sp = 4096;
    look.pc = (uint64_t)(uintptr_t)wait_inner + 4;
    assert_int_equal(
        standstack_take(stack, getpid(), (uint32_t)getpid(), &look, &frames),
        STANDSTACK_PART);
    assert_int_equal(frames.count, 1);
    assert_int_equal(frames.frames[0], look.pc);
    srandom(1);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < 65536 / sizeof(*wrong); i++) {
            wrong[i] = (uint64_t)random() << (random() % 34);
        }
        look.sp = (uint64_t)(uintptr_t)wrong + 8 * (uint64_t)(random() % 8000);
        (void)standstack_take(stack, getpid(), (uint32_t)getpid(), &look,
                              &frames);
        assert_true(frames.count <= 64);
    }
    (void)munmap(wrong, 65536);
    standstack_destroy(stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_a_waiting_thread_are_its_callers),
        cmocka_unit_test(what_was_lost_of_the_code_is_read_anew),
        cmocka_unit_test(what_looks_is_made_in_few_pages),
        cmocka_unit_test(a_lock_names_the_thread_that_holds_it),
        cmocka_unit_test(a_thread_that_runs_has_no_place),
        cmocka_unit_test(a_thread_that_has_ended_is_not_there),
        cmocka_unit_test(a_wrong_stack_is_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
