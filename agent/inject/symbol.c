/* symbol.c - definitions of the libraries that were there at the start
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries of the start are never unloaded and their order in the loader's
 * list is that of its search, so the list may be read up to the last of them
 * at any time. Of several versions of a symbol the default one is taken. On
 * processors whose loader leaves addresses in libraries as they are in the file
 * (MIPS, RISC-V) the loader is asked, with its lock.
 */
#include "agent/inject/symbol.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORD_BITS (8 * sizeof(ElfW(Addr)))
#define VERSION_HIDDEN 0x8000u

/* A library's dynamic symbols. */
struct table {
    ElfW(Addr) bias;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint16_t *versions; /* NULL = none */
    const uint32_t *gnu;      /* hash tables; NULL = none */
    const uint32_t *old;
};

/* What is looked for. */
struct wanted {
    const char *name;
    uint32_t hash;
};

extern const ElfW(Dyn) own_dynamic[] __asm__("_DYNAMIC")
    __attribute__((visibility("hidden")));

static const struct link_map *first; /* of the start: the program */
static const struct link_map *own;
static const struct link_map *last;
/* The linker puts this before all variables. It begins a page: else those that
 * each process writes to at its start would now and then be on two pages. */
__attribute__((section(".gnu_extab"), aligned(4096), used)) static char begin =
    1;

#ifdef FLOOR_IS_PRELOADED
/* As in the compiler's own start files, which these libraries have none of. */
extern void *__dso_handle;
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
#endif

/* What segments.ld fills up to the end of a page. */
__attribute__((section(".ck_pad"), used)) static const char end = 1;

static bool has_addresses; /* the loader made addresses of own_dynamic */

/* The loader has made addresses of these words, but for the kernel's own
 * library, which has nothing for us. Each process comes here at its start: the
 * code is beside the constructors. */
__attribute__((section(".text.startup"))) static bool
table_find(const struct link_map *map, struct table *table)
{
    *table = (struct table){.bias = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        const void *place = (const void *)entry->d_un.d_ptr;

        switch (entry->d_tag) {
        case DT_SYMTAB:
            table->symbols = place;
            break;
        case DT_STRTAB:
            table->names = place;
            break;
        case DT_VERSYM:
            table->versions = place;
            break;
        case DT_GNU_HASH:
            table->gnu = place;
            break;
        case DT_HASH:
            table->old = place;
            break;
        default:
            break;
        }
    }
    return table->symbols != NULL && table->names != NULL &&
           (ElfW(Addr))table->symbols >= map->l_addr;
}

/* Without the C library: its function is looked for by the loader, at the first
 * call, on what may be the small stack of a handler or of clone()'s child. */
static bool is_same(const char *a, const char *b)
{
    for (; *a == *b; a++, b++) {
        if (*a == '\0') {
            return true;
        }
    }
    return false;
}

static bool
is_wanted(const struct table *table, uint32_t at, const struct wanted *wanted)
{
    const ElfW(Sym) *symbol = &table->symbols[at];
    int type = symbol->st_info & 0xf;

    return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
           (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC ||
            type == STT_GNU_IFUNC) &&
           symbol->st_info >> 4 != STB_LOCAL &&
           (table->versions == NULL ||
            (table->versions[at] & VERSION_HIDDEN) == 0) &&
           is_same(table->names + symbol->st_name, wanted->name);
}

/* Before any other constructor of this library; constructors of others may have
 * called a wrapper before. */
__attribute__((constructor(101), section(".text.startup"))) static void
symbol_load(void)
{
    const struct link_map *map = _r_debug.r_map;
    struct table table;

    if (last != NULL) {
        return;
    }
    first = map;
    for (; map != NULL; map = map->l_next) {
        if (map->l_ld == own_dynamic) {
            own = map;
            has_addresses = table_find(own, &table);
        }
        last = map;
    }
}

/* Its number, 0 = none: buckets of chains of hashes, whose last has bit 0 set,
 * behind a filter of two bits a symbol. */
static uint32_t gnu_find(const struct table *table, const struct wanted *wanted)
{
    uint32_t buckets = table->gnu[0];
    uint32_t base = table->gnu[1];
    uint32_t words = table->gnu[2];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(table->gnu + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + words);
    const uint32_t *chain = bucket + buckets;
    ElfW(Addr) word;
    uint32_t at;

    if (words == 0 || buckets == 0) {
        return 0;
    }
    word = filter[wanted->hash / WORD_BITS % words];
    if ((word >> wanted->hash % WORD_BITS &
         word >> (wanted->hash >> table->gnu[3]) % WORD_BITS & 1) == 0) {
        return 0;
    }
    at = bucket[wanted->hash % buckets];
    for (; at >= base; at++) {
        if ((chain[at - base] | 1) == (wanted->hash | 1) &&
            is_wanted(table, at, wanted)) {
            return at;
        }
        if ((chain[at - base] & 1) != 0) {
            break;
        }
    }
    return 0;
}

static uint32_t old_find(const struct table *table, const struct wanted *wanted)
{
    uint32_t count = table->old[1];

    for (uint32_t at = 1; at < count; at++) {
        if (is_wanted(table, at, wanted)) {
            return at;
        }
    }
    return 0;
}

/* A function that chooses one by the processor is asked, as the loader does. */
static void *definition(const struct table *table, uint32_t at)
{
    ElfW(Addr) place = table->bias + table->symbols[at].st_value;

    if ((table->symbols[at].st_info & 0xf) == STT_GNU_IFUNC) {
        return dlsym(RTLD_NEXT, table->names + table->symbols[at].st_name);
    }
    return (void *)place;
}

static void *find_from(const struct link_map *map, const char *name)
{
    struct wanted wanted = {.name = name, .hash = 5381};
    struct table table;

    for (const char *at = name; *at != '\0'; at++) {
        wanted.hash = wanted.hash * 33 + (uint8_t)*at;
    }
    for (; map != NULL; map = map == last ? NULL : map->l_next) {
        uint32_t at = 0;

        if (!table_find(map, &table)) {
            continue;
        }
        if (table.gnu != NULL) {
            at = gnu_find(&table, &wanted);
        } else if (table.old != NULL) {
            at = old_find(&table, &wanted);
        }
        if (at != 0) {
            return definition(&table, at);
        }
    }
    return NULL;
}

void *symbol_next(const char *name)
{
    symbol_load();
    if (!has_addresses) {
        return dlsym(RTLD_NEXT, name);
    }
    return own == last ? NULL : find_from(own->l_next, name);
}

void *symbol_first(const char *name)
{
    symbol_load();
    return has_addresses ? find_from(first, name) : dlsym(RTLD_DEFAULT, name);
}
