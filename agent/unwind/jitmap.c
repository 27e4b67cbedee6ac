/* jitmap.c - code that a process compiled at run time, as its own files have it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Code is collected, moved and written over: of several pieces at an address
 * the one that came last is there. Pieces are sorted by their start when they
 * are first asked for; each knows how far all before it reach, so that a search
 * backwards ends.
 */
#include "agent/unwind/jitmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/order.h"

/* Larger code is none. */
#define CODE_BYTES_MAX ((uint64_t)1 << 30)
/* Pieces that may cover one another where an address is looked up. */
#define STEPS_MAX 64
/* Lines of one piece of code. */
#define LINES_MAX 65536
/* Of the newest pieces, those that may have been moved. */
#define MOVES_MAX 1024

#define DUMP_MAGIC 0x4a695444u
#define DUMP_HEAD 40u
#define DUMP_HEAD_MAX 4096u
#define RECORD_HEAD 16u
#define RECORD_MAX (64u << 20)

enum record {
    RECORD_LOAD,
    RECORD_MOVE,
    RECORD_LINES,
    RECORD_CLOSE,
    RECORD_UNWINDING
};

/* A line of a piece of code; what follows it there belongs to it. */
struct line {
    uint64_t address;
    uint32_t line;
    uint32_t file; /* place of its name */
};

struct code {
    uint64_t start;
    uint64_t end;
    uint64_t reach; /* the largest end of those before it, with its own */
    uint32_t order;
    uint32_t name; /* place of it */
    uint32_t lines, lines_count;
};

struct jitmap {
    struct code *codes;
    size_t count, room;
    size_t sorted; /* that many are */
    char *names;   /* each ends with NUL */
    size_t names_used, names_room;
    struct line *lines;
    size_t lines_used, lines_room;
    size_t pending; /* lines of the code that comes next begin here */
    uint64_t pending_code;
    bool has_head; /* of a dump */
    uint64_t wrong;
};

struct jitmap *jitmap_create(void)
{
    return calloc(1, sizeof(struct jitmap));
}

void jitmap_destroy(struct jitmap *map)
{
    int saved = errno;

    if (map != NULL) {
        free(map->codes);
        free(map->names);
        free(map->lines);
        free(map);
    }
    errno = saved;
}

/* ---- what is kept ---------------------------------------------------------
 */

/* Room for `more` items behind `used`. False: there is none. */
static bool has_room(void **items,
                     size_t *room,
                     size_t used,
                     size_t more,
                     size_t bytes,
                     size_t most)
{
    size_t wanted = *room == 0 ? 256 : *room;
    void *grown;

    if (more > most || used > most - more) {
        return false;
    }
    if (used + more <= *room) {
        return true;
    }
    while (wanted < used + more) {
        wanted *= 2;
    }
    grown = realloc(*items, wanted * bytes);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *room = wanted;
    return true;
}

/* Keep a name as one that a person may read. Its place, -1: no room. */
static int64_t name_keep(struct jitmap *map, const char *bytes, size_t length)
{
    size_t at = map->names_used;

    length = length < JITMAP_NAME ? length : JITMAP_NAME;
    if (!has_room((void **)&map->names, &map->names_room, at, length + 1, 1,
                  JITMAP_BYTES)) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];

        map->names[at + i] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    map->names[at + length] = '\0';
    map->names_used += length + 1;
    return (int64_t)at;
}

/* The name of a file. One that is no text is kept as "": V8
 * writes bytes that it has freed there. */
static int64_t file_keep(struct jitmap *map, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c < ' ' || c >= 0x7f) {
            return name_keep(map, "", 0);
        }
    }
    return name_keep(map, bytes, length);
}

static bool code_add(struct jitmap *map, const struct code *code)
{
    if (code->end <= code->start || code->end - code->start > CODE_BYTES_MAX ||
        !has_room((void **)&map->codes, &map->room, map->count, 1,
                  sizeof(*code), JITMAP_CODES)) {
        return false;
    }
    map->codes[map->count] = *code;
    map->codes[map->count].order = (uint32_t)map->count;
    map->count++;
    return true;
}

/* How many of the sorted ones begin at the address or before it. */
CK_BEFORE(begun, struct code, uint64_t, a->start <= key)

/* ---- a text ---------------------------------------------------------------
 */

