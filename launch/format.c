/* format.c - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define ROW(NAME, name) [CK_FORMAT_##NAME] = name,
    CK_FORMATS(ROW, ROW)};

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

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0 &&
            (behind == NULL || behind[0] != '\0')) {
            *file = behind;
            return named_check(text, (int)i, behind, err);
        }
    }
    return ck_err_set(
        err, "--output %.200s: " CK_FORMAT_LIST ", maybe with =FILE", text);
}

/* Does it go to stdout where no file is named? */
static bool is_printed(int format)
{
    switch (format) {
    case CK_FORMAT_TEXT:
    case CK_FORMAT_JSON:
    case CK_FORMAT_SVG_LEDGER:
    case CK_FORMAT_SVG_TIMELINE:
    case CK_FORMAT_SVG_STEPS:
    case CK_FORMAT_SVG_FLAME:
    case CK_FORMAT_OPENMETRICS:
    case CK_FORMAT_WHERE:
        return true;
    default:
        return false;
    }
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
        if (file == NULL ? !is_printed(format) : strcmp(file, "-") != 0) {
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
