/* jsonread.c - a JSON reader: one token after the other, from any stream of
 * bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A token is looked at where it is in the buffer, which moves on when the
 * token reaches its end. Behind the last byte there are always PAD zeros, so
 * that a scan of 16 bytes at a time stops there: zero is in no JSON text.
 */
#include "merge/json/jsonread.h"

#include <stdlib.h>

#include "merge/json/jsonstate.h"
#include "merge/model/memory.h"

#define PAD JSON_SCAN_PAD
/* Of a usual number; a longer one is looked at twice where it is cut. */
#define NUMBER_BYTES 48

struct json *json_create(json_read_f read, void *state)
{
    struct json *json = xmalloc(sizeof(*json));

    memset(json, 0, offsetof(struct json, bytes));
    json->read = read;
    json->state = state;
    json->has_marks = json_marks_can();
    json_marks_drop(json);
    json->at = json->end = json->bytes;
    memset(json->bytes, 0, PAD);
    return json;
}

struct json *
json_create_beside(const struct json *json, json_read_f read, void *state)
{
    struct json *beside = json_create(read, state);

    memcpy(beside->is_object, json->is_object, sizeof(json->is_object));
    return beside;
}

void json_jump(struct json *json, unsigned depth, uint64_t offset)
{
    json->at = json->end = json->bytes;
    memset(json->bytes, 0, PAD);
    json_marks_drop(json);
    json->base = offset;
    json->no_skip = 0;
    json->is_eof = false;
    json->is_in_string = false;
    json->depth = depth;
    json->expect = EXPECT_VALUE;
    json->err.text[0] = '\0';
    memset(&json->token, 0, sizeof(json->token));
}

void json_destroy(struct json *json)
{
    free(json);
}

static const struct json_token *
fail(struct json *json, const uint8_t *at, const char *what)
{
    if (json->err.text[0] == '\0') {
        json->error_offset = json_offset_of(json, at);
        (void)ck_err_set(&json->err, "byte %llu: %s",
                         (unsigned long long)json->error_offset, what);
    }
    json->token.type = JSON_ERROR;
    json->token.is_long = false;
    json->token.text = "";
    json->token.length = 0;
    json->expect = EXPECT_END;
    return &json->token;
}

/* A byte order mark before the text: allowed, and no part of it. */
static void mark_skip(struct json *json)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};

    if (json->base == 0 && json->at == json->bytes &&
        json->end - json->at >= (ptrdiff_t)sizeof(mark) &&
        memcmp(json->at, mark, sizeof(mark)) == 0) {
        json->at += sizeof(mark);
    }
}

/* Read more behind json->end; what is before `keep` may go. True when
 * something came. */
static bool refill(struct json *json, uint8_t **keep)
{
    size_t gone = (size_t)(*keep - json->bytes);
    size_t used = (size_t)(json->end - *keep);
    int64_t n;

    if (json->is_eof || used == JSON_BUFFER_BYTES) {
        return false;
    }
    memmove(json->bytes, *keep, used);
    json_marks_drop(json);
    json->base += gone;
    json->at -= gone;
    *keep = json->bytes;
    json->end = json->bytes + used;
    n = json->read(json->state, json->end, JSON_BUFFER_BYTES - used);
    if (n <= 0) {
        json->is_eof = true;
        if (n < 0) {
            (void)fail(json, json->end, "the file cannot be read on");
        }
        n = 0;
    }
    json->end += n;
    memset(json->end, 0, PAD);
    if (used == 0 && json->token.type == JSON_ERROR) {
        mark_skip(json); /* no token yet */
    }
    return n > 0;
}

/* To the first byte that is no white space. False at the end of the text. */
static bool to_token(struct json *json)
{
    for (;;) {
        uint8_t *at = json->at;

        at = json_scan_space(at);
        json->at = at;
        if (at < json->end) {
            return true;
        }
        if (!refill(json, &at)) {
            return false;
        }
    }
}

/* A part of a long string that is in the buffer, decoded in place. Leaves a
 * cut escape or character for the next time. */
static bool string_part(struct json *json)
{
    uint8_t *start = json->at;
    struct json_scan scan = json_scan_string(start, json->end);
    uint8_t *stop = scan.end;
    bool is_last = scan.stop == JSON_SCAN_QUOTE;

    if (scan.stop == JSON_SCAN_CONTROL) {
        (void)fail(json, stop, "a control character in a string");
        return false;
    }
    if (!is_last) {
        stop = json_scan_whole(start, json->end);
    }
    json->token.text = (const char *)start;
    json->given = 0;
    json->at = is_last ? stop + 1 : stop;
    json->is_in_string = !is_last;
    if (!json_decode(start, stop, &json->token.length, &scan)) {
        (void)fail(json, scan.end, scan.error);
        return false;
    }
    return true;
}

