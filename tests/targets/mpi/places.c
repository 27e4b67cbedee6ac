/* places.c - jobs with one planted cause each, of known rank, thread and line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     places SHAPE RANK [FOLDER]
 *
 *   team      thread 1 of RANK's team of two computes longer, in remesh
 *   teams     that of all ranks' teams
 *   convoy    4 threads of RANK compute with one mutex locked, in update
 *   faults    RANK touches new memory in each step, in fill
 *   missing   RANK leaves out one message: the next one waits for it for ever
 *   circle    all ranks send to the next one before they receive, for ever
 *   endless   RANK does not come back from spin
 *   pipeline  blocks go from rank to rank; RANK's stage is slower, in filter
 *   window    RANK computes longer in steps 30 to 59 of 90, in remesh
 *   files     RANK writes and reads files in each step, in save and load
 *   fsync     RANK waits for the disk in each step, in commit; both for as long
 *             as others compute longer, however fast the disk is
 *   queue     RANK's step needs four pieces that one thread ("producer") makes,
 *             in produce, and two others take
 *   waitall   RANK sends late what others wait for in MPI_Waitall: assemble
 *   crash     RANK writes to no memory, in damage
 *   sparse    RANK has most of the matrix, in multiply
 *
 * Lines that take the time end in "here: NAME".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PER_MS 750000 /* of the loop below, or so */
#define STEPS 60
#define WINDOW_STEPS 90
#define WINDOW_FIRST 30
#define WINDOW_LAST 59
#define LONG 12 /* ms */
#define SHORT 3
#define FILL_BYTES ((size_t)16 << 20)
#define PAGE ((size_t)4096)
#define FILE_BYTES ((size_t)2 << 20)
#define CONVOY_THREADS 4
#define PIECES 4
#define ROWS 4000

static int rank, size, chosen;
static const char *folder = ".";
static volatile uint64_t sink;

#define SPIN(ms)                                                               \
    for (long i = 0; i < (long)((ms)*PER_MS); i++)                             \
    x = x * 6364136223846793005u + 1442695040888963407u
#define PLACE(name) __attribute__((noipa)) static void name(double ms)

PLACE(usual)
{
    uint64_t x = 1;

    SPIN(ms); /* here: usual */
    sink = x;
}

PLACE(remesh)
{
    uint64_t x = 2;

    SPIN(ms); /* here: remesh */
    sink = x;
}

PLACE(update)
{
    uint64_t x = 3;

    SPIN(ms); /* here: update */
    sink = x;
}

PLACE(filter)
{
    uint64_t x = 4;

    SPIN(ms); /* here: filter */
    sink = x;
}

PLACE(produce)
{
    uint64_t x = 5;

    SPIN(ms); /* here: produce */
    sink = x;
}

PLACE(assemble)
{
    uint64_t x = 6;

    SPIN(ms); /* here: assemble */
    sink = x;
}

PLACE(spin)
{
    uint64_t x = 7;

    for (;;) {
        SPIN(ms); /* here: spin */
        sink = x;
    }
}

