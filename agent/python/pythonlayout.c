/* pythonlayout.c - where an interpreter keeps its threads, frames and code
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From 3.13 on _PyRuntime starts with a cookie, the version, and a table of
 * offsets. The table has more entries from version to version; `places` is
 * the list of those that are used. Its numbers are those of another process:
 * each is checked against the most that is read.
 */
#include "agent/python/pythonlayout.h"

#include <string.h>

#include "agent/python/pythonmemory.h"

#define COOKIE "xdebugpy"
#define TABLE_WORDS 82
#define VERSION_WORD 1
#define FREE_THREADED_WORD 2
#define FAR 0x1000000 /* no offset is larger */

static const struct pythonlayout known[] = {
    {
        .version = 0x30b,
        .interpreters = 40,
        .next_interpreter = 0,
        .threads = 16,
        .next_thread = 8,
        .interpreter = 16,
        .native_id = 160,
        .frames = 56,
        .current = 8,
        .code = 32,
        .previous = 48,
        .instruction = 56,
        .file = 112,
        .function = 128,
        .lines = 136,
        .first_line = 72,
        .instructions = 184,
        .type = 8,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 48,
        .bytes_length = 16,
        .bytes_data = 32,
    },
    {
        .version = 0x30c,
        .interpreters = 40,
        .next_interpreter = 0,
        .threads = 72,
        .next_thread = 8,
        .interpreter = 16,
        .native_id = 144,
        .frames = 56,
        .current = 0,
        .code = 0,
        .previous = 8,
        .instruction = 56,
        .file = 112,
        .function = 128,
        .lines = 136,
        .first_line = 68,
        .instructions = 192,
        .type = 8,
        .text_length = 16,
        .text_state = 32,
        .text_ascii = 40,
        .bytes_length = 16,
        .bytes_data = 32,
    },
};

/* Words of the table. */
struct places {
    uint32_t version;
    uint8_t next_interpreter, threads;
    uint8_t next_thread, interpreter, frames, native_id;
    uint8_t previous, code, instruction, copy;
    uint8_t file, function, lines, first_line, instructions, copies;
    uint8_t type, bytes_length, bytes_data;
    uint8_t text_state, text_length, text_ascii;
};

#define INTERPRETERS_WORD 5

static const struct places tables[] = {
    {
        .version = 0x30d,
        .next_interpreter = 8,
        .threads = 9,
        .next_thread = 21,
        .interpreter = 22,
        .frames = 23,
        .native_id = 25,
        .previous = 29,
        .code = 30,
        .instruction = 31,
        .file = 35,
        .function = 37,
        .lines = 38,
        .first_line = 39,
        .instructions = 43,
        .type = 45,
        .bytes_length = 65,
        .bytes_data = 66,
        .text_state = 68,
        .text_length = 69,
        .text_ascii = 70,
    },
    {
        .version = 0x30e,
        .next_interpreter = 8,
        .threads = 9,
        .next_thread = 24,
        .interpreter = 25,
        .frames = 26,
        .native_id = 28,
        .previous = 32,
        .code = 33,
        .instruction = 34,
        .copy = 38,
        .file = 40,
        .function = 42,
        .lines = 43,
        .first_line = 44,
        .instructions = 48,
        .copies = 49,
        .type = 51,
        .bytes_length = 75,
        .bytes_data = 76,
        .text_state = 78,
        .text_length = 79,
        .text_ascii = 80,
    },
};

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t pythonlayout_thread_bytes(const struct pythonlayout *layout)
{
    return 8 + most(most(layout->next_thread, layout->interpreter),
                    most(layout->native_id, layout->frames));
}

uint32_t pythonlayout_frame_bytes(const struct pythonlayout *layout)
{
    return 8 + most(most(layout->code, layout->previous),
                    most(layout->instruction, layout->copy));
}