int64_t json_string_read(void *source, void *to, size_t room)
{
    struct json *json = source;

    while (json->given == json->token.length) {
        uint8_t *keep = json->at;

        if (!json->is_in_string) {
            return 0;
        }
        if (json->end - json->at < 16) {
            (void)refill(json, &keep);
        }
        if (!string_part(json)) {
            return -1;
        }
        if (json->token.length == 0 && json->is_in_string && json->is_eof) {
            (void)fail(json, json->end, "the text ends within a string");
            return -1;
        }
    }
    if (room > json->token.length - json->given) {
        room = json->token.length - json->given;
    }
    memcpy(to, json->token.text + json->given, room);
    json->given += room;
    return (int64_t)room;
}

/* A string that began at `start` (its quote) and does not fit. */
static const struct json_token *string_long(struct json *json, uint8_t *start)
{
    json->token.is_long = true;
    json->token.text = "";
    json->token.length = 0;
    json->given = 0;
    json->at = start + 1;
    json->is_in_string = true;
    json_marks_drop(json);
    return &json->token;
}

/* A string that json_scan_short() did not see the end of. */
static const struct json_token *string_scan(struct json *json,
                                            enum json_type type)
{
    uint8_t *start = json->at;
    struct json_scan scan;

    for (;;) {
        scan = json_scan_string(start + 1, json->end);
        if (scan.stop == JSON_SCAN_QUOTE || scan.stop == JSON_SCAN_CONTROL) {
            break;
        }
        if ((size_t)(json->end - start) > JSON_TEXT_MAX) {
            return type == JSON_NAME
                       ? fail(json, start, "the name of a member is too long")
                       : string_long(json, start);
        }
        if (!refill(json, &start)) {
            return fail(json, json->end, "the text ends within a string");
        }
    }
    if (scan.stop == JSON_SCAN_CONTROL) {
        return fail(json, scan.end, "a control character in a string");
    }
    json->token.text = (const char *)start + 1;
    json->token.length = (size_t)(scan.end - start - 1);
    json->at = scan.end + 1;
    json->given = 0;
    if (scan.needs_decode &&
        !json_decode(start + 1, scan.end, &json->token.length, &scan)) {
        return fail(json, scan.end, scan.error);
    }
    return &json->token;
}

static inline const struct json_token *string_next(struct json *json,
                                                   enum json_type type)
{
    uint8_t *start = json->at;
    int length = json_scan_short(start + 1);

    json->token.type = type;
    json->token.offset = json_offset_of(json, start);
    if (length < 0) {
        return string_scan(json, type);
    }
    json->token.text = (const char *)start + 1;
    json->token.length = (size_t)length;
    json->at = start + 1 + length + 1;
    json->given = 0;
    return &json->token;
}

/* A number or a word: whole in the buffer. Its first byte behind it. */
static uint8_t *word_end(struct json *json, uint8_t **start)
{
    size_t length = 0;

    for (;;) {
        length = json_scan_word(*start + length) - *start;
        if (*start + length < json->end) {
            return *start + length;
        }
        if (length > JSON_TEXT_MAX || !refill(json, start)) {
            return *start + length;
        }
    }
}

static const struct json_token *word_next(struct json *json)
{
    static const struct {
        const char *text;
        enum json_type type;
    } words[] = {{"true", JSON_TRUE},    {"false", JSON_FALSE},
                 {"null", JSON_NULL},    {"NaN", JSON_NAN},
                 {"Infinity", JSON_NAN}, {"-Infinity", JSON_NAN}};
    uint8_t *start = json->at;
    uint8_t *end = word_end(json, &start);

    json->token.offset = json_offset_of(json, start);
    json->token.text = (const char *)start;
    json->token.length = (size_t)(end - start);
    json->at = end;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (json_is(&json->token, words[i].text)) {
            json->token.type = words[i].type;
            return &json->token;
        }
    }
    return fail(json, start,
                end < json->end ? "this is no JSON value"
                                : "the text ends within a value");
}

/* A number that is in the buffer, else as a word first. */
static inline const struct json_token *number_next(struct json *json)
{
    uint8_t *start = json->at;
    uint8_t *end;

    if (json->end - start < NUMBER_BYTES) {
        (void)word_end(json, &start);
    }
    end = json_scan_number(start);
    if (end == json->end && !json->is_eof) {
        (void)word_end(json, &start);
        end = json_scan_number(start);
    }
    if (end == NULL ||
        (*end != ',' && *end != '}' && json_scan_word(end) != end)) {
        return word_next(json);
    }
    json->token.type = JSON_NUMBER;
    json->token.offset = json_offset_of(json, start);
    json->token.text = (const char *)start;
    json->token.length = (size_t)(end - start);
    json->at = end;
    return &json->token;
}

static const struct json_token *structure(struct json *json,
                                          enum json_type type)
{
    json->token.type = type;
    json->token.offset = json_offset_of(json, json->at);
    json->token.text = "";
    json->token.length = 0;
    json->at++;
    return &json->token;
}

const struct json_token *json_container_begin(struct json *json, bool is_object)
{
    if (json->depth == JSON_DEPTH_MAX) {
        return fail(json, json->at, "nested too deeply");
    }
    json->is_object[json->depth++] = is_object;
    json->expect = is_object ? EXPECT_FIRST_NAME : EXPECT_FIRST_VALUE;
    return structure(json, is_object ? JSON_OBJECT : JSON_ARRAY);
}

