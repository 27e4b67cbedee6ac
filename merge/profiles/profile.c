/* profile.c - inputs of a kernel-only merge: what kind each is, whose it is
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/profile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/chrometrace.h"
#include "merge/profiles/convert.h"
#include "merge/profiles/gzip.h"
#include "merge/profiles/kernelprofile.h"
#include "schema/frame.h"

#define RANK_MAX 100000000

typedef int (*read_f)(struct json *json,
                      const struct profile_source *source,
                      struct import *import,
                      struct import_facts *facts,
                      struct ck_err *err);

static int chrome_read(struct json *json,
                       const struct profile_source *source,
                       struct import *import,
                       struct import_facts *facts,
                       struct ck_err *err)
{
    struct chrometrace_way way = {source->is_again ? CHROME_DEVICE_CPU
                                                   : CHROME_DEVICE_GPU,
                                  source->gzip, source->threads};

    return chrometrace_read(json, &way, import, facts, err);
}

static int nkipy_read(struct json *json,
                      const struct profile_source *source,
                      struct import *import,
                      struct import_facts *facts,
                      struct ck_err *err)
{
    (void)source;
    return kernelprofile_read(json, import, facts, err);
}

/* Every format of a foreign profile. */
static const struct {
    const char *name;
    const char *what; /* for help and messages: PROFILE_FORMATS in all */
    const char
        *members[4]; /* any of them in the outer object, NULL = no more */
    bool is_list;    /* a list of objects, too */
    bool has_second; /* read again where no device worked */
    read_f read;
} readers[] = {
    {"chrome",
     "Chrome traces of PyTorch",
     {"traceEvents", "deviceProperties"},
     true,
     true,
     chrome_read},
    {"nkipy",
     "kernel_profile.json of nkipy",
     {"kernel_calls", "events_json"},
     false,
     false,
     nkipy_read},
};
#define READERS (sizeof(readers) / sizeof(readers[0]))

static const char *const scalene_members[] = {"files", "growth_rate"};

const char *profile_name(enum profile_kind kind)
{
    static const char *const names[PROFILE_READERS] = {
        [PROFILE_UNKNOWN] = "unknown",
        [PROFILE_RUN] = "run",
        [PROFILE_SEGMENT] = "segment",
        [PROFILE_SCALENE] = "scalene",
    };

    return kind < PROFILE_READERS ? names[kind]
                                  : readers[kind - PROFILE_READERS].name;
}

const char *profile_formats(char text[PROFILE_FORMATS])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < READERS && used < PROFILE_FORMATS; i++) {
        used += (size_t)snprintf(text + used, PROFILE_FORMATS - used, "%s%s",
                                 i > 0 ? ", " : "", readers[i].what);
    }
    return text;
}

bool profile_has_reader(enum profile_kind kind)
{
    return kind >= PROFILE_READERS;
}

unsigned profile_readers(void)
{
    return READERS;
}

int profile_reader_read(unsigned reader,
                        struct json *json,
                        const struct profile_source *source,
                        struct import *import,
                        struct import_facts *facts,
                        struct ck_err *err)
{
    return readers[reader].read(json, source, import, facts, err);
}

static bool
is_member(const struct json_token *token, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count && list[i] != NULL; i++) {
        if (json_is(token, list[i])) {
            return true;
        }
    }
    return false;
}

/* The kind that has such a member; PROFILE_UNKNOWN: none. */
static enum profile_kind member_kind(const struct json_token *token)
{
    for (size_t i = 0; i < READERS; i++) {
        if (is_member(token, readers[i].members, 4)) {
            return (enum profile_kind)(PROFILE_READERS + i);
        }
    }
    return is_member(token, scalene_members, 2) ? PROFILE_SCALENE
                                                : PROFILE_UNKNOWN;
}

/* The kind that may be a list of objects. */
static enum profile_kind list_kind(void)
{
    size_t i = 0;

    while (i < READERS && !readers[i].is_list) {
        i++;
    }
    return i < READERS ? (enum profile_kind)(PROFILE_READERS + i)
                       : PROFILE_UNKNOWN;
}

/* By the first member that one kind alone has. */
static enum profile_kind json_kind(struct json *json)
{
    const struct json_token *token = json_next(json);

    if (token->type == JSON_ARRAY) {
        return json_next(json)->type == JSON_OBJECT ? list_kind()
                                                    : PROFILE_UNKNOWN;
    }
    if (token->type != JSON_OBJECT) {
        return PROFILE_UNKNOWN;
    }
    while ((token = json_next(json))->type == JSON_NAME) {
        enum profile_kind kind = member_kind(token);

        if (kind != PROFILE_UNKNOWN) {
            return kind;
        }
        (void)json_skip(json);
    }
    return PROFILE_UNKNOWN;
}

/* Is it of a tool whose files are not read? Then err names what converts it. */
static bool
convert_say(const struct gzip *gzip, const char *path, struct ck_err *err)
{
    char bytes[CONVERT_BYTES] = "";
    size_t length = sizeof(bytes);
    const char *text;

    while (length > 0 && !gzip_peek(gzip, bytes, length)) {
        length--;
    }
    text = convert_find(path, bytes, length);
    if (text != NULL) {
        (void)ck_err_set(err, "%s: %s", path, text);
    }
    return text != NULL;
}

