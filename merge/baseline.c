/* baseline.c - the report of another run, to be compared with in the HTML page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/json/jsonread.h"
#include "merge/model/memory.h"

/* What of a text has not been read. */
struct rest {
    const char *at;
    size_t length;
};

static int64_t rest_read(void *state, void *to, size_t room)
{
    struct rest *rest = state;
    size_t length = rest->length < room ? rest->length : room;

    memcpy(to, rest->at, length);
    rest->at += length;
    rest->length -= length;
    return (int64_t)length;
}

/* Is it JSON from its first byte to its last, and a report? */
static bool is_report(const struct baseline *baseline)
{
    struct rest rest = {baseline->text, baseline->length};
    struct json *json = json_create(rest_read, &rest);
    bool is_ours = false;

    if (json_next(json)->type == JSON_OBJECT) {
        while (json_next(json)->type == JSON_NAME) {
            bool is_format = json_is(json_last(json), "format");

            if (!is_format) {
                (void)json_skip(json);
            } else if (json_next(json)->type == JSON_STRING) {
                is_ours = json_is(json_last(json), "ck.report");
            }
        }
        is_ours = is_ours && json_last(json)->type == JSON_OBJECT_END &&
                  json_next(json)->type == JSON_END;
    }
    json_destroy(json);
    return is_ours;
}

/* All bytes of an open file of at least so many. 0, or -1 with errno. */
static int bytes_read(int fd, off_t least, char **text, size_t *length)
{
    struct stat file;
    ssize_t n = 1;

    if (fstat(fd, &file) != 0) {
        return -1;
    }
    if (!S_ISREG(file.st_mode) || file.st_size < least ||
        (size_t)file.st_size > BASELINE_BYTES) {
        errno = S_ISREG(file.st_mode) && file.st_size >= least ? EFBIG : EINVAL;
        return -1;
    }
    *text = xmalloc((size_t)file.st_size + 1);
    while (n > 0 && *length < (size_t)file.st_size) {
        n = read(fd, *text + *length, (size_t)file.st_size - *length);
        *length += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : 0;
}

/* The same of a file whose path has so many bytes; *text is the caller's to
 * free. 0, or -1 with errno. */
static int
file_read(const char *path, int bytes, off_t least, char **text, size_t *length)
{
    int fd =
        bytes < PATH_MAX ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    int rc, error;

    if (bytes >= PATH_MAX) {
        errno = ENAMETOOLONG;
    }
    if (fd < 0) {
        return -1;
    }
    rc = bytes_read(fd, least, text, length);
    error = errno;
    (void)close(fd);
    if (rc != 0) {
        free(*text);
        *text = NULL;
    }
    errno = error;
    return rc;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int baseline_read(struct baseline *baseline,
                  const char *path,
                  struct ck_err *err)
{
    struct baseline found = {.text = NULL};
    char file[PATH_MAX];
    bool is_run = is_folder(path);
    int n = snprintf(file, sizeof(file), "%s%s", path,
                     is_run ? "/report.json" : "");

    if (file_read(file, n, 1, &found.text, &found.length) != 0) {
        return ck_err_set(
            err, "--baseline: cannot read %s: %s%s", file, strerror(errno),
            is_run && errno == ENOENT ? " (merge that run first)" : "");
    }
    if (!is_report(&found)) {
        free(found.text);
        return ck_err_set(err, "--baseline: %s is no report.json of ck", file);
    }
    if (is_run) {
        baselinepage_read(&found.page, path);
    }
    *baseline = found;
    return 0;
}

int baseline_stacks_read(struct baseline_stacks *stacks,
                         const char *path,
                         struct ck_err *err)
{
    struct baseline_stacks found = {.text = NULL};
    bool is_run = is_folder(path);
    const char *slash = strrchr(path, '/');
    size_t dir = slash == NULL ? 0 : (size_t)(slash + 1 - path);
    int n = is_run ? snprintf(found.file, PATH_MAX, "%s/stacks.folded", path)
                   : snprintf(found.file, PATH_MAX, "%.*sstacks.folded",
                              (int)dir, path);

    /* A run without samples has an empty one. */
    if (file_read(found.file, n, 0, &found.text, &found.length) != 0) {
        return ck_err_set(err,
                          "cannot read %s: %s (ckmerge --output folded writes "
                          "it)",
                          found.file, strerror(errno));
    }
    *stacks = found;
    return 0;
}

void baseline_stacks_fini(struct baseline_stacks *stacks)
{
    free(stacks->text);
    stacks->text = NULL;
}

void baseline_fini(struct baseline *baseline)
{
    free(baseline->text);
    baseline->text = NULL;
    baselinepage_fini(&baseline->page);
}
