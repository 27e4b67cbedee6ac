/* jsontokens.c - a JSON text as tokens, one a line, for comparison
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * jsontokens FILE: { } [ ] t f n N (NaN ...), k and s with the bytes in hex, d
 * with a number as written; "error" at the end of what is no JSON. With a
 * second argument, N: each N-th name or bracket is stepped over ("-").
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/gzip.h"

static void put_hex(char kind, const struct json_token *token)
{
    (void)putchar(kind);
    for (size_t i = 0; i < token->length; i++) {
        (void)printf("%02x", (unsigned char)token->text[i]);
    }
    (void)putchar('\n');
}

static void put(const struct json_token *token)
{
    static const char marks[] = {
        [JSON_OBJECT] = '{',    [JSON_OBJECT_END] = '}', [JSON_ARRAY] = '[',
        [JSON_ARRAY_END] = ']', [JSON_TRUE] = 't',       [JSON_FALSE] = 'f',
        [JSON_NULL] = 'n',      [JSON_NAN] = 'N'};

    if (token->type == JSON_NAME || token->type == JSON_STRING) {
        put_hex(token->type == JSON_NAME ? 'k' : 's', token);
    } else if (token->type == JSON_NUMBER) {
        (void)printf("d%.*s\n", (int)token->length, token->text);
    } else {
        (void)printf("%c\n", marks[token->type]);
    }
}

int main(int argc, char **argv)
{
    struct ck_err err;
    struct gzip *gzip = argc >= 2 ? gzip_open(argv[1], &err) : NULL;
    struct json *json = gzip == NULL ? NULL : json_create(gzip_read, gzip);
    unsigned every = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    unsigned count = 0;
    const struct json_token *token;

    if (json == NULL) {
        return 2;
    }
    while ((token = json_next(json))->type > JSON_END) {
        put(token);
        if (every > 0 &&
            (token->type == JSON_NAME || token->type == JSON_OBJECT ||
             token->type == JSON_ARRAY) &&
            ++count % every == 0) {
            (void)puts("-");
            (void)json_skip(json);
        }
    }
    (void)printf("%s", token->type == JSON_ERROR ? "error\n" : "");
    json_destroy(json);
    gzip_close(gzip);
    return 0;
}
