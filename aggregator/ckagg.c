/* ckagg.c - the aggregator: takes the frames of all agents, stores, merges
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/socket/agg.h"
#include "aggregator/socket/ask.h"
#include "aggregator/clock/clockserve.h"
#include "aggregator/http/httpserver.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/live/live.h"
#include "aggregator/service.h"
#include "launch/build.h"
#include "launch/cli.h"
#include "launch/format.h"
#include "launch/keep.h"
#include "launch/log.h"
#include "launch/loopback.h"
#include "launch/parents.h"
#include "schema/fd.h"
#include "schema/store/run.h"

#define DEFAULT_URL "tcp://127.0.0.1:7700"
#define LOG_FILE "ckagg.log"
#define LONG_MESSAGE (512 << 10)
#define HEAP_KEPT (4 << 20)

struct options {
    struct ck_cli_list listen;
    struct ck_cli_list outputs;
    const char *dir;
    const char *job;
    const char *keep_text;
    const char *http;
    struct ck_keep keep;
    int64_t size;
    int64_t clock_port;
    int64_t retain;
    int64_t job_timeout;
    int64_t beat_timeout;
    bool is_embedded;
    bool is_insecure;
    bool is_forced;
    bool is_status;
    bool is_clocks;
    bool is_where;
    bool is_json;
    bool has_merge;
    bool has_page;
    bool is_verbose;
};

static struct options options = {
    .dir = NULL,
    .job_timeout = 600 * CK_TIME_S,
    .beat_timeout = 5 * CK_TIME_S,
    .has_merge = true,
    .has_page = true,
};

static const struct ck_cli_option table[] = {
    {CK_CLI_HEADING, "Addresses and files", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_LIST, "listen", 'l', "URL", &options.listen, NULL,
     "Listen on tcp://HOST:PORT or ipc://PATH; may be given several times. "
     "Port "
     "0 is any free port, host 0.0.0.0 or * means all addresses "
     "(default " DEFAULT_URL ")"},
    {CK_CLI_TEXT, "dir", 'd', "DIR", &options.dir, NULL,
     "Directory of the runs (default .). With --embedded: the run directory "
     "itself (default ck-KEY-TIME)"},
    {CK_CLI_FLAG, "insecure", 0, NULL, &options.is_insecure, NULL,
     "Accept tcp connections from other hosts without keys and token; the "
     "agents need this option as well"},
    {CK_CLI_INT, "clock-port", 0, "PORT", &options.clock_port, NULL,
     "Answer clock probes on this UDP and TCP port, for firewalls (default "
     "0: any free port, which the agents learn when they connect)"},
    {CK_CLI_TEXT, "http", 0, "HOST:PORT", &options.http, NULL,
     "Serve the HTML page of running jobs, and their metrics, at this address "
     "of loopback (127.0.0.1:0: any free port). The log has the address with "
     "its token. From another machine: ssh -L PORT:127.0.0.1:PORT HOST"},
    {CK_CLI_HEADING, "Jobs", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_FLAG, "embedded", 0, NULL, &options.is_embedded, NULL,
     "Serve one job and exit when it has ended; log to DIR/" LOG_FILE},
    {CK_CLI_TEXT, "job", 'j', "KEY", &options.job, NULL,
     "With --embedded: the job's key (default: that of the first agent). With "
     "--where: the job that is asked about"},
    {CK_CLI_INT, "size", 'n', "N", &options.size, NULL,
     "With --embedded: number of ranks to expect (default: the number that "
     "the agents report)"},
    {CK_CLI_DURATION, "job-timeout", 0, "TIME", &options.job_timeout, NULL,
     "Close a job after TIME without a message from any of its agents "
     "(default 10m; 0: never)"},
    {CK_CLI_DURATION, "beat-timeout", 0, "TIME", &options.beat_timeout, NULL,
     "Consider an agent dead after TIME without a message if its process no "
     "longer exists (default 5s; six times that for agents on other hosts)"},
    {CK_CLI_HEADING, "Results", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_FLAG, "merge", 0, NULL, &options.has_merge, NULL,
     "Run ckmerge when a job has ended (default; --no-merge only stores the "
     "run)"},
    {CK_CLI_LIST, "output", 'o', "FORMAT", &options.outputs, CK_FORMAT_NAMES,
     "Pass FORMAT to ckmerge; may be given several times"},
    {CK_CLI_FLAG, "force", 0, NULL, &options.is_forced, NULL,
     "Pass --force to ckmerge: FORMAT=FILE replaces a file that ck did not "
     "write"},
    {CK_CLI_FLAG, "page", 0, NULL, &options.has_page, NULL,
     "Let ckmerge write the report as an HTML page too, report.html in the "
     "run (default; --no-page: do not)"},
    {CK_CLI_TEXT, "keep", 0, "SIZE|TIME", &options.keep_text, NULL,
     "Keep only the newest part of each run: SIZE of disk (2G), divided "
     "evenly among its ranks, or for each rank the last TIME in which it "
     "recorded anything (5min) (default: keep everything)"},
    {CK_CLI_INT, "retain", 0, "N", &options.retain, NULL,
     "Keep the N newest finished runs in DIR and remove older ones (default "
     "0: keep all)"},
    {CK_CLI_HEADING, "Queries and log", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_FLAG, "status", 's', NULL, &options.is_status, NULL,
     "Print what the ckagg at ENDPOINT has recorded (default: "
     "CKAGENT_AGGREGATOR, then the file named by CKAGG_KEYFILE)"},
    {CK_CLI_FLAG, "clocks", 0, NULL, &options.is_clocks, NULL,
     "Print the clock offsets of that ckagg's agents, with their error "
     "bounds"},
    {CK_CLI_FLAG, "where", 'w', NULL, &options.is_where, NULL,
     "Print where all ranks of a running job are: which collective or message "
     "misses whom, and the stacks of all threads, the unusual ones first. The "
     "job is that of a run directory, or of the ckagg at ENDPOINT (with --job "
     "KEY where it has several). Nothing is stopped, no signal is sent"},
    {CK_CLI_FLAG, "json", 0, NULL, &options.is_json, NULL,
     "With --status or --clocks: print JSON"},
    {CK_CLI_FLAG, "verbose", 'v', NULL, &options.is_verbose, NULL, "Log more"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct ck_cli cli = {
    .program = "ckagg",
    .usage = "[OPTION]... | --status [ENDPOINT] | --clocks [ENDPOINT] | "
             "--where [RUN|ENDPOINT]",
    .summary = "Receives the records of all agents of one or more jobs, stores "
               "each job in a run directory, and merges it when it has ended.",
    .examples =
        "  ckagg --listen tcp://0.0.0.0:7700 --dir runs\n"
        "      run a service for many hosts and jobs; it prints its endpoint,\n"
        "      with keys, for CKAGENT_AGGREGATOR or --aggregator\n"
        "  ckagg --status tcp://127.0.0.1:7700\n"
        "  ckagg --where ck-train-20261121T093000\n"
        "      where a job that hangs is, while it hangs\n",
    .options = table,
};

/* Who started an embedded ckagg reads its stdout for the ready line: it gets
 * the reason there. */
