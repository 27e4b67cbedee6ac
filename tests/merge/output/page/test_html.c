/* test_html.c - the page: hostile names are text, its data comes out as it
 * went in
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

#include <sodium.h>
#include <zlib.h>

#include "merge/output/page/embed.h"
#include "merge/output/page/html.h"
#include "merge/output/page/htmlcut.h"
#include "merge/output/page/htmlblock.h"
#include "merge/output/page/htmltables.h"
#include "merge/output/page/htmltext.h"

static char *shown(const char *text, size_t length)
{
    char *out = NULL;
    size_t out_length = 0;
    FILE *file = open_memstream(&out, &out_length);

    assert_non_null(file);
    html_text(file, text, length);
    assert_int_equal(fclose(file), 0);
    return out;
}

static void hostile_texts_are_shown_and_not_believed(void **state)
{
    static const struct {
        const char *text;
        const char *html;
    } cases[] = {
        {"plain", "plain"},
        {"</script><b>", "&lt;/script&gt;&lt;b&gt;"},
        {"<img src=x onerror='a()'>",
         "&lt;img src=x onerror=&#39;a()&#39;&gt;"},
        {"a&b \"c\"", "a&amp;b &quot;c&quot;"},
        {"\xe2\x80\xaegnp.exe", "\\u202egnp.exe"},
        {"zero\xe2\x80\x8bwidth", "zero\\u200bwidth"},
        {"tag\xf3\xa0\x81\x81", "tag\\ue0041"},
        {"\x1b[31m\r\t", "\\u001b[31m\\u000d\\u0009"},
        {"line\nline", "line\nline"},
        {"M\xc3\xbcnchen \xe6\xb1\x89 \xf0\x9f\x98\x80",
         "M\xc3\xbcnchen \xe6\xb1\x89 \xf0\x9f\x98\x80"},
        {"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut \xe6\xb1", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"long form \xc0\xbc", "long form \xef\xbf\xbd\xef\xbf\xbd"},
        {"half \xed\xa0\x80", "half \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"too large \xf4\x90\x80\x80",
         "too large \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *html = shown(cases[i].text, strlen(cases[i].text));

        assert_string_equal(html, cases[i].html);
        free(html);
    }
}

static void a_zero_byte_ends_no_text(void **state)
{
    char *html = shown("a\0<b", 4);

    (void)state;
    assert_string_equal(html, "a\\u0000&lt;b");
    free(html);
}

/* What a block holds, inflated: the caller's to free. */
static unsigned char *block_read(const char *html, size_t room, size_t *length)
{
    const char *from = strchr(html, '>');
    const char *end = from == NULL ? NULL : strchr(from, '<');
    size_t packed_length = 0;
    unsigned char *packed, *bytes = malloc(room + 1);
    z_stream stream = {.next_out = bytes, .avail_out = (uInt)room + 1};

    assert_non_null(end);
    assert_non_null(bytes);
    packed = malloc((size_t)(end - from));
    assert_non_null(packed);
    assert_int_equal(sodium_base642bin(packed, (size_t)(end - from), from + 1,
                                       (size_t)(end - from - 1), NULL,
                                       &packed_length, NULL,
                                       sodium_base64_VARIANT_ORIGINAL),
                     0);
    stream.next_in = packed;
    stream.avail_in = (uInt)packed_length;
    assert_int_equal(inflateInit2(&stream, -15), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    *length = stream.total_out;
    (void)inflateEnd(&stream);
    free(packed);
    return bytes;
}

static void a_block_comes_out_as_it_went_in(void **state)
{
    static const size_t lengths[] = {
        0,   1,    2,     3,     63,    64,    65,      249,     250,    251,
        506, 4095, 16122, 32506, 32507, 49152, 1000003, 1048577, 3000001};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t length = lengths[i], html_length = 0, back_length = 0;
        unsigned char *bytes = malloc(length + 1), *back;
        char *html = NULL;
        struct html_block block = {"x", bytes, length, false, NULL};
        FILE *file = open_memstream(&html, &html_length);
        uint64_t random = 88172645463325252u;

        assert_non_null(bytes);
        assert_non_null(file);
        for (size_t k = 0; k < length; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[k] = (unsigned char)random;
        }
        assert_int_equal(html_block_put(file, &block), 0);
        assert_int_equal(fclose(file), 0);
        assert_non_null(strstr(html, "id=\"block-x\">"));
        back = block_read(html, length, &back_length);
        assert_int_equal(back_length, length);
        assert_memory_equal(back, bytes, length);
        free(back);
        free(html);
        free(bytes);
    }
}