uint32_t pythonlayout_code_bytes(const struct pythonlayout *layout)
{
    return 8 + most(most(most(layout->file, layout->function),
                         most(layout->lines, layout->first_line)),
                    most(layout->type, layout->copies));
}

static uint32_t text_bytes(const struct pythonlayout *layout)
{
    return 8 + most(most(layout->text_length, layout->text_state),
                    most(layout->text_ascii, layout->bytes_data));
}

static bool is_sane(const struct pythonlayout *layout)
{
    return layout->interpreters < FAR && layout->threads < FAR &&
           layout->next_interpreter < FAR && layout->instructions < FAR &&
           layout->bytes_length + 8 <= layout->bytes_data &&
           layout->text_length + 8 <= layout->text_ascii &&
           layout->text_state + 4 <= layout->text_ascii &&
           layout->type + 8 <= layout->text_ascii &&
           layout->type + 8 <= layout->bytes_data &&
           pythonlayout_thread_bytes(layout) <= PYTHONLAYOUT_THREAD_MAX &&
           pythonlayout_frame_bytes(layout) <= PYTHONLAYOUT_FRAME_MAX &&
           pythonlayout_code_bytes(layout) <= PYTHONLAYOUT_CODE_MAX &&
           text_bytes(layout) <= PYTHONLAYOUT_TEXT_MAX;
}

/* Offsets that are larger than any make a layout that is not sane. */
static uint32_t offset_of(const uint64_t *table, unsigned word)
{
    return table[word] < FAR ? (uint32_t)table[word] : FAR;
}

static void table_take(const uint64_t *table,
                       const struct places *at,
                       struct pythonlayout *layout)
{
    bool has_copies = table[FREE_THREADED_WORD] != 0 && at->copy != 0;

    *layout = (struct pythonlayout){
        .version = at->version,
        .interpreters = offset_of(table, INTERPRETERS_WORD),
        .next_interpreter = offset_of(table, at->next_interpreter),
        .threads = offset_of(table, at->threads),
        .next_thread = offset_of(table, at->next_thread),
        .interpreter = offset_of(table, at->interpreter),
        .native_id = offset_of(table, at->native_id),
        .frames = offset_of(table, at->frames),
        .current = -1,
        .code = offset_of(table, at->code),
        .previous = offset_of(table, at->previous),
        .instruction = offset_of(table, at->instruction),
        .copy = has_copies ? offset_of(table, at->copy) : 0,
        .file = offset_of(table, at->file),
        .function = offset_of(table, at->function),
        .lines = offset_of(table, at->lines),
        .first_line = offset_of(table, at->first_line),
        .instructions = offset_of(table, at->instructions),
        .copies = has_copies ? offset_of(table, at->copies) : 0,
        .type = offset_of(table, at->type),
        .text_length = offset_of(table, at->text_length),
        .text_state = offset_of(table, at->text_state),
        .text_ascii = offset_of(table, at->text_ascii),
        .bytes_length = offset_of(table, at->bytes_length),
        .bytes_data = offset_of(table, at->bytes_data),
    };
}

static int table_read(pid_t pid, uint64_t runtime, struct pythonlayout *layout)
{
    uint64_t table[TABLE_WORDS];

    if (pythonmemory_read(pid, runtime, table, sizeof(table)) != 0 ||
        memcmp(table, COOKIE, sizeof(table[0])) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (table[VERSION_WORD] >> 16 == tables[i].version) {
            table_take(table, &tables[i], layout);
            return is_sane(layout) ? 0 : -1;
        }
    }
    return -1;
}

int pythonlayout_read(pid_t pid,
                      uint64_t runtime,
                      uint64_t version,
                      struct pythonlayout *layout)
{
    uint64_t number = 0;

    if (version != 0 &&
        pythonmemory_read(pid, version, &number, sizeof(number)) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (number >> 16 == known[i].version) {
            *layout = known[i];
            return 0;
        }
    }
    return table_read(pid, runtime, layout);
}