static void say_failed(const struct ck_err *err)
{
    if (options.is_embedded) {
        (void)printf("ckagg failed %s\n", err->text);
        (void)fflush(stdout);
    }
}

static int die(int code, const struct ck_err *err)
{
    ck_error("%s", err->text);
    return code;
}

/* Each agent has a file open. */
static void raise_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Memory of long messages goes back to the system when they are gone, whatever
 * strangers send; that of usual frames is kept for the next. */
static void bound_heap(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, LONG_MESSAGE);
    (void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
}

/* Name of an embedded job's run where --dir gives none. */
static const char *dir_name(void)
{
    static char name[JOB_NAME_BYTES + 64];
    char clean[JOB_NAME_BYTES];
    char stamp[32];
    struct tm tm;
    time_t now = time(NULL);

    job_name_clean(options.job ? options.job : "job", clean);
    (void)gmtime_r(&now, &tm);
    (void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
    (void)snprintf(name, sizeof(name), "ck-%s-%s-%d", clean, stamp,
                   (int)getpid());
    return name;
}

static int dir_create(const char *dir, struct ck_err *err)
{
    if (options.is_embedded) {
        return ck_run_create(dir, err);
    }
    return mkdir(dir, 0700) == 0 || errno == EEXIST
               ? 0
               : ck_err_set(err, "cannot make %s: %s", dir, strerror(errno));
}

/* The directory, made at need, as an absolute path. */
static int dir_open(const char *dir, char path[PATH_MAX], struct ck_err *err)
{
    if (dir_create(dir, err) != 0 &&
        (!ck_parents_create(dir) || dir_create(dir, err) != 0)) {
        return -1;
    }
    if (!realpath(dir, path)) {
        return ck_err_set(err, "cannot use %s: %s", dir, strerror(errno));
    }
    if (access(path, W_OK | X_OK) != 0) {
        return ck_err_set(err, "cannot write in %s: %s", path, strerror(errno));
    }
    return 0;
}

/* The endpoint text for those who may have the keys. */
static int keyfile_write(const char *text, struct ck_err *err)
{
    const char *path = getenv("CKAGG_KEYFILE");
    FILE *file;
    int fd;

    if (!path || !path[0]) {
        return 0;
    }
    (void)unlink(path); /* it may be open to others */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        ck_fd_close(fd);
        return ck_err_set(err, "cannot write CKAGG_KEYFILE %s: %s", path,
                          strerror(errno));
    }
    (void)fprintf(file, "%s\n", text);
    if (fclose(file) != 0) {
        return ck_err_set(err, "cannot write CKAGG_KEYFILE %s: %s", path,
                          strerror(errno));
    }
    return 0;
}

