/* outputfile.c - an output file that is there as a whole or not at all
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/outputfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/tempfiles.h"
#include "schema/fd.h"

#define LINKS_MAX 40 /* as the kernel has it */

static int cannot_write(const struct outputfile *target, struct ck_err *err)
{
    return ck_err_set(err, "cannot write %s: %s", target->named,
                      strerror(errno));
}

/* What the open link leads to. False with errno: it is one of another user, who
 * may have put it there after the name was looked at. */
static bool link_read(int fd, const struct stat *status, char to[PATH_MAX])
{
    ssize_t length;

    if (status->st_uid != geteuid() && status->st_uid != 0) {
        errno = EPERM;
        return false;
    }
    length = readlinkat(fd, "", to, PATH_MAX - 1);
    if (length < 0) {
        return false;
    }
    to[length] = '\0';
    return true;
}

/* Go on to what a link at `path` leads to. 1 where it did, 0 where it is none,
 * or one of the kernel's that has no name, -1 with errno. */
static int link_follow(char path[PATH_MAX])
{
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char to[PATH_MAX], next[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t dir = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    struct stat status;
    bool is_link, is_read;

    if (fd < 0) {
        return 0; /* it is not there, or is opened in vain */
    }
    is_link = fstat(fd, &status) == 0 && S_ISLNK(status.st_mode);
    is_read = is_link && link_read(fd, &status, to);
    ck_fd_close(fd);
    if (!is_read) {
        return is_link ? -1 : 0;
    }
    if (snprintf(next, sizeof(next), "%.*s%s", to[0] == '/' ? 0 : (int)dir,
                 path, to) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (lstat(next, &status) != 0 && stat(path, &status) == 0) {
        return 0;
    }
    strcpy(path, next);
    return 1;
}

/* Where the named file is, or will be: a link to nothing is followed too. */
static int path_resolve(struct outputfile *target)
{
    int rc = 1;

    (void)snprintf(target->path, sizeof(target->path), "%s", target->named);
    for (int i = 0; i < LINKS_MAX && rc == 1; i++) {
        rc = link_follow(target->path);
    }
    if (rc == 1) {
        errno = ELOOP;
    }
    return rc == 0 ? 0 : -1;
}

/* The mode that the new file gets: that of the old one, or the usual. */
static mode_t mode_of(const struct outputfile *target, mode_t usual)
{
    struct stat status;
    mode_t mask;

    if (stat(target->path, &status) == 0) {
        return status.st_mode & 0777;
    }
    mask = umask(0);
    (void)umask(mask);
    return usual & ~mask;
}

static int in_place(struct outputfile *target, struct ck_err *err)
{
    struct stat status;

    target->fresh[0] = '\0';
    target->fd = open(target->path, O_WRONLY | O_CLOEXEC);
    if (target->fd >= 0 &&
        (fstat(target->fd, &status) != 0 || S_ISREG(status.st_mode))) {
        ck_fd_close(target->fd); /* it was put there meanwhile */
        target->fd = -1;
        errno = EPERM;
    }
    return target->fd < 0 ? cannot_write(target, err) : 0;
}

int outputfile_open(struct outputfile *target,
                    const char *path,
                    mode_t mode,
                    struct ck_err *err)
{
    struct stat status;
    int n = snprintf(target->named, sizeof(target->named), "%s", path);

    target->fresh[0] = '\0';
    target->fd = -1;
    if (strcmp(path, "-") == 0) {
        (void)snprintf(target->named, sizeof(target->named), "stdout");
        target->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return target->fd < 0 ? cannot_write(target, err) : 0;
    }
    if (n >= (int)sizeof(target->named)) {
        errno = ENAMETOOLONG;
        return cannot_write(target, err);
    }
    if (path_resolve(target) != 0) {
        return cannot_write(target, err);
    }
    if (stat(target->path, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return cannot_write(target, err);
    }
    if (stat(target->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        return in_place(target, err);
    }
    n = snprintf(target->fresh, sizeof(target->fresh), "%s.XXXXXX",
                 target->path);
    if (n >= (int)sizeof(target->fresh)) {
        errno = ENAMETOOLONG;
        return cannot_write(target, err);
    }
    tempfiles_hold();
    target->fd = mkostemp(target->fresh, O_CLOEXEC);
    if (target->fd >= 0) {
        tempfiles_add(target->fresh);
    }
    tempfiles_release();
    if (target->fd < 0) {
        return cannot_write(target, err);
    }
    (void)fchmod(target->fd, mode_of(target, mode));
    return 0;
}

FILE *outputfile_stream(struct outputfile *target)
{
    FILE *file = fdopen(target->fd, "w");

    if (file == NULL) {
        int saved = errno;

        (void)close(target->fd);
        errno = saved;
    }
    target->fd = -1;
    return file;
}

int outputfile_close(struct outputfile *target,
                     bool is_good,
                     struct ck_err *err)
{
    bool has_fresh = target->fresh[0] != '\0';

    if (is_good && (!has_fresh || rename(target->fresh, target->path) == 0)) {
        tempfiles_forget(target->fresh);
        return 0;
    }
    (void)cannot_write(target, err);
    if (has_fresh) {
        (void)unlink(target->fresh);
        tempfiles_forget(target->fresh);
    }
    return -1;
}
