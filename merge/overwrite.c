/* overwrite.c - what no output of ckmerge may replace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names are not enough: "k.json" and "./k.json", a link and what it points to
 * are one file. Device and inode are compared instead.
 */
#include "merge/overwrite.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/format.h"
#include "merge/output/csv/csv.h"
#include "merge/ownfile.h"
#include "schema/frame.h"
#include "schema/store/run.h"

static bool is_same(const struct stat *file, const char *path)
{
    struct stat other;

    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &other)
                                   : stat(path, &other)) == 0 &&
           other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

/* The input that the file is, NULL = none. */
static const char *input_of(const struct options *options,
                            const struct stat *file)
{
    for (size_t i = 0; i < options->inputs_count; i++) {
        if (is_same(file, options->inputs[i])) {
            return options->inputs[i];
        }
    }
    return options->scalene != NULL && is_same(file, options->scalene)
               ? options->scalene
               : NULL;
}

/* A segment, or the manifest of the run. */
static bool is_recorded(const struct options *options,
                        const char *path,
                        const struct stat *file)
{
    char manifest[PATH_MAX];
    uint32_t magic = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_segment = fd >= 0 &&
                      read(fd, &magic, sizeof(magic)) == sizeof(magic) &&
                      magic == CK_FRAME_MAGIC;

    if (fd >= 0) {
        (void)close(fd);
    }
    return is_segment ||
           (!options->is_kernel_only &&
            snprintf(manifest, sizeof(manifest), "%s/%s", options->run,
                     CK_RUN_MANIFEST) < (int)sizeof(manifest) &&
            is_same(file, manifest));
}

/* Any output. 0, or -1 with err. */
static int
any_check(const struct options *options, const char *path, struct ck_err *err)
{
    struct stat file;
    const char *input;

    if (path == NULL || stat(path, &file) != 0 || !S_ISREG(file.st_mode)) {
        return 0;
    }
    input = input_of(options, &file);
    if (input != NULL && strcmp(input, path) == 0) {
        return ck_err_set(
            err, "%s is an input: name another file for the output", path);
    }
    if (input != NULL) {
        return ck_err_set(err,
                          "%s is the input %s by another name: name another "
                          "file for the output",
                          path, input);
    }
    return is_recorded(options, path, &file)
               ? ck_err_set(err,
                            "%s is a recording of ck, which no output "
                            "replaces: name another file",
                            path)
               : 0;
}

/* A file that only ck's own outputs may be in the place of. 0, or -1 with err.
 */
static int own_check(const struct options *options,
                     const char *path,
                     const char *columns,
                     struct ck_err *err)
{
    struct stat file;

    if (options->is_forced || stat(path, &file) != 0 ||
        !S_ISREG(file.st_mode) || ownfile_is(path, columns)) {
        return 0;
    }
    return ck_err_set(err,
                      "%s is there and was not written by ckmerge: name "
                      "another file for the output, or replace it with --force",
                      path);
}

/* The files of a directory of tables. 0, or -1 with err. */
static int
tables_check(const struct options *options, const char *dir, struct ck_err *err)
{
    char path[PATH_MAX];
    struct csv_table table;

    for (size_t i = 0; (table = csv_table(i)).name != NULL; i++) {
        if (snprintf(path, sizeof(path), "%s/%s.csv", dir, table.name) <
                (int)sizeof(path) &&
            (any_check(options, path, err) != 0 ||
             own_check(options, path, table.columns, err) != 0)) {
            return -1;
        }
    }
    return 0;
}

/* The output of a kernel-only merge. 0, or -1 with err. */
static int merged_check(const struct options *options, struct ck_err *err)
{
    const char *path = options->run;
    struct stat file;

    if (stat(path, &file) != 0) {
        return 0;
    }
    if (S_ISDIR(file.st_mode)) {
        return ck_err_set(err,
                          "%s is a directory: the last argument is the output; "
                          "name a file",
                          path);
    }
    if (options->is_forced || !S_ISREG(file.st_mode) || file.st_size == 0 ||
        ownfile_is_merged(path)) {
        return 0;
    }
    return ck_err_set(err,
                      "%s is there and was not written by ckmerge: the last "
                      "argument is the output; name another, or replace it "
                      "with --force",
                      path);
}

/* The page beside the output of a kernel-only merge. 0, or -1 with err. */
static int page_check(const struct options *options, struct ck_err *err)
{
    char path[PATH_MAX];
    struct stat file;

    if (!options->has_page || strcmp(options->run, "-") == 0) {
        return 0;
    }
    if (options_page(options, path, err) != 0 ||
        any_check(options, path, err) != 0) {
        return -1;
    }
    if (stat(path, &file) != 0 || options->is_forced ||
        (S_ISREG(file.st_mode) && ownfile_is(path, NULL))) {
        return 0;
    }
    return ck_err_set(err,
                      "%s is there and was not written by ckmerge: the HTML "
                      "page goes there; replace it with --force, or write no "
                      "page (--no-page)",
                      path);
}

/* An output that was given a file. 0, or -1 with err. */
static int
given_check(const struct options *options, const char *item, struct ck_err *err)
{
    const char *file = NULL;
    int format = ck_format_parse(item, &file, err);

    if (format < 0) {
        return -1;
    }
    if (file == NULL || strcmp(file, "-") == 0) {
        return 0;
    }
    if (format == CK_FORMAT_CSV) {
        return tables_check(options, file, err);
    }
    return any_check(options, file, err) != 0
               ? -1
               : own_check(options, file, NULL, err);
}

int overwrite_check(const struct options *options,
                    const char *const *paths,
                    size_t count,
                    struct ck_err *err)
{
    for (int i = 0; i < options->outputs.count; i++) {
        if (given_check(options, options->outputs.items[i], err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (any_check(options, paths[i], err) != 0) {
            return -1;
        }
    }
    if (!options->is_kernel_only) {
        return 0;
    }
    return any_check(options, options->run, err) != 0 ||
                   merged_check(options, err) != 0
               ? -1
               : page_check(options, err);
}
