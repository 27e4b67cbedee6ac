/* jsonmarks_x86.c - where the tokens of JSON are, on x86-64
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/json/jsonmarks.h"

#include "schema/batch/wide.h"

bool json_marks_can(void)
{
    return wide_level() != WIDE_NONE;
}

void json_marks_find(struct json_marks *marks, uint8_t *text, size_t bytes)
{
    size_t blocks;
    uint16_t *to = marks->marks;

    bytes = bytes < JSON_MARKS_BYTES ? bytes : JSON_MARKS_BYTES;
    blocks = (bytes + 63) / 64;
    marks->text = text;
    marks->next = to;
    to = wide_level() == WIDE_AVX512 ? json_marks_avx512(marks, to, blocks)
                                     : json_marks_avx2(marks, to, blocks);
    while (to > marks->marks && to[-1] >= bytes) {
        to--;
    }
    marks->end = to;
}
