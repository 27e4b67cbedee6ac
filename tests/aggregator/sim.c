/* sim.c - a simulated agent and a real ckagg, for the tests of the aggregator
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/aggregator/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <assert.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "launch/child.h"
#include "schema/endpoint.h"
#include "schema/event.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "schema/time.h"
#include "tests/frames.h"

#define ARGS_MAX 32
#define FRAME_ROOM (sizeof(struct ck_frame_header) + CK_FRAME_PAYLOAD_MAX + 8)

struct sim {
    void *context;
    void *socket;
    uint8_t agent[16];
    char token[CK_ENDPOINT_TOKEN_BYTES];
    struct ck_batch_writer *writer;
    uint8_t *frame;
    struct ck_mark *marks;
    uint64_t *message; /* 8-aligned */
    size_t message_room;
    struct ck_control control;
};

/* Its first line, or nothing when the process ends before it. */
static void ready_read(struct sim_agg *agg, int fd)
{
    char line[sizeof(agg->endpoint)];
    size_t length = 0;
    struct pollfd item = {.fd = fd, .events = POLLIN};
    char *run;

    while (length < sizeof(line) - 1 && poll(&item, 1, SIM_WAIT_MS) > 0 &&
           read(fd, line + length, 1) == 1 && line[length] != '\n') {
        length++;
    }
    line[length] = '\0';
    run = strstr(line, " run=");
    if (strncmp(line, "ckagg ready ", 12) == 0 && run) {
        *run = '\0';
        strcpy(agg->endpoint, line + 12);
        (void)snprintf(agg->run, sizeof(agg->run), "%s", run + 5);
    } else if (strstr(line, "://") && strncmp(line, "ckagg", 5) != 0) {
        strcpy(agg->endpoint, line); /* not embedded: the endpoint alone */
    }
}

int sim_agg_start(struct sim_agg *agg,
                  const char *program,
                  const char *dir,
                  const char *const *args)
{
    char *argv[ARGS_MAX + 2] = {(char *)program};
    int ends[2];
    int log;
    struct ck_child child = {.path = program, .argv = argv};

    memset(agg, 0, sizeof(*agg));
    for (int i = 0; args[i]; i++) {
        assert(i < ARGS_MAX);
        argv[i + 1] = (char *)args[i];
    }
    (void)snprintf(agg->log, sizeof(agg->log), "%s/stderr", dir);
    log = open(agg->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        abort();
    }
    child.fds[0] = -1;
    child.fds[1] = ends[1];
    child.fds[2] = log;
    if (ck_child_start(&child, &agg->pid, NULL) != 0) {
        abort();
    }
    (void)close(log);
    (void)close(ends[1]);
    ready_read(agg, ends[0]);
    (void)close(ends[0]);
    return agg->endpoint[0] ? 0 : -1;
}

