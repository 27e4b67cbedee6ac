/* test_route.c - connections and their peers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "aggregator/socket/route.h"

#define MANY 5000

static struct route numbered(uint32_t n)
{
    struct route route = {.socket = n & 1, .length = sizeof(n)};

    memcpy(route.id, &n, sizeof(n));
    return route;
}

static struct route_end end_of(uintptr_t n)
{
    return (struct route_end){NULL, (struct peer *)(n + 1)};
}

static void many_routes_are_found_and_removed(void **state)
{
    struct routes *routes = routes_create();

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        struct route route = numbered(i);

        assert_int_equal(routes_put(routes, &route, end_of(i)), 0);
    }
    for (uint32_t i = 0; i < MANY; i += 3) {
        struct route route = numbered(i);

        routes_remove(routes, &route);
        routes_remove(routes, &route);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        struct route route = numbered(i);
        struct route_end end = routes_get(routes, &route);

        assert_ptr_equal(end.peer, i % 3 ? end_of(i).peer : NULL);
    }
    routes_destroy(routes);
}

static void the_socket_is_part_of_a_route(void **state)
{
    struct routes *routes = routes_create();
    struct route a = {.socket = 0, .length = 3, .id = "abc"};
    struct route b = {.socket = 1, .length = 3, .id = "abc"};
    struct route c = {.socket = 0, .length = 2, .id = "ab"};

    (void)state;
    assert_int_equal(routes_put(routes, &a, end_of(1)), 0);
    assert_int_equal(routes_put(routes, &a, end_of(2)), 0);
    assert_ptr_equal(routes_get(routes, &a).peer, end_of(2).peer);
    assert_null(routes_get(routes, &b).peer);
    assert_null(routes_get(routes, &c).peer);
    routes_destroy(routes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_routes_are_found_and_removed),
        cmocka_unit_test(the_socket_is_part_of_a_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
