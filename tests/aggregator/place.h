/* place.h - one agent's store in a directory of its own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * setup() and teardown() are cmocka's; *state is a struct place.
 */
#ifndef CK_TESTS_AGGREGATOR_PLACE_H
#define CK_TESTS_AGGREGATOR_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/store/store.h"
#include "tests/frames.h"
#include "tests/workdir.h"

static const uint8_t agent[16] = "0123456789abcde";

struct place {
    char dir[WORKDIR_BYTES];
    struct ck_batch_writer *writer;
    struct store *store;
    uint64_t records; /* handed to the store */
    uint64_t frame[8192];
};

static inline int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    place->writer = ck_batch_writer_create();
    *state = place;
    return workdir_make(place->dir) == 0 && place->writer ? 0 : -1;
}

static inline int teardown(void **state)
{
    struct place *place = *state;
    int rc;

    store_destroy(place->store);
    ck_batch_writer_destroy(place->writer);
    rc = workdir_remove(place->dir);
    free(place);
    return rc;
}

/* The store anew, as one that comes later finds it; the place's. */
static inline struct store *place_reopen(struct place *place)
{
    store_destroy(place->store);
    place->store = store_create(place->dir, agent, NULL);
    assert_non_null(place->store);
    return place->store;
}

/* Hand these records to the store, as one frame. */
static inline enum store_result place_put(struct place *place,
                                          struct ck_stream stream,
                                          uint64_t first,
                                          const void *records,
                                          size_t bytes)
{
    struct ck_frame_header *header = (void *)place->frame;

    *header = (struct ck_frame_header){.stream = stream, .first = first};
    memcpy(header->agent, agent, sizeof(agent));
    assert_int_not_equal(
        frame_close(header, place->writer,
                    (struct ck_batch_info){.clock = CK_CLOCK_RAW, .tid = 7},
                    records, bytes),
        0);
    place->records += header->records;
    return store_append(place->store, header, header);
}

#endif
