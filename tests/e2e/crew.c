/* crew.c - ranks without MPI that are late in turn, each in another way
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 3 asks ranks 0, 1 and 2 in turn and waits for each one's answer. Rank 0
 * spins before it answers (it looks for data that does not come), rank 1
 * computes, rank 2 sleeps. Each writes how long that took to FOLDER/took.RANK,
 * and to FOLDER/met.RANK when each read began and ended and each write began,
 * with the rank at the other end (CLOCK_MONOTONIC, s). They talk on a UNIX
 * socket that was connected, on a pair of such sockets that the launcher made,
 * and on pipes with names. Without RANK it is the launcher.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 8, WORKERS = 3 };

static volatile double x = 1;
static struct meeting {
    char what;
    int with;
    double begin, end;
} meetings[200];
static int met;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Looks for data that does not come. */
__attribute__((noinline)) static void spin(int fd, double until)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    while (now() < until)
        poll(&look, 1, 0);
}

__attribute__((noinline)) static void grind(double until)
{
    while (now() < until)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001 + 1e-9;
}

__attribute__((noinline)) static void nap(double until)
{
    double left = until - now();
    struct timespec t = {0, (long)(left * 1e9)};

    nanosleep(&t, NULL);
}

/* Of who waits for an answer, and of who gives it. */
struct line {
    int in, out, with;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static struct sockaddr_un place_of(const char *folder)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};

    snprintf(place.sun_path, sizeof(place.sun_path), "%s/place", folder);
    return place;
}

static struct line by_accept(const char *folder)
{
    struct sockaddr_un place = place_of(folder);
    char name[sizeof(place.sun_path)];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(name, place.sun_path, sizeof(name));
    strcat(place.sun_path, ".new");
    if (bind(fd, (struct sockaddr *)&place, sizeof(place)) != 0 ||
        listen(fd, 1) != 0 || rename(place.sun_path, name) != 0)
        fail("listen");
    fd = accept(fd, NULL, NULL);
    return (struct line){.in = fd, .out = fd};
}

static struct line by_connect(const char *folder)
{
    struct sockaddr_un place = place_of(folder);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    while (access(place.sun_path, F_OK) != 0)
        usleep(10000);
    if (connect(fd, (struct sockaddr *)&place, sizeof(place)) != 0)
        fail("connect");
    return (struct line){.in = fd, .out = fd};
}

static struct line by_pair(bool is_hub)
{
    int fd = atoi(getenv(is_hub ? "HUB_END" : "WORKER_END"));

    return (struct line){.in = fd, .out = fd};
}

static struct line by_fifos(const char *folder, bool is_hub)
{
    char names[2][4096];
    struct line line;

    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof(names[i]), "%s/fifo.%d", folder, i);
    /* The order of both: each open waits for the other one. */
    line.in = is_hub ? open(names[0], O_RDONLY) : -1;
    line.out = open(names[is_hub ? 1 : 0], O_WRONLY);
    line.in = is_hub ? line.in : open(names[1], O_RDONLY);
    if (line.in < 0 || line.out < 0)
        fail("open");
    return line;
}

static struct line line_of(int worker, const char *folder, bool is_hub)
{
    struct line line;

    if (worker == 0)
        line = is_hub ? by_accept(folder) : by_connect(folder);
    else
        line = worker == 1 ? by_pair(is_hub) : by_fifos(folder, is_hub);
    line.with = is_hub ? worker : WORKERS;
    return line;
}

static char get(struct line line)
{
    struct meeting *meeting = &meetings[met++];
    char byte = 0;

    *meeting = (struct meeting){'r', line.with, now(), 0};
    if (read(line.in, &byte, 1) != 1)
        fail("read");
    meeting->end = now();
    return byte;
}

static void put(struct line line, char byte)
{
    meetings[met++] = (struct meeting){'w', line.with, now(), 0};
    if (write(line.out, &byte, 1) != 1)
        fail("write");
}

static void met_write(const char *folder, int rank)
{
    char name[4096];
    FILE *out;

    snprintf(name, sizeof(name), "%s/met.%d", folder, rank);
    out = fopen(name, "w");
    for (int i = 0; i < met; i++)
        fprintf(out, "%c %d %.9f %.9f\n", meetings[i].what, meetings[i].with,
                meetings[i].begin, meetings[i].end);
    fclose(out);
}

static void hub(const char *folder)
{
    struct line workers[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        workers[i] = line_of(i, folder, true);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < WORKERS; i++) {
            put(workers[i], 1);
            get(workers[i]);
        }
    for (int i = 0; i < WORKERS; i++)
        put(workers[i], 0);
}

static void worker(const char *folder, int rank)
{
    struct line line = line_of(rank, folder, false);
    double took = 0;
    char name[4096];
    FILE *out;

    while (get(line) == 1) {
        double begin = now(), until = begin + 0.03 + 0.01 * rank;

        if (rank == 0)
            spin(line.in, until);
        else if (rank == 1)
            grind(until);
        else
            nap(until);
        took += now() - begin;
        put(line, 1);
    }
    snprintf(name, sizeof(name), "%s/took.%d", folder, rank);
    out = fopen(name, "w");
    fprintf(out, "%.9f\n", took);
    fclose(out);
}

static void number_set(const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    setenv(name, text, 1);
}

/* Start the ranks, as programs of their own. */
static int launch(char **argv, const char *folder)
{
    char name[4096];
    int ends[2], failed = 0, status;

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "%s/fifo.%d", folder, i);
        if (mkfifo(name, 0600) != 0)
            fail("mkfifo");
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        fail("socketpair");
    number_set("HUB_END", ends[0]);
    number_set("WORKER_END", ends[1]);
    number_set("WORLD_SIZE", WORKERS + 1);
    number_set("LOCAL_WORLD_SIZE", WORKERS + 1);
    for (int rank = 0; rank <= WORKERS; rank++)
        if (fork() == 0) {
            number_set("RANK", rank);
            number_set("LOCAL_RANK", rank);
            execv(argv[0], argv);
            _exit(127);
        }
    close(ends[0]);
    close(ends[1]);
    while (wait(&status) > 0)
        failed += status != 0;
    return failed;
}

int main(int argc, char **argv)
{
    const char *folder = argv[argc - 1];
    int rank;

    if (getenv("RANK") == NULL)
        return launch(argv, folder);
    rank = atoi(getenv("RANK"));
    usleep(200000); /* a younger process is not recorded */
    if (rank == WORKERS)
        hub(folder);
    else
        worker(folder, rank);
    met_write(folder, rank);
    usleep(50000);
    return 0;
}
