/* ehframe.c - where the caller of a function finds its registers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   header: version 1, three encodings, count, (function, entry) sorted
 *   entry (FDE) -> its common part (CIE); both end in instructions that build
 *   the rules of one address after the other
 */
#include "agent/inject/ehframe.h"

#include <stddef.h>
#include <string.h>

/* Encodings (DWARF): what a pointer is, and to what it is relative. */
#define AS_UDATA4 0x03
#define AS_SDATA4 0x0b
#define FROM_PLACE 0x10
#define FROM_HEADER 0x30

#define REG_BP 6
#define REG_SP 7
#define REG_RETURN 16

#define DEPTH 4 /* of remembered states */

/* What is left to be read; a read beyond it makes it bad. */
struct reader {
    uint64_t at;
    uint64_t end;
    bool is_bad;
};

/* The rules at one address. */
struct state {
    uint64_t cfa_register;
    int64_t cfa;
    bool is_cfa_known;
    bool is_bp_saved;
    bool is_bp_lost;
    int64_t bp;
    bool is_last; /* nobody called it */
};

struct entry {
    struct reader instructions[2]; /* of the common part, and its own */
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t begin; /* of the function */
    uint64_t size;
};

static void bytes_read(struct reader *reader, void *to, uint64_t bytes)
{
    memset(to, 0, bytes);
    if (reader->is_bad || reader->end - reader->at < bytes) {
        reader->is_bad = true;
        return;
    }
    memcpy(to, (const void *)(uintptr_t)reader->at, bytes);
    reader->at += bytes;
}

static uint8_t byte_read(struct reader *reader)
{
    uint8_t byte;

    bytes_read(reader, &byte, 1);
    return byte;
}

static uint16_t half_read(struct reader *reader)
{
    uint16_t half;

    bytes_read(reader, &half, sizeof(half));
    return half;
}

static uint32_t word_read(struct reader *reader)
{
    uint32_t word;

    bytes_read(reader, &word, sizeof(word));
    return word;
}

static uint64_t number_read(struct reader *reader)
{
    uint64_t number = 0;
    uint8_t byte = 0x80;

    for (unsigned shift = 0; shift < 63 && (byte & 0x80) != 0; shift += 7) {
        byte = byte_read(reader);
        number |= (uint64_t)(byte & 0x7f) << shift;
    }
    reader->is_bad = reader->is_bad || (byte & 0x80) != 0;
    return number;
}

static int64_t signed_read(struct reader *reader)
{
    uint64_t number = 0;
    uint8_t byte = 0x80;
    unsigned shift = 0;

    for (; shift < 63 && (byte & 0x80) != 0; shift += 7) {
        byte = byte_read(reader);
        number |= (uint64_t)(byte & 0x7f) << shift;
    }
    reader->is_bad = reader->is_bad || (byte & 0x80) != 0;
    if ((byte & 0x40) != 0) {
        number |= UINT64_MAX << shift;
    }
    return (int64_t)number;
}

/* A number of units; wraps where the bytes are nonsense. */
static int64_t units_read(struct reader *reader, int64_t unit, bool is_signed)
{
    uint64_t number =
        is_signed ? (uint64_t)signed_read(reader) : number_read(reader);

    return (int64_t)(number * (uint64_t)unit);
}

static void skip(struct reader *reader, uint64_t bytes)
{
    if (reader->is_bad || reader->end - reader->at < bytes) {
        reader->is_bad = true;
        return;
    }
    reader->at += bytes;
}

/* A reader from `at` to the module's end. */
static struct reader reader_at(const struct ehframe_module *module, uint64_t at)
{
    return (struct reader){
        .at = at,
        .end = module->end,
        .is_bad = at < module->begin || at >= module->end,
    };
}

/* ---- finding the entry ----------------------------------------------------
 */

