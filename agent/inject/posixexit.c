/* posixexit.c - ends of a process that no destructor sees
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What was counted since the last word is said first. They are not counted
 * themselves: none returns.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/posixcall.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*exit_f)(int);

static struct posix_entry data__exit = {.symbol = "_exit"};
static struct posix_entry data__Exit = {.symbol = "_Exit"};
static struct posix_entry data_quick_exit = {.symbol = "quick_exit"};

static _Noreturn void leave(struct posix_entry *entry, int status)
{
    exit_f next = (exit_f)posix_next(entry);

    posix_counts_last();
    if (next != NULL) {
        next(status);
    }
    for (;;) {
        (void)syscall(SYS_exit_group, status);
    }
}

EXPORT _Noreturn void entry__exit(int status) __asm__("_exit");
void entry__exit(int status)
{
    leave(&data__exit, status);
}

EXPORT _Noreturn void entry__Exit(int status) __asm__("_Exit");
void entry__Exit(int status)
{
    leave(&data__Exit, status);
}

EXPORT _Noreturn void entry_quick_exit(int status) __asm__("quick_exit");
void entry_quick_exit(int status)
{
    leave(&data_quick_exit, status);
}
