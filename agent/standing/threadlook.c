/* threadlook.c - what a thread does, as the kernel shows it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   /proc/PID/task/TID/syscall: "running", or
 *       NUMBER ARGUMENT*6 SP PC, or
 *       -1 SP PC
 */
#include "agent/standing/threadlook.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/procfile.h"
#include "agent/python/pythonmemory.h"

#define LINE_BYTES 1024
/* glibc's lock that a thread waits for. */
#define LOCK_CONTENDED 2

/* A file of the thread's. False: errno. */
static bool
task_read(pid_t pid, uint32_t tid, const char *name, char *text, size_t room)
{
    return procfile_read(text, room, "/proc/%d/task/%u/%s", (int)pid, tid,
                         name) >= 0;
}

/* "TID (name) S ...": the name may hold anything. */
static bool stat_read(pid_t pid, uint32_t tid, struct threadlook *look)
{
    char text[LINE_BYTES];
    char *begin, *end;

    if (!task_read(pid, tid, "stat", text, sizeof(text))) {
        return false;
    }
    begin = strchr(text, '(');
    end = strrchr(text, ')');
    if (begin == NULL || end == NULL || end < begin || end[1] != ' ') {
        return false;
    }
    look->state = end[2];
    *end = '\0';
    (void)snprintf(look->name, sizeof(look->name), "%s", begin + 1);
    return true;
}

static void call_read(pid_t pid, uint32_t tid, struct threadlook *look)
{
    char text[LINE_BYTES];
    char *at = text;
    char *end;

    if (!task_read(pid, tid, "syscall", text, sizeof(text))) {
        look->error = errno;
        return;
    }
    look->call = strtoll(text, &at, 10);
    if (at == text) {
        return; /* it runs */
    }
    for (int i = 0; look->call >= 0 && i < THREADLOOK_ARGUMENTS; i++) {
        look->arguments[i] = strtoull(at, &end, 16);
        if (end == at) {
            return;
        }
        at = end;
    }
    look->sp = strtoull(at, &end, 16);
    at = end;
    look->pc = strtoull(at, &end, 16);
    look->has_place = look->sp != 0 && look->pc != 0;
}

bool threadlook_take(pid_t pid, uint32_t tid, struct threadlook *look)
{
    memset(look, 0, sizeof(*look));
    look->call = -1;
    if (!stat_read(pid, tid, look) || look->state == 'X' ||
        look->state == 'Z') {
        return false;
    }
    call_read(pid, tid, look);
    return look->error != ESRCH && look->error != ENOENT;
}

size_t threadlook_threads(pid_t pid, uint32_t *tids, size_t room)
{
    char path[64];
    struct dirent *entry;
    size_t count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        unsigned long tid = strtoul(entry->d_name, NULL, 10);

        if (tid == 0 || tid > UINT32_MAX) {
            continue;
        }
        if (count < room) {
            tids[count] = (uint32_t)tid;
        }
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

static bool is_thread(pid_t pid, uint32_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, tid);
    return tid != 0 && access(path, F_OK) == 0;
}

/* pthread_mutex_t of glibc: lock, count, owner. One of another kind has no
 * thread's number there. */
struct threadlook_lock threadlook_lock(pid_t pid, const struct threadlook *look)
{
    struct threadlook_lock none = {0, 0};
    uint32_t words[3];
    int what = (int)(look->arguments[1] & FUTEX_CMD_MASK);

    if (!look->has_place || look->call != SYS_futex ||
        (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) ||
        (uint32_t)look->arguments[2] != LOCK_CONTENDED ||
        pythonmemory_read(pid, look->arguments[0], words, sizeof(words)) != 0 ||
        words[0] != LOCK_CONTENDED || !is_thread(pid, words[2])) {
        return none;
    }
    return (struct threadlook_lock){look->arguments[0], words[2]};
}

/* System calls that wait, and whether they begin with a descriptor. */
static const struct {
    int64_t number;
    const char *name;
    bool has_file;
} calls[] = {
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_pread64, "pread", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_recvfrom, "recvfrom", true},
    {SYS_sendto, "sendto", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_connect, "connect", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_close, "close", true},
    {SYS_openat, "open", false},
    {SYS_futex, "futex", false},
    {SYS_clock_nanosleep, "sleep", false},
    {SYS_nanosleep, "sleep", false},
#ifdef SYS_poll
    {SYS_poll, "poll", false},
    {SYS_select, "select", false},
    {SYS_pause, "pause", false},
    {SYS_epoll_wait, "epoll_wait", false},
#endif
    {SYS_ppoll, "poll", false},
    {SYS_pselect6, "select", false},
    {SYS_epoll_pwait, "epoll_wait", false},
    {SYS_wait4, "wait", false},
    {SYS_waitid, "wait", false},
    {SYS_rt_sigtimedwait, "sigwait", false},
    {SYS_rt_sigsuspend, "sigsuspend", false},
    {SYS_sched_yield, "sched_yield", false},
};

static size_t call_find(int64_t number)
{
    size_t i = 0;

    while (i < sizeof(calls) / sizeof(calls[0]) && calls[i].number != number) {
        i++;
    }
    return i;
}

const char *threadlook_call(int64_t number)
{
    size_t i = call_find(number);

    return i < sizeof(calls) / sizeof(calls[0]) ? calls[i].name : NULL;
}

bool threadlook_file(pid_t pid,
                     const struct threadlook *look,
                     char path[THREADLOOK_PATH])
{
    size_t i = call_find(look->call);
    char link[64];
    ssize_t length;

    if (!look->has_place || i == sizeof(calls) / sizeof(calls[0]) ||
        !calls[i].has_file) {
        return false;
    }
    (void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid,
                   (int)look->arguments[0]);
    length = readlink(link, path, THREADLOOK_PATH - 1);
    if (length <= 0) {
        return false;
    }
    path[length] = '\0';
    return true;
}
