/* openclhandle.h - what ck knows of a pointer that the driver gave out
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bounded table from pointer to a 64-bit value, without a lock: any thread
 * may look up, add and remove. Callers never add and remove the same pointer
 * at the same time (it is one object of the program's). Zero-initialised.
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLHANDLE_H
#define CK_AGENT_INJECT_OPENCL_OPENCLHANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HANDLE_ENTRIES 131072
#define HANDLE_LINE 4 /* entries of a cache line */
#define HANDLE_LINES (HANDLE_ENTRIES / HANDLE_LINE)
#define HANDLE_NEAR 1024 /* lines */

struct handle_entry {
    _Atomic uintptr_t key; /* 0 = free */
    /* 0: it is being entered or removed, and not there for who looks. */
    _Atomic uint64_t value;
};

struct handle_table {
    _Alignas(64) struct handle_entry entries[HANDLE_ENTRIES];
    /* Of each near line: pointers that had no room in it, and are far. */
    _Atomic uint32_t elsewhere[HANDLE_NEAR];
};

/* Set the value (not 0) of a pointer. false: no room for it. */
bool handle_put(struct handle_table *table,
                const void *pointer,
                uint64_t value);
/* The value, or 0 when the pointer is not known. */
uint64_t handle_get(struct handle_table *table, const void *pointer);
/* Make its value `to` where it is `from` (not 0); 0 removes the pointer. Of
 * threads that do so at the same time one has its way. */
bool handle_change(struct handle_table *table,
                   const void *pointer,
                   uint64_t from,
                   uint64_t to);
/* Remove the pointer; the value that it had, or 0. */
uint64_t handle_take(struct handle_table *table, const void *pointer);

#endif
