/* format.c - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/format.h"

#include <stddef.h>
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
