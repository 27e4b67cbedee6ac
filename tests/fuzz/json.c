/* json.c - any bytes as JSON, in pieces of a size that the first byte gives;
 * pieces of another size must give the same tokens
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "merge/json/jsonread.h"
#include "tests/fuzz/target.h"

struct text {
    const uint8_t *at;
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

/* A sum over all that is read. */
static uint64_t walk(const uint8_t *data, size_t size, size_t piece)
{
    struct text text = {data, size, piece};
    struct json *json = json_create(text_read, &text);
    const struct json_token *token;
    uint64_t sum = 17;
    int64_t value = 0;

    while ((token = json_next(json))->type > JSON_END) {
        sum = sum * 31 + (uint64_t)token->type + token->offset;
        for (size_t i = 0; i < token->length; i++) {
            sum = sum * 31 + (uint8_t)token->text[i];
        }
        if (json_decimal(token, 3, &value) || json_int(token, &value)) {
            sum = sum * 31 + (uint64_t)value;
        }
    }
    sum = sum * 31 + json_error_offset(json);
    json_destroy(json);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && walk(data + 1, size - 1, 1u + data[0] % 40) !=
                        walk(data + 1, size - 1, SIZE_MAX)) {
        abort();
    }
    return 0;
}
