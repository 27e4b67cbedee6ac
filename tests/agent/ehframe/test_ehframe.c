/* test_ehframe.c - the caller of a function, by what the compiler wrote down
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C library's own unwinder is the oracle: from within a callback of
 * qsort(), below functions with and without a frame pointer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ehframe/ehframe.h"

#define FRAMES 64
#define DAMAGES 20000

/* The module that an address is in, and its code, from the first function of
 * its table to the last one. */
struct found {
    uint64_t address;
    struct ehframe_module module;
    uint64_t text_begin, text_end;
};

/* Of the table, by number. */
static uint64_t function_at(uint64_t header, uint32_t number)
{
    const int32_t *rows = (const int32_t *)(uintptr_t)(header + 12);

    return header + (uint64_t)(int64_t)rows[2 * (size_t)number];
}

static int module_look(struct dl_phdr_info *info, size_t size, void *state)
{
    struct found *found = state;
    struct ehframe_module module = {.begin = UINT64_MAX};

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + header->p_vaddr;
        uint64_t end = begin + header->p_memsz;

        if (header->p_type == PT_GNU_EH_FRAME) {
            module.header = begin;
        }
        if (header->p_type != PT_LOAD) {
            continue;
        }
        module.begin = begin < module.begin ? begin : module.begin;
        module.end = end > module.end ? end : module.end;
    }
    if (found->address < module.begin || found->address >= module.end) {
        return 0;
    }
    found->module = module;
    if (module.header != 0) {
        found->text_begin = function_at(module.header, 0);
        found->text_end =
            function_at(module.header,
                        *(const uint32_t *)(uintptr_t)(module.header + 8) - 1);
    }
    return 1;
}

static struct found module_of(const void *address)
{
    struct found found = {.address = (uint64_t)(uintptr_t)address};

    (void)dl_iterate_phdr(module_look, &found);
    return found;
}

static void *expected[FRAMES];
static int expected_count;
static uint64_t seen[FRAMES];
static int seen_count;

static uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

/* This function's own frame, or its caller's where a call leaves that on the
 * stack. */
#if defined(__aarch64__)
#define FRAME_TAKE(pc, sp, bp)                                                 \
    __asm__ volatile("mov %0, x29\n\tmov %1, sp\n\tadr %2, ."                  \
                     : "=&r"(bp), "=&r"(sp), "=&r"(pc))
#define FRAMES_BEFORE 1
#else
#define FRAME_TAKE(pc, sp, bp)                                                 \
    do {                                                                       \
        const uint64_t *own = __builtin_frame_address(0);                      \
                                                                               \
        (pc) = own[1];                                                         \
        (sp) = (uint64_t)(uintptr_t)(own + 2);                                 \
        (bp) = own[0];                                                         \
    } while (0)
#define FRAMES_BEFORE 0
#endif

__attribute__((noinline)) static void stack_take(void)
{
    uint64_t pc, sp, bp;

    FRAME_TAKE(pc, sp, bp);
    expected_count = backtrace(expected, FRAMES);
    for (seen_count = -FRAMES_BEFORE; seen_count < FRAMES; seen_count++) {
        struct found found = module_of((void *)(uintptr_t)pc);
        struct ehframe_rule rule;
        uint64_t cfa;

        if (seen_count >= 0) {
            seen[seen_count] = pc;
        }
        if (ehframe_find(&found.module, pc, &rule) != EHFRAME_FOUND) {
            seen_count++;
            break;
        }
        cfa = (rule.cfa_register == EHFRAME_BP ? bp : sp) +
              (uint64_t)(int64_t)rule.cfa;
        if (rule.how[EHFRAME_KEPT_BP] == EHFRAME_AT_CFA) {
            bp = word_at(cfa + (uint64_t)(int64_t)rule.offset[EHFRAME_KEPT_BP]);
        }
        pc = word_at(cfa + (uint64_t)(int64_t)rule.offset[EHFRAME_KEPT_PC]) &
             EHFRAME_ADDRESS;
        sp = cfa;
    }
}

static int compare(const void *a, const void *b)
{
    if (expected_count == 0) {
        stack_take();
    }
    return *(const int *)a - *(const int *)b;
}

/* Room on the stack of a length that the compiler does not know. */
__attribute__((noinline)) static int sort_some(int count)
{
    int *items = __builtin_alloca((size_t)count * sizeof(*items));

    for (int i = 0; i < count; i++) {
        items[i] = count - i;
    }
    qsort(items, (size_t)count, sizeof(*items), compare);
    return items[0];
}

__attribute__((noinline)) static int deep(int depth)
{
    return depth == 0 ? sort_some(100) : deep(depth - 1) + 1;
}

