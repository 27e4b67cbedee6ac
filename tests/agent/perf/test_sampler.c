/* test_sampler.c - samples and switches of a real child
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The child runs this program again: two threads compute for a known CPU
 * time, one of them then sleeps. Where perf_event is not permitted the case
 * is skipped with the reason.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/perf/perfring.h"
#include "agent/perf/sampler.h"
#include "agent/symbols/symbols.h"
#include "tests/agent/said.h"

#define WORK_NS (400 * CK_TIME_MS)
#define SLEEP_NS (60 * CK_TIME_MS)
#define HZ 500
/* Agents of this host: with one of them the CPUs are looked at where that is
 * permitted, with many the child is. */
#define SHARERS_ONE 1
#define SHARERS_MANY 100000
#define LIMIT_MS 20000
/* More stacks than the largest ring of waits has room for. */
#define NAP_RUNS 1000
/* Agents that are too many for that, and whose rings are large. */
#define SHARERS_FEW 3
/* How often two threads wake each other: more records than their ring of
 * switches has room for, in less time than their ring of samples has. Rings
 * that may not be locked in memory are smaller. */
#define STORM_RUNS 7000
#define STORMS 3

static struct ck_ring_header *header;
static struct said said;
static struct sampler *sampler;
static char why[CK_ERR_BYTES];
static int sharers;
static uint32_t stack_bytes;
static ck_time_t off_cpu;
/* What the child had of the CPUs, and its children. */
static int64_t child_cpu;

static ck_time_t thread_cpu(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

/* Not inlined, so that it has a name of its own. What the thread did before is
 * not of its time. */
__attribute__((noinline)) static uint64_t sampled_work(void)
{
    ck_time_t until = thread_cpu() + WORK_NS;
    uint64_t sum = 1;

    do {
        for (int i = 0; i < 20000; i++) {
            sum = sum * 6364136223846793005ull + 1442695040888963407ull;
        }
    } while (thread_cpu() < until);
    return sum;
}

static void *work(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)(sampled_work() | 1);
}

static int work_main(void)
{
    struct timespec pause = {.tv_nsec = SLEEP_NS};
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    (void)work(NULL);
    (void)nanosleep(&pause, NULL);
    (void)pthread_join(thread, NULL);
    return 0;
}

static void *yield(void *unused)
{
    (void)unused;
    for (;;) {
        (void)sched_yield();
    }
    return NULL;
}

static int yield_main(void)
{
    pthread_t thread;
    cpu_set_t cpus;

    /* Where permitted, others on this CPU get little of it. */
    (void)setpriority(PRIO_PROCESS, 0, -20);
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0 ||
        pthread_create(&thread, NULL, yield, NULL) != 0) {
        return 1;
    }
    (void)yield(NULL);
    return 0;
}

/* Two threads wake each other in turn, by a pipe each. */
static int wakes[2][2];

static void *storm(void *second)
{
    int runs = perfring_may_lock() ? STORM_RUNS : STORM_RUNS / 4;
    int own = second != NULL;
    char byte = 0;

    for (int i = 0; i < runs; i++) {
        if (own == 0) {
            (void)!write(wakes[0][1], &byte, 1);
        }
        (void)!read(wakes[!own][0], &byte, 1);
        if (own == 1) {
            (void)!write(wakes[1][1], &byte, 1);
        }
    }
    return NULL;
}

/* Storms of two threads on one CPU: before each next it is stopped. */
static int storm_main(void)
{
    pthread_t thread;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0 || pipe(wakes[0]) != 0 ||
        pipe(wakes[1]) != 0) {
        return 1;
    }
    for (;;) {
        if (pthread_create(&thread, NULL, storm, wakes) != 0) {
            return 1;
        }
        (void)storm(NULL);
        (void)pthread_join(thread, NULL);
        (void)raise(SIGSTOP);
    }
}

