/* shapes.c - programs of shapes that others have, late for known reasons
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     shapes late     the last rank sleeps 8 ms more, then all meet
 *     shapes threads  two threads of each rank meet those of the others, each
 *                     in a communicator of its own, while the first one waits
 *                     for both; in the last rank the second thread sleeps 8 ms
 *                     more
 *     shapes window   the last rank sleeps 8 ms more with a window of rank 0
 *                     locked, as all do: for whom they wait there is not known
 *     shapes posts    the last rank sleeps 8 ms more and then posts to rank 0,
 *                     which puts a number there
 *     shapes completes    the last rank sleeps 8 ms more and then puts a number
 *                     into the window of rank 0, which has posted
 *     shapes fence    the last rank sleeps 8 ms more, then all meet at a
 *                     window's fence; in each step the ranks call those of two
 *                     other windows that end nothing, and each window is made
 *                     and freed four times
 *     shapes files F  the last rank sleeps 8 ms more, then all write to the
 * file F together, and at the end all of them close it shapes bridge   the last
 * rank sleeps 8 ms more and sends to the other half of the ranks, in a
 * collective of an intercommunicator: for whom is not known there either; at
 *                     last rank 0 comes late
 *     shapes gather   the last rank sleeps 8 ms more, then all send it 1 MB by
 *                     MPI_Gather, which has to wait until it takes them
 *
 *     shapes ring     the last rank sleeps 8 ms more, then each sends 64 bytes
 *                     to the next one, by persistent requests
 *     shapes polls    the last rank sleeps 8 ms more before it sends to the
 *                     first one, which looks with MPI_Testsome until all
 *                     messages are there and answers: so all wait for the last
 *     shapes posted   all post an MPI_Iallreduce, the last rank sleeps 8 ms
 *                     more, then all complete it: the others wait, as the
 *                     last rank takes no part in it meanwhile
 *     shapes spawned  each rank starts one by MPI_Comm_spawn, which sleeps 8 ms
 *                     more; then all meet
 *     shapes flood    all send 100 small messages at once; the last
 *                     rank takes one each 0.1 ms; 40 times
 *
 * Each step is 40 times. The lines that take the time end in "here: NAME". Each
 * rank prints for how long one of its threads at least was at its own work, and
 * how long all steps took:
 *
 *     worked RANK NS OF_NS
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 40
#define THREADS 2
#define GATHER_BYTES (1 << 20)
#define RANKS_MAX 16
#define FLOOD 100 /* messages of a rank in a step */
#define SMALL 4096

struct span {
    int64_t begin, end;
};

static struct span spans[THREADS][STEPS];
static int rank, size;
static MPI_Comm comms[THREADS];

static int64_t now(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static void sleep_of_all(void)
{
    struct timespec pause = {0, 2000000};

    (void)nanosleep(&pause, NULL); /* here: all */
}

static void sleep_late(void)
{
    struct timespec pause = {0, 8000000};

    (void)nanosleep(&pause, NULL); /* here: late */
}

static void meet(MPI_Comm comm)
{
    double mine = 1, sum;

    (void)MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

static void steps(int thread, int is_late, MPI_Comm comm)
{
    for (int i = 0; i < STEPS; i++) {
        struct span *span = &spans[thread][i];

        span->begin = now();
        sleep_of_all();
        if (is_late) {
            sleep_late();
        }
        span->end = now();
        meet(comm);
    }
}

static void *part_run(void *argument)
{
    int thread = *(int *)argument;

    steps(thread, rank == size - 1 && thread == 1, comms[thread]);
    return NULL;
}

static void threads(void)
{
    int numbers[THREADS] = {0, 1};
    pthread_t ids[THREADS];

    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&ids[i], NULL, part_run, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(ids[i], NULL);
    }
}

static MPI_Win window_make(void)
{
    double *memory;
    MPI_Win made;

    (void)MPI_Win_allocate(sizeof(*memory), sizeof(*memory), MPI_INFO_NULL,
                           MPI_COMM_WORLD, &memory, &made);
    return made;
}

static void window(void)
{
    MPI_Win all = window_make();
    double token = rank;

    for (int i = 0; i < STEPS; i++) {
        sleep_of_all();
        (void)MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, all);
        (void)MPI_Put(&token, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, all);
        if (rank == size - 1) {
            sleep_late();
        }
        (void)MPI_Win_unlock(0, all); /* here: lock */
    }
    (void)MPI_Win_free(&all);
}

static MPI_Group group_of(int number)
{
    MPI_Group all, one;

    (void)MPI_Comm_group(MPI_COMM_WORLD, &all);
    (void)MPI_Group_incl(all, 1, &number, &one);
    (void)MPI_Group_free(&all);
    return one;
}

/* From rank `from` to rank `to`; the last rank, which is one of them, is late
 * with what it begins with. */
