/* test_mechanism.c - the answer shows whether an aggregator has keys
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/link/mechanism.h"

#define FIRST "\xff\0\0\0\0\0\0\0\0\x7f\x03\0"

/* Takes one connection, sends the bytes when 11 came, reads to the end. */
static pid_t server_start(const char *bytes, size_t length, unsigned *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t room = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char theirs[64];
    pid_t pid;

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &room), 0);
    *port = ntohs(at.sin_port);
    pid = fork();
    if (pid == 0) {
        int peer = accept(fd, NULL, NULL);

        (void)recv(peer, theirs, 11, MSG_WAITALL);
        (void)send(peer, bytes, length, MSG_NOSIGNAL);
        (void)recv(peer, theirs, sizeof(theirs) - 11, MSG_WAITALL);
        _exit(0);
    }
    (void)close(fd);
    return pid;
}

static enum mechanism_match
asked(const char *host, bool has_keys, const char *bytes, size_t length)
{
    enum mechanism_match match;
    char url[64];
    unsigned port;
    pid_t pid = server_start(bytes, length, &port);

    (void)snprintf(url, sizeof(url), "tcp://%s:%u", host, port);
    match = mechanism_ask(url, has_keys);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return match;
}

static void the_mechanism_of_its_greeting_is_compared(void **state)
{
    char keyed[64] = FIRST "CURVE";
    char keyless[64] = FIRST "NULL";

    (void)state;
    assert_int_equal(asked("127.0.0.1", true, keyed, 64), MECHANISM_SAME);
    assert_int_equal(asked("127.0.0.1", false, keyless, 64), MECHANISM_SAME);
    assert_int_equal(asked("127.0.0.1", true, keyless, 64), MECHANISM_OTHER);
    assert_int_equal(asked("127.0.0.1", false, keyed, 64), MECHANISM_OTHER);
}

/* Of the addresses of "localhost" only that of IPv4 is listened on. */
static void each_address_of_a_name_is_tried(void **state)
{
    char keyless[64] = FIRST "NULL";

    (void)state;
    assert_int_equal(asked("localhost", true, keyless, 64), MECHANISM_OTHER);
}

static void what_is_no_zeromq_is_not_known(void **state)
{
    char other[64] = "SSH-2.0-OpenSSH_9.2 and so on until there are 64 bytes";

    (void)state;
    assert_int_equal(asked("127.0.0.1", false, other, 64), MECHANISM_UNKNOWN);
    assert_int_equal(asked("127.0.0.1", false, other, 0), MECHANISM_UNKNOWN);
    assert_int_equal(mechanism_ask("tcp://127.0.0.1:1", false),
                     MECHANISM_UNKNOWN);
    assert_int_equal(mechanism_ask("tcp://", false), MECHANISM_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mechanism_of_its_greeting_is_compared),
        cmocka_unit_test(each_address_of_a_name_is_tried),
        cmocka_unit_test(what_is_no_zeromq_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
