/* ship.c - the socket to an aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/link/ship.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "agent/link/mechanism.h"

/* Frames of 256 KiB under way at once. */
#define SEND_MARK 16
#define RECEIVE_MARK 1000
/* What is no ZeroMQ is not asked again and again: each time the loop waits. */
#define ASKED_MOST 3
#define RECONNECT_MS 50
#define RECONNECT_MAX_MS 1000
/* A peer that does not answer pings is gone: the connection is made anew. */
#define HEARTBEAT_MS 2000
#define HEARTBEAT_TIMEOUT_MS 15000
/* Where ZeroMQ reports why no connection came about. */
#define WATCH_URL "inproc://watch"
/* Heap that is kept for frames under way. */
#define HEAP_KEPT (SEND_MARK * 256 * 1024)

struct ship {
    void *context;
    void *socket;
    void *watch; /* NULL: an answer came, or what it is for was seen */
    struct ck_batch_writer *writer;
    uint8_t agent[16];
    char url[CK_ENDPOINT_URL_BYTES];
    bool has_keys;
    unsigned asked; /* mechanism_ask() without an answer */
    int fd;
    void *buffer; /* of the message received last, 8-aligned */
    size_t buffer_room;
};

static int option_set(struct ship *ship, int option, int value)
{
    return zmq_setsockopt(ship->socket, option, &value, sizeof(value));
}

