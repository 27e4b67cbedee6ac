/* owndir.c - a directory that no other user writes to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/owndir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with the open directory, or NULL. */
static int dir_check(int fd, const char *dir, struct ck_err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return ck_err_set(err, "cannot look at %s: %s", dir, strerror(errno));
    }
    if (st.st_uid != geteuid()) {
        errno = EPERM;
        return ck_err_set(err, "%s belongs to another user (uid %u)", dir,
                          (unsigned)st.st_uid);
    }
    if ((st.st_mode & 077) != 0) {
        errno = EPERM;
        return ck_err_set(err, "%s is open to others (mode %04o)", dir,
                          (unsigned)st.st_mode & 07777);
    }
    return 0;
}

/* Why what was found in its place is not opened. */
static const char *stranger_text(mode_t mode)
{
    if (S_ISLNK(mode)) {
        return "is a symbolic link";
    }
    return S_ISDIR(mode) ? "belongs to another user" : "is not a directory";
}

int ck_owndir_open(const char *dir, struct ck_err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int saved = errno;

    if (fd < 0 && saved != ENOENT && lstat(dir, &st) == 0 &&
        (st.st_uid != geteuid() || !S_ISDIR(st.st_mode))) {
        (void)ck_err_set(err, "%s %s", dir, stranger_text(st.st_mode));
        errno = EPERM;
        return -1;
    }
    if (fd < 0) {
        errno = saved;
        return ck_err_set(err, "cannot open %s: %s", dir, strerror(saved));
    }
    if (dir_check(fd, dir, err) != 0) {
        saved = errno;
        (void)close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int ck_owndir_make(const char *dir, struct ck_err *err)
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        return ck_err_set(err, "cannot make %s: %s", dir, strerror(errno));
    }
    return ck_owndir_open(dir, err);
}

int ck_owndir_file(int dir, const char *name, int flags)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    int saved = EPERM;

    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) != 0) {
        saved = errno;
    } else if (S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
               st.st_nlink <= 1 && (st.st_mode & 077) == 0) {
        return fd;
    }
    (void)close(fd);
    errno = saved;
    return -1;
}

bool ck_owndir_is_mine(const char *dir)
{
    struct stat name, place;

    if (lstat(dir, &name) != 0 || stat(dir, &place) != 0) {
        return false;
    }
    errno = EPERM;
    return name.st_uid == geteuid() && place.st_uid == geteuid() &&
           S_ISDIR(place.st_mode) && (place.st_mode & S_IWOTH) == 0;
}
