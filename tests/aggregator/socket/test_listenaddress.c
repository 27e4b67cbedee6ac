/* test_listenaddress.c - what ckagg listens on
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/socket/listenaddress.h"

static void a_wildcard_becomes_addresses(void **state)
{
    struct ck_endpoint endpoint = {.count = 0};

    (void)state;
    listenaddress_add(&endpoint, "tcp://0.0.0.0:1234");
    assert_true(endpoint.count > 0);
    assert_string_equal(endpoint.urls[endpoint.count - 1],
                        "tcp://127.0.0.1:1234");
    for (size_t i = 0; i < endpoint.count; i++) {
        assert_null(strstr(endpoint.urls[i], "0.0.0.0"));
        assert_null(strstr(endpoint.urls[i], "["));
    }
}

static void a_socket_and_its_lock_are_removed(void **state)
{
    static const char *const names[] = {"a.sock", "a.lock", "b.lock"};
    char dir[] = "/tmp/ck-endpoint-XXXXXX";
    char path[64];
    char url[96];

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    }
    (void)snprintf(url, sizeof(url), "ipc://%s/a.sock", dir);
    listenaddress_remove(url);
    listenaddress_remove("tcp://127.0.0.1:1");
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(access(path, F_OK), i < 2 ? -1 : 0);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wildcard_becomes_addresses),
        cmocka_unit_test(a_socket_and_its_lock_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
