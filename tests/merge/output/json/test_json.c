/* test_json.c - the JSON reader: grammar, numbers, pieces, cuts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/json/jsonread.h"

/* A text handed out in pieces of at most `piece` bytes. */
struct text {
    const char *at;
    size_t left;
    size_t piece;
};

static int64_t text_read(void *state, void *to, size_t room)
{
    struct text *text = state;
    size_t n = text->left < text->piece ? text->left : text->piece;

    n = n < room ? n : room;
    memcpy(to, text->at, n);
    text->at += n;
    text->left -= n;
    return (int64_t)n;
}

/* All tokens as one line each; "!N" = error at byte N. The caller frees it. */
static char *tokens(const char *bytes, size_t length, size_t piece)
{
    struct text text = {bytes, length, piece};
    struct json *json = json_create(text_read, &text);
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    const struct json_token *token;

    assert_non_null(json);
    while ((token = json_next(json))->type > JSON_END) {
        fprintf(file, "%d@%llu:", token->type,
                (unsigned long long)token->offset);
        (void)fwrite(token->text, 1, token->length, file);
        fputc('\n', file);
    }
    if (token->type == JSON_ERROR) {
        fprintf(file, "!%llu\n", (unsigned long long)json_error_offset(json));
        assert_true(json_error(json)[0] != '\0');
        assert_int_equal(json_next(json)->type, JSON_ERROR);
    }
    (void)fclose(file);
    json_destroy(json);
    return out;
}

static bool is_good(const char *text)
{
    char *out = tokens(text, strlen(text), SIZE_MAX);
    bool good = strchr(out, '!') == NULL;

    free(out);
    return good;
}

static const char document[] =
    " { \"traceEvents\" : [ {\"ph\":\"X\",\"ts\":12.345,\"dur\":-1.5e+3 , "
    "\"name\":\"a \\\"b\\\" \\u00e9\\ud83d\\ude00\\n\",\"args\":{}},\n\t[],"
    "true,false,null,NaN,-Infinity,0,-0.0,\"\",\"gr\xc3\xbc\xc3\x9f\"],"
    "\"last\":{\"deep\":[[[{\"x\":[1,2,3]}]]]}} ";

static void pieces_of_any_size_give_the_same_tokens(void **state)
{
    char *whole = tokens(document, sizeof(document) - 1, SIZE_MAX);

    (void)state;
    assert_null(strchr(whole, '!'));
    for (size_t piece = 1; piece < 80; piece++) {
        char *again = tokens(document, sizeof(document) - 1, piece);

        assert_string_equal(whole, again);
        free(again);
    }
    free(whole);
}

static void a_text_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    for (size_t cut = 0; cut + 2 < sizeof(document); cut++) {
        for (size_t piece = 1; piece < 9; piece += 7) {
            char *bytes = malloc(cut + 1); /* its end is seen */
            char *out;

            memcpy(bytes, document, cut);
            out = tokens(bytes, cut, piece);
            if (strchr(out, '!') == NULL) {
                fail_msg("cut at %zu is taken", cut);
            }
            free(out);
            free(bytes);
        }
    }
}

static void what_is_no_json_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{1:2}",
        "[1 2]",
        "01",
        "1.",
        ".5",
        "1e",
        "-",
        "+1",
        "1e+",
        "tru",
        "truex",
        "nul",
        "Nan",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"a",
        "\"\t\"",
        "[1]]",
        "1 2",
        "{\"a\" 1}",
        "\"\x80\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf5\x80\x80\x80\"",
        "[\"a\",}",
        "[0,1\x80,2,3,4,5]",
        "[0,true\x80,2,3,4,5]",
        "[0,\"\\u0041\"x,2,3,4,5]",
        "[{\"a\":1\x80,\"b\":[2,3]},4,5,6,7,8,9]",
        "{\"a\":1]",
        "'a'",
        "// x",
        "-Infinityx",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (is_good(bad[i])) {
            fail_msg("taken: %s", bad[i]);
        }
    }
    assert_true(is_good("[]"));
    assert_true(is_good(" 1 "));
    assert_true(is_good("\"\\ud800\"")); /* half a pair: U+FFFD */
}