static int nap_main(void)
{
    const struct timespec nap = {.tv_nsec = 1000};

    for (;;) {
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

/* Touches FAULTS pages that were never touched. */
#define FAULTS 200000
#define PAGE 4096
static int fault_main(void)
{
    size_t bytes = (size_t)FAULTS * PAGE;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED || madvise(at, bytes, MADV_NOHUGEPAGE) != 0) {
        return 1;
    }
    for (size_t i = 0; i < bytes; i += PAGE) {
        at[i] = 1;
    }
    return 0;
}

/* A child computes as it was forked, and one as another image. */
static int fork_main(void)
{
    for (int i = 0; i < 2; i++) {
        int status = 1;
        pid_t pid = fork();

        if (pid == 0 && i == 1) {
            (void)execl("/proc/self/exe", "test_sampler", "work", (char *)NULL);
            _exit(127);
        }
        if (pid == 0) {
            _exit(work_main());
        }
        if (waitpid(pid, &status, 0) != pid || status != 0) {
            return 1;
        }
    }
    return 0;
}

/* The first image has one thread that computes, the second two. */
static int exec_main(void)
{
    (void)work(NULL);
    (void)execl("/proc/self/exe", "test_sampler", "work", (char *)NULL);
    return 127;
}

/* Its end is that of all of its threads; just before it writes the time. */
#define STAMP_FD 9
#define TRIES 10
static void *wait_for_ever(void *unused)
{
    for (;;) {
        (void)pause();
    }
    return unused;
}

static int end_main(void)
{
    pthread_t thread;
    ck_time_t now;

    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) {
        return 1;
    }
    now = ck_time_raw();
    return write(STAMP_FD, &now, sizeof(now)) == sizeof(now) ? 0 : 1;
}

static pid_t child_start(int *go, const char *mode)
{
    int ends[2];
    pid_t pid;
    char byte;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        (void)execl("/proc/self/exe", "test_sampler", mode, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[0]);
    *go = ends[1];
    return pid;
}

static struct sampler *sampler_open(pid_t pid, int agents, struct ck_err *err)
{
    return sampler_create(pid,
                          &(struct sampler_wish){.hz = HZ,
                                                 .sharers = agents,
                                                 .python = SAMPLER_PYTHON_ON,
                                                 .stack_bytes = stack_bytes,
                                                 .off_cpu = off_cpu},
                          err);
}

static int setup(void **state)
{
    sharers = *state == NULL ? SHARERS_ONE : *(const int *)*state;
    stack_bytes = SAMPLER_STACK_BYTES;
    off_cpu = 0;
    header = calloc(1, CK_RING_HEADS_OFFSET);
    said_init(&said);
    return header == NULL;
}

static int teardown(void **state)
{
    (void)state;
    sampler_destroy(sampler);
    sampler = NULL;
    said_fini(&said);
    free(header);
    return 0;
}

/* Until a ring of the kernel fills, at most 10 ms: as the collector waits. */
static void step_wait(void)
{
    struct pollfd item = {.fd = sampler_filled_fd(sampler), .events = POLLIN};

    (void)poll(&item, 1, 10);
}

static int64_t timeval_ns(struct timeval time)
{
    return time.tv_sec * CK_TIME_S + time.tv_usec * CK_TIME_US;
}

/* Has the child ended? Then child_cpu is known. */
static bool has_ended(pid_t pid, int *status)
{
    struct rusage usage;

    if (wait4(pid, status, WNOHANG, &usage) == 0) {
        return false;
    }
    child_cpu = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
    return true;
}

/* Was the CPU time of what computes for `work` sampled, where all else of the
 * child's computes for `others`? It starts and ends besides, which is long with
 * sanitizers. A virtual machine may steal some. Beside other work a ring of
 * those that many share fills before it is read: the samples that the kernel
 * had no room for may have been of it. */
