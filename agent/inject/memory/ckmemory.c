/* ckmemory.c - between a program and its allocator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * libckmemory.so exports: malloc calloc realloc reallocarray free aligned_alloc
 * libckmemory.so exports: posix_memalign memalign valloc pvalloc
 * libckmemory.so exports: mmap mmap64 mremap munmap
 *
 * Preloaded with ckagent --allocations alone. Each call goes on to the next
 * definition: libc's, or that of the program's own allocator; C++'s operators
 * new and delete come here from the standard library. Where a sanitizer is in
 * the program, which shows stacks of allocations to the user, every call is
 * handed on by a jump, and nothing is sampled.
 *
 * Memory that a program maps itself counts as a block of its own (the arenas of
 * Python's objects are such), but not what is only reserved, and not what an
 * allocator that libc does not have maps for its blocks.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "agent/inject/inject.h"
#include "agent/inject/liveblocks.h"
#include "agent/inject/memory/mapped.h"
#include "agent/inject/memory/memorysample.h"
#include "agent/inject/symbol.h"

/* What is asked for while the real functions are being found. */
#define EARLY_BYTES 4096
#define ALIGNMENT 16

#define FUNCTIONS(_)                                                           \
    _(void *, malloc, (size_t))                                                \
    _(void *, calloc, (size_t, size_t))                                        \
    _(void *, realloc, (void *, size_t))                                       \
    _(void, free, (void *))                                                    \
    _(void *, aligned_alloc, (size_t, size_t))                                 \
    _(int, posix_memalign, (void **, size_t, size_t))                          \
    _(void *, memalign, (size_t, size_t))                                      \
    _(void *, valloc, (size_t))                                                \
    _(void *, pvalloc, (size_t))                                               \
    _(void *, mmap, (void *, size_t, int, int, int, off_t))                    \
    _(void *, mremap, (void *, size_t, size_t, int, void *))                   \
    _(int, munmap, (void *, size_t))

#define MEMBER(type, name, arguments) type(*name) arguments;
static struct {
    FUNCTIONS(MEMBER)
} real;
#undef MEMBER

#define LABEL(type, name, arguments)                                           \
    static struct inject_label label_##name = INJECT_LABEL(#name);
FUNCTIONS(LABEL)
#undef LABEL

static _Atomic bool is_found;    /* `real` is filled in */
static bool is_sanitized;        /* a sanitizer's allocator is behind us */
static uint64_t allocator_begin; /* code of an allocator of the program's own */
static uint64_t allocator_size;
static __thread bool is_finding;
static _Alignas(ALIGNMENT) char early[EARLY_BYTES];
static _Atomic size_t early_used;

/* ---- what is behind us --------------------------------------------------- */

static bool is_any(const char *const *names)
{
    for (; *names != NULL; names++) {
        if (symbol_first(*names) != NULL) {
            return true;
        }
    }
    return false;
}

/* All threads that come here store the same. */
static __attribute__((noinline, cold)) void real_find(void)
{
    static const char *const sanitizers[] = {"__asan_init",   "__tsan_init",
                                             "__lsan_init",   "__msan_init",
                                             "__hwasan_init", NULL};

    is_finding = true;
#define FIND(type, name, arguments)                                            \
    {                                                                          \
        void *found = symbol_next(#name);                                      \
        memcpy(&real.name, &found, sizeof(found));                             \
    }
    FUNCTIONS(FIND)
#undef FIND
    is_sanitized = is_any(sanitizers);
    is_finding = false;
    /* release: pairs with the acquire in is_passed() */
    atomic_store_explicit(&is_found, true, memory_order_release);
}

/* Is the call to be handed on as it is? */
static inline bool is_passed(void)
{
    if (__builtin_expect(!atomic_load_explicit(&is_found, memory_order_acquire),
                         0)) {
        real_find();
    }
    return __builtin_expect(is_sanitized, 0);
}

/* The loader may ask for memory to answer a question of ours. */
static void *early_take(size_t bytes)
{
    size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t at = atomic_fetch_add(&early_used, room);

    if (bytes > EARLY_BYTES || at > EARLY_BYTES - room) {
        errno = ENOMEM;
        return NULL;
    }
    return early + at;
}

static inline bool is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < EARLY_BYTES;
}

static void child_begin(void)
{
    liveblocks_forget();
    mapped_forget();
    memorysample_forked();
}

static bool is_allocators(const void *code)
{
    return (uint64_t)(uintptr_t)code - allocator_begin < allocator_size;
}

