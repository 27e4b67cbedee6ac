/* batch.c - any bytes as a batch; what decodes must encode and decode to the
 * same records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "schema/batch/wire.h"

#define ROOM ((size_t)256 << 10)

static void check_round_trip(const uint8_t *rows, size_t used)
{
    static struct ck_batch_writer *writer;
    static uint8_t back[ROOM] __attribute__((aligned(8)));
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    const void *payload;
    size_t bytes;

    if (writer == NULL) {
        writer = ck_batch_writer_create();
    }
    if (ck_batch_encode(writer, &info, rows, used, &payload, &bytes, NULL) !=
            0 ||
        ck_batch_decode(payload, bytes, &info, back, used, NULL) != 0 ||
        memcmp(rows, back, used) != 0) {
        abort();
    }
}

static void columns_drop(void *state, const struct ck_batch_columns *columns)
{
    (void)state;
    (void)columns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t rows[ROOM] __attribute__((aligned(8)));
    struct ck_batch_info info;
    uint8_t *copy = malloc(size + 1); /* aligned, and its end is seen */
    size_t used;

    memcpy(copy, data, size);
    if (ck_batch_decode_classes(copy, size, ~0u, &info, rows, ROOM, &used,
                                NULL) == 0) {
        check_round_trip(rows, used);
        if (ck_batch_scan(copy, size, ~0u, &info, columns_drop, NULL, NULL) !=
            0) {
            abort();
        }
    } else {
        (void)ck_batch_scan(copy, size, ~0u, &info, columns_drop, NULL, NULL);
    }
    free(copy);
    return 0;
}
