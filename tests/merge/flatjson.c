/* flatjson.c - a report's JSON as a list of paths and values
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/flatjson.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "merge/json/jsonread.h"
#include "merge/model/array.h"

#define DEPTH 16

struct text {
    const char *at;
};

static int64_t text_read(void *state, void *to, size_t room)
{
    struct text *text = state;
    size_t length = strnlen(text->at, room);

    memcpy(to, text->at, length);
    text->at += length;
    return (int64_t)length;
}

/* Where the reader is. */
struct place {
    size_t ends[DEPTH];   /* of the path, before the container's members */
    long elements[DEPTH]; /* of an array so far, -1 = an object */
    size_t depth;
    char path[FLATJSON_PATH];
};

static void path_cut(struct place *place, size_t at, const char *name)
{
    int length = snprintf(place->path + at, sizeof(place->path) - at, "%s%s",
                          at == 0 ? "" : ".", name);

    assert_true(length >= 0 && (size_t)length < sizeof(place->path) - at);
}

/* A value begins: in an array it has the next number. */
static void value_begin(struct place *place)
{
    char number[24];

    if (place->depth > 0 && place->elements[place->depth - 1] >= 0) {
        (void)snprintf(number, sizeof(number), "%ld",
                       place->elements[place->depth - 1]++);
        path_cut(place, place->ends[place->depth - 1], number);
    }
}

static void container_begin(struct place *place, bool is_array)
{
    value_begin(place);
    assert_true(place->depth < DEPTH);
    place->ends[place->depth] = strlen(place->path);
    place->elements[place->depth++] = is_array ? 0 : -1;
}

static void item_add(struct flatjson *flat,
                     const struct place *place,
                     const char *value,
                     size_t length)
{
    struct flatjson_item *item;

    array_grow(&flat->items, &flat->room, flat->count, sizeof(*item));
    item = &flat->items[flat->count++];
    memcpy(item->path, place->path, sizeof(item->path));
    (void)snprintf(item->value, sizeof(item->value), "%.*s", (int)length,
                   value);
}

static void token_take(struct flatjson *flat,
                       struct place *place,
                       const struct json_token *token)
{
    static const char *const words[] = {
        [JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null"};
    char name[64];

    switch (token->type) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        container_begin(place, token->type == JSON_ARRAY);
        break;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        place->depth--;
        break;
    case JSON_NAME:
        (void)snprintf(name, sizeof(name), "%.*s", (int)token->length,
                       token->text);
        path_cut(place, place->ends[place->depth - 1], name);
        break;
    case JSON_STRING:
    case JSON_NUMBER:
        value_begin(place);
        item_add(flat, place, token->text, token->length);
        break;
    default:
        value_begin(place);
        item_add(flat, place, words[token->type], strlen(words[token->type]));
        break;
    }
}

void flatjson_read(struct flatjson *flat, const char *text)
{
    struct text state = {text};
    struct json *json = json_create(text_read, &state);
    struct place place = {.depth = 0};
    const struct json_token *token;

    assert_non_null(json);
    flat->count = 0;
    while ((token = json_next(json))->type > JSON_END) {
        token_take(flat, &place, token);
    }
    if (token->type == JSON_ERROR) {
        fail_msg("%s\n%s", json_error(json), text);
    }
    json_destroy(json);
}

void flatjson_fini(struct flatjson *flat)
{
    free(flat->items);
    memset(flat, 0, sizeof(*flat));
}

const char *flatjson_at(const struct flatjson *flat, const char *format, ...)
{
    char path[FLATJSON_PATH];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(path, sizeof(path), format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < flat->count; i++) {
        if (strcmp(flat->items[i].path, path) == 0) {
            return flat->items[i].value;
        }
    }
    return NULL;
}

/* The row of a path that is "table.ROW.field", else -1. */
static int row_of(const char *path, const char *table, const char *field)
{
    size_t length = strlen(table);
    char *end;
    long row;

    if (strncmp(path, table, length) != 0 || path[length] != '.') {
        return -1;
    }
    row = strtol(path + length + 1, &end, 10);
    return *end == '.' && strcmp(end + 1, field) == 0 ? (int)row : -1;
}

int64_t
flatjson_sum(const struct flatjson *flat, const char *table, const char *field)
{
    int64_t sum = 0;

    for (size_t i = 0; i < flat->count; i++) {
        if (row_of(flat->items[i].path, table, field) >= 0) {
            sum += strtoll(flat->items[i].value, NULL, 10);
        }
    }
    return sum;
}

int flatjson_row(const struct flatjson *flat,
                 const char *table,
                 const char *field,
                 const char *value)
{
    for (size_t i = 0; i < flat->count; i++) {
        int row = row_of(flat->items[i].path, table, field);

        if (row >= 0 && strcmp(flat->items[i].value, value) == 0) {
            return row;
        }
    }
    return -1;
}
