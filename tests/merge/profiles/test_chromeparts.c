/* test_chromeparts.c - several threads read the events that one would read
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
#include <unistd.h>

#include "merge/profiles/chromeparts.h"
#include "tests/merge/chance.h"

/* A text in a file, and what a reader of it has read. */
struct text {
    FILE *file;
    int64_t at;
};

static int64_t text_read(void *state, void *to, size_t room)
{
    struct text *text = state;
    ssize_t n = pread(fileno(text->file), to, room, (off_t)text->at);

    text->at += n > 0 ? n : 0;
    return n;
}

static void text_init(struct text *text, const char *bytes, size_t length)
{
    text->file = tmpfile();
    text->at = 0;
    assert_non_null(text->file);
    assert_int_equal(fwrite(bytes, 1, length, text->file), length);
    assert_int_equal(fflush(text->file), 0);
}

static void event_print(FILE *out, const struct chrome_event *event)
{
    fprintf(out, "%llu %c %d %lld+%lld %lld/%lld #%llu %u,%u,%u ",
            (unsigned long long)event->offset,
            event->phase == 0 ? '-' : event->phase, (int)event->category,
            (long long)event->start, (long long)event->dur,
            (long long)event->pid, (long long)event->tid,
            (unsigned long long)event->correlation, event->grid[0],
            event->grid[1], event->grid[2]);
    (void)fwrite(event->name, 1, event->name_length, out);
    fputc('|', out);
    (void)fwrite(event->text, 1, event->text_length, out);
    fputc('\n', out);
}

/* What follows, by one thread; the last token is that of an event. */
static void rest_print(struct json *json, FILE *out)
{
    static struct chrome_event event;
    const struct json_token *token = json_last(json);

    while (token->type > JSON_END) {
        uint64_t offset = token->offset;

        fprintf(out, "%d@%llu\n", token->type, (unsigned long long)offset);
        if (token->type == JSON_OBJECT && json_depth(json) == 2 &&
            chromeevent_read(json, &event)) {
            event.offset = offset;
            event_print(out, &event);
        }
        token = json_next(json);
    }
    if (token->type == JSON_ERROR) {
        fprintf(out, "%s\n", json_error(json));
    }
}

/* How a text is read; no threads = plainly. */
struct way {
    unsigned threads;
    size_t part_bytes;
    size_t length; /* of the text */
};

static void parts_print(struct text *text,
                        struct json *json,
                        const struct way *way,
                        FILE *out)
{
    static struct chrome_event event;
    struct chromeparts_plan plan = {.fd = fileno(text->file),
                                    .from = json_last(json)->offset,
                                    .to = way->length,
                                    .part_bytes = way->part_bytes,
                                    .threads = way->threads,
                                    .depth = json_depth(json) - 1};
    struct chromeparts *parts = chromeparts_create(&plan, json);

    assert_non_null(parts);
    while (chromeparts_next(parts, &event)) {
        fprintf(out, "%d@%llu\n", JSON_OBJECT,
                (unsigned long long)event.offset);
        event_print(out, &event);
    }
    text->at = (int64_t)chromeparts_offset(parts);
    json_jump(json, plan.depth, chromeparts_offset(parts));
    chromeparts_destroy(parts);
    (void)json_next(json);
}

/* All events as lines, and how it ended; the caller frees it. */
static char *read_as(const char *bytes, const struct way *way)
{
    struct text text;
    struct json *json = json_create(text_read, &text);
    char *lines = NULL;
    size_t size;
    FILE *out = open_memstream(&lines, &size);

    assert_non_null(json);
    text_init(&text, bytes, way->length);
    if (json_next(json)->type == JSON_ARRAY &&
        json_next(json)->type == JSON_OBJECT && way->threads > 0) {
        parts_print(&text, json, way, out);
    }
    rest_print(json, out);
    (void)fclose(out);
    (void)fclose(text.file);
    json_destroy(json);
    return lines;
}

static void check(const char *bytes, size_t length, unsigned seed)
{
    struct way way = {0, 0, length};
    char *wanted = read_as(bytes, &way);
    char *seen;

    way.threads = 1 + seed % 4;
    way.part_bytes = 1 + seed / 4 % 997;
    seen = read_as(bytes, &way);
    if (strcmp(seen, wanted) != 0) {
        print_error("%u threads, parts of %zu bytes, text of %zu bytes:\n%s\n",
                    way.threads, way.part_bytes, length, bytes);
    }
    assert_string_equal(seen, wanted);
    free(seen);
    free(wanted);
}

static const char *const events[] = {
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1.25,\"dur\":3}",
    "{\"name\":\"}, {\\\"ph\\\":\\\"X\\\"}, {\",\"ts\":2}",
    "{\"args\":{\"Sizes\":[{}, {},{\"name\":\"in\"} , {\"x\":1}]},\"ts\":3}",
    "{}",
    "{\"name\":\"\xc3\xa9\\u00e9\",\"args\":{\"grid\":[1,2,3],\"name\":\"n\"}}",
    "{\"name\":\"[[[[{{{{\\\\\",\"pid\":\"p\",\"tid\":7, \"ph\" : \"i\" }",
    "{\"args\":[[{\"a\":{}},{}],{},{}],\"ts\":\"x\"}",
};
static const char *const odd[] = {"7",  "[{},{}]", "null", "\"}, {\"",
                                  "}",  "]",       "{",    ",",
                                  "\"", "{\"a\"}", "nul",  "[{}, {}, {}"};

