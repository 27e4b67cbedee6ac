/* clockserve.c - answers clock probes: a thread of ckagg of its own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of an answer the kernel's stamp is known only once it has gone, so it
 * travels with the next answer of the session. Which answer a stamp belongs to
 * is told by its number: the socket counts what it sends.
 */
#include "aggregator/clockserve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "schema/probe.h"
#include "schema/stamp.h"

/* Answers whose stamps may be outstanding. */
#define SENT_MAX 4096
/* Datagrams taken before the clock's bracket is read anew. */
#define BURST 32
/* Room for datagrams that wait while the machine is busy, some 1300 (the kernel
 * doubles it): the kernel has stamped them, so waiting costs no accuracy, but
 * an agent waits no longer than 200 ms. */
#define WAITING_BYTES (512 << 10)
/* Where REALTIME was, for datagrams that waited: a second of it. */
#define PAST_MAX 1024
#define PAST_STEP CK_TIME_MS

struct sent {
    uint64_t session;
    uint64_t number;
};

struct stream {
    int fd;
    ck_time_t heard;
    size_t have;
    uint8_t bytes[CK_PROBE_BYTES];
};

struct clockserve {
    struct ck_domain domain;
    struct clocksessions *sessions;
    int udp;
    int tcp;
    int stop; /* eventfd */
    int port;
    bool is_thread;
    atomic_bool is_stamped;
    pthread_t thread;
    /* All below is the thread's. */
    struct ck_bracket past[PAST_MAX];
    size_t past_count; /* ever; the latest is at (past_count - 1) % PAST_MAX */
    struct ck_bracket now;
    uint32_t sent_next;
    uint32_t sent_taken; /* the number behind that of the last stamp */
    struct sent sent[SENT_MAX];
    struct stream streams[CLOCKSERVE_STREAMS];
    size_t streams_count;
};

static void
stamp_take(struct clockserve *serve, uint32_t number, int64_t realtime)
{
    const struct sent *sent = &serve->sent[number % SENT_MAX];
    struct ck_bracket before = serve->now;
    ck_time_t raw;
    ck_time_t error;

    if (realtime == 0 || serve->sent_next - number - 1 >= SENT_MAX) {
        return;
    }
    ck_bracket_read(&serve->now);
    if (ck_bracket_raw(&before, &serve->now, realtime, &raw, &error) == 0) {
        clocksessions_sent(serve->sessions, sent->session, sent->number, raw,
                           error);
    }
}

/* The next stamp of something sent; false: there is none. */
static bool stamp_next(struct clockserve *serve)
{
    uint32_t number;
    int64_t realtime;

    if (ck_stamp_sent(serve->udp, &number, &realtime) != 1) {
        return false;
    }
    if (realtime != 0) {
        serve->sent_taken = number + 1;
    }
    stamp_take(serve, number, realtime);
    return true;
}

/* Note where the clocks are, each PAST_STEP. What was before REALTIME was set
 * is of no use. */
static void past_note(struct clockserve *serve)
{
    const struct ck_bracket *last =
        &serve->past[(serve->past_count + PAST_MAX - 1) % PAST_MAX];

    if (serve->past_count > 0 && !ck_bracket_is_steady(last, &serve->now)) {
        serve->past_count = 0;
    }
    if (serve->past_count == 0 || serve->now.raw - last->raw >= PAST_STEP) {
        serve->past[serve->past_count++ % PAST_MAX] = serve->now;
    }
}

/* RAW at a stamp of a datagram that may have waited: between the two moments
 * around it at which both clocks are known. 0, or -1. */
static int past_raw(const struct clockserve *serve,
                    int64_t realtime,
                    struct clocksession_arrival *arrival)
{
    const struct ck_bracket *after = &serve->now;
    size_t first =
        serve->past_count > PAST_MAX ? serve->past_count - PAST_MAX : 0;

    for (size_t i = serve->past_count; i > first; i--) {
        const struct ck_bracket *before = &serve->past[(i - 1) % PAST_MAX];

        if (before->realtime <= realtime) {
            return ck_bracket_raw(before, after, realtime, &arrival->received,
                                  &arrival->error);
        }
        after = before;
    }
    return -1;
}

/* When a datagram came, +- error: by the kernel, else now. */
static void arrival_time(struct clockserve *serve,
                         int64_t realtime,
                         struct clocksession_arrival *arrival)
{
    ck_bracket_read(&serve->now);
    past_note(serve);
    if (realtime == 0 || past_raw(serve, realtime, arrival) != 0) {
        arrival->received = serve->now.raw;
        arrival->error = serve->now.width;
    }
}

