/* test_store.c - the segment of one agent and its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/store.h"
#include "schema/event.h"
#include "schema/run.h"
#include "schema/wire.h"

static const uint8_t agent[16] = "0123456789abcde";

struct place {
    char dir[64];
    struct ck_batch_writer *writer;
    uint64_t frame[8192];
};

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    strcpy(place->dir, "/tmp/ck-store-XXXXXX");
    place->writer = ck_batch_writer_create();
    *state = place;
    return mkdtemp(place->dir) && place->writer ? 0 : -1;
}

static int teardown(void **state)
{
    struct place *place = *state;
    char path[PATH_MAX];

    (void)ck_run_segment_path(path, place->dir, agent, false);
    (void)unlink(path);
    (void)rmdir(place->dir);
    ck_batch_writer_destroy(place->writer);
    free(place);
    return 0;
}

/* A frame of these records in place->frame. */
static struct ck_frame_header *make(struct place *place,
                                    struct ck_stream stream,
                                    uint64_t first,
                                    const void *records,
                                    size_t bytes)
{
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    struct ck_frame_header *header = (void *)place->frame;
    const void *payload;
    size_t length;

    assert_int_equal(ck_batch_encode(place->writer, &info, records, bytes,
                                     &payload, &length, NULL),
                     0);
    memset(place->frame, 0, sizeof(place->frame));
    memcpy(header->agent, agent, sizeof(agent));
    header->stream = stream;
    header->first = first;
    header->units = info.units;
    header->records = info.records;
    header->length = header->raw = (uint32_t)length;
    memcpy(header + 1, payload, length);
    ck_frame_seal(header, payload);
    return header;
}

static struct ck_frame_header *
marks(struct place *place, uint32_t slot, uint64_t first, uint32_t count)
{
    static struct ck_mark records[64];

    for (uint32_t i = 0; i < count; i++) {
        records[i].e =
            (struct ck_event){.kind = CK_KIND_MARK, .units = 1, .start = i};
    }
    return make(place, (struct ck_stream){1, slot}, first, records,
                count * sizeof(records[0]));
}

static enum store_result put(struct store *store,
                             struct ck_frame_header *header)
{
    return store_append(store, header, header);
}

static void what_is_stored_is_known_after_a_reopen(void **state)
{
    struct place *place = *state;
    struct store *store = store_create(place->dir, agent, NULL);
    struct store_facts before;
    struct store_facts after;
    struct ck_ack acks[4];

    assert_non_null(store);
    assert_int_equal(put(store, marks(place, 0, 0, 10)), STORE_DONE);
    assert_int_equal(put(store, marks(place, 7, 500, 5)), STORE_DONE);
    assert_int_equal(put(store, marks(place, 0, 20, 10)), STORE_DONE);
    before = store_facts(store);
    store_destroy(store);
    store = store_create(place->dir, agent, NULL);
    assert_non_null(store);
    after = store_facts(store);
    assert_int_equal(after.frames, 3);
    assert_int_equal(after.records, 25);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.missing, 10);
    assert_int_equal(positions_acks(store_positions(store), acks, 4), 2);
    assert_int_equal(acks[0].next, 30);
    assert_int_equal(acks[1].next, 505);
    assert_int_equal(put(store, marks(place, 7, 500, 5)), STORE_OLD);
    assert_int_equal(put(store, marks(place, 0, 10, 10)), STORE_DONE);
    assert_int_equal(store_facts(store).missing, 0);
    store_destroy(store);
}

/* A text record and its bytes. */
static size_t text_record(uint8_t *to, enum ck_kind kind, const char *bytes)
{
    struct ck_text text = {
        .e = {.kind = (uint16_t)kind,
              .units = (uint8_t)ck_text_units(strlen(bytes))},
        .length = (uint32_t)strlen(bytes)};

    memcpy(to, &text, sizeof(text));
    memcpy(to + sizeof(text), bytes, strlen(bytes));
    return (size_t)text.e.units * CK_UNIT_BYTES;
}

static void identity_and_exit_are_read_from_the_collectors_stream(void **state)
{
    struct place *place = *state;
    struct store *store = store_create(place->dir, agent, NULL);
    _Alignas(8) uint8_t rows[1024] = {0};
    size_t bytes = text_record(rows, CK_KIND_IDENTITY, "rank=3\npid=9\n");
    const struct ck_stream own = {0, CK_SLOT_COLLECTOR};

    assert_int_equal(put(store, make(place, own, 0, rows, bytes)), STORE_DONE);
    assert_string_equal(store_identity(store), "");
    store_destroy(store);
    store = store_create(place->dir, agent, NULL);
    assert_string_equal(store_identity(store), "rank=3\npid=9\n");
    assert_false(store_has_exit(store));
    memset(rows, 0, sizeof(rows));
    bytes = text_record(rows, CK_KIND_EXIT, "status=0\n");
    assert_int_equal(put(store, make(place, own, 10, rows, bytes)), STORE_DONE);
    store_destroy(store);
    store = store_create(place->dir, agent, NULL);
    assert_true(store_has_exit(store));
    store_destroy(store);
}

static void a_directory_that_is_missing_is_said(void **state)
{
    struct ck_err err;

    (void)state;
    assert_null(store_create("/proc/none", agent, &err));
    assert_non_null(strstr(err.text, "/proc/none"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_stored_is_known_after_a_reopen),
        CASE(identity_and_exit_are_read_from_the_collectors_stream),
        CASE(a_directory_that_is_missing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
