/* swarm.c - thousands of agents on one ckagg: their numbers, its memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_swarm [--agents N] [--seconds T] [--rate R] [--keep DIR]
 *                 [--crowd PROGRAM --strangers N]
 *
 * Each agent is the collector's own code from outbox to socket (outlet,
 * session, ship), with an identity of its own and a connection of its own;
 * many of them share a process. All join, send R frames a second for half of
 * the time; then half of the processes are killed by SIGKILL at once and
 * others go on from their outboxes, as a restarted collector does. At the end
 * all send GOODBYE, and the stored segments are read: each position of each
 * agent must be there, once. From the kill to the end, PROGRAM may hold N
 * connections beside them (tests/e2e/crowd.c): ckagg may take CROWD_MEMORY
 * more than before.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/link/session.h"
#include "agent/process/identity.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "launch/cli.h"
#include "schema/endpoint.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "tests/bench/service.h"

#define AGENTS_A_WORKER 128
#define WORKERS_MAX 64
#define OUTBOX_BYTES ((size_t)64 << 10)
#define MARKS 64
#define STEP (20 * CK_TIME_MS)
#define JOIN_LIMIT (120 * CK_TIME_S)
#define LEAVE_LIMIT (120 * CK_TIME_S)
#define CROWD_MEMORY 64000 /* kB */

static struct {
    int64_t agents;
    int64_t seconds;
    int64_t rate;
    int64_t strangers;
    const char *keep;
    const char *crowd;
} options = {.agents = 4096, .seconds = 20, .rate = 1};

/* What an agent keeps when its process is killed: shared memory. */
struct memory {
    uint64_t next;    /* position of the next mark */
    uint32_t has_met; /* a WELCOME came */
    uint32_t has_left;
    uint8_t pad[4080];
    uint8_t outbox[OUTBOX_BYTES];
};

/* One for all processes. */
struct shared {
    _Atomic uint32_t is_leaving;
};

struct agent {
    struct memory *memory;
    struct identity identity;
    struct spool *spool;
    struct framewriter framewriter;
    struct selfstream *selfstream;
    struct session *session;
    ck_time_t due;
};

static struct memory *memories;
static struct shared *shared;
static struct ck_endpoint endpoint;
static char root[128];

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "bench_swarm: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void identity_make(struct identity *identity, unsigned number)
{
    static struct identity common;

    if (common.start_raw == 0 &&
        identity_find(&common, (char *[]){NULL}, "swarm") != 0) {
        die("identity");
    }
    *identity = common;
    memset(identity->agent, 0, sizeof(identity->agent));
    memcpy(identity->agent, "swarm", 5);
    memcpy(identity->agent + 8, &number, sizeof(number));
    identity->place = (struct identity_place){
        .is_ranked = true,
        .rank = (int)number,
        .size = (int)options.agents,
        .local_rank = (int)number,
        .local_size = (int)options.agents,
        .launcher = "none",
    };
    (void)snprintf(identity->command, sizeof(identity->command), "swarm");
}

static void agent_open(struct agent *agent, unsigned number)
{
    struct ck_text head = {.e = {.kind = CK_KIND_IDENTITY}};
    char text[4096];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));
    struct ck_err err = {""};

    agent->memory = &memories[number];
    identity_make(&agent->identity, number);
    agent->spool = spool_create(root, root, agent->identity.agent, 1 << 20);
    if (agent->spool == NULL ||
        framewriter_init(&agent->framewriter, agent->memory->outbox,
                         OUTBOX_BYTES, agent->spool,
                         agent->identity.agent) != 0) {
        die("outlet");
    }
    agent->selfstream = selfstream_create(&agent->framewriter, CK_CLOCK_RAW,
                                          (uint32_t)getpid());
    agent->session =
        session_create(&agent->identity, &agent->framewriter, NULL);
    if (agent->selfstream == NULL || agent->session == NULL ||
        session_open(agent->session, &endpoint, 0, &err) != 0) {
        die(err.text[0] != '\0' ? err.text : "session");
    }
    if (agent->framewriter.outbox.head->own_next == 0) {
        identity_lines(&agent->identity, getpid(), NULL, &lines);
        (void)selfstream_text(agent->selfstream, head, text, lines.used);
        (void)selfstream_flush(agent->selfstream);
    }
    /* Not all in the same moment. */
    agent->due = ck_time_raw() + (ck_time_t)(number * 7919u % 1000u) *
                                     CK_TIME_MS /
                                     (options.rate > 0 ? options.rate : 1);
}