static void answer_send(struct clockserve *serve,
                        const struct ck_arrival *to,
                        const uint8_t answer[CK_PROBE_BYTES])
{
    struct sent *sent = &serve->sent[serve->sent_next % SENT_MAX];
    struct ck_probe made;

    (void)ck_probe_decode(answer, CK_PROBE_BYTES, &made);
    *sent = (struct sent){made.session, made.number};
    if (sendto(serve->udp, answer, CK_PROBE_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL,
               (const struct sockaddr *)&to->from, to->from_length) < 0) {
        /* Whether it was numbered is not known. */
        (void)ck_stamp_restart(serve->udp);
        serve->sent_next = serve->sent_taken = 0;
        memset(serve->sent, 0, sizeof(serve->sent));
        return;
    }
    serve->sent_next++;
    /* Each look costs a system call: none when all are known. */
    while (serve->sent_taken != serve->sent_next && stamp_next(serve)) {
    }
}

static void datagrams_take(struct clockserve *serve)
{
    for (int i = 0; i < BURST; i++) {
        uint8_t bytes[CK_PROBE_BYTES + 1];
        uint8_t answer[CK_PROBE_BYTES];
        struct ck_arrival from;
        ssize_t length =
            ck_stamp_receive(serve->udp, bytes, sizeof(bytes), &from);
        struct clocksession_arrival arrival = {.bytes = bytes};

        if (length < 0) {
            return;
        }
        arrival.length = (size_t)length;
        arrival_time(serve, from.realtime, &arrival);
        if (clocksessions_answer(serve->sessions, &arrival, answer) ==
            CLOCKSESSION_GOOD) {
            answer_send(serve, &from, answer);
        }
    }
}

static void stream_close(struct clockserve *serve, size_t i)
{
    (void)close(serve->streams[i].fd);
    serve->streams[i] = serve->streams[--serve->streams_count];
}

/* A place for one more: the one that is silent for longest gives way. */
static void stream_room(struct clockserve *serve)
{
    size_t oldest = 0;

    if (serve->streams_count < CLOCKSERVE_STREAMS) {
        return;
    }
    for (size_t i = 1; i < serve->streams_count; i++) {
        if (serve->streams[i].heard < serve->streams[oldest].heard) {
            oldest = i;
        }
    }
    stream_close(serve, oldest);
}

static void stream_accept(struct clockserve *serve)
{
    int on = 1;
    int fd = accept4(serve->tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    stream_room(serve);
    serve->streams[serve->streams_count++] =
        (struct stream){.fd = fd, .heard = ck_time_raw()};
}

/* 0, or -1: the connection is of no use any more. */
static int stream_take(struct clockserve *serve, struct stream *stream)
{
    uint8_t answer[CK_PROBE_BYTES];
    struct clocksession_arrival arrival = {.bytes = stream->bytes,
                                           .length = CK_PROBE_BYTES};
    ssize_t length = recv(stream->fd, stream->bytes + stream->have,
                          CK_PROBE_BYTES - stream->have, MSG_DONTWAIT);

    arrival.received = ck_time_raw();
    if (length <= 0) {
        return length < 0 && errno == EAGAIN ? 0 : -1;
    }
    stream->have += (size_t)length;
    if (stream->have < CK_PROBE_BYTES) {
        return 0;
    }
    stream->have = 0;
    stream->heard = arrival.received;
    if (clocksessions_answer(serve->sessions, &arrival, answer) !=
        CLOCKSESSION_GOOD) {
        return -1;
    }
    return send(stream->fd, answer, CK_PROBE_BYTES,
                MSG_DONTWAIT | MSG_NOSIGNAL) == CK_PROBE_BYTES
               ? 0
               : -1;
}

/* One turn. False when the thread is to end. */
static bool turn(struct clockserve *serve)
{
    struct pollfd items[3 + CLOCKSERVE_STREAMS] = {
        {.fd = serve->udp, .events = POLLIN},
        {.fd = serve->stop, .events = POLLIN},
        {.fd = serve->tcp, .events = POLLIN},
    };
    size_t count = serve->streams_count;

    for (size_t i = 0; i < count; i++) {
        items[3 + i] =
            (struct pollfd){.fd = serve->streams[i].fd, .events = POLLIN};
    }
    if (poll(items, 3 + count, -1) < 0 && errno != EINTR) {
        return false;
    }
    if (items[1].revents != 0) {
        return false;
    }
    while ((items[0].revents & POLLERR) != 0 && stamp_next(serve)) {
    }
    if (items[0].revents != 0) {
        datagrams_take(serve);
    }
    for (size_t i = count; i-- > 0;) {
        if (items[3 + i].revents != 0 &&
            stream_take(serve, &serve->streams[i]) != 0) {
            stream_close(serve, i);
        }
    }
    if (items[2].revents != 0) {
        stream_accept(serve);
    }
    return true;
}

static void *serve_run(void *argument)
{
    struct clockserve *serve = argument;

    (void)pthread_setname_np(pthread_self(), "ckagg-clock");
    ck_bracket_read(&serve->now);
    past_note(serve);
    while (turn(serve)) {
    }
    return NULL;
}

static int address_make(const struct clockserve_options *options,
                        int family,
                        struct sockaddr_storage *address)
{
    memset(address, 0, sizeof(*address));
    if (family == AF_INET6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

        six->sin6_family = AF_INET6;
        six->sin6_addr = in6addr_any;
        six->sin6_port = htons((uint16_t)options->port);
        return (int)sizeof(*six);
    }
    struct sockaddr_in *four = (struct sockaddr_in *)address;

    four->sin_family = AF_INET;
    four->sin_addr.s_addr =
        htonl(options->is_wide ? INADDR_ANY : INADDR_LOOPBACK);
    four->sin_port = htons((uint16_t)options->port);
    return (int)sizeof(*four);
}

/* A bound socket of the family, -1 with errno. */
static int
socket_bind(const struct clockserve_options *options, int family, int type)
{
    struct sockaddr_storage address;
    int length = address_make(options, family, &address);
    int off = 0;
    int on = 1;
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int saved;

    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (type == SOCK_STREAM) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    }
    if (bind(fd, (struct sockaddr *)&address, (socklen_t)length) == 0) {
        return fd;
    }
    saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    return ntohs(address.ss_family == AF_INET6
                     ? ((struct sockaddr_in6 *)&address)->sin6_port
                     : ((struct sockaddr_in *)&address)->sin_port);
}

