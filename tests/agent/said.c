/* said.c - records of a part of the collector, read back from its frames
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/agent/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/batch/wire.h"
#include "schema/frame.h"

#define OUTBOX_BYTES ((size_t)8 << 20)
#define ROWS_BYTES ((size_t)32 << 20)

void said_init(struct said *said)
{
    static const uint8_t agent[16] = {1};

    memset(said, 0, sizeof(*said));
    said->memory = aligned_alloc(4096, OUTBOX_BYTES);
    said->rows = malloc(ROWS_BYTES);
    assert_non_null(said->memory);
    assert_non_null(said->rows);
    memset(said->memory, 0, OUTBOX_BYTES);
    said->spool = spool_create("/tmp", "/tmp", agent, 0);
    assert_non_null(said->spool);
    assert_int_equal(framewriter_init(&said->framewriter, said->memory,
                                      OUTBOX_BYTES, said->spool, agent),
                     0);
    said->selfstream = selfstream_create(&said->framewriter, CK_CLOCK_RAW, 1);
    assert_non_null(said->selfstream);
}

void said_fini(struct said *said)
{
    selfstream_destroy(said->selfstream);
    framewriter_fini(&said->framewriter);
    spool_destroy(said->spool);
    free(said->memory);
    free(said->rows);
}

void said_read(struct said *said)
{
    struct ck_frame_header header;
    struct ck_batch_info info;
    struct ck_err err;
    const uint8_t *frame;
    uint64_t at = 0;
    size_t bytes;

    assert_int_equal(selfstream_flush(said->selfstream), 0);
    said->bytes = 0;
    while ((frame = outbox_walk(&said->framewriter.outbox, &at, &bytes)) !=
           NULL) {
        assert_true(ck_frame_check(frame, bytes, &header, &err) > 0);
        assert_int_equal(ck_batch_decode(frame + sizeof(header), header.length,
                                         &info,
                                         (uint8_t *)said->rows + said->bytes,
                                         ROWS_BYTES - said->bytes, &err),
                         0);
        said->bytes += (size_t)header.units * CK_UNIT_BYTES;
    }
}

const void *
said_next(const struct said *said, enum ck_kind kind, const void *after)
{
    const uint8_t *at = said->rows;
    const uint8_t *end = at + said->bytes;

    if (after != NULL) {
        at = after;
        at += (size_t)((const struct ck_event *)after)->units * CK_UNIT_BYTES;
    }
    while (at < end) {
        const struct ck_event *event = (const void *)at;

        if (event->kind == kind) {
            return event;
        }
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
    return NULL;
}
