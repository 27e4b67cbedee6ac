/* clock.c - how well a clock is known after one burst of probes, and the cost
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   clock idle|busy|flood [BURSTS]
 *
 * The aggregator's clock server runs here, the probing side in a child in a
 * time namespace of its own (where that is permitted), 1234.567891234 s away:
 * the truth is exact. Each burst of 8 counts for itself, at the instant of its
 * tightest bound (further on, the bound grows by the rate that is allowed for).
 * busy: 4 spinning processes; flood: a ZeroMQ pair ships 256 KiB frames as fast
 * as it can. Prints a line a figure: what | measured | target | verdict.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "aggregator/clock/clockserve.h"
#include "tests/bench/clockburst.h"
#include "tests/bench/figure.h"

#define BURSTS_MAX 5000
#define SHIFT (1234 * CK_TIME_S + 567891234)
#define SPINNERS 4

struct result {
    ck_time_t off;   /* offset - truth */
    ck_time_t error; /* its absolute value */
    ck_time_t bound;
    bool is_wrong; /* the truth is outside */
};

/* Shared with the child. */
struct shared {
    struct result results[BURSTS_MAX];
    unsigned count;
    unsigned empty; /* bursts without a complete exchange */
    int64_t cpu_ns; /* of the child, while it probed */
    ck_time_t took; /* RAW, without pauses */
};

static const uint8_t agent[16] = {1};
static uint8_t key[CK_AUTH_KEY_BYTES];
static uint64_t session;
static ck_time_t truth;
static pid_t helpers[SPINNERS + 2];
static size_t helpers_count;

static void die(const char *what)
{
    (void)fprintf(stderr, "clock: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void helper_start(void (*run)(void *), void *argument)
{
    pid_t pid = fork();

    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(argument);
        _exit(0);
    }
    helpers[helpers_count++] = pid;
}

static void helpers_stop(void)
{
    for (size_t i = 0; i < helpers_count; i++) {
        (void)kill(helpers[i], SIGKILL);
        (void)waitpid(helpers[i], NULL, 0);
    }
}

static void spin(void *argument)
{
    (void)argument;
    for (;;) {
        __asm__ volatile("");
    }
}

static void flood_take(void *argument)
{
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_PULL);
    char url[256];
    size_t length = sizeof(url);
    int fd = *(int *)argument;

    if (zmq_bind(socket, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, url, &length) != 0 ||
        write(fd, url, length) < 0) {
        _exit(1);
    }
    for (;;) {
        zmq_msg_t message;

        (void)zmq_msg_init(&message);
        (void)zmq_msg_recv(&message, socket, 0);
        (void)zmq_msg_close(&message);
    }
}

static void flood_send(void *argument)
{
    static char frame[256 * 1024];
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_PUSH);

    if (zmq_connect(socket, argument) != 0) {
        _exit(1);
    }
    for (;;) {
        (void)zmq_send(socket, frame, sizeof(frame), 0);
    }
}

static void flood_start(void)
{
    static char url[256];
    int ends[2];

    if (pipe(ends) != 0) {
        die("pipe");
    }
    helper_start(flood_take, &ends[1]);
    if (read(ends[0], url, sizeof(url)) <= 0) {
        die("flood");
    }
    helper_start(flood_send, url);
}

/* A volley and its answers. 0, or -1: none in a second. */
static int volley_run(struct clockburst *burst)
{
    struct pollfd item = {.fd = clocklink_fd(burst->link), .events = POLLIN};

    if (clockburst_send(burst) != 0) {
        return -1;
    }
    while (burst->answered < burst->sent) {
        if (poll(&item, 1, 1000) != 1 || !clockburst_take(burst)) {
            return -1;
        }
    }
    return 0;
}

static void burst_run(struct clockburst *burst, struct shared *shared)
{
    struct result *result = &shared->results[shared->count];
    struct ck_clock_offset offset;

    clockburst_begin(burst);
    while (burst->sent < CLOCKPROBE_BURST) {
        if (volley_run(burst) != 0) {
            break;
        }
        (void)usleep((CLOCKPROBE_GAP_MIN + random() % CLOCKPROBE_GAP_SPREAD) /
                     CK_TIME_US);
    }
    if (clockburst_offset(burst, &offset) != 0) {
        shared->empty++;
        return;
    }
    result->off = offset.offset - truth;
    result->error = llabs(result->off);
    result->bound = offset.bound;
    result->is_wrong = result->error > result->bound;
    shared->count++;
}

static int64_t cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

static void child_run(int port, unsigned bursts, struct shared *shared)
{
    static struct ck_endpoint endpoint = {.urls = {"tcp://127.0.0.1:1"},
                                          .count = 1};
    struct clockreference_to to = {&endpoint, 0, port, agent};
    struct ck_err err = {""};
    struct clocklink *link = clocklink_open(CLOCKLINK_UDP, &to, &err);
    struct clockburst burst = {.link = link, .key = key, .session = session};
    int64_t before = cpu_ns();

    if (link == NULL) {
        (void)fprintf(stderr, "clock: %s\n", err.text);
        _exit(1);
    }
    while (shared->count + shared->empty < bursts) {
        burst_run(&burst, shared);
        (void)usleep(1000);
    }
    shared->cpu_ns = cpu_ns() - before;
    _exit(0);
}

