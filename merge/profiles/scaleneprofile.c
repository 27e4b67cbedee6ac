/* scaleneprofile.c - a profile of scalene: its files, lines and CPU samples
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/scaleneprofile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/profiles/vocabulary.h"
#include "schema/order.h"

/* Seconds with so many decimals are whole nanoseconds. */
#define SECONDS 9

void scaleneprofile_fini(struct scaleneprofile *profile)
{
    for (size_t i = 0; i < profile->files_count; i++) {
        free(profile->files[i].name);
        free(profile->files[i].real);
    }
    free(profile->files);
    free(profile->lines);
    free(profile->samples);
    memset(profile, 0, sizeof(*profile));
}

/* "/a/./b//c/../d" as "/a/b/d", in place. */
static void path_tidy(char *path)
{
    char *to = path;
    char *part = path;

    while (*part != '\0') {
        size_t length;

        part += strspn(part, "/");
        length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            while (to > path && *--to != '/') {
            }
        } else if (length > 0 && !(length == 1 && part[0] == '.')) {
            *to++ = '/';
            memmove(to, part, length);
            to += length;
        }
        part += length;
    }
    *to = '\0';
}

char *scaleneprofile_real(const char *dir, const char *name)
{
    size_t room = strlen(dir) + strlen(name) + 3;
    char *path = xmalloc(room);
    char *real;

    if (name[0] == '/' || dir[0] == '\0') {
        (void)snprintf(path, room, "%s", name);
    } else {
        (void)snprintf(path, room, "%s/%s", dir, name);
    }
    if (path[0] != '/') {
        return path; /* from where is not known */
    }
    real = realpath(path, NULL);
    if (real != NULL) {
        free(path);
        return real;
    }
    path_tidy(path);
    return path;
}

static void samples_read(struct scaleneprofile *profile, struct json *json)
{
    uint32_t line = (uint32_t)profile->lines_count;
    const struct json_token *token;
    int64_t time;

    if (json_next(json)->type != JSON_ARRAY) {
        (void)json_skip(json);
        return;
    }
    while ((token = json_element(json)) != NULL) {
        if (!json_decimal(token, SECONDS, &time)) {
            (void)json_skip(json);
            continue;
        }
        array_grow(&profile->samples, &profile->samples_room,
                   profile->samples_count, sizeof(*profile->samples));
        profile->samples[profile->samples_count++] =
            (struct scalene_sample){time, line, false};
    }
}

/* One line of a file. */
static void line_read(struct scaleneprofile *profile, struct json *json)
{
    size_t before = profile->samples_count;
    const struct json_token *token;
    int64_t number = 0;

    while ((token = json_next(json))->type == JSON_NAME) {
        if (json_is(token, "lineno")) {
            (void)json_decimal(json_next(json), 0, &number);
            (void)json_skip(json);
        } else if (json_is(token, "cpu_samples_list")) {
            samples_read(profile, json);
        } else {
            (void)json_skip(json);
        }
    }
    array_grow(&profile->lines, &profile->lines_room, profile->lines_count,
               sizeof(*profile->lines));
    profile->lines[profile->lines_count++] = (struct scalene_line){
        number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0,
        (uint32_t)(profile->samples_count - before), 0};
}

static void lines_read(struct scaleneprofile *profile, struct json *json)
{
    const struct json_token *token;

    if (json_next(json)->type != JSON_ARRAY) {
        (void)json_skip(json);
        return;
    }
    while ((token = json_element(json)) != NULL) {
        if (token->type != JSON_OBJECT) {
            (void)json_skip(json);
        } else {
            line_read(profile, json);
        }
    }
}

/* A name as profiles show it, so that both are equal. */
static char *name_make(const struct json_token *token)
{
    size_t room = token->length;
    char *name;

    for (size_t i = 0; i < token->length; i++) {
        room += token->text[i] == '\0' ? 2 : 0;
    }
    name = xmalloc(room + 1);
    room = vocabulary_show(name, room, token->text, token->length);
    name[room] = '\0';
    return name;
}

