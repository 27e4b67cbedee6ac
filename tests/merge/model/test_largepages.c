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
#include <unistd.h>

#include "merge/model/memory.h"

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

/* Threads' memory is of the same heap (test_beside.c). */
static void arrays_and_small_pieces_are_in_large_pages(void **state)
{
    char *array, *small[PIECES];

    (void)state;
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) {
        print_message("skipped: this kernel has no large pages\n");
        skip();
    }
    memory_large_pages();
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
        cmocka_unit_test(arrays_and_small_pieces_are_in_large_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
