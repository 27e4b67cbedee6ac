/* diary.c - ranks that note what they do, so that it is known without a tool
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     diary uneven FOLDER   4 rounds: rank i computes 60 ms (i + 1); the last
 *                           wait is in MPI_Finalize
 *     diary turns FOLDER    the ranks sleep 150 ms in turn, all meet behind it
 *     diary parts FOLDER    8 rounds: computes, waits for data, for a lock and
 *                           sleeps, 20 ms each; rank 1 waits for data 60 ms
 *     diary before FOLDER   20 rounds: rank 1 sleeps 20 ms, then all compute
 *                           for 30 ms
 *     diary several FOLDER  15 rounds: rank 1 computes 20 ms, sleeps 34 ms and
 *                           computes 18 ms elsewhere; the others wait
 *     diary setup FOLDER    63 broadcasts in a row, then 600 ms without any
 *     diary rows FOLDER     40 steps of 3 ms; in each all meet
 *     diary window FOLDER   200 steps of 2 ms; in 60 to 89 the last rank takes
 *                           40 ms more
 *     diary spin FOLDER     computes for 2.6 s
 *     diary circle FOLDER   20 rounds of a healthy job, then each waits for a
 *                           message of the next one
 *     diary healthy FOLDER  the same rounds on and on
 *
 * FOLDER/diary.RANK is a mapped file, so it has what was noted up to a SIGKILL:
 * entries of what was done, when it began and ended (CLOCK_MONOTONIC_RAW; 0 =
 * it did not end), the thread's CPU time then, and a rank or number. An entry
 * "queue" has how long the process's threads ran and were ready without a CPU
 * until then, and how many ticks all programs ran on the CPUs that it may use;
 * "whole", at the begin of the program and at its end, how long the process ran
 * and these ticks.
 * What circle and healthy did 20 times they print: "rank N is there". All work
 * is by the clock: who has no CPU does not take longer.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#define ENTRIES 16384
#define MS 1000000LL
#define ROUNDS 20

struct entry {
    char what[24];
    int64_t begin, end;
    int64_t cpu_begin, cpu_end;
    int64_t number;
};

static struct entry *entries;
static int used;
static int rank, size;

static int64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

static struct entry *note(const char *what, int64_t number)
{
    struct entry *entry = &entries[used++];

    if (used >= ENTRIES - 2) {
        abort();
    }
    strcpy(entry->what, what);
    entry->number = number;
    entry->cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
    entry->begin = now(CLOCK_MONOTONIC_RAW);
    return entry;
}

static void noted(struct entry *entry)
{
    entry->end = now(CLOCK_MONOTONIC_RAW);
    entry->cpu_end = now(CLOCK_THREAD_CPUTIME_ID);
}

static void diary_open(const char *folder)
{
    char path[4096];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/diary.%d", folder, rank);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, ENTRIES * sizeof(*entries)) != 0) {
        abort();
    }
    entries = mmap(NULL, ENTRIES * sizeof(*entries), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, fd, 0);
    if (entries == MAP_FAILED) {
        abort();
    }
}

/* Of the CPUs that this process may use: user, nice, system, interrupts and
 * what another machine had. */
