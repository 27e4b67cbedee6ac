/* gate.c - which tcp connections may stay
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/gate.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* No process has more descriptors by default (fs.nr_open). */
#define FILES_MOST (1 << 20)

enum state { STATE_NONE, STATE_STRANGER, STATE_PEER };

struct connection {
    enum state state;
    uint64_t cookie; /* the kernel's name for it; a descriptor comes again */
    uint64_t taken;  /* bytes of whole messages */
    uint64_t before; /* `taken` at the last look */
    uint64_t mark;   /* of a peer: received when it last completed a message */
    uint64_t held;   /* at the last look */
    ck_time_t opened;
    ck_time_t moved; /* when a look last found that `taken` had grown */
};

struct gate {
    struct connection *all; /* by descriptor */
    size_t room;
    size_t top; /* above the highest in use */
    size_t strangers;
    uint64_t shut;
    ck_time_t next;
    ck_time_t next_all;
};

struct gate *gate_create(void)
{
    return calloc(1, sizeof(struct gate));
}

void gate_destroy(struct gate *gate)
{
    int saved = errno;

    if (gate) {
        free(gate->all);
        free(gate);
    }
    errno = saved;
}

static struct connection *connection_of(const struct gate *gate, int fd)
{
    if (fd < 0 || (size_t)fd >= gate->top ||
        gate->all[fd].state == STATE_NONE) {
        return NULL;
    }
    return &gate->all[fd];
}

/* 0: it is no socket any more. */
static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t length = sizeof(cookie);

    return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie
                                                                        : 0;
}

/* Bytes that came on it, also those that ZeroMQ has not read. */
static uint64_t received(int fd)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t length = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0
               ? info.tcpi_bytes_received
               : 0;
}

static int room_make(struct gate *gate, size_t fd)
{
    size_t room = gate->room ? gate->room : 64;
    struct connection *grown;

    while (room <= fd) {
        room *= 2;
    }
    if (room > gate->room) {
        grown = realloc(gate->all, room * sizeof(*grown));
        if (!grown) {
            return -1;
        }
        memset(grown + gate->room, 0, (room - gate->room) * sizeof(*grown));
        gate->all = grown;
        gate->room = room;
    }
    return 0;
}

void gate_open(struct gate *gate, int fd, ck_time_t now)
{
    gate_close(gate, fd);
    if (fd < 0 || fd >= FILES_MOST || room_make(gate, (size_t)fd) != 0) {
        return;
    }
    gate->all[fd] = (struct connection){.state = STATE_STRANGER,
                                        .cookie = cookie_of(fd),
                                        .opened = now,
                                        .moved = now};
    gate->strangers++;
    if (gate->top <= (size_t)fd) {
        gate->top = (size_t)fd + 1;
    }
}

void gate_close(struct gate *gate, int fd)
{
    struct connection *connection = connection_of(gate, fd);

    if (!connection) {
        return;
    }
    gate->strangers -= connection->state == STATE_STRANGER;
    connection->state = STATE_NONE;
    while (gate->top > 0 && gate->all[gate->top - 1].state == STATE_NONE) {
        gate->top--;
    }
}

void gate_take(struct gate *gate, int fd, size_t bytes)
{
    struct connection *connection = connection_of(gate, fd);

    if (connection) {
        connection->taken += bytes;
    }
}

void gate_accept(struct gate *gate, int fd)
{
    struct connection *connection = connection_of(gate, fd);
    int buffer = GATE_PEER_BUFFER;

    if (connection && connection->state == STATE_STRANGER) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
        connection->state = STATE_PEER;
        connection->mark = received(fd);
        gate->strangers--;
    }
}

/* ZeroMQ sees the end of the stream, drops what it holds and closes it. */
static void connection_shut(struct gate *gate, int fd)
{
    if (cookie_of(fd) == gate->all[fd].cookie) {
        (void)shutdown(fd, SHUT_RDWR);
        gate->shut++;
    }
    gate_close(gate, fd);
}

/* Of a stranger each byte counts that is not of a whole message. A peer sends
 * pings, too, for days: what it sent since its last message counts. */
static void held_measure(struct connection *connection, int fd, ck_time_t now)
{
    uint64_t all = received(fd);
    uint64_t from = connection->taken;

    if (connection->taken != connection->before) {
        connection->before = connection->taken;
        connection->moved = now;
        connection->mark = all;
    }
    if (connection->state == STATE_PEER) {
        from = connection->mark;
    }
    connection->held = all > from ? all - from : 0;
}

static bool is_stranger_over(const struct gate *gate,
                             const struct connection *connection,
                             uint64_t share,
                             ck_time_t now)
{
    ck_time_t age = now - connection->opened;

    /* An agent that connects again may send frames first; they are taken one
     * after the other. */
    if (connection->moved == now) {
        share = GATE_STRANGERS_BYTES;
    }
    return connection->held > share || age > GATE_STRANGER_TIME_MOST ||
           (gate->strangers > GATE_STRANGERS && age > GATE_STRANGER_TIME);
}

static void strangers_look(struct gate *gate, ck_time_t now)
{
    uint64_t share =
        gate->strangers ? GATE_STRANGERS_BYTES / gate->strangers : 0;

    if (share < GATE_HELLO_BYTES) {
        share = GATE_HELLO_BYTES;
    }
    for (size_t fd = gate->top; fd-- > 0;) {
        struct connection *connection = &gate->all[fd];

        if (connection->state != STATE_STRANGER) {
            continue;
        }
        held_measure(connection, (int)fd, now);
        if (is_stranger_over(gate, connection, share, now)) {
            connection_shut(gate, (int)fd);
        }
    }
}

static void peers_look(struct gate *gate, ck_time_t now)
{
    uint64_t sum = 0;

    for (size_t fd = 0; fd < gate->top; fd++) {
        if (gate->all[fd].state == STATE_PEER) {
            held_measure(&gate->all[fd], (int)fd, now);
            sum += gate->all[fd].held;
        }
    }
    if (sum <= GATE_PEERS_BYTES) {
        return;
    }
    for (size_t fd = gate->top; fd-- > 0;) {
        const struct connection *connection = &gate->all[fd];

        if (connection->state == STATE_PEER &&
            connection->held > GATE_PEER_BYTES &&
            now - connection->moved > GATE_PEER_TIME) {
            connection_shut(gate, (int)fd);
        }
    }
}

void gate_look(struct gate *gate, ck_time_t now)
{
    if (gate->strangers > 0 && now >= gate->next) {
        gate->next = now + GATE_PERIOD;
        strangers_look(gate, now);
    }
    if (now >= gate->next_all) {
        gate->next_all = now + GATE_PERIOD_ALL;
        peers_look(gate, now);
    }
}

struct gate_facts gate_facts(const struct gate *gate)
{
    return (struct gate_facts){.strangers = gate->strangers,
                               .shut = gate->shut};
}
