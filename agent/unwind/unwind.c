/* unwind.c - the callers of a sampled function, from a copy of its stack
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs are sampled in few places: the rule of an address is kept. A walk of
 * 20 frames is 20 look-ups in a table of rules by address.
 *
 * Code without rules (Go, what is compiled at run time, some assembler) mostly
 * has frame pointers: the frame that the pointer shows is believed where it
 * is above the last one, in the copy, and returns into code. Go's runtime works
 * on stacks of its own (garbage collection, its scheduler): such a stack ends
 * at the function that changed to it, whose own frame is on another one.
 */
#include "agent/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/unwind/codemaps.h"

/* Rules that are kept, by address: so many at first and at most; powers of two.
 */
#define RULES_FIRST 2048
#define RULES_MAX 16384

/* Registers that are not known behind a step, by a rule or by a frame pointer,
 * on a processor that has one for the return address: the caller's own is lost
 * with its call, and frames have their pointer at the lower end. */
#if EHFRAME_RETURN != EHFRAME_PC
#define RULE_LOSES (UINT64_C(1) << EHFRAME_RETURN)
#define POINTER_LOSES (RULE_LOSES | UINT64_C(1) << EHFRAME_SP)
#else
#define RULE_LOSES 0u
#define POINTER_LOSES 0u
#endif

struct known {
    uint64_t address; /* 0 = unused */
    uint32_t file;
    uint8_t answer;    /* enum ehframe */
    uint8_t switching; /* enum switching */
    struct ehframe_rule rule;
};

/* Does the function there call others on another stack? Asked where code has no
 * rules. */
enum switching { SWITCH_NOT_ASKED, SWITCH_NO, SWITCH_YES };

struct unwind {
    struct codemaps *codemaps; /* borrowed */
    struct known *known;
    size_t rules;  /* that have room */
    size_t misses; /* since there is that room */
};

/* What a walk works with. */
struct walk {
    struct unwind *unwind;
    const struct unwind_thread *thread;
    uint64_t registers[EHFRAME_REGISTERS];
    uint64_t unknown; /* bits of registers */
    uint64_t copied;  /* address of the copy's first byte */
    enum unwind_end end;
    bool has_pointers;
};

/* Each of them is in one line of the cache, and its page is there: a first
 * touch of a page takes longer than a walk. NULL with ENOMEM. */
static struct known *rules_create(size_t rules)
{
    void *known =
        mmap(NULL, rules * sizeof(struct known), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    return known == MAP_FAILED ? NULL : known;
}

struct unwind *unwind_create(struct codemaps *codemaps)
{
    struct unwind *unwind = calloc(1, sizeof(*unwind));

