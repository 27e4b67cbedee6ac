/* ehframe.h - where the caller of a function finds its registers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What compilers write down for exceptions (.eh_frame, found by
 * .eh_frame_hdr), read for one address. Only what code of C, C++, Fortran and
 * Rust compilers and of the C library uses, for x86-64 and for aarch64;
 * everything else is "not known". Nothing is called or kept, and nothing
 * outside of [begin, end) is read. Part of the injected libraries and of the
 * collector.
 */
#ifndef CK_AGENT_EHFRAME_EHFRAME_H
#define CK_AGENT_EHFRAME_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

/* A mapped module with its table (PT_GNU_EH_FRAME), or a copy of the part that
 * has both: addresses are those that bytes have in this process. */
struct ehframe_module {
    uint64_t begin;
    uint64_t end;
    uint64_t header;
};

#if defined(__x86_64__) || defined(__aarch64__)
#define EHFRAME_IS_READ 1
#else
#define EHFRAME_IS_READ 0
#endif

/* Numbers of registers (DWARF's). EHFRAME_RETURN: that of the return address,
 * where a processor has one, as aarch64 (x86-64 has it on the stack).
 * EHFRAME_OTHERS: those that a function keeps for its caller, besides bp, sp
 * and pc. EHFRAME_ADDRESS: a return address without the bits that sign it.
 */
#if defined(__aarch64__)
#define EHFRAME_BP 29
#define EHFRAME_RETURN 30
#define EHFRAME_SP 31
#define EHFRAME_PC 32
#define EHFRAME_OTHERS 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
#define EHFRAME_OTHERS_COUNT 10
#define EHFRAME_ADDRESS UINT64_C(0x0000ffffffffffff)
#else
#define EHFRAME_BP 6
#define EHFRAME_RETURN EHFRAME_PC
#define EHFRAME_SP 7
#define EHFRAME_PC 16
#define EHFRAME_OTHERS 3, 12, 13, 14, 15
#define EHFRAME_OTHERS_COUNT 5
#define EHFRAME_ADDRESS UINT64_MAX
#endif
#define EHFRAME_REGISTERS (EHFRAME_PC + 1)

/* Registers that a function keeps for its caller, by place in a rule: the
 * others first. */
enum ehframe_kept {
    EHFRAME_KEPT_BP = EHFRAME_OTHERS_COUNT,
    EHFRAME_KEPT_SP, /* of a signal's frame only; else it is the CFA */
    EHFRAME_KEPT_PC, /* unchanged: it is in EHFRAME_RETURN */
    EHFRAME_KEPT
};
/* Their numbers, in that order. */
#define EHFRAME_NUMBERS EHFRAME_OTHERS, EHFRAME_BP, EHFRAME_SP, EHFRAME_PC

/* The caller's register is ... */
enum ehframe_how {
    EHFRAME_SAME,   /* unchanged */
    EHFRAME_AT_CFA, /* at CFA + offset */
    EHFRAME_AT_BP,  /* at bp + offset */
    EHFRAME_AT_SP,  /* at sp + offset */
    EHFRAME_LOST
};

/* The canonical frame address (CFA) is what the caller's stack pointer was
 * before the call. It is ... */
enum ehframe_cfa {
    EHFRAME_CFA_UNKNOWN,
    EHFRAME_CFA_REGISTER, /* a register + cfa */
    EHFRAME_CFA_MEMORY,   /* the word at a register + cfa */
    EHFRAME_CFA_PLT /* sp + 8, and 8 more from byte `cfa` of each 16 of code on
                     */
};

/* Registers of a function that is inside a call, or at one instruction. */
struct ehframe_rule {
    uint8_t cfa_is; /* enum ehframe_cfa */
    uint8_t cfa_register;
    bool is_signal; /* its caller was interrupted and called nothing */
    uint8_t how[EHFRAME_KEPT]; /* enum ehframe_how */
    int32_t cfa;
    int32_t offset[EHFRAME_KEPT];
};

enum ehframe {
    EHFRAME_UNKNOWN, /* no rule, or not one of the kinds above */
    EHFRAME_FOUND,
    EHFRAME_OUTERMOST /* the function has no caller */
};

/* The rule at the return address `pc`, or at one past the instruction that is
 * to be executed. *rule is written if it is found. */
enum ehframe ehframe_find(const struct ehframe_module *module,
                          uint64_t pc,
                          struct ehframe_rule *rule);

#endif
