/* record.c - what a mark and a call cost, against a bare ring and LTTng-UST
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_record [LIBRARY_DIR]        all figures, a table
 *
 * The program makes a ring's file as the agent does and runs itself once a
 * clock with the injected libraries in it, and once without an agent. There,
 * blocks of 1000 of each recorder take turns, so a busy machine hits all of
 * them alike; the median over the blocks is compared. tests/bench/record.sh
 * starts an LTTng session around it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/clock/counterscale.h"
#include "agent/inject/ck.h"
#include "agent/ring/ringfile.h"
#include "schema/ring/ring.h"
#include "schema/time.h"
#include "tests/bench/record_call.h"

#define BLOCK 1000
#define ROUNDS 2001
#define BARE_UNITS ((uint64_t)1 << 16)

/* The bound: clock reads, stores, one release. */
struct bare {
    uint8_t *body;
    _Atomic uint64_t head;
    uint64_t tail;
    enum ck_clock clock;
};
static struct bare bare;

static void *bare_begin(unsigned units)
{
    uint64_t head = atomic_load_explicit(&bare.head, memory_order_relaxed);

    if (head + units - bare.tail > BARE_UNITS) {
        bare.tail = head; /* as if it had been drained */
    }
    return bare.body + (head & (BARE_UNITS - 1)) * CK_UNIT_BYTES;
}

static void bare_commit(unsigned units)
{
    uint64_t head = atomic_load_explicit(&bare.head, memory_order_relaxed);

    atomic_store_explicit(&bare.head, head + units, memory_order_release);
}

static __attribute__((noinline)) void bare_mark(int64_t value)
{
    struct ck_mark *record = bare_begin(1);

    *record = (struct ck_mark){
        .e = {CK_KIND_MARK, 1, 0, 1, ck_time_stamp(bare.clock)},
        .value = value,
    };
    bare_commit(1);
}

static __attribute__((noinline)) void bare_call(int64_t bytes)
{
    int64_t start = ck_time_stamp(bare.clock);
    struct ck_call *record = bare_begin(2);

    *record = (struct ck_call){
        .e = {CK_KIND_POSIX, 2, 0, 1, start},
        .dur = ck_time_stamp(bare.clock) - start,
        .bytes = (uint64_t)bytes,
    };
    bare_commit(2);
}

static void api_mark(int64_t value)
{
    ck_mark("bench", value);
}

static void nothing(int64_t value)
{
    __asm__ volatile("" : : "r"(value));
}

typedef void (*record_f)(int64_t value);

struct recorder {
    const char *name;
    record_f record;
    int64_t blocks[ROUNDS];
    double ns;
};

enum place {
    EMPTY,
    BARE_MARK,
    BARE_CALL,
    MARK,
    CALL,
    PEER_MARK,
    PEER_CALL,
    ALL
};
static struct recorder recorders[ALL] = {
    {.name = "empty", .record = nothing},
    {.name = "bare-mark", .record = bare_mark},
    {.name = "bare-call", .record = bare_call},
    {.name = "ck-mark", .record = api_mark},
    {.name = "ck-call"},
    {.name = "lttng-mark"},
    {.name = "lttng-call"},
};

static struct ck_ring_slot *own_slot(void)
{
    const char *path = getenv(CK_RING_ENV);
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    struct ck_ring_header *header;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    size_t bytes;

    if (fd < 0) {
        return NULL;
    }
    header = mmap(NULL, sizeof(*header), PROT_READ, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED) {
        return NULL;
    }
    bytes = header->header_bytes;
    header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    for (uint32_t i = 0; header != MAP_FAILED && i < header->slots; i++) {
        if (ck_ring_heads(header)[i].tid == tid) {
            return &ck_ring_heads(header)[i];
        }
    }
    return NULL;
}

/* As the collector would, between two blocks. */
static void slot_drain(struct ck_ring_slot *slot)
{
    if (slot != NULL) {
        atomic_store(&slot->tail, atomic_load(&slot->head));
    }
}

