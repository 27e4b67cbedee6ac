/* ship.c - frames through ckagg against a bare DEALER and ROUTER
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ship [--frames N] [--rounds N]       a bare pair and a ckagg of its own, in
 *                                      turn, over ipc; prints the ratio
 * ship --to ENDPOINT [--agents N] [--frames N]   load for a ckagg that runs
 *
 * A frame is 256 KiB. ckagg: the clock runs from the first frame until all
 * are acknowledged, that is sent, verified and appended to the segment. Bare:
 * until the other process has received and dropped all. The run is below
 * TMPDIR: on a disk the kernel may hold the writer back; a tmpfs shows what
 * the program itself can do.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "launch/child.h"
#include "launch/cli.h"
#include "schema/batch/wire.h"
#include "schema/endpoint.h"
#include "schema/frame.h"
#include "schema/store/run.h"
#include "schema/time.h"

#define FRAME_BYTES ((size_t)256 * 1024)
#define FRAME_UNITS 8192
/* What an agent's outbox holds. */
#define WINDOW_FRAMES 32
#define AGENTS_MAX 256
#define ROUNDS_MAX 99

static struct {
    int64_t frames;
    int64_t rounds;
    int64_t agents;
    const char *to;
} options = {.frames = 1000, .rounds = 5, .agents = 1};

struct sender {
    void *socket;
    uint8_t agent[16];
    uint64_t *frame; /* FRAME_BYTES */
    uint64_t sent;   /* frames */
    uint64_t acked;
};

static struct ck_batch_writer *writer;

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "ship: %s: %s\n", what, zmq_strerror(errno));
    exit(1);
}

static void *dealer(void *context, const struct ck_endpoint *to)
{
    void *socket = zmq_socket(context, ZMQ_DEALER);
    int mark = WINDOW_FRAMES;
    int linger = 1000;
    char public_key[41];
    char secret_key[41];

    if (!socket ||
        zmq_setsockopt(socket, ZMQ_SNDHWM, &mark, sizeof(mark)) != 0 ||
        zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger)) != 0) {
        die("socket");
    }
    if (to->curve[0] &&
        (zmq_curve_keypair(public_key, secret_key) != 0 ||
         zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, to->curve, 41) != 0 ||
         zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public_key, 41) != 0 ||
         zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret_key, 41) != 0)) {
        die("keys");
    }
    if (zmq_connect(socket, to->urls[0]) != 0) {
        die(to->urls[0]);
    }
    return socket;
}

static void control_send(struct sender *sender, int type, const char *text)
{
    struct ck_control control = {.type = type,
                                 .version = CK_FRAME_VERSION,
                                 .text = text,
                                 .text_length = strlen(text)};
    const void *bytes;
    size_t length;

    memcpy(control.agent, sender->agent, sizeof(control.agent));
    if (ck_control_encode(writer, &control, &bytes, &length, NULL) != 0 ||
        zmq_send(sender->socket, bytes, length, 0) < 0) {
        die("send");
    }
}

/* Take what has come; true when it was of this type. */
static bool control_take(struct sender *sender, int type, int flags)
{
    static uint64_t buffer[8192];
    struct ck_control control;
    int length = zmq_recv(sender->socket, buffer, sizeof(buffer), flags);

    if (length < 0 && errno == EAGAIN) {
        return false;
    }
    if (length < 0 || (size_t)length > sizeof(buffer) ||
        ck_control_decode(buffer, (size_t)length, &control, NULL) != 0) {
        die("receive");
    }
    if (control.type == CK_CONTROL_REFUSED) {
        (void)fprintf(stderr, "ship: refused: %s\n", control.text);
        exit(1);
    }
    for (size_t i = 0; i < control.acks_count; i++) {
        sender->acked = control.acks[i].next / FRAME_UNITS;
    }
    return (int)control.type == type;
}

