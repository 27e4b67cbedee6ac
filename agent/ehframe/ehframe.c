/* ehframe.c - where the caller of a function finds its registers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   header: version 1, three encodings, count, (function, entry) sorted
 *   entry (FDE) -> its common part (CIE); both end in instructions that build
 *   the rules of one address after the other
 */
#include "agent/ehframe/ehframe.h"

#include <stddef.h>
#include <string.h>

/* Encodings (DWARF): what a pointer is, and to what it is relative. */
#define AS_UDATA4 0x03
#define AS_SDATA4 0x0b
#define AS_SDATA8 0x0c
#define FROM_PLACE 0x10
#define FROM_HEADER 0x30

/* Instructions of expressions. */
#define OP_DEREF 0x06
#define OP_LIT0 0x30
#define OP_BREG0 0x70
#define OP_BREGS 32

#define DEPTH 4 /* of remembered states */

/* What is left to be read; a read beyond it makes it bad. */
struct reader {
    uint64_t at;
    uint64_t end;
    bool is_bad;
};

struct entry {
    struct reader instructions[2]; /* of the common part, and its own */
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t begin; /* of the function */
    uint64_t size;
    uint8_t pointers; /* how they are encoded */
    bool is_signal;
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

/* Does ck read pointers that are encoded so? */
static bool is_encoding_known(uint8_t encoding)
{
    return encoding == (AS_SDATA4 | FROM_PLACE) ||
           encoding == (AS_SDATA8 | FROM_PLACE);
}

/* The augmentation of a common part: how pointers are encoded, a personality, a
 * language's data, a signal's frame. False: another one. */
static bool augmentation_read(struct reader *reader,
                              const char *letters,
                              struct entry *entry)
{
    uint64_t length = number_read(reader);
    uint64_t end = reader->at + length;

