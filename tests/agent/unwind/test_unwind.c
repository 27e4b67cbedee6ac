/* test_unwind.c - callers from a copy of registers and stack
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program copies its own stack as the kernel would; the C library's
 * unwinder is the oracle. Below qsort(), a signal's handler, functions without
 * a frame pointer, and one whose frame is aligned.
 */
#include <elf.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"

#define FRAMES 64
#define STACK_BYTES 65536
#define STEPS_MAX 100000

extern void *__libc_stack_end;

static struct codemaps *codemaps;
static struct unwind *unwind;

/* What was copied, and what is to be found in it. */
static uint8_t stack[STACK_BYTES];
static struct unwind_thread thread;
static void *expected[FRAMES];
static int expected_count;

static uint64_t found[FRAMES];
static struct unwind_frames frames;

static int setup(void **state)
{
    (void)state;
    codemaps = codemaps_create();
    unwind = unwind_create(codemaps);
    expected_count = 0;
    return codemaps == NULL || unwind == NULL;
}

static int teardown(void **state)
{
    (void)state;
    unwind_destroy(unwind);
    codemaps_destroy(codemaps);
    return 0;
}

/* A context's registers, and those of a process that stopped, by DWARF's
 * numbers. */
#if defined(__aarch64__)
static void context_put(uint64_t *to, const ucontext_t *context)
{
    memcpy(to, context->uc_mcontext.regs, sizeof(context->uc_mcontext.regs));
    to[EHFRAME_SP] = context->uc_mcontext.sp;
    to[EHFRAME_PC] = context->uc_mcontext.pc;
}

static void process_put(uint64_t *to, const struct user_regs_struct *from)
{
    memcpy(to, from->regs, sizeof(from->regs));
    to[EHFRAME_SP] = from->sp;
    to[EHFRAME_PC] = from->pc;
}
#else
static void context_put(uint64_t *to, const ucontext_t *context)
{
    static const int order[EHFRAME_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
        REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
        REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

    for (size_t i = 0; i < EHFRAME_REGISTERS; i++) {
        to[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    }
}

static void process_put(uint64_t *to, const struct user_regs_struct *from)
{
    to[3] = from->rbx;
    to[EHFRAME_BP] = from->rbp;
    to[EHFRAME_SP] = from->rsp;
    to[10] = from->r10;
    to[12] = from->r12;
    to[13] = from->r13;
    to[14] = from->r14;
    to[15] = from->r15;
    to[EHFRAME_PC] = from->rip;
}
#endif

__attribute__((noinline, no_sanitize("address"))) static void
stack_copy(uint64_t from, size_t length)
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)from;

    for (size_t i = 0; i < length; i++) {
        stack[i] = bytes[i];
    }
}

__attribute__((noinline)) static void thread_take(void)
{
    ucontext_t context;
    size_t length;

    (void)getcontext(&context);
    context_put(thread.registers, &context);
    length = (size_t)((uint64_t)(uintptr_t)__libc_stack_end -
                      thread.registers[EHFRAME_SP]);
    thread.length = length < STACK_BYTES ? length : STACK_BYTES;
    thread.pid = getpid();
    thread.stack = stack;
    stack_copy(thread.registers[EHFRAME_SP], thread.length);
    expected_count = backtrace(expected, FRAMES);
}

static int compare(const void *a, const void *b)
{
    if (expected_count == 0) {
        thread_take();
    }
    return *(const int *)a - *(const int *)b;
}

/* Room on the stack of a length that the compiler does not know. */
__attribute__((noinline)) static int sort_some(int count)
{
    int *items = __builtin_alloca((size_t)count * sizeof(*items));

    for (int i = 0; i < count; i++) {
        items[i] = count - i;
    }
    qsort(items, (size_t)count, sizeof(*items), compare);
    return items[0];
}

__attribute__((noinline)) static int deep(int depth)
{
    return depth == 0 ? sort_some(100) : deep(depth - 1) + 1;
}

/* The compiler aligns this one's frame by a register of its own. */
__attribute__((noinline)) static int aligned(int count)
{
    _Alignas(64) volatile int items[64] = {count};
    int *some = __builtin_alloca((size_t)count * sizeof(*some));

    some[0] = deep(3);
    items[1] = some[0];
    return items[1] + items[0];
}

static void handle(int number)
{
    (void)number;
    thread_take();
}

__attribute__((noinline)) static int interrupted(int depth)
{
    int sum = depth == 0 ? raise(SIGUSR1) : interrupted(depth - 1);

    return sum + (depth > 0);
}

static void needs_rules(void)
{
    if (!EHFRAME_IS_READ) {
        print_message("skipped: this processor's frames are not read\n");
        skip();
    }
}

static enum unwind_end walk(size_t length)
{
    struct unwind_thread some = thread;

    some.length = length;
    frames = (struct unwind_frames){.frames = found, .room = FRAMES};
    return unwind_walk(unwind, &some, &frames);
}

/* Is it where the library's unwinder was? It has an instruction that a signal
 * interrupted as it is, we have one past it. */
