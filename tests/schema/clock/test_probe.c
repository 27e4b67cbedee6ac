/* test_probe.c - the datagram of a clock probe and its tag
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

#include "schema/clock/probe.h"

static const struct ck_probe whole = {
    .type = CK_PROBE_ANSWER,
    .session = 0x1122334455667788,
    .number = 9,
    .received = 1234567890123,
    .sent = 1234567890456,
    .received_error = 42,
    .earlier_error = 43,
    .earlier = 8,
    .earlier_sent = -5,
    .earlier_received = INT64_MAX,
};

static void what_is_encoded_is_decoded(void **state)
{
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES];
    struct ck_probe back;

    (void)state;
    memset(&back, 0, sizeof(back));
    ck_probe_encode(&whole, key, bytes);
    assert_int_equal(ck_probe_decode(bytes, sizeof(bytes), &back), 0);
    assert_int_equal(back.type, whole.type);
    assert_true(back.session == whole.session);
    assert_true(back.number == whole.number);
    assert_true(back.received == whole.received);
    assert_true(back.sent == whole.sent);
    assert_int_equal(back.received_error, whole.received_error);
    assert_int_equal(back.earlier_error, whole.earlier_error);
    assert_true(back.earlier == whole.earlier);
    assert_true(back.earlier_sent == whole.earlier_sent);
    assert_true(back.earlier_received == whole.earlier_received);
    assert_int_equal(ck_probe_check(bytes, key), 0);
}

static void the_bytes_on_the_wire_are_those_of_the_table(void **state)
{
    static const uint8_t head[] = {
        'C',  'K',  'P',  '1',  2, 2, 0, 0, 0x88, 0x77, 0x66, 0x55,
        0x44, 0x33, 0x22, 0x11, 9, 0, 0, 0, 0,    0,    0,    0};
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES];

    (void)state;
    ck_probe_encode(&whole, key, bytes);
    assert_memory_equal(bytes, head, sizeof(head));
    assert_int_equal(bytes[40], 42);
    assert_int_equal(bytes[44], 43);
    assert_int_equal(bytes[48], 8);
}

/* Python: blake2b(key + b"ck", digest_size=16) */
static void the_tag_is_blake2b_of_key_and_bytes(void **state)
{
    static const uint8_t right[] = {0xc9, 0x76, 0x88, 0xc4, 0x60, 0x15,
                                    0xf2, 0x69, 0xbe, 0x0a, 0x2a, 0x72,
                                    0xe4, 0x74, 0x11, 0xa2};
    const uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t tag[CK_AUTH_TAG_BYTES];

    (void)state;
    ck_auth_tag(key, "ck", 2, tag);
    assert_memory_equal(tag, right, sizeof(right));
    assert_true(ck_auth_is(key, "ck", 2, right));
    assert_false(ck_auth_is(key, "cl", 2, right));
}

static void a_change_of_any_bit_breaks_the_tag(void **state)
{
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES];

    (void)state;
    ck_probe_encode(&whole, key, bytes);
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(ck_probe_check(bytes, key), -1);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    key[31] ^= 1;
    assert_int_equal(ck_probe_check(bytes, key), -1);
}

static void any_other_length_is_refused(void **state)
{
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES + 1] = {0};
    struct ck_probe back;

    (void)state;
    ck_probe_encode(&whole, key, bytes);
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        if (length != CK_PROBE_BYTES) {
            assert_int_equal(ck_probe_decode(bytes, length, &back), -1);
        }
    }
}

static void what_is_no_probe_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } cases[] = {
        {0, 'X'}, /* magic */
        {4, 1},   /* an earlier version */
        {4, 3},   /* a later one */
        {5, 0},   /* no type */
        {5, 3},   /* an unknown type */
        {6, 1},   /* reserved */
        {16, 0},  /* number 0 */
    };
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    struct ck_probe back;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[CK_PROBE_BYTES];

        ck_probe_encode(&whole, key, bytes);
        bytes[cases[i].at] = cases[i].value;
        assert_int_equal(ck_probe_decode(bytes, sizeof(bytes), &back), -1);
    }
}

static void hex_goes_there_and_back_and_nothing_else_is_taken(void **state)
{
    uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES];
    uint8_t back[CK_PROBE_BYTES];
    char hex[CK_PROBE_HEX];

    (void)state;
    ck_probe_encode(&whole, key, bytes);
    ck_probe_to_hex(bytes, hex);
    assert_int_equal(ck_probe_from_hex(hex, back), CK_PROBE_BYTES);
    assert_memory_equal(bytes, back, sizeof(bytes));
    hex[7] = 'g';
    assert_int_equal(ck_probe_from_hex(hex, back), 0);
    hex[7] = '\0';
    assert_int_equal(ck_probe_from_hex(hex, back), 0);
}

static void a_key_is_random_and_survives_its_text(void **state)
{
    uint8_t one[CK_AUTH_KEY_BYTES] = {0};
    uint8_t two[CK_AUTH_KEY_BYTES] = {0};
    char hex[CK_AUTH_KEY_HEX];

    (void)state;
    assert_int_equal(ck_auth_key(one), 0);
    assert_int_equal(ck_auth_key(two), 0);
    assert_memory_not_equal(one, two, sizeof(one));
    ck_auth_key_hex(one, hex);
    assert_int_equal(strlen(hex), 64);
    assert_int_equal(ck_auth_key_parse(hex, two), 0);
    assert_memory_equal(one, two, sizeof(one));
    hex[63] = 'x';
    assert_int_equal(ck_auth_key_parse(hex, two), -1);
    hex[63] = '\0';
    assert_int_equal(ck_auth_key_parse(hex, two), -1);
    ck_auth_forget(one);
    assert_int_equal(one[0] | one[31], 0);
}

/* Whatever place they differ at. */
static void secret_texts_are_equal_or_not(void **state)
{
    (void)state;
    assert_true(ck_auth_equal("0123456789abcdef", "0123456789abcdef"));
    assert_true(ck_auth_equal("", ""));
    assert_false(ck_auth_equal("0123456789abcdef", "1123456789abcdef"));
    assert_false(ck_auth_equal("0123456789abcdef", "0123456789abcdee"));
    assert_false(ck_auth_equal("0123456789abcdef", "0123456789abcde"));
    assert_false(ck_auth_equal("0123456789abcdef", "0123456789abcdef0"));
    assert_false(ck_auth_equal("0123456789abcdef", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_is_decoded),
        cmocka_unit_test(the_bytes_on_the_wire_are_those_of_the_table),
        cmocka_unit_test(the_tag_is_blake2b_of_key_and_bytes),
        cmocka_unit_test(a_change_of_any_bit_breaks_the_tag),
        cmocka_unit_test(any_other_length_is_refused),
        cmocka_unit_test(what_is_no_probe_is_refused),
        cmocka_unit_test(hex_goes_there_and_back_and_nothing_else_is_taken),
        cmocka_unit_test(a_key_is_random_and_survives_its_text),
        cmocka_unit_test(secret_texts_are_equal_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