static void
sender_open(struct sender *sender, void *context, const struct ck_endpoint *to)
{
    char text[256];
    struct ck_frame_header *header;

    memset(sender, 0, sizeof(*sender));
    for (size_t i = 0; i < sizeof(sender->agent); i++) {
        sender->agent[i] = (uint8_t)(rand() & 0xff);
    }
    sender->frame = calloc(1, FRAME_BYTES);
    sender->socket = dealer(context, to);
    if (!sender->frame) {
        die("memory");
    }
    for (size_t i = 0; i < FRAME_BYTES / 8; i++) {
        sender->frame[i] = (uint64_t)rand() * 2654435761u;
    }
    header = (void *)sender->frame;
    memset(header, 0, sizeof(*header));
    memcpy(header->agent, sender->agent, sizeof(header->agent));
    header->units = FRAME_UNITS;
    header->records = FRAME_UNITS;
    header->length = header->raw =
        (uint32_t)(FRAME_BYTES - sizeof(struct ck_frame_header));
    (void)snprintf(text, sizeof(text),
                   "job=bench\njob_key=bench-%d\nrank=0\nsize=%d\ntoken=%s\n",
                   (int)getpid(), (int)options.agents, to->token);
    control_send(sender, CK_CONTROL_HELLO, text);
    while (!control_take(sender, CK_CONTROL_WELCOME, 0)) {
    }
}

static void sender_close(struct sender *sender)
{
    control_send(sender, CK_CONTROL_GOODBYE, "status=0\n");
    while (!control_take(sender, CK_CONTROL_FAREWELL, 0)) {
    }
    (void)zmq_close(sender->socket);
    free(sender->frame);
}

/* Send the next frame when the window allows it. */
static bool sender_step(struct sender *sender)
{
    struct ck_frame_header *header = (void *)sender->frame;

    while (control_take(sender, CK_CONTROL_ACK, ZMQ_DONTWAIT)) {
    }
    if (sender->sent == (uint64_t)options.frames ||
        sender->sent - sender->acked >= WINDOW_FRAMES) {
        return false;
    }
    header->first = sender->sent * FRAME_UNITS;
    ck_frame_seal(header, header + 1);
    if (zmq_send(sender->socket, sender->frame, FRAME_BYTES, 0) < 0) {
        die("send");
    }
    sender->sent++;
    return true;
}

/* All frames of all agents, acknowledged; seconds. */
static double load(const struct ck_endpoint *to)
{
    static struct sender senders[AGENTS_MAX];
    static zmq_pollitem_t items[AGENTS_MAX];
    void *context = zmq_ctx_new();
    int n = (int)options.agents;
    int done = 0;
    ck_time_t start;
    ck_time_t end;

    for (int i = 0; i < n; i++) {
        sender_open(&senders[i], context, to);
        items[i] = (zmq_pollitem_t){senders[i].socket, 0, ZMQ_POLLIN, 0};
    }
    start = ck_time_raw();
    while (done < n) {
        bool is_idle = true;

        done = 0;
        for (int i = 0; i < n; i++) {
            is_idle &= !sender_step(&senders[i]);
            done += senders[i].acked == (uint64_t)options.frames;
        }
        if (is_idle && done < n) {
            (void)zmq_poll(items, n, 1000);
        }
    }
    end = ck_time_raw();
    for (int i = 0; i < n; i++) {
        sender_close(&senders[i]);
    }
    (void)zmq_ctx_term(context);
    return (double)(end - start) / (double)CK_TIME_S;
}

