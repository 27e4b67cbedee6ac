/* reachable.c - which of several tcp addresses can be reached
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/reachable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schema/fd.h"

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* "tcp://10.0.0.1:7700" or "tcp://[fd00::1]:7700". Length, 0 = not numeric. */
static socklen_t address_parse(const char *url, union address *address)
{
    char host[256];
    const char *colon = strrchr(url, ':');
    size_t length;
    long port;

    if (strncmp(url, "tcp://", 6) != 0 || colon == NULL || colon < url + 6) {
        return 0;
    }
    url += 6;
    length = (size_t)(colon - url);
    port = strtol(colon + 1, NULL, 10);
    if (length == 0 || length >= sizeof(host) || port <= 0 || port > 65535) {
        return 0;
    }
    memcpy(host, url, length);
    host[length] = '\0';
    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, host, &address->four.sin_addr) == 1) {
        address->four.sin_family = AF_INET;
        address->four.sin_port = htons((uint16_t)port);
        return sizeof(address->four);
    }
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        if (inet_pton(AF_INET6, host + 1, &address->six.sin6_addr) == 1) {
            address->six.sin6_family = AF_INET6;
            address->six.sin6_port = htons((uint16_t)port);
            return sizeof(address->six);
        }
    }
    return 0;
}

/* A connect under way, or -1. */
static int connect_start(const char *url)
{
    union address address;
    socklen_t length = address_parse(url, &address);
    int fd;

    if (length == 0) {
        return -1;
    }
    fd = socket(address.any.sa_family,
                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &address.any, length) != 0 &&
        errno != EINPROGRESS) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

int reachable_start(struct reachable *reachable,
                    const struct ck_endpoint *endpoint,
                    ck_time_t now)
{
    int started = 0;

    for (size_t i = 0; i < CK_ENDPOINT_URLS; i++) {
        reachable->fds[i] =
            i < endpoint->count ? connect_start(endpoint->urls[i]) : -1;
        started += reachable->fds[i] >= 0;
    }
    reachable->until = now + REACHABLE_LIMIT;
    reachable->is_running = started > 0;
    return started;
}

void reachable_stop(struct reachable *reachable)
{
    for (size_t i = 0; reachable->is_running && i < CK_ENDPOINT_URLS; i++) {
        ck_fd_close(reachable->fds[i]);
        reachable->fds[i] = -1;
    }
    reachable->is_running = false;
}

/* 1 connected, 0 not yet, -1 refused. */
static int connect_step(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLOUT};
    socklen_t length = sizeof(int);
    int failed = 0;

    if (poll(&item, 1, 0) != 1) {
        return 0;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length) != 0 ||
        failed != 0) {
        return -1;
    }
    return 1;
}

int reachable_step(struct reachable *reachable, ck_time_t now)
{
    int left = 0;

    for (int i = 0; i < CK_ENDPOINT_URLS; i++) {
        int rc = reachable->fds[i] < 0 ? -1 : connect_step(reachable->fds[i]);

        if (rc == 1) {
            reachable_stop(reachable);
            return i;
        }
        if (rc == -1 && reachable->fds[i] >= 0) {
            (void)close(reachable->fds[i]);
            reachable->fds[i] = -1;
        }
        left += rc == 0;
    }
    if (left == 0 || now >= reachable->until) {
        reachable_stop(reachable);
        return -2;
    }
    return -1;
}