    if (unwind == NULL) {
        return NULL;
    }
    unwind->codemaps = codemaps;
    unwind->rules = RULES_FIRST;
    unwind->known = rules_create(unwind->rules);
    if (unwind->known == NULL) {
        unwind_destroy(unwind);
        return NULL;
    }
    return unwind;
}

void unwind_destroy(struct unwind *unwind)
{
    int saved = errno;

    if (unwind != NULL && unwind->known != NULL) {
        (void)munmap(unwind->known, unwind->rules * sizeof(*unwind->known));
    }
    free(unwind);
    errno = saved;
}

void unwind_forget(struct unwind *unwind, pid_t pid)
{
    codemaps_begin(unwind->codemaps, pid);
}

/* ---- rules ----------------------------------------------------------------
 */

static struct known *
rule_place(const struct unwind *unwind, uint64_t address, uint32_t file)
{
    uint64_t hash =
        (address ^ (uint64_t)file << 48) * UINT64_C(0x9e3779b97f4a7c15);

    return &unwind->known[(hash >> 40) & (unwind->rules - 1)];
}

/* Room for twice as many, if there is memory. */
static void rules_grow(struct unwind *unwind)
{
    struct unwind grown = {.rules = 2 * unwind->rules};

    grown.known = rules_create(grown.rules);
    if (grown.known == NULL) {
        return;
    }
    for (size_t i = 0; i < unwind->rules; i++) {
        const struct known *known = &unwind->known[i];

        if (known->address != 0) {
            *rule_place(&grown, known->address, known->file) = *known;
        }
    }
    (void)munmap(unwind->known, unwind->rules * sizeof(*unwind->known));
    unwind->known = grown.known;
    unwind->rules = grown.rules;
}

static struct known *
rule_of(struct unwind *unwind, const struct code *code, uint64_t pc)
{
    uint64_t address = pc - code->bias;
    struct known *known = rule_place(unwind, address, code->number);

    if (known->address == address && known->file == code->number) {
        return known;
    }
    if (++unwind->misses > unwind->rules / 2 && unwind->rules < RULES_MAX) {
        rules_grow(unwind);
        unwind->misses = 0;
        known = rule_place(unwind, address, code->number);
    }
    known->address = address;
    known->file = code->number;
    known->answer = (uint8_t)unwindfile_find(code->file, address, &known->rule);
    known->switching = SWITCH_NOT_ASKED;
    return known;
}

/* ---- steps ----------------------------------------------------------------
 */

/* False: the copy does not have it; walk->end has the reason. */
static bool word_read(struct walk *walk, uint64_t address, uint64_t *word)
{
    uint64_t at = address - walk->copied;

    if (address < walk->copied || address % 8 != 0) {
        walk->end = UNWIND_WRONG;
        return false;
    }
    if (at >= walk->thread->length ||
        walk->thread->length - at < sizeof(*word)) {
        walk->end = UNWIND_CUT;
        return false;
    }
    memcpy(word, walk->thread->stack + at, sizeof(*word));
    return true;
}

/* The same, of a return address. */
static bool address_read(struct walk *walk, uint64_t address, uint64_t *word)
{
    if (!word_read(walk, address, word)) {
        return false;
    }
    *word &= EHFRAME_ADDRESS;
    return true;
}

static bool is_known(const struct walk *walk, unsigned number)
{
    return (walk->unknown >> number & 1) == 0;
}

static bool
cfa_find(struct walk *walk, const struct ehframe_rule *rule, uint64_t *cfa)
{
    const uint64_t *registers = walk->registers;
    uint64_t from =
        registers[rule->cfa_register] + (uint64_t)(int64_t)rule->cfa;

    if (!is_known(walk, rule->cfa_register) &&
        rule->cfa_is != EHFRAME_CFA_PLT) {
        walk->end = UNWIND_UNKNOWN;
        return false;
    }
    switch ((enum ehframe_cfa)rule->cfa_is) {
    case EHFRAME_CFA_REGISTER:
        *cfa = from;
        return true;
    case EHFRAME_CFA_MEMORY:
        return word_read(walk, from, cfa);
    case EHFRAME_CFA_PLT:
        *cfa =
            registers[EHFRAME_SP] + 8 +
            ((registers[EHFRAME_PC] - 1) % 16 >= (uint64_t)rule->cfa ? 8 : 0);
        return true;
    default:
        walk->end = UNWIND_UNKNOWN;
        return false;
    }
}

/* The caller's register. One whose place is below the stack is unchanged: the
 * function's end has fetched it already, which rules do not show. */
static bool register_find(struct walk *walk,
                          const struct ehframe_rule *rule,
                          enum ehframe_kept kept,
                          uint64_t cfa,
                          uint64_t *word)
{
    uint64_t at = (uint64_t)(int64_t)rule->offset[kept];

    if (rule->how[kept] == EHFRAME_AT_BP && !is_known(walk, EHFRAME_BP)) {
        walk->end = UNWIND_UNKNOWN;
        return false;
    }

    switch ((enum ehframe_how)rule->how[kept]) {
    case EHFRAME_AT_CFA:
        at += cfa;
        break;
    case EHFRAME_AT_BP:
        at += walk->registers[EHFRAME_BP];
        break;
    case EHFRAME_AT_SP:
        at += walk->registers[EHFRAME_SP];
        break;
    default: /* unchanged, or lost and not asked for again */
        return true;
    }
    return (kept != EHFRAME_KEPT_PC && at < walk->registers[EHFRAME_SP]) ||
           word_read(walk, at, word);
}

static uint64_t bit_of(unsigned number)
{
    return UINT64_C(1) << number;
}

/* A function that calls no other may have its return address in a register, and
 * no room on the stack: the innermost one, as a call needs that register. */
static bool is_in_register(struct walk *walk, const struct ehframe_rule *rule)
{
    return rule->how[EHFRAME_KEPT_PC] == EHFRAME_SAME &&
           is_known(walk, EHFRAME_RETURN);
}

/* Is the caller's stack pointer one? */
static bool
is_above(struct walk *walk, const struct ehframe_rule *rule, uint64_t cfa)
{
    uint64_t sp = walk->registers[EHFRAME_SP];

    return cfa > sp || rule->is_signal ||
           (cfa == sp && is_in_register(walk, rule));
}

/* To the caller's registers. False: walk->end. */
static bool rule_step(struct walk *walk, const struct ehframe_rule *rule)
{
    static const uint8_t numbers[EHFRAME_KEPT] = {EHFRAME_NUMBERS};
    uint64_t next[EHFRAME_KEPT];
    uint64_t unknown = walk->unknown & ~bit_of(EHFRAME_SP);
    uint64_t cfa;

    if (!cfa_find(walk, rule, &cfa)) {
        return false;
    }
    for (int kept = 0; kept < EHFRAME_KEPT; kept++) {
        next[kept] = walk->registers[numbers[kept]];
    }
    next[EHFRAME_KEPT_SP] = cfa;
    next[EHFRAME_KEPT_PC] = walk->registers[EHFRAME_RETURN];
    for (int kept = 0; kept < EHFRAME_KEPT; kept++) {
        if (rule->how[kept] == EHFRAME_SAME) {
            continue;
        }
        if (!register_find(walk, rule, (enum ehframe_kept)kept, cfa,
                           &next[kept])) {
            return false;
        }
        if (rule->how[kept] != EHFRAME_LOST) {
            unknown &= ~bit_of(numbers[kept]);
        }
    }
    if (rule->how[EHFRAME_KEPT_PC] == EHFRAME_SAME &&
        !is_known(walk, EHFRAME_RETURN)) {
        walk->end = UNWIND_UNKNOWN;
        return false;
    }
    if (!is_above(walk, rule, next[EHFRAME_KEPT_SP])) {
        walk->end = UNWIND_WRONG;
        return false;
    }
    next[EHFRAME_KEPT_PC] &= EHFRAME_ADDRESS;
    /* Of an instruction, as the first. */
    next[EHFRAME_KEPT_PC] += rule->is_signal;
    walk->unknown = unknown | RULE_LOSES;
    for (int kept = 0; kept < EHFRAME_KEPT; kept++) {
        walk->registers[numbers[kept]] = next[kept];
    }
    return true;
}

/* Is that a return into a function that changed to this stack? */
static bool is_switch(struct walk *walk, uint64_t pc)
{
    struct codemaps *codemaps = walk->unwind->codemaps;
    struct code code;

    return codemaps_find(codemaps, walk->thread->pid, pc - 1, &code) &&
           codemaps_is_switch(codemaps, &code, pc - 1);
}

/* The caller's frame pointer and return address, where the frame pointer can
 * be one. */
static bool pointer_read(struct walk *walk, uint64_t *caller, uint64_t *pc)
{
    uint64_t bp = walk->registers[EHFRAME_BP];
    struct code code;

    return is_known(walk, EHFRAME_BP) && bp >= walk->registers[EHFRAME_SP] &&
           word_read(walk, bp, caller) && address_read(walk, bp + 8, pc) &&
           (*pc == 0 || codemaps_find(walk->unwind->codemaps, walk->thread->pid,
                                      *pc - 1, &code)) &&
           (*caller == 0 || *caller > bp || is_switch(walk, *pc));
}

/* Is the walk in such a function? */
static bool is_in_switch(struct walk *walk, struct known *known)
{
    if (known == NULL) {
        return false;
    }
    if (known->switching == SWITCH_NOT_ASKED) {
        known->switching = is_switch(walk, walk->registers[EHFRAME_PC])
                               ? SWITCH_YES
                               : SWITCH_NO;
    }
    return known->switching == SWITCH_YES;
}

/* The same by the frame pointer; `known` is of the address, NULL = it is in no
 * file. */
static bool pointer_step(struct walk *walk, struct known *known)
{
    uint64_t bp = walk->registers[EHFRAME_BP];
    uint64_t caller, pc;

    if (walk->has_pointers && ((is_known(walk, EHFRAME_BP) && bp == 0) ||
                               is_in_switch(walk, known))) {
        walk->end = UNWIND_WHOLE; /* the outermost frame has such a pointer */
        return false;
    }
    if (!pointer_read(walk, &caller, &pc)) {
        walk->end = UNWIND_UNKNOWN;
        return false;
    }
    walk->registers[EHFRAME_SP] = bp + 16;
    walk->registers[EHFRAME_BP] = caller;
    walk->registers[EHFRAME_PC] = pc;
    walk->unknown |= POINTER_LOSES;
    walk->has_pointers = true;
    return true;
}

/* To the caller's frame. False: there is none; walk->end. */
static bool frame_step(struct walk *walk)
{
    uint64_t pc = walk->registers[EHFRAME_PC];
    struct known *known = NULL;
    struct code code;

    if (!codemaps_find(walk->unwind->codemaps, walk->thread->pid, pc - 1,
                       &code)) {
        walk->end = UNWIND_WRONG;
        return false;
    }
    if (code.file != NULL) {
        known = rule_of(walk->unwind, &code, pc);
    }
    if (known != NULL && known->answer == EHFRAME_OUTERMOST) {
        walk->end = UNWIND_WHOLE;
        return false;
    }
    return known != NULL && known->answer == EHFRAME_FOUND &&
                   !(walk->has_pointers &&
                     !is_known(walk, known->rule.cfa_register))
               ? rule_step(walk, &known->rule)
               : pointer_step(walk, known);
}

enum unwind_end unwind_walk(struct unwind *unwind,
                            const struct unwind_thread *thread,
                            struct unwind_frames *frames)
{
    struct walk walk = {.unwind = unwind,
                        .thread = thread,
                        .unknown = thread->unknown,
                        .copied = thread->registers[EHFRAME_SP],
                        .end = UNWIND_DEEP};

    memcpy(walk.registers, thread->registers, sizeof(walk.registers));
    walk.registers[EHFRAME_PC]++; /* as a return address */
    frames->count = 0;
    while (frames->count < frames->room) {
        if (walk.registers[EHFRAME_PC] <= 1) {
            walk.end = UNWIND_WHOLE;
            break;
        }
        frames->frames[frames->count++] = walk.registers[EHFRAME_PC];
        if (!frame_step(&walk)) {
            break;
        }
    }
    frames->has_pointers = walk.has_pointers;
    return walk.end;
}
