/* ompruntime.c - which OpenMP runtime a caller meant
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/omp/ompruntime.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>

#include "agent/inject/inject.h"
#include "agent/inject/omp/ompteam.h"
#include "agent/inject/symbol.h"

/* Weak as in floor.h. */
#pragma weak dlsym
#pragma weak dlclose

#define RUNTIMES_MAX 16

static const char symbols[OMP_FUNCTIONS][48] = {
#define OMP_FUNCTION(symbol) #symbol,
#include "agent/inject/omp/omp.def"
};

/* By their order of first sight. */
INJECT_ROOM struct omp_module omp_modules[OMP_MODULES_MAX];
_Atomic uint32_t omp_modules_count;
static INJECT_ROOM struct kept {
    struct omp_runtime runtime;
    _Atomic bool is_filled;
} runtimes[RUNTIMES_MAX];
static _Atomic uint32_t runtimes_count;

/* The program or library that has some code. */
struct found {
    uint64_t site;
    uint64_t begin, end;
    const char *path; /* "" = the program */
};

static int object_look(struct dl_phdr_info *info, size_t size, void *state)
{
    struct found *found = state;
    uint64_t begin = UINT64_MAX, end = 0;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD) {
            begin = at < begin ? at : begin;
            end = at + part->p_memsz > end ? at + part->p_memsz : end;
        }
    }
    if (found->site < begin || found->site >= end) {
        return 0;
    }
    found->begin = begin;
    found->end = end;
    found->path = info->dlpi_name;
    return 1;
}

/* A definition as the library itself sees it, without what is preloaded; of
 * the program, and where that has none, the next one of the start. */
static void *definition(void *handle, const char *symbol)
{
    void *found = handle == NULL ? NULL : dlsym(handle, symbol);

    return found == NULL ? symbol_next(symbol) : found;
}

/* dlopen() of a library that is there, or NULL. Before glibc 2.34 a program may
 * have no such function; its name here would be looked up at each start. */
static void *library_open(const char *path, int how)
{
    union {
        void *object;
        void *(*call)(const char *, int);
    } open = {symbol_next("dlopen")};

    return open.object == NULL ? NULL : open.call(path, how | RTLD_NOLOAD);
}

bool omp_is_off(void)
{
    inject_load_once(CK_LIBRARY_OPENMP);
    return !inject_is_loaded() || inject_ring.header->is_openmp_off != 0;
}

/* What our table points into stays, also where its last user is closed. */
static void runtime_pin(const struct omp_runtime *runtime)
{
    struct found found = {
        .site = (uint64_t)(uintptr_t)runtime->next[OMP_omp_get_thread_num]};

    if (found.site != 0 && dl_iterate_phdr(object_look, &found) != 0 &&
        found.path[0] != '\0') {
        (void)library_open(found.path, RTLD_LAZY | RTLD_NODELETE);
    }
}

static void runtime_fill(struct omp_runtime *runtime, const char *path)
{
    void *handle =
        path == NULL || path[0] == '\0' ? NULL : library_open(path, RTLD_LAZY);

    for (int i = 0; i < OMP_FUNCTIONS; i++) {
        union {
            void *object;
            omp_next_f call;
        } next = {definition(handle, symbols[i])};

        runtime->next[i] = next.call;
    }
    runtime->is_plain =
        omp_is_off() || definition(handle, "__kmpc_fork_call") != NULL;
    runtime_pin(runtime);
    if (handle != NULL) {
        (void)dlclose(handle);
    }
}

/* One that is known already, or a new one; NULL = too many of them. */
static const struct omp_runtime *runtime_keep(const struct omp_runtime *runtime)
{
    uint32_t count = atomic_load(&runtimes_count);
    uint32_t at;

    for (uint32_t i = 0; i < count && i < RUNTIMES_MAX; i++) {
        const struct omp_runtime *known = &runtimes[i].runtime;

        /* acquire: pairs with the release below */
        if (atomic_load_explicit(&runtimes[i].is_filled,
                                 memory_order_acquire) &&
            known->next[OMP_GOMP_parallel] ==
                runtime->next[OMP_GOMP_parallel] &&
            known->next[OMP_omp_set_lock] == runtime->next[OMP_omp_set_lock]) {
            return known;
        }
    }
    at = atomic_fetch_add(&runtimes_count, 1);
    if (at >= RUNTIMES_MAX) {
        return NULL;
    }
    runtimes[at].runtime = *runtime;
    /* release: pairs with the acquire above */
    atomic_store_explicit(&runtimes[at].is_filled, true, memory_order_release);
    return &runtimes[at].runtime;
}

/* What the library at the path, or the program, was linked with. */
static const struct omp_runtime *runtime_of(const char *path)
{
    static INJECT_ROOM struct omp_runtime last; /* of all there is no room for
                                                 */
    struct omp_runtime runtime;
    const struct omp_runtime *kept;

    runtime_fill(&runtime, path);
    kept = runtime_keep(&runtime);
    if (kept == NULL) {
        if (last.next[OMP_GOMP_parallel] == NULL) {
            last = runtime;
            last.is_plain = true;
        }
        kept = &last;
    }
    return kept;
}

const struct omp_runtime *omp_runtime_own(void)
{
    const struct omp_runtime *runtime =
        omp_here != NULL ? omp_here->runtime : omp_past.runtime;
    int saved = errno;

    if (runtime == NULL) {
        runtime = runtime_of(NULL);
        errno = saved;
    }
    return runtime;
}

const struct omp_runtime *omp_runtime_find(uint64_t site)
{
    struct found found = {.site = site, .begin = site, .end = site + 1};
    uint64_t here = (uint64_t)(uintptr_t)omp_runtime_find;
    const struct omp_runtime *kept = NULL;
    int saved = errno;
    uint32_t at;

    (void)dl_iterate_phdr(object_look, &found);
    if (here < found.begin || here >= found.end) {
        kept = runtime_of(found.path);
    }
    at = atomic_load(&omp_modules_count) < OMP_MODULES_MAX
             ? atomic_fetch_add(&omp_modules_count, 1)
             : OMP_MODULES_MAX;
    if (at < OMP_MODULES_MAX) {
        omp_modules[at].begin = found.begin;
        omp_modules[at].runtime = kept;
        /* release: pairs with the acquire in omp_runtime() */
        atomic_store_explicit(&omp_modules[at].size, found.end - found.begin,
                              memory_order_release);
    }
    errno = saved;
    return kept != NULL ? kept : omp_runtime_own();
}
