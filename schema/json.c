/* json.c - a JSON writer
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text is gathered in one buffer. With a file it is handed over in pieces of
 * JSON_FLUSH_BYTES; without one the buffer grows and is the result. The first
 * failure is kept and everything after it is ignored.
 */
#include "schema/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JSON_DEPTH_MAX 64
#define JSON_FLUSH_BYTES ((size_t)64 << 10)

struct ck_json {
    FILE *file; /* borrowed; NULL = to memory */
    char *text;
    size_t used;
    size_t room;
    int failure; /* errno of the first failure, 0 = none */
    bool is_pretty;
    unsigned depth;
    bool is_array[JSON_DEPTH_MAX];
    bool has_values[JSON_DEPTH_MAX + 1]; /* at each depth, 0 = the top */
};

struct ck_json *ck_json_create(FILE *file, bool is_pretty)
{
    struct ck_json *json = calloc(1, sizeof(*json));

    if (json != NULL) {
        json->file = file;
        json->is_pretty = is_pretty;
    }
    return json;
}

void ck_json_destroy(struct ck_json *json)
{
    int saved = errno;

    if (json != NULL) {
        free(json->text);
        free(json);
    }
    errno = saved;
}

static void fail(struct ck_json *json, int failure)
{
    if (json->failure == 0) {
        json->failure = failure == 0 ? EIO : failure;
    }
}

static void flush(struct ck_json *json)
{
    if (json->used > 0 &&
        fwrite(json->text, 1, json->used, json->file) != json->used) {
        fail(json, errno);
    }
    json->used = 0;
}

/* Room for `length` more bytes and a NUL; NULL after a failure. */
static char *reserve(struct ck_json *json, size_t length)
{
    size_t need;

    if (json->failure != 0) {
        return NULL;
    }
    if (json->file != NULL && json->used >= JSON_FLUSH_BYTES) {
        flush(json);
    }
    need = json->used + length + 1;
    if (need > json->room) {
        size_t wider = json->room == 0 ? 4096 : json->room;
        char *text;

        while (wider < need) {
            wider *= 2;
        }
        text = realloc(json->text, wider);
        if (text == NULL) {
            fail(json, ENOMEM);
            return NULL;
        }
        json->text = text;
        json->room = wider;
    }
    return json->text + json->used;
}

static void put(struct ck_json *json, const char *bytes, size_t length)
{
    char *at = reserve(json, length);

    if (at != NULL) {
        memcpy(at, bytes, length);
        at[length] = '\0';
        json->used += length;
    }
}

static void put_indent(struct ck_json *json)
{
    put(json, "\n", 1);
    for (unsigned i = 0; i < json->depth; i++) {
        put(json, "  ", 2);
    }
}

/* Length of the UTF-8 sequence at `s`, 0 when it is not one. */
static unsigned utf8_length(const unsigned char *s)
{
    unsigned length;
    uint32_t code;

    if (s[0] < 0xc2) {
        length = 0;
    } else if (s[0] < 0xe0) {
        length = 2;
    } else if (s[0] < 0xf0) {
        length = 3;
    } else {
        length = 4;
    }

    if (length == 0 || s[0] > 0xf4) {
        return 0;
    }
    code = s[0] & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0; /* the text's NUL ends here too */
        }
        code = code << 6 | (s[i] & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) ||
        code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return 0;
    }
    return length;
}

static void put_escape(struct ck_json *json, unsigned char c)
{
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char text[8];
    int length;

    if (c == '"' || c == '\\') {
        length = snprintf(text, sizeof(text), "\\%c", c);
    } else if (c < 32 && letters[c] != 0) {
        length = snprintf(text, sizeof(text), "\\%c", letters[c]);
    } else {
        length = snprintf(text, sizeof(text), "\\u%04x", c);
    }
    put(json, text, (size_t)length);
}

static void put_string(struct ck_json *json, const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char *end = s + bytes;
    const unsigned char *plain = s;

    put(json, "\"", 1);
    while (s < end) {
        unsigned length = 1;

        if (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\') {
            s++;
            continue;
        }
        if (*s >= 0x80 && (length = utf8_length(s)) != 0) {
            s += length;
            continue;
        }
        put(json, (const char *)plain, (size_t)(s - plain));
        if (*s >= 0x80) {
            put(json, "\xef\xbf\xbd", 3);
        } else {
            put_escape(json, *s);
        }
        plain = ++s;
    }
    put(json, (const char *)plain, (size_t)(s - plain));
    put(json, "\"", 1);
}