static int options_set(struct ship *ship)
{
    static const struct {
        int option;
        int value;
    } options[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_IMMEDIATE, 1},
        {ZMQ_SNDHWM, SEND_MARK},
        {ZMQ_RCVHWM, RECEIVE_MARK},
        {ZMQ_SNDTIMEO, 0},
        {ZMQ_RCVTIMEO, 0},
        {ZMQ_RECONNECT_IVL, RECONNECT_MS},
        {ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
        {ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS},
        {ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
        {ZMQ_IPV6, 1},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (option_set(ship, options[i].option, options[i].value) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A key pair for this connection; the server's key is in the endpoint. */
static int curve_set(struct ship *ship, const char *server)
{
    char public_key[41];
    char secret_key[41];

    if (zmq_curve_keypair(public_key, secret_key) != 0 ||
        zmq_setsockopt(ship->socket, ZMQ_CURVE_SERVERKEY, server, 41) != 0 ||
        zmq_setsockopt(ship->socket, ZMQ_CURVE_PUBLICKEY, public_key, 41) !=
            0 ||
        zmq_setsockopt(ship->socket, ZMQ_CURVE_SECRETKEY, secret_key, 41) !=
            0) {
        return -1;
    }
    return 0;
}

static void watch_close(struct ship *ship)
{
    if (ship->watch != NULL) {
        /* It has no reader left: ZeroMQ's thread would wait for room. */
        (void)zmq_socket_monitor(ship->socket, NULL, 0);
        (void)zmq_close(ship->watch);
        ship->watch = NULL;
    }
}

/* Without it only the reason is missing. */
static void watch_open(struct ship *ship)
{
    int no_limit = 0; /* ZeroMQ's thread must never wait for us */

    if (zmq_socket_monitor(ship->socket, WATCH_URL,
                           ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                               ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) != 0) {
        return;
    }
    ship->watch = zmq_socket(ship->context, ZMQ_PAIR);
    if (ship->watch == NULL) {
        (void)zmq_socket_monitor(ship->socket, NULL, 0);
    } else if (zmq_setsockopt(ship->watch, ZMQ_RCVHWM, &no_limit,
                              sizeof(no_limit)) != 0 ||
               zmq_connect(ship->watch, WATCH_URL) != 0) {
        watch_close(ship);
    }
}

static int
ship_connect(struct ship *ship, const struct ck_endpoint *endpoint, size_t url)
{
    size_t length = sizeof(ship->fd);
    bool is_tcp = ck_endpoint_is_tcp(endpoint->urls[url]);

    (void)snprintf(ship->url, sizeof(ship->url), "%s", endpoint->urls[url]);
    /* Only tcp is encrypted: the service's ipc sockets do not use CURVE. */
    ship->has_keys = endpoint->curve[0] != '\0' && is_tcp;
    ship->context = zmq_ctx_new();
    if (ship->context == NULL) {
        return -1;
    }
    ship->socket = zmq_socket(ship->context, ZMQ_DEALER);
    if (ship->socket == NULL || options_set(ship) != 0) {
        return -1;
    }
    if (ship->has_keys && curve_set(ship, endpoint->curve) != 0) {
        return -1;
    }
    if (is_tcp) {
        watch_open(ship);
    }
    if (zmq_connect(ship->socket, endpoint->urls[url]) != 0) {
        return -1;
    }
    return zmq_getsockopt(ship->socket, ZMQ_FD, &ship->fd, &length);
}

/* ZeroMQ copies each frame to the heap and frees it as soon as the kernel has
 * it: what glibc gave back each time would be faulted in again, a page at a
 * time, for the next. */
static void heap_keep(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_KEPT);
    (void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
}

struct ship *ship_create(const struct ck_endpoint *endpoint,
                         size_t url,
                         const uint8_t agent[16],
                         struct ck_err *err)
{
    struct ship *ship = calloc(1, sizeof(*ship));

    if (ship == NULL) {
        return ck_err_null(err, "out of memory");
    }
    heap_keep();
    memcpy(ship->agent, agent, sizeof(ship->agent));
    ship->writer = ck_batch_writer_create();
    if (ship->writer == NULL || ship_connect(ship, endpoint, url) != 0) {
        (void)ck_err_set(err, "cannot connect to %s: %s", endpoint->urls[url],
                         zmq_strerror(zmq_errno()));
        ship_destroy(ship);
        return NULL;
    }
    return ship;
}

void ship_destroy(struct ship *ship)
{
    int saved = errno;

    if (ship != NULL) {
        if (ship->socket != NULL) {
            watch_close(ship);
            (void)zmq_close(ship->socket);
        }
        if (ship->context != NULL) {
            (void)zmq_ctx_term(ship->context);
        }
        ck_batch_writer_destroy(ship->writer);
        free(ship->buffer);
        free(ship);
    }
    errno = saved;
}

int ship_frame(struct ship *ship, const void *frame, size_t bytes)
{
    if (zmq_send(ship->socket, frame, bytes, ZMQ_DONTWAIT) < 0) {
        errno = EAGAIN;
        return -1;
    }
    return 0;
}

int ship_control(struct ship *ship, enum ck_control_type type, const char *text)
{
    struct ck_control control = {
        .type = type,
        .version = CK_FRAME_VERSION,
        .text = text,
        .text_length = strlen(text),
    };
    const void *bytes;
    size_t length;

    memcpy(control.agent, ship->agent, sizeof(control.agent));
    if (ck_control_encode(ship->writer, &control, &bytes, &length, NULL) != 0) {
        return -1;
    }
    return ship_frame(ship, bytes, length);
}

/* Copy into aligned memory: ZeroMQ aligns nothing. */
static int message_keep(struct ship *ship, zmq_msg_t *message)
{
    size_t bytes = zmq_msg_size(message);

    if (bytes > ship->buffer_room) {
        void *grown = realloc(ship->buffer, bytes);

        if (grown == NULL) {
            return -1;
        }
        ship->buffer = grown;
        ship->buffer_room = bytes;
    }
    if (bytes > 0) {
        memcpy(ship->buffer, zmq_msg_data(message), bytes);
    }
    return 0;
}

int ship_receive(struct ship *ship, struct ck_control *control)
{
    for (;;) {
        zmq_msg_t message;
        size_t bytes;
        int rc;

        (void)zmq_msg_init(&message);
        if (zmq_msg_recv(&message, ship->socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&message);
            return 0;
        }
        bytes = zmq_msg_size(&message);
        rc = message_keep(ship, &message);
        (void)zmq_msg_close(&message);
        if (rc == 0 && ck_control_is(ship->buffer, bytes) &&
            ck_control_decode(ship->buffer, bytes, control, NULL) == 0) {
            watch_close(ship);
            return 1;
        }
    }
}

/* True when there was a report of a handshake that failed. */
static bool watch_take(struct ship *ship)
{
    uint8_t event[sizeof(uint16_t) + sizeof(uint32_t)];
    char where[1];
    bool had_report = false;

    while (ship->watch != NULL &&
           zmq_recv(ship->watch, event, sizeof(event), ZMQ_DONTWAIT) ==
               (int)sizeof(event)) {
        (void)zmq_recv(ship->watch, where, sizeof(where), ZMQ_DONTWAIT);
        had_report = true;
    }
    return had_report;
}

bool ship_is_mismatched(struct ship *ship)
{
    enum mechanism_match match;

    if (!watch_take(ship)) {
        return false;
    }
    match = mechanism_ask(ship->url, ship->has_keys);
    if (match != MECHANISM_UNKNOWN || ++ship->asked == ASKED_MOST) {
        watch_close(ship);
    }
    return match == MECHANISM_OTHER;
}

int ship_fd(const struct ship *ship)
{
    return ship->fd;
}