/* Pages of running jobs. */
struct pages {
    struct live *live; /* NULL = there are none, */
    struct ck_err why; /* where they were asked for because of this */
};

/* On stdout the endpoint alone, to be pasted. An embedded one reports the run
 * and the pages to its starter as well, and then lets go of the starter's
 * files. */
static int say_ready(const struct agg *agg,
                     const struct pages *pages,
                     const char *dir,
                     struct ck_err *err)
{
    char text[CK_ENDPOINT_TEXT_BYTES];
    int fd;

    ck_endpoint_text(agg_endpoint(agg), text, sizeof(text));
    if (keyfile_write(text, err) != 0) {
        return -1;
    }
    if (!options.is_embedded) {
        (void)printf("%s\n", text);
        (void)fflush(stdout); /* there may be no reader */
        ck_info("listens; runs are stored in %s", dir);
        return 0;
    }
    if (pages->live) {
        (void)printf("ckagg pages %s\n", live_url(pages->live));
    } else if (options.http) {
        (void)printf("ckagg nopages %s\n", pages->why.text);
    }
    (void)printf("ckagg ready %s run=%s\n", text, dir);
    (void)fflush(stdout);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        (void)dup2(fd, STDIN_FILENO);
        (void)dup2(fd, STDOUT_FILENO);
        (void)close(fd);
    }
    return 0;
}

/* The log has the address of the pages, which is a secret: one that is there
 * from before is of this user alone from now on. */
static bool is_log_fit(int fd)
{
    struct stat facts;

    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
           (!options.http ||
            (facts.st_uid == geteuid() &&
             ((facts.st_mode & 077) == 0 || fchmod(fd, 0600) == 0)));
}

/* From now on stderr is the run's log. A link or a pipe of that name is not
 * followed or waited for: another user may have put it there. */
static int log_open(const char *dir, struct ck_err *err)
{
    const int flags =
        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    char path[PATH_MAX + sizeof(LOG_FILE)];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, LOG_FILE);
    fd = open(path, flags, 0600);
    if (fd < 0) {
        return ck_err_set(err, "cannot write %s: %s", path, strerror(errno));
    }
    if (!is_log_fit(fd)) {
        (void)close(fd);
        return ck_err_set(err,
                          "%s is no plain file of this user, and is not "
                          "written to",
                          path);
    }
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
    return 0;
}

/* Whoever may read the run learns from its manifest where to ask. */
static void run_listens(const struct agg *agg, const struct jobs *jobs)
{
    const struct ck_endpoint *endpoint = agg_endpoint(agg);

    for (size_t i = 0; options.is_embedded && i < endpoint->count; i++) {
        if (!ck_endpoint_is_tcp(endpoint->urls[i])) {
            job_listens(jobs_at(jobs, 0), endpoint->urls[i]);
        }
    }
}

/* Is ckagg reached from other hosts? */
static bool is_wide(const struct agg *agg)
{
    const struct ck_endpoint *endpoint = agg_endpoint(agg);

    for (size_t i = 0; i < endpoint->count; i++) {
        if (ck_endpoint_is_tcp(endpoint->urls[i]) &&
            !ck_endpoint_is_loopback(endpoint->urls[i])) {
            return true;
        }
    }
    return false;
}

/* 0, or -1 with err: a port was asked for and cannot be had. Without one the
 * job goes on, its clocks are not calibrated. */
static int
clock_open(const struct agg *agg, struct clockserve **serve, struct ck_err *err)
{
    struct clocksockets_options wish = {.port = (int)options.clock_port,
                                        .is_wide = is_wide(agg)};

    *serve = clockserve_create(&wish, err);
    if (*serve || options.clock_port != 0) {
        return *serve ? 0 : -1;
    }
    ck_warn("%s; clocks of other hosts are not calibrated", err->text);
    return 0;
}