static bool is_sampled(int64_t sampled, int64_t work, int64_t others)
{
    int64_t lost =
        (int64_t)sampler_tally(sampler).samples_lost * (CK_TIME_S / HZ);

    return sampled > work / 2 && sampled + lost >= work * 8 / 10 &&
           sampled <= (child_cpu - others) * 13 / 10;
}

static void sampled_check(int64_t sampled, int64_t work, int64_t others)
{
    if (!is_sampled(sampled, work, others)) {
        fail_msg("%lld ns were sampled, of work for %lld; the child had %lld "
                 "and %llu samples are lost",
                 (long long)sampled, (long long)work, (long long)child_cpu,
                 (unsigned long long)sampler_tally(sampler).samples_lost);
    }
}

/* Run the child to its end, with steps meanwhile. What its exec maps is
 * reported by the kernel: the clock of the looks does not advance. */
static pid_t child_run(struct symbols *symbols)
{
    struct ck_ring_process *entry = ck_ring_processes(header);
    struct ck_err err;
    int status;
    int go;
    pid_t pid = child_start(&go, "work");

    sampler = sampler_open(pid, sharers, &err);
    (void)snprintf(why, sizeof(why), "%s", sampler == NULL ? err.text : "");
    entry->pid = (uint32_t)pid;
    atomic_store(&entry->key, 1ull << 32 | 1);
    atomic_store(&entry->incarnation, 1);
    atomic_store(&header->incarnations, 1);
    if (symbols != NULL) {
        symbols_follow_process(symbols, 1, pid, 1);
    }
    if (sampler != NULL) {
        sampler_step(sampler, said.selfstream, header, symbols);
    }
    (void)close(go);
    while (!has_ended(pid, &status)) {
        step_wait();
        if (sampler != NULL) {
            sampler_step(sampler, said.selfstream, header, symbols);
            if (symbols != NULL) {
                symbols_follow_process(symbols, 1, pid, 1);
            }
        }
    }
    assert_int_equal(status, 0);
    if (sampler == NULL) {
        print_message("skipped: %s\n", why);
        skip();
    }
    sampler_step(sampler, said.selfstream, header, symbols);
    return pid;
}

static void the_cpus_are_looked_at_where_they_are_our_own(void **state)
{
    struct ck_err err;
    int go;
    pid_t pid = child_start(&go, "none");
    int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY);
    char level[8] = "";

    (void)state;
    (void)!read(fd, level, sizeof(level) - 1);
    (void)close(fd);
    sampler = sampler_open(pid, SHARERS_MANY, &err);
    assert_true(sampler == NULL || !sampler_is_wide(sampler));
    sampler_destroy(sampler);
    sampler = sampler_open(pid, SHARERS_ONE, &err);
    if (sampler != NULL && atoi(level) > 0 && geteuid() != 0) {
        assert_false(sampler_is_wide(sampler));
    }
    (void)close(go);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Run the child to its end without an entry that others have made. */
static void child_run_alone(const char *mode)
{
    struct ck_err err;
    int status;
    int go;
    pid_t pid = child_start(&go, mode);

    sampler = sampler_open(pid, sharers, &err);
    (void)close(go);
    while (!has_ended(pid, &status)) {
        sampler_step(sampler, said.selfstream, header, NULL);
        step_wait();
    }
    assert_int_equal(status, 0);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    sampler_step(sampler, said.selfstream, header, NULL);
    said_read(&said);
}

/* CPU time of the samples of an image. */
static int64_t image_ns(uint32_t incarnation)
{
    const struct ck_sample *sample = NULL;
    int64_t ns = 0;

    while ((sample = said_next(&said, CK_KIND_SAMPLE, sample)) != NULL) {
        ns += sample->e.name == incarnation ? sample->weight : 0;
    }
    return ns;
}

/* How many images have the CPU time of such work, where one other has, too. */
static unsigned images_with(int64_t work)
{
    unsigned count = 0;

    for (uint32_t i = 1; i <= atomic_load(&header->incarnations); i++) {
        count += is_sampled(image_ns(i), work, work);
    }
    return count;
}