static bool is_expected(size_t i, size_t shift)
{
    uint64_t mine = found[i];
    uint64_t its = (uint64_t)(uintptr_t)expected[i + shift];

    return mine == its || mine == its + 1;
}

static void callers_are_all_found(void)
{
    size_t shift = 0;

    assert_int_equal(walk(thread.length), UNWIND_WHOLE);
    /* Before it what a sanitizer puts around backtrace(). */
    while ((int)(shift + frames.count) < expected_count) {
        shift++;
    }
    assert_int_equal(frames.count + shift, expected_count);
    assert_true(frames.count > 8);
    assert_false(frames.has_pointers);
    for (size_t i = 1; i < frames.count; i++) {
        assert_true(is_expected(i, shift));
    }
}

/* Where a signal's frame has no rule its record leads to the caller of what was
 * interrupted. */
static void callers_outside_are_found(void)
{
    assert_int_equal(walk(thread.length), UNWIND_WHOLE);
    assert_true(frames.has_pointers);
    assert_true(frames.count > 8 && expected_count > 8);
    for (size_t i = 1; i <= 6; i++) {
        assert_int_equal(found[frames.count - i],
                         (uint64_t)(uintptr_t)expected[expected_count - i]);
    }
}

static void callers_are_those_of_the_c_library(void **state)
{
    (void)state;
    needs_rules();
    assert_int_equal(aligned(7), 10 + 1);
    callers_are_all_found();
}

static void a_signals_handler_was_called_by_what_it_interrupted(void **state)
{
    (void)state;
    needs_rules();
    (void)signal(SIGUSR1, handle);
    assert_int_equal(interrupted(3), 3);
    if (EHFRAME_RETURN == EHFRAME_PC) {
        callers_are_all_found();
    } else {
        callers_outside_are_found();
    }
}

static void a_copy_cut_anywhere_gives_the_inner_frames(void **state)
{
    uint64_t whole[FRAMES];
    size_t count, most = 0;

    (void)state;
    needs_rules();
    assert_int_equal(deep(3), 4);
    assert_int_equal(walk(thread.length), UNWIND_WHOLE);
    memcpy(whole, found, sizeof(whole));
    count = frames.count;
    for (size_t length = 0; length < thread.length; length++) {
        enum unwind_end end = walk(length);

        assert_true(frames.count > 0 && frames.count <= count);
        assert_true(frames.count >= most);
        assert_memory_equal(found, whole, frames.count * sizeof(*found));
        assert_true(end == UNWIND_CUT || frames.count == count);
        most = frames.count;
    }
    assert_int_equal(most, count);
}

static void a_stack_of_nonsense_ends_without_harm(void **state)
{
    const char *seed_text = getenv("CK_SEED");
    unsigned seed = seed_text != NULL ? (unsigned)atoi(seed_text) : 7;

    (void)state;
    needs_rules();
    print_message("CK_SEED=%u\n", seed);
    assert_int_equal(deep(3), 4);
    for (int i = 0; i < 20000; i++) {
        for (int k = 0; k < 4; k++) {
            size_t at = (size_t)rand_r(&seed) % thread.length;

            stack[at] = (uint8_t)rand_r(&seed);
        }
        (void)walk(thread.length);
        assert_true(frames.count > 0 && frames.count <= FRAMES);
    }
}

/* What the traced child runs: below calls through the linker's table that is
 * filled at the first call, the C library's own code, and qsort(). */
__attribute__((noinline)) static int stepped(int count)
{
    char text[100];
    int items[8];

    for (int i = 0; i < 8; i++) {
        items[i] = (i * 5 + count) % 8;
    }
    expected_count = 1; /* no copy of its own */
    qsort(items, 8, sizeof(*items), compare);
    return snprintf(text, sizeof(text), "%d %s %f", items[1], "text", 1.5) +
           (int)strtol(text, NULL, 10);
}

static void child_run(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(0);
    }
    (void)raise(SIGSTOP);
    (void)!stepped(3);
    (void)raise(SIGUSR2);
    _exit(0);
}

/* The child as it is; all of its stack that is there, up to the copy. */
static void child_take(pid_t pid)
{
    struct user_regs_struct at;
    struct iovec here = {&at, sizeof(at)}, there;
    ssize_t got = -1;

    assert_int_equal(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &here), 0);
    process_put(thread.registers, &at);
    here.iov_base = stack;
    there.iov_base = (void *)(uintptr_t)thread.registers[EHFRAME_SP];
    for (size_t bytes = 16384; got < 0 && bytes >= 1024; bytes /= 2) {
        here.iov_len = there.iov_len = bytes;
        got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    }
    assert_true(got > 0);
    thread.length = (size_t)got;
    thread.pid = pid;
    thread.stack = stack;
}