/* The other end of the bare pair: receive, drop, report when all is here. */
static void router(const char *url)
{
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_ROUTER);
    int mark = 64;
    int linger = 1000;
    char id[256];
    int id_length = 0;

    (void)zmq_setsockopt(socket, ZMQ_RCVHWM, &mark, sizeof(mark));
    (void)zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof(linger));
    if (zmq_bind(socket, url) != 0) {
        die(url);
    }
    for (int64_t i = 0; i < options.frames + 1; i++) {
        zmq_msg_t message;

        id_length = zmq_recv(socket, id, sizeof(id), 0);
        (void)zmq_msg_init(&message);
        if (id_length < 0 || zmq_msg_recv(&message, socket, 0) < 0) {
            die("receive");
        }
        (void)zmq_msg_close(&message);
        if (i == 0 || i == options.frames) { /* hello, and the end */
            (void)zmq_send(socket, id, (size_t)id_length, ZMQ_SNDMORE);
            (void)zmq_send(socket, "", 0, 0);
        }
    }
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
}

static double bare(const char dir[128])
{
    struct ck_endpoint to = {.count = 1};
    void *context;
    void *socket;
    uint8_t *frame = calloc(1, FRAME_BYTES);
    ck_time_t start;
    ck_time_t end;
    pid_t pid;
    char byte;

    (void)snprintf(to.urls[0], sizeof(to.urls[0]), "ipc://%s/bare", dir);
    pid = fork();
    if (pid == 0) {
        router(to.urls[0]);
        _exit(0);
    }
    context = zmq_ctx_new();
    socket = dealer(context, &to);
    if (!frame || zmq_send(socket, "", 0, 0) < 0 ||
        zmq_recv(socket, &byte, 1, 0) < 0) {
        die("bare pair");
    }
    start = ck_time_raw();
    for (int64_t i = 0; i < options.frames; i++) {
        memcpy(frame, &i, sizeof(i));
        if (zmq_send(socket, frame, FRAME_BYTES, 0) < 0) {
            die("send");
        }
    }
    if (zmq_recv(socket, &byte, 1, 0) < 0) {
        die("receive");
    }
    end = ck_time_raw();
    (void)zmq_close(socket);
    (void)zmq_ctx_term(context);
    (void)waitpid(pid, NULL, 0);
    free(frame);
    return (double)(end - start) / (double)CK_TIME_S;
}

/* A ckagg of our own for one round. */
static double served(const char dir[128])
{
    char path[PATH_MAX];
    char run[PATH_MAX];
    char url[PATH_MAX];
    char *argv[] = {(char *)"ckagg",
                    (char *)"--embedded",
                    (char *)"--dir",
                    run,
                    (char *)"--no-merge",
                    (char *)"--listen",
                    url,
                    NULL};
    struct ck_child child = {.path = path, .argv = argv, .fds = {-1, 1, -2}};
    struct ck_endpoint to;
    struct ck_err err;
    struct ck_run_files files;
    pid_t pid;
    int ends[2];
    char line[8192] = "";
    double seconds;

    (void)snprintf(run, sizeof(run), "%s/run", dir);
    (void)snprintf(url, sizeof(url), "ipc://%s/s", dir);
    if (pipe(ends) != 0) {
        die("pipe");
    }
    child.fds[1] = ends[1];
    if (ck_child_find("ckagg", path, &err) != 0 ||
        ck_child_start(&child, &pid, &err) != 0) {
        (void)fprintf(stderr, "ship: %s\n", err.text);
        exit(1);
    }
    (void)close(ends[1]);
    if (read(ends[0], line, sizeof(line) - 1) <= 0 ||
        ck_endpoint_parse(url, &to, &err) != 0) {
        die("ckagg is not ready");
    }
    (void)close(ends[0]);
    seconds = load(&to);
    (void)waitpid(pid, NULL, 0);
    if (ck_run_files(run, &files, &err) == 0) {
        for (size_t i = 0; i < files.count; i++) {
            (void)unlink(files.paths[i]);
        }
        ck_run_files_free(&files);
    }
    /* The next round is a job of its own. */
    (void)snprintf(line, sizeof(line), "%s/manifest.json", run);
    (void)unlink(line);
    return seconds;
}

static int double_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof(*values), double_compare);
    return values[n / 2];
}

