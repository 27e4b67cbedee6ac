/* pythonlines.h - the line table of a CPython code object, entry by entry
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CPython 3.11 and later, Objects/locations.md: an entry is a byte 1 cccc nnn
 * (a code, and one less than the number of instructions), then numbers in
 * parts of six bits, lowest first; the first number may be what is added to
 * the line. The bytes may be anything: nothing outside them is read.
 */
#ifndef CK_SCHEMA_PYTHONLINES_H
#define CK_SCHEMA_PYTHONLINES_H

#include <stdint.h>

/* The code of instructions without a line. */
#define CK_PYTHON_NO_LINE 15

struct ck_python_lines {
    const uint8_t *at; /* borrowed: the rest of the table */
    const uint8_t *end;
    int64_t line;    /* of the last entry; at first the function's */
    uint64_t passed; /* instructions up to the last entry's end */
};

static inline int32_t ck_python_lines_number(struct ck_python_lines *lines)
{
    uint32_t value = 0;

    for (unsigned shift = 0; lines->at < lines->end && shift < 32; shift += 6) {
        uint8_t part = *lines->at++;

        value |= (uint32_t)(part & 63) << shift;
        if ((part & 64) == 0) {
            break;
        }
    }
    return (value & 1) != 0 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Read one entry: its code, or -1 at the end of the table. */
static inline int ck_python_lines_next(struct ck_python_lines *lines)
{
    if (lines->at >= lines->end) {
        return -1;
    }

    uint8_t head = *lines->at++;
    int code = head >> 3 & 15;

    lines->passed += (head & 7) + 1u;
    if (code >= 10 && code <= 12) {
        lines->line += code - 10;
    } else if (code == 13 || code == 14) {
        lines->line += ck_python_lines_number(lines);
    }
    while (lines->at < lines->end && (*lines->at & 128) == 0) {
        lines->at++;
    }
    return code;
}

#endif