const struct json_token *json_container_end(struct json *json)
{
    bool is_object = json->is_object[--json->depth];

    json->expect = json->depth == 0 ? EXPECT_END : EXPECT_MORE;
    return structure(json, is_object ? JSON_OBJECT_END : JSON_ARRAY_END);
}

static inline const struct json_token *value_next(struct json *json)
{
    uint8_t first = *json->at;

    if (first == '{' || first == '[') {
        return json_container_begin(json, first == '{');
    }
    json->expect = json->depth == 0 ? EXPECT_END : EXPECT_MORE;
    if (first == '"') {
        return string_next(json, JSON_STRING);
    }
    return (first >= '0' && first <= '9') || first == '-' ? number_next(json)
                                                          : word_next(json);
}

static inline const struct json_token *name_next(struct json *json)
{
    if (*json->at != '"') {
        return fail(json, json->at, "the name of a member is missing");
    }
    if (string_next(json, JSON_NAME)->type == JSON_ERROR) {
        return &json->token;
    }
    json->expect = EXPECT_VALUE;
    if (*json->at == ':') {
        json->at++;
        return &json->token;
    }
    return NULL; /* the colon is further on */
}

/* The colon is not next to the name: the name is kept while it is looked
 * for. */
static const struct json_token *colon_next(struct json *json)
{
    static const char missing[] = "a colon is missing behind a name";
    uint8_t *keep = (uint8_t *)(uintptr_t)json->token.text;

    for (;;) {
        uint8_t *at = json->at;

        at = json_scan_space(at);
        json->at = at;
        if (at < json->end) {
            break;
        }
        if (!refill(json, &keep)) {
            return fail(json, json->end, missing);
        }
        json->token.text = (const char *)keep;
    }
    if (*json->at != ':') {
        return fail(json, json->at, missing);
    }
    json->at++;
    return &json->token;
}

/* Behind a value within a container: the comma, and then as if first. */
static inline const struct json_token *more_next(struct json *json)
{
    bool is_object = json->is_object[json->depth - 1];

    if (*json->at == (is_object ? '}' : ']')) {
        return json_container_end(json);
    }
    if (*json->at != ',') {
        return fail(json, json->at, "a comma or the end is missing");
    }
    json->at++;
    json->expect = is_object ? EXPECT_NAME : EXPECT_VALUE;
    return NULL;
}

static const struct json_token *end_next(struct json *json)
{
    static const char early[] = "the text ends before it is complete";

    if (json->err.text[0] != '\0') {
        return fail(json, json->end, early);
    }
    if (json->expect != EXPECT_END) {
        json->is_unclosed =
            json->depth == 1 && !json->is_object[0] &&
            (json->expect == EXPECT_MORE || json->expect == EXPECT_VALUE);
        return fail(json, json->end, early);
    }
    json->token.type = JSON_END;
    json->token.text = "";
    json->token.length = 0;
    return &json->token;
}

/* Step over a long string that was not read. */
static bool string_leave(struct json *json)
{
    char skipped[4096];
    int64_t n;

    do {
        n = json_string_read(json, skipped, sizeof(skipped));
    } while (n > 0);
    json->token.is_long = false;
    return n == 0;
}

const struct json_token *json_look(struct json *json)
{
    const struct json_token *token;

    /* The usual way from a member to the next: ,"name". */
    if (json->expect == EXPECT_MORE && json->at[0] == ',' &&
        json->at[1] == '"' && json->is_object[json->depth - 1] &&
        !json->token.is_long) {
        json->at++;
        token = name_next(json);
        return token != NULL ? token : colon_next(json);
    }
    if (json->expect == EXPECT_VALUE && *json->at > ' ') {
        return value_next(json);
    }
    if (json->token.is_long && !string_leave(json)) {
        return &json->token;
    }
    for (;;) {
        if (json->err.text[0] != '\0') {
            return fail(json, json->at, "");
        }
        /* Behind the end there are zeros. */
        if (*json->at <= ' ' && !to_token(json)) {
            return end_next(json);
        }
        switch (json->expect) {
        case EXPECT_FIRST_VALUE:
            if (*json->at == ']') {
                return json_container_end(json);
            }
            return value_next(json);
        case EXPECT_VALUE:
            return value_next(json);
        case EXPECT_FIRST_NAME:
            if (*json->at == '}') {
                return json_container_end(json);
            }
            token = name_next(json);
            return token != NULL ? token : colon_next(json);
        case EXPECT_NAME:
            token = name_next(json);
            return token != NULL ? token : colon_next(json);
        case EXPECT_MORE:
            token = more_next(json);
            if (token != NULL) {
                return token;
            }
            break;
        case EXPECT_END:
            return fail(json, json->at, "there is more behind the value");
        }
    }
}

const char *json_error(const struct json *json)
{
    return json->err.text;
}

uint64_t json_error_offset(const struct json *json)
{
    return json->error_offset;
}

bool json_is_unclosed(const struct json *json)
{
    return json->is_unclosed;
}

unsigned json_depth(const struct json *json)
{
    return json->depth;
}
