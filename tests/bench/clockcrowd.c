/* clockcrowd.c - a thousand clocks on one ckagg: how soon known, at what cost
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_clockcrowd [--domains N] [--seconds T]
 *
 * Each domain is the collector's own session with a key of its own, and a
 * socket of its own that sends a burst of 8 probes a second in volleys, as the
 * leader of a domain does. The first burst comes within a second, at random.
 * All clocks are this machine's: the truth is 0. Printed is how long after its
 * connection was opened the last domain was calibrated, by how much its first
 * burst was wrong, and what ckagg costs from then on: all of it, and the
 * thread that answers probes.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
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
#include "tests/bench/clockburst.h"
#include "tests/bench/figure.h"
#include "tests/bench/service.h"

#define DOMAINS_A_WORKER 125
#define WORKERS_MAX 32
#define OUTBOX_BYTES ((size_t)64 << 10)
#define SESSION_STEP (20 * CK_TIME_MS)
#define PERIOD CK_TIME_S
#define CALIBRATE_LIMIT (60 * CK_TIME_S)

static struct {
    int64_t domains;
    int64_t seconds;
} options = {.domains = 1000, .seconds = 10};

/* What is known of a domain; shared with the parent. */
struct result {
    ck_time_t opened;     /* the connection */
    ck_time_t welcome;    /* 0 = not yet */
    ck_time_t calibrated; /* 0 = not yet */
    ck_time_t error;      /* of the first burst */
    ck_time_t bound;
    ck_time_t worst;  /* error of any burst */
    ck_time_t bounds; /* the sum of all bursts' */
    uint64_t bursts;
    uint64_t outside; /* bursts with the truth outside the bound */
    uint64_t answered;
    uint64_t lost;
};

struct shared {
    _Atomic uint32_t is_over;
    struct result results[];
};

struct domain {
    struct result *result;
    struct identity identity;
    struct spool *spool;
    struct framewriter framewriter;
    struct selfstream *selfstream;
    struct session *session;
    struct clocklink *link;
    unsigned welcomes; /* that came */
    struct clockburst burst;
    uint8_t key[CK_AUTH_KEY_BYTES];
    char hex[CK_AUTH_KEY_HEX];
    ck_time_t volley_at;
    ck_time_t burst_at;
};

static struct shared *shared;
static struct ck_endpoint endpoint;
static char root[128];

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "bench_clockcrowd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void identity_make(struct identity *identity, unsigned number)
{
    static struct identity common;

    if (common.start_raw == 0 &&
        identity_find(&common, (char *[]){NULL}, "crowd") != 0) {
        die("identity");
    }
    *identity = common;
    memset(identity->agent, 0, sizeof(identity->agent));
    memcpy(identity->agent, "crowd", 5);
    memcpy(identity->agent + 8, &number, sizeof(number));
    identity->place = (struct identity_place){
        .is_ranked = true,
        .rank = (int)number,
        .size = (int)options.domains,
        .local_size = 1,
        .launcher = "none",
    };
    (void)snprintf(identity->command, sizeof(identity->command), "crowd");
}

static void domain_open(struct domain *domain, unsigned number)
{
    struct ck_err err = {""};
    void *memory = calloc(1, OUTBOX_BYTES);

    domain->result = &shared->results[number];
    identity_make(&domain->identity, number);
    domain->spool =
        spool_create(root, root, domain->identity.agent, (size_t)1 << 20);
    if (memory == NULL || domain->spool == NULL ||
        framewriter_init(&domain->framewriter, memory, OUTBOX_BYTES,
                         domain->spool, domain->identity.agent) != 0 ||
        ck_auth_key(domain->key) != 0) {
        die("domain");
    }
    ck_auth_key_hex(domain->key, domain->hex);
    domain->result->opened = ck_time_raw();
    domain->session =
        session_create(&domain->identity, &domain->framewriter, domain->hex);
    if (domain->session == NULL ||
        session_open(domain->session, &endpoint, 0, &err) != 0) {
        die(err.text[0] != '\0' ? err.text : "session");
    }
}