/* Where a fork takes long, their parent has a sample of its own. */
static void children_that_compute_own_their_samples(void **state)
{
    (void)state;
    child_run_alone("fork");
    assert_in_range(atomic_load(&header->incarnations), 2, 3);
    assert_int_equal(images_with(2 * WORK_NS), 2);
}

static void samples_after_an_exec_are_of_the_new_image(void **state)
{
    (void)state;
    child_run_alone("exec");
    assert_int_equal(atomic_load(&header->incarnations), 2);
    sampled_check(image_ns(1), WORK_NS, 2 * WORK_NS);
    sampled_check(image_ns(2), 2 * WORK_NS, WORK_NS);
}

/* Each sample represents 4001 of them: what is left of that on each CPU, and
 * where CPUs are looked at what others' faults shift, is a part of it. How much
 * of the time is in the kernel depends on the machine: where a hypervisor has
 * faults of its own, it is seen at the program's instruction. */
static void page_faults_are_counted_where_they_are(void **state)
{
    const struct ck_sample *fault = NULL;
    const struct ck_sample *sample = NULL;
    int64_t faults = 0, faulting = 0, all = 0;

    (void)state;
    child_run_alone("fault");
    while ((fault = said_next(&said, CK_KIND_FAULT_MINOR, fault)) != NULL) {
        assert_true(fault->weight > 0);
        assert_true(fault->address != 0);
        assert_true(fault->stack != 0);
        faults += fault->weight;
    }
    assert_in_range(faults, FAULTS / 10 * 7, FAULTS / 10 * 13);
    while ((sample = said_next(&said, CK_KIND_SAMPLE, sample)) != NULL) {
        all += sample->weight;
        faulting +=
            (sample->e.flags & CK_FLAG_FAULTING) != 0 ? sample->weight : 0;
    }
    assert_in_range(faulting, all / 10, all);
}

/* Text of the SYMBOL of an address, or "". */
static const char *symbol_of(uint64_t address)
{
    const struct ck_text *text = NULL;

    while ((text = said_next(&said, CK_KIND_SYMBOL, text)) != NULL) {
        if (text->object == address) {
            return ck_text_bytes(text);
        }
    }
    return "";
}

/* The innermost address of a stack. */
static uint64_t stack_leaf(uint32_t number)
{
    const struct ck_text *text = NULL;
    uint64_t leaf = 0;

    while ((text = said_next(&said, CK_KIND_STACK, text)) != NULL) {
        if (text->e.name == number) {
            assert_int_equal(text->extra, 1);
            memcpy(&leaf, ck_text_bytes(text), sizeof(leaf));
        }
    }
    return leaf;
}

static void samples_count_cpu_time_and_name_the_function(void **state)
{
    struct symbols *symbols = symbols_create();
    const struct ck_sample *sample = NULL;
    int64_t total = 0;
    int64_t named = 0;
    uint32_t tids[2] = {0, 0};

    (void)state;
    (void)child_run(symbols);
    assert_int_equal(
        symbols_finish(symbols, said.selfstream, LIMIT_MS * CK_TIME_MS), 0);
    said_read(&said);
    while ((sample = said_next(&said, CK_KIND_SAMPLE, sample)) != NULL) {
        assert_int_equal(sample->e.name, 1);
        total += sample->weight;
        if (strcmp(symbol_of(stack_leaf((uint32_t)sample->stack)),
                   "sampled_work") == 0) {
            named += sample->weight;
        }
        if (tids[0] == 0 || sample->tid == tids[0]) {
            tids[0] = sample->tid;
        } else {
            tids[1] = sample->tid;
        }
    }
    symbols_destroy(symbols);
    sampled_check(total, 2 * WORK_NS, 0);          /* two threads */
    sampled_check(named, 2 * WORK_NS * 9 / 10, 0); /* the kernel interrupts */
    assert_true(tids[1] != 0);
}

