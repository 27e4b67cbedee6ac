/* test_frame.c - crc32c by its known answers; frames whole or refused
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/frame.h"

#define PAYLOAD 45

static struct ck_frame_header make(uint8_t *at)
{
    struct ck_frame_header header = {
        .agent = {1, 2, 3},
        .stream = {4, 5},
        .first = 1000,
        .units = 20,
        .records = 10,
        .length = PAYLOAD,
        .raw = PAYLOAD,
    };

    memset(at, 0, 128);
    memset(at + sizeof(header), 0x42, PAYLOAD);
    ck_frame_seal(&header, at + sizeof(header));
    memcpy(at, &header, sizeof(header));
    return header;
}

/* RFC 3720 B.4 and the usual check value. */
static void crc32c_has_its_known_answers(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(ck_crc32c(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, 32);
    assert_int_equal(ck_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(ck_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(ck_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(ck_crc32c(0, bytes, 0), 0);
}

static void crc32c_goes_on_where_it_stopped(void **state)
{
    uint8_t bytes[100];
    uint32_t whole;

    (void)state;
    for (int i = 0; i < 100; i++) {
        bytes[i] = (uint8_t)(i * 37);
    }
    whole = ck_crc32c(0, bytes, 100);
    for (size_t cut = 0; cut <= 100; cut++) {
        assert_int_equal(
            ck_crc32c(ck_crc32c(0, bytes, cut), bytes + cut, 100 - cut), whole);
    }
}

static void a_sealed_frame_is_accepted(void **state)
{
    uint8_t bytes[128];
    struct ck_frame_header header = make(bytes), seen;

    (void)state;
    assert_int_equal(ck_frame_check(bytes, sizeof(bytes), &seen, NULL), 112);
    assert_memory_equal(&header, &seen, sizeof(seen));
}

static void a_frame_cut_at_any_byte_is_not_whole(void **state)
{
    uint8_t bytes[128];
    struct ck_frame_header seen;

    (void)state;
    (void)make(bytes);
    for (size_t cut = 0; cut < 112; cut++) {
        uint8_t *copy = malloc(cut + 1);

        memcpy(copy, bytes, cut);
        assert_int_equal(ck_frame_check(copy, cut, &seen, NULL), 0);
        free(copy);
    }
}

static void any_flipped_bit_is_refused(void **state)
{
    uint8_t bytes[128];
    struct ck_frame_header seen;

    (void)state;
    (void)make(bytes);
    for (size_t bit = 0; bit < (64 + PAYLOAD) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        /* 0: a longer length; more bytes would not make it right. */
        assert_true(ck_frame_check(bytes, sizeof(bytes), &seen, NULL) <= 0);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Sealed all the same, so that the bound refuses it and not the crc. */
static void refuse(struct ck_frame_header header, const char *why)
{
    uint8_t bytes[128] = {0};
    struct ck_frame_header seen;
    struct ck_err err = {""};

    memcpy(bytes, &header, sizeof(header));
    assert_int_equal(ck_frame_check(bytes, sizeof(bytes), &seen, &err), -1);
    assert_non_null(strstr(err.text, why));
}

static void hostile_headers_are_refused_before_the_payload(void **state)
{
    uint8_t bytes[128];
    struct ck_frame_header good = make(bytes), bad;

    (void)state;
    bad = good;
    bad.magic = 0x12345678;
    refuse(bad, "not a frame");
    bad = good;
    bad.version = 2;
    refuse(bad, "frame of version 2, only 1 is known");
    bad = good;
    bad.pack = 3;
    refuse(bad, "unknown packing 3");
    bad = good;
    bad.flags = 1;
    refuse(bad, "flags 1");
    bad = good;
    bad.length = CK_FRAME_PAYLOAD_MAX + 1;
    refuse(bad, "out of bounds");
    bad = good;
    bad.raw = CK_FRAME_RAW_MAX + 1;
    bad.pack = CK_PACK_LZ4;
    refuse(bad, "out of bounds");
    bad = good;
    bad.raw = PAYLOAD + 1;
    refuse(bad, "out of bounds");
    bad = good;
    bad.records = CK_FRAME_RECORDS_MAX + 1;
    refuse(bad, "out of bounds");
    bad = good;
    bad.units = CK_FRAME_UNITS_MAX + 1;
    refuse(bad, "out of bounds");
    bad = good;
    bad.first = UINT64_MAX;
    refuse(bad, "out of bounds");
    bad = good;
    bad.crc++;
    refuse(bad, "damaged frame");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_has_its_known_answers),
        cmocka_unit_test(crc32c_goes_on_where_it_stopped),
        cmocka_unit_test(a_sealed_frame_is_accepted),
        cmocka_unit_test(a_frame_cut_at_any_byte_is_not_whole),
        cmocka_unit_test(any_flipped_bit_is_refused),
        cmocka_unit_test(hostile_headers_are_refused_before_the_payload),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
