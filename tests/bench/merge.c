/* merge.c - how fast ckmerge reads, aligns, merges and explains a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_merge CKMERGE [EVENTS_A_RANK [RANKS [KIND]]]
 *     bench_merge --alone RUN
 *     bench_merge --write DIR [EVENTS_A_RANK [RANKS [KIND]]]
 *
 * Writes a run of calls, collectives and kernels (in order of completion, so
 * that the merge has to sort) through the schema's encoder, lets ckmerge
 * report on it and draw its trace, and prints events a second and the peak of
 * its memory. The figures are to be compared on one machine only. With --alone
 * it reads, verifies, decodes and merges a run here, and looks at nothing; with
 * --write it leaves such a run in DIR. KIND is how much there is to explain:
 *
 *     loose    collectives without numbers: nothing is matched
 *     matched  collectives that all ranks enter at once (the default)
 *     waiting  one rank comes late to each collective, another one each time,
 *              and the devices idle between any two kernels
 *     varied   the same, with steps, ranges, 50 names of kernels, 40 lines that
 *              launch them, and latencies of launches that differ
 *     whole    as varied, with a lock taken, a CPU sample with its stack every
 *              20 launches, and now and then a pause of 150 us
 *     jittered as varied, and no two lengths are alike, as in a real run: a
 * page takes 4 bytes for an item, and 0.5 of a varied one
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/model/comm.h"
#include "merge/timeline/timeline.h"
#include "tests/merge/synth.h"

/* What is written. */
struct plan {
    int64_t events; /* of each rank */
    int ranks;
    bool is_matched;
    int64_t late; /* ns that one rank comes after the others */
    int64_t kernel;
    bool is_varied;
    bool is_jittered;
    bool is_whole;
};

#define NAMES 50
#define LINES 40
#define NAME_FIRST 10
#define NAME_LOCK 4
/* Numbers of calls of locks begin here. */
#define LOCK_CALLS ((uint32_t)1 << 30)
#define STACKS 30
/* Launches from one pause of the program to the next. */
#define PAUSES 500
/* Launches before the device's records of them come; a short run has several
 * such parts, too. */
#define LAUNCHES 4000
#define PARTS_LEAST 6

static bool plan_kind(struct plan *plan, const char *kind)
{
    bool is_waiting;

    plan->is_jittered = strcmp(kind, "jittered") == 0;
    plan->is_whole = strcmp(kind, "whole") == 0;
    plan->is_varied =
        plan->is_jittered || plan->is_whole || strcmp(kind, "varied") == 0;
    is_waiting = plan->is_varied || strcmp(kind, "waiting") == 0;
    plan->is_matched = strcmp(kind, "loose") != 0;
    plan->late = is_waiting ? 1500 : 0;
    plan->kernel = is_waiting ? 6000 : 12000;
    return plan->late != 0 || !plan->is_matched || strcmp(kind, "matched") == 0;
}

/* What differs from one to the next: below `most` ns; 0 = nothing does. */
static int64_t jitter(const struct plan *plan, uint32_t number, uint32_t most)
{
    uint32_t hash = (number + 1) * 2654435761u;

    hash = (hash ^ hash >> 15) * 2246822519u;
    return plan->is_jittered ? (hash ^ hash >> 13) % most : 0;
}

/* All ranks return 5 us after the others entered. */
static void meeting_put(struct synth *synth,
                        const struct plan *plan,
                        int rank,
                        int64_t at,
                        uint32_t call)
{
    bool is_late = call / 2 % (uint32_t)plan->ranks == (uint32_t)rank;
    int64_t late =
        (is_late ? plan->late : 0) +
        jitter(plan, call * (uint32_t)plan->ranks + (uint32_t)rank, 900);
    struct ck_collective record = {
        .e = {.kind = CK_KIND_COLLECTIVE, .name = 2, .start = at + late},
        .dur = 5000 - late,
        .site = 0x1040,
        .call = call,
        .root = -1};

    if (plan->is_varied) {
        record.comm = COMM_WORLD;
    }
    if (plan->is_matched) {
        record.seq = call / 2;
        record.bytes_in = record.bytes_out = 4096;
    }
    synth_put(synth, &record);
}

