/* threadlook.h - what a thread does, as the kernel shows it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read from /proc: the thread is neither stopped nor asked.
 */
#ifndef CK_AGENT_STANDING_THREADLOOK_H
#define CK_AGENT_STANDING_THREADLOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Threads of a process that are looked at. */
#define THREADLOOK_THREADS_MAX 4096
#define THREADLOOK_PATH 512
#define THREADLOOK_ARGUMENTS 6

struct threadlook {
    char state;     /* of /proc/PID/stat: R S D T t Z ... */
    char name[32];  /* "" = not known */
    int error;      /* why the next is not known: EPERM, EACCES, ESRCH; or 0 */
    bool has_place; /* it is in the kernel: */
    int64_t call;   /* number of the system call; -1 = in none */
    uint64_t arguments[THREADLOOK_ARGUMENTS];
    uint64_t sp, pc; /* of the program */
};

/* Look at the thread. False: it has ended. */
bool threadlook_take(pid_t pid, uint32_t tid, struct threadlook *look);

/* Ids of the process' threads, at most `room` of them; returns how many there
 * are. */
size_t threadlook_threads(pid_t pid, uint32_t *tids, size_t room);

/* Of a thread that waits for a lock: where the lock is, and the thread that
 * holds it; 0 = not such a lock. */
struct threadlook_lock {
    uint64_t address;
    uint32_t owner;
};
struct threadlook_lock threadlook_lock(pid_t pid,
                                       const struct threadlook *look);

/* The file that its system call is about. False: about none. */
bool threadlook_file(pid_t pid,
                     const struct threadlook *look,
                     char path[THREADLOOK_PATH]);

/* The name of the system call, of those that wait; NULL = another. */
const char *threadlook_call(int64_t number);

#endif