static void meet(void)
{
    double mine = 1, sum;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* ---- threads ------------------------------------------------------------ */

static void team_step(int is_late)
{
#pragma omp parallel num_threads(2) /* here: team */
    {
        usual(SHORT);
        if (omp_get_thread_num() == 1 && is_late) {
            remesh(LONG);
        }
    }
}

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void *convoy_thread(void *unused)
{
    for (int i = 0; i < 4; i++) {
        usual(0.2);
        (void)pthread_mutex_lock(&table); /* here: convoy */
        update(2);
        (void)pthread_mutex_unlock(&table);
    }
    return unused;
}

static void convoy_step(void)
{
    pthread_t threads[CONVOY_THREADS];

    for (int i = 0; i < CONVOY_THREADS; i++) {
        (void)pthread_create(&threads[i], NULL, convoy_thread, NULL);
    }
    for (int i = 0; i < CONVOY_THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;
static int wanted, made, taken;

static void *producer(void *unused)
{
    for (;;) {
        (void)pthread_mutex_lock(&gate);
        while (wanted == 0) {
            (void)pthread_cond_wait(&more, &gate);
        }
        wanted--;
        (void)pthread_mutex_unlock(&gate);
        produce(SHORT);
        (void)pthread_mutex_lock(&gate);
        made++;
        (void)pthread_cond_broadcast(&more);
        (void)pthread_mutex_unlock(&gate);
    }
    return unused;
}

static void *consumer(void *unused)
{
    for (;;) {
        (void)pthread_mutex_lock(&gate);
        while (made == 0) {
            (void)pthread_cond_wait(&more, &gate);
        }
        made--;
        (void)pthread_mutex_unlock(&gate);
        usual(0.3);
        (void)pthread_mutex_lock(&gate);
        taken++;
        (void)pthread_cond_signal(&fewer);
        (void)pthread_mutex_unlock(&gate);
    }
    return unused;
}

static void queue_begin(void)
{
    pthread_t threads[3];

    (void)pthread_create(&threads[0], NULL, producer, NULL);
    (void)pthread_setname_np(threads[0], "producer");
    for (int i = 1; i < 3; i++) {
        (void)pthread_create(&threads[i], NULL, consumer, NULL);
    }
}

static void queue_step(void)
{
    (void)pthread_mutex_lock(&gate);
    taken = 0;
    wanted = PIECES;
    (void)pthread_cond_broadcast(&more);
    while (taken < PIECES) {
        (void)pthread_cond_wait(&fewer, &gate); /* here: queue */
    }
    (void)pthread_mutex_unlock(&gate);
}

/* ---- memory and files ---------------------------------------------------- */

__attribute__((noipa)) static void fill(uint8_t *at)
{
    for (size_t i = 0; i < FILL_BYTES; i += PAGE) {
        at[i] = 1; /* here: fill */
    }
}

static void faults_step(void)
{
    uint8_t *at = mmap(NULL, FILL_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fill(at);
    (void)munmap(at, FILL_BYTES);
}

static char block[FILE_BYTES];

static int file_open(int flags)
{
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/places.%d", folder, rank);
    return open(path, flags, 0600); /* here: open */
}

__attribute__((noipa)) static void save(void)
{
    int file = file_open(O_CREAT | O_TRUNC | O_WRONLY);

    for (size_t done = 0; done < FILE_BYTES; done += PAGE) {
        if (write(file, block + done, PAGE) < 0) { /* here: save */
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    (void)close(file);
}

__attribute__((noipa)) static void load(void)
{
    int file = file_open(O_RDONLY);

    for (size_t done = 0; done < FILE_BYTES; done += PAGE) {
        if (read(file, block + done, PAGE) < 0) { /* here: load */
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    (void)close(file);
}

__attribute__((noipa)) static void commit(void)
{
    int file = file_open(O_CREAT | O_WRONLY);

    for (int i = 0; i < 4; i++) {
        if (pwrite(file, block, PAGE, i * (off_t)PAGE) < 0 ||
            fsync(file) != 0) { /* here: fsync */
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    (void)close(file);
}

/* ---- messages ----------------------------------------------------------- */

static void ring_step(int is_left_out)
{
    int out = rank, in;
    int from = (rank + size - 1) % size;
    MPI_Request request = MPI_REQUEST_NULL;

    usual(SHORT);
    if (!is_left_out) {
        MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD,
                  &request);
    }
    MPI_Recv(&in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, /* here: missing */
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void circle_step(void)
{
    int out = rank;

    MPI_Ssend(&out, 1, MPI_INT, (rank + 1) % size, 6, /* here: circle */
              MPI_COMM_WORLD);
    MPI_Recv(&out, 1, MPI_INT, (rank + size - 1) % size, 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void pipeline_step(void)
{
    int piece = 0;

    if (rank > 0) {
        MPI_Recv(&piece, 1, MPI_INT, rank - 1, 7, /* here: pipeline */
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    filter(rank == chosen ? LONG : SHORT);
    if (rank + 1 < size) {
        /* No stage is ahead of the next one by more than a piece. */
        MPI_Ssend(&piece, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
    }
}

static void waitall_step(void)
{
    double out = rank, in[2];
    MPI_Request requests[4];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;

    MPI_Irecv(&in[0], 1, MPI_DOUBLE, last, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_DOUBLE, next, 9, MPI_COMM_WORLD, &requests[1]);
    if (rank == chosen) {
        assemble(LONG);
    }
    MPI_Isend(&out, 1, MPI_DOUBLE, next, 8, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&out, 1, MPI_DOUBLE, last, 9, MPI_COMM_WORLD, &requests[3]);
    usual(SHORT);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* here: waitall */
}

/* ---- the rest ----------------------------------------------------------- */

/* A row has as many elements as its rank has of the matrix. */
__attribute__((noipa)) static double
multiply(const double *values, const uint32_t *columns, int each)
{
    double sum = 0;

    for (long i = 0; i < (long)ROWS * each; i++) {
        sum += values[i] * values[columns[i]]; /* here: multiply */
    }
    return sum;
}

static void sparse_step(void)
{
    static double *values;
    static uint32_t *columns;
    int each = rank == chosen ? 1000 : 150;

    if (values == NULL) {
        values = calloc((size_t)ROWS * (size_t)each, sizeof(*values));
        columns = calloc((size_t)ROWS * (size_t)each, sizeof(*columns));
        for (long i = 0; i < (long)ROWS * each; i++) {
            columns[i] = (uint32_t)(i * 7919 % 4096);
        }
    }
    sink = (uint64_t)multiply(values, columns, each);
}

static double now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void files_step(void)
{
    double end = now_ms() + LONG;

    while (now_ms() < end) {
        save();
        load();
    }
}

static void fsync_step(void)
{
    double end = now_ms() + LONG;

    while (now_ms() < end) {
        commit();
    }
}

__attribute__((noipa)) static void damage(volatile int *at)
{
    *at = 1; /* here: crash */
}

__attribute__((noipa)) static void advance(int number)
{
    usual(SHORT);
    if (rank == chosen && number == STEPS / 2) {
        damage((volatile int *)16);
    }
}

static void step(const char *shape, int number)
{
    int is_chosen = rank == chosen;

    if (strcmp(shape, "team") == 0) {
        team_step(is_chosen);
    } else if (strcmp(shape, "teams") == 0) {
        team_step(1);
    } else if (strcmp(shape, "convoy") == 0) {
        is_chosen ? convoy_step() : usual(SHORT);
    } else if (strcmp(shape, "faults") == 0) {
        usual(SHORT);
        is_chosen ? faults_step() : (void)0;
    } else if (strcmp(shape, "missing") == 0) {
        ring_step(is_chosen && number == STEPS / 2);
    } else if (strcmp(shape, "circle") == 0) {
        usual(SHORT);
        number == STEPS / 2 ? circle_step() : (void)0;
    } else if (strcmp(shape, "endless") == 0) {
        usual(SHORT);
        is_chosen &&number == STEPS / 2 ? spin(100) : (void)0;
    } else if (strcmp(shape, "window") == 0) {
        usual(SHORT);
        if (is_chosen && number >= WINDOW_FIRST && number <= WINDOW_LAST) {
            remesh(LONG);
        }
    } else if (strcmp(shape, "files") == 0) {
        usual(SHORT);
        is_chosen ? files_step() : (void)0;
    } else if (strcmp(shape, "fsync") == 0) {
        usual(SHORT);
        is_chosen ? fsync_step() : (void)0;
    } else if (strcmp(shape, "queue") == 0) {
        is_chosen ? queue_step() : usual(SHORT);
    } else if (strcmp(shape, "crash") == 0) {
        advance(number);
    } else {
        sparse_step();
    }
    meet();
}

static void steps_run(const char *shape)
{
    int steps = strcmp(shape, "window") == 0 ? WINDOW_STEPS : STEPS;

    if (strcmp(shape, "queue") == 0 && rank == chosen) {
        queue_begin();
    }
    for (int i = 0; i < steps; i++) {
        if (strcmp(shape, "pipeline") == 0) {
            pipeline_step();
        } else if (strcmp(shape, "waitall") == 0) {
            waitall_step();
        } else {
            step(shape, i);
        }
    }
}

int main(int argc, char **argv)
{
    int level;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: places SHAPE RANK [FOLDER]\n");
        return 2;
    }
    chosen = atoi(argv[2]);
    folder = argc > 3 ? argv[3] : folder;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    meet();
    steps_run(argv[1]);
    MPI_Finalize();
    return 0;
}
