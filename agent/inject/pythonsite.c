/* pythonsite.c - the line of a Python program that a call comes from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   thread state -> [C frame ->] frame -> code -> file, function, line table
 *                                  |
 *                                  v previous
 *
 * The offsets of these are the same in all builds of a minor version (of 64
 * bits, with a global lock); they are in `layouts`, and a version that is not
 * there has no lines. What is found is believed only where the types of the
 * objects are those of the interpreter: an executable of another build has
 * other offsets.
 */
#include "agent/inject/pythonsite.h"

#include <errno.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/inject/symbol.h"
#include "schema/pythonlines.h"

/* Frames that are looked at, entries of a line table, bytes of a text. */
#define FRAMES_MAX 64
#define ENTRIES_MAX 65536
#define FILE_MAX 1024
#define NAME_MAX 255
#define PROBES 16
#define FILES 1024

/* Objects: count, type, then what is of the type. */
#define OBJECT_TYPE 8
#define SEQUENCE_LENGTH 16
#define BYTES_DATA 32
#define TEXT_LENGTH 16
#define TEXT_STATE 32 /* interned, kind, compact, ascii */
#define TEXT_KIND 7u
#define TEXT_IS_COMPACT (1u << 3)
#define TEXT_IS_ASCII (1u << 4)
#define CODE_FILE 112
#define CODE_FUNCTION 128 /* its qualified name */
#define CODE_LINES 136

/* Byte offsets of one minor version. */
struct layout {
    uint32_t version; /* major << 8 | minor */
    uint16_t frames;  /* thread state: the C frame, or the frame itself */
    int16_t current;  /* C frame: the frame; -1 = there is no C frame */
    uint16_t code;    /* frame: what it runs */
    uint16_t previous;
    uint16_t instruction;
    uint16_t first_line;   /* code */
    uint16_t instructions; /* code: its first one */
    uint16_t text;         /* of plain characters: the first one */
};

static const struct layout layouts[] = {
    {0x30b, 56, 8, 32, 48, 56, 72, 184, 48},
    {0x30c, 56, 0, 0, 8, 56, 68, 192, 40},
    {0x30d, 72, -1, 0, 8, 56, 68, 200, 40},
    {0x30e, 72, -1, 0, 8, 56, 68, 208, 40},
};

/* A place that was seen. */
struct entry {
    _Atomic uint64_t key;  /* of code and instruction; 0 = free */
    _Atomic uint32_t said; /* incarnation that it was recorded in */
};

bool python_is_on;

static const struct layout *layout;
static _Atomic bool is_noted; /* the version */
static _Atomic bool is_full_noted;
static uint64_t (*thread_state)(void);
static uint64_t type_code, type_text, type_bytes;
static INJECT_ROOM struct entry entries[PYTHON_SITES_MAX];
static INJECT_ROOM _Atomic uint64_t
    files[FILES]; /* text << 1 | is the user's */

static uint64_t word_at(uint64_t address)
{
    uint64_t word;

    memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
    return word;
}

static uint32_t half_at(uint64_t address)
{
    uint32_t half;

    memcpy(&half, (const void *)(uintptr_t)address, sizeof(half));
    return half;
}

static bool is_of(uint64_t object, uint64_t type)
{
    return object != 0 && object % 8 == 0 &&
           word_at(object + OBJECT_TYPE) == type;
}

/* Its kind and what follows. How wide the field before is depends on version
 * and build; with the wrong width there is no kind. */
static uint32_t text_state(uint64_t object)
{
    static const unsigned widths[] = {2, 8, 16};
    uint32_t state = half_at(object + TEXT_STATE);

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        if ((state >> widths[i] & TEXT_KIND) != 0) {
            return state >> widths[i];
        }
    }
    return 0;
}