static void put(int from, int to)
{
    MPI_Group other = group_of(rank == from ? to : from);
    MPI_Win all = window_make();
    double token = rank;

    for (int i = 0; i < STEPS; i++) {
        sleep_of_all();
        if (rank == size - 1) {
            sleep_late();
        }
        if (rank == to) {
            (void)MPI_Win_post(other, 0, all);
            (void)MPI_Win_wait(all); /* here: wait */
        } else if (rank == from) {
            (void)MPI_Win_start(other, 0, all); /* here: start */
            (void)MPI_Put(&token, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, all);
            (void)MPI_Win_complete(all); /* here: complete */
        }
    }
    (void)MPI_Group_free(&other);
    (void)MPI_Win_free(&all);
}

static void fence(void)
{
    for (int k = 0; k < 4; k++) {
        MPI_Win windows[3] = {window_make(), window_make(), window_make()};

        for (int i = 0; i < STEPS / 4; i++) {
            sleep_of_all();
            if (rank == size - 1) {
                sleep_late();
            }
            (void)MPI_Win_fence(0, windows[0]); /* here: fence */
            (void)MPI_Win_fence(MPI_MODE_NOPRECEDE, windows[1]);
            (void)MPI_Win_fence(MPI_MODE_NOPRECEDE, windows[2]);
        }
        for (int i = 0; i < 3; i++) {
            (void)MPI_Win_free(&windows[i]);
        }
    }
}

static void files(const char *path)
{
    double x = rank;
    MPI_Status got;
    MPI_File all;

    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY,
                      MPI_INFO_NULL, &all) != MPI_SUCCESS) {
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
    (void)MPI_File_seek(all, (MPI_Offset)rank * 8 * STEPS, MPI_SEEK_SET);
    for (int i = 0; i < STEPS; i++) {
        sleep_of_all();
        if (rank == size - 1) {
            sleep_late();
        }
        (void)MPI_File_write_all(all, &x, 8, MPI_BYTE, &got); /* here: write */
    }
    (void)MPI_File_close(&all);
}

static void bridge(void)
{
    int is_upper = rank >= size / 2;
    int from = is_upper ? MPI_PROC_NULL : size - 1 - size / 2;
    double token = 1;
    MPI_Comm half, both;

    if (rank == size - 1) {
        from = MPI_ROOT;
    }
    (void)MPI_Comm_split(MPI_COMM_WORLD, is_upper, rank, &half);
    (void)MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_upper ? 0 : size / 2,
                               0, &both);
    for (int i = 0; i < STEPS; i++) {
        sleep_of_all();
        if (rank == size - 1) {
            sleep_late();
        }
        (void)MPI_Bcast(&token, 1, MPI_DOUBLE, from, both); /* here: bridge */
    }
    if (rank == 0) {
        sleep_of_all();
    }
    (void)MPI_Barrier(MPI_COMM_WORLD);
}

static void gather(void)
{
    char *mine = calloc((size_t)size + 1, GATHER_BYTES);

    for (int i = 0; mine != NULL && i < STEPS; i++) {
        sleep_of_all();
        if (rank == size - 1) {
            sleep_late();
        }
        (void)MPI_Gather(mine, GATHER_BYTES, MPI_CHAR, mine + GATHER_BYTES,
                         GATHER_BYTES, MPI_CHAR, size - 1,
                         MPI_COMM_WORLD); /* here: gather */
    }
    free(mine);
}

/* Work of the calling thread, with its stamps. */
static void work(int step, int is_late)
{
    struct span *span = &spans[0][step];

    span->begin = now();
    sleep_of_all();
    if (is_late) {
        sleep_late();
    }
    span->end = now();
}

static void ring(void)
{
    double out[8] = {0}, in[8];
    MPI_Request requests[2];
    MPI_Status done[2];

    (void)MPI_Send_init(out, 8, MPI_DOUBLE, (rank + 1) % size, 1,
                        MPI_COMM_WORLD, &requests[0]);
    (void)MPI_Recv_init(in, 8, MPI_DOUBLE, (rank + size - 1) % size, 1,
                        MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < STEPS; i++) {
        work(i, rank == size - 1);
        (void)MPI_Startall(2, requests);
        (void)MPI_Waitall(2, requests, done); /* here: ring */
    }
    (void)MPI_Request_free(&requests[0]);
    (void)MPI_Request_free(&requests[1]);
}

/* How many are complete, or less than 0. */
static int look(int all, MPI_Request *requests)
{
    MPI_Status done[RANKS_MAX];
    int which[RANKS_MAX], n;

    (void)MPI_Testsome(all, requests, &n, which, done); /* here: polls */
    return n;
}

