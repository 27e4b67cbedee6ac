/* ckcuda.c - between a program and CUDA's driver, where there is one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded where the machine has NVIDIA's driver. Programs that link libcuda
 * find our functions by the loader; CUDA's runtime, also a static one, and
 * compilers at run time ask dlsym() for cuGetProcAddress(), or for the
 * functions themselves: so both of these are ours, too. All else goes to the
 * loader's dlsym() by a jump: it looks at who called.
 */
#include <stdatomic.h>
#include <string.h>

#include "agent/inject/cuda/cudacall.h"
#include "agent/inject/cuda/cudahook.h"
#include "agent/inject/cuda/cudarival.h"
#include "agent/inject/inject.h"

#define CUDA_NOT_FOUND 500 /* CUresult */

CUDA_EXPORT int cuGetProcAddress(const char *name,
                                 void **function,
                                 int version,
                                 uint64_t flags);
CUDA_EXPORT int cuGetProcAddress_v2(const char *name,
                                    void **function,
                                    int version,
                                    uint64_t flags,
                                    void *status);
CUDA_EXPORT void *dlsym(void *library, const char *name);
CUDA_EXPORT cuda_link_f ck_cuda_link;

static const char *const sonames[] = {"libcuda.so.1", NULL};
static struct cuda_hook askers[] = {
    {"cuGetProcAddress", (void *)cuGetProcAddress, NULL},
    {"cuGetProcAddress_v2", (void *)cuGetProcAddress_v2, NULL},
};
enum { ASKERS = sizeof(askers) / sizeof(askers[0]) };

/* What the driver gave for a name, or ours. */
static void *answer(const char *name, void *real)
{
    for (int i = 0; i < ASKERS; i++) {
        if (cudahook_real(&askers[i], sonames) == real) {
            return askers[i].ours;
        }
    }
    return cudacall_replace(name, real);
}

CUDA_EXPORT int
cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    void *at = cudahook_real(&askers[0], sonames);
    int (*real)(const char *, void **, int, uint64_t);
    int rc;

    if (at == NULL) {
        return CUDA_NOT_FOUND;
    }
    memcpy(&real, &at, sizeof(real));
    rc = real(name, function, version, flags);
    if (rc == 0 && function != NULL && *function != NULL) {
        *function = answer(name, *function);
    }
    return rc;
}

CUDA_EXPORT int cuGetProcAddress_v2(const char *name,
                                    void **function,
                                    int version,
                                    uint64_t flags,
                                    void *status)
{
    void *at = cudahook_real(&askers[1], sonames);
    int (*real)(const char *, void **, int, uint64_t, void *);
    int rc;

    if (at == NULL) {
        return CUDA_NOT_FOUND;
    }
    memcpy(&real, &at, sizeof(real));
    rc = real(name, function, version, flags, status);
    if (rc == 0 && function != NULL && *function != NULL) {
        *function = answer(name, *function);
    }
    return rc;
}

/* The hook of a name that dlsym() is asked for. */
static struct cuda_hook *hook_of(const char *name)
{
    struct cuda_hook *hook = cudahook_find(askers, ASKERS, name);

    if (hook == NULL) {
        hook = cudacall_hook(name);
    }
    return hook == NULL ? cudarival_hook(name) : hook;
}

/* Ours, where the loader's answer is the function that we wrap; NULL:
 * give that answer as it is. */
static void *symbol_ours(struct cuda_hook *hook, void *library)
{
    cuda_dlsym_f *look = cudahook_dlsym();
    void *real = look == NULL ? NULL : look(library, hook->symbol);
    void *none = NULL;

    if (real == NULL || real == hook->ours) {
        return NULL;
    }
    /* The first one found is the one that is called. */
    (void)atomic_compare_exchange_strong(&hook->real, &none, real);
    return atomic_load(&hook->real) == real ? hook->ours : NULL;
}

CUDA_EXPORT void *dlsym(void *library, const char *name)
{
    cuda_dlsym_f *look = cudahook_dlsym();

    if (look == NULL) {
        return NULL;
    }
    if (__builtin_expect(name != NULL && name[0] == 'c' && name[1] == 'u', 0)) {
        struct cuda_hook *hook = hook_of(name);
        void *ours = hook == NULL ? NULL : symbol_ours(hook, library);

        if (ours != NULL) {
            return ours;
        }
    }
    return look(library, name);
}

static void *symbol_real(void *library, const char *name)
{
    cuda_dlsym_f *look = cudahook_dlsym();

    return look == NULL ? NULL : look(library, name);
}

CUDA_EXPORT const struct cuda_link *ck_cuda_link(void)
{
    static const struct cuda_link link = {
        .symbol = symbol_real,
        .decide = cudacall_decide,
        .watch = cudarival_watch,
        .launches = cudacall_launches,
    };

    return &link;
}

__attribute__((constructor)) static void cuda_load(void)
{
    inject_load(CK_LIBRARY_CUDA);
}
