/* cudarival.c - wrap the functions that a client of CUPTI must call
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cuda/cudarival.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* CUPTI_ERROR_UNKNOWN, for a CUPTI that is not there. */
#define RIVAL_NO_CUPTI 999
#define RIVAL_SERIAL_KERNEL 3
#define RIVAL_KERNEL 10

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12",
                                      "libcupti.so.11.8", NULL};

CUDA_EXPORT int cuptiActivityRegisterCallbacks(void *requested,
                                               void *completed);
CUDA_EXPORT int cuptiActivityDisable(unsigned kind);
CUDA_EXPORT int cuptiActivityFlushAll(uint32_t flag);
CUDA_EXPORT int cuptiFinalize(void);

enum rival_function { REGISTER, DISABLE, FLUSH, FINALIZE, RIVAL_LIMIT };
static struct cuda_hook hooks[RIVAL_LIMIT] = {
    [REGISTER] = {"cuptiActivityRegisterCallbacks",
                  (void *)cuptiActivityRegisterCallbacks, NULL},
    [DISABLE] = {"cuptiActivityDisable", (void *)cuptiActivityDisable, NULL},
    [FLUSH] = {"cuptiActivityFlushAll", (void *)cuptiActivityFlushAll, NULL},
    [FINALIZE] = {"cuptiFinalize", (void *)cuptiFinalize, NULL},
};

static cuda_rival_f *_Atomic watcher;
static _Atomic int is_here;   /* a client has the buffers */
static _Atomic int is_ending; /* and wants no kernels any more */

void cudarival_watch(cuda_rival_f *told)
{
    atomic_store(&watcher, told);
}

static void tell(enum cuda_rival what)
{
    cuda_rival_f *told = atomic_load(&watcher);

    if (told != NULL) {
        told(what);
    }
}

static void leave(void)
{
    atomic_store(&is_ending, 0);
    if (atomic_exchange(&is_here, 0) != 0) {
        tell(CUDA_RIVAL_LEFT);
    }
}

struct cuda_hook *cudarival_hook(const char *symbol)
{
    return cudahook_find(hooks, RIVAL_LIMIT, symbol);
}

CUDA_EXPORT int cuptiActivityRegisterCallbacks(void *requested, void *completed)
{
    void *at = cudahook_real(&hooks[REGISTER], sonames);
    int (*real)(void *, void *);
    int rc;

    if (at == NULL) {
        return RIVAL_NO_CUPTI;
    }
    memcpy(&real, &at, sizeof(real));
    tell(CUDA_RIVAL_COMES);
    rc = real(requested, completed);
    if (rc == 0) {
        atomic_store(&is_ending, 0);
        atomic_store(&is_here, 1);
        tell(CUDA_RIVAL_CAME);
    }
    return rc;
}

CUDA_EXPORT int cuptiActivityDisable(unsigned kind)
{
    void *at = cudahook_real(&hooks[DISABLE], sonames);
    int (*real)(unsigned);

    if (at == NULL) {
        return RIVAL_NO_CUPTI;
    }
    memcpy(&real, &at, sizeof(real));
    if (kind == RIVAL_KERNEL || kind == RIVAL_SERIAL_KERNEL) {
        atomic_store(&is_ending, 1);
        tell(CUDA_RIVAL_ENDS);
    }
    return real(kind);
}

CUDA_EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    void *at = cudahook_real(&hooks[FLUSH], sonames);
    int (*real)(uint32_t);
    int was_ending = atomic_load(&is_ending);
    int rc;

    if (at == NULL) {
        return RIVAL_NO_CUPTI;
    }
    memcpy(&real, &at, sizeof(real));
    rc = real(flag);
    if (was_ending) {
        leave();
    }
    return rc;
}

CUDA_EXPORT int cuptiFinalize(void)
{
    void *at = cudahook_real(&hooks[FINALIZE], sonames);
    int (*real)(void);
    int rc;

    if (at == NULL) {
        return RIVAL_NO_CUPTI;
    }
    memcpy(&real, &at, sizeof(real));
    rc = real();
    leave();
    return rc;
}
