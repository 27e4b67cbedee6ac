/* posixexit.c - ends of a process that no destructor sees
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What was counted since the last record is recorded first. The calls are not
 * counted themselves: none returns.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/posix/posixcall.h"

typedef void (*exit_f)(int);

POSIX_SYMBOL(_exit, 0, POSIX_PLAIN);
POSIX_SYMBOL(_Exit, 0, POSIX_PLAIN);
POSIX_SYMBOL(quick_exit, 0, POSIX_PLAIN);

static _Noreturn void leave(exit_f next, int status)
{
    posix_counts_last();
    if (next != NULL) {
        next(status);
    }
    for (;;) {
        (void)syscall(SYS_exit_group, status);
    }
}

INJECT_ENTRY(_Noreturn void, _exit, int status)
{
    leave((exit_f)POSIX_NEXT(_exit), status);
}

INJECT_ENTRY(_Noreturn void, _Exit, int status)
{
    leave((exit_f)POSIX_NEXT(_Exit), status);
}

INJECT_ENTRY(_Noreturn void, quick_exit, int status)
{
    leave((exit_f)POSIX_NEXT(quick_exit), status);
}