/* One frame of marks whose content follows from their position. */
static void agent_put(struct agent *agent)
{
    struct ck_mark marks[MARKS];
    struct framewriter_cut cut = {
        .stream = {.incarnation = 1, .slot = 0},
        .clock = CK_CLOCK_RAW,
        .pid = 1,
        .tid = 1,
        .first = agent->memory->next,
        .records = marks,
        .bytes = sizeof(marks),
    };
    uint32_t taken;

    for (unsigned i = 0; i < MARKS; i++) {
        int64_t at = (int64_t)cut.first + i;

        marks[i] = (struct ck_mark){
            .e = {.kind = CK_KIND_MARK, .units = 1, .start = at * 1000},
            .value = at};
    }
    if (framewriter_put(&agent->framewriter, &cut, &taken) == 0) {
        agent->memory->next += taken;
    }
}

static void agent_step(struct agent *agent, ck_time_t now, bool is_beat)
{
    bool is_leaving = shared->is_leaving != 0;

    if (now >= agent->due && !is_leaving && options.rate > 0) {
        agent->due += CK_TIME_S / options.rate;
        agent_put(agent);
    }
    if (is_leaving) {
        session_leave(agent->session, "status=0\n");
    }
    session_step(agent->session, now, is_beat ? "events=0\nlost=0\n" : NULL);
    if (session_state(agent->session) >= SESSION_SENDING &&
        session_state(agent->session) <= SESSION_LEFT) {
        agent->memory->has_met = 1;
    }
    if (session_state(agent->session) == SESSION_LEFT) {
        agent->memory->has_left = 1;
    }
    if (session_state(agent->session) == SESSION_REFUSED) {
        (void)fprintf(stderr, "bench_swarm: refused: %s\n",
                      session_refusal(agent->session));
        _exit(1);
    }
}

/* A process of agents first .. first + count - 1. */
static _Noreturn void worker_run(unsigned first, unsigned count)
{
    struct agent *agents = calloc(count, sizeof(*agents));
    ck_time_t second = ck_time_raw();
    unsigned left = 0;

    for (unsigned i = 0; agents != NULL && i < count; i++) {
        agent_open(&agents[i], first + i);
    }
    while (agents != NULL && left < count) {
        ck_time_t now = ck_time_raw();
        bool is_beat = now - second >= CK_TIME_S;
        struct timespec pause = {.tv_nsec = STEP};

        second = is_beat ? now : second;
        left = 0;
        for (unsigned i = 0; i < count; i++) {
            agent_step(&agents[i], now, is_beat);
            left += agents[i].memory->has_left;
        }
        (void)nanosleep(&pause, NULL);
    }
    _exit(0);
}

static pid_t worker_start(unsigned first, unsigned count)
{
    pid_t pid = fork();

    if (pid == 0) {
        worker_run(first, count);
    }
    if (pid < 0) {
        die("fork");
    }
    return pid;
}

/* Resident memory of a process in kB: now, or the most until now. */
static long memory_of(pid_t pid, bool is_most)
{
    char path[64];
    char line[256];
    long kb = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, is_most ? "VmHWM: %ld" : "VmRSS: %ld", &kb);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

