/* loopback.c - an address of this machine alone, HOST:PORT
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/loopback.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* "HOST:PORT" in two; "[::1]" loses its brackets. */
static int address_split(const char *address, char host[64], char port[16])
{
    const char *colon = strrchr(address, ':');
    bool has_brackets = address[0] == '[';
    int length = colon == NULL ? 0 : (int)(colon - address) - 2 * has_brackets;

    if (length <= 0 || length >= 64 || strlen(colon + 1) >= 16 ||
        (has_brackets && colon[-1] != ']')) {
        return -1;
    }
    (void)snprintf(host, 64, "%.*s", length, address + has_brackets);
    (void)snprintf(port, 16, "%s", colon + 1);
    return 0;
}

static bool is_loopback(const struct sockaddr *address)
{
    const void *any = address;

    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = any;

        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)any)->sin6_addr);
}

struct addrinfo *ck_loopback_resolve(const char *address, struct ck_err *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *to = NULL;
    char host[64];
    char port[16];

    if (address_split(address, host, port) == 0 && strcmp(host, "*") != 0 &&
        getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, port,
                    &hints, &to) == 0 &&
        is_loopback(to->ai_addr)) {
        return to;
    }
    if (to != NULL) {
        freeaddrinfo(to);
    }
    return ck_err_null(
        err,
        "--http %.100s: give 127.0.0.1:PORT; pages are served on "
        "loopback only, to other machines by ssh -L",
        address);
}

int ck_loopback_check(const char *address, struct ck_err *err)
{
    struct addrinfo *to = ck_loopback_resolve(address, err);

    if (to == NULL) {
        return -1;
    }
    freeaddrinfo(to);
    return 0;
}
