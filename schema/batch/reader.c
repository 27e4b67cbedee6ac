/* reader.c - numbers out of the bytes of a column, the slow way or many
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/batch/reader.h"

#include "schema/batch/wide.h"

int reader_number_slow(struct reader *reader, uint64_t *number)
{
    const uint8_t *at = reader->at;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (at == reader->end || shift > 63) {
            return -1;
        }
        byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (shift == 63 && byte > 1) {
            return -1;
        }
        shift += 7;
    } while (byte & 0x80);
    if (byte == 0 && shift > 7) {
        return -1;
    }
    reader->at = at;
    *number = value;
    return 0;
}

int reader_differences(struct reader *reader,
                       uint64_t left,
                       unsigned bytes,
                       int64_t *differences,
                       unsigned count)
{
    struct reader from = *reader;

    if (wide_level() != WIDE_NONE) {
        return wide_differences(reader, left, bytes, differences, count);
    }
    for (unsigned i = 0; i < count; i++) {
        if (reader_difference(&from, left - i, bytes, &differences[i]) != 0) {
            return -1;
        }
    }
    *reader = from;
    return 0;
}