/* What comes before a value: comma, line, name. */
static void put_before(struct ck_json *json, const char *name)
{
    if (json->has_values[json->depth]) {
        put(json, ",", 1);
    }
    json->has_values[json->depth] = true;
    if (json->is_pretty && json->depth > 0) {
        put_indent(json);
    }
    if (name != NULL) {
        put_string(json, name, strlen(name));
        put(json, ": ", json->is_pretty ? 2 : 1);
    }
}

static void open_value(struct ck_json *json, const char *name, bool is_array)
{
    put_before(json, name);
    if (json->depth == JSON_DEPTH_MAX) {
        fail(json, EOVERFLOW);
        return;
    }
    put(json, is_array ? "[" : "{", 1);
    json->is_array[json->depth++] = is_array;
    json->has_values[json->depth] = false;
}

void ck_json_object(struct ck_json *json, const char *name)
{
    open_value(json, name, false);
}

void ck_json_array(struct ck_json *json, const char *name)
{
    open_value(json, name, true);
}

void ck_json_end(struct ck_json *json)
{
    bool had_values;

    if (json->depth == 0) {
        fail(json, EINVAL);
        return;
    }
    had_values = json->has_values[json->depth];
    json->depth--;
    if (json->is_pretty && had_values) {
        put_indent(json);
    }
    put(json, json->is_array[json->depth] ? "]" : "}", 1);
}

void ck_json_string(struct ck_json *json, const char *name, const char *text)
{
    ck_json_bytes(json, name, text, strlen(text));
}

void ck_json_bytes(struct ck_json *json,
                   const char *name,
                   const char *text,
                   size_t length)
{
    put_before(json, name);
    put_string(json, text, length);
}

/* Decimal digits of value, right-aligned; returns the first. */
static char *digits_of(uint64_t value, char *end)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

void ck_json_uint(struct ck_json *json, const char *name, uint64_t value)
{
    char text[24];
    char *end = text + sizeof(text);
    char *at = digits_of(value, end);

    put_before(json, name);
    put(json, at, (size_t)(end - at));
}

void ck_json_int(struct ck_json *json, const char *name, int64_t value)
{
    char text[24];
    char *end = text + sizeof(text);
    char *at = digits_of(magnitude(value), end);

    if (value < 0) {
        *--at = '-';
    }
    put_before(json, name);
    put(json, at, (size_t)(end - at));
}

void ck_json_double(struct ck_json *json, const char *name, double value)
{
    char text[32];
    int length = 0;
    /* Up to 15 digits are unique for all but subnormal numbers. */
    int precision = isnormal(value) ? 15 : 1;

    if (!isfinite(value)) {
        ck_json_null(json, name);
        return;
    }
    for (; precision <= 17; precision++) {
        length = snprintf(text, sizeof(text), "%.*g", precision, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    put_before(json, name);
    put(json, text, (size_t)length);
}

void ck_json_bool(struct ck_json *json, const char *name, bool value)
{
    put_before(json, name);
    put(json, value ? "true" : "false", value ? 4 : 5);
}

void ck_json_null(struct ck_json *json, const char *name)
{
    put_before(json, name);
    put(json, "null", 4);
}

void ck_json_fail(struct ck_json *json, int error)
{
    fail(json, error);
}

int ck_json_finish(struct ck_json *json)
{
    while (json->depth > 0) {
        ck_json_end(json);
    }
    if (json->is_pretty && json->has_values[0]) {
        put(json, "\n", 1);
    }
    if (json->file != NULL && json->failure == 0) {
        flush(json);
        if (json->failure == 0 && fflush(json->file) != 0) {
            fail(json, errno);
        }
    }
    if (json->failure != 0) {
        errno = json->failure;
        return -1;
    }
    return 0;
}

const char *ck_json_text(const struct ck_json *json, size_t *length)
{
    if (length != NULL) {
        *length = json->used;
    }
    return json->text == NULL ? "" : json->text;
}

char *ck_json_take(struct ck_json *json)
{
    char *copy = NULL;

    if (ck_json_finish(json) == 0) {
        copy = strndup(json->text == NULL ? "" : json->text, json->used);
    }
    ck_json_destroy(json);
    return copy;
}
