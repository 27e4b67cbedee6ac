/* callsite.c - where in the user's program a call comes from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A walk begins in this file's own frame, goes up to the wrapper's caller, and
 * from there to the first frame of the user's. It is not begun in a program
 * that is of the system itself, nor where the C library needs a lock to find
 * the module of an address (glibc before 2.35).
 */
#include "agent/inject/callsite.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/ehframe/ehframe.h"
#include "agent/inject/inject.h"
#include "agent/inject/symbol.h"

#define PROBES 16
#define PATH_BYTES 4096
#define STACK_BYTES_MAX ((uint64_t)64 << 20) /* of each frame */

/* What _dl_find_object() fills in (glibc 2.35 and later). */
struct found_object {
    unsigned long long flags;
    void *begin;
    void *end;
    struct link_map *map;
    void *eh_frame;
    unsigned long long reserved[7];
};

/* What is known of a return address, in one word:
 *   bits 0-7 flags, 8-31 CFA / 8, 32-47 bp / 8, 48-63 pc / 8
 */
#define IS_USERS 1u   /* in the user's code */
#define HAS_RULE 2u   /* its caller can be found */
#define IS_FROM_BP 4u /* struct ehframe_rule */
#define IS_BP_SAVED 8u

struct entry {
    _Atomic uint64_t pc; /* 0 = free, 1 = being filled */
    _Atomic uint64_t known;
};

struct frame {
    uint64_t pc;
    uint64_t sp; /* of the function that pc is in, as it called */
    uint64_t bp;
};

uint64_t call_site_begin;
uint64_t call_site_size = UINT64_MAX;

static int (*object_find)(void *address, struct found_object *found);
static bool is_walking;
static INJECT_ROOM struct entry entries[CALL_SITES_MAX];
static const char *our_folder; /* path of this library, up to its name */
static size_t our_folder_length;

/* ---- whose code it is -----------------------------------------------------
 */

