/* piped.c - an input that can be read only once, kept in a file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/piped.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/memory.h"

#define BLOCK ((size_t)1 << 16)

struct piped {
    FILE *file;
    char path[32];
};

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool piped_is(const char *path)
{
    struct stat status;

    return is_stdin(path) ||
           (stat(path, &status) == 0 && S_ISFIFO(status.st_mode));
}

const char *piped_name(const char *path)
{
    return is_stdin(path) ? "stdin" : path;
}

/* A file without a name in TMPDIR, or NULL with errno. */
static FILE *nameless_open(const char *where)
{
    char path[PATH_MAX];
    FILE *file;
    int fd;

    if (snprintf(path, sizeof(path), "%s/ckmerge-XXXXXX", where) >=
        (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    fd = mkstemp(path);
    if (fd < 0) {
        return NULL;
    }
    (void)unlink(path);
    file = fdopen(fd, "w+");
    if (file == NULL) {
        (void)close(fd);
    }
    return file;
}

/* 0, or -1 with errno. */
static int all_copy(FILE *from, FILE *to)
{
    char *bytes = xmalloc(BLOCK);
    size_t got;
    int rc = 0;

    while (rc == 0 && (got = fread(bytes, 1, BLOCK, from)) > 0) {
        rc = fwrite(bytes, 1, got, to) == got ? 0 : -1;
    }
    free(bytes);
    return rc != 0 || ferror(from) || fflush(to) != 0 ? -1 : 0;
}

struct piped *piped_keep(const char *path, struct ck_err *err)
{
    const char *given = getenv("TMPDIR");
    const char *where = given == NULL || given[0] == '\0' ? "/tmp" : given;
    struct piped *piped = xcalloc(1, sizeof(*piped));
    FILE *from = is_stdin(path) ? stdin : fopen(path, "re");

    if (from == NULL) {
        (void)ck_err_set(err, "cannot read %s: %s", path, strerror(errno));
        free(piped);
        return NULL;
    }
    piped->file = nameless_open(where);
    if (piped->file == NULL || all_copy(from, piped->file) != 0) {
        (void)ck_err_set(err, "cannot copy %s to a file in %s: %s",
                         piped_name(path), where, strerror(errno));
        piped_destroy(piped);
        piped = NULL;
    } else {
        (void)snprintf(piped->path, sizeof(piped->path), "/proc/self/fd/%d",
                       fileno(piped->file));
    }
    if (from != stdin) {
        (void)fclose(from);
    }
    return piped;
}

void piped_destroy(struct piped *piped)
{
    if (piped != NULL && piped->file != NULL) {
        (void)fclose(piped->file);
    }
    free(piped);
}

const char *piped_file(const struct piped *piped)
{
    return piped->path;
}