/* The entry of the last function that begins at or before pc; 0 = none. */
static uint64_t entry_search(const struct ehframe_module *module, uint64_t pc)
{
    struct reader reader = reader_at(module, module->header);
    uint8_t version = byte_read(&reader);
    uint8_t frames = byte_read(&reader);
    uint8_t count_as = byte_read(&reader);
    uint8_t table_as = byte_read(&reader);
    uint32_t low = 0, high;

    if (version != 1 || count_as != AS_UDATA4 ||
        table_as != (AS_SDATA4 | FROM_HEADER) || (frames & 0x07) != 0x03) {
        return 0;
    }
    skip(&reader, 4);
    high = word_read(&reader);
    if (reader.is_bad || high == 0 || (reader.end - reader.at) / 8 < high) {
        return 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct reader row = reader_at(module, reader.at + 8ull * middle);

        if (module->header + (uint64_t)(int64_t)(int32_t)word_read(&row) <=
            pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return 0;
    }
    reader = reader_at(module, reader.at + 8ull * (low - 1) + 4);
    return module->header + (uint64_t)(int64_t)(int32_t)word_read(&reader);
}

/* The augmentation of a common part: only a pointer encoding that is relative
 * to its place, a personality, a language's data. False: another one. */
static bool augmentation_read(struct reader *reader, const char *letters)
{
    uint64_t length = number_read(reader);
    uint64_t end = reader->at + length;

    for (; *letters != '\0'; letters++) {
        if (*letters == 'R') {
            if (byte_read(reader) != (AS_SDATA4 | FROM_PLACE)) {
                return false;
            }
        } else if (*letters == 'P') {
            if ((byte_read(reader) & 0x07) != 0x03) {
                return false;
            }
            skip(reader, 4);
        } else if (*letters == 'L') {
            (void)byte_read(reader);
        } else {
            return false; /* 'S': a signal's frame */
        }
    }
    if (reader->is_bad || reader->at > end || end > reader->end) {
        return false;
    }
    reader->at = end;
    return true;
}

static bool common_read(const struct ehframe_module *module,
                        uint64_t at,
                        struct entry *entry)
{
    struct reader reader = reader_at(module, at);
    uint32_t length = word_read(&reader);
    char letters[8] = "";

    if (reader.is_bad || length == UINT32_MAX ||
        reader.end - reader.at < length) {
        return false;
    }
    reader.end = reader.at + length;
    if (word_read(&reader) != 0 || byte_read(&reader) != 1) {
        return false;
    }
    for (size_t i = 0; i < sizeof(letters); i++) {
        letters[i] = (char)byte_read(&reader);
        if (letters[i] == '\0') {
            break;
        }
    }
    if (letters[sizeof(letters) - 1] != '\0' || letters[0] != 'z') {
        return false;
    }
    entry->code_unit = number_read(&reader);
    entry->data_unit = signed_read(&reader);
    if (byte_read(&reader) != REG_RETURN ||
        !augmentation_read(&reader, letters + 1)) {
        return false;
    }
    entry->instructions[0] = reader;
    return true;
}

static bool entry_read(const struct ehframe_module *module,
                       uint64_t at,
                       struct entry *entry)
{
    struct reader reader = reader_at(module, at);
    uint32_t length = word_read(&reader);
    uint64_t place = reader.at;
    uint32_t back;

    if (reader.is_bad || length == UINT32_MAX ||
        reader.end - reader.at < length) {
        return false;
    }
    reader.end = reader.at + length;
    back = word_read(&reader);
    if (back == 0 || !common_read(module, place - back, entry)) {
        return false;
    }
    place = reader.at;
    entry->begin = place + (uint64_t)(int64_t)(int32_t)word_read(&reader);
    entry->size = word_read(&reader);
    skip(&reader, number_read(&reader));
    entry->instructions[1] = reader;
    return !reader.is_bad;
}

/* ---- instructions ---------------------------------------------------------
 */

static void saved_set(struct state *state, uint64_t number, int64_t offset)
{
    if (number == REG_BP) {
        state->is_bp_saved = true;
        state->is_bp_lost = false;
        state->bp = offset;
    } else if (number == REG_RETURN && offset != -8) {
        state->is_last = true;
    }
}

/* The register is as it was at the function's begin. */
static void
saved_restore(struct state *state, uint64_t number, const struct state *initial)
{
    if (number == REG_BP) {
        state->is_bp_saved = initial->is_bp_saved;
        state->is_bp_lost = initial->is_bp_lost;
        state->bp = initial->bp;
    }
}

static void saved_lose(struct state *state, uint64_t number)
{
    if (number == REG_BP) {
        state->is_bp_lost = true;
    } else if (number == REG_RETURN) {
        state->is_last = true;
    }
}

/* Being run: rules up to the address. */
struct machine {
    struct state state;
    struct state initial;
    struct state remembered[DEPTH];
    unsigned depth;
    const struct entry *entry;
    uint64_t at;   /* address that the rules are of */
    uint64_t upto; /* ... are wanted of */
};

/* Instructions on the CFA. True when it is one. */
static bool cfa_run(struct state *state,
                    uint8_t code,
                    int64_t data_unit,
                    struct reader *reader)
{
    switch (code) {
    case 0x0c: /* def_cfa */
        state->cfa_register = number_read(reader);
        state->cfa = (int64_t)number_read(reader);
        state->is_cfa_known = true;
        return true;
    case 0x0d: /* def_cfa_register */
        state->cfa_register = number_read(reader);
        return true;
    case 0x0e: /* def_cfa_offset */
        state->cfa = (int64_t)number_read(reader);
        return true;
    case 0x0f: /* def_cfa_expression */
        skip(reader, number_read(reader));
        state->is_cfa_known = false;
        return true;
    case 0x12: /* def_cfa_sf */
        state->cfa_register = number_read(reader);
        state->cfa = units_read(reader, data_unit, true);
        state->is_cfa_known = true;
        return true;
    case 0x13: /* def_cfa_offset_sf */
        state->cfa = units_read(reader, data_unit, true);
        return true;
    default:
        return false;
    }
}

/* Instructions on other registers. True when it is one. */
static bool
register_run(struct machine *machine, uint8_t code, struct reader *reader)
{
    int64_t unit = machine->entry->data_unit;
    uint64_t number;

    if (code < 0x05 || (code > 0x09 && code != 0x10 && code != 0x11 &&
                        !(code >= 0x14 && code <= 0x16))) {
        return false;
    }
    number = number_read(reader);
    switch (code) {
    case 0x05: /* offset_extended */
        saved_set(&machine->state, number, units_read(reader, unit, false));
        return true;
    case 0x06: /* restore_extended */
        saved_restore(&machine->state, number, &machine->initial);
        return true;
    case 0x08: /* same_value */
        if (number == REG_BP) {
            machine->state.is_bp_saved = false;
        }
        return true;
    case 0x11: /* offset_extended_sf */
        saved_set(&machine->state, number, units_read(reader, unit, true));
        return true;
    case 0x09: /* register */
        (void)number_read(reader);
        break;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        skip(reader, number_read(reader));
        break;
    case 0x14: /* val_offset */
        (void)number_read(reader);
        break;
    case 0x15: /* val_offset_sf */
        (void)signed_read(reader);
        break;
    default: /* 0x07 undefined */
        break;
    }
    saved_lose(&machine->state, number);
    return true;
}

/* Moves on to another address, the stack of states, and what has no effect
 * here. False: an instruction that is not known. */
static bool
other_run(struct machine *machine, uint8_t code, struct reader *reader)
{
    switch (code) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1 */
        machine->at += byte_read(reader) * machine->entry->code_unit;
        return true;
    case 0x03: /* advance_loc2 */
        machine->at += half_read(reader) * machine->entry->code_unit;
        return true;
    case 0x04: /* advance_loc4 */
        machine->at += word_read(reader) * machine->entry->code_unit;
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == DEPTH) {
            return false;
        }
        machine->remembered[machine->depth++] = machine->state;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0) {
            return false;
        }
        machine->state = machine->remembered[--machine->depth];
        return true;
    case 0x2e: /* GNU_args_size */
        (void)number_read(reader);
        return true;
    default:
        return false;
    }
}

