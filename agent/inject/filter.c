/* filter.c - the program forbids itself system calls, or the clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * After a filter is set, a system call of ours may end the program; in strict
 * mode a read of the processor's counter does, too. So prctl() and syscall()
 * are wrapped, and before the filter is set each of our libraries in this
 * process is called: the thread gets its slot while it still can, and needs no
 * system call to record into it later. A filter that is set without libc is not
 * noticed. A thread may also make a read of the processor's counter a fault,
 * and the threads that it starts inherit that (a program that is executed then
 * dies in glibc's loader).
 */
#include "agent/inject/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "agent/inject/symbol.h"

#define LIBRARIES 16

typedef long (*prctl_f)(int, long, long, long, long);
typedef long (*syscall_f)(long, long, long, long, long, long, long);

static _Atomic(filter_close_f) libraries[LIBRARIES];
static _Atomic(prctl_f) next_prctl;
static _Atomic(syscall_f) next_syscall;
static _Atomic int is_said;

/* The library's own, with no search by the loader. */
__asm__(".protected ck_filter_join");

INJECT_START void ck_filter_join(filter_close_f close)
{
    for (unsigned i = 0; i < LIBRARIES; i++) {
        filter_close_f none = NULL;

        if (atomic_compare_exchange_strong(&libraries[i], &none, close) ||
            none == close) {
            return;
        }
    }
}

static void note(enum inject_closing how)
{
    if (how == INJECT_CLOSE_CLOCKS) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "a thread forbade itself the processor's counter: "
                         "what it, and threads that were started later, did "
                         "from then on was not recorded");
    } else if (how == INJECT_CLOSE_THREAD) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "a thread went into seccomp's strict mode: what it "
                         "did from then on was not recorded");
    } else if (inject_ring.incarnation != 0 &&
               atomic_exchange(&is_said, 1) == 0) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "a process set a seccomp filter: threads that it "
                         "started later were not recorded, and connections "
                         "that it opened later have no name");
    }
}

static void libraries_close(enum inject_closing how)
{
    int saved = errno;

    note(how);
    for (unsigned i = 0; i < LIBRARIES; i++) {
        filter_close_f close = atomic_load(&libraries[i]);

        if (close != NULL) {
            close(how);
        }
    }
    errno = saved;
}

static void prctl_look(int operation, long mode)
{
    if (operation == PR_SET_SECCOMP) {
        libraries_close(mode == SECCOMP_MODE_STRICT ? INJECT_CLOSE_THREAD
                                                    : INJECT_CLOSE_PROCESS);
    } else if (operation == PR_SET_TSC && mode == PR_TSC_SIGSEGV) {
        libraries_close(INJECT_CLOSE_CLOCKS);
    }
}

INJECT_ENTRY(long, prctl, int operation, long a, long b, long c, long d)
{
    prctl_f next = atomic_load_explicit(&next_prctl, memory_order_relaxed);

    if (__builtin_expect(next == NULL, 0)) {
        next = (prctl_f)(uintptr_t)symbol_next("prctl");
        atomic_store_explicit(&next_prctl, next, memory_order_relaxed);
    }
    prctl_look(operation, a);
    return next(operation, a, b, c, d);
}

INJECT_ENTRY(
    long, syscall, long number, long a, long b, long c, long d, long e, long f)
{
    syscall_f next = atomic_load_explicit(&next_syscall, memory_order_relaxed);

    if (__builtin_expect(next == NULL, 0)) {
        next = (syscall_f)(uintptr_t)symbol_next("syscall");
        atomic_store_explicit(&next_syscall, next, memory_order_relaxed);
    }
    if (number == SYS_prctl) {
        prctl_look((int)a, b);
    } else if (number == SYS_seccomp &&
               (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) {
        libraries_close(a == SECCOMP_SET_MODE_STRICT ? INJECT_CLOSE_THREAD
                                                     : INJECT_CLOSE_PROCESS);
    }
    return next(number, a, b, c, d, e, f);
}
