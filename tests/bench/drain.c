/* drain.c - what a record costs on its way from a slot into the outbox
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread fills a slot of a real ring on one core, the collector's drain
 * empties it on another: reading, encoding, checksum, outbox. Prints the CPU
 * time a record of drain_step() alone, the median of ROUNDS; start and end of a
 * job, turns with nothing to do and the sending are not in it. An argument
 * ("a kernel") takes one kind of record alone.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/clocksync.h"
#include "agent/collector/drain.h"
#include "agent/ring/ringfile.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "tests/bench/figure.h"

#define ROUNDS 401
#define UNITS 16384 /* a round's, a quarter of a slot */
#define TARGET_NS 12.0

/* Each kind of load writes one record and returns its units. */
typedef unsigned load_f(struct ck_ring_writer *writer, uint32_t number);

struct stage {
    struct ringfile ring;
    struct framewriter framewriter;
    struct drain *drain;
    load_f *load;
    _Atomic unsigned wanted; /* rounds that are to be written */
    _Atomic unsigned written;
};

static int64_t now;

static unsigned load_mark(struct ck_ring_writer *writer, uint32_t number)
{
    struct ck_mark *mark = ck_ring_begin(writer, CK_CLOCK_RAW, 1);

    now += number % 16 == 0 ? 7000 : 45 + number % 3;
    *mark = (struct ck_mark){.e = {CK_KIND_MARK, 1, 0, number % 4 + 1, now},
                             .value = number / 16};
    ck_ring_commit(writer, 1);
    return 1;
}

/* An API call; four functions, each from its line. */
static unsigned load_call(struct ck_ring_writer *writer, uint32_t number)
{
    struct ck_call *call = ck_ring_begin(writer, CK_CLOCK_RAW, 2);

    now += 1500 + number * 2654435761u % 512;
    *call = (struct ck_call){
        .e = {CK_KIND_API_OPENCL, 2, 0, number % 4 + 1, now},
        .dur = 600 + number * 40503u % 256,
        .site = 0x555555554000 + number % 4 * 64,
        .call = number,
        .object = 1,
    };
    ck_ring_commit(writer, 2);
    return 2;
}

static unsigned load_collective(struct ck_ring_writer *writer, uint32_t number)
{
    struct ck_collective *call = ck_ring_begin(writer, CK_CLOCK_RAW, 3);

    now += 900 + number * 2654435761u % 256;
    *call = (struct ck_collective){
        .e = {CK_KIND_COLLECTIVE, 3, 0, 5, now},
        .dur = 300 + number * 40503u % 128,
        .site = 0x555555555000,
        .call = number,
        .comm = 1,
        .seq = number,
        .root = -1,
        .bytes_out = 8,
        .bytes_in = 8,
    };
    ck_ring_commit(writer, 3);
    return 3;
}

static unsigned load_kernel(struct ck_ring_writer *writer, uint32_t number)
{
    struct ck_kernel *kernel = ck_ring_begin(writer, CK_CLOCK_RAW, 3);

    now += 20000 + number * 2654435761u % 8192;
    *kernel = (struct ck_kernel){
        .e = {CK_KIND_KERNEL, 3, 0, number % 5 + 9, now},
        .dur = 15000 + number * 40503u % 2048,
        .queued = now - 9000 - number % 7 * 100,
        .submitted = now - 4000 - number % 5 * 100,
        .tid = 77,
        .call = number * 4,
        .device = 1,
        .queue = 2,
        .global = {1024, 1, 1},
        .local = {64, 1, 1},
    };
    ck_ring_commit(writer, 3);
    return 3;
}

/* As a training step: calls, marks, kernels, now and then a collective. */
static unsigned load_mixed(struct ck_ring_writer *writer, uint32_t number)
{
    static load_f *const loads[] = {load_call, load_call,      load_kernel,
                                    load_mark, load_call,      load_kernel,
                                    load_mark, load_collective};

    return loads[number % 8](writer, number);
}

static void core_take(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof(set), &set); /* one core must do, too */
}

