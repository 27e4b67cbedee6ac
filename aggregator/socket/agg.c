/* agg.c - the sockets of ckagg: with watch.c all that knows ZeroMQ
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys: with any tcp URL beyond loopback, and without `is_insecure`, the tcp
 * socket is a CURVE server with a key pair made here, and hellos on it carry
 * a random token: the public key lets a peer be sure of us, the token lets us
 * be sure of it. ipc is guarded by the rights of the socket file (umask 077).
 */
#include "aggregator/socket/agg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zmq.h>

#include "aggregator/socket/admission.h"
#include "aggregator/http/token.h"
#include "aggregator/socket/listenaddress.h"
#include "aggregator/socket/watch.h"
#include "schema/time.h"

#define LINGER_MS 1000
#define BACKLOG 4096
#define HANDSHAKE_MS 10000
/* How long a tcp peer may leave pings unanswered before it is disconnected. */
#define HEARTBEAT_MS 2000
#define HEARTBEAT_TIMEOUT_MS 10000
/* A ckagg that is there completes a client's handshake within it. */
#define GREETING_MS 3000

enum { SOCKET_IPC, SOCKET_TCP, SOCKETS };

struct agg {
    void *context;
    void *sockets[SOCKETS]; /* NULL: no URL of that kind */
    struct admission *gate; /* of the tcp socket's connections */
    struct watch *watch;    /* the same; NULL: no tcp socket */
    uint64_t shut;          /* connections, as reported last */
    bool has_token;         /* of the tcp socket */
    unsigned turn;          /* socket that is asked first */
    zmq_msg_t body;
    bool has_body;
    struct ck_endpoint endpoint;
    char secret[CK_ENDPOINT_CURVE_BYTES];
};

struct option_int {
    int option;
    int value;
};

static int options_set(void *socket, const struct option_int *options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (zmq_setsockopt(socket, options[i].option, &options[i].value,
                           sizeof(options[i].value)) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Options of every socket, ours or the asking client's. */
static int socket_bound(void *socket)
{
    const struct option_int options[] = {
        {ZMQ_LINGER, LINGER_MS},
        {ZMQ_RCVHWM, AGG_RECEIVE_HWM},
        {ZMQ_SNDHWM, AGG_SEND_HWM},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS},
    };
    int64_t longest = AGG_MESSAGE_MAX;

    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &longest, sizeof(longest))) {
        return -1;
    }
    return options_set(socket, options, sizeof(options) / sizeof(options[0]));
}

static int router_options(void *socket, int kind)
{
    const struct option_int options[] = {
        {ZMQ_ROUTER_MANDATORY, 1},
        /* A peer that chose its identity and comes again is the same. */
        {ZMQ_ROUTER_HANDOVER, 1},
        {ZMQ_BACKLOG, BACKLOG},
        {ZMQ_RCVBUF, ADMISSION_STRANGER_BUFFER},
    };
    const struct option_int tcp[] = {
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS},
        {ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
    };

    if (socket_bound(socket) != 0 ||
        options_set(socket, options, sizeof(options) / sizeof(options[0]))) {
        return -1;
    }
    return kind == SOCKET_TCP
               ? options_set(socket, tcp, sizeof(tcp) / sizeof(tcp[0]))
               : 0;
}

static int keys_make(struct agg *agg, struct ck_err *err)
{
    int on = 1;

    if (!zmq_has("curve") ||
        zmq_curve_keypair(agg->endpoint.curve, agg->secret) != 0) {
        return ck_err_set(err, "this ZeroMQ has no CURVE keys: listen on "
                               "loopback or ipc, or give --insecure");
    }
    if (token_make(agg->endpoint.token) != 0 ||
        zmq_setsockopt(agg->sockets[SOCKET_TCP], ZMQ_CURVE_SERVER, &on,
                       sizeof(on)) != 0 ||
        zmq_setsockopt(agg->sockets[SOCKET_TCP], ZMQ_CURVE_SECRETKEY,
                       agg->secret, CK_ENDPOINT_CURVE_BYTES) != 0) {
        return ck_err_set(err, "cannot set up keys: %s", zmq_strerror(errno));
    }
    agg->has_token = true;
    return 0;
}