/* What is put of each block is the same, whoever deflated it. */
static void blocks_that_two_threads_make_are_those_of_one(void **state)
{
    enum { COUNT = 9, LONGEST = 300000 };
    static unsigned char bytes[COUNT][LONGEST];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < LONGEST; k++) {
            bytes[i][k] = (unsigned char)(k * k >> (i + 3));
        }
    }
    for (int is_beside = 0; is_beside < 2; is_beside++) {
        struct html_block blocks[COUNT];

        for (size_t i = 0; i < COUNT; i++) {
            blocks[i] = (struct html_block){
                "x", bytes[i], LONGEST / COUNT * (i * 5 % COUNT), i == 4, NULL};
        }
        assert_int_equal(htmlblocks_make(blocks, COUNT, is_beside == 1), 0);
        for (size_t i = 0; i < COUNT; i++) {
            struct html_block plain = {
                "x", bytes[i], LONGEST / COUNT * (i * 5 % COUNT), i == 4, NULL};
            char *made = NULL, *at_once = NULL;
            size_t made_length = 0, length = 0;
            FILE *file = open_memstream(&made, &made_length);

            assert_true(blocks[i].is_ready);
            assert_int_equal(html_block_put(file, &blocks[i]), 0);
            assert_int_equal(fclose(file), 0);
            file = open_memstream(&at_once, &length);
            assert_int_equal(html_block_put(file, &plain), 0);
            assert_int_equal(fclose(file), 0);
            assert_int_equal(made_length, length);
            assert_memory_equal(made, at_once, length);
            free(made);
            free(at_once);
        }
        htmlblocks_fini(blocks, COUNT);
    }
}

static void a_hash_is_that_of_the_published_example(void **state)
{
    char hash[HTML_HASH_BYTES];

    (void)state;
    /* FIPS 180-2, B.1: SHA-256 of "abc". */
    html_hash("abc", 3, hash);
    assert_string_equal(hash, "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/"
                              "YfIAFa0='");
}

/* Nothing that makes code or markup of a text is in the scripts. */
static void the_scripts_make_no_markup_of_text(void **state)
{
    static const char *const refused[] = {
        "innerHTML",    "outerHTML", "insertAdjacentHTML", "document.write",
        "eval(",        "Function(", "setAttribute('on",   "</script",
        "localStorage", "WebSocket", "XMLHttpRequest"};
    size_t length = (size_t)(page_script_end - page_script);
    const char *fetched = strstr(page_script, "fetch(");

    (void)state;
    assert_true(length > 10000);
    /* Only a live page asks, for one thing alone. */
    assert_non_null(fetched);
    assert_memory_equal(fetched, "fetch('../state', ", 18);
    assert_null(strstr(fetched + 1, "fetch("));
    assert_int_equal(page_script_end[0], '\0');
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_null(strstr(page_script, refused[i]));
    }
    assert_null(strstr(page_style, "</style"));
    assert_null(strstr(page_style, "url("));
}

static void a_page_of_an_empty_report_names_a_hostile_run(void **state)
{
    struct report report = {.name = "</title><script>x</script>",
                            .command = "",
                            .program = "",
                            .size = 1,
                            .present = 1};
    struct html_block block = {"report", "{}", 2, false, NULL};
    struct html_page page = {.report = &report,
                             .text = "text",
                             .text_length = 4,
                             .blocks = &block,
                             .blocks_count = 1};
    size_t length = 0;
    char *html = output_html(&page, &length);

    (void)state;
    assert_non_null(html);
    assert_int_equal(strlen(html), length);
    assert_null(strstr(html, "<script>x"));
    assert_non_null(strstr(html, "&lt;/title&gt;&lt;script&gt;x"));
    assert_non_null(strstr(html, "default-src 'none'; script-src 'sha256-"));
    free(html);
}

static void a_live_page_differs_by_what_it_may_ask(void **state)
{
    struct report report = {
        .name = "run", .command = "", .program = "", .size = 1, .present = 1};
    struct html_block block = {"report", "{}", 2, false, NULL};
    struct html_page page = {.report = &report,
                             .text = "text",
                             .text_length = 4,
                             .blocks = &block,
                             .blocks_count = 1};
    static const char asks[] = "connect-src 'self'; ";
    static const char mark[] = " data-live=\"yes\"";
    size_t length = 0, live_length = 0;
    char *html = output_html(&page, &length);
    char *live;
    char *at;

    (void)state;
    page.is_live = true;
    live = output_html(&page, &live_length);
    assert_non_null(html);
    assert_non_null(live);
    assert_null(strstr(html, asks));
    for (int i = 0; i < 2; i++) {
        const char *added = i == 0 ? asks : mark;

        at = strstr(live, added);
        assert_non_null(at);
        memmove(at, at + strlen(added), strlen(at + strlen(added)) + 1);
    }
    assert_string_equal(live, html);
    free(html);
    free(live);
}