static void *writer_run(void *state)
{
    struct stage *stage = state;
    struct ck_ring_writer writer;
    struct ck_ring ring;
    uint32_t number = 0;

    core_take(1);
    if (ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE) != 0 ||
        ck_ring_writer_init(&writer, &ring) != 0) {
        (void)fprintf(stderr, "bench_drain: no slot\n");
        exit(1);
    }
    for (unsigned round = 1; round <= ROUNDS; round++) {
        unsigned units = 0;

        while (atomic_load(&stage->wanted) < round) {
            (void)sched_yield();
        }
        while (units < UNITS - 2) {
            units += stage->load(&writer, ++number);
        }
        atomic_store(&stage->written, round);
    }
    ck_ring_writer_fini(&writer, &ring);
    return NULL;
}

static double cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double rounds_run(struct stage *stage)
{
    static double times[ROUNDS];
    size_t bytes;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        uint64_t before = stage->framewriter.outbox.head->records;
        double begin;

        atomic_store(&stage->wanted, round);
        while (atomic_load(&stage->written) < round) {
            (void)sched_yield();
        }
        begin = cpu_ns();
        (void)drain_step(stage->drain, ck_time_raw(), true);
        times[round - 1] =
            (cpu_ns() - begin) /
            (double)(stage->framewriter.outbox.head->records - before);
        while (outbox_oldest(&stage->framewriter.outbox, &bytes) != NULL) {
            outbox_pop(&stage->framewriter.outbox);
        }
    }
    qsort(times, ROUNDS, sizeof(*times), compare);
    (void)printf("# the fastest tenth: %.2f ns or less\n", times[ROUNDS / 10]);
    return times[ROUNDS / 2];
}

/* One kind of load on a ring of its own. ns a record, or -1. */
static double measure(const char *dir, load_f *load)
{
    struct ringfile_wish wish = {
        .dir = dir,
        .plan = {.slots = 4, .slot_bytes = CK_RING_SLOT_BYTES},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
        .agent = {1},
    };
    struct stage stage = {.load = load};
    struct clocksync sync;
    struct spool *spool;
    struct selfstream *selfstream;
    pthread_t writer;
    double ns = -1;

    if (ringfile_create(&stage.ring, &wish, NULL) != 0) {
        return -1;
    }
    (void)ringfile_widen(&stage.ring, 4, 16);
    spool = spool_create(dir, dir, wish.agent, 1 << 20);
    clocksync_init(&sync, CK_CLOCK_RAW);
    if (spool != NULL && framewriter_init(&stage.framewriter, stage.ring.outbox,
                                          stage.ring.header->outbox_bytes,
                                          spool, wish.agent) == 0) {
        selfstream = selfstream_create(&stage.framewriter, CK_CLOCK_RAW, 1);
        stage.drain =
            drain_create(&stage.ring, &stage.framewriter, selfstream, &sync, 0);
        (void)setenv(CK_RING_ENV, stage.ring.path, 1);
        if (pthread_create(&writer, NULL, writer_run, &stage) == 0) {
            ns = rounds_run(&stage);
            (void)pthread_join(writer, NULL);
        }
        drain_destroy(stage.drain);
        selfstream_destroy(selfstream);
        framewriter_fini(&stage.framewriter);
    }
    spool_destroy(spool);
    ringfile_unlink(&stage.ring);
    ringfile_fini(&stage.ring);
    return ns;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        load_f *load;
    } loads[] = {{"a mark", load_mark},
                 {"a call", load_call},
                 {"a collective", load_collective},
                 {"a record of a training", load_mixed},
                 {"a kernel", load_kernel}};
    char dir[] = "/dev/shm/ck-bench-XXXXXX";
    int rc = 0;

    if (mkdtemp(dir) == NULL) {
        perror("bench_drain: /dev/shm");
        return 1;
    }
    core_take(0);
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        char figure[64];
        double ns;

        if (argc > 1 && strcmp(argv[1], loads[i].name) != 0) {
            continue;
        }
        ns = measure(dir, loads[i].load);
        (void)snprintf(figure, sizeof(figure), "6 drain and encode %s",
                       loads[i].name);
        (void)printf("%-52s | %8.3f ns | <= 12 ns | %s\n", figure, ns,
                     figure_verdict(ns, TARGET_NS, 1));
        rc |= ns < 0;
    }
    (void)rmdir(dir);
    return rc;
}
