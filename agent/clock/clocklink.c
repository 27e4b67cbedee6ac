/* clocklink.c - one way to carry clock probes: UDP, TCP or ZeroMQ
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A probe by ZeroMQ is a control message CLOCK with the datagram as hex.
 */
#include "agent/clock/clocklink.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/link/ship.h"
#include "schema/clock/stamp.h"
#include "schema/fd.h"
#include "schema/store/run.h"

/* Probes whose stamp may be outstanding. */
#define SENT_MAX 64

struct clocklink {
    enum clocklink_way way;
    int fd;
    struct ship *ship;
    char token[sizeof(((struct ck_endpoint *)NULL)->token)];
    uint32_t sent_next;
    uint64_t sent[SENT_MAX];      /* numbers of probes */
    struct ck_bracket before;     /* when the last probe was sent */
    uint8_t part[CK_PROBE_BYTES]; /* of a TCP stream */
    size_t part_length;
    /* A datagram with several answers, and what was taken of it. */
    uint8_t pieces[CK_PROBE_PIECES * CK_PROBE_BYTES + 1];
    size_t pieces_length, pieces_taken;
    struct clocklink_time pieces_came;
    bool is_received_stamped;
    bool is_sent_stamped;
};

/* HOST of tcp://HOST:PORT; this host for ipc. */
static void host_of(const char *url, char host[256])
{
    const char *colon = strrchr(url, ':');
    size_t length;

    strcpy(host, "127.0.0.1");
    if (strncmp(url, "tcp://", 6) != 0 || colon == NULL || colon < url + 6) {
        return;
    }
    url += 6;
    length = (size_t)(colon - url);
    if (length >= 2 && url[0] == '[' && url[length - 1] == ']') {
        url++;
        length -= 2;
    }
    if (length > 0 && length < 256) {
        memcpy(host, url, length);
        host[length] = '\0';
    }
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;

    return address->sa_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
               : ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

/* The name was looked up a moment ago for the data's connection. */
static int address_find(const struct clockreference_to *to,
                        struct sockaddr_storage *address,
                        socklen_t *length,
                        struct ck_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    char host[256];
    char port[16];
    int rc;

    host_of(to->endpoint->urls[to->url], host);
    (void)snprintf(port, sizeof(port), "%d", to->port);
    rc = getaddrinfo(host, port, &hints, &found);
    if (rc == 0 && is_loopback(found->ai_addr)) {
        /* There ckagg may listen on IPv4 alone. */
        freeaddrinfo(found);
        rc = getaddrinfo("127.0.0.1", port, &hints, &found);
    }
    if (rc != 0) {
        return ck_err_set(err, "cannot find host %s: %s", host,
                          gai_strerror(rc));
    }
    memcpy(address, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return 0;
}

static int socket_connect(struct clocklink *link,
                          const struct clockreference_to *to,
                          struct ck_err *err)
{
    int type = link->way == CLOCKLINK_UDP ? SOCK_DGRAM : SOCK_STREAM;
    struct sockaddr_storage address;
    socklen_t length = 0;
    int on = 1;

    if (address_find(to, &address, &length, err) != 0) {
        return -1;
    }
    link->fd =
        socket(address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->fd < 0 ||
        (connect(link->fd, (struct sockaddr *)&address, length) != 0 &&
         errno != EINPROGRESS)) {
        return ck_err_set(err, "cannot probe the clock by %s: %s",
                          clocklink_name(link->way), strerror(errno));
    }
    if (link->way == CLOCKLINK_UDP) {
        (void)ck_stamp_enable(link->fd); /* without: times of our own */
    } else {
        (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return 0;
}

struct clocklink *clocklink_open(enum clocklink_way way,
                                 const struct clockreference_to *to,
                                 struct ck_err *err)
{
    struct clocklink *link = calloc(1, sizeof(*link));

    if (link == NULL) {
        return ck_err_null(err, "out of memory");
    }
    link->way = way;
    link->fd = -1;
    if (way == CLOCKLINK_ZMQ) {
        memcpy(link->token, to->endpoint->token, sizeof(link->token));
        link->ship = ship_create(to->endpoint, to->url, to->agent, err);
        if (link->ship == NULL) {
            goto error;
        }
    } else if (socket_connect(link, to, err) != 0) {
        goto error;
    }
    return link;
error:
    clocklink_close(link);
    return NULL;
}

void clocklink_close(struct clocklink *link)
{
    if (link != NULL) {
        ship_destroy(link->ship);
        ck_fd_close(link->fd);
        free(link);
    }
}

int clocklink_fd(const struct clocklink *link)
{
    return link->ship != NULL ? ship_fd(link->ship) : link->fd;
}

static int mail_send(struct clocklink *link, const uint8_t *bytes)
{
    char text[CK_PROBE_HEX + sizeof(link->token) + 64];
    char hex[CK_PROBE_HEX];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_probe_to_hex(bytes, hex);
    ck_lines_put(&lines, "probe", hex);
    if (link->token[0] != '\0') {
        ck_lines_put(&lines, "token", link->token);
    }
    return ship_control(link->ship, CK_CONTROL_CLOCK, text);
}

int clocklink_send(struct clocklink *link,
                   uint64_t number,
                   const uint8_t bytes[CK_PROBE_BYTES],
                   struct clocklink_time *sent)
{
    ssize_t length;

    ck_bracket_read(&link->before);
    link->sent[link->sent_next % SENT_MAX] = number;
    sent->at = ck_time_raw();
    sent->error = 0;
    if (link->ship != NULL) {
        return mail_send(link, bytes);
    }
    length = send(link->fd, bytes, CK_PROBE_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length == CK_PROBE_BYTES) {
        link->sent_next++;
        return 0;
    }
    if (link->way == CLOCKLINK_UDP) {
        int saved = errno;

        /* Whether it was numbered is not known. */
        (void)ck_stamp_restart(link->fd);
        link->sent_next = 0;
        memset(link->sent, 0, sizeof(link->sent));
        errno = saved;
    }
    errno = length >= 0 || errno == ENOTCONN ? EAGAIN : errno;
    return -1;
}

static int mail_receive(struct clocklink *link, uint8_t *bytes)
{
    struct ck_control control;
    char hex[CK_PROBE_HEX];

    while (ship_receive(link->ship, &control) == 1) {
        if (control.type == CK_CONTROL_CLOCK &&
            ck_lines_get(control.text, control.text_length, "probe", hex,
                         sizeof(hex)) &&
            ck_probe_from_hex(hex, bytes) != 0) {
            return CK_PROBE_BYTES;
        }
    }
    return 0;
}

static int stream_receive(struct clocklink *link, uint8_t *bytes)
{
    ssize_t length = recv(link->fd, link->part + link->part_length,
                          CK_PROBE_BYTES - link->part_length, MSG_DONTWAIT);

    if (length == 0 || (length < 0 && errno != EAGAIN && errno != ENOTCONN)) {
        errno = length == 0 ? ECONNRESET : errno;
        return -1;
    }
    link->part_length += length > 0 ? (size_t)length : 0;
    if (link->part_length < CK_PROBE_BYTES) {
        return 0;
    }
    memcpy(bytes, link->part, CK_PROBE_BYTES);
    link->part_length = 0;
    return CK_PROBE_BYTES;
}

/* The next piece of the datagram that came last. */
static int piece_take(struct clocklink *link,
                      uint8_t bytes[CK_PROBE_BYTES + 1],
                      struct clocklink_time *came)
{
    size_t left = link->pieces_length - link->pieces_taken;
    size_t length = left < CK_PROBE_BYTES ? left : CK_PROBE_BYTES;

    memcpy(bytes, link->pieces + link->pieces_taken, length);
    link->pieces_taken += length;
    *came = link->pieces_came;
    return (int)length;
}

static int datagram_receive(struct clocklink *link,
                            uint8_t bytes[CK_PROBE_BYTES + 1],
                            struct clocklink_time *came)
{
    struct clocklink_time *at = &link->pieces_came;
    struct ck_arrival arrival;
    struct ck_bracket now;
    ssize_t length;

    if (link->pieces_taken < link->pieces_length) {
        return piece_take(link, bytes, came);
    }
    length = ck_stamp_receive(link->fd, link->pieces, sizeof(link->pieces),
                              &arrival);
    if (length < 0) {
        return errno == EAGAIN ? 0 : -1;
    }
    link->pieces_taken = 0;
    link->pieces_length = (size_t)length < sizeof(link->pieces)
                              ? (size_t)length
                              : sizeof(link->pieces);
    ck_bracket_read(&now);
    if (arrival.realtime != 0 &&
        ck_bracket_raw(&link->before, &now, arrival.realtime, &at->at,
                       &at->error) == 0) {
        link->is_received_stamped = true;
    } else {
        *at = (struct clocklink_time){now.raw, now.width};
    }
    return piece_take(link, bytes, came);
}

int clocklink_receive(struct clocklink *link,
                      uint8_t bytes[CK_PROBE_BYTES + 1],
                      struct clocklink_time *came)
{
    int length;

    if (link->way == CLOCKLINK_UDP) {
        return datagram_receive(link, bytes, came);
    }
    length = link->ship != NULL ? mail_receive(link, bytes)
                                : stream_receive(link, bytes);
    came->at = ck_time_raw();
    came->error = 0;
    return length;
}

int clocklink_sent(struct clocklink *link,
                   uint64_t *number,
                   struct clocklink_time *sent)
{
    struct ck_bracket now;
    uint32_t id;
    int64_t realtime;

    while (link->way == CLOCKLINK_UDP &&
           ck_stamp_sent(link->fd, &id, &realtime) == 1) {
        if (realtime == 0 || link->sent_next - id - 1 >= SENT_MAX) {
            continue;
        }
        ck_bracket_read(&now);
        if (ck_bracket_raw(&link->before, &now, realtime, &sent->at,
                           &sent->error) == 0) {
            *number = link->sent[id % SENT_MAX];
            link->is_sent_stamped = true;
            return 1;
        }
    }
    return 0;
}

bool clocklink_is_stamped(const struct clocklink *link)
{
    return link->is_received_stamped && link->is_sent_stamped;
}

const char *clocklink_name(enum clocklink_way way)
{
    static const char *const names[CLOCKLINK_WAYS] = {"udp", "tcp", "zmq"};

    return names[way];
}