/* Who waits for whom is known where the members of a communicator are. */
static void world_put(struct synth *synth, int rank, int ranks)
{
    char text[64];
    int length = snprintf(text, sizeof(text),
                          "how=world\nsize=%d\nrank=%d\nmembers=0-%d\n", ranks,
                          rank, ranks - 1);

    synth_text(synth, CK_KIND_COMM, COMM_WORLD, 0, 0, text, (size_t)length);
}

static void names_put(struct synth *synth, bool is_varied)
{
    synth_text(synth, CK_KIND_NAME, 1, 0, 0, "clEnqueueNDRangeKernel", 22);
    synth_text(synth, CK_KIND_NAME, 2, 0, 0, "MPI_Allreduce", 13);
    synth_text(synth, CK_KIND_NAME, 3, 0, 0, "forward", 7);
    synth_text(synth, CK_KIND_NAME, NAME_LOCK, 0, 0, "pthread_mutex_lock", 18);
    for (uint32_t i = 0; is_varied && i < NAMES; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "kernel_%u", i);

        synth_text(synth, CK_KIND_NAME, NAME_FIRST + i, 0, 0, name,
                   (size_t)length);
    }
    for (uint32_t i = 0; is_varied && i < LINES; i++) {
        synth_text(synth, CK_KIND_SYMBOL, 1, CK_SITE_TOLD + i, 100 + i,
                   "step\0/s/train.c", 15);
    }
}

/* Stacks of three frames, the innermost first: lines of step(). */
static void stacks_put(struct synth *synth)
{
    for (uint32_t i = 0; i < STACKS; i++) {
        const uint64_t frames[] = {CK_SITE_TOLD + i, CK_SITE_TOLD + i % 5,
                                   CK_SITE_TOLD};

        synth_text(synth, CK_KIND_STACK, i + 1, 0, 1, (const char *)frames,
                   sizeof(frames));
    }
}

static void lock_put(struct synth *synth, int64_t at, uint32_t call)
{
    struct ck_call record = {
        .e = {.kind = CK_KIND_POSIX, .name = NAME_LOCK, .start = at},
        .dur = 600,
        .site = CK_SITE_TOLD + call / 2 % LINES,
        .call = LOCK_CALLS | call,
        .arg = 0x5000};

    synth_put(synth, &record);
}

/* When that turn of a part starts that began then. */
static int64_t turn_start(const struct plan *plan, int64_t begin, int64_t turn)
{
    return begin + turn * 10000 + (plan->is_whole ? turn / PAUSES * 150000 : 0);
}

/* What the collector saw of the thread meanwhile: how many. */
static int64_t samples_put(struct synth *synth,
                           const struct plan *plan,
                           int64_t begin,
                           uint32_t turns)
{
    int64_t count = 0;

    if (!plan->is_whole) {
        return 0;
    }
    synth_stream(synth, 0, CK_SLOT_COLLECTOR, 0);
    for (uint32_t i = 0; i < turns; i += 20, count++) {
        struct ck_sample record = {
            .e = {.kind = CK_KIND_SAMPLE,
                  .name = 1,
                  .start = turn_start(plan, begin, i) + 2200},
            .ip = CK_SITE_TOLD,
            .tid = 100,
            .stack = i / 20 % STACKS + 1,
            .weight = 200000};

        synth_put(synth, &record);
    }
    return count;
}

/* A launch, and in a varied run now and then the end of a range. */
static void launch_put(struct synth *synth,
                       const struct plan *plan,
                       int64_t at,
                       uint32_t call)
{
    uint32_t number = call / 2;
    struct ck_mark range = {
        .e = {.kind = CK_KIND_RANGE, .name = 3, .start = at - 190000},
        .dur = 189000};

    if (plan->is_varied && number % 20 == 19) {
        synth_put(synth, &range);
    }
    synth_call(synth, CK_KIND_API_OPENCL, 1, at, 800 + jitter(plan, call, 1500),
               plan->is_varied ? CK_SITE_TOLD + number % LINES : 0x1000, call);
}