static int64_t block_time(record_f record)
{
    int64_t start = ck_time_raw();

    for (int64_t i = 0; i < BLOCK; i++) {
        record(i);
    }
    return ck_time_raw() - start;
}

static int time_compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

    return (one > two) - (one < two);
}

/* A library's function, or NULL. */
static record_f function_load(const char *variable, const char *name)
{
    const char *path = getenv(variable);
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    union {
        void *object;
        record_f function;
    } symbol = {library == NULL ? NULL : dlsym(library, name)};

    return symbol.function;
}

static int lttng_is_on(void)
{
    union {
        record_f function;
        int (*is_on)(void);
    } symbol = {function_load("CK_TEST_LTTNG", "bench_lttng_is_on")};

    return symbol.is_on != NULL && symbol.is_on();
}

static int child_main(enum ck_clock clock)
{
    struct ck_ring_slot *slot;

    bare.clock = clock;
    bare.body = mmap(NULL, BARE_UNITS * CK_UNIT_BYTES, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    recorders[CALL].record = function_load("CK_TEST_CALL", "bench_call");
    if (lttng_is_on()) {
        recorders[PEER_MARK].record =
            function_load("CK_TEST_LTTNG", "bench_lttng_mark");
        recorders[PEER_CALL].record =
            function_load("CK_TEST_LTTNG", "bench_lttng_call");
    }
    ck_mark("bench", 0);
    slot = own_slot();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ALL; i++) {
            if (recorders[i].record != NULL) {
                recorders[i].blocks[round] = block_time(recorders[i].record);
            }
            slot_drain(slot);
        }
    }
    for (int i = 0; i < ALL; i++) {
        struct recorder *recorder = &recorders[i];

        qsort(recorder->blocks, ROUNDS, sizeof(int64_t), time_compare);
        printf("%s %.3f\n", recorder->name,
               (double)recorder->blocks[ROUNDS / 2] / BLOCK);
    }
    fprintf(stderr, "  dropped in the ring: %llu, lttng %s\n",
            slot == NULL ? 0ull : (unsigned long long)slot->dropped,
            recorders[PEER_MARK].record == NULL ? "not measured" : "measured");
    return 0;
}