static void *router_create(struct agg *agg, int kind, struct ck_err *err)
{
    void *socket = zmq_socket(agg->context, ZMQ_ROUTER);

    if (!socket || router_options(socket, kind) != 0) {
        (void)ck_err_set(err, "cannot make a socket: %s", zmq_strerror(errno));
        if (socket) {
            (void)zmq_close(socket);
        }
        return NULL;
    }
    return socket;
}

/* What to do about errno of a bind. */
static const char *bind_hint(int kind)
{
    if (kind == SOCKET_TCP && errno == EADDRINUSE) {
        return " (port 0 takes a free one)";
    }
    if (kind == SOCKET_TCP && (errno == ENODEV || errno == EADDRNOTAVAIL)) {
        return " (give an address of this machine, as 127.0.0.1)";
    }
    return "";
}

static int url_bind(struct agg *agg, const char *url, struct ck_err *err)
{
    int kind = ck_endpoint_is_tcp(url) ? SOCKET_TCP : SOCKET_IPC;
    char bound[CK_ENDPOINT_URL_BYTES];
    size_t length = sizeof(bound);
    /* With it, 0.0.0.0 would become a mapped IPv6 address. */
    int has_six = strchr(url, '[') || strchr(url, '*');
    mode_t mask;
    int result;

    if (kind == SOCKET_IPC && listenaddress_check_socket(url, err) != 0) {
        return -1;
    }
    (void)zmq_setsockopt(agg->sockets[kind], ZMQ_IPV6, &has_six,
                         sizeof(has_six));
    mask = umask(0077);
    result = zmq_bind(agg->sockets[kind], url);
    (void)umask(mask);
    if (result != 0) {
        return ck_err_set(err, "cannot listen on %s: %s%s", url,
                          zmq_strerror(errno), bind_hint(kind));
    }
    if (zmq_getsockopt(agg->sockets[kind], ZMQ_LAST_ENDPOINT, bound, &length) !=
        0) {
        return ck_err_set(err, "%s: %s", url, zmq_strerror(errno));
    }
    listenaddress_add(&agg->endpoint, bound);
    return 0;
}

/* Before any peer can connect. */
static int watch_open(struct agg *agg, struct ck_err *err)
{
    if (agg->sockets[SOCKET_TCP]) {
        agg->watch =
            watch_create(agg->context, agg->sockets[SOCKET_TCP], agg->gate);
        if (!agg->watch) {
            return ck_err_set(err, "cannot watch connections: %s",
                              zmq_strerror(errno));
        }
    }
    return 0;
}

static int sockets_open(struct agg *agg,
                        const struct agg_options *options,
                        struct ck_err *err)
{
    bool has_stranger = false;

