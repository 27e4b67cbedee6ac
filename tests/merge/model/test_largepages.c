/* test_largepages.c - the heap is asked for in large pages
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "merge/model/memory.h"
#include "tests/emulator.h"

/* More than the heap of before has room for. */
#define PIECES 2000

/* Has the mapping that an address is in asked for large pages? */
static bool is_large(const void *address)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[4096];
    uintptr_t from, to;
    bool is_in = false, is_large = false;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            is_in = (uintptr_t)address >= from && (uintptr_t)address < to;
        } else if (is_in && strncmp(line, "VmFlags:", 8) == 0) {
            is_large = strstr(line, " hg") != NULL;
        }
    }
    (void)fclose(file);
    return is_large;
}

static long faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

static bool has_large_pages(void)
{
    char text[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");

    if (file != NULL) {
        (void)fread(text, 1, sizeof(text) - 1, file);
        (void)fclose(file);
    }
    return text[0] != '\0' && strstr(text, "[never]") == NULL;
}

/* A page in which malloc() had written something before would stay small, and
 * with it all of the first large one. */
static void the_first_memory_is_in_large_pages_too(void **state)
{
    enum { BYTES = 1 << 20, PAGES = BYTES / 4096 };
    long before;
    char *first;

    (void)state;
    EMULATOR_SKIP("the pages are those of the emulator");
    if (!has_large_pages()) {
        print_message("skipped: this kernel has no large pages\n");
        skip();
    }
    before = faults();
    first = xcalloc(1, BYTES);
    assert_int_equal(first[BYTES - 1], 0);
    assert_true(faults() - before < PAGES / 4);
    free(first);
}

/* Threads' memory is of the same heap (test_beside.c). */
static void arrays_and_small_pieces_are_in_large_pages(void **state)
{
    char *array, *small[PIECES];

    (void)state;
    EMULATOR_SKIP("the pages are those of the emulator");
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) {
        print_message("skipped: this kernel has no large pages\n");
        skip();
    }
    array = xmalloc((size_t)3 << 20);
    for (int i = 0; i < PIECES; i++) {
        small[i] = xmalloc(100);
    }
    assert_true(is_large(array));
    assert_true(is_large(array + ((size_t)3 << 20) - 1));
    assert_true(is_large(small[PIECES - 1]));
    for (int i = 0; i < PIECES; i++) {
        free(small[i]);
    }
    free(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_memory_is_in_large_pages_too),
        cmocka_unit_test(arrays_and_small_pieces_are_in_large_pages),
    };

    memory_large_pages(); /* as ckmerge does, before anything else */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
