/* crowd.c - many connections that never end what they began to send
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     crowd COUNT SECONDS ENDPOINT
 *
 * Each connection sends one of the beginnings below and then waits; one that
 * is closed is opened again at once. Prints how many connections were opened
 * and how many bytes were sent. Nothing that comes back is read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schema/endpoint.h"
#include "schema/time.h"

/* Shorter than the longest message that ckagg takes. */
#define MESSAGE_BYTES ((size_t)2 << 20)
#define PART_BYTES ((size_t)64 << 10)
#define PARTS 128
#define GREETING_BYTES 64

enum beginning {
    BEGIN_NOTHING,  /* connects only */
    BEGIN_GREETING, /* a greeting of ZeroMQ */
    BEGIN_COMMAND,  /* a long command in place of the handshake's */
    BEGIN_MESSAGE,  /* the handshake, all of a message but its last byte */
    BEGIN_PARTS,    /* the handshake, parts of a message that has no end */
    BEGINNINGS,
};

struct connection {
    int fd;
    enum beginning begin;
    uint64_t sent;
};

static struct {
    struct sockaddr_in to;
    int poll;
    unsigned long long opened;
    unsigned long long sent;
    ck_time_t until;
} crowd;

static const uint8_t greeting[GREETING_BYTES] = {
    0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
static const char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                            "DEALER";
static uint8_t part[9 + PART_BYTES];

static void head_put(uint8_t head[9], uint8_t flags, uint64_t length)
{
    head[0] = flags;
    for (int i = 0; i < 8; i++) {
        head[1 + i] = (uint8_t)(length >> (56 - 8 * i));
    }
}

/* The bytes at the place `at` of what the connection sends: how many. */
static size_t
piece_find(enum beginning begin, uint64_t at, const uint8_t **from)
{
    static uint8_t head[9];
    static const uint8_t zeros[PART_BYTES];
    uint64_t ready_bytes = begin == BEGIN_COMMAND ? 0 : sizeof(ready) - 1;

    if (begin == BEGIN_NOTHING) {
        return 0;
    }
    if (at < GREETING_BYTES) {
        *from = greeting + at;
        return GREETING_BYTES - at;
    }
    at -= GREETING_BYTES;
    if (begin == BEGIN_GREETING) {
        return 0;
    }
    if (at < ready_bytes) {
        *from = (const uint8_t *)ready + at;
        return ready_bytes - at;
    }
    at -= ready_bytes;
    if (begin == BEGIN_PARTS) {
        *from = part + at % sizeof(part);
        return at < PARTS * sizeof(part) ? sizeof(part) - at % sizeof(part) : 0;
    }
    head_put(head, begin == BEGIN_COMMAND ? 6 : 2, MESSAGE_BYTES);
    if (at < sizeof(head)) {
        *from = head + at;
        return sizeof(head) - at;
    }
    at -= sizeof(head);
    *from = zeros;
    return at + sizeof(zeros) < MESSAGE_BYTES ? sizeof(zeros)
                                              : MESSAGE_BYTES - 1 - at;
}

static void connection_open(struct connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
                                .data.ptr = connection};

    connection->sent = 0;
    connection->fd =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection->fd < 0) {
        perror("crowd: socket");
        exit(1);
    }
    (void)connect(connection->fd, (const struct sockaddr *)&crowd.to,
                  sizeof(crowd.to));
    (void)epoll_ctl(crowd.poll, EPOLL_CTL_ADD, connection->fd, &event);
    crowd.opened++;
}

/* As much as goes. False: the connection was closed. */
static bool connection_send(struct connection *connection)
{
    const uint8_t *from = NULL;
    size_t bytes;

    while ((bytes = piece_find(connection->begin, connection->sent, &from)) >
           0) {
        ssize_t n = send(connection->fd, from, bytes, MSG_NOSIGNAL);

        if (n < 0) {
            return errno == EAGAIN || errno == ENOTCONN;
        }
        connection->sent += (uint64_t)n;
        crowd.sent += (uint64_t)n;
    }
    return true;
}

static void events_take(void)
{
    struct epoll_event events[256];
    int n = epoll_wait(crowd.poll, events, 256, 50);

    for (int i = 0; i < n; i++) {
        struct connection *connection = events[i].data.ptr;

        if ((events[i].events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0 ||
            !connection_send(connection)) {
            (void)close(connection->fd);
            connection_open(connection);
        }
    }
}

static int address_read(const char *text)
{
    struct ck_endpoint endpoint;
    struct ck_err err;
    const char *colon;

    if (ck_endpoint_parse(text, &endpoint, &err) != 0 ||
        (colon = strrchr(endpoint.urls[0], ':')) == NULL) {
        return -1;
    }
    crowd.to.sin_family = AF_INET;
    crowd.to.sin_port = htons((uint16_t)atoi(colon + 1));
    crowd.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return 0;
}

int main(int argc, char **argv)
{
    size_t count = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    struct connection *all = calloc(count + 1, sizeof(*all));
    struct rlimit files;

    if (count == 0 || all == NULL || address_read(argv[3]) != 0) {
        (void)fprintf(stderr, "crowd: COUNT SECONDS ENDPOINT\n");
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    head_put(part, 3, PART_BYTES);
    crowd.poll = epoll_create1(EPOLL_CLOEXEC);
    crowd.until = ck_time_raw() + (ck_time_t)(atof(argv[2]) * 1e9);
    for (size_t i = 0; i < count; i++) {
        all[i].begin = (enum beginning)(i % BEGINNINGS);
        connection_open(&all[i]);
    }
    while (ck_time_raw() < crowd.until) {
        events_take();
    }
    (void)printf("crowd: %zu connections, %llu opened, %llu MB sent\n", count,
                 crowd.opened, crowd.sent / 1000000);
    free(all);
    return 0;
}