static void a_sleep_is_a_time_blocked(void **state)
{
    const struct ck_mark *mark = NULL;
    ck_time_t longest = 0;
    pid_t pid;

    (void)state;
    pid = child_run(NULL);
    said_read(&said);
    while ((mark = said_next(&said, CK_KIND_BLOCKED, mark)) != NULL) {
        if (mark->value == pid && mark->dur > longest) {
            longest = mark->dur;
        }
    }
    assert_in_range(longest, SLEEP_NS, SLEEP_NS + CK_TIME_S);
}

/* Each yield of two threads on one CPU is a switch out and one in. */
static void a_ring_that_fills_asks_for_a_step(void **state)
{
    struct ck_ring_process *entry = ck_ring_processes(header);
    struct pollfd item = {.events = POLLIN};
    struct ck_err err;
    int status;
    int go;
    pid_t pid = child_start(&go, "yield");

    (void)state;
    sampler = sampler_open(pid, sharers, &err);
    entry->pid = (uint32_t)pid;
    atomic_store(&entry->key, 1ull << 32 | 1);
    atomic_store(&entry->incarnation, 1);
    atomic_store(&header->incarnations, 1);
    sampler_step(sampler, said.selfstream, header, NULL);
    item.fd = sampler_filled_fd(sampler);
    (void)close(go);
    if (sampler != NULL) {
        assert_int_equal(poll(&item, 1, LIMIT_MS), 1);
        sampler_step(sampler, said.selfstream, header, NULL);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    sampler_step(sampler, said.selfstream, header, NULL);
    assert_int_equal(poll(&item, 1, 0), 0); /* its end is no reason for more */
}

/* How often one thread was given a CPU. */
static uint64_t thread_runs(const char *path)
{
    unsigned long long runs = 0;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%*u %*u %llu", &runs) != 1) {
        runs = 0;
    }
    (void)fclose(file);
    return runs;
}

/* How often the threads of a process were. */
static uint64_t runs_count(pid_t pid)
{
    const struct dirent *entry;
    char path[300];
    uint64_t sum = 0;
    DIR *tasks;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
    tasks = opendir(path);
    assert_non_null(tasks);
    while ((entry = readdir(tasks)) != NULL) {
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", pid,
                       entry->d_name);
        sum += thread_runs(path);
    }
    (void)closedir(tasks);
    return sum;
}

/* Wait until they have been given one so much oftener. */
static void runs_wait(pid_t pid, uint64_t more)
{
    struct timespec pause = {.tv_nsec = 10 * CK_TIME_MS};
    ck_time_t until = ck_time_raw() + LIMIT_MS * CK_TIME_MS;
    uint64_t before = runs_count(pid);

    while (runs_count(pid) - before < more && ck_time_raw() < until) {
        (void)nanosleep(&pause, NULL);
    }
}

/* There is no look while the switches of two threads that wake each other fill
 * their ring. With stacks the samples of that time would fill theirs, as
 * would those of other programs where the CPUs are looked at. */
