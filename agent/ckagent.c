/* ckagent.c - run a program and record it: options, then the front
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/link/claim.h"
#include "agent/process/cgroup.h"
#include "agent/clock/clocksync.h"
#include "agent/front/front.h"
#include "agent/process/identity.h"
#include "agent/process/inherited.h"
#include "agent/collector/leftovers.h"
#include "agent/front/libraries.h"
#include "agent/symbols/lookup.h"
#include "agent/link/paths.h"
#include "agent/process/ranklist.h"
#include "agent/process/torchrun.h"
#include "agent/ring/ringsize.h"
#include "agent/collector/salvage.h"
#include "agent/perf/offcpu.h"
#include "agent/perf/sampler.h"
#include "agent/stream/spool.h"
#include "agent/front/rank0substitute.h"
#include "agent/front/target.h"
#include "launch/build.h"
#include "launch/child.h"
#include "launch/cli.h"
#include "launch/keep.h"
#include "launch/log.h"
#include "launch/loopback.h"
#include "schema/endpoint.h"
#include "schema/batch/pack.h"

/* Of one thread: 32 million marks. */
#define SLOT_BYTES_MOST ((int64_t)1 << 30)
/* Rings of a host take one such part of its memory at most. */
#define MEMORY_PARTS 8
/* From one sample of --allocations to the next. */
#define ALLOCATIONS_LEAST ((int64_t)1 << 10)
#define ALLOCATIONS_MOST ((int64_t)1 << 30)
/* Of a ring with an outbox and a few slots. */
#define RING_BYTES_LEAST ((int64_t)256 << 10)

static struct options {
    const char *aggregator;
    const char *dir;
    const char *job;
    const char *ranks;
    const char *clock;
    const char *shortcut;
    const char *report;
    const char *pack;
    const char *posix;
    const char *openmp;
    const char *python;
    const char *sample;
    const char *keep;
    const char *http;
    int64_t limit;
    int64_t ring_bytes;
    int64_t slot_bytes;
    int64_t spool_limit;
    int64_t posix_threshold;
    int64_t sample_hz;
    int64_t stack_bytes;
    int64_t off_cpu;
    int64_t allocations;
    bool has_page;
    bool is_insecure;
    bool is_strict;
    bool is_clean;
    bool is_lines;
    bool is_verbose;
} options = {
    .clock = "auto",
    .shortcut = "on",
    .report = "now",
    .has_page = true,
    .posix = "on",
    .openmp = "on",
    .python = "on",
    .posix_threshold = 10 * CK_TIME_US,
    .sample_hz = SAMPLER_HZ,
    .stack_bytes = SAMPLER_STACK_BYTES,
    .off_cpu = OFFCPU_LEAST,
    .spool_limit = (int64_t)SPOOL_LIMIT_BYTES,
};

