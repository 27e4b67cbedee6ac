/* jsonstate.h - what the JSON reader knows, for json.c and jsonnext.c
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_JSON_JSONSTATE_H
#define CK_MERGE_JSON_JSONSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "merge/json/jsonmarks.h"
#include "merge/json/jsonscan.h"

#define JSON_BUFFER_BYTES ((size_t)128 << 10)

/* What may come next. */
enum expect {
    EXPECT_VALUE,
    EXPECT_FIRST_VALUE, /* or the end of the array */
    EXPECT_FIRST_NAME,  /* or the end of the object */
    EXPECT_NAME,
    EXPECT_MORE, /* a comma, or the end of the container */
    EXPECT_END,  /* of the text */
};

struct json {
    json_read_f read;
    void *state;
    uint8_t *at; /* next byte to be looked at */
    uint8_t *end;
    uint64_t base; /* offset of bytes[0] in the text */
    bool is_eof;
    bool is_in_string; /* a long one is not yet read to its end */
    bool is_unclosed; /* the text ended between values of the outermost array */
    bool has_marks;   /* they are worth it on this processor */
    enum expect expect;
    unsigned depth;
    struct json_token token;
    size_t given;     /* of the token's text, by json_string_read() */
    uint64_t no_skip; /* json_over() came to nothing before that byte */
    uint64_t error_offset;
    struct ck_err err;
    bool is_object[JSON_DEPTH_MAX];
    uint8_t bytes[JSON_BUFFER_BYTES + JSON_SCAN_PAD];
    struct json_marks marks;
};

static inline uint64_t json_offset_of(const struct json *json,
                                      const uint8_t *at)
{
    return json->base + (uint64_t)(at - json->bytes);
}

/* What is in the buffer has moved, or is no text between tokens. */
static inline void json_marks_drop(struct json *json)
{
    json->marks.text = NULL;
    json->marks.next = json->marks.end = json->marks.marks;
}

/* The bracket at json->at. */
const struct json_token *json_container_begin(struct json *json,
                                              bool is_object);
const struct json_token *json_container_end(struct json *json);
/* The next token, found byte by byte. */
const struct json_token *json_look(struct json *json);

#endif