static double gigabytes(void)
{
    return (double)options.frames * (double)FRAME_BYTES / 1e9;
}

static void compare(void)
{
    const char *base = getenv("TMPDIR");
    char dir[128];
    char *argv[] = {(char *)"rm", (char *)"-rf", dir, NULL};
    struct ck_child child = {.path = "rm", .argv = argv, .fds = {-1, -1, -2}};
    double seconds[2][ROUNDS_MAX];
    double ratios[ROUNDS_MAX];
    pid_t pid;

    (void)snprintf(dir, sizeof(dir), "%.80s/ck-ship-XXXXXX",
                   base && base[0] ? base : "/tmp");
    if (!mkdtemp(dir)) {
        die(dir);
    }
    for (int64_t i = 0; i < options.rounds; i++) {
        seconds[0][i] = bare(dir);
        seconds[1][i] = served(dir);
        ratios[i] = seconds[0][i] / seconds[1][i];
        (void)printf("round %lld: bare %.2f GB/s, ckagg %.2f GB/s, %.2f\n",
                     (long long)i, gigabytes() / seconds[0][i],
                     gigabytes() / seconds[1][i], ratios[i]);
        (void)fflush(stdout);
    }
    (void)printf("ship: %.0f MB in 256 KiB frames over ipc, median of %lld: "
                 "bare %.2f GB/s, ckagg %.2f GB/s, ratio %.2f\n",
                 gigabytes() * 1e3, (long long)options.rounds,
                 gigabytes() / median(seconds[0], options.rounds),
                 gigabytes() / median(seconds[1], options.rounds),
                 median(ratios, options.rounds));
    if (ck_child_start(&child, &pid, NULL) == 0) {
        (void)waitpid(pid, NULL, 0);
    }
}

static const struct ck_cli_option table[] = {
    {CK_CLI_INT, "frames", 'f', "N", &options.frames, NULL,
     "frames of an agent (default 1000)"},
    {CK_CLI_INT, "rounds", 'r', "N", &options.rounds, NULL,
     "rounds of both (default 5)"},
    {CK_CLI_INT, "agents", 'a', "N", &options.agents, NULL,
     "with --to: agents at once (default 1)"},
    {CK_CLI_TEXT, "to", 't', "ENDPOINT", &options.to, NULL,
     "load this ckagg instead"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct ck_cli cli = {
    .program = "ship",
    .usage = "[OPTION]...",
    .summary = "Frames through ckagg against a bare DEALER and ROUTER.",
    .examples = "  ship --rounds 5\n",
    .options = table,
};

int main(int argc, char **argv)
{
    struct ck_endpoint to;
    struct ck_err err;
    enum ck_cli_result result = ck_cli_parse(&cli, &argc, &argv, &err);

    if (result == CK_CLI_DONE) {
        return CK_EXIT_DONE;
    }
    if (result == CK_CLI_WRONG || options.rounds < 1 || options.frames < 1 ||
        options.rounds > ROUNDS_MAX || options.agents < 1 ||
        options.agents > AGENTS_MAX) {
        (void)fprintf(stderr, "ship: %s\n",
                      result == CK_CLI_WRONG ? err.text : "out of range");
        return CK_EXIT_MISUSE;
    }
    writer = ck_batch_writer_create();
    srand((unsigned)getpid());
    if (!options.to) {
        options.agents = 1;
        compare();
    } else if (ck_endpoint_parse(options.to, &to, &err) != 0) {
        (void)fprintf(stderr, "ship: %s\n", err.text);
        return CK_EXIT_MISUSE;
    } else {
        double seconds = load(&to);

        (void)printf("load: %lld agents, %.0f MB in %.2f s, %.2f GB/s\n",
                     (long long)options.agents,
                     gigabytes() * 1e3 * (double)options.agents, seconds,
                     gigabytes() * (double)options.agents / seconds);
    }
    ck_batch_writer_destroy(writer);
    return CK_EXIT_DONE;
}