static void callers_are_those_of_the_c_library(void **state)
{
    const void *called;
    int first = 0;

    (void)state;
    if (!EHFRAME_IS_READ) {
        print_message("skipped: this processor's frames are not read\n");
        skip();
    }
    assert_int_equal(deep(3), 4);
    called = (void *)(uintptr_t)seen[0];
    /* Before it stack_take() itself, and what a sanitizer puts around. */
    while (first < expected_count && expected[first] != called) {
        first++;
    }
    assert_int_equal(seen_count, expected_count - first);
    assert_true(seen_count > 8);
    for (int i = 0; i < seen_count; i++) {
        assert_int_equal(seen[i], (uint64_t)(uintptr_t)expected[first + i]);
    }
}

/* libgcc's own search: whether the file has a frame for the address. */
typedef const void *(*fde_find_f)(void *pc, void *bases[3]);

/* How much of it has one is the C library's matter: 97 % on aarch64. */
static void nearly_all_of_the_c_library_is_known(void **state)
{
    struct found found = module_of(dlsym(RTLD_DEFAULT, "qsort"));
    void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW);
    fde_find_f fde_find;
    uint64_t known = 0, framed = 0, all = 0;

    (void)state;
    assert_true(found.module.header != 0);
    assert_non_null(libgcc);
    fde_find = (fde_find_f)dlsym(libgcc, "_Unwind_Find_FDE");
    assert_non_null(fde_find);
    for (uint64_t pc = found.text_begin + 1; pc < found.text_end; pc += 13) {
        struct ehframe_rule rule;
        void *bases[3];

        all++;
        if (fde_find((void *)(uintptr_t)(pc - 1), bases) != NULL) {
            framed++;
            known += ehframe_find(&found.module, pc, &rule) != EHFRAME_UNKNOWN;
        }
    }
    print_message("%llu of %llu addresses that have a frame, of %llu\n",
                  (unsigned long long)known, (unsigned long long)framed,
                  (unsigned long long)all);
    assert_true(framed * 100 > all * 90);
    assert_true(!EHFRAME_IS_READ || known * 1000 > framed * 999);
    (void)dlclose(libgcc);
}

static void an_address_of_no_function_is_not_known(void **state)
{
    struct found found = module_of(dlsym(RTLD_DEFAULT, "qsort"));
    struct ehframe_module none = found.module;
    struct ehframe_rule rule;

    (void)state;
    assert_int_equal(ehframe_find(&none, none.begin, &rule), EHFRAME_UNKNOWN);
    assert_int_equal(ehframe_find(&none, 1, &rule), EHFRAME_UNKNOWN);
    assert_int_equal(ehframe_find(&none, UINT64_MAX, &rule), EHFRAME_UNKNOWN);
    none.header = none.end;
    assert_int_equal(ehframe_find(&none, found.text_begin + 1000, &rule),
                     EHFRAME_UNKNOWN);
    none.header = 0;
    assert_int_equal(ehframe_find(&none, found.text_begin + 1000, &rule),
                     EHFRAME_UNKNOWN);
}

/* A copy of the table and its entries, in memory of its own, cut short and with
 * bytes changed: nothing outside of it is read. */
static void damage_is_found_or_without_harm(void **state)
{
    struct found found = module_of(dlsym(RTLD_DEFAULT, "qsort"));
    const char *seed_text = getenv("CK_SEED");
    unsigned seed = seed_text != NULL ? (unsigned)atoi(seed_text) : 7;
    size_t size = 65536;
    unsigned char *copy = malloc(size);
    unsigned char *damaged = malloc(size);
    struct ehframe_module module = {
        .begin = (uint64_t)(uintptr_t)damaged,
        .end = (uint64_t)(uintptr_t)damaged + size,
        .header = (uint64_t)(uintptr_t)damaged,
    };
    uint32_t few = 64;

    (void)state;
    assert_non_null(copy);
    assert_non_null(damaged);
    print_message("CK_SEED=%u\n", seed);
    memcpy(copy, (void *)(uintptr_t)found.module.header, size);
    /* Few functions, so that what is looked for is in the copy. */
    memcpy(copy + 8, &few, sizeof(few));
    for (int i = 0; i < DAMAGES; i++) {
        struct ehframe_rule rule;
        int32_t at;

        memcpy(damaged, copy, size);
        memcpy(&at, damaged + 12 + 8 * (i % (int)few), sizeof(at));
        for (int k = 0; k < 8; k++) {
            /* The table, an entry, or anywhere. */
            size_t place = k % 2 == 0 ? (size_t)rand_r(&seed) % 600
                                      : (size_t)rand_r(&seed) % size;

            damaged[place] = (unsigned char)rand_r(&seed);
        }
        module.end = module.begin + 1 + (uint64_t)rand_r(&seed) % size;
        (void)ehframe_find(&module, module.header + (uint64_t)(int64_t)at + 20,
                           &rule);
    }
    free(copy);
    free(damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_are_those_of_the_c_library),
        cmocka_unit_test(nearly_all_of_the_c_library_is_known),
        cmocka_unit_test(an_address_of_no_function_is_not_known),
        cmocka_unit_test(damage_is_found_or_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