static void an_error_has_its_byte(void **state)
{
    static const struct {
        const char *text;
        const char *at;
    } cases[] = {{"{\"a\":1,\"b\":?}", "!11"},
                 {"[1,2", "!4"},
                 {"[\"ab\\x\"]", "!4"},
                 {"[1}", "!2"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = tokens(cases[i].text, strlen(cases[i].text), 3);

        assert_non_null(strstr(out, cases[i].at));
        free(out);
    }
}

/* Until the next one. */
static struct json_token number(const char *text)
{
    static char padded[64 + JSON_TEXT_PAD];

    (void)snprintf(padded, sizeof(padded) - JSON_TEXT_PAD, "%s", text);
    return (struct json_token){
        .type = JSON_NUMBER, .text = padded, .length = strlen(padded)};
}

static void decimals_become_ns_exactly(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"0", 0},
        {"-0.0", 0},
        {"12.345", 12345},
        {"12.3454", 12345},
        {"7", 7000},
        {"12345678", 12345678000},
        {"123456789", 123456789000},
        {"-1234567890123456", -1234567890123456000},
        {"99999999.999", 99999999999},
        {"-123456789.001", -123456789001},
        {"0.001", 1},
        {"1.25", 1250},
        {"123e3", 123000000},
        {"12e3", 12000000},
        {"12.3455", 12346},
        {"-12.3455", -12346},
        {"0.0004", 0},
        {"0.0005", 1},
        {"1774592172000100.125", 1774592172000100125},
        {"9223372036854775.807", INT64_MAX},
        {"-9223372036854775.808", INT64_MIN},
        {"1.5e3", 1500000},
        {"1.7e15", 1700000000000000000},
        {"123456e-3", 123456},
        {"0.00000000000000000000000000001e30", 10000},
        {"0e99999", 0},
        {"1e-99999", 0},
        {"1700000000000000.0000000000000000000001", 1700000000000000000},
    };
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_token token = number(cases[i].text);

        if (!json_decimal(&token, 3, &ns) || ns != cases[i].ns) {
            fail_msg("%s gives %lld", cases[i].text, (long long)ns);
        }
    }
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    static const char *const bad[] = {"9223372036854775.808", "1e16",
                                      "99999999999999999999", "1e999999999",
                                      "-9223372036854775.809"};
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct json_token token = number(bad[i]);

        assert_false(json_decimal(&token, 3, &ns));
    }
}

static void integers_may_be_strings_but_nothing_else(void **state)
{
    struct json_token token = number("1774592172000100000");
    int64_t value;

    (void)state;
    assert_true(json_int(&token, &value));
    assert_true(value == 1774592172000100000);
    token.type = JSON_STRING;
    assert_true(json_int(&token, &value));
    token = number("1.0");
    assert_false(json_int(&token, &value));
    token = number("9223372036854775808");
    assert_false(json_int(&token, &value));
    token = (struct json_token){.type = JSON_STRING, .text = "", .length = 0};
    assert_false(json_int(&token, &value));
    token =
        (struct json_token){.type = JSON_STRING, .text = "12a", .length = 3};
    assert_false(json_int(&token, &value));
    token = (struct json_token){.type = JSON_NAN, .text = "NaN", .length = 3};
    assert_false(json_decimal(&token, 3, &value));
}

/* {"s": "<many escaped bytes>", "n": 7} */
static char *long_make(size_t count, size_t *length)
{
    char *text = malloc(count * 6 + 64);
    size_t used = (size_t)sprintf(text, "{\"s\":\"");

    for (size_t i = 0; i < count; i++) {
        used += (size_t)sprintf(text + used, "%s",
                                i % 5 == 0   ? "\\\""
                                : i % 5 == 1 ? "\xc3\xa9"
                                : i % 5 == 2 ? "\\u00e9"
                                : i % 5 == 3 ? "\\\\"
                                             : "x");
    }
    used += (size_t)sprintf(text + used, "\",\"n\":7}");
    *length = used;
    return text;
}

static void a_long_string_is_read_in_pieces(void **state)
{
    size_t length, total = 0;
    char *bytes = long_make(200000, &length);
    struct text text = {bytes, length, 4097};
    struct json *json = json_create(text_read, &text);
    char part[1000];
    int64_t n;

    (void)state;
    assert_int_equal(json_next(json)->type, JSON_OBJECT);
    assert_int_equal(json_next(json)->type, JSON_NAME);
    assert_int_equal(json_next(json)->type, JSON_STRING);
    assert_true(json_last(json)->is_long);
    while ((n = json_string_read(json, part, sizeof(part))) > 0) {
        for (int64_t i = 0; i < n; i++) {
            static const char cycle[] = "\"\xc3\xa9\xc3\xa9\\x";

            assert_int_equal(part[i], cycle[(total + (size_t)i) % 7]);
        }
        total += (size_t)n;
    }
    assert_int_equal(n, 0);
    assert_int_equal(total, 200000 / 5 * 7);
    assert_int_equal(json_next(json)->type, JSON_NAME);
    assert_true(json_is(json_last(json), "n"));
    json_destroy(json);
    free(bytes);
}

static void a_long_string_may_be_stepped_over(void **state)
{
    size_t length;
    char *bytes = long_make(100000, &length);
    struct text text = {bytes, length, 333};
    struct json *json = json_create(text_read, &text);

    (void)state;
    (void)json_next(json);
    (void)json_next(json);
    (void)json_next(json);
    assert_int_equal(json_next(json)->type, JSON_NAME);
    assert_int_equal(json_next(json)->type, JSON_NUMBER);
    assert_int_equal(json_next(json)->type, JSON_OBJECT_END);
    assert_int_equal(json_next(json)->type, JSON_END);
    json_destroy(json);
    free(bytes);
}