static void a_storm_of_switches_takes_no_sample_away(void **state)
{
    struct ck_ring_process *entry = ck_ring_processes(header);
    struct sampler_tally tally;
    struct ck_err err;
    int status;
    int go;
    pid_t pid = child_start(&go, "storm");

    (void)state;
    stack_bytes = 0;
    sampler = sampler_open(pid, sharers, &err);
    entry->pid = (uint32_t)pid;
    atomic_store(&entry->key, 1ull << 32 | 1);
    atomic_store(&entry->incarnation, 1);
    atomic_store(&header->incarnations, 1);
    sampler_step(sampler, said.selfstream, header, NULL);
    (void)close(go);
    for (int i = 0; i < STORMS; i++) {
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        sampler_step(sampler, said.selfstream, header, NULL);
        (void)kill(pid, SIGCONT);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    tally = sampler_tally(sampler);
    assert_true(tally.switches_lost > 0);
    assert_true(tally.switches > 0);
    assert_true(tally.samples > 0);
    assert_int_equal(tally.samples_lost, 0);
}

static bool is_noted(const char *words)
{
    const struct ck_text *text = NULL;

    said_read(&said);
    while ((text = said_next(&said, CK_KIND_NOTE, text)) != NULL) {
        if (memmem(ck_text_bytes(text), text->length, words, strlen(words)) !=
            NULL) {
            return true;
        }
    }
    return false;
}

/* The kernel reports what it lost in front of what it has room for next. */
static void stacks_of_waits_that_are_lost_are_noted(void **state)
{
    struct ck_err err;
    int status;
    int go;
    pid_t pid = child_start(&go, "nap");

    (void)state;
    off_cpu = CK_TIME_MS;
    sampler = sampler_open(pid, sharers, &err);
    (void)close(go);
    for (int i = 0; sampler != NULL && i < 4; i++) {
        runs_wait(pid, NAP_RUNS);
        sampler_step(sampler, said.selfstream, header, NULL);
    }
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    sampler_notes(sampler, said.selfstream);
    if (is_noted("the stacks of waits without a CPU are not recorded")) {
        print_message("skipped: no stacks of waits here\n");
        skip();
    }
    assert_true(is_noted("stacks of switches"));
}

/* When a process ended, looked for late; 0 = its record had no room. It was
 * between the two times. */
static ck_time_t end_find(ck_time_t *before, ck_time_t *seen)
{
    struct timespec late = {.tv_nsec = 200 * CK_TIME_MS};
    ck_time_t ended;
    siginfo_t info;
    struct ck_err err;
    int stamps[2];
    pid_t pid;
    int go;

    assert_int_equal(pipe(stamps), 0);
    assert_int_equal(dup2(stamps[1], STAMP_FD), STAMP_FD);
    pid = child_start(&go, "end");
    sampler = sampler_open(pid, sharers, &err);
    if (sampler != NULL) {
        sampler_step(sampler, said.selfstream, header, NULL);
    }
    (void)close(go);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    *seen = ck_time_raw();
    assert_int_equal(read(stamps[0], before, sizeof(*before)), sizeof(*before));
    (void)nanosleep(&late, NULL);
    if (sampler != NULL) {
        assert_int_equal(sampler_ended(sampler, (uint32_t)pid, 0), 0);
        sampler_step(sampler, said.selfstream, header, NULL);
    }
    /* It seemed to live until then. */
    ended = sampler_ended(sampler, (uint32_t)pid, *seen);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(stamps[0]);
    (void)close(stamps[1]);
    (void)close(STAMP_FD);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    return ended;
}

/* However late it is looked for, and whether it was waited for or not; though
 * it was seen to live behind that: its memory was being given back. Where
 * many share the memory, other programs may fill the rings in that time. */
static void the_end_of_a_process_is_when_the_kernel_saw_it(void **state)
{
    ck_time_t before = 0, seen = 0, ended;

    (void)state;
    stack_bytes = 0; /* what its start had would fill them, too */
    ended = end_find(&before, &seen);
    for (int i = 0; i < TRIES && ended == 0; i++) {
        sampler_destroy(sampler);
        ended = end_find(&before, &seen);
    }
    assert_in_range(ended, before, seen);
}

/* A script's programs end before anything is read of them, and have no entry:
 * none can be made for them any more. */
static void stacks_of_a_process_that_is_gone_are_not_unwound(void **state)
{
    struct ck_err err;
    int go;
    pid_t pid = child_start(&go, "work");

    (void)state;
    sampler = sampler_open(pid, sharers, &err);
    if (sampler != NULL) {
        sampler_step(sampler, said.selfstream, header, NULL);
    }
    (void)close(go);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (sampler == NULL) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    sampler_step(sampler, said.selfstream, header, NULL);
    assert_true(sampler_tally(sampler).samples > 0);
    assert_int_equal(sampler_stacks(sampler).tally.stacks, 0);
    said_read(&said);
    assert_null(said_next(&said, CK_KIND_SAMPLE, NULL));
}

static void a_refusal_is_reported_with_its_reason(void **state)
{
    struct ck_err err;

    (void)state;
    /* No such process: as any other refusal. */
    sampler = sampler_open(0x3fffffff, sharers, &err);
    assert_null(sampler);
    assert_true(strlen(err.text) > 0);
}

int main(int argc, char **argv)
{
    static int many = SHARERS_MANY, few = SHARERS_FEW;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            samples_count_cpu_time_and_name_the_function, setup, teardown),
        cmocka_unit_test_prestate_setup_teardown(
            samples_count_cpu_time_and_name_the_function, setup, teardown,
            &many),
        cmocka_unit_test_setup_teardown(a_sleep_is_a_time_blocked, setup,
                                        teardown),
        cmocka_unit_test_prestate_setup_teardown(a_sleep_is_a_time_blocked,
                                                 setup, teardown, &many),
        cmocka_unit_test_prestate_setup_teardown(
            a_ring_that_fills_asks_for_a_step, setup, teardown, &many),
        cmocka_unit_test_prestate_setup_teardown(
            a_storm_of_switches_takes_no_sample_away, setup, teardown, &few),
        cmocka_unit_test_prestate_setup_teardown(
            stacks_of_waits_that_are_lost_are_noted, setup, teardown, &many),
        cmocka_unit_test_setup_teardown(
            the_cpus_are_looked_at_where_they_are_our_own, setup, teardown),
        cmocka_unit_test_setup_teardown(children_that_compute_own_their_samples,
                                        setup, teardown),
        cmocka_unit_test_prestate_setup_teardown(
            children_that_compute_own_their_samples, setup, teardown, &many),
        cmocka_unit_test_setup_teardown(
            samples_after_an_exec_are_of_the_new_image, setup, teardown),
        cmocka_unit_test_prestate_setup_teardown(
            samples_after_an_exec_are_of_the_new_image, setup, teardown, &many),
        cmocka_unit_test_setup_teardown(page_faults_are_counted_where_they_are,
                                        setup, teardown),
        cmocka_unit_test_prestate_setup_teardown(
            page_faults_are_counted_where_they_are, setup, teardown, &many),
        cmocka_unit_test_setup_teardown(
            the_end_of_a_process_is_when_the_kernel_saw_it, setup, teardown),
        cmocka_unit_test_prestate_setup_teardown(
            the_end_of_a_process_is_when_the_kernel_saw_it, setup, teardown,
            &many),
        cmocka_unit_test_setup_teardown(
            stacks_of_a_process_that_is_gone_are_not_unwound, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_is_reported_with_its_reason,
                                        setup, teardown),
    };

    if (argc == 2 && strcmp(argv[1], "work") == 0) {
        return work_main();
    }
    if (argc == 2 && strcmp(argv[1], "fault") == 0) {
        return fault_main();
    }
    if (argc == 2 && strcmp(argv[1], "fork") == 0) {
        return fork_main();
    }
    if (argc == 2 && strcmp(argv[1], "exec") == 0) {
        return exec_main();
    }
    if (argc == 2 && strcmp(argv[1], "end") == 0) {
        return end_main();
    }
    if (argc == 2 && strcmp(argv[1], "yield") == 0) {
        return yield_main();
    }
    if (argc == 2 && strcmp(argv[1], "storm") == 0) {
        return storm_main();
    }
    if (argc == 2 && strcmp(argv[1], "nap") == 0) {
        return nap_main();
    }
    if (argc == 2) {
        return 0; /* a child that does nothing */
    }
    /* In the children: a search for leaks at their end is one process more. */
    (void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