    for (; *letters != '\0'; letters++) {
        if (*letters == 'R') {
            entry->pointers = byte_read(reader);
        } else if (*letters == 'P') {
            if ((byte_read(reader) & 0x07) != 0x03) {
                return false;
            }
            skip(reader, 4);
        } else if (*letters == 'L') {
            (void)byte_read(reader);
        } else if (*letters == 'S') {
            entry->is_signal = true;
        } else if (*letters != 'B') { /* how return addresses are signed */
            return false;
        }
    }
    if (reader->is_bad || reader->at > end || end > reader->end ||
        !is_encoding_known(entry->pointers)) {
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
    if (byte_read(&reader) != EHFRAME_RETURN ||
        !augmentation_read(&reader, letters + 1, entry)) {
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
    if (entry->pointers == (AS_SDATA8 | FROM_PLACE)) {
        bytes_read(&reader, &entry->begin, sizeof(entry->begin));
        bytes_read(&reader, &entry->size, sizeof(entry->size));
    } else {
        entry->begin = (uint64_t)(int64_t)(int32_t)word_read(&reader);
        entry->size = word_read(&reader);
    }
    entry->begin += place;
    skip(&reader, number_read(&reader));
    entry->instructions[1] = reader;
    return !reader.is_bad;
}

/* ---- expressions ----------------------------------------------------------
 */

/* Of those that compilers write, the only ones: a register and a number, with
 * or without the word there. */
struct expression {
    uint8_t base; /* register */
    int64_t offset;
    bool is_memory;
    bool is_known;
};

static struct expression expression_read(struct reader *reader)
{
    uint64_t length = number_read(reader);
    uint64_t end = reader->at + length;
    struct expression expression = {.is_known = false};
    uint8_t op;

    if (reader->is_bad || length == 0 || reader->end - reader->at < length) {
        reader->is_bad = true;
        return expression;
    }
    op = byte_read(reader);
    if (op >= OP_BREG0 && op < OP_BREG0 + OP_BREGS) {
        expression.base = (uint8_t)(op - OP_BREG0);
        expression.offset = signed_read(reader);
        expression.is_memory =
            reader->at + 1 == end && byte_read(reader) == OP_DEREF;
        expression.is_known = reader->at == end && !reader->is_bad;
    }
    reader->at = end;
    return expression;
}

/* The linker's for calls through a table: sp + 8 + ((pc & 15) >= N ? 8 : 0).
 * N, or 0 = another one. */
static uint8_t plt_read(struct reader reader)
{
    static const uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
    static const uint8_t behind[] = {0x2a, 0x33, 0x24, 0x22};
    uint8_t bytes[sizeof(before) + 1 + sizeof(behind)];

    if (number_read(&reader) != sizeof(bytes)) {
        return 0;
    }
    bytes_read(&reader, bytes, sizeof(bytes));
    return !reader.is_bad && memcmp(bytes, before, sizeof(before)) == 0 &&
                   memcmp(bytes + sizeof(before) + 1, behind, sizeof(behind)) ==
                       0 &&
                   bytes[sizeof(before)] > OP_LIT0 &&
                   bytes[sizeof(before)] < OP_LIT0 + 16
               ? (uint8_t)(bytes[sizeof(before)] - OP_LIT0)
               : 0;
}

/* ---- instructions ---------------------------------------------------------
 */

/* Being run: rules up to the address. */
struct machine {
    struct ehframe_rule rule;
    struct ehframe_rule initial;
    struct ehframe_rule remembered[DEPTH];
    unsigned depth;
    const struct entry *entry;
    uint64_t at;   /* address that the rules are of */
    uint64_t upto; /* ... are wanted of */
};

/* Where a rule has the register; EHFRAME_KEPT = nowhere. */
static enum ehframe_kept kept_of(uint64_t number)
{
    static const uint8_t numbers[EHFRAME_KEPT] = {EHFRAME_NUMBERS};
    unsigned kept = 0;

    if (number == EHFRAME_RETURN) {
        return EHFRAME_KEPT_PC;
    }
    while (kept < EHFRAME_KEPT_PC && numbers[kept] != number) {
        kept++;
    }
    return kept < EHFRAME_KEPT_PC ? (enum ehframe_kept)kept : EHFRAME_KEPT;
}

static void kept_set(struct ehframe_rule *rule,
                     uint64_t number,
                     enum ehframe_how how,
                     int64_t offset)
{
    enum ehframe_kept kept = kept_of(number);

    if (kept != EHFRAME_KEPT) {
        bool is_small = offset == (int32_t)offset;

        rule->how[kept] = (uint8_t)(is_small ? how : EHFRAME_LOST);
        rule->offset[kept] = is_small ? (int32_t)offset : 0;
    }
}

/* The register is as it was at the function's begin. */
static void kept_restore(struct machine *machine, uint64_t number)
{
    enum ehframe_kept kept = kept_of(number);

    if (kept != EHFRAME_KEPT) {
        machine->rule.how[kept] = machine->initial.how[kept];
        machine->rule.offset[kept] = machine->initial.offset[kept];
    }
}

/* It is saved where the expression points. */
static void
kept_compute(struct ehframe_rule *rule, uint64_t number, struct reader *reader)
{
    struct expression found = expression_read(reader);
    enum ehframe_how how = EHFRAME_LOST;

    if (found.is_known && !found.is_memory && found.base == EHFRAME_BP) {
        how = EHFRAME_AT_BP;
    } else if (found.is_known && !found.is_memory && found.base == EHFRAME_SP) {
        how = EHFRAME_AT_SP;
    }
    kept_set(rule, number, how, found.offset);
}

static void cfa_set(struct ehframe_rule *rule,
                    enum ehframe_cfa is,
                    uint64_t base,
                    int64_t offset)
{
    bool is_known = base < EHFRAME_PC && offset == (int32_t)offset;

    rule->cfa_is = (uint8_t)(is_known ? is : EHFRAME_CFA_UNKNOWN);
    rule->cfa_register = (uint8_t)(is_known ? base : 0);
    rule->cfa = (int32_t)(is_known ? offset : 0);
}

static void cfa_compute(struct ehframe_rule *rule, struct reader *reader)
{
    uint8_t within = plt_read(*reader);
    struct expression found = expression_read(reader);

    if (within != 0) {
        cfa_set(rule, EHFRAME_CFA_PLT, EHFRAME_SP, within);
    } else if (found.is_known) {
        cfa_set(rule,
                found.is_memory ? EHFRAME_CFA_MEMORY : EHFRAME_CFA_REGISTER,
                found.base, found.offset);
    } else {
        cfa_set(rule, EHFRAME_CFA_UNKNOWN, 0, 0);
    }
}

/* Instructions on the CFA. True when it is one. */
static bool cfa_run(struct ehframe_rule *rule,
                    uint8_t code,
                    int64_t data_unit,
                    struct reader *reader)
{
    uint64_t base;

    switch (code) {
    case 0x0c: /* def_cfa */
        base = number_read(reader);
        cfa_set(rule, EHFRAME_CFA_REGISTER, base, units_read(reader, 1, false));
        return true;
    case 0x0d: /* def_cfa_register */
        cfa_set(rule, (enum ehframe_cfa)rule->cfa_is, number_read(reader),
                rule->cfa);
        return true;
    case 0x0e: /* def_cfa_offset */
        cfa_set(rule, (enum ehframe_cfa)rule->cfa_is, rule->cfa_register,
                units_read(reader, 1, false));
        return true;
    case 0x0f: /* def_cfa_expression */
        cfa_compute(rule, reader);
        return true;
    case 0x12: /* def_cfa_sf */
        base = number_read(reader);
        cfa_set(rule, EHFRAME_CFA_REGISTER, base,
                units_read(reader, data_unit, true));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        cfa_set(rule, (enum ehframe_cfa)rule->cfa_is, rule->cfa_register,
                units_read(reader, data_unit, true));
        return true;
    default:
        return false;
    }
}

static bool is_on_register(uint8_t code)
{
    return (code >= 0x05 && code <= 0x09) || code == 0x10 || code == 0x11 ||
           (code >= 0x14 && code <= 0x16);
}

/* Instructions on other registers. True when it is one. */
static bool
register_run(struct machine *machine, uint8_t code, struct reader *reader)
{
    struct ehframe_rule *rule = &machine->rule;
    int64_t unit = machine->entry->data_unit;
    uint64_t number;

    if (!is_on_register(code)) {
        return false;
    }
    number = number_read(reader);
    switch (code) {
    case 0x05: /* offset_extended */
        kept_set(rule, number, EHFRAME_AT_CFA, units_read(reader, unit, false));
        return true;
    case 0x06: /* restore_extended */
        kept_restore(machine, number);
        return true;
    case 0x08: /* same_value */
        kept_set(rule, number, EHFRAME_SAME, 0);
        return true;
    case 0x10: /* expression */
        kept_compute(rule, number, reader);
        return true;
    case 0x11: /* offset_extended_sf */
        kept_set(rule, number, EHFRAME_AT_CFA, units_read(reader, unit, true));
        return true;
    case 0x09: /* register */
    case 0x14: /* val_offset */
        (void)number_read(reader);
        break;
    case 0x15: /* val_offset_sf */
        (void)signed_read(reader);
        break;
    case 0x16: /* val_expression */
        skip(reader, number_read(reader));
        break;
    default: /* 0x07 undefined */
        break;
    }
    kept_set(rule, number, EHFRAME_LOST, 0);
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
        machine->remembered[machine->depth++] = machine->rule;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0) {
            return false;
        }
        machine->rule = machine->remembered[--machine->depth];
        return true;
    case 0x2d: /* AARCH64_negate_ra_state: the return address is signed now */
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
            kept_set(&machine->rule, low, EHFRAME_AT_CFA,
                     units_read(&reader, machine->entry->data_unit, false));
        } else if (code >> 6 == 3) { /* restore */
            kept_restore(machine, low);
        } else if (!cfa_run(&machine->rule, code, machine->entry->data_unit,
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

enum ehframe ehframe_find(const struct ehframe_module *module,
                          uint64_t pc,
                          struct ehframe_rule *rule)
{
    uint64_t within = pc - 1; /* the call, not what follows it */
    uint64_t at = entry_search(module, within);
    struct entry entry = {.pointers = 0};
    struct machine machine = {.entry = &entry, .upto = within};

    if (at == 0 || !entry_read(module, at, &entry) ||
        within - entry.begin >= entry.size) {
        return EHFRAME_UNKNOWN;
    }
    machine.at = entry.begin;
    if (!instructions_run(&machine, entry.instructions[0])) {
        return EHFRAME_UNKNOWN;
    }
    machine.initial = machine.rule;
    if (!instructions_run(&machine, entry.instructions[1])) {
        return EHFRAME_UNKNOWN;
    }
    if (machine.rule.how[EHFRAME_KEPT_PC] == EHFRAME_LOST) {
        return EHFRAME_OUTERMOST;
    }
    if (machine.rule.cfa_is == EHFRAME_CFA_UNKNOWN ||
        (machine.rule.how[EHFRAME_KEPT_PC] == EHFRAME_SAME &&
         EHFRAME_RETURN == EHFRAME_PC)) {
        return EHFRAME_UNKNOWN;
    }
    machine.rule.is_signal = entry.is_signal;
    *rule = machine.rule;
    return EHFRAME_FOUND;
}