    for (size_t i = 0; i < options->urls_count; i++) {
        const char *url = options->urls[i];
        int kind = ck_endpoint_is_tcp(url) ? SOCKET_TCP : SOCKET_IPC;

        if (ck_endpoint_check_listen(url, err) != 0) {
            return -1;
        }
        has_stranger |= kind == SOCKET_TCP && !ck_endpoint_is_loopback(url);
        if (!agg->sockets[kind] &&
            !(agg->sockets[kind] = router_create(agg, kind, err))) {
            return -1;
        }
    }
    if (has_stranger && !options->is_insecure && keys_make(agg, err) != 0) {
        return -1;
    }
    if (watch_open(agg, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < options->urls_count; i++) {
        if (url_bind(agg, options->urls[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

struct agg *agg_create(const struct agg_options *options, struct ck_err *err)
{
    struct agg *agg = calloc(1, sizeof(*agg));

    if (!agg || !(agg->gate = admission_create()) ||
        !(agg->context = zmq_ctx_new())) {
        (void)ck_err_set(err, "cannot start ZeroMQ: %s", strerror(errno));
        goto error;
    }
    if (sockets_open(agg, options, err) != 0) {
        goto error;
    }
    return agg;
error:
    agg_destroy(agg);
    return NULL;
}

static void body_close(struct agg *agg)
{
    if (agg->has_body) {
        (void)zmq_msg_close(&agg->body);
        agg->has_body = false;
    }
}

void agg_destroy(struct agg *agg)
{
    int saved = errno;

    if (!agg) {
        return;
    }
    body_close(agg);
    watch_destroy(agg->watch);
    for (int i = 0; i < SOCKETS; i++) {
        if (agg->sockets[i]) {
            (void)zmq_close(agg->sockets[i]);
        }
    }
    if (agg->context) {
        (void)zmq_ctx_term(agg->context);
    }
    for (size_t i = 0; i < agg->endpoint.count; i++) {
        listenaddress_remove(agg->endpoint.urls[i]);
    }
    admission_destroy(agg->gate);
    explicit_bzero(agg->secret, sizeof(agg->secret));
    free(agg);
    errno = saved;
}

const struct ck_endpoint *agg_endpoint(const struct agg *agg)
{
    return &agg->endpoint;
}

bool agg_needs_token(const struct agg *agg, const struct route *route)
{
    return route->socket == SOCKET_TCP && agg->has_token;
}

/* Bits of agg_ready. */
static int watch_look(struct agg *agg)
{
    ck_time_t now = ck_time_raw();
    int ready = AGG_READY_NONE;
    uint64_t shut;

    if (!agg->watch) {
        return ready;
    }
    if (watch_take(agg->watch, now)) {
        ready |= AGG_READY_STRANGER;
    }
    admission_look(agg->gate, now);
    shut = admission_facts(agg->gate).shut;
    if (shut != agg->shut) {
        agg->shut = shut;
        ready |= AGG_READY_SHUT;
    }
    return ready;
}

/* Bits of agg_ready of what the poll found. */
static int items_ready(const zmq_pollitem_t *items, int n, const int fds[])
{
    int ready = AGG_READY_NONE;

    for (int i = 0; i < n; i++) {
        if (!items[i].revents) {
            continue;
        }
        if (items[i].socket) {
            ready |= AGG_READY_MESSAGE;
        } else {
            ready |= items[i].fd == fds[0] ? AGG_READY_FD : AGG_READY_OTHER;
        }
    }
    return ready;
}

int agg_wait(struct agg *agg, const int fds[AGG_FDS], int timeout_ms)
{
    const int period_ms = (int)(ADMISSION_PERIOD / CK_TIME_MS);
    zmq_pollitem_t items[SOCKETS + AGG_FDS + 1];
    int n = 0;

    for (int i = 0; i < SOCKETS; i++) {
        if (agg->sockets[i]) {
            items[n++] = (zmq_pollitem_t){agg->sockets[i], 0, ZMQ_POLLIN, 0};
        }
    }
    for (int i = 0; i < AGG_FDS; i++) {
        if (fds[i] >= 0) {
            items[n++] = (zmq_pollitem_t){NULL, fds[i], ZMQ_POLLIN, 0};
        }
    }
    if (agg->watch) {
        items[n++] =
            (zmq_pollitem_t){watch_socket(agg->watch), 0, ZMQ_POLLIN, 0};
    }
    if (admission_facts(agg->gate).strangers > 0 && timeout_ms > period_ms) {
        timeout_ms = period_ms;
    }
    if (zmq_poll(items, n, timeout_ms) < 0) {
        return errno == EINTR ? AGG_READY_NONE : -1;
    }
    n -= agg->watch != NULL;
    return items_ready(items, n, fds) | watch_look(agg);
}

static bool has_more(void *socket)
{
    int more = 0;
    size_t length = sizeof(more);

    return zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &length) == 0 && more;
}

/* Drop the parts of a message that has too many. */
static void parts_drop(void *socket)
{
    char byte;

    while (has_more(socket) &&
           zmq_recv(socket, &byte, sizeof(byte), ZMQ_DONTWAIT) >= 0) {
    }
}

static int socket_receive(struct agg *agg, int i, struct agg_message *message)
{
    void *socket = agg->sockets[i];
    int length = zmq_recv(socket, message->from.id, sizeof(message->from.id),
                          ZMQ_DONTWAIT);

    if (length < 0) {
        return 0;
    }
    message->from.socket = (uint8_t)i;
    message->from.length = (uint8_t)length;
    if (!has_more(socket)) {
        return -1;
    }
    (void)zmq_msg_init(&agg->body);
    agg->has_body = true;
    if (zmq_msg_recv(&agg->body, socket, ZMQ_DONTWAIT) < 0) {
        return -1;
    }
    if (has_more(socket)) {
        parts_drop(socket);
        return -1;
    }
    message->bytes = zmq_msg_data(&agg->body);
    message->length = zmq_msg_size(&agg->body);
    message->fd = i == SOCKET_TCP ? zmq_msg_get(&agg->body, ZMQ_SRCFD) : -1;
    admission_take(agg->gate, message->fd, message->length);
    return 1;
}

int agg_receive(struct agg *agg, struct agg_message *message)
{
    body_close(agg);
    for (unsigned i = 0; i < SOCKETS; i++) {
        unsigned socket = agg->turn++ % SOCKETS;
        int result;

        if (!agg->sockets[socket]) {
            continue;
        }
        result = socket_receive(agg, (int)socket, message);
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

void agg_accept(struct agg *agg, const struct agg_message *message)
{
    admission_accept(agg->gate, message->fd);
}

uint64_t agg_shut(const struct agg *agg)
{
    return admission_facts(agg->gate).shut;
}

int agg_send(struct agg *agg,
             const struct route *to,
             const void *bytes,
             size_t length)
{
    void *socket = agg->sockets[to->socket];

    if (zmq_send(socket, to->id, to->length, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        return -1;
    }
    return zmq_send(socket, bytes, length, ZMQ_DONTWAIT) < 0 ? -1 : 0;
}

static int client_keys(void *socket, const struct ck_endpoint *to)
{
    char public_key[CK_ENDPOINT_CURVE_BYTES];
    char secret_key[CK_ENDPOINT_CURVE_BYTES];
    int result;

    if (zmq_curve_keypair(public_key, secret_key) != 0) {
        return -1;
    }
    result = zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, to->curve,
                            sizeof(to->curve)) ||
             zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key,
                            sizeof(public_key)) ||
             zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key,
                            sizeof(secret_key));
    explicit_bzero(secret_key, sizeof(secret_key));
    return result ? -1 : 0;
}

/* What ZeroMQ reports of a client's connection; NULL with errno. */
static void *reports_open(void *context, void *socket, size_t number)
{
    int no_limit = 0; /* ZeroMQ's thread must never wait for us */
    char name[40];
    void *reports;

    (void)snprintf(name, sizeof(name), "inproc://asked-%zu", number);
    if (zmq_socket_monitor(socket, name,
                           ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                               ZMQ_EVENT_DISCONNECTED) != 0) {
        return NULL;
    }
    reports = zmq_socket(context, ZMQ_PAIR);
    if (reports != NULL && (zmq_setsockopt(reports, ZMQ_RCVHWM, &no_limit,
                                           sizeof(no_limit)) != 0 ||
                            zmq_connect(reports, name) != 0)) {
        (void)zmq_close(reports);
        reports = NULL;
    }
    return reports;
}

/* Take the reports. True: there was a connection, and it ended. */
static bool reports_take(void *reports, bool *is_greeted)
{
    uint8_t bytes[sizeof(uint16_t) + sizeof(uint32_t)];
    char where[1];
    bool is_over = false;

    while (zmq_recv(reports, bytes, sizeof(bytes), ZMQ_DONTWAIT) ==
           (int)sizeof(bytes)) {
        uint16_t event;

        memcpy(&event, bytes, sizeof(event));
        (void)zmq_recv(reports, where, sizeof(where), ZMQ_DONTWAIT);
        *is_greeted = *is_greeted || event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        is_over = is_over || (*is_greeted && event == ZMQ_EVENT_DISCONNECTED);
    }
    return is_over;
}

/* Wait until the answer can be read: 0, or -1 with errno, EAGAIN where no ckagg
 * listens or the time is over, ECONNRESET where the connection ended. */
static int answer_wait(void *socket, void *reports, int timeout_ms)
{
    zmq_pollitem_t items[] = {{.socket = socket, .events = ZMQ_POLLIN},
                              {.socket = reports, .events = ZMQ_POLLIN}};
    ck_time_t begin = ck_time_raw();
    bool is_greeted = false;

    for (;;) {
        int most_ms =
            is_greeted || timeout_ms < GREETING_MS ? timeout_ms : GREETING_MS;
        ck_time_t left = begin + most_ms * CK_TIME_MS - ck_time_raw();

        if (left <= 0) {
            errno = EAGAIN;
            return -1;
        }
        if (zmq_poll(items, 2, (long)(left / CK_TIME_MS) + 1) < 0) {
            return -1;
        }
        if (items[0].revents != 0) {
            return 0;
        }
        if (items[1].revents != 0 && reports_take(reports, &is_greeted)) {
            int ready = zmq_poll(items, 1, 0); /* it may have answered before */

            errno = ECONNRESET;
            return ready > 0 ? 0 : -1;
        }
    }
}

static int client_talk(void *socket,
                       void *reports,
                       const struct agg_question *question,
                       void **answer,
                       size_t *length)
{
    zmq_msg_t body;
    void *copy = NULL;

    if (zmq_send(socket, question->bytes, question->length, 0) < 0 ||
        answer_wait(socket, reports, question->timeout_ms) != 0) {
        return -1;
    }
    (void)zmq_msg_init(&body);
    if (zmq_msg_recv(&body, socket, 0) >= 0) {
        *length = zmq_msg_size(&body);
        copy = malloc(*length + 1);
        if (copy) {
            memcpy(copy, zmq_msg_data(&body), *length);
            *answer = copy;
        }
    }
    (void)zmq_msg_close(&body);
    return copy ? 0 : -1;
}

static int url_ask(void *context,
                   size_t number,
                   const struct agg_question *question,
                   void **answer,
                   size_t *length)
{
    const char *url = question->to->urls[number];
    void *socket = zmq_socket(context, ZMQ_DEALER);
    void *reports = socket ? reports_open(context, socket, number) : NULL;
    const struct option_int options[] = {
        {ZMQ_SNDTIMEO, question->timeout_ms},
        {ZMQ_RCVTIMEO, question->timeout_ms},
        {ZMQ_LINGER, 0},
        {ZMQ_IPV6, 1},
    };
    int result = -1;
    int saved;

    if (reports && socket_bound(socket) == 0 &&
        options_set(socket, options, sizeof(options) / sizeof(options[0])) ==
            0 &&
        (!question->to->curve[0] || !ck_endpoint_is_tcp(url) ||
         client_keys(socket, question->to) == 0) &&
        zmq_connect(socket, url) == 0) {
        result = client_talk(socket, reports, question, answer, length);
    }
    saved = errno;
    if (socket) {
        (void)zmq_socket_monitor(socket, NULL, 0);
        (void)zmq_close(socket);
    }
    if (reports) {
        (void)zmq_close(reports);
    }
    errno = saved;
    return result;
}

static const char *unanswered_text(int error)
{
    switch (error) {
    case EAGAIN:
        return "nothing answers there, or its keys are others (give the whole "
               "line that it printed)";
    case ECONNRESET:
        return "it ended, or closed the connection";
    default:
        return zmq_strerror(error);
    }
}

int agg_ask(const struct agg_question *question,
            void **answer,
            size_t *length,
            struct ck_err *err)
{
    void *context = zmq_ctx_new();
    int result = -1;
    int saved = errno;

    for (size_t i = 0; context && i < question->to->count; i++) {
        result = url_ask(context, i, question, answer, length);
        if (result == 0) {
            break;
        }
        saved = errno;
    }
    if (context) {
        (void)zmq_ctx_term(context);
    }
    if (result != 0) {
        (void)ck_err_set(err, "no answer from %s: %s", question->to->urls[0],
                         unanswered_text(saved));
    }
    return result;
}
