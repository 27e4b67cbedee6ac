/* watch.c - what ZeroMQ reports about the connections of a socket
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/socket/watch.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#define WATCH_URL "inproc://watch"
#define WATCH_EVENTS                                                           \
    (ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED |                             \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)

struct watch {
    void *watched;          /* borrowed */
    struct admission *gate; /* borrowed */
    void *reports;
    bool has_mismatch; /* was reported */
};

struct watch *watch_create(void *context, void *socket, struct admission *gate)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    int no_limit = 0; /* ZeroMQ's thread must never wait for us */

    if (!watch || zmq_socket_monitor(socket, WATCH_URL, WATCH_EVENTS) != 0) {
        free(watch);
        return NULL;
    }
    watch->watched = socket;
    watch->gate = gate;
    watch->reports = zmq_socket(context, ZMQ_PAIR);
    if (!watch->reports ||
        zmq_setsockopt(watch->reports, ZMQ_RCVHWM, &no_limit,
                       sizeof(no_limit)) != 0 ||
        zmq_connect(watch->reports, WATCH_URL) != 0) {
        watch_destroy(watch);
        return NULL;
    }
    return watch;
}

void watch_destroy(struct watch *watch)
{
    int saved = errno;

    if (watch) {
        (void)zmq_socket_monitor(watch->watched, NULL, 0);
        if (watch->reports) {
            (void)zmq_close(watch->reports);
        }
        free(watch);
    }
    errno = saved;
}

void *watch_socket(const struct watch *watch)
{
    return watch->reports;
}

/* What else fails a handshake is no ZeroMQ at all. */
static bool is_mismatch(uint32_t value)
{
    return value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ||
           value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC;
}

bool watch_take(struct watch *watch, ck_time_t now)
{
    uint8_t bytes[sizeof(uint16_t) + sizeof(uint32_t)];
    char where[1];
    bool had_mismatch = watch->has_mismatch;

    while (zmq_recv(watch->reports, bytes, sizeof(bytes), ZMQ_DONTWAIT) ==
           (int)sizeof(bytes)) {
        uint16_t event;
        uint32_t value; /* a descriptor, or what failed */

        memcpy(&event, bytes, sizeof(event));
        memcpy(&value, bytes + sizeof(event), sizeof(value));
        (void)zmq_recv(watch->reports, where, sizeof(where), ZMQ_DONTWAIT);
        if (event == ZMQ_EVENT_ACCEPTED) {
            admission_open(watch->gate, (int)value, now);
        } else if (event == ZMQ_EVENT_DISCONNECTED) {
            admission_close(watch->gate, (int)value);
        } else if (is_mismatch(value)) {
            watch->has_mismatch = true;
        }
    }
    return watch->has_mismatch && !had_mismatch;
}
