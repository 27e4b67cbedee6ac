/* test_requests.c - open requests against a plain list of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/messages/requests.h"
#include "tests/merge/chance.h"

#define PROCESSES 3
#define HANDLES 200
#define STEPS 4000

static bool list_differs(void *state)
{
    struct requests *requests = requests_create();
    uint32_t list[PROCESSES][HANDLES] = {0};
    bool is_wrong = false;

    (void)state;
    assert_non_null(requests);
    for (int i = 0; i < STEPS; i++) {
        uint32_t process = (uint32_t)chance_below(PROCESSES);
        uint32_t handle = (uint32_t)chance_below(HANDLES);
        uint32_t value =
            chance_below(2) == 0 ? 0 : 1 + (uint32_t)chance_below(9);

        /* As pointers of an allocator: a distance apart. */
        requests_set(requests, process, 0x7f0000001000 + 192 * (uint64_t)handle,
                     value);
        list[process][handle] = value;
    }
    for (uint32_t p = 0; p < PROCESSES; p++) {
        for (uint32_t h = 0; h < HANDLES; h++) {
            is_wrong =
                is_wrong ||
                requests_get(requests, p, 0x7f0000001000 + 192 * (uint64_t)h) !=
                    list[p][h];
        }
    }
    requests_destroy(requests);
    return is_wrong;
}

static void what_is_set_is_found_until_it_is_taken_out(void **state)
{
    (void)state;
    chance_worlds(200, list_differs, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_is_found_until_it_is_taken_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