static int64_t worked(void)
{
    FILE *file = fopen("/proc/stat", "r");
    char line[512];
    int64_t sum = 0;
    cpu_set_t cpus;

    sched_getaffinity(0, sizeof(cpus), &cpus);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        long long user, nice, system, idle, iowait, irq, softirq, steal;
        int cpu;

        if (sscanf(line, "cpu%d %lld %lld %lld %lld %lld %lld %lld %lld", &cpu,
                   &user, &nice, &system, &idle, &iowait, &irq, &softirq,
                   &steal) == 9 &&
            CPU_ISSET(cpu, &cpus)) {
            sum += user + nice + system + irq + softirq + steal;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

/* Of the whole process, with threads that have ended. */
static void whole_note(struct entry *entry)
{
    strcpy(entry->what, "whole");
    entry->number = worked();
    entry->cpu_begin = entry->cpu_end = now(CLOCK_PROCESS_CPUTIME_ID);
    entry->begin = entry->end = now(CLOCK_MONOTONIC_RAW);
}

/* How long all threads of this process ran, and were ready, until now. */
static void queue_note(void)
{
    struct entry *entry = note("queue", 0);
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    char path[300];

    entry->number = worked();
    entry->cpu_begin = entry->cpu_end = 0;
    while ((task = readdir(tasks)) != NULL) {
        long long ran = 0, ready = 0;
        FILE *file;

        if (task->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat",
                       task->d_name);
        file = fopen(path, "r");
        if (file != NULL) {
            if (fscanf(file, "%lld %lld", &ran, &ready) == 2) {
                entry->cpu_begin += ran;
                entry->cpu_end += ready;
            }
            fclose(file);
        }
    }
    closedir(tasks);
    entry->end = now(CLOCK_MONOTONIC_RAW);
}

static void nap(int64_t ns)
{
    struct entry *entry = note("sleep", 0);
    struct timespec left = {ns / 1000000000, ns % 1000000000};

    while (nanosleep(&left, &left) != 0) { /* here: nap */
    }
    noted(entry);
}

/* In the line and the function that it is used in. */
#define SPIN(until)                                                            \
    while (now(CLOCK_MONOTONIC_RAW) < (until)) {                               \
        for (int i = 0; i < 20000; i++) {                                      \
            __asm__ volatile("" : : "r"(i));                                   \
        }                                                                      \
    }

__attribute__((noinline)) static void compute(int64_t ns)
{
    struct entry *entry = note("compute", 0);

    SPIN(entry->begin + ns) /* here: compute */
    noted(entry);
}

__attribute__((noinline)) static void grind(int64_t ns)
{
    struct entry *entry = note("grind", 0);

    SPIN(entry->begin + ns) /* here: grind */
    noted(entry);
}

static void meet(void)
{
    struct entry *entry = note("MPI_Barrier", 0);

    MPI_Barrier(MPI_COMM_WORLD); /* here: meet */
    noted(entry);
}

static void uneven(void)
{
    for (int i = 0; i < 4; i++) {
        compute((rank + 1) * 60 * MS);
        if (i < 3) {
            meet();
        }
    }
}

static void turns(void)
{
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank) {
            nap(150 * MS);
        }
        if (turn < size - 1) {
            meet();
        }
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int asked[2], answered[2];

/* Answers when it was asked, after as many ms, and then holds the lock. */
static void *helper(void *unused)
{
    unsigned char ms;

    while (read(asked[0], &ms, 1) == 1) {
        usleep(ms * 1000);
        pthread_mutex_lock(&lock);
        if (write(answered[1], "x", 1) != 1) {
            abort();
        }
        usleep(20000);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void data_get(unsigned char ms)
{
    struct entry *entry;
    char byte;

    if (write(asked[1], &ms, 1) != 1) {
        abort();
    }
    entry = note("io", 0);
    if (read(answered[0], &byte, 1) != 1) { /* here: io */
        abort();
    }
    noted(entry);
}

static void parts(void)
{
    struct entry *entry;
    pthread_t thread;

    if (pipe(asked) != 0 || pipe(answered) != 0 ||
        pthread_create(&thread, NULL, helper, NULL) != 0) {
        abort();
    }
    for (int i = 0; i < 8; i++) {
        compute(20 * MS);
        data_get(rank == 1 ? 60 : 20);
        entry = note("lock", 0);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        noted(entry);
        nap(20 * MS);
        meet();
    }
    close(asked[1]);
    pthread_join(thread, NULL);
}

static void before(void)
{
    for (int i = 0; i < 20; i++) {
        if (rank == 1) {
            nap(20 * MS);
        }
        compute(30 * MS);
        meet();
    }
}

static void several(void)
{
    for (int i = 0; i < 15; i++) {
        if (rank == 1) {
            compute(20 * MS);
            nap(34 * MS);
            grind(18 * MS);
        }
        meet();
    }
}

static void setup(void)
{
    double value = 0;

    for (int i = 0; i < 64; i++) {
        struct entry *entry;

        if (i == 63) {
            nap(600 * MS);
        }
        entry = note("MPI_Bcast", 0);
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        noted(entry);
    }
}

static void steps(int count, int64_t ns, int first, int last, int64_t more)
{
    for (int i = 0; i < count; i++) {
        bool is_late = rank == size - 1 && i >= first && i <= last;

        nap(is_late ? ns + more : ns);
        meet();
    }
}

static void receive(int from)
{
    struct entry *entry = note("MPI_Recv", from);
    int value;

    MPI_Recv(&value, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    noted(entry);
}

static void send(int to)
{
    struct entry *entry = note("MPI_Send", to);

    MPI_Send(&rank, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
    noted(entry);
}

/* Healthily: to the next one, from the one before, then all. */
static void exchange(void)
{
    nap(5 * MS);
    send((rank + 1) % size);
    receive((rank + size - 1) % size);
    meet();
}

static void ended_by_user(bool is_healthy)
{
    for (int i = 0; i < ROUNDS; i++) {
        exchange();
    }
    queue_note();
    printf("rank %d is there\n", rank);
    fflush(stdout);
    for (int i = 0; is_healthy; i++) {
        exchange();
        if (i % ROUNDS == 0) {
            queue_note();
        }
    }
    receive((rank + 1) % size);
}

static bool shape_run(const char *shape)
{
    if (strcmp(shape, "uneven") == 0) {
        uneven();
    } else if (strcmp(shape, "turns") == 0) {
        turns();
    } else if (strcmp(shape, "parts") == 0) {
        parts();
    } else if (strcmp(shape, "before") == 0) {
        before();
    } else if (strcmp(shape, "several") == 0) {
        several();
    } else if (strcmp(shape, "setup") == 0) {
        setup();
    } else if (strcmp(shape, "rows") == 0) {
        steps(40, 3 * MS, 0, -1, 0);
    } else if (strcmp(shape, "window") == 0) {
        steps(200, 2 * MS, 60, 89, 40 * MS);
    } else if (strcmp(shape, "spin") == 0) {
        for (int i = 0; i < 26; i++) {
            compute(100 * MS);
            queue_note();
        }
    } else if (strcmp(shape, "circle") == 0 || strcmp(shape, "healthy") == 0) {
        ended_by_user(shape[0] == 'h');
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct entry *entry, first;
    int64_t back;

    if (argc != 3) {
        return 2;
    }
    whole_note(&first);
    MPI_Init(&argc, &argv);
    back = now(CLOCK_MONOTONIC_RAW);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    diary_open(argv[2]);
    entry = note("MPI_Init", 0);
    entry->begin = back;
    noted(entry);
    entry->end = back;
    queue_note();
    if (!shape_run(argv[1])) {
        return 2;
    }
    queue_note();
    (void)note("MPI_Finalize", 0);
    entries[ENTRIES - 2] = first;
    MPI_Finalize();
    whole_note(&entries[ENTRIES - 1]);
    return 0;
}