/* The characters of a text object of ASCII alone, NULL = not one. */
static const char *text_of(uint64_t object, size_t *length)
{
    uint32_t state;

    if (!is_of(object, type_text)) {
        return NULL;
    }
    state = text_state(object);
    if ((state & TEXT_IS_COMPACT) == 0) {
        return NULL;
    }
    if ((state & TEXT_IS_ASCII) == 0) {
        /* Others have their UTF-8 behind the characters' place, once it was
         * asked for: its length, and where it is. */
        *length = word_at(object + layout->text);
        return (const char *)(uintptr_t)word_at(object + layout->text + 8);
    }
    *length = word_at(object + TEXT_LENGTH);
    return (const char *)(uintptr_t)(object + layout->text);
}

static bool has_part(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* Not of the interpreter, nor of a package that was installed. */
static bool is_users_file(uint64_t file)
{
    _Atomic uint64_t *known = &files[(file >> 4) % FILES];
    uint64_t held = atomic_load_explicit(known, memory_order_relaxed);
    size_t length = 0;
    const char *text;
    bool is_users;

    if (held >> 1 == file) {
        return (held & 1) != 0;
    }
    text = text_of(file, &length);
    is_users = text != NULL && length > 0 &&
               !(length > 7 && memcmp(text, "<frozen", 7) == 0) &&
               !has_part(text, length, "/site-packages/") &&
               !has_part(text, length, "/dist-packages/") &&
               !has_part(text, length, "/lib/python3");
    atomic_store_explicit(known, file << 1 | is_users, memory_order_relaxed);
    return is_users;
}

/* What a frame runs; from 3.14 on the lowest bits show who counts the
 * reference. */
static uint64_t code_of(uint64_t frame)
{
    return word_at(frame + layout->code) & ~(uint64_t)7;
}

/* The frame whose line is the site, 0 = none. */
static uint64_t frame_find(void)
{
    uint64_t state = thread_state();
    uint64_t frame, innermost = 0;

    if (state == 0) {
        return 0;
    }
    frame = word_at(state + layout->frames);
    if (frame != 0 && layout->current >= 0) {
        frame = word_at(frame + (uint64_t)layout->current);
    }
    for (int i = 0; i < FRAMES_MAX && frame != 0 && frame % 8 == 0; i++) {
        uint64_t code = code_of(frame);

        if (is_of(code, type_code)) {
            if (is_users_file(word_at(code + CODE_FILE))) {
                return frame;
            }
            innermost = innermost == 0 ? frame : innermost;
        }
        frame = word_at(frame + layout->previous);
    }
    return innermost;
}

/* ---- lines -------------------------------------------------------------- */

/* Line of the n-th instruction. */
static uint32_t line_find(uint64_t code, uint64_t n)
{
    uint64_t table = word_at(code + CODE_LINES);
    struct ck_python_lines lines = {
        .line = (int32_t)half_at(code + layout->first_line)};

    if (!is_of(table, type_bytes)) {
        return (uint32_t)lines.line;
    }
    lines.at = (const uint8_t *)(uintptr_t)(table + BYTES_DATA);
    lines.end = lines.at + word_at(table + SEQUENCE_LENGTH);
    for (int i = 0; i < ENTRIES_MAX && lines.passed <= n; i++) {
        if (ck_python_lines_next(&lines) < 0) {
            break;
        }
    }
    return lines.line > 0 ? (uint32_t)lines.line : 0;
}

/* ---- numbers of places -------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b * 0x9e3779b97f4a7c15u;
    a ^= a >> 29;
    a *= 0xbf58476d1ce4e5b9u;
    return a ^ a >> 32;
}

/* The key's entry, a new one if need be; NULL = no room. */
static struct entry *entry_find(uint64_t key)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        struct entry *entry = &entries[(key + i) % PYTHON_SITES_MAX];
        uint64_t held = atomic_load_explicit(&entry->key, memory_order_relaxed);

        if (held == 0 &&
            atomic_compare_exchange_strong(&entry->key, &held, key)) {
            return entry;
        }
        if (held == key) {
            return entry;
        }
    }
    return NULL;
}

static void full_note(void)
{
    if (!atomic_exchange(&is_full_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "calls came from more Python lines than ck keeps: "
                         "later lines have no name, and stacks end there");
    }
}

