/* indexfile.c - an index of frames that another process made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/indexfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/memory.h"
#include "schema/fd.h"
#include "schema/store/frameindex.h"

/* More is none of a job that one machine can merge. */
#define INDEX_BYTES_MAX ((off_t)1 << 30)

static void *file_read(int fd, const char *path, struct ck_err *err)
{
    struct stat status;
    void *index;
    size_t bytes;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size > INDEX_BYTES_MAX) {
        (void)ck_err_set(err, "%s is no index of frames", path);
        return NULL;
    }
    bytes = (size_t)status.st_size;
    index = xcalloc(1, bytes + 1);
    if (pread(fd, index, bytes, 0) != (ssize_t)bytes ||
        ck_frameindex_check(index, bytes, err) != 0) {
        free(index);
        return NULL;
    }
    return index;
}

void *indexfile_read(const char *path, struct ck_err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    void *index;

    if (fd < 0) {
        (void)ck_err_set(err, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    index = file_read(fd, path, err);
    if (!is_stdin) {
        ck_fd_close(fd);
    }
    return index;
}