static void device_put(struct synth *synth,
                       const struct plan *plan,
                       int64_t at,
                       uint32_t call)
{
    uint32_t number = call / 2;

    if (plan->is_varied) {
        synth_kernel(synth, NAME_FIRST + number % NAMES,
                     at + number * 2654435761u % 2000,
                     plan->kernel + jitter(plan, call, 900), 100, call);
    } else {
        synth_kernel(synth, 3, at, plan->kernel, 100, call);
    }
}

static void rank_write(const char *dir, int rank, const struct plan *plan)
{
    struct synth_rank who = {.rank = rank,
                             .size = plan->ranks,
                             .host = "node",
                             .timens = "t",
                             .clock = CK_CLOCK_RAW,
                             .start_raw = 1};
    struct synth *synth = synth_create(dir, (unsigned)rank, &who);
    int64_t part = plan->events / PARTS_LEAST + 1;
    int64_t launches = part < LAUNCHES ? part : LAUNCHES;
    int64_t at = 1000;
    uint32_t call = 0;

    synth_stream(synth, 1, 0, 100);
    names_put(synth, plan->is_varied);
    if (plan->is_whole) {
        stacks_put(synth);
    }
    if (plan->is_varied) {
        world_put(synth, rank, plan->ranks);
    }
    for (int64_t done = 0; done < plan->events;) {
        uint32_t first = call;
        int64_t begin = at;
        uint32_t turns;

        synth_stream(synth, 1, 0, 100);
        for (int64_t i = 0; i < launches && done < plan->events;
             i++, done += 2) {
            at = turn_start(plan, begin, i);
            launch_put(synth, plan, at, ++call);
            if (plan->is_whole && call / 2 % 20 == 10) {
                lock_put(synth, at + 1500, call);
                done++;
            }
            meeting_put(synth, plan, rank, at + 3000, ++call);
        }
        turns = (call - first) / 2;
        at = turn_start(plan, begin, turns);
        if (plan->is_varied) {
            synth_step(synth, begin, at - begin - 1,
                       first / (2 * (uint32_t)launches));
        }
        synth_stream(synth, 1, 1, 101);
        for (uint32_t i = 0; i < turns && done < plan->events; i++) {
            device_put(synth, plan, turn_start(plan, begin, i ^ 1) + 1000,
                       first + (i ^ 1) * 2 + 1);
            done++;
        }
        done += samples_put(synth, plan, begin, turns);
    }
    synth_exit(synth, 0, at, 1);
    synth_destroy(synth);
}

/* Memory of a process without a file behind it, in kB. */
static long anonymous(pid_t pid)
{
    char path[64], line[128];
    long kb = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "RssAnon:", 8) == 0) {
            kb = strtol(line + 8, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb;
}

/* Wait for its end, and look at its anonymous memory meanwhile. 0 or -1. */
static int run_watch(pid_t pid, struct rusage *usage, long *most)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    int status;
    pid_t ended;

    *most = 0;
    while ((ended = wait4(pid, &status, WNOHANG, usage)) == 0) {
        long now = anonymous(pid);

        *most = now > *most ? now : *most;
        (void)nanosleep(&pause, NULL);
    }
    return ended == pid && status == 0 ? 0 : -1;
}

static int run_one(const char *program, char *const *argv, double *seconds)
{
    int64_t start = ck_time_raw();
    struct rusage usage;
    long most;
    pid_t pid = fork();

    if (pid == 0) {
        (void)execv(program, argv);
        _exit(127);
    }
    if (pid < 0 || run_watch(pid, &usage, &most) != 0) {
        return -1;
    }
    *seconds = (double)(ck_time_raw() - start) / 1e9;
    printf("  %.2f s (CPU %.2f s), peak memory %.1f MB, %.1f MB of it "
           "anonymous\n",
           *seconds,
           (double)usage.ru_utime.tv_sec +
               (double)usage.ru_utime.tv_usec / 1e6 +
               (double)usage.ru_stime.tv_sec +
               (double)usage.ru_stime.tv_usec / 1e6,
           (double)usage.ru_maxrss / 1024, (double)most / 1024);
    return 0;
}