/* Run this program again; its medians end in recorders[].ns. */
static int child_run(const char *mode, const char *ring, const char *library)
{
    int out[2], status;
    FILE *words;
    pid_t pid;

    if (pipe(out) != 0 || (pid = fork()) < 0) {
        return -1;
    }
    if (pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        if (ring != NULL) {
            (void)setenv(CK_RING_ENV, ring, 1);
            (void)setenv("LD_PRELOAD", library, 1);
        }
        (void)execl("/proc/self/exe", "bench_record", "--child", mode,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    words = fdopen(out[0], "r");
    for (int i = 0; i < ALL; i++) {
        if (words == NULL || fscanf(words, "%*s %lf", &recorders[i].ns) != 1) {
            recorders[i].ns = 0;
        }
    }
    if (words != NULL) {
        (void)fclose(words);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int missed;

static void figure_put(const char *name, double measured, double target)
{
    int is_met = measured <= target;

    missed += !is_met;
    printf("%-52s | %8.3f | <= %5.2f | %s\n", name, measured, target,
           is_met ? "met" : "MISSED");
}

/* Whether both took time: a recorder that was not there took none. */
static int
is_measured(const char *name, enum place one, enum place other, double target)
{
    if (recorders[one].ns > 0 && recorders[other].ns > 0) {
        return 1;
    }
    missed++;
    printf("%-52s | %8s | <= %5.2f | not measured: %s did not run\n", name, "-",
           target, recorders[recorders[one].ns > 0 ? other : one].name);
    return 0;
}

/* The one against the other. */
static void
figure(const char *name, enum place one, enum place other, double target)
{
    if (is_measured(name, one, other, target)) {
        figure_put(name, recorders[one].ns / recorders[other].ns, target);
    }
}

static void clock_figures(const char *clock, double target)
{
    char name[64];

    printf("# %s: bare mark %.1f call %.1f, ck mark %.1f call %.1f, "
           "lttng 1 %.1f 2 %.1f ns\n",
           clock, recorders[BARE_MARK].ns, recorders[BARE_CALL].ns,
           recorders[MARK].ns, recorders[CALL].ns, recorders[PEER_MARK].ns,
           recorders[PEER_CALL].ns);
    (void)snprintf(name, sizeof(name), "1 mark / bare ring, %s", clock);
    figure(name, MARK, BARE_MARK, target);
    (void)snprintf(name, sizeof(name), "1 call / bare ring, %s", clock);
    figure(name, CALL, BARE_CALL, target);
    /* One read of RAW alone costs more than the target leaves. */
    if (recorders[PEER_MARK].ns > 0 && strcmp(clock, "TSC") == 0) {
        (void)snprintf(name, sizeof(name), "2 mark / 1 LTTng tracepoint, %s",
                       clock);
        figure(name, MARK, PEER_MARK, 0.20);
        (void)snprintf(name, sizeof(name), "2 call / 2 LTTng tracepoints, %s",
                       clock);
        figure(name, CALL, PEER_CALL, 0.45);
    }
}

/* As the collector does it. False: this machine's counter is of no use. */
static bool counter_give(struct ck_ring_header *header)
{
    struct timespec pause = {.tv_nsec = 10000000};
    struct counterscale scale;

    counterscale_init(&scale, header, getpid());
    while (scale.spread != NULL ||
           (header->counter_scale == 0 && scale.next_at != INT64_MAX)) {
        (void)nanosleep(&pause, NULL);
        counterscale_step(&scale, ck_time_raw());
    }
    counterscale_fini(&scale);
    return header->counter_scale != 0 && header->is_counter_one != 0;
}

/* `is_counted`: RAW by the counter, beside a bare ring with the counter. 1
 * where there is none. */
static int clock_run(enum ck_clock clock, const char *dir, bool is_counted)
{
    struct ringfile ring;
    struct ringfile_wish wish = {
        .dir = "/dev/shm/ck-bench",
        .plan = {.slots = 4,
                 .slot_bytes = CK_RING_SLOT_BYTES,
                 .outbox_bytes = 1 << 20},
        .sharers = 1,
        .clock = clock,
    };
    struct ck_err err;
    char library[4096];
    int rc;

    (void)mkdir(wish.dir, 0700);
    if (ringfile_create(&ring, &wish, &err) != 0) {
        fprintf(stderr, "bench_record: %s\n", err.text);
        return -1;
    }
    (void)ringfile_back(&ring, 4, 4);
    (void)snprintf(library, sizeof(library), "%s/libckannotate.so", dir);
    rc = is_counted && !counter_give(ring.header)
             ? 1
             : child_run(is_counted || clock == CK_CLOCK_TSC ? "tsc" : "raw",
                         ring.path, library);
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
    (void)rmdir(wish.dir);
    return rc;
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : CK_BENCH_INJECT_DIR;

    if (argc == 3 && strcmp(argv[1], "--child") == 0) {
        return child_main(strcmp(argv[2], "tsc") == 0 ? CK_CLOCK_TSC
                                                      : CK_CLOCK_RAW);
    }
    (void)setenv("CK_TEST_CALL", CK_BENCH_CALL, 0);
    printf("%-52s | measured | target   | verdict\n", "figure");
    if (clock_run(CK_CLOCK_TSC, dir, false) != 0) {
        return 1;
    }
    clock_figures("TSC", 1.3);
    if (clock_run(CK_CLOCK_RAW, dir, false) != 0) {
        return 1;
    }
    clock_figures("RAW", 1.25);
    if (clock_run(CK_CLOCK_RAW, dir, true) == 0) {
        clock_figures("RAW by TSC", 1.3);
    }
    if (child_run("raw", NULL, NULL) != 0) {
        return 1;
    }
    if (is_measured("3 ck.h mark without an agent, ns", MARK, EMPTY, 2.0)) {
        figure_put("3 ck.h mark without an agent, ns",
                   recorders[MARK].ns - recorders[EMPTY].ns, 2.0);
    }
    return missed == 0 ? 0 : 4;
}
