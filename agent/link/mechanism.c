/* mechanism.c - has an aggregator keys?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A greeting of ZeroMQ's protocol 3 has 64 bytes: ten of a signature, two of a
 * version, 20 of the mechanism's name, 32 more. A peer sends its whole greeting
 * when it has seen the other's first 11 bytes.
 */
#include "agent/link/mechanism.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define GREETING_BYTES 64
#define FIRST_BYTES 11
#define NAME_AT 12
#define NAME_BYTES 20
#define PATIENCE_US 500000
#define HOST_BYTES 256

/* The parts of tcp://HOST:PORT, without the brackets of IPv6. */
static int url_part(const char *url, char host[HOST_BYTES], const char **port)
{
    const char *from = strstr(url, "://");
    const char *colon = strrchr(url, ':');
    size_t length;

    if (from == NULL || colon <= from) {
        return -1;
    }
    from += 3;
    length = (size_t)(colon - from);
    if (length > 2 && from[0] == '[' && colon[-1] == ']') {
        from++;
        length -= 2;
    }
    if (length == 0 || length >= HOST_BYTES) {
        return -1;
    }
    memcpy(host, from, length);
    host[length] = '\0';
    *port = colon + 1;
    return 0;
}

/* A connected socket that waits for nothing longer, or -1. */
static int address_connect(const struct addrinfo *at)
{
    const struct timeval patience = {.tv_usec = PATIENCE_US};
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    /* Of a socket that is to connect, too. */
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
                               sizeof(patience)) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                               sizeof(patience)) != 0 ||
                    connect(fd, at->ai_addr, at->ai_addrlen) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* The first of a name's addresses that takes a connection. */
static int url_connect(const char *url)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[HOST_BYTES];
    const char *port;
    int fd = -1;

    if (url_part(url, host, &port) != 0 ||
        getaddrinfo(host, port, &hints, &found) != 0) {
        return -1;
    }
    for (const struct addrinfo *at = found; at != NULL && fd < 0;
         at = at->ai_next) {
        fd = address_connect(at);
    }
    freeaddrinfo(found);
    return fd;
}

static void greeting_make(unsigned char greeting[GREETING_BYTES], bool has_keys)
{
    memset(greeting, 0, GREETING_BYTES);
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    (void)snprintf((char *)greeting + NAME_AT, NAME_BYTES, "%s",
                   has_keys ? "CURVE" : "NULL");
}

enum mechanism_match mechanism_ask(const char *url, bool has_keys)
{
    enum mechanism_match match = MECHANISM_UNKNOWN;
    unsigned char ours[GREETING_BYTES];
    unsigned char theirs[GREETING_BYTES];
    int fd = url_connect(url);

    if (fd < 0) {
        return match;
    }
    greeting_make(ours, has_keys);
    if (send(fd, ours, FIRST_BYTES, MSG_NOSIGNAL) == FIRST_BYTES &&
        recv(fd, theirs, sizeof(theirs), MSG_WAITALL) == GREETING_BYTES &&
        theirs[0] == ours[0] && theirs[9] == ours[9]) {
        match = memcmp(theirs + NAME_AT, ours + NAME_AT, NAME_BYTES) == 0
                    ? MECHANISM_SAME
                    : MECHANISM_OTHER;
    }
    /* It reads the rest, reports what it found, and closes. */
    if (match == MECHANISM_OTHER &&
        send(fd, ours + FIRST_BYTES, GREETING_BYTES - FIRST_BYTES,
             MSG_NOSIGNAL) == GREETING_BYTES - FIRST_BYTES) {
        (void)recv(fd, theirs, sizeof(theirs), MSG_WAITALL);
    }
    (void)close(fd);
    return match;
}