static int any_take(void *state, const struct timeline_event *event)
{
    *(int64_t *)state += event->start;
    return 0;
}

/* What every merge does before any question is asked. */
static int run_alone(const char *dir)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    struct ck_err err = {.text = "out of memory"};
    clock_t start = clock();
    struct rundir *store = rundir_create(dir, defs, align_taker(align), &err);
    int64_t sum = 0;
    uint64_t events = 0;
    const struct timeline_consumer consumer = {any_take, &sum, 0, false};
    struct timeline timeline = {.store = store,
                                .defs = defs,
                                .axis = align_axis(align),
                                .consumers = &consumer,
                                .consumers_count = 1};
    double seconds;

    if (store == NULL) {
        fprintf(stderr, "bench_merge: %s\n", err.text);
        return 1;
    }
    defs_close(defs);
    comm_close(defs);
    align_close(align, defs);
    align_settle(align, NULL);
    if (timeline_run(&timeline, &events, &err) != 0) {
        fprintf(stderr, "bench_merge: %s\n", err.text);
        return 1;
    }
    seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("read, verify, decode and merge alone: %llu events, CPU %.3f s, "
           "%.2f M events/s\n",
           (unsigned long long)events, seconds, (double)events / seconds / 1e6);
    rundir_destroy(store);
    align_destroy(align);
    defs_destroy(defs);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_merge CKMERGE [EVENTS [RANKS [KIND]]]\n"
                    "       bench_merge --alone RUN\n"
                    "       bench_merge --write DIR [EVENTS [RANKS [KIND]]]\n"
                    "KIND: loose, matched, waiting, varied, whole, jittered\n");
    return 2;
}

/* Write the run, and let ckmerge explain it. */
static int run_explained(char *program, char *dir, int64_t all)
{
    char trace[4200];
    double report, chrome;
    char *plain[] = {program, (char *)"-q", dir, NULL};
    char *drawn[] = {program, (char *)"-q", trace, dir, NULL};

    (void)snprintf(trace, sizeof(trace), "--output=chrome=%s/trace.json", dir);
    printf("report:\n");
    if (run_one(program, plain, &report) != 0) {
        return 1;
    }
    fflush(stdout);
    if (run_alone(dir) != 0) {
        return 1;
    }
    printf("report and trace:\n");
    if (run_one(program, drawn, &chrome) != 0) {
        return 1;
    }
    printf("ckmerge: %.2f M events/s, with the trace %.2f M events/s\n",
           (double)all / report / 1e6, (double)all / chrome / 1e6);
    return 0;
}

int main(int argc, char **argv)
{
    bool is_write = argc > 2 && strcmp(argv[1], "--write") == 0;
    int at = is_write ? 3 : 2;
    struct plan plan = {.events =
                            argc > at ? strtoll(argv[at], NULL, 10) : 500000,
                        .ranks = argc > at + 1 ? atoi(argv[at + 1]) : 4};
    char *dir;
    int rc;

    if (argc == 3 && strcmp(argv[1], "--alone") == 0) {
        return run_alone(argv[2]);
    }
    if (argc < 2 || plan.events <= 0 || plan.ranks <= 0 ||
        !plan_kind(&plan, argc > at + 2 ? argv[at + 2] : "matched")) {
        return usage();
    }
    dir = is_write ? argv[2] : synth_dir();
    for (int rank = 0; rank < plan.ranks; rank++) {
        rank_write(dir, rank, &plan);
    }
    printf("%d ranks, %lld events\n", plan.ranks,
           (long long)(plan.events * plan.ranks));
    if (is_write) {
        return 0;
    }
    rc = run_explained(argv[1], dir, plan.events * plan.ranks);
    synth_remove(dir);
    return rc;
}
