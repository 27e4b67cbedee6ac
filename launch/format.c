/* format.c - the formats that ckmerge writes, as "NAME" or "NAME=FILE"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/format.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [CK_FORMAT_TEXT] = "text",
    [CK_FORMAT_JSON] = "json",
    [CK_FORMAT_HTML] = "html",
    [CK_FORMAT_CHROME] = "chrome",
    [CK_FORMAT_PERFETTO] = "perfetto",
    [CK_FORMAT_SQLITE] = "sqlite",
    [CK_FORMAT_CSV] = "csv",
    [CK_FORMAT_FOLDED] = "folded",
    [CK_FORMAT_SPEEDSCOPE] = "speedscope",
    [CK_FORMAT_SVG_LEDGER] = "svg-ledger",
    [CK_FORMAT_SVG_TIMELINE] = "svg-timeline",
    [CK_FORMAT_SVG_STEPS] = "svg-steps",
    [CK_FORMAT_SVG_FLAME] = "svg-flame",
    [CK_FORMAT_OPENMETRICS] = "openmetrics",
    [CK_FORMAT_WHERE] = "where",
};

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
