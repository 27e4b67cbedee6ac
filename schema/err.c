/* err.c - the text of an error
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int ck_err_set(struct ck_err *err, const char *format, ...)
{
    int saved = errno;
    va_list args;

    if (err != NULL) {
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof(err->text), format, args);
        va_end(args);
    }
    errno = saved;
    return -1;
}
