/* pythonplace.c - function, file and line of an instruction of a code object
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A text has characters of 1, 2 or 4 bytes. Invalid characters become U+FFFD,
 * control characters '?'.
 */
#include "agent/python/pythonplace.h"

#include <stdbool.h>
#include <string.h>

#include "agent/python/pythonmemory.h"
#include "schema/pythonlines.h"

#define FUNCTION_MAX 255 /* bytes */
#define FILE_MAX 1024
#define CHARACTERS_MAX 1024
#define TABLE_MAX 65536
#define BETWEEN_TEXTS 24 /* ASCII's head to that of other texts, past 3.11 */

/* ---- lines -------------------------------------------------------------- */

uint32_t pythonplace_line(const uint8_t *table,
                          size_t length,
                          uint32_t first_line,
                          uint64_t n)
{
    struct ck_python_lines lines = {table, table + length, first_line, 0};

    for (int code; (code = ck_python_lines_next(&lines)) >= 0;) {
        if (lines.passed > n) {
            return code == CK_PYTHON_NO_LINE || lines.line <= 0 ||
                           lines.line > INT32_MAX
                       ? 0
                       : (uint32_t)lines.line;
        }
    }
    return 0;
}

/* ---- texts -------------------------------------------------------------- */

/* How a text's characters are stored; 0 bytes each: it is none. */
struct shape {
    unsigned bytes;
    bool is_ascii;
};

/* The bits are: interned, 3 of kind, compact, ascii; how wide the first is
 * depends on version and build. With the wrong width the kind is 0. */
static struct shape shape_of(uint32_t state)
{
    static const unsigned shifts[] = {2, 8, 16};

    for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
        unsigned bits = state >> shifts[i];
        unsigned kind = bits & 7;
        bool is_ascii = (bits & 16) != 0;

        if ((kind == 1 || kind == 2 || kind == 4) && (bits & 8) != 0 &&
            (!is_ascii || kind == 1)) {
            return (struct shape){kind, is_ascii};
        }
    }
    return (struct shape){0, false};
}

/* Its bytes in UTF-8, at least 3 of room. */
static size_t character_put(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)(c < 0x20 || c == 0x7f ? (uint32_t)'?' : c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c > 0xffff && c <= 0x10ffff) {
        out[0] = (char)(0xf0 | c >> 18);
        out[1] = (char)(0x80 | (c >> 12 & 63));
        out[2] = (char)(0x80 | (c >> 6 & 63));
        out[3] = (char)(0x80 | (c & 63));
        return 4;
    }
    if (c > 0xffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = 0xfffd;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
}

static uint32_t
character_at(const uint8_t *characters, unsigned bytes, size_t i)
{
    uint16_t pair;

    if (bytes == 1) {
        return characters[i];
    }
    if (bytes == 2) {
        memcpy(&pair, characters + 2 * i, sizeof(pair));
        return pair;
    }
    return pythonmemory_half(characters, 4 * i);
}

/* Text of the process as UTF-8, up to `room` bytes. How many, 0 = none. */
static size_t text_read(pid_t pid,
                        const struct pythonprogram *program,
                        uint64_t object,
                        char *out,
                        size_t room)
{
    const struct pythonlayout *layout = &program->layout;
    uint8_t head[PYTHONLAYOUT_TEXT_MAX], characters[4 * CHARACTERS_MAX];
    struct shape shape;
    uint64_t length;
    size_t used = 0;

    if (pythonmemory_read(pid, object, head, layout->text_ascii) != 0 ||
        pythonmemory_word(head, layout->type) != program->text) {
        return 0;
    }
    shape = shape_of(pythonmemory_half(head, layout->text_state));
    length = pythonmemory_word(head, layout->text_length);
    length = length < CHARACTERS_MAX ? length : CHARACTERS_MAX;
    object += layout->text_ascii;
    if (!shape.is_ascii) {
        object += layout->version <= 0x30b ? BETWEEN_TEXTS : 16;
    }
    if (shape.bytes == 0 || length == 0 ||
        pythonmemory_read(pid, object, characters, length * shape.bytes) != 0) {
        return 0;
    }
    for (size_t i = 0; i < length && used + 4 <= room; i++) {
        used +=
            character_put(character_at(characters, shape.bytes, i), out + used);
    }
    return used;
}

static uint32_t line_read(pid_t pid,
                          const struct pythonprogram *program,
                          const uint8_t *object,
                          uint64_t n)
{
    static uint8_t table[TABLE_MAX]; /* one thread; large */
    const struct pythonlayout *layout = &program->layout;
    uint8_t head[PYTHONLAYOUT_TEXT_MAX];
    uint64_t at = pythonmemory_word(object, layout->lines);
    uint64_t length;

    if (pythonmemory_read(pid, at, head, layout->bytes_data) != 0 ||
        pythonmemory_word(head, layout->type) != program->bytes) {
        return 0;
    }
    length = pythonmemory_word(head, layout->bytes_length);
    length = length < TABLE_MAX ? length : TABLE_MAX;
    if (pythonmemory_read(pid, at + layout->bytes_data, table, length) != 0) {
        return 0;
    }
    return pythonplace_line(table, length,
                            pythonmemory_half(object, layout->first_line), n);
}

int pythonplace_read(pid_t pid,
                     const struct pythonprogram *program,
                     const uint8_t *object,
                     uint64_t n,
                     struct pythonplace *place)
{
    const struct pythonlayout *layout = &program->layout;
    size_t name =
        text_read(pid, program, pythonmemory_word(object, layout->function),
                  place->text, FUNCTION_MAX);
    size_t file;

    place->text[name] = '\0';
    file = text_read(pid, program, pythonmemory_word(object, layout->file),
                     place->text + name + 1, FILE_MAX);
    if (file == 0) {
        return -1;
    }
    place->length = name + 1 + file;
    place->line = line_read(pid, program, object, n);
    return 0;
}