static enum profile_kind
file_kind(const char *file, const char *path, struct ck_err *err)
{
    struct gzip *gzip = gzip_open(file, err);
    struct json *json;
    enum profile_kind kind = PROFILE_UNKNOWN;
    char formats[PROFILE_FORMATS];
    uint32_t magic = 0;

    if (gzip == NULL) {
        return PROFILE_UNKNOWN;
    }
    if (gzip_peek(gzip, &magic, sizeof(magic)) && magic == CK_FRAME_MAGIC) {
        gzip_close(gzip);
        return PROFILE_SEGMENT;
    }
    if (convert_say(gzip, path, err)) {
        gzip_close(gzip);
        return PROFILE_UNKNOWN;
    }
    json = json_create(gzip_read, gzip);
    kind = json_kind(json);
    if (kind == PROFILE_UNKNOWN && gzip_error(gzip)[0] != '\0') {
        (void)ck_err_set(err,
                         "%s: the compressed data is damaged or cut off "
                         "before anything of use: %s",
                         path, gzip_error(gzip));
    } else if (kind == PROFILE_UNKNOWN) {
        (void)ck_err_set(
            err,
            "%s: no profile that ck knows (%s, also .gz; run directories and "
            "segments of ck)%s%s",
            path, profile_formats(formats),
            json_error(json)[0] != '\0' ? ": " : "", json_error(json));
    }
    json_destroy(json);
    gzip_close(gzip);
    return kind;
}

enum profile_kind
profile_kind_of(const char *file, const char *path, struct ck_err *err)
{
    struct stat status;

    if (stat(file, &status) != 0) {
        (void)ck_err_set(err, "cannot read %s: %s", path, strerror(errno));
        return PROFILE_UNKNOWN;
    }
    if (S_ISDIR(status.st_mode)) {
        return PROFILE_RUN;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)ck_err_set(err, "%s: neither a file nor a run directory", path);
        return PROFILE_UNKNOWN;
    }
    return file_kind(file, path, err);
}

/* A file of another tool, which err names with what converts it? */
static bool is_converted(const char *path, struct ck_err *err)
{
    struct ck_err none;
    struct gzip *gzip = gzip_open(path, &none);
    uint32_t magic = 0;
    bool is_known;

    if (gzip == NULL) {
        return false;
    }
    is_known =
        !(gzip_peek(gzip, &magic, sizeof(magic)) && magic == CK_FRAME_MAGIC) &&
        convert_say(gzip, path, err);
    gzip_close(gzip);
    return is_known;
}

bool profile_is_foreign(const char *path, struct ck_err *err)
{
    struct stat status;
    struct ck_err none;
    enum profile_kind kind;

    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    if (is_converted(path, err)) {
        return true;
    }
    kind = profile_kind_of(path, path, &none);
    if (kind == PROFILE_SCALENE) {
        (void)ck_err_set(err,
                         "%s is a profile of scalene, not a run: write ckmerge "
                         "--scalene %s IN... OUT",
                         path, path);
    } else if (profile_has_reader(kind)) {
        (void)ck_err_set(err,
                         "%s is a profile (%s), not a run: write ckmerge "
                         "--kernel-only %s OUT",
                         path, profile_name(kind), path);
    } else {
        return false;
    }
    return true;
}

/* A rank at `at`: "rank" or "r", maybe a separator, digits. -1 = none. */
static int32_t rank_at(const char *name, const char *at)
{
    bool is_word = at == name || !isalnum((unsigned char)at[-1]);
    size_t length;
    char *end;
    long rank;

    if (strncasecmp(at, "rank", 4) == 0) {
        length = 4;
    } else if (is_word && (*at == 'r' || *at == 'R')) {
        length = 1;
    } else {
        return -1;
    }
    at += length;
    if (length == 4 && (*at == '_' || *at == '-' || *at == '=')) {
        at++;
    }
    if (!isdigit((unsigned char)*at)) {
        return -1;
    }
    errno = 0;
    rank = strtol(at, &end, 10);
    return errno != 0 || rank > RANK_MAX || isalpha((unsigned char)*end)
               ? -1
               : (int32_t)rank;
}

int32_t profile_name_rank(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    int32_t found = -1;

    for (const char *at = name; *at != '\0'; at++) {
        int32_t rank = rank_at(name, at);

        if (rank >= 0 && found >= 0 && rank != found) {
            return -1;
        }
        found = rank >= 0 ? rank : found;
    }
    return found;
}

/* Read it, once or again. 0 or -1. */
static int read_once(struct profile *profile,
                     const char *dir,
                     bool is_again,
                     struct ck_err *err)
{
    struct gzip *gzip = gzip_open(profile->file, err);
    const struct profile_source source = {gzip, profile->threads, is_again};
    struct json *json = NULL;
    int rc = -1;

    memset(&profile->facts, 0, sizeof(profile->facts));
    profile->facts.rank = -1;
    if (gzip == NULL) {
        return -1;
    }
    json = json_create(gzip_read, gzip);
    profile->import = import_create(dir, profile->path, err);
    if (json == NULL) {
        (void)ck_err_set(err, "out of memory");
    } else if (profile->import != NULL) {
        rc = profile_reader_read(profile->kind - PROFILE_READERS, json, &source,
                                 profile->import, &profile->facts, err);
    }
    if (gzip_error(gzip)[0] != '\0' && profile->import != NULL) {
        import_cut(profile->import, json_error_offset(json),
                   "the compressed data is damaged or cut off; what comes "
                   "before was read");
    }
    json_destroy(json);
    gzip_close(gzip);
    return rc;
}

int profile_read(struct profile *profile, const char *dir, struct ck_err *err)
{
    int rc = read_once(profile, dir, false, err);

    if (rc == 0 && readers[profile->kind - PROFILE_READERS].has_second &&
        profile->facts.operations == 0) {
        import_discard(profile->import);
        import_destroy(profile->import);
        rc = read_once(profile, dir, true, err);
    }
    if (rc == 0) {
        rc = import_park(profile->import, err);
    }
    return rc;
}

void profile_fini(struct profile *profile)
{
    import_destroy(profile->import);
    profile->import = NULL;
}
