/* htmltext.c - texts of a run in HTML: any bytes are shown, none is believed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/htmltext.h"

#include <stdbool.h>
#include <stdint.h>

/* A byte that has a meaning in HTML: its reference, NULL = none. */
static const char *reference(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* How many bytes a character takes that begins so, 0 = none begins so; the
 * least code that may take so many in *least, its first bits in *code. */
static size_t utf8_begin(unsigned char byte, uint32_t *least, uint32_t *code)
{
    if (byte < 0x80) {
        *least = 0;
        *code = byte;
        return 1;
    }
    if (byte >= 0xc2 && byte <= 0xdf) {
        *least = 0x80;
        *code = byte & 0x1f;
        return 2;
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        *least = 0x800;
        *code = byte & 0x0f;
        return 3;
    }
    if (byte >= 0xf0 && byte <= 0xf4) {
        *least = 0x10000;
        *code = byte & 0x07;
        return 4;
    }
    return 0;
}

/* The bytes of the first character, its code in *code; 0 = it is none. */
static size_t utf8_next(const char *text, size_t length, uint32_t *code)
{
    uint32_t least;
    size_t bytes = utf8_begin((unsigned char)text[0], &least, code);

    if (bytes == 0 || bytes > length) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];

        if ((byte & 0xc0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (byte & 0x3f);
    }
    return *code < least || *code > 0x10ffff ||
                   (*code >= 0xd800 && *code <= 0xdfff)
               ? 0
               : bytes;
}

struct codes {
    uint32_t first, last;
};

/* Controls, marks of direction, and what has no width. */
static bool is_hidden(uint32_t code)
{
    static const struct codes hidden[] = {
        {0x00, 0x09},     {0x0b, 0x1f},      {0x7f, 0x9f},     {0x61c, 0x61c},
        {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
        {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (code >= hidden[i].first && code <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

static void put_character(FILE *file, const char *text, size_t bytes)
{
    const char *named = bytes == 1 ? reference((unsigned char)text[0]) : NULL;

    if (named != NULL) {
        fputs(named, file);
    } else {
        (void)fwrite(text, 1, bytes, file);
    }
}

void html_text(FILE *file, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t bytes = utf8_next(text + at, length - at, &code);

        if (bytes == 0) {
            fputs("\357\277\275", file);
            at++;
            continue;
        }
        if (is_hidden(code)) {
            fprintf(file, "\\u%04x", (unsigned)code);
        } else {
            put_character(file, text + at, bytes);
        }
        at += bytes;
    }
}