/* ckagg sent where its clock is; again to a HELLO that was repeated. */
static void domain_meet(struct domain *domain, ck_time_t now)
{
    struct clockreference reference;
    struct clockreference_to to;
    struct ck_err err = {""};
    unsigned welcomes = session_clock(domain->session, &reference, &to);

    if (welcomes == domain->welcomes) {
        return;
    }
    domain->welcomes = welcomes;
    domain->burst.session = reference.session;
    if (domain->link != NULL) {
        return;
    }
    to.port = reference.port;
    domain->link = clocklink_open(CLOCKLINK_UDP, &to, &err);
    if (domain->link == NULL) {
        die(err.text);
    }
    domain->burst.link = domain->link;
    domain->burst.key = domain->key;
    domain->result->welcome = now;
    domain->burst_at = now + random() % CK_TIME_S;
    domain->volley_at = INT64_MAX;
}

static void burst_count(struct domain *domain, ck_time_t now)
{
    struct result *result = domain->result;
    struct ck_clock_offset offset;

    result->answered += domain->burst.answered;
    result->lost += domain->burst.sent - domain->burst.answered;
    if (clockburst_offset(&domain->burst, &offset) != 0) {
        return;
    }
    offset.offset = offset.offset < 0 ? -offset.offset : offset.offset;
    result->outside += offset.offset > offset.bound;
    result->worst =
        offset.offset > result->worst ? offset.offset : result->worst;
    result->bounds += offset.bound;
    result->bursts++;
    if (result->calibrated == 0) {
        result->error = offset.offset;
        result->bound = offset.bound;
        result->calibrated = now;
    }
}

static void domain_take(struct domain *domain)
{
    struct clockburst *burst = &domain->burst;
    unsigned before = burst->answered;

    if (!clockburst_take(burst)) {
        die("a link broke");
    }
    if (burst->answered == CLOCKPROBE_BURST && before < CLOCKPROBE_BURST) {
        burst_count(domain, ck_time_raw());
    }
}

/* What is due for a domain that has a link; when to look again. */
static ck_time_t domain_step(struct domain *domain, ck_time_t now)
{
    struct clockburst *burst = &domain->burst;

    if (now >= domain->burst_at) {
        if (burst->sent > 0 && burst->answered < burst->sent) {
            burst_count(domain, now);
        }
        clockburst_begin(burst);
        domain->burst_at = now + PERIOD;
        domain->volley_at = now;
    }
    if (now >= domain->volley_at) {
        domain_take(domain); /* what came is placed best before the next */
        (void)clockburst_send(burst);
        domain->volley_at =
            burst->sent < CLOCKPROBE_BURST
                ? now + CLOCKPROBE_GAP_MIN + random() % CLOCKPROBE_GAP_SPREAD
                : INT64_MAX;
    }
    return domain->volley_at < domain->burst_at ? domain->volley_at
                                                : domain->burst_at;
}

static void sessions_step(struct domain *domains, size_t count, bool is_beat)
{
    ck_time_t now = ck_time_raw();

    for (size_t i = 0; i < count; i++) {
        session_step(domains[i].session, now,
                     is_beat ? "events=0\nlost=0\n" : NULL);
        domain_meet(&domains[i], now);
    }
}

static void
links_wait(struct domain *domains, size_t count, ck_time_t wake, ck_time_t now)
{
    struct pollfd items[DOMAINS_A_WORKER];
    struct timespec limit = {.tv_nsec = wake > now ? wake - now : 0};

    for (size_t i = 0; i < count; i++) {
        items[i] = (struct pollfd){
            .fd = domains[i].link == NULL ? -1 : clocklink_fd(domains[i].link),
            .events = POLLIN};
    }
    if (ppoll(items, count, &limit, NULL) <= 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].revents != 0) {
            domain_take(&domains[i]);
        }
    }
}

static _Noreturn void worker_run(unsigned first, unsigned count)
{
    struct domain *domains = calloc(count, sizeof(*domains));
    ck_time_t session_at = 0;
    ck_time_t beat_at = ck_time_raw() + CK_TIME_S;

    srandom(first + 1);
    for (unsigned i = 0; domains != NULL && i < count; i++) {
        domain_open(&domains[i], first + i);
    }
    while (domains != NULL && shared->is_over == 0) {
        ck_time_t now = ck_time_raw();
        ck_time_t wake;

        if (now >= session_at) {
            bool is_beat = now >= beat_at;

            sessions_step(domains, count, is_beat);
            beat_at += is_beat ? CK_TIME_S : 0;
            session_at = now + SESSION_STEP;
        }
        wake = session_at;
        for (unsigned i = 0; i < count; i++) {
            ck_time_t due = domains[i].link == NULL
                                ? INT64_MAX
                                : domain_step(&domains[i], now);

            wake = due < wake ? due : wake;
        }
        links_wait(domains, count, wake, now);
    }
    _exit(0);
}

