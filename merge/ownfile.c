/* ownfile.c - files that ckmerge has written, known by what is in them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/ownfile.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "merge/json/jsonread.h"
#include "merge/model/memory.h"
#include "merge/profiles/gzip.h"

/* The longest line of folded stacks that is looked at is longer than any. */
#define HEAD_BYTES ((size_t)1 << 20)

/* The first bytes, inflated; a NUL follows. */
struct head {
    char *text;
    size_t length;
    size_t line; /* of the first line, without its end */
};

bool ownfile_is_merged(const char *path)
{
    struct gzip *gzip = gzip_open(path, NULL);
    struct json *json = gzip == NULL ? NULL : json_create(gzip_read, gzip);
    bool is_found = false;

    if (json != NULL && json_next(json)->type == JSON_OBJECT) {
        while (!is_found && json_next(json)->type == JSON_NAME) {
            is_found = json_is(json_last(json), "ck");
            (void)json_skip(json);
        }
    }
    json_destroy(json);
    gzip_close(gzip);
    return is_found;
}

/* False: it cannot be read. */
static bool head_read(struct head *head, const char *path)
{
    struct gzip *gzip = gzip_open(path, NULL);
    int64_t bytes = gzip == NULL ? -1 : 1;
    const char *end;

    head->text = xmalloc(HEAD_BYTES + 1);
    head->length = 0;
    while (bytes > 0 && head->length < HEAD_BYTES) {
        bytes = gzip_read(gzip, head->text + head->length,
                          HEAD_BYTES - head->length);
        head->length += bytes > 0 ? (size_t)bytes : 0;
    }
    gzip_close(gzip);
    head->text[head->length] = '\0';
    end = memchr(head->text, '\n', head->length);
    head->line = end == NULL ? head->length : (size_t)(end - head->text);
    return bytes >= 0;
}

/* Beginnings, and what is near one. */
static const struct {
    const char *begin;
    const char *text; /* "" = nothing more */
    size_t within;
} marks[] = {
    {"ck  ", "", 0}, /* text, where */
    {"{", "\"ck.report\"", 64},
    {"<!DOCTYPE html>", "<meta name=\"generator\" content=\"ck ", 2048},
    {"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", "", 0},
    {"\n", "ck.waited_for_rank", 4096}, /* Perfetto's first packet */
    {"{\"$schema\":\"https://www.speedscope.app/", ",\"exporter\":\"ck ",
     HEAD_BYTES},
    {"{\"meta\":{\"categories\":", "\"importedFrom\":\"ck ", HEAD_BYTES},
    {"<svg ", "<style>text{font:12px sans-serif;fill:#1b1f23}.q{fill:#5a6068}",
     HEAD_BYTES},
    {"# TYPE ck_", "", 0},
    {"SQLite format 3", "ck01", 72}, /* its application's number */
};

static bool has_mark(const struct head *head)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t within =
            head->length < marks[i].within ? head->length : marks[i].within;

        if (strncmp(head->text, marks[i].begin, strlen(marks[i].begin)) == 0 &&
            (marks[i].text[0] == '\0' ||
             memmem(head->text, within, marks[i].text, strlen(marks[i].text)) !=
                 NULL)) {
            return true;
        }
    }
    return false;
}

/* "rank 3" or "no rank", and what is behind; NULL = it is neither. */
static const char *behind_rank(const char *line)
{
    size_t digits;

    if (strncmp(line, "no rank", 7) == 0) {
        return line + 7;
    }
    digits =
        strncmp(line, "rank ", 5) == 0 ? strspn(line + 5, "0123456789-") : 0;
    return digits == 0 ? NULL : line + 5 + digits;
}

/* "rank 3;thread main 12;main;f 123" */
static bool is_folded(const struct head *head)
{
    const char *at = behind_rank(head->text);
    size_t digits = 0;

    while (digits < head->line &&
           isdigit((unsigned char)head->text[head->line - 1 - digits])) {
        digits++;
    }
    return at != NULL && *at == ';' && digits > 0 && digits < head->line &&
           head->text[head->line - 1 - digits] == ' ';
}

/* "rank3 11/12 [000] 1700000000.000000:          1 cpu-clock:" */
static bool is_flamescope(const struct head *head)
{
    static const char event[] = ":          1 cpu-clock:";
    size_t length = sizeof(event) - 1;

    return (strncmp(head->text, "rank", 4) == 0 ||
            strncmp(head->text, "norank", 6) == 0) &&
           head->line > length &&
           memcmp(head->text + head->line - length, event, length) == 0;
}

static bool is_table(const struct head *head, const char *columns)
{
    size_t length = strlen(columns);

    for (size_t i = 0; i < length; i++) {
        if (head->text[i] != (columns[i] == ' ' ? ',' : columns[i])) {
            return false;
        }
    }
    return strncmp(head->text + length, "\r\n", 2) == 0;
}

bool ownfile_is(const char *path, const char *columns)
{
    struct head head;
    bool is_own = head_read(&head, path);

    if (is_own && head.length > 0) {
        is_own = columns != NULL
                     ? is_table(&head, columns)
                     : has_mark(&head) || is_folded(&head) ||
                           is_flamescope(&head) ||
                           (head.text[0] == '{' && ownfile_is_merged(path));
    }
    free(head.text);
    return is_own;
}
