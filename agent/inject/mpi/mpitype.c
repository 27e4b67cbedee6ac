/* mpitype.c - a direct-mapped table of sizes for each thread
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Freeing any type makes all entries old. A thread that uses a new type under
 * an old handle has synchronised with the thread that made it, and so sees
 * the new generation.
 */
#include "agent/inject/mpi/mpitype.h"

#include <limits.h>
#include <stdatomic.h>

#include "agent/inject/mpi/mpiabi.h"

#define TYPES 32

struct type_entry {
    uint64_t type;
    uint32_t generation; /* 0 = unused */
    uint32_t bytes;
};

static __thread struct type_entry type_table[TYPES];
static _Atomic uint32_t type_generation = 1;

uint32_t mpi_type_generation(void)
{
    return atomic_load_explicit(&type_generation, memory_order_relaxed);
}

static uint64_t
type_ask(struct type_entry *entry, uint64_t type, uint32_t generation)
{
    int bytes = 0;

    if (type == 0 || type == mpi_abi.datatype_null ||
        generation != mpi_type_generation()) {
        return 0;
    }
    if (mpi_abi.call.type_size((long)type, &bytes) != 0 || bytes < 0) {
        return 0;
    }
    entry->type = type;
    entry->generation = generation;
    entry->bytes = (uint32_t)bytes;
    return entry->bytes;
}

uint64_t mpi_type_bytes(uint64_t type, uint32_t generation)
{
    struct type_entry *entry =
        &type_table[(type * 0x9e3779b97f4a7c15ull >> 32) % TYPES];

    if (__builtin_expect(entry->type == type && entry->generation == generation,
                         1)) {
        return entry->bytes;
    }
    return type_ask(entry, type, generation);
}

void mpi_type_forget(void)
{
    (void)atomic_fetch_add_explicit(&type_generation, 1, memory_order_relaxed);
}
