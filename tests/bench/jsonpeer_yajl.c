/* jsonpeer_yajl.c - the same sums by yajl, a streaming reader in C
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers come as text, as they do in ck's reader, so that both round alike.
 */
#include "tests/bench/jsonpeer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "merge/json/jsonread.h"

#define CHUNK ((size_t)64 << 10)

struct walk {
    struct json_sums *sums;
    unsigned depth;
    bool is_inside; /* traceEvents */
    bool is_time, is_name;
};

static int on_number(void *state, const char *text, size_t length)
{
    struct walk *walk = state;
    char padded[64 + JSON_TEXT_PAD];
    struct json_token token = {
        .type = JSON_NUMBER, .text = padded, .length = length};
    int64_t value;

    if (walk->is_time && length <= 64 && memcpy(padded, text, length) != NULL &&
        json_decimal(&token, 3, &value)) {
        walk->sums->time += value;
    }
    return 1;
}

static int on_string(void *state, const unsigned char *text, size_t length)
{
    struct walk *walk = state;

    (void)text;
    walk->sums->bytes += walk->is_name ? length : 0;
    return 1;
}

static int on_key(void *state, const unsigned char *text, size_t length)
{
    struct walk *walk = state;

    if (walk->depth == 1) {
        walk->is_inside = length == 11 && memcmp(text, "traceEvents", 11) == 0;
    }
    walk->is_time = walk->depth == 3 && walk->is_inside &&
                    ((length == 2 && memcmp(text, "ts", 2) == 0) ||
                     (length == 3 && memcmp(text, "dur", 3) == 0));
    walk->is_name = walk->depth == 3 && walk->is_inside && length == 4 &&
                    memcmp(text, "name", 4) == 0;
    return 1;
}

static int on_map(void *state)
{
    struct walk *walk = state;

    walk->sums->events += ++walk->depth == 3 && walk->is_inside;
    return 1;
}

static int on_array(void *state)
{
    ((struct walk *)state)->depth++;
    return 1;
}

static int on_end(void *state)
{
    ((struct walk *)state)->depth--;
    return 1;
}

int json_peer(const char *path, struct json_sums *sums)
{
    static const yajl_callbacks calls = {.yajl_number = on_number,
                                         .yajl_string = on_string,
                                         .yajl_map_key = on_key,
                                         .yajl_start_map = on_map,
                                         .yajl_end_map = on_end,
                                         .yajl_start_array = on_array,
                                         .yajl_end_array = on_end};
    static unsigned char bytes[CHUNK];
    struct walk walk = {.sums = sums};
    FILE *file = fopen(path, "rbe");
    yajl_handle yajl = yajl_alloc(&calls, NULL, &walk);
    yajl_status status = yajl_status_ok;
    size_t n;

    if (file == NULL || yajl == NULL) {
        return -1;
    }
    while (status == yajl_status_ok &&
           (n = fread(bytes, 1, sizeof(bytes), file)) > 0) {
        status = yajl_parse(yajl, bytes, n);
    }
    yajl_free(yajl);
    (void)fclose(file);
    return status == yajl_status_ok ? 0 : -1;
}