/* CUDA's own libraries are in folders of their own, or of a Python package. */
static bool is_of_cuda(const char *path)
{
    static const char names[][12] = {"libcuda.so", "libcudart.", "libcupti."};
    const char *name = strrchr(path, '/');

    for (size_t i = 0; name != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        if (strncmp(name + 1, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Folders of packages: what is in them is not the user's. */
static bool is_of_system(const char *path)
{
    static const char folders[][8] = {"/usr/", "/lib", "/bin/", "/sbin/",
                                      "linux-"};

    if (is_of_cuda(path)) {
        return true;
    }
    if (strncmp(path, "/usr/local/", 11) == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Length of the folder that holds all our libraries, by the path of this one,
 * which may go through a link of a platform's name to that folder. */
static size_t folder_length(const char *path)
{
    static const char links[][12] = {"x86_64/", "haswell/", "xeon_phi/",
                                     "aarch64/"};
    const char *name = strrchr(path, '/');
    size_t length = name == NULL ? 0 : (size_t)(name + 1 - path);

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        size_t link = strlen(links[i]);

        if (length > link && path[length - link - 1] == '/' &&
            strncmp(path + length - link, links[i], link) == 0) {
            return length - link;
        }
    }
    return length;
}

/* One of the libraries that ck injects: they are in one folder. */
static bool is_ours(const char *path)
{
    size_t folder = folder_length(path);
    const char *name = strrchr(path, '/');

    return folder > 0 && folder == our_folder_length &&
           strncmp(path, our_folder, folder) == 0 &&
           strncmp(name, "/libck", 6) == 0;
}

static void object_find_load(void)
{
    union {
        void *object;
        int (*call)(void *, struct found_object *);
    } find = {symbol_first("_dl_find_object")};

    object_find = find.call;
}

static bool object_at(uint64_t address, struct found_object *found)
{
    memset(found, 0, sizeof(*found));
    return object_find != NULL &&
           object_find((void *)(uintptr_t)address, found) == 0 &&
           found->map != NULL && found->map->l_name != NULL;
}

/* ---- what is known of return addresses ------------------------------------
 */

/* An offset of 16 bits, in words. */
static bool is_packable(int32_t offset)
{
    return offset % 8 == 0 && offset / 8 >= INT16_MIN &&
           offset / 8 <= INT16_MAX;
}

/* Rules by which a frame of C or C++ has its caller; 0 = another one. */
static uint64_t rule_pack(const struct ehframe_rule *rule)
{
    bool is_from_bp = rule->cfa_register == EHFRAME_BP;
    uint8_t how = rule->how[EHFRAME_KEPT_BP];
    int32_t bp = rule->offset[EHFRAME_KEPT_BP];
    int32_t pc = rule->offset[EHFRAME_KEPT_PC];

    if (rule->cfa_is != EHFRAME_CFA_REGISTER || rule->is_signal ||
        (!is_from_bp && rule->cfa_register != EHFRAME_SP) ||
        rule->how[EHFRAME_KEPT_PC] != EHFRAME_AT_CFA ||
        (how != EHFRAME_SAME && how != EHFRAME_AT_CFA)) {
        return 0;
    }
    if (rule->cfa % 8 != 0 || rule->cfa < 0 || rule->cfa / 8 >= 1 << 24 ||
        !is_packable(bp) || !is_packable(pc)) {
        return 0;
    }
    return HAS_RULE | (is_from_bp ? IS_FROM_BP : 0) |
           (how == EHFRAME_AT_CFA ? IS_BP_SAVED : 0) |
           (uint64_t)(rule->cfa / 8) << 8 | (uint64_t)(uint16_t)(bp / 8) << 32 |
           (uint64_t)(uint16_t)(pc / 8) << 48;
}

static uint64_t address_look(uint64_t pc)
{
    struct found_object found;
    struct ehframe_module module;
    struct ehframe_rule rule;
    const char *path;
    uint64_t known = 0;

    if (!object_at(pc - 1, &found)) {
        return 0;
    }
    path = found.map->l_name;
    if (path[0] == '\0' || !(is_of_system(path) || is_ours(path))) {
        known = IS_USERS;
    }
    module = (struct ehframe_module){
        .begin = (uint64_t)(uintptr_t)found.begin,
        .end = (uint64_t)(uintptr_t)found.end,
        .header = (uint64_t)(uintptr_t)found.eh_frame,
    };
    if (module.header != 0 &&
        ehframe_find(&module, pc, &rule) == EHFRAME_FOUND) {
        known |= rule_pack(&rule);
    }
    return known;
}

/* 0 = nothing is known, and no more of this walk. */
static uint64_t address_known(uint64_t pc)
{
    uint64_t hash = (pc ^ pc >> 17) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    for (uint64_t i = 0; i < PROBES; i++) {
        struct entry *entry = &entries[(hash + i) % CALL_SITES_MAX];
        /* acquire: pairs with the release below */
        uint64_t held = atomic_load_explicit(&entry->pc, memory_order_acquire);
        uint64_t none = 0;

        if (held == 0 && atomic_compare_exchange_strong(&entry->pc, &none, 1)) {
            atomic_store_explicit(&entry->known, address_look(pc),
                                  memory_order_relaxed);
            /* release: pairs with the acquire above */
            atomic_store_explicit(&entry->pc, pc, memory_order_release);
            held = pc;
        }
        if (held == pc) {
            return atomic_load_explicit(&entry->known, memory_order_relaxed);
        }
    }
    return address_look(pc); /* full: it takes longer */
}

/* ---- the walk -------------------------------------------------------------
 */

static uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

/* To the caller's frame. The stack grows downwards: a frame that is not above
 * the last one is a mistake. */
static bool frame_up(struct frame *frame, uint64_t known)
{
    int64_t bp_at = (int64_t)(int16_t)(known >> 32) * 8;
    int64_t pc_at = (int64_t)(int16_t)(known >> 48) * 8;
    uint64_t from = (known & IS_FROM_BP) != 0 ? frame->bp : frame->sp;
    uint64_t cfa = from + (known >> 8 & 0xffffff) * 8;

    if ((known & HAS_RULE) == 0 || cfa <= frame->sp || cfa % 8 != 0 ||
        cfa - frame->sp > STACK_BYTES_MAX) {
        return false;
    }
    if ((known & IS_BP_SAVED) != 0) {
        frame->bp = word_at(cfa + (uint64_t)bp_at);
    }
    frame->pc = word_at(cfa + (uint64_t)pc_at) & EHFRAME_ADDRESS;
    frame->sp = cfa;
    return frame->pc > 1;
}

/* The innermost of the user's frames at or above the wrapper's caller; `site`
 * where there is none. */
static uint64_t walk(struct frame frame, uint64_t site)
{
    bool is_above = false;

    for (int i = 0; i < CALL_FRAMES_MAX; i++) {
        uint64_t known;

        is_above = is_above || frame.pc == site;
        known = address_known(frame.pc);
        if (is_above && (known & IS_USERS) != 0) {
            return frame.pc;
        }
        if (!frame_up(&frame, known)) {
            return site;
        }
    }
    return site;
}

/* That of the function that this is written in, or of its caller where calls
 * leave all of it on the stack. */
__attribute__((always_inline)) static inline struct frame frame_own(void)
{
#if defined(__aarch64__)
    struct frame frame;

    __asm__ volatile("mov %0, x29\n\tmov %1, sp\n\tadr %2, ."
                     : "=&r"(frame.bp), "=&r"(frame.sp), "=&r"(frame.pc));
    return frame;
#else
    const uint64_t *own = __builtin_frame_address(0);

    return (struct frame){
        .pc = own[1], .sp = (uint64_t)(uintptr_t)(own + 2), .bp = own[0]};
#endif
}

/* The wrapper's caller and the frames above it, as far as there are rules. */
static size_t
walk_all(struct frame frame, uint64_t site, uint64_t *frames, size_t room)
{
    size_t count = 0;

    for (int i = 0; i < CALL_FRAMES_MAX && count < room; i++) {
        if (count > 0 || frame.pc == site) {
            frames[count++] = frame.pc;
        }
        if (!frame_up(&frame, address_known(frame.pc))) {
            break;
        }
    }
    if (count == 0 && room > 0) {
        frames[count++] = site;
    }
    return count;
}

__attribute__((noinline)) size_t
call_stack_take(uint64_t site, uint64_t *frames, size_t room)
{
    int saved = errno;
    size_t count = 0;

    if (python_is_on) {
        count = python_stack_take(frames, room);
    }
    if (count == 0 && EHFRAME_IS_READ && site != 0) {
        count = walk_all(frame_own(), site, frames, room);
    }
    errno = saved;
    return count;
}

void call_site_module(const void *address, uint64_t *begin, uint64_t *size)
{
    struct found_object found;
    const char *name;

    *begin = *size = 0;
    object_find_load();
    if (!object_at((uint64_t)(uintptr_t)address, &found)) {
        return;
    }
    name = strrchr(found.map->l_name, '/');
    if (name != NULL && strncmp(name, "/libc.so", 8) == 0) {
        return;
    }
    *begin = (uint64_t)(uintptr_t)found.begin;
    *size = (uint64_t)(uintptr_t)found.end - *begin;
}

__attribute__((noinline)) uint64_t call_site_find(uint64_t site)
{
    int saved = errno;
    uint64_t found = site;

    if (python_is_on) {
        return python_site_find(site);
    }
    if (is_walking && site != 0) {
        found = walk(frame_own(), site);
    }
    errno = saved;
    return found;
}

/* The program itself, and whether it is of the system. */
static bool program_find(struct found_object *found)
{
    char path[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length <= 0) {
        return false;
    }
    path[length] = '\0';
    return !is_of_system(path) && object_at(getauxval(AT_PHDR), found);
}

void call_site_load(void)
{
    struct found_object found;

    python_site_load();
    object_find_load();
    if (python_is_on) {
        call_site_size = 0;
        return;
    }
    if (!EHFRAME_IS_READ || !object_at((uint64_t)(uintptr_t)entries, &found)) {
        return;
    }
    our_folder = found.map->l_name;
    our_folder_length = folder_length(our_folder);
    if (program_find(&found)) {
        call_site_begin = (uint64_t)(uintptr_t)found.begin;
        call_site_size =
            (uint64_t)(uintptr_t)found.end - (uint64_t)(uintptr_t)found.begin;
        is_walking = true;
    }
}
