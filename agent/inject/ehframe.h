/* ehframe.h - where the caller of a function finds its registers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What compilers write down for exceptions (.eh_frame, found by
 * .eh_frame_hdr), read for one address. Only what x86-64 code compiled from C,
 * C++ and Fortran uses; everything else is "not known". Nothing is called or
 * kept, and nothing outside of [begin, end) is read.
 */
#ifndef CK_AGENT_INJECT_EHFRAME_H
#define CK_AGENT_INJECT_EHFRAME_H

#include <stdbool.h>
#include <stdint.h>

/* The rules are of one processor's registers. */
#if defined(__x86_64__)
#define EHFRAME_IS_READ 1
#else
#define EHFRAME_IS_READ 0
#endif

/* A mapped module with its table (PT_GNU_EH_FRAME). */
struct ehframe_module {
    uint64_t begin;
    uint64_t end;
    uint64_t header;
};

/* Registers of a function that is inside a call. The canonical frame address
 * (CFA) is what its caller's stack pointer was before it was called; the return
 * address lies in the word below. */
struct ehframe_rule {
    bool is_from_bp;  /* CFA = bp + cfa, else sp + cfa */
    bool is_bp_saved; /* the caller's bp is at CFA + bp, else unchanged */
    int32_t cfa;
    int32_t bp;
};

/* The rule at the return address `pc`. False when it is not known, or the
 * function is the outermost one. */
bool ehframe_find(const struct ehframe_module *module,
                  uint64_t pc,
                  struct ehframe_rule *rule);

#endif