/* Run instructions until the address is passed. False: not understood. */
static bool instructions_run(struct machine *machine, struct reader reader)
{
    while (!reader.is_bad && reader.at < reader.end) {
        uint8_t code = byte_read(&reader);
        uint8_t low = code & 0x3f;

        if (code >> 6 == 1) { /* advance_loc */
            machine->at += low * machine->entry->code_unit;
        } else if (code >> 6 == 2) { /* offset */
            saved_set(&machine->state, low,
                      units_read(&reader, machine->entry->data_unit, false));
        } else if (code >> 6 == 3) { /* restore */
            saved_restore(&machine->state, low, &machine->initial);
        } else if (!cfa_run(&machine->state, code, machine->entry->data_unit,
                            &reader) &&
                   !register_run(machine, code, &reader) &&
                   !other_run(machine, code, &reader)) {
            return false;
        }
        if (machine->at > machine->upto) {
            return true;
        }
    }
    return !reader.is_bad;
}

bool ehframe_find(const struct ehframe_module *module,
                  uint64_t pc,
                  struct ehframe_rule *rule)
{
    uint64_t within = pc - 1; /* the call, not what follows it */
    uint64_t at = entry_search(module, within);
    struct entry entry;
    struct machine machine = {.entry = &entry, .upto = within};
    const struct state *state = &machine.state;

    if (at == 0 || !entry_read(module, at, &entry) ||
        within - entry.begin >= entry.size) {
        return false;
    }
    machine.at = entry.begin;
    if (!instructions_run(&machine, entry.instructions[0])) {
        return false;
    }
    machine.initial = machine.state;
    if (!instructions_run(&machine, entry.instructions[1])) {
        return false;
    }
    if (!state->is_cfa_known || state->is_last || state->is_bp_lost ||
        (state->cfa_register != REG_SP && state->cfa_register != REG_BP) ||
        state->cfa != (int32_t)state->cfa || state->bp != (int32_t)state->bp) {
        return false;
    }
    *rule = (struct ehframe_rule){
        .is_from_bp = state->cfa_register == REG_BP,
        .is_bp_saved = state->is_bp_saved,
        .cfa = (int32_t)state->cfa,
        .bp = (int32_t)state->bp,
    };
    return true;
}
