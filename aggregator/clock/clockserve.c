/* clockserve.c - answers clock probes: a thread of ckagg of its own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of an answer the kernel's stamp is known only once it has gone, so it
 * travels with the next answer of the session. What has come at the same time
 * is therefore answered in rounds, in each round one of a session. A stamp is
 * matched to its answer by a number: the socket counts what it sends.
 */
#include "aggregator/clock/clockserve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "aggregator/clock/clockbatch.h"
#include "aggregator/clock/clocksockets.h"
#include "schema/clock/probe.h"
#include "schema/clock/stamp.h"
#include "schema/fd.h"

/* Answers whose stamps may be outstanding. */
#define SENT_MAX 4096
/* With a probe each 250 us and more the datagrams may gather for 2 ms: an
 * answer then costs half as much. The kernel has stamped them, and answers are
 * stamped as they leave, so how long they stay costs no accuracy. */
#define CROWD_GAP (250 * CK_TIME_US)
#define CROWD_REST (2 * CK_TIME_MS)
#define CROWD_SPAN (64 * CK_TIME_MS)
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
    struct clocksockets sockets;
    int stop; /* eventfd */
    bool is_thread;
    pthread_t thread;
    /* All below is the thread's. */
    struct ck_bracket past[PAST_MAX];
    size_t past_count; /* ever; the latest is at (past_count - 1) % PAST_MAX */
    struct ck_bracket now;
    struct clockbatch *batch;
    uint64_t crowd; /* datagrams since then */
    ck_time_t crowd_since;
    bool is_crowded;
    uint32_t sent_next;
    uint32_t sent_taken; /* the number behind that of the last stamp */
    struct sent sent[SENT_MAX];
    struct stream streams[CLOCKSERVE_STREAMS];
    size_t streams_count;
};

/* Read the stamps of what was sent. False: there were none. */
static bool stamps_read(struct clockserve *serve)
{
    struct clockbatch_stamp stamps[CLOCKBATCH_MAX];
    size_t count = clockbatch_stamps(serve->sockets.udp, stamps);
    struct ck_bracket before = serve->now;

    if (count == 0) {
        return false;
    }
    ck_bracket_read(&serve->now);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = stamps[i].number;
        const struct sent *sent = &serve->sent[number % SENT_MAX];
        ck_time_t raw;
        ck_time_t error;

        if (stamps[i].realtime == 0 ||
            serve->sent_next - number - 1 >= SENT_MAX) {
            continue;
        }
        serve->sent_taken = number + 1;
        if (ck_bracket_raw(&before, &serve->now, stamps[i].realtime, &raw,
                           &error) == 0) {
            clocksessions_sent(serve->sessions, sent->session, sent->number,
                               raw, error);
        }
    }
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
static void arrival_time(const struct clockserve *serve,
                         int64_t realtime,
                         struct clocksession_arrival *arrival)
{
    if (realtime == 0 || past_raw(serve, realtime, arrival) != 0) {
        arrival->received = serve->now.raw;
        arrival->error = serve->now.width;
    }
}

/* Send the answers of a round; `round` has their sessions. */
static void answers_send(struct clockserve *serve, const struct sent *round)
{
    size_t count = clockbatch_answers(serve->batch);

    for (size_t at = 0; at < count;) {
        size_t went;

        for (size_t i = at; i < count; i++) {
            serve->sent[(serve->sent_next + (i - at)) % SENT_MAX] = round[i];
        }
        went = clockbatch_send(serve->batch, serve->sockets.udp, at);
        if (went == 0) {
            /* Whether it was numbered is not known. */
            (void)ck_stamp_restart(serve->sockets.udp);
            serve->sent_next = serve->sent_taken = 0;
            memset(serve->sent, 0, sizeof(serve->sent));
            at++;
            continue;
        }
        serve->sent_next += (uint32_t)went;
        at += went;
        /* Each look costs a system call: none when all are known. */
        while (serve->sent_taken != serve->sent_next && stamps_read(serve)) {
        }
    }
    clockbatch_clear(serve->batch);
}

/* Datagrams that came together and wait for an answer. */
struct waiting {
    uint8_t items[CLOCKBATCH_MAX];
    uint64_t sessions[CLOCKBATCH_MAX]; /* that they name */
    size_t count;
};

/* How many from `first` on are of the session. */
static size_t
waiting_of(const struct waiting *waiting, size_t first, uint64_t session)
{
    size_t count = 0;

    for (size_t i = first; i < waiting->count; i++) {
        count += waiting->sessions[i] == session;
    }
    return count;
}

/* The place of the round's answer to a session; `count` = none. */
static size_t
round_find(const struct sent *round, size_t count, uint64_t session)
{
    size_t at = 0;

    while (at < count && round[at].session != session) {
        at++;
    }
    return at;
}

/* Answer an item in the round, with what its session is already sent, or
 * alone. False: it deserves none. */
