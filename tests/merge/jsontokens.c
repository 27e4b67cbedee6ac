/* jsontokens.c - a JSON text as tokens, one a line, for comparison
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of each line "N FILE" of stdin: { } [ ] t f n N (NaN ...), k and s with the
 * bytes in hex, d with a number as written; "error" at the end of what is no
 * JSON, "." at the end of all. Where N is not 0 each N-th name or bracket is
 * stepped over ("-").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int file_put(const char *path, unsigned every)
{
    struct ck_err err;
    struct gzip *gzip = gzip_open(path, &err);
    struct json *json = gzip == NULL ? NULL : json_create(gzip_read, gzip);
    unsigned count = 0;
    const struct json_token *token;

    if (json == NULL) {
        return -1;
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
    (void)printf("%s.\n", token->type == JSON_ERROR ? "error\n" : "");
    (void)fflush(stdout);
    json_destroy(json);
    gzip_close(gzip);
    return 0;
}

int main(void)
{
    char line[4096];

    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *path;
        unsigned every = (unsigned)strtoul(line, &path, 10);

        line[strcspn(line, "\n")] = '\0';
        if (file_put(path + 1, every) != 0) {
            return 2;
        }
    }
    return 0;
}
