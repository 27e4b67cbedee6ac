/* procfile.h - files of /proc and /sys, whose text the kernel makes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_PROCFILE_H
#define CK_AGENT_PROCESS_PROCFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The file at the path that `format` makes, or as much of it as `text` has room
 * for, and a NUL. Bytes; -1 with errno, and no text. */
ssize_t procfile_read(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of an open file, which is closed; -1 as `fd` is one that could not
 * be opened. */
ssize_t procfile_take(char *text, size_t room, int fd);
/* The words of a file that ends each with a NUL (environ), up to a NULL; in one
 * block, to be freed. NULL: there is no such file, or no memory. */
char **procfile_words(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* The number behind `key` in such a text, as "\nVmHWM:" in status; `otherwise`
 * where there is no such key. */
int64_t procfile_number(const char *text, const char *key, int64_t otherwise);
/* Fields of a text of /proc/PID/stat by their numbers in proc(5), from the
 * parent (4) to the start (22, in clock ticks since boot). 0 or -1. */
#define PROCFILE_STAT 23
int procfile_stat(const char *text, int64_t fields[PROCFILE_STAT]);

/* What a text of /proc/PID/schedstat has: ns on a CPU, and ns that it could
 * have run and had none. 0 or -1. */
int procfile_schedstat(const char *text, int64_t *cpu_ns, int64_t *wait_ns);
/* How long the task with that name in /proc ("123", "thread-self") could have
 * run and had no CPU, ns since its start. 0 where the kernel does not count it
 * (CONFIG_SCHED_INFO), or there is no such task. */
int64_t procfile_kept_back(const char *task);

#endif
