/* pythonplace.h - function, file and line of an instruction of a code object
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PYTHON_PYTHONPLACE_H
#define CK_AGENT_PYTHON_PYTHONPLACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/python/pythonfind.h"

#define PYTHONPLACE_TEXT_MAX 1536

struct pythonplace {
    char text[PYTHONPLACE_TEXT_MAX]; /* function, NUL, file; UTF-8 */
    size_t length;
    uint32_t line; /* 0 = not known */
};

/* `object`: the bytes of the code object, as read; `n`: the instruction. 0, or
 * -1: it has no file, or its memory is not that of a code object (any more). */
int pythonplace_read(pid_t pid,
                     const struct pythonprogram *program,
                     const uint8_t *object,
                     uint64_t n,
                     struct pythonplace *place);

/* The line of the n-th instruction by a location table. */
uint32_t pythonplace_line(const uint8_t *table,
                          size_t length,
                          uint32_t first_line,
                          uint64_t n);

#endif
