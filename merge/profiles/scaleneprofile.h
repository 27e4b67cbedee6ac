/* scaleneprofile.h - a profile of scalene: its files, lines and CPU samples
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * JSON, or the HTML page that scalene makes of it (`const profile = {...}`).
 * What is kept is small: a number a line and a time a sample; the rest is
 * read again where it is copied.
 */
#ifndef CK_MERGE_PROFILES_SCALENEPROFILE_H
#define CK_MERGE_PROFILES_SCALENEPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "schema/err.h"

/* One sample of the CPU. */
struct scalene_sample {
    int64_t time;   /* ns since 1970 */
    uint32_t line;  /* that it is of */
    bool is_inside; /* the device was busy then */
};

struct scalene_line {
    uint32_t number;
    uint32_t samples;
    uint32_t inside; /* of them; see scaleneprofile_count() */
};

struct scalene_file {
    char *name;
    char *real;   /* its path as far as it is known */
    size_t first; /* line */
    size_t count;
};

struct scaleneprofile {
    struct scalene_file *files;
    size_t files_count, files_room;
    struct scalene_line *lines; /* of all files, in the order of the text */
    size_t lines_count, lines_room;
    struct scalene_sample *samples; /* by time */
    size_t samples_count, samples_room;
    char entry[4096]; /* entrypoint_dir */
    bool has_times;   /* start_time_absolute and start_time_perf */
    int64_t start;    /* ns since 1970 */
    int64_t perf;     /* at that time, on the samples' clock */
};

/* `name` is what messages call the file. 0, or -1 with err. */
int scaleneprofile_read(struct scaleneprofile *profile,
                        const char *path,
                        const char *name,
                        struct ck_err *err);
void scaleneprofile_fini(struct scaleneprofile *profile);
/* Add up the samples that are inside by line. */
void scaleneprofile_count(struct scaleneprofile *profile);
/* The path of a file as far as it is known: links resolved, a relative one
 * seen from `dir`. The caller's to free. */
char *scaleneprofile_real(const char *dir, const char *name);

/* The JSON text of such a file. */
struct scalenetext;
/* NULL with err. */
struct scalenetext *scalenetext_open(const char *path, struct ck_err *err);
void scalenetext_close(struct scalenetext *text);
/* Borrowed. */
struct json *scalenetext_json(struct scalenetext *text);

#endif
