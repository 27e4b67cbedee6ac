/* ompruntime.h - which OpenMP runtime a caller meant
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Our wrappers come before all runtimes, also before one that is opened later
 * or that a package brought along: a process may have several of the same
 * names, and a thread number of one means nothing to another. So the next
 * definitions are those that the calling library is linked with.
 */
#ifndef CK_AGENT_INJECT_OMP_OMPRUNTIME_H
#define CK_AGENT_INJECT_OMP_OMPRUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum omp_function {
#define OMP_FUNCTION(symbol) OMP_##symbol,
#include "agent/inject/omp/omp.def"
    OMP_FUNCTIONS
};

typedef void (*omp_next_f)(void);

struct omp_runtime {
    omp_next_f next[OMP_FUNCTIONS]; /* NULL = it has none */
    bool is_plain; /* not to be recorded here: it is switched off, or it has
                      OMPT (ompt.c) */
};

/* A program or library that called one of our wrappers. */
struct omp_module {
    uint64_t begin;
    _Atomic uint64_t size;             /* 0 = being filled in */
    const struct omp_runtime *runtime; /* NULL = it is our own library */
};
#define OMP_MODULES_MAX 64

extern struct omp_module omp_modules[OMP_MODULES_MAX];
extern _Atomic uint32_t omp_modules_count;

/* Slow path of omp_runtime(): takes the loader's lock. NULL = there is none. */
const struct omp_runtime *omp_runtime_find(uint64_t site);

/* Has this agent's user turned recording of OpenMP off, or is there no agent?
 */
bool omp_is_off(void);

/* Of code that our own functions called, and that called a wrapper as the last
 * thing it does, so that the wrapper returns to ours: what runs this thread's
 * part. Never NULL. */
const struct omp_runtime *omp_runtime_own(void);

/* The runtime of the code that a wrapper returns to. */
static inline const struct omp_runtime *omp_runtime(const void *site)
{
    uint64_t address = (uint64_t)(uintptr_t)site;
    uint32_t count =
        atomic_load_explicit(&omp_modules_count, memory_order_relaxed);

    for (uint32_t i = 0; i < count && i < OMP_MODULES_MAX; i++) {
        const struct omp_module *module = &omp_modules[i];

        /* acquire: pairs with the release in omp_runtime_find() */
        if (address - module->begin <
            atomic_load_explicit(&module->size, memory_order_acquire)) {
            return module->runtime != NULL ? module->runtime
                                           : omp_runtime_own();
        }
    }
    return omp_runtime_find(address);
}

#endif
