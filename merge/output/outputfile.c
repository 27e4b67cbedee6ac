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

static int cannot_write(const struct outputfile *target, struct ck_err *err)
{
    return ck_err_set(err, "cannot write %s: %s", target->named,
                      strerror(errno));
}

/* Where the named file is, or will be: a link to nothing is followed too. */
static int path_resolve(struct outputfile *target)
{
    char to[PATH_MAX];
    ssize_t length;
    const char *slash;

    if (realpath(target->named, target->path) != NULL) {
        return 0;
    }
    (void)snprintf(target->path, sizeof(target->path), "%s", target->named);
    length = readlink(target->named, to, sizeof(to) - 1);
    if (length < 0) {
        return 0;
    }
    to[length] = '\0';
    slash = strrchr(target->named, '/');
    if (to[0] != '/' && slash != NULL) {
        size_t dir = (size_t)(slash - target->named) + 1;

        if (dir + (size_t)length >= sizeof(target->path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(target->path + dir, to, (size_t)length + 1);
        return 0;
    }
    memcpy(target->path, to, (size_t)length + 1);
    return 0;
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
    target->fresh[0] = '\0';
    target->fd = open(target->path, O_WRONLY | O_CLOEXEC);
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