static double cpu_of(pid_t pid)
{
    char path[64];
    unsigned long user = 0, system = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL ||
        fscanf(file,
               "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
               "%lu %lu",
               &user, &system) != 2) {
        user = system = 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static unsigned count_met(bool is_left)
{
    unsigned count = 0;

    for (int64_t i = 0; i < options.agents; i++) {
        count += is_left ? memories[i].has_left : memories[i].has_met;
    }
    return count;
}

static void wait_all(bool is_left, ck_time_t limit, const char *what)
{
    ck_time_t until = ck_time_raw() + limit;
    struct timespec pause = {.tv_nsec = 50 * CK_TIME_MS};

    while (count_met(is_left) < (unsigned)options.agents) {
        if (ck_time_raw() > until) {
            (void)fprintf(stderr, "bench_swarm: %u of %lld agents %s\n",
                          count_met(is_left), (long long)options.agents, what);
            exit(1);
        }
        (void)nanosleep(&pause, NULL);
    }
}

static void took(const char *what, ck_time_t start)
{
    (void)printf("%-28s %.2f s\n", what, (double)(ck_time_raw() - start) / 1e9);
}

static void watch(pid_t ckagg, double seconds, const char *what)
{
    ck_time_t start = ck_time_raw();
    double cpu = cpu_of(ckagg);
    long first = memory_of(ckagg, false);
    long most = first;

    while ((double)(ck_time_raw() - start) / 1e9 < seconds) {
        struct timespec pause = {.tv_nsec = 200 * CK_TIME_MS};
        long now = memory_of(ckagg, false);

        most = now > most ? now : most;
        (void)nanosleep(&pause, NULL);
    }
    (void)printf("%-28s RSS %ld kB at first, %ld at most, %ld at last; "
                 "CPU %.1f %% of a core\n",
                 what, first, most, memory_of(ckagg, false),
                 (cpu_of(ckagg) - cpu) / seconds * 100);
}

/* Positions of the agent's stream 1.0 in its segment: each once. */
static bool segment_check(const char *run, unsigned number, uint64_t *twice)
{
    struct identity identity;
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    char path[PATH_MAX];
    struct ck_err err;
    uint64_t next = 0;
    bool is_whole = true;

    identity_make(&identity, number);
    if (ck_run_segment_path(path, run, identity.agent, false) != 0 ||
        (reader = ck_segment_reader_create(path, &err)) == NULL) {
        return memories[number].next == 0;
    }
    while (ck_segment_next(reader, &header, &payload) == 1) {
        if (header.stream.slot != CK_SLOT_COLLECTOR) {
            *twice += header.first < next ? next - header.first : 0;
            is_whole = is_whole && header.first <= next;
            next = header.first + header.units;
        }
    }
    ck_segment_reader_destroy(reader);
    return is_whole && next == memories[number].next;
}

static int stored_check(void)
{
    char run[PATH_MAX];
    char command[PATH_MAX + 64];
    uint64_t marks = 0, twice = 0;
    unsigned wrong = 0;
    FILE *find;

    (void)snprintf(command, sizeof(command),
                   "find %s -name manifest.json -printf '%%h'", root);
    find = popen(command, "r");
    if (find == NULL || fgets(run, sizeof(run), find) == NULL) {
        die("no run directory");
    }
    (void)pclose(find);
    for (int64_t i = 0; i < options.agents; i++) {
        wrong += !segment_check(run, (unsigned)i, &twice);
        marks += memories[i].next;
    }
    (void)printf("%-28s %llu marks of %lld agents, %llu stored twice, %u "
                 "agents with a gap\n",
                 "stored", (unsigned long long)marks, (long long)options.agents,
                 (unsigned long long)twice, wrong);
    return wrong == 0 && twice == 0 ? 0 : 1;
}

/* Its pid; 0: none is wanted. */
static pid_t crowd_start(void)
{
    char count[24];
    pid_t pid;

    if (options.crowd == NULL) {
        return 0;
    }
    (void)snprintf(count, sizeof(count), "%lld", (long long)options.strangers);
    pid = fork();
    if (pid == 0) {
        (void)execl(options.crowd, options.crowd, count, "600",
                    endpoint.urls[0], NULL);
        die(options.crowd);
    }
    if (pid < 0) {
        die("fork");
    }
    return pid;
}

/* 0: it was there to the end, and ckagg took no more than it may. */
static int crowd_end(pid_t crowd, pid_t ckagg, long before)
{
    long most = memory_of(ckagg, true);

    if (crowd == 0) {
        return 0;
    }
    (void)printf("%-28s %ld kB at most, %ld kB before (%lld strangers)\n",
                 "ckagg beside strangers", most, before,
                 (long long)options.strangers);
    return waitpid(crowd, NULL, WNOHANG) == 0 && kill(crowd, SIGKILL) == 0 &&
                   most - before <= CROWD_MEMORY
               ? 0
               : 1;
}

static void options_read(int argc, char **argv)
{
    static const struct ck_cli_option table[] = {
        {CK_CLI_INT, "agents", 0, "N", &options.agents, NULL, "agents (4096)"},
        {CK_CLI_INT, "seconds", 0, "T", &options.seconds, NULL,
         "seconds of load (20)"},
        {CK_CLI_INT, "rate", 0, "R", &options.rate, NULL,
         "frames of an agent a second (1)"},
        {CK_CLI_TEXT, "crowd", 0, "PROGRAM", &options.crowd, NULL,
         "strangers beside them: tests/crowd"},
        {CK_CLI_INT, "strangers", 0, "N", &options.strangers, NULL,
         "connections of theirs (0)"},
        {CK_CLI_TEXT, "keep", 0, "DIR", &options.keep, NULL,
         "work there and leave it (a directory of its own)"},
        {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    static const struct ck_cli cli = {
        .program = "bench_swarm",
        .usage = "[OPTION]...",
        .summary = "Many agents of one job on one ckagg.",
        .options = table,
    };
    struct ck_err err;
    enum ck_cli_result result = ck_cli_parse(&cli, &argc, &argv, &err);

    if (result != CK_CLI_RUN || options.agents < 2 ||
        options.agents > WORKERS_MAX * AGENTS_A_WORKER) {
        exit(result == CK_CLI_DONE ? 0 : 2);
    }
}

/* A ckagg with the address sanitizer keeps of what it has freed a megabyte, not
 * 256: its memory is what it holds, and has the same limit.
 */
static void quarantine_limit(void)
{
    const char *old = getenv("ASAN_OPTIONS");
    char text[1024];

    (void)snprintf(text, sizeof(text), "%s:quarantine_size_mb=1",
                   old != NULL ? old : "");
    (void)setenv("ASAN_OPTIONS", text, 1);
}

static void prepare(void)
{
    struct rlimit files;
    size_t bytes = (size_t)options.agents * sizeof(*memories);

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)snprintf(root, sizeof(root), "%s",
                   options.keep != NULL ? options.keep
                                        : "/tmp/ck-swarm.XXXXXX");
    if (options.keep == NULL ? mkdtemp(root) == NULL
                             : ck_run_create(root, NULL) != 0) {
        die(root);
    }
    memories = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memories == MAP_FAILED || shared == MAP_FAILED) {
        die("memory");
    }
}

static unsigned share_of(unsigned worker)
{
    unsigned first = worker * AGENTS_A_WORKER;
    unsigned left = (unsigned)options.agents - first;

    return left < AGENTS_A_WORKER ? left : AGENTS_A_WORKER;
}

/* Kill every second worker at once, start others on the same memory. */
static void half_replace(pid_t *workers, unsigned count)
{
    ck_time_t start = ck_time_raw();
    int status;

    for (unsigned i = 0; i < count; i += 2) {
        (void)kill(workers[i], SIGKILL);
        (void)waitpid(workers[i], &status, 0);
        for (unsigned j = 0; j < share_of(i); j++) {
            memories[i * AGENTS_A_WORKER + j].has_met = 0;
        }
    }
    for (unsigned i = 0; i < count; i += 2) {
        workers[i] = worker_start(i * AGENTS_A_WORKER, share_of(i));
    }
    wait_all(false, JOIN_LIMIT, "joined again");
    took("half killed, back after", start);
}

/* All agents send GOODBYE. */
static void all_leave(const pid_t *workers, unsigned count)
{
    ck_time_t start = ck_time_raw();
    int status;

    shared->is_leaving = 1;
    wait_all(true, LEAVE_LIMIT, "left");
    took("all left after", start);
    for (unsigned i = 0; i < count; i++) {
        (void)waitpid(workers[i], &status, 0);
    }
}

int main(int argc, char **argv)
{
    pid_t workers[WORKERS_MAX];
    char command[192];
    ck_time_t start;
    unsigned count;
    pid_t ckagg, crowd;
    long before;
    int rc;

    options_read(argc, argv);
    quarantine_limit();
    prepare();
    count = ((unsigned)options.agents + AGENTS_A_WORKER - 1) / AGENTS_A_WORKER;
    ckagg = ckaggchild_start(
        root, options.crowd != NULL ? "tcp://127.0.0.1:0" : NULL, &endpoint);
    start = ck_time_raw();
    for (unsigned i = 0; i < count; i++) {
        workers[i] = worker_start(i * AGENTS_A_WORKER, share_of(i));
    }
    wait_all(false, JOIN_LIMIT, "joined");
    took("all joined after", start);
    watch(ckagg, (double)options.seconds / 2, "steady");
    before = memory_of(ckagg, true);
    crowd = crowd_start();
    half_replace(workers, count);
    watch(ckagg, (double)options.seconds / 2, "steady again");
    all_leave(workers, count);
    rc = crowd_end(crowd, ckagg, before);
    (void)kill(ckagg, SIGTERM);
    (void)waitpid(ckagg, NULL, 0);
    rc |= stored_check();
    if (options.keep == NULL) {
        (void)snprintf(command, sizeof(command), "rm -rf %s", root);
        rc |= system(command) != 0;
    }
    return rc;
}
