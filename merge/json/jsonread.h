/* jsonread.h - a JSON reader: one token after the other, from any stream of
 * bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     struct json *j = json_create(gzip_read, gzip);
 *     while (json_next(j)->type > JSON_END) ...
 *
 * Memory is one buffer, whatever the length of the text. It checks the whole
 * grammar and UTF-8. As Python's reader it also takes NaN, Infinity and
 * -Infinity, as a type of their own. Numbers stay text until they are asked
 * for, so no digit is lost.
 */
#ifndef CK_MERGE_JSON_JSONREAD_H
#define CK_MERGE_JSON_JSONREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schema/err.h"

/* Deepest nesting; deeper text is refused. */
#define JSON_DEPTH_MAX 512
/* Longest string that a token shows as a whole. */
#define JSON_TEXT_MAX ((size_t)64 << 10)

/* Readable bytes behind a number's text. */
#define JSON_TEXT_PAD 8

enum json_type {
    JSON_ERROR, /* json_error() has what and where */
    JSON_END,   /* of the text */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_NAME, /* of the member that follows */
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_NAN, /* NaN, Infinity or -Infinity */
};

struct json_token {
    enum json_type type;
    bool is_long; /* a string beyond JSON_TEXT_MAX: json_string_read() */
    /* NAME, STRING: decoded; NUMBER: as written, with JSON_TEXT_PAD readable
     * bytes behind it. */
    const char *text;
    size_t length;
    uint64_t offset; /* of its first byte in the text */
};

/* Up to `room` bytes to `to`: how many, 0 at the end, -1 = cannot go on. */
typedef int64_t (*json_read_f)(void *state, void *to, size_t room);

struct json;
struct json *json_create(json_read_f read, void *state);
/* Another reader, for json_jump() into the same containers. */
struct json *
json_create_beside(const struct json *json, json_read_f read, void *state);
void json_destroy(struct json *json);
/* Go on where a value of the array begins that is the depth-th container, at
 * that byte of the text. From now on `read` gives bytes from there. */
void json_jump(struct json *json, unsigned depth, uint64_t offset);

/* The next token; it and its text are borrowed until the next call. After
 * JSON_END and JSON_ERROR the same again. */
const struct json_token *json_next(struct json *json);
/* Step over what is left of the value that the last token began (nothing for
 * a scalar), or over the value of the last NAME. False after an error. */
bool json_skip(struct json *json);
/* The next value of an array that is open; a caller that does not read on in it
 * steps over it. NULL at the array's end, and after an error. */
const struct json_token *json_element(struct json *json);
/* The last token again. */
const struct json_token *json_last(const struct json *json);
/* The decoded bytes of the string of the last token, piece by piece: how
 * many, 0 at its end, -1 after an error. A json_read_f over a struct json. */
int64_t json_string_read(void *json, void *to, size_t room);
/* Of an error: "byte N: what"; "" = none. Borrowed. */
const char *json_error(const struct json *json);
uint64_t json_error_offset(const struct json *json);
/* After an error: the text ends between two values of an outermost array, or
 * behind its last one. Of a Chrome trace that is allowed. */
bool json_is_unclosed(const struct json *json);
/* Containers that are open. */
unsigned json_depth(const struct json *json);

/* True when the text of a name or a string is that. */
static inline bool json_is(const struct json_token *token, const char *text)
{
    size_t length = strlen(text);

    return token->length == length && memcmp(token->text, text, length) == 0;
}

/* The value of a NUMBER, or of a STRING of digits. False: it is no integer, or
 * does not fit. */
bool json_int(const struct json_token *token, int64_t *value);
/* A NUMBER (or a STRING with one) times 10^places, to the nearest integer,
 * exact: microseconds with decimals to nanoseconds with places = 3. False: no
 * number, or it does not fit. */
bool json_decimal(const struct json_token *token,
                  unsigned places,
                  int64_t *value);
bool json_double(const struct json_token *token, double *value);

#endif