/* Record the text of the site; false = not now, or it has no text. */
static bool place_say(uint64_t site, uint64_t code, uint64_t n)
{
    struct ck_text head = {
        .e = {.kind = CK_KIND_SYMBOL, .name = inject_ring.incarnation},
        .object = site,
        .extra = line_find(code, n),
    };
    char bytes[NAME_MAX + 1 + FILE_MAX];
    size_t name_length = 0, file_length = 0;
    const char *name = text_of(word_at(code + CODE_FUNCTION), &name_length);
    const char *file = text_of(word_at(code + CODE_FILE), &file_length);

    if (file == NULL || file_length == 0 || file_length > FILE_MAX) {
        return false;
    }
    if (name == NULL) {
        name_length = 0;
    } else if (name_length > NAME_MAX) {
        name_length = NAME_MAX;
    }
    memcpy(bytes, name_length == 0 ? "" : name, name_length);
    bytes[name_length] = '\0';
    memcpy(bytes + name_length + 1, file, file_length);
    return ck_ring_text(&inject_thread, &inject_ring, head, bytes,
                        name_length + 1 + file_length) == 0;
}

static uint64_t place_site(uint64_t frame, uint64_t site)
{
    uint64_t code = code_of(frame);
    uint64_t n =
        (word_at(frame + layout->instruction) - (code + layout->instructions)) /
        2;
    /* Another code object may come to the same address. */
    uint64_t key = mix(mix(code, n), mix(word_at(code + CODE_FILE),
                                         half_at(code + layout->first_line)));
    struct entry *entry = entry_find(key == 0 ? 1 : key);
    uint64_t told;

    if (entry == NULL) {
        full_note();
        return site;
    }
    told = CK_SITE_TOLD + ((uint64_t)inject_library << 32) +
           (uint64_t)(entry - entries) + 1;
    if (atomic_load_explicit(&entry->said, memory_order_relaxed) !=
        inject_ring.incarnation) {
        if (!place_say(told, code, n)) {
            return site;
        }
        atomic_store_explicit(&entry->said, inject_ring.incarnation,
                              memory_order_relaxed);
    }
    return told;
}

/* The interpreter's frames are not known: that is noted once. */
static void version_note(void)
{
    if (!atomic_exchange(&is_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "calls of a Python program have no lines: ck reads "
                         "those of Python 3.11 to 3.14 with a global lock");
    }
}

uint64_t python_site_find(uint64_t site)
{
    int saved = errno;
    uint64_t frame;

    if (layout == NULL) {
        version_note();
    } else {
        frame = frame_find();
        site = frame == 0 ? site : place_site(frame, site);
    }
    errno = saved;
    return site;
}

size_t python_stack_take(uint64_t *frames, size_t room)
{
    int saved = errno;
    uint64_t frame = layout == NULL ? 0 : frame_find();
    size_t count = 0;

    for (int i = 0;
         i < FRAMES_MAX && count < room && frame != 0 && frame % 8 == 0; i++) {
        if (is_of(code_of(frame), type_code)) {
            uint64_t site = place_site(frame, 0);

            if (site == 0) {
                break;
            }
            frames[count++] = site;
        }
        frame = word_at(frame + layout->previous);
    }
    errno = saved;
    return count;
}

static uint64_t address_find(const char *name)
{
    return (uint64_t)(uintptr_t)symbol_first(name);
}

/* A build without a global lock has objects of another shape; before 3.11
 * nothing shows the version. */
static const struct layout *layout_find(void)
{
    const unsigned long *version = symbol_first("Py_Version");

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (version != NULL && *version >> 16 == layouts[i].version &&
            sizeof(void *) == 8 &&
            address_find("_Py_MergeZeroLocalRefcount") == 0) {
            return &layouts[i];
        }
    }
    return NULL;
}

void python_site_load(void)
{
    union {
        void *object;
        uint64_t (*call)(void);
    } state = {symbol_first("PyGILState_GetThisThreadState")};

    type_code = address_find("PyCode_Type");
    type_text = address_find("PyUnicode_Type");
    type_bytes = address_find("PyBytes_Type");
    if (state.object == NULL || type_code == 0 || type_text == 0 ||
        type_bytes == 0) {
        return;
    }
    thread_state = state.call;
    layout = layout_find();
    python_is_on = true;
}
