/* frameindex.c - any bytes as an index of frames, with the crc that they need
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "schema/store/frameindex.h"

/* Its rows are frames of its streams, one behind the other. */
static void walk(const struct ck_frameindex_file *file)
{
    const struct ck_frameindex_stream *streams = ck_frameindex_streams(file);
    const struct ck_frameindex_row *rows = ck_frameindex_rows(file);
    uint64_t sum = 0;
    uint64_t next = 0;

    for (uint32_t i = 0; i < file->rows; i++) {
        if (rows[i].offset < next || rows[i].offset >= file->end ||
            rows[i].stream >= file->streams) {
            abort();
        }
        sum += streams[rows[i].stream].skipped;
        next = rows[i].offset + sizeof(struct ck_frame_header);
    }
    if (sum > (uint64_t)file->rows * UINT32_MAX) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 8);
    struct ck_frameindex_head head;
    const struct ck_frameindex_file *file;

    memcpy(copy, data, size);
    (void)ck_frameindex_check(copy, size, NULL);
    if (size >= sizeof(head) + sizeof(*file)) {
        memcpy(&head, copy, sizeof(head));
        ck_frameindex_seal(copy, size, head.files % 16);
        if (ck_frameindex_check(copy, size, NULL) == 0 &&
            (file = ck_frameindex_find(copy, copy + sizeof(head))) != NULL) {
            walk(file);
        }
    }
    free(copy);
    return 0;
}
