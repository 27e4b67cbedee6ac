/* claim.c - a run directory is one job's from its start on
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/link/embedded.h"
#include "schema/fnv.h"

#define TRIES 8
#define KEY_BYTES 256
#define PATH_BYTES (EMBEDDED_DIR + 32)

static int path_find(const char *dir, char path[PATH_BYTES])
{
    char place[EMBEDDED_DIR];

    if (embedded_dir(place, NULL) != 0) {
        return -1;
    }
    (void)snprintf(path, PATH_BYTES, "%s/%016llx.claim", place,
                   (unsigned long long)ck_fnv_text(CK_FNV_START, dir));
    return 0;
}

static int file_open(const char *dir)
{
    char path[PATH_BYTES];

    return path_find(dir, path) != 0
               ? -1
               : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* It has no owner: it is this job's. */
static void key_write(int fd, const char *key)
{
    if (ftruncate(fd, 0) != 0 ||
        pwrite(fd, key, strlen(key), 0) != (ssize_t)strlen(key)) {
        (void)ftruncate(fd, 0); /* no key is no owner */
    }
}

static bool is_key(int fd, const char *key)
{
    char seen[KEY_BYTES];
    ssize_t length = pread(fd, seen, sizeof(seen), 0);

    return length == 0 || (length == (ssize_t)strlen(key) &&
                           memcmp(seen, key, (size_t)length) == 0);
}

/* The file was removed before it was locked. */
static bool is_gone(int fd)
{
    struct stat st;

    return fstat(fd, &st) != 0 || st.st_nlink == 0;
}

int claim_take(const char *dir, const char *job_key)
{
    for (int i = 0; i < TRIES; i++) {
        int fd = file_open(dir);

        if (fd < 0) {
            return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            key_write(fd, job_key);
        }
        /* Between the two locks another job may write its key: the key that
         * is read under the shared lock counts. */
        if (flock(fd, LOCK_SH) == 0 && is_key(fd, job_key) && !is_gone(fd)) {
            return fd;
        }
        if (!is_gone(fd) && flock(fd, LOCK_EX | LOCK_NB) != 0) {
            (void)close(fd);
            errno = EWOULDBLOCK;
            return -1;
        }
        (void)close(fd); /* that job has ended meanwhile */
    }
    errno = EAGAIN;
    return -1;
}

void claim_release(int claim, const char *dir)
{
    char path[PATH_BYTES];

    if (claim < 0) {
        return;
    }
    /* Who opens it now waits for the lock, and sees then that it is gone. */
    if (flock(claim, LOCK_EX | LOCK_NB) == 0 && !is_gone(claim) &&
        path_find(dir, path) == 0) {
        (void)unlink(path);
    }
    (void)flock(claim, LOCK_UN);
}
