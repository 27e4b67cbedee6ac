/* format.c - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/format.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    const char *own;
} formats[] = {
#define ROW(NAME, name, own) [CK_FORMAT_##NAME] = {name, own},
    CK_FORMATS(ROW, ROW)};

const char *ck_format_own(enum ck_format format)
{
    return formats[format].own;
}

/* A directory has no place of its own: it is always named. */
static int
named_check(const char *text, int format, const char *file, struct ck_err *err)
{
    if (format == CK_FORMAT_CSV && (file == NULL || strcmp(file, "-") == 0)) {
        return ck_err_set(err, "--output %.200s: name a directory: csv=DIR",
                          text);
    }
    return format;
}

int ck_format_parse(const char *text, const char **file, struct ck_err *err)
{
    size_t length = strcspn(text, "=");
    const char *behind = text[length] == '=' ? text + length + 1 : NULL;

    for (size_t i = 0; i < CK_FORMAT_COUNT; i++) {
        const char *name = formats[i].name;

        if (strlen(name) == length && memcmp(name, text, length) == 0 &&
            (behind == NULL || behind[0] != '\0')) {
            *file = behind;
            return named_check(text, (int)i, behind, err);
        }
    }
    return ck_err_set(
        err, "--output %.200s: " CK_FORMAT_LIST ", maybe with =FILE", text);
}

int ck_formats_check(const char *const *items,
                     int count,
                     const char *taken,
                     struct ck_err *err)
{
    char first[256] = "";

    if (taken != NULL) {
        (void)snprintf(first, sizeof(first), "%.200s", taken);
    }
    for (int i = 0; i < count; i++) {
        const char *file;
        int format = ck_format_parse(items[i], &file, err);

        if (format < 0) {
            return -1;
        }
        if (file == NULL ? formats[format].own != NULL
                         : strcmp(file, "-") != 0) {
            continue;
        }
        if (first[0] != '\0') {
            return ck_err_set(err,
                              "%s and --output %.200s both go to stdout: name "
                              "a file for one of them (FORMAT=FILE)",
                              first, items[i]);
        }
        (void)snprintf(first, sizeof(first), "--output %.200s", items[i]);
    }
    return 0;
}