static void collect(double *token)
{
    MPI_Request requests[RANKS_MAX];
    int count, all = size - 1;

    for (int i = 1; i < size; i++) {
        (void)MPI_Irecv(token, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD,
                        &requests[i - 1]);
    }
    for (int left = all; left > 0; left -= count > 0 ? count : 0) {
        count = look(all, requests);
    }
    for (int i = 1; i < size; i++) {
        (void)MPI_Send(token, 1, MPI_DOUBLE, i, 2, MPI_COMM_WORLD);
    }
}

static void polls(void)
{
    double token = 1;

    for (int i = 0; i < STEPS && size <= RANKS_MAX; i++) {
        if (rank == 0) {
            collect(&token);
            continue;
        }
        work(i, rank == size - 1);
        (void)MPI_Send(&token, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        (void)MPI_Recv(&token, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
    }
}

static void give(const char *small)
{
    MPI_Comm all = MPI_COMM_WORLD;

    (void)MPI_Send(small, SMALL, MPI_CHAR, size - 1, 1, all); /* here: flood */
}

static void flood(void)
{
    struct timespec pause = {0, 50000};
    MPI_Comm all = MPI_COMM_WORLD;
    char small[SMALL] = "";
    int to = size - 1;

    if (rank < to) {
        for (int i = 0; i < STEPS * FLOOD; i++) {
            give(small);
        }
        return;
    }
    for (int i = 0; i < STEPS; i++) {
        spans[0][i].begin = now();
        for (int k = 0; k < FLOOD * to; k++) {
            (void)MPI_Recv(small, SMALL, MPI_CHAR, MPI_ANY_SOURCE, 1, all,
                           MPI_STATUS_IGNORE);
            (void)nanosleep(&pause, NULL);
        }
        spans[0][i].end = now();
    }
}

static void posted(void)
{
    double mine[SMALL] = {1}, sum[SMALL];
    MPI_Request request;

    for (int i = 0; i < STEPS; i++) {
        struct span *span = &spans[0][i];

        (void)MPI_Iallreduce(mine, sum, SMALL, MPI_DOUBLE, MPI_SUM,
                             MPI_COMM_WORLD, &request);
        span->begin = now();
        sleep_of_all();
        if (rank == size - 1) {
            sleep_late();
        }
        span->end = now();
        (void)MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: posted */
    }
}

/* The started ones have numbers from 0, too. */
static void spawned(char *program)
{
    char what[] = "spawned", *words[] = {what, NULL};
    MPI_Comm parent, started, all;

    (void)MPI_Comm_get_parent(&parent);
    started = parent;
    if (parent == MPI_COMM_NULL) {
        (void)MPI_Comm_spawn(program, words, size, MPI_INFO_NULL, 0,
                             MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    }
    (void)MPI_Intercomm_merge(started, parent != MPI_COMM_NULL, &all);
    steps(0, parent != MPI_COMM_NULL, all);
    (void)MPI_Comm_free(&all);
    (void)MPI_Comm_disconnect(&started);
}

/* How long some thread was at work. */
static int64_t worked(void)
{
    int next[THREADS] = {0};
    int64_t until = 0, sum = 0;

    for (int left = THREADS * STEPS; left > 0; left--) {
        int at = next[0] == STEPS ||
                 (next[1] < STEPS &&
                  spans[1][next[1]].begin < spans[0][next[0]].begin);
        struct span span = spans[at][next[at]++];

        span.begin = span.begin > until ? span.begin : until;
        if (span.end > span.begin) {
            sum += span.end - span.begin;
            until = span.end;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "late";
    int64_t begin;
    int provided;

    (void)MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++) {
        (void)MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    begin = now();
    if (strcmp(what, "threads") == 0) {
        threads();
    } else if (strcmp(what, "window") == 0) {
        window();
    } else if (strcmp(what, "posts") == 0) {
        put(0, size - 1);
    } else if (strcmp(what, "completes") == 0) {
        put(size - 1, 0);
    } else if (strcmp(what, "fence") == 0) {
        fence();
    } else if (strcmp(what, "files") == 0 && argc > 2) {
        files(argv[2]);
    } else if (strcmp(what, "gather") == 0) {
        gather();
    } else if (strcmp(what, "bridge") == 0) {
        bridge();
    } else if (strcmp(what, "ring") == 0) {
        ring();
    } else if (strcmp(what, "polls") == 0) {
        polls();
    } else if (strcmp(what, "flood") == 0) {
        flood();
    } else if (strcmp(what, "posted") == 0) {
        posted();
    } else if (strcmp(what, "spawned") == 0) {
        spawned(argv[0]);
    } else {
        steps(0, rank == size - 1, MPI_COMM_WORLD);
    }
    printf("worked %d %lld %lld\n", rank, (long long)worked(),
           (long long)(now() - begin));
    (void)MPI_Finalize();
    return 0;
}
