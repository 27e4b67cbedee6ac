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

/* All bytes of an open file. 0, or -1 with errno. */
static int bytes_read(int fd, char **text, size_t *length)
{
    struct stat file;
    ssize_t n = 1;

    if (fstat(fd, &file) != 0) {
        return -1;
    }
    if (!S_ISREG(file.st_mode) || file.st_size <= 0 ||
        (size_t)file.st_size > BASELINE_BYTES) {
        errno = S_ISREG(file.st_mode) && file.st_size > 0 ? EFBIG : EINVAL;
        return -1;
    }
    *text = xmalloc((size_t)file.st_size);
    while (n > 0 && *length < (size_t)file.st_size) {
        n = read(fd, *text + *length, (size_t)file.st_size - *length);
        *length += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : 0;
}

int baseline_read(struct baseline *baseline,
                  const char *path,
                  struct ck_err *err)
{
    struct baseline found = {.text = NULL};
    struct stat status;
    char file[PATH_MAX];
    bool is_run = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    int n = snprintf(file, sizeof(file), "%s%s", path,
                     is_run ? "/report.json" : "");
    int fd = n < PATH_MAX ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    int rc = fd < 0 ? -1 : bytes_read(fd, &found.text, &found.length);

    if (rc != 0) {
        (void)ck_err_set(
            err, "--baseline: cannot read %s: %s%s", file, strerror(errno),
            is_run && errno == ENOENT ? " (merge that run first)" : "");
    } else if (!is_report(&found)) {
        rc = ck_err_set(err, "--baseline: %s is no report.json of ck", file);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (rc != 0) {
        free(found.text);
        return -1;
    }
    if (is_run) {
        baselinepage_read(&found.page, path);
    }
    *baseline = found;
    return 0;
}

char *baseline_stacks(const char *path,
                      char file[PATH_MAX],
                      size_t *length,
                      struct ck_err *err)
{
    struct stat status;
    bool is_run = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const char *slash = strrchr(path, '/');
    size_t dir = slash == NULL ? 0 : (size_t)(slash + 1 - path);
    int n = is_run
                ? snprintf(file, PATH_MAX, "%s/stacks.folded", path)
                : snprintf(file, PATH_MAX, "%.*sstacks.folded", (int)dir, path);
    int fd = n < PATH_MAX ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    char *text = NULL;

    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
    }
    *length = 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size == 0) {
        text = xcalloc(1, 1); /* a run without samples */
    } else if (fd < 0 || bytes_read(fd, &text, length) != 0) {
        (void)ck_err_set(err,
                         "folded-diff: cannot read %s: %s (ckmerge --output "
                         "folded writes it)",
                         file, strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return text;
}

void baseline_fini(struct baseline *baseline)
{
    free(baseline->text);
    baseline->text = NULL;
    baselinepage_fini(&baseline->page);
}
