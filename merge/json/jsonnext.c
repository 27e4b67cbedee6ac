/* jsonnext.c - the next token of JSON, by the marks where they suffice
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is rare or wrong (escapes, bytes above 127, words, the end of the
 * buffer) is left to json_look().
 */
#include "merge/json/jsonread.h"

#include "merge/json/jsonover.h"
#include "merge/json/jsonstate.h"

/* Marks that are looked at for one token. */
#define MARKS_LEAST 4

/* Find marks from the next token on. */
static bool marks_renew(struct json *json)
{
    struct json_marks *marks = &json->marks;

    if (json->token.is_long || json->expect == EXPECT_END ||
        json->at == marks->text) {
        return false;
    }
    json_marks_find(marks, json->at, (size_t)(json->end - json->at));
    return marks->end - marks->next >= MARKS_LEAST;
}

/* The mark of the next token; NULL = there are too few. */
static inline const uint16_t *marks_here(struct json *json)
{
    struct json_marks *marks = &json->marks;

    if (marks->end - marks->next < MARKS_LEAST && !marks_renew(json)) {
        return NULL;
    }
    while (marks->text + *marks->next < json->at) {
        marks->next++;
        if (marks->end - marks->next < MARKS_LEAST) {
            return NULL;
        }
    }
    /* What json_look() left half read is for it to see. */
    return marks->text + *marks->next == json->at ||
                   json_scan_space(json->at) != json->at
               ? marks->next
               : NULL;
}

/* The string between two marks. */
static inline const struct json_token *
text_marked(struct json *json, const uint16_t *next, enum json_type type)
{
    struct json_token *token = &json->token;
    uint8_t *start = json->marks.text + next[0];

    token->type = type;
    token->text = (const char *)start + 1;
    token->length = (size_t)(next[1] - next[0] - 1);
    token->offset = json_offset_of(json, start);
    json->given = 0;
    return token;
}

static inline const struct json_token *name_marked(struct json *json,
                                                   const uint16_t *next)
{
    const struct json_marks *marks = &json->marks;

    if (marks->text[next[0]] != '"' || marks->text[next[2]] != ':' ||
        !json_marks_plain(marks, next[0], next[1])) {
        return NULL;
    }
    json->at = marks->text + next[2] + 1;
    json->marks.next = next + 3;
    json->expect = EXPECT_VALUE;
    return text_marked(json, next, JSON_NAME);
}

static inline const struct json_token *number_marked(struct json *json,
                                                     const uint16_t *next)
{
    struct json_token *token = &json->token;
    uint8_t *start = json->marks.text + next[0];
    uint8_t *end = json_scan_digits(start);

    if (end == NULL ||
        (end != json->marks.text + next[1] && json_scan_space(end) == end)) {
        return NULL;
    }
    token->type = JSON_NUMBER;
    token->text = (const char *)start;
    token->length = (size_t)(end - start);
    token->offset = json_offset_of(json, start);
    json->at = end;
    json->marks.next = next + 1;
    return token;
}

static inline const struct json_token *value_marked(struct json *json,
                                                    const uint16_t *next)
{
    const struct json_marks *marks = &json->marks;
    uint8_t *at = marks->text + next[0];
    const struct json_token *token = NULL;

    if (*at == '"') {
        if (json_marks_plain(marks, next[0], next[1])) {
            json->at = marks->text + next[1] + 1;
            json->marks.next = next + 2;
            token = text_marked(json, next, JSON_STRING);
        }
    } else if (*at == '{' || *at == '[') {
        json->at = at;
        json->marks.next = next + 1;
        return json_container_begin(json, *at == '{');
    } else if (*at <= '9') {
        token = number_marked(json, next);
    }
    if (token != NULL) {
        json->expect = json->depth == 0 ? EXPECT_END : EXPECT_MORE;
    }
    return token;
}

/* NULL = look closer. */
static inline const struct json_token *marked_next(struct json *json)
{
    const uint16_t *next = marks_here(json);
    bool is_object = json->depth > 0 && json->is_object[json->depth - 1];
    uint8_t first;

    if (next == NULL) {
        return NULL;
    }
    first = json->marks.text[*next];
    if (json->expect == EXPECT_MORE && first == ',') {
        next++;
        return is_object ? name_marked(json, next) : value_marked(json, next);
    }
    if (json->expect == EXPECT_VALUE) {
        return value_marked(json, next);
    }
    if (json->expect != EXPECT_NAME && json->expect != EXPECT_END &&
        first == (is_object ? '}' : ']')) {
        json->at = json->marks.text + *next;
        json->marks.next = next + 1;
        return json_container_end(json);
    }
    if (json->expect == EXPECT_FIRST_VALUE) {
        return value_marked(json, next);
    }
    return json->expect == EXPECT_FIRST_NAME ? name_marked(json, next) : NULL;
}

const struct json_token *json_next(struct json *json)
{
    const struct json_token *token = json->has_marks ? marked_next(json) : NULL;

    return token != NULL ? token : json_look(json);
}

const struct json_token *json_last(const struct json *json)
{
    return &json->token;
}

/* Over what is left of the container that the last token began. False: it is
 * not whole in the buffer, or wants a closer look. */
static bool container_skip(struct json *json)
{
    bool is_object = json->token.type == JSON_OBJECT;
    struct json_over over;

    if (!json->has_marks || json_offset_of(json, json->at) < json->no_skip ||
        marks_here(json) == NULL) {
        return false;
    }
    over = json_over(&json->marks, is_object);
    if (!over.is_over && json->marks.end - over.next < JSON_OVER_LEAST &&
        marks_renew(json)) {
        over = json_over(&json->marks, is_object);
    }
    if (!over.is_over) {
        json->no_skip = json_offset_of(json, json->marks.text + *over.next);
        return false;
    }
    json->at = json->marks.text + over.next[-1];
    json->marks.next = over.next;
    (void)json_container_end(json);
    return true;
}

const struct json_token *json_element(struct json *json)
{
    const struct json_token *token = json_next(json);

    return token->type <= JSON_END || token->type == JSON_ARRAY_END ? NULL
                                                                    : token;
}

bool json_skip(struct json *json)
{
    unsigned depth;

    if (json->token.type == JSON_NAME) {
        (void)json_next(json);
    }
    if (json->token.type != JSON_OBJECT && json->token.type != JSON_ARRAY) {
        return json->token.type != JSON_ERROR;
    }
    depth = json->depth;
    while (json->depth >= depth) {
        bool is_begin =
            json->token.type == JSON_OBJECT || json->token.type == JSON_ARRAY;

        if (is_begin && container_skip(json)) {
            continue;
        }
        if (json_next(json)->type == JSON_ERROR) {
            return false;
        }
    }
    return true;
}