static void long_lists_are_cut_and_the_page_shows_it(void **state)
{
    static struct report_kernel kernels[7];
    static struct report_call calls[3];
    struct report report = {.kernels = kernels,
                            .kernels_count = 7,
                            .calls = calls,
                            .calls_count = 3};
    struct report part;
    char text[HTML_CUT_TEXT];

    (void)state;
    html_cut(&report, 7, &part, text);
    assert_string_equal(text, "{}");
    assert_memory_equal(&part, &report, sizeof(part));
    html_cut(&report, 3, &part, text);
    assert_string_equal(text, "{\"kernels\":7}");
    assert_int_equal(part.kernels_count, 3);
    assert_ptr_equal(part.kernels, kernels);
    assert_int_equal(part.calls_count, 3);
    html_cut(&report, 1, &part, text);
    assert_string_equal(text, "{\"kernels\":7,\"calls\":3}");
    assert_int_equal(report.kernels_count, 7);
}

static char *tables_of(const struct report *report)
{
    char *html = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&html, &length);

    assert_non_null(file);
    html_tables(file, report);
    assert_int_equal(fclose(file), 0);
    return html;
}

static size_t times_of(const char *html, const char *part)
{
    size_t times = 0;

    for (; (html = strstr(html, part)) != NULL; html++) {
        times++;
    }
    return times;
}

/* 30 kernels of 1 to 30 us, the longest first; one is hostile, one too long. */
static void tables_have_their_first_rows_without_scripts(void **state)
{
    static struct report_kernel kernels[30];
    static char text[301];
    struct report report = {.kernels = kernels, .kernels_count = 30};
    char *html;

    (void)state;
    memset(text, 'n', sizeof(text) - 1);
    memcpy(text + 99, "\xc3\xa9", 2); /* a letter of two bytes at the cut */
    for (size_t i = 0; i < 30; i++) {
        kernels[i] = (struct report_kernel){.name = i == 0   ? "<b>"
                                                    : i == 1 ? text
                                                             : "k",
                                            .calls = 1000 + i,
                                            .busy = (ck_time_t)(30 - i) * 1000,
                                            .rank_list = i == 2 ? "0-3" : ""};
    }
    html = tables_of(&report);
    assert_int_equal(times_of(html, "<h3>"), 1);
    assert_non_null(strstr(html, "<h3>Kernels (30)</h3>"));
    assert_int_equal(times_of(html, "<tr>"), 1 + HTMLTABLES_ROWS);
    assert_non_null(strstr(html, "10 more rows"));
    /* 30 of 465 us. */
    assert_non_null(strstr(html, "<tr><th scope=\"row\">&lt;b&gt;</th>"
                                 "<td class=\"number\">1,000</td>"
                                 "<td class=\"number\">30.0 us</td>"
                                 "<td class=\"number\">6.5 %</td>"));
    assert_non_null(strstr(html, "n ... n"));
    assert_null(strstr(html, "\xef\xbf\xbd"));
    assert_non_null(strstr(html, "<td>0-3</td>"));
    free(html);
}

static void functions_of_cxx_have_readable_names_in_tables(void **state)
{
    static struct report_hot hot[] = {
        {.place = {.function = "_ZN2at6native3addILi4EEEvPf",
                   .file = "/src/add.cpp",
                   .line = 7},
         .ns = 2500000,
         .ranks = 1}};
    struct report report = {.hot = hot, .hot_count = 1};
    char *html = tables_of(&report);

    (void)state;
    assert_non_null(strstr(html, ">at::native::add&lt;...&gt;</th>"
                                 "<td>add.cpp:7</td>"));
    free(html);
}

static void a_run_without_tables_has_a_sentence(void **state)
{
    struct report report = {.kernels_count = 0};
    char *html = tables_of(&report);

    (void)state;
    assert_non_null(strstr(html, "<p>No kernel, copy, call"));
    assert_null(strstr(html, "<table"));
    free(html);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_texts_are_shown_and_not_believed),
        cmocka_unit_test(a_zero_byte_ends_no_text),
        cmocka_unit_test(a_block_comes_out_as_it_went_in),
        cmocka_unit_test(blocks_that_two_threads_make_are_those_of_one),
        cmocka_unit_test(a_hash_is_that_of_the_published_example),
        cmocka_unit_test(the_scripts_make_no_markup_of_text),
        cmocka_unit_test(a_page_of_an_empty_report_names_a_hostile_run),
        cmocka_unit_test(a_live_page_differs_by_what_it_may_ask),
        cmocka_unit_test(long_lists_are_cut_and_the_page_shows_it),
        cmocka_unit_test(tables_have_their_first_rows_without_scripts),
        cmocka_unit_test(functions_of_cxx_have_readable_names_in_tables),
        cmocka_unit_test(a_run_without_tables_has_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