/* 0, or -1 with err: pages were asked for and cannot be served. A job is
 * recorded all the same. */
static int
live_open(const struct jobs *jobs, struct pages *pages, struct ck_err *err)
{
    if (!options.http) {
        return 0;
    }
    pages->live = live_create(options.http, jobs, &pages->why);
    if (pages->live || options.is_embedded) {
        return 0;
    }
    *err = pages->why;
    return -1;
}

/* The address is a secret: an embedded ckagg writes it into its log, which is
 * of its user alone. */
static void say_live(const struct pages *pages)
{
    if (pages->live) {
        ck_log_fact("running jobs are shown at %s", live_url(pages->live));
    } else if (options.http) {
        ck_warn("running jobs are not shown: %s", pages->why.text);
    }
}

/* An embedded one that takes up a run after another that died logs it. */
static void say_known(const struct jobs *jobs)
{
    if (options.is_embedded && job_peers(jobs_at(jobs, 0)) > 0) {
        ck_info("goes on with the run in %s: %zu agents are known from it",
                job_facts(jobs_at(jobs, 0))->dir, job_peers(jobs_at(jobs, 0)));
    }
}

/* Logged once: probes that were not answered were not ours. */
static void clock_say(const struct clockserve *serve)
{
    struct clocksession_facts facts;

    if (!serve) {
        return;
    }
    facts = clocksessions_facts(clockserve_sessions(serve));
    if (facts.answered > 0) {
        ck_info("clock probes: %llu answered",
                (unsigned long long)facts.answered);
    }
    for (unsigned i = CLOCKSESSION_GOOD + 1; i < CLOCKSESSION_VERDICTS; i++) {
        if (facts.verdicts[i] > 0) {
            ck_warn("dropped %llu clock probes: %s",
                    (unsigned long long)facts.verdicts[i],
                    clocksession_verdict_name((enum clocksession_verdict)i));
        }
    }
}

static int serve(struct agg *agg, struct jobs *jobs, const char *dir)
{
    struct ck_err err;
    struct service_options settings = {
        .limits = {.peer = {.beat = options.beat_timeout,
                            .remote = 6 * options.beat_timeout},
                   .silence = options.job_timeout},
        .merging = {.outputs = options.outputs.items,
                    .is_forced = options.is_forced,
                    .is_pageless = !options.has_page},
        .dir = dir,
        .retain = options.retain,
        .is_embedded = options.is_embedded,
        .has_merge = options.has_merge,
        .has_line =
            !options.is_embedded && ck_terminal_has_colour(STDERR_FILENO),
    };
    struct service *service = service_create(agg, jobs, &settings, &err);
    struct clockserve *clock = NULL;
    struct pages pages = {.live = NULL};
    int code = CK_EXIT_FAILED;

    if (!service || clock_open(agg, &clock, &err) != 0 ||
        live_open(jobs, &pages, &err) != 0 ||
        say_ready(agg, &pages, dir, &err) != 0 ||
        (options.is_embedded && log_open(dir, &err) != 0)) {
        say_failed(&err);
        (void)die(code, &err);
    } else {
        run_listens(agg, jobs);
        service_clock(service, clock);
        service_live(service, pages.live);
        say_live(&pages);
        say_known(jobs);
        code = service_run(service);
        clock_say(clock);
    }
    service_destroy(service);
    live_destroy(pages.live);
    clockserve_destroy(clock);
    return code;
}

static int run(void)
{
    static const char *const default_urls[] = {DEFAULT_URL};
    struct agg_options sockets = {.urls = default_urls,
                                  .urls_count = 1,
                                  .is_insecure = options.is_insecure};
    struct jobs_options settings = {.key = options.job ? options.job : "",
                                    .size = options.size,
                                    .is_embedded = options.is_embedded,
                                    .keep = options.keep};
    char dir[PATH_MAX];
    struct ck_err err;
    struct jobs *jobs = NULL;
    struct agg *agg = NULL;
    int code = CK_EXIT_FAILED;

    if (options.listen.count > 0) {
        sockets.urls = options.listen.items;
        sockets.urls_count = (size_t)options.listen.count;
    }
    settings.dir = dir;
    /* The sockets first: a ckagg that comes second must not touch the run. */
    if (!options.dir) {
        options.dir = options.is_embedded ? dir_name() : ".";
    }
    if (dir_open(options.dir, dir, &err) != 0 ||
        !(agg = agg_create(&sockets, &err)) ||
        !(jobs = jobs_create(&settings, &err))) {
        say_failed(&err);
        code = die(code, &err);
    } else {
        code = serve(agg, jobs, dir);
    }
    agg_destroy(agg);
    jobs_destroy(jobs);
    return code;
}