static void json_within_a_string_is_read_by_a_reader_of_its_own(void **state)
{
    static const char outer[] =
        "{\"e\":\"{\\\"events\\\": [1, \\\"a\\\\\\\"b\\\"]}\",\"n\":1}";
    struct text text = {outer, sizeof(outer) - 1, 5};
    struct json *json = json_create(text_read, &text);
    struct json *inner;

    (void)state;
    (void)json_next(json);
    (void)json_next(json);
    assert_int_equal(json_next(json)->type, JSON_STRING);
    inner = json_create(json_string_read, json);
    assert_int_equal(json_next(inner)->type, JSON_OBJECT);
    assert_int_equal(json_next(inner)->type, JSON_NAME);
    assert_int_equal(json_next(inner)->type, JSON_ARRAY);
    assert_int_equal(json_next(inner)->type, JSON_NUMBER);
    assert_int_equal(json_next(inner)->type, JSON_STRING);
    assert_true(json_is(json_last(inner), "a\"b"));
    assert_int_equal(json_next(inner)->type, JSON_ARRAY_END);
    assert_int_equal(json_next(inner)->type, JSON_OBJECT_END);
    assert_int_equal(json_next(inner)->type, JSON_END);
    json_destroy(inner);
    assert_int_equal(json_next(json)->type, JSON_NAME);
    json_destroy(json);
}

static void nesting_has_a_bound(void **state)
{
    char text[2 * JSON_DEPTH_MAX + 8];
    size_t deep = JSON_DEPTH_MAX;

    (void)state;
    memset(text, '[', deep);
    memset(text + deep, ']', deep);
    text[2 * deep] = '\0';
    assert_true(is_good(text));
    memset(text, '[', deep + 1);
    memset(text + deep + 1, ']', deep + 1);
    text[2 * deep + 2] = '\0';
    assert_false(is_good(text));
}

static void a_value_may_be_stepped_over(void **state)
{
    struct text text = {document, sizeof(document) - 1, 7};
    struct json *json = json_create(text_read, &text);

    (void)state;
    assert_int_equal(json_next(json)->type, JSON_OBJECT);
    assert_int_equal(json_next(json)->type, JSON_NAME);
    assert_true(json_skip(json));
    assert_int_equal(json_next(json)->type, JSON_NAME);
    assert_true(json_is(json_last(json), "last"));
    assert_true(json_skip(json));
    assert_int_equal(json_next(json)->type, JSON_OBJECT_END);
    assert_int_equal(json_next(json)->type, JSON_END);
    json_destroy(json);
}

static void any_byte_anywhere_is_the_same_in_pieces(void **state)
{
    static const char text[] =
        "[{\"ph\":\"M\", \"a\" : 1,\"b\":{\"c\":[2, 3.5]},"
        "\n\"d\":null},7 ,\"e\" ] ";
    char bytes[sizeof(text)];

    (void)state;
    for (size_t at = 0; at < sizeof(text) - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char *whole, *pieces;

            memcpy(bytes, text, sizeof(text));
            bytes[at] = (char)byte;
            whole = tokens(bytes, sizeof(text) - 1, SIZE_MAX);
            pieces = tokens(bytes, sizeof(text) - 1, 3);
            if (strcmp(whole, pieces) != 0) {
                print_error("byte %d at %zu\n", byte, at);
            }
            assert_string_equal(whole, pieces);
            free(whole);
            free(pieces);
        }
    }
}

static void only_white_space_is_between_tokens(void **state)
{
    char text[] = "[1, 2, 3, 4, 5, 6]";

    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        text[3] = (char)byte;
        assert_int_equal(is_good(text), byte != 0 && strchr(" \t\r\n123456789-",
                                                            byte) != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_byte_anywhere_is_the_same_in_pieces),
        cmocka_unit_test(only_white_space_is_between_tokens),
        cmocka_unit_test(pieces_of_any_size_give_the_same_tokens),
        cmocka_unit_test(a_text_cut_at_any_byte_is_refused),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(an_error_has_its_byte),
        cmocka_unit_test(decimals_become_ns_exactly),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(integers_may_be_strings_but_nothing_else),
        cmocka_unit_test(a_long_string_is_read_in_pieces),
        cmocka_unit_test(a_long_string_may_be_stepped_over),
        cmocka_unit_test(json_within_a_string_is_read_by_a_reader_of_its_own),
        cmocka_unit_test(nesting_has_a_bound),
        cmocka_unit_test(a_value_may_be_stepped_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