/* Is the frame, counted from the outermost one, the same in each step? */
static void every_instruction_has_the_same_outer_callers(void **state)
{
    uint64_t outer[3] = {0};
    int steps = 0, status, fewer = 0;
    pid_t pid;

    (void)state;
    needs_rules();
    pid = fork();
    if (pid == 0) {
        child_run();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status)) {
        print_message("skipped: ptrace is not permitted\n");
        skip();
    }
    while (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 &&
           waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
           WSTOPSIG(status) == SIGTRAP && steps < STEPS_MAX) {
        child_take(pid);
        steps++;
        assert_int_equal(walk(thread.length), UNWIND_WHOLE);
        assert_true(frames.count > 3);
        for (size_t i = 0; i < 3; i++) {
            uint64_t frame = found[frames.count - 1 - i];

            assert_true(outer[i] == 0 || outer[i] == frame);
            outer[i] = frame;
        }
        fewer += frames.has_pointers;
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    print_message("%d steps\n", steps);
    assert_true(steps > 1000);
    assert_int_equal(fewer, 0);
}

/* Code that no file describes, as of a compiler at run time: with a frame
 * pointer, which shows its caller. */
static void code_without_a_file_is_left_by_frame_pointers(void **state)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t words[8] = {0};
    uint64_t base = 0x10000000;

    (void)state;
    needs_rules();
    assert_true(page != MAP_FAILED);
    memcpy(stack, words, sizeof(words));
    memset(&thread, 0, sizeof(thread));
    words[2] = base + 48;                      /* the caller's bp */
    words[3] = (uint64_t)(uintptr_t)page + 40; /* in the caller */
    words[6] = 0;                              /* no frame */
    words[7] = 0;
    memcpy(stack, words, sizeof(words));
    thread.pid = getpid();
    thread.stack = stack;
    thread.registers[EHFRAME_SP] = base;
    thread.registers[EHFRAME_BP] = base + 16;
    thread.registers[EHFRAME_PC] = (uint64_t)(uintptr_t)page + 8;
    assert_int_equal(walk(sizeof(words)), UNWIND_WHOLE);
    assert_int_equal(frames.count, 2);
    assert_int_equal(found[1], (uint64_t)(uintptr_t)page + 40);
    assert_true(frames.has_pointers);
    /* A pointer below the frame, and a return to where no code is. */
    thread.registers[EHFRAME_BP] = base - 16;
    assert_int_equal(walk(sizeof(words)), UNWIND_UNKNOWN);
    assert_int_equal(frames.count, 1);
    thread.registers[EHFRAME_BP] = base + 16;
    words[3] = 0x1234;
    memcpy(stack, words, sizeof(words));
    assert_int_equal(walk(sizeof(words)), UNWIND_UNKNOWN);
    (void)munmap(page, 4096);
}

/* As of Go: code without rules, the function of its runtime that calls others
 * on another stack, and the section by which a file is Go's. */
__asm__(".section .gopclntab, \"a\"\n"
        ".byte 0\n"
        ".text\n"
        ".globl \"runtime.systemstack\"\n"
        ".type \"runtime.systemstack\", @function\n"
        "\"runtime.systemstack\":\n"
        ".skip 64, 0x90\n"
        ".size \"runtime.systemstack\", 64\n"
        "go_code:\n"
        ".skip 64, 0x90\n");
extern const char go_code[] __attribute__((visibility("hidden")));
extern const char systemstack[] __asm__("runtime.systemstack");

static void a_stack_of_gos_runtime_ends_where_it_begins(void **state)
{
    uint64_t words[8] = {0};
    uint64_t base = 0x7f0000000000;

    (void)state;
    needs_rules();
    memset(&thread, 0, sizeof(thread));
    words[2] = 0xc000001000; /* on the stack of who called it */
    words[3] = (uint64_t)(uintptr_t)systemstack + 40;
    memcpy(stack, words, sizeof(words));
    thread.pid = getpid();
    thread.stack = stack;
    thread.registers[EHFRAME_SP] = base;
    thread.registers[EHFRAME_BP] = base + 16;
    thread.registers[EHFRAME_PC] = (uint64_t)(uintptr_t)go_code + 8;
    assert_int_equal(walk(sizeof(words)), UNWIND_WHOLE);
    assert_int_equal(frames.count, 2);
    assert_int_equal(found[1], (uint64_t)(uintptr_t)systemstack + 40);
    /* Other functions have their caller on the same stack. */
    words[3] = (uint64_t)(uintptr_t)go_code + 40;
    memcpy(stack, words, sizeof(words));
    assert_int_equal(walk(sizeof(words)), UNWIND_UNKNOWN);
    assert_int_equal(frames.count, 1);
}

static void an_address_in_no_code_is_no_frame(void **state)
{
    (void)state;
    needs_rules();
    memset(&thread, 0, sizeof(thread));
    thread.pid = getpid();
    thread.stack = stack;
    thread.registers[EHFRAME_PC] = 0x1000;
    assert_int_equal(walk(64), UNWIND_WRONG);
    assert_int_equal(frames.count, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(callers_are_those_of_the_c_library),
        CASE(a_signals_handler_was_called_by_what_it_interrupted),
        CASE(a_copy_cut_anywhere_gives_the_inner_frames),
        CASE(every_instruction_has_the_same_outer_callers),
        CASE(a_stack_of_nonsense_ends_without_harm),
        CASE(code_without_a_file_is_left_by_frame_pointers),
        CASE(a_stack_of_gos_runtime_ends_where_it_begins),
        CASE(an_address_in_no_code_is_no_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
