/* recover.c - what killed agents of a run left in memory, moved to the run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/recover.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/log.h"
#include "schema/owndir.h"
#include "schema/ringdir.h"
#include "schema/time.h"

#define RECOVER_LIMIT (60 * CK_TIME_S)

/* A ring file whose lock is free: nobody drains it. */
static bool is_left(int dir, const char *name)
{
    bool is_free;
    int fd;

    if (!ck_ring_is_name(name)) {
        return false;
    }
    fd = ck_owndir_file(dir, name, O_RDONLY);
    is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_free;
}

static bool has_ring(const char *dir)
{
    bool is_there = false;
    struct dirent *entry;
    int fd = ck_owndir_open(dir, NULL);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    while (stream != NULL && !is_there && (entry = readdir(stream)) != NULL) {
        is_there = is_left(dirfd(stream), entry->d_name);
    }
    if (stream != NULL) {
        (void)closedir(stream);
    } else if (fd >= 0) {
        (void)close(fd);
    }
    return is_there;
}

void recover_rings(const char *run)
{
    char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES];
    size_t count = ck_ring_dirs_all(dirs);
    bool is_any = false;
    char program[PATH_MAX];
    char dir[PATH_MAX];
    char *argv[] = {program, "--clean", "--dir", dir, NULL};
    struct ck_child child = {
        .path = program, .argv = argv, .fds = {-1, -1, -2}};
    struct ck_err err;
    pid_t pid;
    int status;

    for (size_t i = 0; i < count; i++) {
        is_any = is_any || has_ring(dirs[i]);
    }
    if (!is_any || realpath(run, dir) == NULL ||
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
}