/* Children live in another time namespace from now on: 0, or -1. */
static int namespace_make(void)
{
    int fd;
    int rc;

    if (unshare(CLONE_NEWTIME) != 0) {
        return -1;
    }
    fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    rc = fd < 0 ? -1 : dprintf(fd, "monotonic 1234 567891234\n");
    (void)close(fd);
    return rc > 0 ? 0 : -1;
}

static int by_error(const void *a, const void *b)
{
    const struct result *left = a;
    const struct result *right = b;

    return (left->error > right->error) - (left->error < right->error);
}

static int by_bound(const void *a, const void *b)
{
    const struct result *left = a;
    const struct result *right = b;

    return (left->bound > right->bound) - (left->bound < right->bound);
}

/* `count`: the bursts that it is of. */
static void line(const char *text,
                 double value,
                 double target,
                 const char *unit,
                 uint32_t count)
{
    (void)printf("%-58s | %9.4g %-3s | <= %5g %-3s | %s\n", text, value, unit,
                 target, unit, figure_verdict(value, target, count));
}

/* What is printed of a mode. */
struct figure {
    const char *mode;
    int number;
    const char *what;
    double error; /* us: targets */
    double bound;
    bool is_p99; /* else the largest counts */
};

static const struct figure figures[] = {
    {"idle", 1, "two time namespaces, a burst of 8", 0.1, 0.5, true},
    {"busy", 2, "beside 4 spinning processes", 0.3, 0.7, false},
    {"flood", 3, "beside a ZeroMQ flood", 0.3, 0.7, false},
};

static const struct figure *figure_find(const char *mode)
{
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        if (strcmp(mode, figures[i].mode) == 0) {
            return &figures[i];
        }
    }
    return NULL;
}

/* Errors with their signs: a systematic one is half of an asymmetry. */
static double bias_of(const struct shared *shared)
{
    double sum = 0;

    for (size_t i = 0; i < shared->count; i++) {
        sum += (double)shared->results[i].off;
    }
    return shared->count > 0 ? sum / (double)shared->count / 1000 : 0;
}

static void print(const struct figure *figure, struct shared *shared)
{
    size_t last = shared->count > 0 ? shared->count - 1 : 0;
    size_t at = figure->is_p99 ? last * 99 / 100 : last;
    const char *part = figure->is_p99 ? "p99" : "max";
    struct result *results = shared->results;
    unsigned wrong = 0;
    char text[96];

    for (size_t i = 0; i < shared->count; i++) {
        wrong += results[i].is_wrong;
    }
    qsort(results, shared->count, sizeof(*results), by_error);
    (void)printf("   %s: %u bursts, %u without an answer; error: median "
                 "%.3f, p99 %.3f, max %.3f us, mean with its sign %+.3f us\n",
                 figure->mode, shared->count, shared->empty,
                 (double)results[last / 2].error / 1000,
                 (double)results[last * 99 / 100].error / 1000,
                 (double)results[last].error / 1000, bias_of(shared));
    (void)snprintf(text, sizeof(text), "%d  %s: error, %s", figure->number,
                   figure->what, part);
    line(text, (double)results[at].error / 1000, figure->error, "us",
         shared->count);
    qsort(results, shared->count, sizeof(*results), by_bound);
    (void)printf("   %s: bound: median %.3f, p99 %.3f, max %.3f us\n",
                 figure->mode, (double)results[last / 2].bound / 1000,
                 (double)results[last * 99 / 100].bound / 1000,
                 (double)results[last].bound / 1000);
    (void)snprintf(text, sizeof(text), "%d  the same: bound, %s",
                   figure->number, part);
    line(text, (double)results[at].bound / 1000, figure->bound, "us",
         shared->count);
    (void)snprintf(text, sizeof(text), "%d  the same: truth outside the bound",
                   figure->number);
    line(text, wrong, 0, "", shared->count);
    if (figure->number == 1) {
        line("10 agent's CPU time at a burst of 8 a second",
             100.0 * (double)shared->cpu_ns /
                 ((double)(shared->count + shared->empty) * 1e9),
             0.1, "%", shared->count);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "idle";
    const struct figure *figure = figure_find(mode);
    unsigned bursts = argc > 2 ? (unsigned)atoi(argv[2]) : 500;
    struct clocksockets_options options = {.port = 0};
    struct ck_err err = {""};
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct clockserve *serve = clockserve_create(&options, &err);
    int status = 0;
    pid_t pid;

    if (serve == NULL || shared == MAP_FAILED || figure == NULL ||
        bursts == 0 || bursts > BURSTS_MAX) {
        (void)fprintf(stderr, "clock idle|busy|flood [1..%d]: %s\n", BURSTS_MAX,
                      err.text);
        return 2;
    }
    (void)ck_auth_key(key);
    session = clocksessions_open(clockserve_sessions(serve), agent, key);
    for (int i = 0; strcmp(mode, "busy") == 0 && i < SPINNERS; i++) {
        helper_start(spin, NULL);
    }
    if (strcmp(mode, "flood") == 0) {
        flood_start();
    }
    if (namespace_make() == 0) {
        truth = -SHIFT;
    } else {
        (void)printf("no time namespace is permitted: both clocks are one\n");
    }
    (void)fflush(stdout);
    pid = fork();
    if (pid == 0) {
        child_run(clockserve_port(serve), bursts, shared);
    }
    (void)waitpid(pid, &status, 0);
    helpers_stop();
    if (status != 0 || shared->count == 0) {
        (void)fprintf(stderr, "clock: the probing side failed\n");
        return 1;
    }
    print(figure, shared);
    clockserve_destroy(serve);
    return 0;
}
