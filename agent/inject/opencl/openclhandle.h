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

struct handle_entry {
    _Atomic uintptr_t key; /* 0 = free */
    _Atomic uint64_t value;
};

struct handle_table {
    _Alignas(64) struct handle_entry entries[HANDLE_ENTRIES];
    /* Of each line: pointers that had no room in it, and are elsewhere. */
    _Atomic uint16_t elsewhere[HANDLE_LINES];
};

/* Set the value (not 0) of a pointer. false: no room near its place. */
bool handle_put(struct handle_table *table,
                const void *pointer,
                uint64_t value);
/* The value, or 0 when the pointer is not known. */
uint64_t handle_get(struct handle_table *table, const void *pointer);
/* Remove the pointer; the value that it had, or 0. */
uint64_t handle_take(struct handle_table *table, const void *pointer);

#endif
