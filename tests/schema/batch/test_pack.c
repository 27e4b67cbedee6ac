/* test_pack.c - what is packed unpacks to the same, or is refused
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/batch/pack.h"

#define BYTES 5000

static const enum ck_pack packs[] = {CK_PACK_NONE, CK_PACK_LZ4, CK_PACK_ZSTD};

static bool is_built(enum ck_pack pack)
{
    uint8_t to[256];
    struct ck_err err;

    if (ck_pack(pack, "x", 1, to, sizeof(to), &err) > 0) {
        return true;
    }
    print_message("skipped: %s\n", err.text);
    return false;
}

static void every_packing_is_an_identity(void **state)
{
    uint8_t from[BYTES], back[BYTES];

    (void)state;
    for (size_t i = 0; i < BYTES; i++) {
        from[i] = (uint8_t)(i / 7 * (i % 3));
    }
    for (size_t p = 0; p < 3; p++) {
        for (size_t length = 0; is_built(packs[p]) && length < BYTES;
             length += 1 + length / 3) {
            size_t room = ck_pack_bound(packs[p], length);
            uint8_t *to = malloc(room + 1);
            int64_t n = ck_pack(packs[p], from, length, to, room, NULL);

            assert_true(n >= 0);
            assert_int_equal(
                ck_unpack(packs[p], to, (size_t)n, back, length, NULL), 0);
            assert_memory_equal(from, back, length);
            free(to);
        }
    }
}

static void a_wrong_length_or_a_cut_is_refused(void **state)
{
    uint8_t from[BYTES], back[BYTES + 1], to[BYTES * 2];
    struct ck_err err;

    (void)state;
    memset(from, 7, BYTES);
    for (size_t p = 0; p < 3; p++) {
        int64_t n = ck_pack(packs[p], from, BYTES, to, sizeof(to), &err);

        if (n < 0) {
            assert_false(is_built(packs[p]));
            continue;
        }
        assert_int_equal(
            ck_unpack(packs[p], to, (size_t)n, back, BYTES + 1, &err), -1);
        assert_non_null(strstr(err.text, "do not unpack"));
        assert_int_equal(
            ck_unpack(packs[p], to, (size_t)n, back, BYTES - 1, &err), -1);
        for (size_t cut = 0; cut < (size_t)n; cut++) {
            assert_int_equal(ck_unpack(packs[p], to, cut, back, BYTES, &err),
                             -1);
        }
        assert_int_equal(ck_pack(packs[p], from, BYTES, to, 4, &err), -1);
    }
}

static void hostile_lengths_are_refused(void **state)
{
    uint8_t to[16];
    struct ck_err err;

    (void)state;
    for (size_t p = 0; p < 3; p++) {
        assert_int_equal(
            ck_unpack(packs[p], "x", 1, to, (size_t)CK_FRAME_RAW_MAX + 1, &err),
            -1);
        assert_int_equal(ck_pack(packs[p], "x", (size_t)CK_FRAME_RAW_MAX + 1,
                                 to, sizeof(to), &err),
                         -1);
    }
    assert_int_equal(ck_unpack((enum ck_pack)9, "x", 1, to, 1, &err), -1);
    assert_string_equal(err.text, "unknown packing 9");
}

static void packings_have_names(void **state)
{
    static const char *const names[] = {"none", "lz4", "zstd"};
    static const enum ck_pack wanted[] = {CK_PACK_NONE, CK_PACK_LZ4,
                                          CK_PACK_ZSTD};
    enum ck_pack pack;

    (void)state;
    for (size_t p = 0; p < 3; p++) {
        assert_int_equal(ck_pack_from_name(names[p], &pack), 0);
        assert_int_equal(pack, wanted[p]);
    }
    assert_int_equal(ck_pack_from_name("gzip", &pack), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packing_is_an_identity),
        cmocka_unit_test(a_wrong_length_or_a_cut_is_refused),
        cmocka_unit_test(hostile_lengths_are_refused),
        cmocka_unit_test(packings_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
