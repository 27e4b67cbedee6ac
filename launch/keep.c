/* keep.c - how much of a run is kept: the value of --keep
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/keep.h"

#include <ctype.h>
#include <string.h>

#include "launch/cli.h"

int ck_keep_parse(const char *text, struct ck_keep *keep, struct ck_err *err)
{
    size_t length = strlen(text);
    struct ck_keep found = {0};
    int64_t value;

    if (length > 0 && text[length - 1] == 'm' &&
        ck_cli_bytes(text, &value) == 0) {
        return ck_err_set(err,
                          "option --keep: '%s' may be minutes or megabytes; "
                          "write %.*smin or %.*sM",
                          text, (int)length - 1, text, (int)length - 1, text);
    }
    if (length == 0 || !isalpha((unsigned char)text[length - 1])) {
        return ck_err_set(err,
                          "option --keep: '%s' has no unit; write a size like "
                          "8M or 2G, or a time like 60s or 5min",
                          text);
    }
    if (ck_cli_bytes(text, &value) == 0) {
        found.bytes = (uint64_t)value;
    } else if (ck_cli_duration(text, &value) == 0) {
        found.time = value;
    } else {
        return ck_err_set(err,
                          "option --keep: '%s' is neither a size like 8M or 2G "
                          "nor a time like 60s or 5min",
                          text);
    }
    if (found.bytes > 0 ? found.bytes < CK_KEEP_BYTES_MIN
                        : found.time < CK_KEEP_NS_MIN) {
        return ck_err_set(err, "option --keep: '%s' is less than 1M or 1s",
                          text);
    }
    *keep = found;
    return 0;
}