/* First line of a thread's file. */
static bool
thread_line(pid_t pid, const char *thread, const char *file, char line[128])
{
    char path[320];
    FILE *from;
    bool is_read;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, thread,
                   file);
    from = fopen(path, "re");
    is_read = from != NULL && fgets(line, 128, from) != NULL;
    if (from != NULL) {
        (void)fclose(from);
    }
    return is_read;
}

/* CPU time in ns: of all threads, and of the one that answers probes. */
static void cpu_of(pid_t pid, double *all, double *clock)
{
    char path[64];
    char line[128];
    struct dirent *entry;
    DIR *threads;

    *all = *clock = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        double ns;

        if (entry->d_name[0] == '.' ||
            !thread_line(pid, entry->d_name, "schedstat", line)) {
            continue;
        }
        ns = strtod(line, NULL);
        *all += ns;
        if (thread_line(pid, entry->d_name, "comm", line) &&
            strcmp(line, "ckagg-clock\n") == 0) {
            *clock = ns;
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
}

/* `looked`: as figure_verdict() has it. */
static void line(const char *figure,
                 double value,
                 double target,
                 const char *unit,
                 double looked)
{
    (void)printf("%-58s | %9.4g %-3s | <= %5g %-3s | %s\n", figure, value, unit,
                 target, unit, figure_verdict(value, target, looked));
}

static bool wait_calibrated(void)
{
    ck_time_t until = ck_time_raw() + CALIBRATE_LIMIT;
    struct timespec pause = {.tv_nsec = 20 * CK_TIME_MS};
    int64_t known;

    do {
        known = 0;
        for (int64_t i = 0; i < options.domains; i++) {
            known += shared->results[i].calibrated != 0;
        }
        (void)nanosleep(&pause, NULL);
    } while (known < options.domains && ck_time_raw() < until);
    if (known < options.domains) {
        (void)fprintf(stderr,
                      "bench_clockcrowd: %lld of %lld domains calibrated\n",
                      (long long)known, (long long)options.domains);
    }
    return known == options.domains;
}

/* The largest of what the first bursts came to. */
static void first_say(void)
{
    ck_time_t welcome = 0, calibrated = 0, all = 0, error = 0, bound = 0;

    for (int64_t i = 0; i < options.domains; i++) {
        const struct result *r = &shared->results[i];
        ck_time_t joined = r->welcome - r->opened;
        ck_time_t took = r->calibrated - r->welcome;

        welcome = joined > welcome ? joined : welcome;
        calibrated = took > calibrated ? took : calibrated;
        all = r->calibrated - r->opened > all ? r->calibrated - r->opened : all;
        error = r->error > error ? r->error : error;
        bound = r->bound > bound ? r->bound : bound;
    }
    (void)printf("   %lld domains: welcome at most %.2f s after the connection "
                 "was opened, calibrated %.2f s after that\n",
                 (long long)options.domains, (double)welcome / 1e9,
                 (double)calibrated / 1e9);
    (void)printf("   first burst: error at most %.3f us, bound %.3f us\n",
                 (double)error / 1e3, (double)bound / 1e3);
    line("8  the last domain calibrated after its start", (double)all / 1e9, 2,
         "s", (double)options.domains);
}

static void totals(uint64_t *answered, uint64_t *lost, uint64_t *outside)
{
    *answered = *lost = *outside = 0;
    for (int64_t i = 0; i < options.domains; i++) {
        *answered += shared->results[i].answered;
        *lost += shared->results[i].lost;
        *outside += shared->results[i].outside;
    }
}

static void bursts_say(void)
{
    ck_time_t worst = 0;
    double bounds = 0, bursts = 0;

    for (int64_t i = 0; i < options.domains; i++) {
        const struct result *r = &shared->results[i];

        worst = r->worst > worst ? r->worst : worst;
        bounds += (double)r->bounds;
        bursts += (double)r->bursts;
    }
    (void)printf("   %.0f bursts: error at most %.3f us, bound %.3f us on the "
                 "average\n",
                 bursts, (double)worst / 1e3, bounds / bursts / 1e3);
}

/* True when no burst had the truth outside its bound. */
static bool watch(pid_t ckagg)
{
    ck_time_t start = ck_time_raw();
    struct timespec pause = {.tv_sec = (time_t)options.seconds};
    double all[2], clock[2], seconds;
    uint64_t answered[2], lost, outside;

    cpu_of(ckagg, &all[0], &clock[0]);
    totals(&answered[0], &lost, &outside);
    (void)nanosleep(&pause, NULL);
    cpu_of(ckagg, &all[1], &clock[1]);
    totals(&answered[1], &lost, &outside);
    seconds = (double)(ck_time_raw() - start) / 1e9;
    bursts_say();
    answered[1] -= answered[0];
    (void)printf("   %.0f probes a second, %llu lost in all; the answering "
                 "thread took %.2f %% of a core, %.2f us a probe\n",
                 (double)answered[1] / seconds, (unsigned long long)lost,
                 (clock[1] - clock[0]) / seconds / 1e7,
                 (clock[1] - clock[0]) / 1e3 / (double)answered[1]);
    line("8  ckagg at 8 probes/s of each domain",
         (all[1] - all[0]) / seconds / 1e7, 10, "%", (double)answered[1]);
    line("8  bursts with the truth outside their bound", (double)outside, 0, "",
         (double)answered[1]);
    return outside == 0;
}

static void options_read(int argc, char **argv)
{
    static const struct ck_cli_option table[] = {
        {CK_CLI_INT, "domains", 0, "N", &options.domains, NULL,
         "clock domains (1000)"},
        {CK_CLI_INT, "seconds", 0, "T", &options.seconds, NULL,
         "how long ckagg's cost is watched (10)"},
        {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
    };
    static const struct ck_cli cli = {
        .program = "bench_clockcrowd",
        .usage = "[OPTION]...",
        .summary = "Many clock domains that probe one ckagg.",
        .options = table,
    };
    struct ck_err err;
    enum ck_cli_result result = ck_cli_parse(&cli, &argc, &argv, &err);

    if (result != CK_CLI_RUN || options.domains < 1 || options.seconds < 1 ||
        options.domains > WORKERS_MAX * DOMAINS_A_WORKER) {
        exit(result == CK_CLI_DONE ? 0 : 2);
    }
}

static void prepare(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)snprintf(root, sizeof(root), "/tmp/ck-crowd.XXXXXX");
    if (mkdtemp(root) == NULL) {
        die(root);
    }
    shared = mmap(NULL,
                  sizeof(*shared) +
                      (size_t)options.domains * sizeof(shared->results[0]),
                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        die("memory");
    }
}

static unsigned workers_start(pid_t *workers)
{
    unsigned count = 0;

    for (unsigned first = 0; first < (unsigned)options.domains;
         first += DOMAINS_A_WORKER) {
        unsigned left = (unsigned)options.domains - first;
        pid_t pid = fork();

        if (pid < 0) {
            die("fork");
        }
        if (pid == 0) {
            worker_run(first,
                       left < DOMAINS_A_WORKER ? left : DOMAINS_A_WORKER);
        }
        workers[count++] = pid;
    }
    return count;
}

int main(int argc, char **argv)
{
    pid_t workers[WORKERS_MAX];
    char command[192];
    unsigned count;
    bool is_good;
    pid_t ckagg;
    int status;

    options_read(argc, argv);
    prepare();
    ckagg = ckaggchild_start(root, NULL, &endpoint);
    count = workers_start(workers);
    is_good = wait_calibrated();
    first_say();
    is_good = watch(ckagg) && is_good;
    shared->is_over = 1;
    for (unsigned i = 0; i < count; i++) {
        (void)waitpid(workers[i], &status, 0);
    }
    (void)kill(ckagg, SIGTERM);
    (void)waitpid(ckagg, &status, 0);
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command) != 0 || !is_good;
}