static const struct ck_cli_option table[] = {
    {CK_CLI_HEADING, "What to record", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_TEXT, "ranks", 'r', "LIST", &options.ranks, NULL,
     "Record only these ranks, for example 0,4-7; the others run unrecorded "
     "(default: CKAGENT_RANKS, or all ranks)"},
    {CK_CLI_BYTES, "limit", 0, "SIZE", &options.limit, NULL,
     "Stop recording a rank after it has stored SIZE (default: no limit)"},
    {CK_CLI_TEXT, "keep", 0, "SIZE|TIME", &options.keep, NULL,
     "Keep only the newest part of the run: SIZE of disk for all ranks "
     "together (2G), or the last TIME of each rank (5min) (default: keep "
     "everything). Applies to the ckagg that is started for this job"},
    {CK_CLI_CHOICE, "clock", 0, NULL, &options.clock, "auto|tsc|raw",
     "Clock of the record time stamps: tsc = the processor's counter, raw = "
     "the kernel's, read for each (default auto: tsc if the kernel itself uses "
     "it, else the kernel's, with the counter between two readings)"},
    {CK_CLI_CHOICE, "clock-shortcut", 0, NULL, &options.shortcut, "on|off",
     "Treat ranks that share the aggregator's clock as exactly aligned. off "
     "probes them like ranks on other hosts; for tests (default on)"},
    {CK_CLI_CHOICE, "posix", 0, NULL, &options.posix, "on|off",
     "Record libc calls that can block: files, sockets, locks, sleeps "
     "(default on)"},
    {CK_CLI_DURATION, "posix-threshold", 0, "TIME", &options.posix_threshold,
     NULL,
     "Record libc calls that take at least TIME; only count shorter ones "
     "(default 10us)"},
    {CK_CLI_CHOICE, "openmp", 0, NULL, &options.openmp, "on|off",
     "Record the parallel regions, barriers, locks and tasks of OpenMP "
     "programs "
     "(default on)"},
    {CK_CLI_TEXT, "sample", 0, "HZ|off", &options.sample, NULL,
     "Sample each thread's stack HZ times per second of its CPU time, and "
     "record when it has no CPU (default 99)"},
    {CK_CLI_BYTES, "sample-stack", 0, "SIZE", &options.stack_bytes, NULL,
     "Copy up to SIZE of a thread's stack with each sample, to find the "
     "callers "
     "in code without frame pointers: at most 60 KiB, 0 to follow frame "
     "pointers only (default 16 KiB)"},
    {CK_CLI_DURATION, "off-cpu", 0, "TIME", &options.off_cpu, NULL,
     "Record the stack of a thread that waits in the kernel for at least TIME; "
     "0 records none (default 1ms)"},
    {CK_CLI_BYTES_OR, "allocations", 0, "SIZE", &options.allocations, "512K",
     "Record where memory comes from: one in SIZE bytes that the program asks "
     "of its allocator, with the stack, and whether it was given back "
     "(512 KiB without =SIZE; default: none)"},
    {CK_CLI_CHOICE, "python", 0, NULL, &options.python, "on|off",
     "Read function, file and line of the Python code that sampled threads "
     "run, from outside of the program (default on)"},
    {CK_CLI_HEADING, "Where to store it", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_TEXT, "dir", 'd', "DIR", &options.dir, NULL,
     "Run directory (default: CKAGENT_DIR, or ck-JOB-START in the working "
     "directory)"},
    {CK_CLI_TEXT, "aggregator", 'a', "ENDPOINT", &options.aggregator, NULL,
     "Send to this running ckagg, for example tcp://HOST:PORT (default: "
     "CKAGENT_AGGREGATOR; without it rank 0 starts one for the job)"},
    {CK_CLI_TEXT, "job", 'j', "NAME", &options.job, NULL,
     "Name of the job, for launchers that do not give all hosts the same one; "
     "another one for each start"},
    {CK_CLI_FLAG, "insecure", 0, NULL, &options.is_insecure, NULL,
     "Allow tcp to other hosts without keys; ckagg needs this option as well"},
    {CK_CLI_CHOICE, "pack", 0, NULL, &options.pack, "none|lz4|zstd",
     "Compress the data that is sent (default: none on one host, lz4 over "
     "tcp)"},
    {CK_CLI_BYTES, "spool-limit", 0, "SIZE", &options.spool_limit, NULL,
     "Maximum size of the file that keeps data while ckagg cannot be reached "
     "(default 1 GiB)"},
    {CK_CLI_CHOICE, "report", 0, NULL, &options.report, "now|later|none",
     "now: rank 0 waits for the report and prints it on stderr. later: rank "
     "0 prints where the report will be (default now)"},
    {CK_CLI_FLAG, "page", 0, NULL, &options.has_page, NULL,
     "Write the report as an HTML page too, report.html in the run (default; "
     "--no-page: do not). Applies to the ckagg that is started for this job"},
    {CK_CLI_TEXT, "http", 0, "HOST:PORT", &options.http, NULL,
     "Serve the HTML page of the running job, and its metrics, at this address "
     "of loopback on the host of rank 0 (127.0.0.1:0: any free port); the "
     "address with its token is printed. Applies to the ckagg that is started "
     "for this job"},
    {CK_CLI_HEADING, "Memory and modes", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_BYTES, "ring-bytes", 0, "SIZE", &options.ring_bytes, NULL,
     "Maximum recording memory of this rank (default: its share of /dev/shm)"},
    {CK_CLI_BYTES, "slot-bytes", 0, "SIZE", &options.slot_bytes, NULL,
     "Recording memory of one thread: a power of two from 16 KiB to 1 GiB "
     "(default 4 MiB, or less if memory is short)"},
    {CK_CLI_FLAG, "strict", 0, NULL, &options.is_strict, NULL,
     "Do not start the program if it cannot be recorded (default: print a "
     "warning and run it unrecorded)"},
    {CK_CLI_FLAG, "clean", 0, NULL, &options.is_clean, NULL,
     "Start no program. Move the data that killed agents left in memory to "
     "disk, and free that memory; with --dir only for that run"},
    {CK_CLI_FLAG, "lines", 0, NULL, &options.is_lines, NULL,
     "Start no program. Read lines \"ADDRESS BIAS BUILD_ID PATH\" from stdin "
     "and print line, function and file for each, as ckmerge's own program for "
     "call sites of killed agents does"},
    {CK_CLI_FLAG, "verbose", 'v', NULL, &options.is_verbose, NULL, "Log more"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct ck_cli cli = {
    .program = "ckagent",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .summary =
        "Runs PROGRAM and records its MPI calls, device work, blocking libc "
        "calls "
        "and CPU samples; start one ckagent for each rank. The program's "
        "output, signals and exit status are not changed.",
    .examples =
        "  mpirun -n 4 ckagent -- ./train\n"
        "      record four ranks and print the report at the end; as root, or\n"
        "      with more ranks than cores, mpirun itself requires\n"
        "      --allow-run-as-root and --oversubscribe\n"
        "  ckagent -- torchrun --nproc_per_node 2 train.py\n"
        "      one ckagent for several ranks\n"
        "  mpirun -n 64 ckagent --ranks 0-3,63 --dir run1 -- ./train\n"
        "  CKAGENT_OFF=1 mpirun -n 4 ckagent -- ./train\n"
        "      run the same command without recording\n",
    .options = table,
    .stops_at_operand = true,
};

#define SALVAGE_LIMIT CK_TIME_S /* at the start of a run */

/* Text of a variable that is set and not empty, else NULL. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

/* Exec the program as it would be without us. */
static int run_plain(char **argv)
{
    int failed;

    inherited_restore();
    target_exec(argv, environ);
    failed = errno;
    ck_error("cannot run '%s': %s", argv[0], strerror(failed));
    return failed == ENOENT ? CK_EXIT_NOT_FOUND : CK_EXIT_NOT_EXECUTABLE;
}

/* Recording cannot start: logged once; the program runs, or not. */
static int run_unrecorded(char **argv, const struct ck_err *err)
{
    if (options.is_strict) {
        ck_error("%s (--strict: the program was not started)", err->text);
        return CK_EXIT_AGENT_FAILED;
    }
    ck_warn("%s; the program runs without recording", err->text);
    return run_plain(argv);
}

/* What is true for all ranks is logged by the first that is recorded. */
static bool is_speaker(const struct identity *identity)
{
    return identity->place.rank == ranklist_first(options.ranks);
}

/* What may differ from host to host is logged once on each. */
static bool is_host_speaker(const struct identity *identity)
{
    return is_speaker(identity) ||
           (!identity_is_one_host(identity) && identity->place.local_rank == 0);
}

/* CKAGENT_OPTIONS first, then the command line. Result as ck_cli_parse(). */
static enum ck_cli_result
options_read(int *argc, char ***argv, struct ck_err *err)
{
    enum ck_cli_result result =
        ck_cli_parse_variable(&cli, "CKAGENT_OPTIONS", err);

    if (result == CK_CLI_RUN) {
        result = ck_cli_parse(&cli, argc, argv, err);
    }
    if (options.aggregator == NULL) {
        options.aggregator = variable("CKAGENT_AGGREGATOR");
    }
    if (options.dir == NULL) {
        options.dir = variable("CKAGENT_DIR");
    }
    if (options.ranks == NULL) {
        options.ranks = variable("CKAGENT_RANKS");
    }
    return result;
}

/* A rate, or "off". 0, or -1 with err. */
static int sample_check(struct ck_err *err)
{
    char *end;

    if (options.sample == NULL) {
        return 0;
    }
    if (strcmp(options.sample, "off") == 0) {
        options.sample_hz = 0;
        return 0;
    }
    options.sample_hz = strtoll(options.sample, &end, 10);
    if (*end != '\0' || options.sample_hz < 1 ||
        options.sample_hz > SAMPLER_HZ_MAX) {
        return ck_err_set(err, "--sample %s: off, or 1 to %d a second",
                          options.sample, SAMPLER_HZ_MAX);
    }
    return 0;
}

/* It is the aggregator that keeps. 0, or -1 with err. */
static int keep_check(struct ck_err *err)
{
    struct ck_keep keep;

    if (options.keep == NULL) {
        return 0;
    }
    if (options.aggregator != NULL) {
        return ck_err_set(err, "--keep is for the ckagg that is started for "
                               "the job; give it to the one that runs");
    }
    return ck_keep_parse(options.keep, &keep, err);
}

/* The same of pages. */
static int http_check(struct ck_err *err)
{
    if (options.http == NULL) {
        return 0;
    }
    if (options.aggregator != NULL) {
        return ck_err_set(err, "--http is for the ckagg that is started for "
                               "the job; give it to the one that runs");
    }
    return ck_loopback_check(options.http, err);
}

/* Texts that have a grammar of their own. 0, or -1 with err. */
static int options_check(struct ck_err *err)
{
    struct ck_endpoint endpoint;
    struct ck_err wrong;
    struct ck_domain domain;

    if (ck_domain_read(&domain, err) != 0) {
        return -1;
    }
    if (options.ranks != NULL && ranklist_check(options.ranks, err) != 0) {
        return -1;
    }
    if (sample_check(err) != 0 || keep_check(err) != 0 ||
        http_check(err) != 0) {
        return -1;
    }
    if (options.dir != NULL && options.dir[0] == '\0') {
        return ck_err_set(err, "--dir: the name of a directory is missing");
    }
    if (options.ring_bytes != 0 && options.ring_bytes < RING_BYTES_LEAST) {
        return ck_err_set(err, "--ring-bytes: at least 256KiB");
    }
    if (options.slot_bytes != 0 &&
        (options.slot_bytes < (int64_t)RINGPLAN_SLOT_BYTES_LEAST ||
         options.slot_bytes > SLOT_BYTES_MOST)) {
        return ck_err_set(err, "--slot-bytes: 16KiB to 1GiB");
    }
    if (options.stack_bytes < 0 ||
        options.stack_bytes > SAMPLER_STACK_BYTES_MAX) {
        return ck_err_set(err, "--sample-stack: 0 to 60KiB");
    }
    if (options.off_cpu < 0 || options.off_cpu > CK_TIME_S) {
        return ck_err_set(err, "--off-cpu: 0 to 1s");
    }
    if (options.allocations != 0 && (options.allocations < ALLOCATIONS_LEAST ||
                                     options.allocations > ALLOCATIONS_MOST)) {
        return ck_err_set(err, "--allocations: 1KiB to 1GiB");
    }
    if (options.posix_threshold < 0 || options.posix_threshold > CK_TIME_S) {
        return ck_err_set(err, "--posix-threshold: 0 to 1s");
    }
    if (options.aggregator != NULL &&
        ck_endpoint_parse(options.aggregator, &endpoint, &wrong) != 0) {
        return ck_err_set(err, "aggregator: %s", wrong.text);
    }
    return 0;
}

static int ring_make(struct ringfile *ring,
                     const struct identity *identity,
                     struct ck_err *err)
{
    struct ringfile_wish wish = {
        .plan = {.slot_bytes = (uint64_t)options.slot_bytes},
        .bound = (uint64_t)options.ring_bytes,
        .memory = cgroup_memory() / MEMORY_PARTS,
        .sharers = (unsigned)identity->place.local_size,
        .clock = clocksync_choose(),
        .rank =
            identity->place.is_ranked ? (uint32_t)identity->place.rank : ~0u,
        .size = (uint32_t)identity->place.size,
    };
    char line[RINGSIZE_LINE] = "";

    if (strcmp(options.clock, "raw") == 0) {
        wish.clock = CK_CLOCK_RAW;
    } else if (strcmp(options.clock, "tsc") == 0) {
        wish.clock = CK_CLOCK_TSC;
    }
    memcpy(wish.agent, identity->agent, sizeof(wish.agent));
    if (ringfile_create(ring, &wish, err) != 0) {
        return -1;
    }
    if (is_host_speaker(identity)) {
        ringsize_line(ring, &wish, line);
    }
    if (line[0] != '\0') {
        ck_warn("%s", line);
    }
    return 0;
}

static enum front_report report_choice(void)
{
    if (strcmp(options.report, "none") == 0) {
        return FRONT_REPORT_NONE;
    }
    return strcmp(options.report, "later") == 0 ? FRONT_REPORT_LATER
                                                : FRONT_REPORT_NOW;
}

/* --strict holds the program until an aggregator answers, where one can be
 * known before the program runs: named by the user, or of this host. Other
 * hosts learn it from the program's own MPI_Init. */
static bool must_wait(const struct identity *identity)
{
    return options.is_strict &&
           (options.aggregator != NULL || identity_is_one_host(identity) ||
            identity->place.rank == 0);
}

/* Where the program is an interpreter by its name, its samples are taken one
 * by one. */
static enum sampler_python python_choice(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash == NULL ? program : slash + 1;

    if (strcmp(options.python, "off") == 0) {
        return SAMPLER_PYTHON_OFF;
    }
    return strncmp(name, "python", 6) == 0 ? SAMPLER_PYTHON_PROMPT
                                           : SAMPLER_PYTHON_ON;
}

/* What the job's ckagg is found or started by. */
static struct agent_config config_of(const struct identity *identity,
                                     const struct paths *places)
{
    return (struct agent_config){
        .identity = identity,
        .aggregator = options.aggregator,
        .dir = places->dir,
        .fallback = places->fallback,
        .claim = places->claim,
        .keep = options.keep,
        .http = options.http,
        .is_pageless = !options.has_page,
        .recorded = ranklist_count(options.ranks, identity->place.size),
        .is_dir_given = options.dir != NULL,
        .is_insecure = options.is_insecure,
        .is_verbose = options.is_verbose,
    };
}

static void wish_fill(struct front_wish *wish,
                      const struct identity *identity,
                      struct ringfile *ring,
                      const struct paths *places)
{
    struct agent_config *config = &wish->config;
    bool is_first = is_speaker(identity);

    wish->report = report_choice();
    wish->sample_hz = options.sample_hz;
    wish->stack_bytes = (uint32_t)options.stack_bytes;
    wish->off_cpu = options.off_cpu;
    wish->python = python_choice(wish->argv[0]);
    wish->is_speaker = is_first;
    wish->is_waiting = must_wait(identity);
    *config = config_of(identity, places);
    config->ring = ring;
    config->obstacle = target_obstacle(wish->argv[0]);
    config->env = environ;
    config->limit = (uint64_t)options.limit;
    config->spool_limit = (uint64_t)options.spool_limit;
    config->is_strict = wish->is_waiting;
    config->is_reporter = is_first && wish->report == FRONT_REPORT_NOW;
    config->is_closer = is_first && wish->report != FRONT_REPORT_NOW &&
                        options.aggregator == NULL;
    config->is_leader =
        options.ranks == NULL && !is_first && options.aggregator == NULL &&
        identity_is_one_host(identity) && wish->report == FRONT_REPORT_NOW;
    config->is_speaker = is_host_speaker(identity);
    config->is_pack_given = options.pack != NULL;
    config->is_counted = strcmp(options.clock, "auto") == 0;
    if (options.pack != NULL) {
        (void)ck_pack_from_name(options.pack, &config->pack);
    }
}

/* One line about all of them. */
static void leftovers_say(const struct leftovers *leftovers)
{
    char line[LEFTOVERS_LINE];

    leftovers_line(leftovers, line);
    if (leftovers->failed > 0 || leftovers->lost > 0) {
        ck_warn("%s", line);
    } else if (line[0] != '\0') {
        ck_log_plain("ckagent: %s", line);
    }
}

/* --clean: each of them. */
static void clean_tell(const char *path,
                       enum salvage_state state,
                       const struct salvage *found,
                       void *context)
{
    struct leftovers one = {.failed = 0};
    int *failed = context;

    if (state == SALVAGE_FAILED && options.dir != NULL && found->is_foreign) {
        return; /* whether it is of that run cannot be known */
    }
    *failed += state == SALVAGE_FAILED || state == SALVAGE_LIVES;
    if (state == SALVAGE_LIVES) {
        ck_warn("%s: process %d still runs without its agent; its records are "
                "recovered when it has ended",
                path, (int)found->program);
        return;
    }
    leftovers_add(path, state, found, &one);
    leftovers_say(&one);
}

/* Before a run: what killed agents of this host left. Records are moved once,
 * but a file that cannot be read is found by each rank: one reports it. */
static void leftovers_take(const struct identity *identity)
{
    struct leftovers leftovers = {.failed = 0};

    if (identity->place.local_rank > 0) {
        return; /* one of a host is enough */
    }
    salvage_all(NULL, ck_time_raw() + SALVAGE_LIMIT, SALVAGE_RING_LIMIT,
                leftovers_add, &leftovers);
    if (identity->place.local_rank < 0 && !is_host_speaker(identity)) {
        leftovers.failed = 0;
    }
    leftovers_say(&leftovers);
}

/* Nothing of it will be in the run directory. */
static int
run_unclaimed(char **argv, const struct paths *places, const struct ck_err *err)
{
    claim_release(places->claim, places->dir);
    return run_unrecorded(argv, err);
}

/* What the program's environment names: libraries that were found. */
static struct target_injection injection_of(const struct ringfile *ring,
                                            const struct libraries *of)
{
    return (struct target_injection){
        .ring = ring->path,
        .preload = of->preload[0] != '\0' ? of->preload : NULL,
        .named = of->named,
        .named_count = of->named_count,
    };
}

/* The same, where something may be recorded. */
static int run_ringed(char **argv,
                      const struct identity *identity,
                      const struct paths *places)
{
    struct front_wish wish = {.argv = argv};
    struct target_injection injection;
    static struct libraries libraries; /* a stack may have no room for it */
    struct ringfile ring;
    struct ck_err err;
    char **env;
    int status;

    if (!inherited_has_files()) {
        (void)ck_err_set(&err, "fewer than %d files may be open (ulimit -n)",
                         INHERITED_FILES_LEAST);
        return run_unclaimed(argv, places, &err);
    }
    if (!inherited_has_stack()) {
        (void)ck_err_set(&err, "the stack has less than %d KiB (ulimit -s)",
                         (int)(INHERITED_STACK_LEAST >> 10));
        return run_unclaimed(argv, places, &err);
    }
    if (options.is_strict && target_missing(argv[0]) != 0) {
        return run_plain(argv); /* logs the reason, without a trace */
    }
    leftovers_take(identity);
    if (ring_make(&ring, identity, &err) != 0) {
        return run_unclaimed(argv, places, &err);
    }
    /* 0 in the ring is the library's own default. */
    ring.header->is_openmp_off = strcmp(options.openmp, "off") == 0;
    ring.header->allocation_mean = (uint32_t)options.allocations;
    ring.header->posix_threshold_ns =
        options.posix_threshold > 0 ? (uint32_t)options.posix_threshold : 1;
    if (libraries_find(&libraries,
                       &(struct libraries_wish){
                           .has_posix = strcmp(options.posix, "off") != 0,
                           .has_allocations = options.allocations != 0},
                       &err) != 0) {
        if (options.is_strict) {
            ringfile_unlink(&ring);
            return run_unclaimed(argv, places, &err);
        }
        ck_warn("%s", err.text);
    }
    injection = injection_of(&ring, &libraries);
    env = target_environment(environ, &injection);
    if (env == NULL) {
        ringfile_unlink(&ring);
        (void)ck_err_set(&err, "out of memory");
        return run_unclaimed(argv, places, &err);
    }
    wish.env = env;
    wish_fill(&wish, identity, &ring, places);
    status = front_run(&wish);
    if (status < 0) {
        (void)ck_err_set(&err, "cannot start another process: %s",
                         strerror(errno));
        ringfile_unlink(&ring);
        status = run_unclaimed(argv, places, &err);
    }
    target_environment_free(env);
    ringfile_fini(&ring);
    return status;
}

/* The recorded way. */
static int run_recorded(char **argv,
                        const struct identity *identity,
                        const struct paths *places)
{
    int status = run_ringed(argv, identity, places);

    claim_release(places->claim, places->dir);
    return status;
}

/* Rank 0 is not recorded, others are: something else starts their ckagg. */
static void standin_offer(const struct identity *identity,
                          const struct paths *places)
{
    struct agent_config config = config_of(identity, places);

    if (identity->place.rank == 0 && options.aggregator == NULL &&
        config.recorded > 0) {
        config.is_dir_given = true;
        config.is_verbose = false; /* it has no stderr of ours */
        rank0substitute_start(&config);
    }
}

/* --ranks names ranks that the job does not have: logged once, by rank 0. 0, or
 * -1 with err when none of them is there to record. */
static int ranks_compare(const struct identity *identity, struct ck_err *err)
{
    int size = identity->place.size;
    int recorded = ranklist_count(options.ranks, size);
    char has[32] = "rank 0 only";

    if (!ranklist_is_beyond(options.ranks, size)) {
        return 0;
    }
    if (size > 1) {
        (void)snprintf(has, sizeof(has), "ranks 0-%d only", size - 1);
    }
    if (recorded == 0 && !identity->place.is_ranked) {
        return ck_err_set(err,
                          "--ranks %.64s: no launcher numbers this process, "
                          "so it is rank 0 (put ckagent behind the launcher: "
                          "mpirun -n 4 ckagent --ranks 0,1 -- PROGRAM)",
                          options.ranks);
    }
    if (recorded == 0) {
        return ck_err_set(err, "--ranks %.64s: the job has %s", options.ranks,
                          has);
    }
    if (identity->place.rank == 0) {
        ck_warn("--ranks %.64s: the job has %s; %d of them %s recorded",
                options.ranks, has, recorded, recorded == 1 ? "is" : "are");
    }
    return 0;
}

/* --clean. Exit status. */
static int run_clean(void)
{
    char dir[PATH_MAX];
    int failed = 0;

    if (options.dir != NULL && realpath(options.dir, dir) == NULL) {
        ck_error("%s: %s", options.dir, strerror(errno));
        return CK_EXIT_AGENT_FAILED;
    }
    salvage_all(options.dir != NULL ? dir : NULL, 0, SALVAGE_RING_LIMIT,
                clean_tell, &failed);
    return failed == 0 ? CK_EXIT_DONE : CK_EXIT_FAILED;
}

/* --lines. Exit status. */
static int run_lines(void)
{
    return lookup_run(stdin, stdout) == 0 ? CK_EXIT_DONE : CK_EXIT_AGENT_FAILED;
}

static bool is_off(void)
{
    const char *off = variable("CKAGENT_OFF");

    return off != NULL && strcmp(off, "0") != 0;
}

/* One torchrun a host: their agents are one job. */
static void hosts_join(struct identity *identity, char *const *argv)
{
    struct torchrun_node node;

    if (!identity->place.is_ranked && options.ranks == NULL &&
        torchrun_read(argv, environ, &node)) {
        torchrun_spread(identity, &node, options.job != NULL);
    }
}

/* A program that has ended is not to wait for who reads this. */
#define STDERR_PATIENCE_MS 2000

/* Its frame is not main()'s: there the stack is still as it was given. */
static __attribute__((noinline)) int run(int argc, char **argv)
{
    struct identity identity;
    static struct paths places; /* a stack may have no room for it */
    struct ck_err err;
    enum ck_cli_result result;

    ck_log_init("ckagent", -1, CK_LOG_WARN);
    ck_log_patience(STDERR_PATIENCE_MS);
    ck_cli_facts(ck_build_facts);
    result = options_read(&argc, &argv, &err);
    if (result == CK_CLI_DONE) {
        return 0;
    }
    if (result == CK_CLI_WRONG) {
        ck_error("%s", err.text);
        return CK_EXIT_AGENT_FAILED;
    }
    if (options.is_clean || options.is_lines) {
        return options.is_clean ? run_clean() : run_lines();
    }
    if (argc == 0) {
        ck_error("no program given; try: mpirun -n 4 ckagent -- ./train");
        return CK_EXIT_AGENT_FAILED;
    }
    if (is_off()) {
        return run_plain(argv);
    }
    if (options_check(&err) != 0) {
        ck_error("%s", err.text);
        return CK_EXIT_AGENT_FAILED;
    }
    if (identity_find(&identity, environ, options.job) != 0) {
        (void)ck_err_set(&err, "no random bytes: %s", strerror(errno));
        return run_unrecorded(argv, &err);
    }
    hosts_join(&identity, argv);
    if (strcmp(options.shortcut, "off") == 0) {
        identity_estrange(&identity);
    }
    identity_command(&identity, argv);
    ck_log_init("ckagent", identity.place.is_ranked ? identity.place.rank : -1,
                options.is_verbose ? CK_LOG_DEBUG : CK_LOG_WARN);
    if (ranks_compare(&identity, &err) != 0) {
        return identity.place.rank == 0 || options.is_strict
                   ? run_unrecorded(argv, &err)
                   : run_plain(argv);
    }
    if (paths_find(&places, &identity, options.dir, &err) != 0 ||
        (places.is_moved && options.is_strict)) {
        return run_unclaimed(argv, &places, &err);
    }
    if (places.is_moved && is_speaker(&identity)) {
        ck_warn("%s; this run goes to %s", err.text, places.dir);
    }
    if (ranklist_has(options.ranks, identity.place.rank)) {
        return run_recorded(argv, &identity, &places);
    }
    standin_offer(&identity, &places);
    claim_release(places.claim, places.dir);
    return run_plain(argv);
}

int main(int argc, char **argv)
{
    inherited_take();
    return run(argc, argv);
}
