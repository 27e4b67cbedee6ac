/* stranger.c - a peer that should not be let in, or should behave
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     stranger MODE SECONDS ENDPOINT [SEGMENT]
 *
 * MODE: bytes     random bytes on the port, connection after connection
 *       nokey     HELLO over a socket without keys
 *       wrongkey  HELLO to another server key than the real one
 *       wrongtoken  the right key, HELLO with another token, then frames
 *       nohello   the right key, frames of SEGMENT without HELLO
 *       replay    a HELLO of its own, then frames of SEGMENT: another agent's
 *       flood     ever new agents and jobs, large messages of rubbish
 *       probes    a HELLO with a key, then clock probes: 5 malformed, 4 of
 *                 another session, 3 with a wrong tag, a good one, 2 of that
 *                 again; and no more
 * Prints what it sent, how often it was welcome and how often refused.
 * ENDPOINT is the whole text with curve= and token=.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#include "schema/auth.h"
#include "schema/batch/wire.h"
#include "schema/clock/probe.h"
#include "schema/endpoint.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "schema/time.h"

#define RUBBISH_BYTES ((size_t)4 << 20)

struct stranger {
    const char *mode;
    ck_time_t until;
    struct ck_endpoint endpoint;
    const char *segment;
    void *context;
    struct ck_batch_writer *writer;
    uint8_t agent[16];
    uint8_t *rubbish;
    uint8_t clock_key[CK_AUTH_KEY_BYTES];
    unsigned long long sent;
    unsigned long long welcome;
    unsigned long long refused;
};

static bool is_mode(const struct stranger *me, const char *mode)
{
    return strcmp(me->mode, mode) == 0;
}

/* A TCP connection to the endpoint's first URL, or -1. */
static int tcp_open(const struct stranger *me)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strrchr(me->endpoint.urls[0], ':');
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)atoi(colon + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Rubbish; every second time behind a greeting as of ZeroMQ. */
static void bytes_send(struct stranger *me)
{
    static const uint8_t greeting[64] = {
        0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'};
    int fd = tcp_open(me);

    if (fd < 0) {
        return;
    }
    if (me->sent % 2 == 1) {
        (void)send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL);
    }
    for (int i = 0; i < 16; i++) {
        (void)getrandom(me->rubbish, 65536, 0);
        if (send(fd, me->rubbish, 65536, MSG_NOSIGNAL) < 0) {
            break;
        }
        me->sent++;
    }
    (void)close(fd);
    me->sent++;
}

static void option(void *socket, int name, int value)
{
    (void)zmq_setsockopt(socket, name, &value, sizeof(value));
}

static void *socket_open(struct stranger *me)
{
    void *socket = zmq_socket(me->context, ZMQ_DEALER);
    char public_key[41], secret_key[41], server[41];

    option(socket, ZMQ_LINGER, 0);
    option(socket, ZMQ_SNDTIMEO, 50);
    option(socket, ZMQ_RCVTIMEO, 0);
    if (!is_mode(me, "nokey") && me->endpoint.curve[0] != '\0') {
        (void)zmq_curve_keypair(server, secret_key);
        if (!is_mode(me, "wrongkey")) {
            (void)snprintf(server, sizeof(server), "%s", me->endpoint.curve);
        }
        (void)zmq_curve_keypair(public_key, secret_key);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, 41);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, 41);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, 41);
    }
    if (zmq_connect(socket, me->endpoint.urls[0]) != 0) {
        (void)fprintf(stderr, "stranger: %s: %s\n", me->endpoint.urls[0],
                      zmq_strerror(zmq_errno()));
        exit(1);
    }
    return socket;
}

static void put(struct stranger *me, void *socket, const void *b, size_t length)
{
    if (zmq_send(socket, b, length, 0) >= 0) {
        me->sent++;
    }
}

static void hello_say(struct stranger *me, void *socket)
{
    struct ck_control control = {.type = CK_CONTROL_HELLO,
                                 .version = CK_FRAME_VERSION};
    char text[1024];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    const void *bytes;
    size_t length;
    char key[64];

    if (is_mode(me, "flood")) {
        (void)getrandom(me->agent, sizeof(me->agent), 0);
    }
    (void)snprintf(key, sizeof(key), "stranger-%llu",
                   is_mode(me, "flood") ? me->sent : 0);
    ck_lines_put(&lines, "job_key", key);
    ck_lines_put(&lines, "job", "../../stranger");
    ck_lines_put(&lines, "rank", "0");
    ck_lines_put(&lines, "size", "2000000000");
    ck_lines_put(&lines, "host", "\x1b[31mevil");
    ck_lines_put(&lines, "token",
                 is_mode(me, "wrongtoken") ? "00112233" : me->endpoint.token);
    if (is_mode(me, "probes")) {
        char hex[CK_AUTH_KEY_HEX];

        (void)ck_auth_key(me->clock_key);
        ck_auth_key_hex(me->clock_key, hex);
        ck_lines_put(&lines, "clock_key", hex);
    }
    control.text = text;
    control.text_length = lines.used;
    memcpy(control.agent, me->agent, sizeof(control.agent));
    if (ck_control_encode(me->writer, &control, &bytes, &length, NULL) == 0) {
        put(me, socket, bytes, length);
    }
}