static bool item_answer(struct clockserve *serve,
                        size_t item,
                        struct sent *round,
                        size_t place)
{
    struct clockbatch_item came = clockbatch_item(serve->batch, item);
    struct clocksession_arrival arrival = {.bytes = came.bytes,
                                           .length = came.length};
    uint8_t answer[CK_PROBE_BYTES];
    struct ck_probe ask;

    arrival_time(serve, came.realtime, &arrival);
    if (clocksessions_answer(serve->sessions, &arrival, answer) !=
            CLOCKSESSION_GOOD ||
        ck_probe_decode(answer, sizeof(answer), &ask) != 0) {
        return false;
    }
    if (place == clockbatch_answers(serve->batch)) {
        round[place] = (struct sent){ask.session, ask.number};
        (void)clockbatch_put(serve->batch, item, answer);
    } else {
        (void)clockbatch_add(serve->batch, place, answer);
    }
    return true;
}

/* Of each session: its first item alone, those between in one datagram, which
 * can report when the first answer left, and its last alone, which can report
 * when that datagram left. What is left waits for the next round. */
static void
round_answer(struct clockserve *serve, struct waiting *waiting, bool is_first)
{
    struct sent round[CLOCKBATCH_MAX];
    size_t taken[CLOCKBATCH_MAX] = {0};
    size_t left = 0;

    for (size_t i = 0; i < waiting->count; i++) {
        uint64_t session = waiting->sessions[i];
        size_t count = clockbatch_answers(serve->batch);
        size_t place = round_find(round, count, session);

        if (place < count && (is_first || taken[place] == CK_PROBE_PIECES ||
                              waiting_of(waiting, i + 1, session) == 0)) {
            waiting->items[left] = waiting->items[i];
            waiting->sessions[left++] = session;
            continue;
        }
        taken[place] += item_answer(serve, waiting->items[i], round, place);
    }
    waiting->count = left;
    answers_send(serve, round);
}

/* Is it worth while to let datagrams gather? */
static void crowd_note(struct clockserve *serve, size_t count)
{
    ck_time_t span = serve->now.raw - serve->crowd_since;

    serve->crowd += count;
    if (span >= CROWD_SPAN) {
        serve->is_crowded = serve->crowd >= (uint64_t)(span / CROWD_GAP);
        serve->crowd = 0;
        serve->crowd_since = serve->now.raw;
    }
}

static void datagrams_take(struct clockserve *serve)
{
    size_t count;

    do {
        struct waiting waiting = {.count = 0};
        bool is_first = true;

        count = clockbatch_receive(serve->batch, serve->sockets.udp);
        for (size_t i = 0; i < count; i++) {
            struct clockbatch_item item = clockbatch_item(serve->batch, i);
            struct ck_probe ask = {.session = 0};

            (void)ck_probe_decode(item.bytes, item.length, &ask);
            waiting.items[i] = (uint8_t)i;
            waiting.sessions[i] = ask.session;
        }
        waiting.count = count;
        ck_bracket_read(&serve->now);
        past_note(serve);
        crowd_note(serve, count);
        while (waiting.count > 0) {
            round_answer(serve, &waiting, is_first);
            is_first = false;
        }
    } while (count == CLOCKBATCH_MAX);
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
    int fd =
        accept4(serve->sockets.tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

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

/* Stamps may be late, and other errors wait where they do. */
static bool stamps_are_due(const struct clockserve *serve, short events)
{
    return (events & POLLERR) != 0 || serve->sent_taken != serve->sent_next;
}

/* One turn. False when the thread is to end. Streams are stamped when they are
 * read, so they are never let wait. */
static bool turn(struct clockserve *serve)
{
    struct pollfd items[3 + CLOCKSERVE_STREAMS] = {
        {.fd = serve->is_crowded ? -1 : serve->sockets.udp, .events = POLLIN},
        {.fd = serve->stop, .events = POLLIN},
        {.fd = serve->sockets.tcp, .events = POLLIN},
    };
    struct timespec rest = {.tv_nsec = CROWD_REST};
    size_t count = serve->streams_count;

    for (size_t i = 0; i < count; i++) {
        items[3 + i] =
            (struct pollfd){.fd = serve->streams[i].fd, .events = POLLIN};
    }
    if (ppoll(items, 3 + count, serve->is_crowded ? &rest : NULL, NULL) < 0 &&
        errno != EINTR) {
        return false;
    }
    if (items[1].revents != 0) {
        return false;
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
    if (items[0].revents != 0 || serve->is_crowded) {
        while (stamps_are_due(serve, items[0].revents) && stamps_read(serve)) {
        }
        datagrams_take(serve);
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

struct clockserve *clockserve_create(const struct clocksockets_options *options,
                                     struct ck_err *err)
{
    struct clockserve *serve = calloc(1, sizeof(*serve));

    if (!serve) {
        return ck_err_null(err, "out of memory");
    }
    serve->sockets.udp = serve->sockets.tcp = serve->stop = -1;
    if (ck_domain_read(&serve->domain, err) != 0 ||
        clocksockets_open(&serve->sockets, options, err) != 0) {
        goto error;
    }
    serve->stop = eventfd(0, EFD_CLOEXEC);
    serve->sessions = clocksessions_create();
    serve->batch = clockbatch_create();
    if (serve->stop < 0 || !serve->sessions || !serve->batch) {
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
    ck_fd_close(serve->sockets.udp);
    ck_fd_close(serve->sockets.tcp);
    ck_fd_close(serve->stop);
    clocksessions_destroy(serve->sessions);
    clockbatch_destroy(serve->batch);
    free(serve);
    errno = saved;
}

int clockserve_port(const struct clockserve *serve)
{
    return serve->sockets.port;
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
    return serve->sockets.is_stamped;
}