/* A file, whose name was the last token. */
static void file_read(struct scaleneprofile *profile, struct json *json)
{
    const struct json_token *token = json_last(json);
    struct scalene_file file = {.name = name_make(token),
                                .first = profile->lines_count};

    array_grow(&profile->files, &profile->files_room, profile->files_count,
               sizeof(file));
    profile->files[profile->files_count++] = file;
    if (json_next(json)->type != JSON_OBJECT) {
        (void)json_skip(json);
        return;
    }
    while ((token = json_next(json))->type == JSON_NAME) {
        if (json_is(token, "lines")) {
            lines_read(profile, json);
        } else {
            (void)json_skip(json);
        }
    }
    profile->files[profile->files_count - 1].count =
        profile->lines_count - file.first;
}

static void files_read(struct scaleneprofile *profile, struct json *json)
{
    if (json_next(json)->type != JSON_OBJECT) {
        (void)json_skip(json);
        return;
    }
    while (json_next(json)->type == JSON_NAME) {
        file_read(profile, json);
    }
}

/* Bits of what was there. */
enum { HAS_FILES = 1, HAS_START = 2, HAS_PERF = 4 };

/* A member of the whole, whose name was the last token. */
static void
member_read(struct scaleneprofile *profile, struct json *json, unsigned *has)
{
    const struct json_token *token = json_last(json);

    if (json_is(token, "files")) {
        *has |= HAS_FILES;
        files_read(profile, json);
        return;
    }
    if (json_is(token, "start_time_absolute")) {
        *has |= json_decimal(json_next(json), SECONDS, &profile->start)
                    ? HAS_START
                    : 0;
    } else if (json_is(token, "start_time_perf")) {
        *has |= json_decimal(json_next(json), SECONDS, &profile->perf)
                    ? HAS_PERF
                    : 0;
    } else if (json_is(token, "entrypoint_dir")) {
        token = json_next(json);
        if (token->type == JSON_STRING &&
            token->length < sizeof(profile->entry)) {
            memcpy(profile->entry, token->text, token->length);
            profile->entry[token->length] = '\0';
        }
    }
    (void)json_skip(json);
}

CK_ORDER(by_time, struct scalene_sample, CK_UP(time))

/* Times since 1970, in order; real paths. 0 or -1. */
static int profile_close(struct scaleneprofile *profile)
{
    for (size_t i = 0; i < profile->samples_count; i++) {
        /* Of a damaged profile it may not fit: then it is any time. */
        profile->samples[i].time =
            (int64_t)((uint64_t)profile->samples[i].time +
                      (uint64_t)profile->start - (uint64_t)profile->perf);
    }
    if (profile->samples_count > 0) {
        qsort(profile->samples, profile->samples_count,
              sizeof(*profile->samples), by_time);
    }
    for (size_t i = 0; i < profile->files_count; i++) {
        profile->files[i].real =
            scaleneprofile_real(profile->entry, profile->files[i].name);
        if (profile->files[i].real == NULL) {
            return -1;
        }
    }
    return 0;
}

static int profile_walk(struct scaleneprofile *profile,
                        struct json *json,
                        const char *name,
                        struct ck_err *err)
{
    unsigned has = 0;

    if (json_next(json)->type == JSON_OBJECT) {
        while (json_next(json)->type == JSON_NAME) {
            member_read(profile, json, &has);
        }
    }
    if (json_last(json)->type == JSON_ERROR) {
        return ck_err_set(err, "%s: %s", name, json_error(json));
    }
    if ((has & HAS_FILES) == 0) {
        return ck_err_set(err, "%s: no profile of scalene: it has no \"files\"",
                          name);
    }
    profile->has_times = (has & HAS_START) != 0 && (has & HAS_PERF) != 0;
    return profile_close(profile) == 0 ? 0 : ck_err_set(err, "out of memory");
}

int scaleneprofile_read(struct scaleneprofile *profile,
                        const char *path,
                        const char *name,
                        struct ck_err *err)
{
    struct scalenetext *text = scalenetext_open(path, err);
    int rc;

    if (text == NULL) {
        return -1;
    }
    rc = profile_walk(profile, scalenetext_json(text), name, err);
    scalenetext_close(text);
    if (rc != 0) {
        scaleneprofile_fini(profile);
    }
    return rc;
}

void scaleneprofile_count(struct scaleneprofile *profile)
{
    for (size_t i = 0; i < profile->samples_count; i++) {
        const struct scalene_sample *sample = &profile->samples[i];

        profile->lines[sample->line].inside += sample->is_inside;
    }
}
