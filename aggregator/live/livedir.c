/* livedir.c - the directory of a run in which merges of a running job write
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A merge that was killed leaves files of any name in it.
 */
#include "aggregator/live/livedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/fd.h"

/* The run directory, or -1 with err. */
static int run_open(const char *run, struct ck_err *err)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0
               ? fd
               : ck_err_set(err, "cannot open %s: %s", run, strerror(errno));
}

/* 0, or -1 with errno: EACCES where it is not of this user alone. */
static int mine_check(int run)
{
    struct stat facts;

    if (fstatat(run, LIVEDIR_NAME, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        return -1;
    }
    if (!S_ISDIR(facts.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    if (facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
        errno = EACCES;
        return -1;
    }
    return 0;
}

/* Make it, or again in place of one that is there. A default ACL of the run
 * may open what mkdir() makes. 0, or -1 with errno. */
static int make(int run)
{
    bool is_made = mkdirat(run, LIVEDIR_NAME, 0700) == 0 ||
                   (errno == EEXIST && livedir_remove(run) == 0 &&
                    mkdirat(run, LIVEDIR_NAME, 0700) == 0);
    int fd;

    if (!is_made) {
        return -1;
    }
    fd = openat(run, LIVEDIR_NAME,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    (void)fchmod(fd, 0700);
    (void)close(fd);
    return mine_check(run);
}

/* Do it in the run. 0, or -1 with err. */
static int in_run(const char *run, int (*action)(int run), struct ck_err *err)
{
    int fd = run_open(run, err);
    int rc;

    if (fd < 0) {
        return -1;
    }
    rc = action(fd) == 0 ? 0
                         : ck_err_set(err, "cannot use %s/" LIVEDIR_NAME ": %s",
                                      run, strerror(errno));
    (void)close(fd);
    return rc;
}

int livedir_make(const char *run, struct ck_err *err)
{
    return in_run(run, make, err);
}

int livedir_check(const char *run, struct ck_err *err)
{
    return in_run(run, mine_check, err);
}

int livedir_remove(int run)
{
    int fd = openat(run, LIVEDIR_NAME,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (list == NULL) {
        ck_fd_close(fd);
        return errno == ENOENT ? 0 : -1;
    }
    while ((entry = readdir(list)) != NULL) {
        (void)unlinkat(fd, entry->d_name, 0); /* not "." nor ".." */
    }
    (void)closedir(list);
    return unlinkat(run, LIVEDIR_NAME, AT_REMOVEDIR);
}
