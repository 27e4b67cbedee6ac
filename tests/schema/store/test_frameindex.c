/* test_frameindex.c - an index of frames is believed only where it is whole
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/frameindex.h"

#define ROWS 3

struct part {
    struct ck_frameindex_file file;
    struct ck_frameindex_stream streams[2];
    struct ck_frameindex_row rows[ROWS];
};

struct index {
    struct ck_frameindex_head head;
    struct part parts[2];
};

static void index_fill(struct index *index)
{
    memset(index, 0, sizeof(*index));
    for (uint8_t p = 0; p < 2; p++) {
        struct part *part = &index->parts[p];

        part->file.agent[0] = (uint8_t)(p + 1);
        part->file.end = 1000;
        part->file.streams = 2;
        part->file.rows = ROWS;
        part->streams[1].name.slot = 7;
        for (uint32_t i = 0; i < ROWS; i++) {
            part->rows[i] = (struct ck_frameindex_row){
                .offset = 200 * (uint64_t)i,
                .first = 10 * (uint64_t)i,
                .units = 5,
                .length = 100,
                .stream = i % 2,
            };
        }
    }
    ck_frameindex_seal(index, sizeof(*index), 2);
}

static void what_was_written_is_found(void **state)
{
    const struct ck_frameindex_file *file;
    struct index index;
    const uint8_t first[16] = {1}, second[16] = {2}, none[16] = {3};

    (void)state;
    index_fill(&index);
    assert_int_equal(ck_frameindex_check(&index, sizeof(index), NULL), 0);
    assert_ptr_equal(ck_frameindex_find(&index, first), &index.parts[0]);
    file = ck_frameindex_find(&index, second);
    assert_ptr_equal(file, &index.parts[1]);
    assert_ptr_equal(ck_frameindex_streams(file), index.parts[1].streams);
    assert_ptr_equal(ck_frameindex_rows(file), index.parts[1].rows);
    assert_null(ck_frameindex_find(&index, none));
    assert_false(ck_frameindex_is_cut(&index));
    index.parts[1].file.tail = 200;
    assert_true(ck_frameindex_is_cut(&index));
}

static void one_that_is_cut_anywhere_is_refused(void **state)
{
    struct index index;

    (void)state;
    index_fill(&index);
    for (size_t bytes = 0; bytes < sizeof(index); bytes++) {
        uint64_t *copy = malloc(bytes + 1); /* for a sanitizer to see */

        memcpy(copy, &index, bytes);
        assert_int_equal(ck_frameindex_check(copy, bytes, NULL), -1);
        free(copy);
    }
}

static void one_with_a_changed_byte_is_refused(void **state)
{
    struct index index;
    uint8_t *bytes = (uint8_t *)&index;

    (void)state;
    index_fill(&index);
    for (size_t i = 0; i < sizeof(index); i++) {
        bytes[i] ^= 0x11;
        assert_int_equal(ck_frameindex_check(&index, sizeof(index), NULL), -1);
        bytes[i] ^= 0x11;
    }
    assert_int_equal(ck_frameindex_check(&index, sizeof(index), NULL), 0);
}

/* Sealed again: it contradicts itself. */
static void assert_refused(struct index *index)
{
    struct ck_err err;

    ck_frameindex_seal(index, sizeof(*index), index->head.files);
    assert_int_equal(ck_frameindex_check(index, sizeof(*index), &err), -1);
    index_fill(index);
}

static void one_that_contradicts_itself_is_refused(void **state)
{
    struct index index;
    struct part *part = &index.parts[0];

    (void)state;
    index_fill(&index);
    part->rows[1].stream = 2;
    assert_refused(&index);
    part->rows[1].offset = 100; /* within the frame before */
    assert_refused(&index);
    part->rows[2].offset = 900; /* its end is behind that of the file */
    assert_refused(&index);
    part->rows[2].offset = UINT64_MAX - 4;
    assert_refused(&index);
    part->rows[0].first = UINT64_MAX;
    assert_refused(&index);
    part->rows[0].length = CK_FRAME_PAYLOAD_MAX + 1;
    assert_refused(&index);
    part->rows[0].is_joined = 2;
    assert_refused(&index);
    part->file.tail = 1001;
    assert_refused(&index);
    part->file.streams = UINT32_MAX;
    assert_refused(&index);
    index.parts[1].file.rows = UINT32_MAX;
    assert_refused(&index);
    index.head.files = 1;
    assert_refused(&index);
    index.head.files = 3;
    assert_refused(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_found),
        cmocka_unit_test(one_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(one_with_a_changed_byte_is_refused),
        cmocka_unit_test(one_that_contradicts_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