/* An allocator that is no libc may have C++'s operators as well. */
static void allocator_look(void)
{
    union {
        void *(*function)(size_t);
        void *code;
    } real_malloc = {real.malloc};

    call_site_module(real_malloc.code, &allocator_begin, &allocator_size);
    if (is_allocators(symbol_first("_Znwm"))) {
        memorysample_lacks("memory of C++'s operator new is not recorded: the "
                           "program's allocator has an operator of its own");
    }
}

__attribute__((constructor, section(".text.startup"))) static void
memory_load(void)
{
    if (is_passed()) {
        return;
    }
    inject_load(CK_LIBRARY_MEMORY);
    if (inject_is_loaded() &&
        inject_at_fork(memorysample_forking, child_begin) == 0) {
        allocator_look();
        memorysample_begin(inject_ring.header->allocation_mean);
    }
}

/* ---- blocks of the allocator ----------------------------------------------
 */

#define CALLER __builtin_return_address(0)

INJECT_ENTRY(void *, malloc, size_t bytes)
{
    void *block;

    if (__builtin_expect(is_finding, 0)) {
        return early_take(bytes);
    }
    if (is_passed()) {
        return real.malloc(bytes);
    }
    block = real.malloc(bytes);
    (void)memorysample_took(block, bytes, &label_malloc, CALLER);
    return block;
}

INJECT_ENTRY(void *, calloc, size_t count, size_t each)
{
    void *block;

    if (__builtin_expect(is_finding, 0)) {
        return early_take(count * each); /* is zero */
    }
    if (is_passed()) {
        return real.calloc(count, each);
    }
    block = real.calloc(count, each);
    if (block != NULL) {
        (void)memorysample_took(block, count * each, &label_calloc, CALLER);
    }
    return block;
}

/* What is given back is looked up before: another thread may get it at once. */
static inline void block_leave(void *block, struct inject_label *function)
{
    struct live_block held;

    if (liveblocks_may_have(block) && liveblocks_remove(block, &held)) {
        memorysample_gone(&held, function);
    }
}

INJECT_ENTRY(void, free, void *block)
{
    if (__builtin_expect(is_early(block) || is_finding, 0)) {
        return;
    }
    if (is_passed()) {
        real.free(block);
        return;
    }
    block_leave(block, &label_free);
    real.free(block);
}

/* A block that does not move is a new one all the same: who asked for more of
 * it is who it belongs to. */
static inline void *block_grow(void *block, size_t bytes, const void *from)
{
    struct live_block held;
    bool was_sampled =
        liveblocks_may_have(block) && liveblocks_remove(block, &held);
    void *grown = real.realloc(block, bytes);

    if (was_sampled && grown == NULL && bytes != 0) {
        (void)liveblocks_add(&held); /* it stays as it was */
        return NULL;
    }
    if (was_sampled) {
        memorysample_gone(&held, &label_realloc);
    }
    (void)memorysample_took(grown, bytes, &label_realloc, from);
    return grown;
}

static void *early_leave(void *block, size_t bytes)
{
    size_t most = (size_t)(early + EARLY_BYTES - (char *)block);
    void *copy = real.malloc(bytes);

    if (copy != NULL) {
        memcpy(copy, block, bytes < most ? bytes : most);
    }
    return copy;
}

INJECT_ENTRY(void *, realloc, void *block, size_t bytes)
{
    if (__builtin_expect(is_finding, 0)) {
        return block == NULL ? early_take(bytes) : NULL;
    }
    if (is_passed()) {
        return real.realloc(block, bytes);
    }
    if (__builtin_expect(is_early(block), 0)) {
        return early_leave(block, bytes);
    }
    return block_grow(block, bytes, CALLER);
}

INJECT_ENTRY(void *, reallocarray, void *block, size_t count, size_t each)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return is_passed() ? real.realloc(block, bytes)
                       : block_grow(block, bytes, CALLER);
}

INJECT_ENTRY(void *, aligned_alloc, size_t alignment, size_t bytes)
{
    void *block;

    if (is_passed()) {
        return real.aligned_alloc(alignment, bytes);
    }
    block = real.aligned_alloc(alignment, bytes);
    (void)memorysample_took(block, bytes, &label_aligned_alloc, CALLER);
    return block;
}

INJECT_ENTRY(int, posix_memalign, void **block, size_t alignment, size_t bytes)
{
    int failed;

    if (is_passed()) {
        return real.posix_memalign(block, alignment, bytes);
    }
    failed = real.posix_memalign(block, alignment, bytes);
    if (failed == 0) {
        (void)memorysample_took(*block, bytes, &label_posix_memalign, CALLER);
    }
    return failed;
}