static int probe_socket(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        perror("stranger: probes");
        exit(1);
    }
    return fd;
}

/* Of each kind a few, and an answer to the only good one. */
static void probes_send(struct stranger *me, const struct ck_control *welcome)
{
    struct timeval patience = {.tv_sec = 5};
    struct ck_probe ask = {.type = CK_PROBE_ASK, .number = 1};
    uint8_t wrong_key[CK_AUTH_KEY_BYTES] = {1};
    uint8_t bytes[CK_PROBE_BYTES];
    char port[16] = "", session[24] = "";
    int fd;

    (void)ck_lines_get(welcome->text, welcome->text_length, "clock_port", port,
                       sizeof(port));
    (void)ck_lines_get(welcome->text, welcome->text_length, "clock_session",
                       session, sizeof(session));
    fd = probe_socket(atoi(port));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ask.session = strtoull(session, NULL, 16);
    for (size_t i = 0; i < 5; i++) {
        (void)getrandom(bytes, sizeof(bytes), 0);
        me->sent += send(fd, bytes, 10 * (i + 1), 0) > 0;
    }
    for (int i = 0; i < 4; i++) {
        ask.session++;
        ck_probe_encode(&ask, me->clock_key, bytes);
        me->sent += send(fd, bytes, sizeof(bytes), 0) > 0;
    }
    ask.session -= 4;
    ck_probe_encode(&ask, wrong_key, bytes);
    for (int i = 0; i < 3; i++) {
        me->sent += send(fd, bytes, sizeof(bytes), 0) > 0;
    }
    ck_probe_encode(&ask, me->clock_key, bytes);
    for (int i = 0; i < 3; i++) {
        me->sent += send(fd, bytes, sizeof(bytes), 0) > 0;
    }
    if (recv(fd, bytes, sizeof(bytes), 0) == CK_PROBE_BYTES) {
        (void)puts("the good probe was answered");
    }
    (void)close(fd);
    me->until = 0;
}

static void answers_take(struct stranger *me, void *socket)
{
    static uint64_t room[8192];
    struct ck_control control;
    int n;

    while ((n = zmq_recv(socket, room, sizeof(room), 0)) >= 0) {
        if (ck_control_decode(room, (size_t)n, &control, NULL) == 0) {
            me->welcome += control.type == CK_CONTROL_WELCOME;
            me->refused += control.type == CK_CONTROL_REFUSED;
            if (control.type == CK_CONTROL_WELCOME && is_mode(me, "probes") &&
                me->until != 0) {
                probes_send(me, &control);
            }
        }
    }
}

/* All frames of the segment, as they are. */
static void frames_send(struct stranger *me, void *socket)
{
    struct ck_segment_reader *reader =
        ck_segment_reader_create(me->segment, NULL);
    struct ck_frame_header header;
    const void *payload;

    while (reader != NULL && ck_time_raw() < me->until &&
           ck_segment_next(reader, &header, &payload) == 1) {
        put(me, socket, (const uint8_t *)payload - sizeof(header),
            ck_frame_bytes(&header));
        answers_take(me, socket);
    }
    ck_segment_reader_destroy(reader);
}

static void connection_use(struct stranger *me)
{
    void *socket = socket_open(me);
    struct timespec pause = {.tv_nsec = 20 * CK_TIME_MS};

    if (!is_mode(me, "nohello")) {
        hello_say(me, socket);
        (void)nanosleep(&pause, NULL);
        answers_take(me, socket);
    }
    if (me->segment != NULL) {
        frames_send(me, socket);
    }
    if (is_mode(me, "flood")) {
        (void)getrandom(me->rubbish, 4096, 0);
        put(me, socket, me->rubbish, RUBBISH_BYTES);
    }
    (void)nanosleep(&pause, NULL);
    answers_take(me, socket);
    (void)zmq_close(socket);
}

int main(int argc, char **argv)
{
    struct stranger me = {.mode = argc > 1 ? argv[1] : ""};
    struct ck_err err;

    if (argc < 4 || ck_endpoint_parse(argv[3], &me.endpoint, &err) != 0) {
        (void)fprintf(stderr, "stranger: MODE SECONDS ENDPOINT [SEGMENT]\n");
        return 2;
    }
    me.until = ck_time_raw() + (ck_time_t)(atof(argv[2]) * 1e9);
    me.segment = argc > 4 ? argv[4] : NULL;
    me.context = zmq_ctx_new();
    me.writer = ck_batch_writer_create();
    me.rubbish = calloc(1, RUBBISH_BYTES);
    (void)getrandom(me.agent, sizeof(me.agent), 0);
    while (ck_time_raw() < me.until) {
        if (is_mode(&me, "bytes")) {
            bytes_send(&me);
        } else {
            connection_use(&me);
        }
    }
    (void)printf("%-10s sent %llu, welcome %llu, refused %llu\n", me.mode,
                 me.sent, me.welcome, me.refused);
    zmq_ctx_term(me.context);
    ck_batch_writer_destroy(me.writer);
    free(me.rubbish);
    return 0;
}