int sim_agg_wait(struct sim_agg *agg)
{
    int status = 0;

    if (ck_child_wait(agg->pid, SIM_WAIT_MS * CK_TIME_MS, &status) != 1) {
        (void)kill(agg->pid, SIGKILL);
        (void)waitpid(agg->pid, &status, 0);
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int sim_agg_end(struct sim_agg *agg, int signal)
{
    (void)kill(agg->pid, signal);
    return sim_agg_wait(agg);
}

static void socket_open(struct sim *sim, const struct ck_endpoint *to)
{
    char public_key[41];
    char secret_key[41];
    int linger = 1000;
    int wait = SIM_WAIT_MS;

    sim->context = zmq_ctx_new();
    sim->socket = zmq_socket(sim->context, ZMQ_DEALER);
    (void)zmq_setsockopt(sim->socket, ZMQ_LINGER, &linger, sizeof(linger));
    (void)zmq_setsockopt(sim->socket, ZMQ_SNDTIMEO, &wait, sizeof(wait));
    if (to->curve[0] && ck_endpoint_is_tcp(to->urls[0])) {
        (void)zmq_curve_keypair(public_key, secret_key);
        (void)zmq_setsockopt(sim->socket, ZMQ_CURVE_SERVERKEY, to->curve, 41);
        (void)zmq_setsockopt(sim->socket, ZMQ_CURVE_PUBLICKEY, public_key, 41);
        (void)zmq_setsockopt(sim->socket, ZMQ_CURVE_SECRETKEY, secret_key, 41);
    }
    if (zmq_connect(sim->socket, to->urls[0]) != 0) {
        abort();
    }
}

struct sim *sim_create(const char *endpoint, uint8_t id)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    struct ck_endpoint to;

    if (!sim || ck_endpoint_parse(endpoint, &to, NULL) != 0) {
        abort();
    }
    memset(sim->agent, id, sizeof(sim->agent));
    strcpy(sim->token, to.token);
    sim->writer = ck_batch_writer_create();
    sim->frame = aligned_alloc(64, (FRAME_ROOM + 63) / 64 * 64);
    sim->marks = calloc(CK_FRAME_RECORDS_MAX, sizeof(*sim->marks));
    if (!sim->writer || !sim->frame || !sim->marks) {
        abort();
    }
    socket_open(sim, &to);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    if (sim) {
        (void)zmq_close(sim->socket);
        (void)zmq_ctx_term(sim->context);
        ck_batch_writer_destroy(sim->writer);
        free(sim->frame);
        free(sim->marks);
        free(sim->message);
        free(sim);
    }
}

const uint8_t *sim_agent(const struct sim *sim)
{
    return sim->agent;
}

void sim_send(struct sim *sim, const void *bytes, size_t length)
{
    if (zmq_send(sim->socket, bytes, length, 0) < 0) {
        abort();
    }
}

static void control_send(struct sim *sim, const struct ck_control *control)
{
    const void *bytes;
    size_t length;

    if (ck_control_encode(sim->writer, control, &bytes, &length, NULL) != 0) {
        abort();
    }
    sim_send(sim, bytes, length);
}

void sim_control(struct sim *sim, enum ck_control_type type, const char *text)
{
    struct ck_control control = {.type = type,
                                 .version = CK_FRAME_VERSION,
                                 .text = text,
                                 .text_length = strlen(text)};

    memcpy(control.agent, sim->agent, sizeof(control.agent));
    control_send(sim, &control);
}

void sim_hello_version(struct sim *sim, uint32_t version)
{
    struct ck_control control = {
        .type = CK_CONTROL_HELLO, .version = version, .text = ""};

    memcpy(control.agent, sim->agent, sizeof(control.agent));
    control_send(sim, &control);
}

void sim_hello(struct sim *sim, int rank, int size, const char *more)
{
    char boot_id[64] = "";
    char text[4096];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file) {
        if (!fgets(boot_id, sizeof(boot_id), file)) {
            boot_id[0] = '\0';
        }
        (void)fclose(file);
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';
    /* The first of two equal keys counts. */
    (void)snprintf(text, sizeof(text),
                   "%srank=%d\nsize=%d\npid=%d\nhost=here\nboot_id=%s\n"
                   "command=./train\njob=train\njob_key=key-1\ntoken=%s\n",
                   more, rank, size, (int)getpid(), boot_id, sim->token);
    sim_control(sim, CK_CONTROL_HELLO, text);
}

/* A frame of these records in the sim's buffer. */
static size_t frame_make(struct sim *sim,
                         struct ck_frame_header head,
                         const void *records,
                         size_t length)
{
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW, .pid = 1, .tid = 1};
    struct ck_frame_header *header = (void *)sim->frame;
    size_t bytes;

    *header = head;
    memcpy(header->agent, sim->agent, sizeof(header->agent));
    bytes = frame_close(header, sim->writer, info, records, length);
    if (bytes == 0) {
        abort();
    }
    return bytes;
}

uint8_t *
sim_frame(struct sim *sim, uint64_t first, uint32_t units, size_t *bytes)
{
    struct ck_frame_header head = {.stream = {1, 0}, .first = first};

    assert(units <= CK_FRAME_RECORDS_MAX);
    for (uint32_t i = 0; i < units; i++) {
        sim->marks[i] = (struct ck_mark){
            .e = {.kind = CK_KIND_MARK,
                  .units = 1,
                  .start = 1000 * (int64_t)(first + i)},
            .value = (int64_t)(first + i),
        };
    }
    *bytes = frame_make(sim, head, sim->marks, units * sizeof(*sim->marks));
    return sim->frame;
}

void sim_put_identity(struct sim *sim, const char *lines)
{
    struct ck_frame_header head = {.stream = {0, CK_SLOT_COLLECTOR}};
    size_t bytes = text_put(sim->marks, CK_KIND_IDENTITY, 0, lines);

    sim_send(sim, sim->frame, frame_make(sim, head, sim->marks, bytes));
}

void sim_put(struct sim *sim, uint64_t first, uint32_t units)
{
    size_t bytes;
    const uint8_t *frame = sim_frame(sim, first, units, &bytes);

    sim_send(sim, frame, bytes);
}

/* Take the next message; false when none comes before the time. */
static bool message_take(struct sim *sim, ck_time_t until)
{
    zmq_pollitem_t item = {sim->socket, 0, ZMQ_POLLIN, 0};
    ck_time_t left = until - ck_time_raw();
    zmq_msg_t message;
    size_t length;

    if (left <= 0 || zmq_poll(&item, 1, (long)(left / CK_TIME_MS) + 1) <= 0) {
        return false;
    }
    (void)zmq_msg_init(&message);
    if (zmq_msg_recv(&message, sim->socket, 0) < 0) {
        abort();
    }
    length = zmq_msg_size(&message);
    if (length > sim->message_room || !sim->message) {
        free(sim->message);
        sim->message_room = length;
        sim->message = malloc(length + 8);
    }
    memcpy(sim->message, zmq_msg_data(&message), length);
    (void)zmq_msg_close(&message);
    return ck_control_decode(sim->message, length, &sim->control, NULL) == 0;
}