static uint64_t digit_value(char digit)
{
    int c = tolower((unsigned char)digit);

    return (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* A hexadecimal number and the blank behind it. NULL: it is none. */
static const char *
number_read(const char *at, const char *end, uint64_t *number)
{
    const char *begin;
    int digits = 0;

    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        at += 2;
    }
    begin = at;
    *number = 0;
    for (; at < end && *at != ' '; at++) {
        if (!isxdigit((unsigned char)*at) || ++digits > 16) {
            return NULL;
        }
        *number = *number << 4 | digit_value(*at);
    }
    return at == begin || at == end ? NULL : at + 1;
}

static bool line_take(struct jitmap *map, const char *at, const char *end)
{
    struct code code = {.start = 0};
    uint64_t size;
    int64_t name;

    at = number_read(at, end, &code.start);
    at = at == NULL ? NULL : number_read(at, end, &size);
    if (at == NULL || at == end || size > CODE_BYTES_MAX ||
        code.start > UINT64_MAX - size) {
        return false;
    }
    code.end = code.start + size;
    name = name_keep(map, at, (size_t)(end - at));
    code.name = (uint32_t)name;
    return name >= 0 && code_add(map, &code);
}

size_t jitmap_text(struct jitmap *map, const char *bytes, size_t length)
{
    const char *at = bytes;
    const char *end;

    while ((end = memchr(at, '\n', length - (size_t)(at - bytes))) != NULL) {
        map->wrong += !line_take(map, at, end);
        at = end + 1;
    }
    return (size_t)(at - bytes);
}

/* ---- a dump ---------------------------------------------------------------
 */

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint32_t half_at(const uint8_t *bytes)
{
    uint32_t half;

    memcpy(&half, bytes, sizeof(half));
    return half;
}

/* pid, tid, vma, address, size, index: 40 bytes; then the name. */
static bool load_take(struct jitmap *map, const uint8_t *at, size_t length)
{
    struct code code = {.lines = (uint32_t)map->pending};
    size_t name_length;
    int64_t name;
    uint64_t size;

    if (length < 40) {
        return false;
    }
    code.start = word_at(at + 16);
    size = word_at(at + 24);
    if (size > CODE_BYTES_MAX || code.start > UINT64_MAX - size) {
        return false;
    }
    code.end = code.start + size;
    if (map->pending_code == code.start) {
        code.lines_count = (uint32_t)(map->lines_used - map->pending);
    }
    name_length = strnlen((const char *)at + 40, length - 40);
    name = name_keep(map, (const char *)at + 40, name_length);
    code.name = (uint32_t)name;
    map->pending = map->lines_used;
    map->pending_code = 0;
    return name >= 0 && name_length < length - 40 && code_add(map, &code);
}

/* The code that begins there: one of the newest, or of those that are sorted.
 * NULL = none. */
static const struct code *code_at(const struct jitmap *map, uint64_t start)
{
    size_t newest = map->count > map->sorted + MOVES_MAX
                        ? map->count - MOVES_MAX
                        : map->sorted;
    size_t at = begun(map->codes, map->sorted, start);

    for (size_t i = map->count; i-- > newest;) {
        if (map->codes[i].start == start) {
            return &map->codes[i];
        }
    }
    return at > 0 && map->codes[at - 1].start == start ? &map->codes[at - 1]
                                                       : NULL;
}

/* The same code at another address: pid, tid, vma, old, new, size, index. */
static bool move_take(struct jitmap *map, const uint8_t *at, size_t length)
{
    const struct code *old;
    struct code code;
    uint64_t size;

    if (length < 48) {
        return false;
    }
    old = code_at(map, word_at(at + 16));
    size = word_at(at + 32);
    if (old == NULL || size > CODE_BYTES_MAX) {
        return false;
    }
    code = *old;
    code.start = word_at(at + 24);
    code.end = code.start + size;
    code.lines_count = 0; /* they have the old addresses */
    return code_add(map, &code);
}

/* Address, count; then address, line, discriminator and file of each: 0xff
 * and NUL in place of a file is the one before. */
static bool lines_take(struct jitmap *map, const uint8_t *at, size_t length)
{
    const uint8_t *end = at + length;
    uint64_t count;
    int64_t file = -1;

    if (length < 16) {
        return false;
    }
    map->pending = map->lines_used;
    map->pending_code = word_at(at);
    count = word_at(at + 8);
    at += 16;
    for (uint64_t i = 0; i < count && i < LINES_MAX; i++) {
        size_t left = (size_t)(end - at), name_length;
        const char *name = (const char *)at + 16;

        name_length = left > 16 ? strnlen(name, left - 16) : 0;
        if (left <= 16 || name_length == left - 16) {
            return false;
        }
        if (file < 0 || (uint8_t)name[0] != 0xff || name_length != 1) {
            file = file_keep(map, name, name_length);
        }
        if (file < 0 || !has_room((void **)&map->lines, &map->lines_room,
                                  map->lines_used, 1, sizeof(*map->lines),
                                  JITMAP_BYTES / sizeof(*map->lines))) {
            return false;
        }
        map->lines[map->lines_used++] =
            (struct line){word_at(at), half_at(at + 8), (uint32_t)file};
        at += 16 + name_length + 1;
    }
    return true;
}

static bool
record_take(struct jitmap *map, uint32_t id, const uint8_t *at, size_t length)
{
    switch ((enum record)id) {
    case RECORD_LOAD:
        return load_take(map, at, length);
    case RECORD_MOVE:
        return move_take(map, at, length);
    case RECORD_LINES:
        return lines_take(map, at, length);
    case RECORD_CLOSE:
    case RECORD_UNWINDING:
        return true;
    default:
        return false;
    }
}

/* Magic, version, length of the head. 0: it is not whole yet; -1: it is none.
 */
static ssize_t head_take(const uint8_t *bytes, size_t length)
{
    uint32_t head;

    if (length < DUMP_HEAD) {
        return 0;
    }
    head = half_at(bytes + 8);
    if (half_at(bytes) != DUMP_MAGIC || half_at(bytes + 4) != 1 ||
        head < DUMP_HEAD || head > DUMP_HEAD_MAX) {
        return -1;
    }
    return length < head ? 0 : (ssize_t)head;
}

ssize_t jitmap_dump(struct jitmap *map, const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    if (!map->has_head) {
        ssize_t head = head_take(bytes, length);

        if (head <= 0) {
            map->wrong += head < 0;
            return head;
        }
        map->has_head = true;
        at = (size_t)head;
    }
    while (length - at >= RECORD_HEAD) {
        uint32_t size = half_at(bytes + at + 4);

        if (size < RECORD_HEAD || size > RECORD_MAX) {
            map->wrong++;
            return -1;
        }
        if (size > length - at) {
            break;
        }
        map->wrong +=
            !record_take(map, half_at(bytes + at), bytes + at + RECORD_HEAD,
                         size - RECORD_HEAD);
        at += size;
    }
    return (ssize_t)at;
}

/* ---- what is asked --------------------------------------------------------
 */

CK_ORDER(by_start, struct code, CK_UP(start) ?: CK_UP(order))

static void codes_sort(struct jitmap *map)
{
    uint64_t reach = 0;

    qsort(map->codes, map->count, sizeof(*map->codes), by_start);
    for (size_t i = 0; i < map->count; i++) {
        reach = map->codes[i].end > reach ? map->codes[i].end : reach;
        map->codes[i].reach = reach;
    }
    map->sorted = map->count;
}

static const struct line *
line_of(const struct jitmap *map, const struct code *code, uint64_t address)
{
    const struct line *found = NULL;

    for (uint32_t i = 0; i < code->lines_count; i++) {
        const struct line *line = &map->lines[code->lines + i];

        if (line->address <= address &&
            (found == NULL || line->address >= found->address)) {
            found = line;
        }
    }
    return found;
}

bool jitmap_find(struct jitmap *map, uint64_t address, struct jitplace *place)
{
    const struct code *found = NULL;
    const struct line *line;
    size_t at;

    if (map->sorted < map->count) {
        codes_sort(map);
    }
    at = begun(map->codes, map->sorted, address);
    for (int steps = 0;
         at-- > 0 && map->codes[at].reach > address && steps < STEPS_MAX;
         steps++) {
        if (map->codes[at].end > address &&
            (found == NULL || map->codes[at].order > found->order)) {
            found = &map->codes[at];
        }
    }
    if (found == NULL) {
        return false;
    }
    line = line_of(map, found, address);
    *place = (struct jitplace){.function = map->names + found->name};
    if (line != NULL && line->line > 0 && map->names[line->file] != '\0') {
        place->file = map->names + line->file;
        place->line = line->line;
    }
    return true;
}

uint64_t jitmap_wrong(const struct jitmap *map)
{
    return map->wrong;
}
