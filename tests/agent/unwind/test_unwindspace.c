/* test_unwindspace.c - memory for the unwind tables of many files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/unwind/unwindspace.h"

#define PIECES 2000
#define LONG_BYTES ((size_t)7 << 20)

/* Odd sizes, of 10 MB together, and a long one between them. */
static void pieces_stay_and_do_not_overlap(void **state)
{
    struct unwindspace space = {NULL};
    uint8_t *piece[PIECES];
    size_t bytes[PIECES];

    (void)state;
    srand(5);
    for (size_t i = 0; i < PIECES; i++) {
        bytes[i] = i == PIECES / 2 ? LONG_BYTES : 1 + (size_t)rand() % 10000;
        piece[i] = unwindspace_take(&space, bytes[i]);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 64, 0);
        assert_int_equal(piece[i][0] | piece[i][bytes[i] - 1], 0);
        memset(piece[i], (int)(i % 255 + 1), bytes[i]);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t at = 0; at < bytes[i]; at++) {
            assert_int_equal(piece[i][at], i % 255 + 1);
        }
    }
    unwindspace_fini(&space);
    assert_null(space.chunks);
}

static void what_no_memory_has_room_for_is_refused(void **state)
{
    struct unwindspace space = {NULL};

    (void)state;
    assert_null(unwindspace_take(&space, SIZE_MAX));
    assert_null(unwindspace_take(&space, SIZE_MAX / 2));
    assert_null(unwindspace_take(&space, (size_t)1 << 50));
    assert_non_null(unwindspace_take(&space, 1));
    unwindspace_fini(&space);
    unwindspace_fini(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_stay_and_do_not_overlap),
        cmocka_unit_test(what_no_memory_has_room_for_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