/* An array of events; rarely with something that is none. */
static size_t text_make(char *text, unsigned *seed)
{
    static const char *const between[] = {",", ", ", ",\n  ", " ,\t", "\n,"};
    size_t used = 0;
    unsigned count = 1 + rand_r(seed) % 60;
    bool is_odd = rand_r(seed) % 4 == 0;

    text[used++] = '[';
    for (unsigned i = 0; i < count; i++) {
        const char *event = events[rand_r(seed) % 7];
        const char *comma = i > 0 ? between[rand_r(seed) % 5] : "";

        if (is_odd && rand_r(seed) % 20 == 0) {
            event = odd[rand_r(seed) % 12];
        }
        used += (size_t)sprintf(text + used, "%s%s", comma, event);
    }
    used += (size_t)sprintf(text + used, "%s", rand_r(seed) % 8 ? "]" : "");
    return used;
}

static void any_parts_give_the_same_events(void **state)
{
    unsigned seed = chance_rand_seed();
    static char text[16 * 1024];

    (void)state;
    for (int i = 0; i < 1500; i++) {
        size_t length = text_make(text, &seed);

        check(text, length, (unsigned)rand_r(&seed));
    }
}

static void a_text_cut_at_any_byte_ends_the_same(void **state)
{
    static char text[16 * 1024];
    unsigned seed = 5;
    size_t length = 0;

    (void)state;
    while (length < 600 || length > 1200) {
        length = text_make(text, &seed);
    }
    for (size_t cut = 0; cut <= length; cut++) {
        text[cut] = '\0';
        check(text, cut, (unsigned)rand_r(&seed));
        seed = (unsigned)cut;
        text[cut] = ' ';
    }
}

/* Longer than what is looked at for the beginning of an event. */
static void an_event_may_reach_over_many_parts(void **state)
{
    enum { LONG = 300 * 1024 };
    char *text = malloc(LONG + 4096);
    size_t used = (size_t)sprintf(text, "[{\"ts\":1},{\"args\":{\"x\":\"");
    struct way way = {3, 10000, 0};
    struct way plain = {0, 0, 0};
    char *seen, *wanted;

    (void)state;
    memset(text + used, 'x', LONG);
    used += LONG;
    used += (size_t)sprintf(text + used, "\"},\"ts\":2},{\"ts\":3}]");
    way.length = plain.length = used;
    seen = read_as(text, &way);
    wanted = read_as(text, &plain);
    assert_string_equal(seen, wanted);
    assert_non_null(strstr(seen, " 3000+0 "));
    free(seen);
    free(wanted);
    free(text);
}

/* Read from within a string it is a list of events as well, of others. */
static void a_part_begun_within_a_string_is_begun_again(void **state)
{
    static const char event[] = "{\":1}, {\":\":1}, {\"}";
    enum { COUNT = 300 };
    char *text = malloc(COUNT * (sizeof(event) + 2) + 2);
    size_t used = 0;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        used += (size_t)sprintf(text + used, "%s%s", i > 0 ? ", " : "[", event);
    }
    used += (size_t)sprintf(text + used, "]");
    for (unsigned seed = 0; seed < 1000; seed++) {
        check(text, used, seed);
    }
    free(text);
}

/* A part packs into more than it may: one thread reads on. */
static void empty_events_without_end_are_read_by_one(void **state)
{
    enum { COUNT = 150000 };
    char *text = malloc(COUNT * 3 + 3);
    size_t used = 0;
    struct way way = {2, COUNT * 2, 0};
    struct way plain = {0, 0, 0};
    char *seen, *wanted;

    (void)state;
    text[used++] = '[';
    for (int i = 0; i < COUNT; i++) {
        used += (size_t)sprintf(text + used, "%s{}", i > 0 ? "," : "");
    }
    used += (size_t)sprintf(text + used, "]");
    way.length = plain.length = used;
    seen = read_as(text, &way);
    wanted = read_as(text, &plain);
    assert_true(strcmp(seen, wanted) == 0);
    free(seen);
    free(wanted);
    free(text);
}

/* Who asks for a few events only stops the others. */
static void it_may_be_left_before_its_end(void **state)
{
    static struct chrome_event event;
    static char text[16 * 1024];
    struct text file;
    struct json *json = json_create(text_read, &file);
    struct chromeparts_plan plan = {.part_bytes = 64, .threads = 4};
    struct chromeparts *parts;
    size_t used = 1;

    (void)state;
    text[0] = '[';
    while (used < sizeof(text) - 200) {
        used += (size_t)sprintf(text + used, "%s%s", used > 1 ? "," : "",
                                events[0]);
    }
    text_init(&file, text, used);
    assert_int_equal(json_next(json)->type, JSON_ARRAY);
    plan.from = json_next(json)->offset;
    plan.fd = fileno(file.file);
    plan.to = used;
    plan.depth = 1;
    for (int i = 0; i < 20; i++) {
        parts = chromeparts_create(&plan, json);
        assert_non_null(parts);
        for (int wanted = 0; wanted < i; wanted++) {
            assert_true(chromeparts_next(parts, &event));
            assert_int_equal(event.start, 1250);
        }
        chromeparts_destroy(parts);
    }
    (void)fclose(file.file);
    json_destroy(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_parts_give_the_same_events),
        cmocka_unit_test(a_text_cut_at_any_byte_ends_the_same),
        cmocka_unit_test(an_event_may_reach_over_many_parts),
        cmocka_unit_test(a_part_begun_within_a_string_is_begun_again),
        cmocka_unit_test(empty_events_without_end_are_read_by_one),
        cmocka_unit_test(it_may_be_left_before_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
