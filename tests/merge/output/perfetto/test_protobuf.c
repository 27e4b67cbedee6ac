/* test_protobuf.c - bytes of messages as the encoding defines them
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

#include "merge/output/perfetto/protobuf.h"

static void
has_bytes(const struct protobuf *protobuf, const void *bytes, size_t expected)
{
    size_t length;
    const unsigned char *have = protobuf_bytes(protobuf, &length);

    assert_non_null(have);
    assert_int_equal(length, expected);
    assert_memory_equal(have, bytes, length);
}

/* protobuf.dev, Encoding: Test1 { a = 150 }, Test2 { b = "testing" }. */
static void the_published_examples_have_their_bytes(void **state)
{
    struct protobuf protobuf = {0};

    (void)state;
    protobuf_int(&protobuf, 1, 150);
    has_bytes(&protobuf, "\x08\x96\x01", 3);
    protobuf_clear(&protobuf);
    protobuf_text(&protobuf, 2, "testing");
    has_bytes(&protobuf, "\x12\x07testing", 9);
    protobuf_clear(&protobuf);
    protobuf_begin(&protobuf, 3);
    protobuf_int(&protobuf, 1, 150);
    protobuf_end(&protobuf);
    has_bytes(&protobuf, "\x1a\x03\x08\x96\x01", 5);
    protobuf_clear(&protobuf);
    protobuf_int(&protobuf, 1, -2);
    has_bytes(&protobuf, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    protobuf_clear(&protobuf);
    protobuf_fixed64(&protobuf, 1, 0x0102030405060708);
    has_bytes(&protobuf, "\x09\x08\x07\x06\x05\x04\x03\x02\x01", 9);
    protobuf_fini(&protobuf);
}

/* A length of 128 and more; the outer one moves with the inner. */
static void long_messages_keep_their_length(void **state)
{
    struct protobuf protobuf = {0};
    char text[301];
    size_t length;
    const unsigned char *bytes;

    (void)state;
    memset(text, 'x', 300);
    text[300] = '\0';
    protobuf_begin(&protobuf, 1);
    protobuf_begin(&protobuf, 2);
    protobuf_int(&protobuf, 3, 1);
    protobuf_end(&protobuf);
    protobuf_text(&protobuf, 4, text);
    protobuf_end(&protobuf);
    bytes = protobuf_bytes(&protobuf, &length);
    assert_int_equal(length, 5 + 4 + 1 + 4 + 300);
    assert_int_equal(bytes[0], 0x0a);
    assert_int_equal((bytes[1] & 127) | (bytes[2] & 127) << 7, length - 5);
    assert_memory_equal(bytes + 5, "\x12\x02\x18\x01\x22", 5);
    protobuf_fini(&protobuf);
}

static void bytes_that_are_no_utf8_become_a_sign(void **state)
{
    struct protobuf protobuf = {0};

    (void)state;
    protobuf_text(&protobuf, 1,
                  "a\xff"
                  "b");
    has_bytes(&protobuf,
              "\x0a\x05"
              "a\xef\xbf\xbd"
              "b",
              7);
    protobuf_fini(&protobuf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_examples_have_their_bytes),
        cmocka_unit_test(long_messages_keep_their_length),
        cmocka_unit_test(bytes_that_are_no_utf8_become_a_sign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
