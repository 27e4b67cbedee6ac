/* admission.c - which tcp connections may stay
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/socket/admission.h"

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

struct admission {
    struct connection *all; /* by descriptor */
    size_t room;
    size_t top; /* above the highest in use */
    size_t strangers;
    uint64_t shut;
    ck_time_t next;
    ck_time_t next_all;
};

struct admission *admission_create(void)
{
    return calloc(1, sizeof(struct admission));
}

void admission_destroy(struct admission *admission)
{
    int saved = errno;

    if (admission) {
        free(admission->all);
        free(admission);
    }
    errno = saved;
}

static struct connection *connection_of(const struct admission *admission,
                                        int fd)
{
    if (fd < 0 || (size_t)fd >= admission->top ||
        admission->all[fd].state == STATE_NONE) {
        return NULL;
    }
    return &admission->all[fd];
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

static int room_make(struct admission *admission, size_t fd)
{
    size_t room = admission->room ? admission->room : 64;
    struct connection *grown;

    while (room <= fd) {
        room *= 2;
    }
    if (room > admission->room) {
        grown = realloc(admission->all, room * sizeof(*grown));
        if (!grown) {
            return -1;
        }
        memset(grown + admission->room, 0,
               (room - admission->room) * sizeof(*grown));
        admission->all = grown;
        admission->room = room;
    }
    return 0;
}

void admission_open(struct admission *admission, int fd, ck_time_t now)
{
    admission_close(admission, fd);
    if (fd < 0 || fd >= FILES_MOST || room_make(admission, (size_t)fd) != 0) {
        return;
    }
    admission->all[fd] = (struct connection){.state = STATE_STRANGER,
                                             .cookie = cookie_of(fd),
                                             .opened = now,
                                             .moved = now};
    admission->strangers++;
    if (admission->top <= (size_t)fd) {
        admission->top = (size_t)fd + 1;
    }
}

void admission_close(struct admission *admission, int fd)
{
    struct connection *connection = connection_of(admission, fd);

    if (!connection) {
        return;
    }
    admission->strangers -= connection->state == STATE_STRANGER;
    connection->state = STATE_NONE;
    while (admission->top > 0 &&
           admission->all[admission->top - 1].state == STATE_NONE) {
        admission->top--;
    }
}

void admission_take(struct admission *admission, int fd, size_t bytes)
{
    struct connection *connection = connection_of(admission, fd);

    if (connection) {
        connection->taken += bytes;
    }
}

void admission_accept(struct admission *admission, int fd)
{
    struct connection *connection = connection_of(admission, fd);
    int buffer = ADMISSION_PEER_BUFFER;

    if (connection && connection->state == STATE_STRANGER) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
        connection->state = STATE_PEER;
        connection->mark = received(fd);
        admission->strangers--;
    }
}

/* ZeroMQ sees the end of the stream, drops what it holds and closes it. */
static void connection_shut(struct admission *admission, int fd)
{
    if (cookie_of(fd) == admission->all[fd].cookie) {
        (void)shutdown(fd, SHUT_RDWR);
        admission->shut++;
    }
    admission_close(admission, fd);
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

static bool is_stranger_over(const struct admission *admission,
                             const struct connection *connection,
                             uint64_t share,
                             ck_time_t now)
{
    ck_time_t age = now - connection->opened;

    /* An agent that connects again may send frames first; they are taken one
     * after the other. */
    if (connection->moved == now) {
        share = ADMISSION_STRANGERS_BYTES;
    }
    return connection->held > share || age > ADMISSION_STRANGER_TIME_MOST ||
           (admission->strangers > ADMISSION_STRANGERS &&
            age > ADMISSION_STRANGER_TIME);
}

static void strangers_look(struct admission *admission, ck_time_t now)
{
    uint64_t share = admission->strangers
                         ? ADMISSION_STRANGERS_BYTES / admission->strangers
                         : 0;

    if (share < ADMISSION_HELLO_BYTES) {
        share = ADMISSION_HELLO_BYTES;
    }
    for (size_t fd = admission->top; fd-- > 0;) {
        struct connection *connection = &admission->all[fd];

        if (connection->state != STATE_STRANGER) {
            continue;
        }
        held_measure(connection, (int)fd, now);
        if (is_stranger_over(admission, connection, share, now)) {
            connection_shut(admission, (int)fd);
        }
    }
}

static void peers_look(struct admission *admission, ck_time_t now)
{
    uint64_t sum = 0;

    for (size_t fd = 0; fd < admission->top; fd++) {
        if (admission->all[fd].state == STATE_PEER) {
            held_measure(&admission->all[fd], (int)fd, now);
            sum += admission->all[fd].held;
        }
    }
    if (sum <= ADMISSION_PEERS_BYTES) {
        return;
    }
    for (size_t fd = admission->top; fd-- > 0;) {
        const struct connection *connection = &admission->all[fd];

        if (connection->state == STATE_PEER &&
            connection->held > ADMISSION_PEER_BYTES &&
            now - connection->moved > ADMISSION_PEER_TIME) {
            connection_shut(admission, (int)fd);
        }
    }
}

void admission_look(struct admission *admission, ck_time_t now)
{
    if (admission->strangers > 0 && now >= admission->next) {
        admission->next = now + ADMISSION_PERIOD;
        strangers_look(admission, now);
    }
    if (now >= admission->next_all) {
        admission->next_all = now + ADMISSION_PERIOD_ALL;
        peers_look(admission, now);
    }
}

struct admission_facts admission_facts(const struct admission *admission)
{
    return (struct admission_facts){.strangers = admission->strangers,
                                    .shut = admission->shut};
}
