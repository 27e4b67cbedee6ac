/* recover.c - what killed agents of a run left in memory, moved to the run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/recover.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/log.h"
#include "schema/owndir.h"
#include "schema/ring/ringdir.h"
#include "schema/time.h"

#define RECOVER_LIMIT (60 * CK_TIME_S)
#define MOVED_LIMIT (20 * CK_TIME_S)

enum ring_use {
    RING_NONE,  /* or its agent lives, which shares the lock */
    RING_MOVED, /* a ckagent moves what is in it: it holds the lock */
    RING_LEFT,  /* it is not drained: the lock is free */
};

static enum ring_use ring_use(int dir, const char *name)
{
    enum ring_use use = RING_NONE;
    int fd;

    if (!ck_ring_is_name(name)) {
        return RING_NONE;
    }
    fd = ck_owndir_file(dir, name, O_RDONLY);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        use = RING_LEFT;
    } else if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0) {
        use = RING_MOVED;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return use;
}

static bool has_ring(const char *dir, enum ring_use use)
{
    bool is_there = false;
    struct dirent *entry;
    int fd = ck_owndir_open(dir, NULL);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    while (stream != NULL && !is_there && (entry = readdir(stream)) != NULL) {
        is_there = ring_use(dirfd(stream), entry->d_name) == use;
    }
    if (stream != NULL) {
        (void)closedir(stream);
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return is_there;
}

static bool have_ring(enum ring_use use)
{
    char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES];
    size_t count = ck_ring_dirs_all(dirs);
    bool is_any = false;

    for (size_t i = 0; i < count; i++) {
        is_any = is_any || has_ring(dirs[i], use);
    }
    return is_any;
}

/* An agent that starts, or another merge, may be moving this run's records
 * right now: they are in no file yet. */
static void moved_wait(void)
{
    const struct timespec pause = {.tv_nsec = 20 * CK_TIME_MS};
    ck_time_t until = ck_time_raw() + MOVED_LIMIT;

    while (have_ring(RING_MOVED)) {
        if (ck_time_raw() > until) {
            ck_warn("another process still moves records that were left in "
                    "memory; merge again when it has ended");
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}

void recover_rings(const char *run)
{
    char program[PATH_MAX];
    char dir[PATH_MAX];
    char *argv[] = {program, "--clean", "--dir", dir, NULL};
    struct ck_child child = {
        .path = program, .argv = argv, .fds = {-1, -1, -2}};
    struct ck_err err;
    pid_t pid;
    int status;

    moved_wait();
    if (!have_ring(RING_LEFT) || realpath(run, dir) == NULL ||
        ck_child_find("ckagent", program, NULL) != 0) {
        return;
    }
    if (ck_child_start(&child, &pid, &err) != 0) {
        ck_warn("records left in memory are not looked for: %s", err.text);
    } else if (ck_child_wait(pid, RECOVER_LIMIT, &status) != 1) {
        ck_warn("%s still moves records that were left in memory; merge again "
                "when it has ended",
                program);
    }
    moved_wait(); /* ours may have met another one */
}