/* Numbers are within their ranges. 0, or -1 with err. */
static int numbers_check(struct ck_err *err)
{
    const struct {
        const char *name;
        int64_t value;
        int64_t least;
        int64_t most;
    } rows[] = {
        {"size", options.size, 0, JOB_SIZE_MAX},
        {"retain", options.retain, 0, INT64_MAX},
        {"clock-port", options.clock_port, 0, 65535},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].value >= rows[i].least && rows[i].value <= rows[i].most) {
            continue;
        }
        if (rows[i].most == INT64_MAX) {
            return ck_err_set(err, "option --%s: %lld is less than %lld",
                              rows[i].name, (long long)rows[i].value,
                              (long long)rows[i].least);
        }
        return ck_err_set(err, "option --%s: %lld is not in %lld to %lld",
                          rows[i].name, (long long)rows[i].value,
                          (long long)rows[i].least, (long long)rows[i].most);
    }
    if (options.beat_timeout == 0) {
        return ck_err_set(err, "option --beat-timeout: 0 would take every "
                               "agent for dead");
    }
    return 0;
}

/* Texts with a grammar of their own. 0, or -1 with err. */
static int texts_check(struct ck_err *err)
{
    if (options.keep_text &&
        ck_keep_parse(options.keep_text, &options.keep, err) != 0) {
        return -1;
    }
    if (options.http &&
        (options.is_embedded ? ck_loopback_check(options.http, err)
                             : httpserver_check(options.http, err)) != 0) {
        return -1;
    }
    for (int i = 0; i < options.listen.count; i++) {
        if (ck_endpoint_check_listen(options.listen.items[i], err) != 0) {
            return -1;
        }
    }
    return ck_formats_check(options.outputs.items, options.outputs.count, NULL,
                            err);
}

static int check(int argc, struct ck_err *err)
{
    bool is_question =
        options.is_status || options.is_clocks || options.is_where;

    if (argc > 0 && (!is_question || argc > 1)) {
        return ck_err_set(err, "only --status, --clocks and --where take an "
                               "operand, one ENDPOINT (or RUN); "
                               "see ckagg --help");
    }
    if (!options.is_embedded &&
        ((options.job && !options.is_where) || options.size)) {
        return ck_err_set(err, "--job and --size belong to --embedded");
    }
    return numbers_check(err) == 0 && texts_check(err) == 0 ? 0 : -1;
}

static const char *format_wanted(void)
{
    if (options.is_clocks) {
        return options.is_json ? "clocks-json" : "clocks";
    }
    return options.is_json ? "json" : "table";
}

/* Jobs are not to wait for who reads the log. */
#define STDERR_PATIENCE_MS 2000

int main(int argc, char **argv)
{
    struct ck_endpoint to;
    struct ck_err err;

    /* Its directories must be there for itself, whatever the mask is. */
    (void)umask(umask(0) & ~(mode_t)S_IRWXU);
    ck_log_init("ckagg", -1, CK_LOG_INFO);
    ck_cli_facts(ck_build_facts);
    switch (ck_cli_parse(&cli, &argc, &argv, &err)) {
    case CK_CLI_RUN:
        break;
    case CK_CLI_DONE:
        return CK_EXIT_DONE;
    case CK_CLI_WRONG:
        return die(CK_EXIT_MISUSE, &err);
    }
    if (check(argc, &err) != 0) {
        return die(CK_EXIT_MISUSE, &err);
    }
    if (options.is_verbose) {
        ck_log_init("ckagg", -1, CK_LOG_DEBUG);
    }
    if (options.is_status || options.is_clocks || options.is_where) {
        int code = CK_EXIT_FAILED;

        if (ask_endpoint(argc > 0 ? argv[0] : NULL, &to, &err) != 0) {
            return die(CK_EXIT_MISUSE, &err);
        }
        code = options.is_where ? ask_where(&to, options.job, &err)
                                : ask_status(&to, format_wanted(), &err);
        return code == CK_EXIT_DONE ? code : die(code, &err);
    }
    ck_log_patience(STDERR_PATIENCE_MS);
    raise_files();
    bound_heap();
    service_block_signals();
    return run();
}
