/* cudahook.c - find the functions behind ours
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cuda/cudahook.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/inject/symbol.h"

/* glibc's own is found without the loader: the function that asks the loader is
 * the one that we wrap. */
cuda_dlsym_f *cudahook_dlsym(void)
{
    static void *_Atomic found;
    void *symbol = atomic_load_explicit(&found, memory_order_relaxed);
    cuda_dlsym_f *function;

    if (symbol == NULL) {
        symbol = symbol_next("dlsym");
        atomic_store_explicit(&found, symbol, memory_order_relaxed);
    }
    memcpy(&function, &symbol, sizeof(function));
    return function;
}

/* The process has libdl, or no library has been opened. */
static void *library_symbol(const char *soname, const char *name)
{
    cuda_dlsym_f *look = cudahook_dlsym();
    void *library;
    void *symbol;

    if (look == NULL) {
        return NULL;
    }
    library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    symbol = library == NULL ? NULL : look(library, name);
    if (library != NULL) {
        (void)dlclose(library);
    }
    return symbol;
}

void *cudahook_real(struct cuda_hook *hook, const char *const sonames[])
{
    void *real = atomic_load_explicit(&hook->real, memory_order_relaxed);

    if (real != NULL) {
        return real;
    }
    for (size_t i = 0; real == NULL && sonames[i] != NULL; i++) {
        real = library_symbol(sonames[i], hook->symbol);
    }
    if (real != NULL) {
        atomic_store_explicit(&hook->real, real, memory_order_relaxed);
    }
    return real;
}

struct cuda_hook *
cudahook_find(struct cuda_hook *hooks, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(hooks[i].symbol, name) == 0) {
            return &hooks[i];
        }
    }
    return NULL;
}