INJECT_ENTRY(void *, memalign, size_t alignment, size_t bytes)
{
    void *block;

    if (is_passed()) {
        return real.memalign(alignment, bytes);
    }
    block = real.memalign(alignment, bytes);
    (void)memorysample_took(block, bytes, &label_memalign, CALLER);
    return block;
}

INJECT_ENTRY(void *, valloc, size_t bytes)
{
    void *block;

    if (is_passed()) {
        return real.valloc(bytes);
    }
    block = real.valloc(bytes);
    (void)memorysample_took(block, bytes, &label_valloc, CALLER);
    return block;
}

INJECT_ENTRY(void *, pvalloc, size_t bytes)
{
    void *block;

    if (is_passed()) {
        return real.pvalloc(bytes);
    }
    block = real.pvalloc(bytes);
    (void)memorysample_took(block, bytes, &label_pvalloc, CALLER);
    return block;
}

/* ---- memory that is mapped ------------------------------------------------
 */

/* Memory to be used, for the program. */
static bool is_memory(int protection, int flags, const void *from)
{
    return (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_NORESERVE) == 0 &&
           (flags & MAP_TYPE) == MAP_PRIVATE &&
           (protection & PROT_WRITE) != 0 && !is_allocators(from);
}

/* Parameters as the system call has them. */
struct mapping {
    void *at;
    size_t bytes;
    int protection;
    int flags;
    int file;
    off_t offset;
};

/* The program got a mapping; one that was sampled is followed in parts. */
static inline void map_took(const void *block,
                            size_t bytes,
                            struct inject_label *function,
                            const void *from)
{
    if (memorysample_took(block, bytes, function, from)) {
        mapped_add(block, bytes);
    }
}

static void *map(const struct mapping *of, const void *from)
{
    struct live_block cut;
    bool is_cut = (of->flags & MAP_FIXED) != 0 &&
                  mapped_leave(of->at, of->bytes, &label_mmap, &cut);
    void *block = real.mmap(of->at, of->bytes, of->protection, of->flags,
                            of->file, of->offset);

    if (block == MAP_FAILED) {
        if (is_cut) {
            mapped_return(&cut, of->at, of->bytes, &label_mmap);
        }
        return block;
    }
    if (is_memory(of->protection, of->flags, from)) {
        map_took(block, of->bytes, &label_mmap, from);
    }
    return block;
}

INJECT_ENTRY(void *,
             mmap,
             void *at,
             size_t bytes,
             int protection,
             int flags,
             int file,
             off_t offset)
{
    return is_passed() ? real.mmap(at, bytes, protection, flags, file, offset)
                       : map(&(struct mapping){at, bytes, protection, flags,
                                               file, offset},
                             CALLER);
}

INJECT_ENTRY(void *,
             mmap64,
             void *at,
             size_t bytes,
             int protection,
             int flags,
             int file,
             off_t offset)
{
    return is_passed() ? real.mmap(at, bytes, protection, flags, file, offset)
                       : map(&(struct mapping){at, bytes, protection, flags,
                                               file, offset},
                             CALLER);
}

INJECT_ENTRY(void *,
             mremap,
             void *block,
             size_t before,
             size_t bytes,
             int flags,
             void *at)
{
    struct live_block cut, covered;
    bool is_cut;
    void *moved;

    if (is_passed()) {
        return real.mremap(block, before, bytes, flags, at);
    }
    is_cut = mapped_leave(block, before, &label_mremap, &cut);
    /* One that is not followed in parts. */
    if (!is_cut && before > 0 && liveblocks_may_have(block) &&
        liveblocks_remove(block, &cut)) {
        memorysample_gone(&cut, &label_mremap);
        is_cut = true;
    }
    moved = real.mremap(block, before, bytes, flags, at);
    if (is_cut && moved == MAP_FAILED) {
        mapped_return(&cut, block, before, &label_mremap);
        return moved;
    }
    if (moved != MAP_FAILED && (flags & MREMAP_FIXED) != 0) {
        (void)mapped_leave(at, bytes, &label_mremap, &covered);
    }
    if (is_cut) {
        map_took(moved, bytes, &label_mremap, CALLER);
    }
    return moved;
}

INJECT_ENTRY(int, munmap, void *block, size_t bytes)
{
    struct live_block cut;
    bool is_cut;
    int rc;

    if (is_passed()) {
        return real.munmap(block, bytes);
    }
    is_cut = mapped_leave(block, bytes, &label_munmap, &cut);
    if (!is_cut) {
        block_leave(block, &label_munmap);
    }
    rc = real.munmap(block, bytes);
    if (rc != 0 && is_cut) {
        mapped_return(&cut, block, bytes, &label_munmap);
    }
    return rc;
}