static int sockets_open(struct clockserve *serve,
                        const struct clockserve_options *options,
                        struct ck_err *err)
{
    struct clockserve_options same = *options;
    int family = options->is_wide ? AF_INET6 : AF_INET;
    int waiting = WAITING_BYTES; /* or what is permitted */

    serve->udp = socket_bind(options, family, SOCK_DGRAM);
    if (serve->udp < 0 && family == AF_INET6) {
        family = AF_INET;
        serve->udp = socket_bind(options, family, SOCK_DGRAM);
    }
    if (serve->udp < 0) {
        return ck_err_set(err, "cannot answer clock probes at UDP port %d: %s",
                          options->port, strerror(errno));
    }
    (void)setsockopt(serve->udp, SOL_SOCKET, SO_RCVBUF, &waiting,
                     sizeof(waiting));
    serve->port = port_of(serve->udp);
    serve->is_stamped = ck_stamp_enable(serve->udp) == 0;
    same.port = serve->port;
    /* Without it there is one way less, and that is all. */
    serve->tcp = socket_bind(&same, family, SOCK_STREAM);
    if (serve->tcp >= 0 && listen(serve->tcp, 64) != 0) {
        (void)close(serve->tcp);
        serve->tcp = -1;
    }
    return 0;
}

struct clockserve *clockserve_create(const struct clockserve_options *options,
                                     struct ck_err *err)
{
    struct clockserve *serve = calloc(1, sizeof(*serve));

    if (!serve) {
        (void)ck_err_set(err, "out of memory");
        return NULL;
    }
    serve->udp = serve->tcp = serve->stop = -1;
    if (ck_domain_read(&serve->domain, err) != 0 ||
        sockets_open(serve, options, err) != 0) {
        goto error;
    }
    serve->stop = eventfd(0, EFD_CLOEXEC);
    serve->sessions = clocksessions_create();
    if (serve->stop < 0 || !serve->sessions) {
        (void)ck_err_set(err, "cannot answer clock probes: %s",
                         strerror(errno));
        goto error;
    }
    errno = pthread_create(&serve->thread, NULL, serve_run, serve);
    if (errno != 0) {
        (void)ck_err_set(err, "cannot answer clock probes: %s",
                         strerror(errno));
        goto error;
    }
    serve->is_thread = true;
    return serve;
error:
    clockserve_destroy(serve);
    return NULL;
}

static void fd_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void clockserve_destroy(struct clockserve *serve)
{
    uint64_t one = 1;
    int saved = errno;

    if (!serve) {
        return;
    }
    if (serve->is_thread) {
        (void)!write(serve->stop, &one, sizeof(one));
        (void)pthread_join(serve->thread, NULL);
    }
    while (serve->streams_count > 0) {
        stream_close(serve, 0);
    }
    fd_close(serve->udp);
    fd_close(serve->tcp);
    fd_close(serve->stop);
    clocksessions_destroy(serve->sessions);
    free(serve);
    errno = saved;
}

int clockserve_port(const struct clockserve *serve)
{
    return serve->port;
}

const struct ck_domain *clockserve_domain(const struct clockserve *serve)
{
    return &serve->domain;
}

struct clocksessions *clockserve_sessions(const struct clockserve *serve)
{
    return serve->sessions;
}

bool clockserve_is_stamped(const struct clockserve *serve)
{
    return serve->is_stamped;
}
