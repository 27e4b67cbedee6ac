/* mockcuda.c - a CUDA driver without a GPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/targets/cupti/mockcuda.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INVALID 1
#define NOT_FOUND 500
#define PER_THREAD 2 /* flag of cuGetProcAddress */

static _Atomic unsigned calls;
static _Atomic int is_initialised;

MOCK_CUDA_EXPORT unsigned mock_cuda_calls(void)
{
    return calls;
}

MOCK_CUDA_EXPORT int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library;
    void *symbol;
    int (*inject)(void);

    (void)flags;
    if (path == NULL || atomic_exchange(&is_initialised, 1) != 0) {
        return 0;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = library == NULL ? NULL : dlsym(library, "InitializeInjection");
    if (symbol == NULL) {
        (void)fprintf(stderr, "mockcuda: %s\n", dlerror());
        return INVALID;
    }
    memcpy(&inject, &symbol, sizeof(symbol));
    return inject() == 1 ? 0 : INVALID;
}

static int check(const long *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (words[i] != i + 1) {
            return INVALID;
        }
    }
    atomic_fetch_add(&calls, 1);
    return 0;
}

#define TYPES_0 void
#define TYPES_1 long a
#define TYPES_2 TYPES_1, long b
#define TYPES_3 TYPES_2, long c
#define TYPES_4 TYPES_3, long d
#define TYPES_5 TYPES_4, long e
#define TYPES_6 TYPES_5, long f
#define TYPES_10 TYPES_6, long g, long h, long i, long j
#define TYPES_11 TYPES_10, long k
#define WORDS_0
#define WORDS_1 a
#define WORDS_2 WORDS_1, b
#define WORDS_3 WORDS_2, c
#define WORDS_4 WORDS_3, d
#define WORDS_5 WORDS_4, e
#define WORDS_6 WORDS_5, f
#define WORDS_10 WORDS_6, g, h, i, j
#define WORDS_11 WORDS_10, k

#define CUDA_FUNCTION(symbol, text, n, MEANING)                                \
    MOCK_CUDA_EXPORT int symbol(TYPES_##n);                                    \
    MOCK_CUDA_EXPORT int symbol(TYPES_##n)                                     \
    {                                                                          \
        const long words[12] = {WORDS_##n};                                    \
                                                                               \
        return check(words, n);                                                \
    }
#include "agent/inject/cuda/cuda.def"

static const struct {
    const char *symbol;
    void *function;
} functions[] = {
#define CUDA_FUNCTION(symbol, text, n, MEANING) {#symbol, (void *)symbol},
#include "agent/inject/cuda/cuda.def"
    {"cuInit", (void *)cuInit},
    {"cuGetProcAddress_v2", (void *)cuGetProcAddress_v2},
};

/* Than CUDA 12. */
static bool is_newer(const char *symbol)
{
    return strcmp(symbol, "cuCtxSynchronize_v2") == 0;
}

/* The newest form of a function; with the flag that for a default stream of
 * each thread. */
MOCK_CUDA_EXPORT int cuGetProcAddress_v2(const char *name,
                                         void **function,
                                         int version,
                                         uint64_t flags,
                                         void *status)
{
    static const char *const forms[2][3] = {{"_v2", "", ""},
                                            {"_v2_ptds", "_ptsz", "_ptds"}};
    char symbol[128];

    (void)status;
    for (int form = 0; form < 6; form++) {
        bool is_own = form < 3 && (flags & PER_THREAD) != 0;

        if (form < 3 && !is_own) {
            continue;
        }
        (void)snprintf(symbol, sizeof(symbol), "%s%s", name,
                       forms[is_own][form % 3]);
        for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
            if (strcmp(functions[i].symbol, symbol) == 0 &&
                (version >= 13000 || !is_newer(symbol))) {
                *function = functions[i].function;
                return 0;
            }
        }
    }
    return NOT_FOUND;
}

MOCK_CUDA_EXPORT int
cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