const struct ck_control *sim_wait(struct sim *sim, enum ck_control_type type)
{
    ck_time_t until = ck_time_raw() + SIM_WAIT_MS * CK_TIME_MS;

    while (message_take(sim, until)) {
        if (sim->control.type == type) {
            return &sim->control;
        }
    }
    return NULL;
}

uint64_t sim_position(const struct ck_control *control)
{
    for (size_t i = 0; control && i < control->acks_count; i++) {
        if (control->acks[i].stream.incarnation == 1 &&
            control->acks[i].stream.slot == 0) {
            return control->acks[i].next;
        }
    }
    return 0;
}

bool sim_wait_ack(struct sim *sim, uint64_t next)
{
    const struct ck_control *control;

    do {
        control = sim_wait(sim, CK_CONTROL_ACK);
    } while (control && sim_position(control) < next);
    return control && sim_position(control) == next;
}

const char *sim_read(const char *dir, const char *name, char text[SIM_TEXT])
{
    char path[PATH_MAX];
    size_t n = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "re");
    if (file) {
        n = fread(text, 1, SIM_TEXT - 1, file);
        (void)fclose(file);
    }
    text[n] = '\0';
    return text;
}

bool sim_wait_text(const char *dir, const char *name, const char *what)
{
    static char text[SIM_TEXT];
    ck_time_t until = ck_time_raw() + SIM_WAIT_MS * CK_TIME_MS;

    while (!strstr(sim_read(dir, name, text), what)) {
        if (ck_time_raw() > until) {
            return false;
        }
        (void)poll(NULL, 0, 20);
    }
    return true;
}

const char *
sim_stored(const char *dir, const uint8_t agent[16], char text[SIM_TEXT])
{
    char path[PATH_MAX];
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    size_t used = 0;

    text[0] = '\0';
    if (ck_run_segment_path(path, dir, agent, false) != 0 ||
        !(reader = ck_segment_reader_create(path, NULL))) {
        return text;
    }
    while (ck_segment_next(reader, &header, &payload) > 0) {
        used += (size_t)snprintf(
            text + used, SIM_TEXT - used, "%s%llu+%u", used ? " " : "",
            (unsigned long long)header.first, header.units);
    }
    ck_segment_reader_destroy(reader);
    return text;
}

int sim_setup(void **state)
{
    struct sim_place *place = calloc(1, sizeof(*place));

    strcpy(place->dir, "/tmp/ckagg-test-XXXXXX");
    if (!mkdtemp(place->dir)) {
        return -1;
    }
    (void)snprintf(place->run, sizeof(place->run), "%s/run", place->dir);
    (void)snprintf(place->url, sizeof(place->url), "ipc://%s/s", place->dir);
    *state = place;
    return 0;
}

int sim_teardown(void **state)
{
    struct sim_place *place = *state;
    char *argv[] = {"rm", "-rf", place->dir, NULL};
    struct ck_child child = {.path = "rm", .argv = argv, .fds = {-1, -1, -2}};
    pid_t pid;
    int status;

    if (ck_child_start(&child, &pid, NULL) == 0) {
        (void)waitpid(pid, &status, 0);
    }
    free(place);
    return 0;
}

void sim_embedded(struct sim_place *place)
{
    const char *const args[] = {"--embedded",     "--dir",    place->run,
                                "--listen",       place->url, "--no-merge",
                                "--beat-timeout", "500ms",    NULL};

    assert_int_equal(sim_agg_start(&place->agg, SIM_CKAGG, place->dir, args),
                     0);
}

int sim_setup_embedded(void **state)
{
    if (sim_setup(state) != 0) {
        return -1;
    }
    sim_embedded(*state);
    return 0;
}

void sim_welcome(struct sim *sim, int rank, int size)
{
    sim_hello(sim, rank, size, "");
    assert_non_null(sim_wait(sim, CK_CONTROL_WELCOME));
}

struct sim *sim_join(const struct sim_agg *agg, uint8_t id, int rank, int size)
{
    struct sim *sim = sim_create(agg->endpoint, id);

    sim_welcome(sim, rank, size);
    return sim;
}

const char *sim_text(struct sim *sim, enum ck_control_type type)
{
    const struct ck_control *control = sim_wait(sim, type);

    assert_non_null(control);
    return control->text;
}

uint64_t sim_return(struct sim *sim)
{
    sim_hello(sim, 0, 1, "");
    return sim_position(sim_wait(sim, CK_CONTROL_WELCOME));
}

void sim_leave(struct sim *sim)
{
    sim_control(sim, CK_CONTROL_GOODBYE, "status=0\nevents=7\nlost=0\n");
    assert_non_null(sim_wait(sim, CK_CONTROL_FAREWELL));
    sim_destroy(sim);
}

void sim_leave_last(struct sim *sim, struct sim_agg *agg)
{
    sim_leave(sim);
    assert_int_equal(sim_agg_wait(agg), 0);
}
