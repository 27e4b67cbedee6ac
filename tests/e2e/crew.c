/* crew.c - ranks without MPI that are late in turn, each in another way
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rank 3 asks ranks 0, 1 and 2 in turn and waits for each one's answer. Rank 0
 * spins before it answers (it looks for data that does not come), rank 1
 * computes, rank 2 sleeps. Each writes how long that took to FOLDER/took.RANK.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 8, WORKERS = 3 };

static volatile double x = 1;

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

static int server(const char *folder)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(place);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char name[4096], fresh[4200];
    FILE *out;

    if (bind(fd, (struct sockaddr *)&place, length) != 0 ||
        listen(fd, WORKERS) != 0 ||
        getsockname(fd, (struct sockaddr *)&place, &length) != 0)
        exit(1);
    snprintf(name, sizeof(name), "%s/port", folder);
    snprintf(fresh, sizeof(fresh), "%s.new", name);
    out = fopen(fresh, "w");
    fprintf(out, "%d\n", ntohs(place.sin_port));
    fclose(out);
    rename(fresh, name);
    return fd;
}

static int client(const char *folder)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), port = 0, one = 1;
    char name[4096];
    FILE *in;

    snprintf(name, sizeof(name), "%s/port", folder);
    while ((in = fopen(name, "r")) == NULL)
        usleep(10000);
    if (fscanf(in, "%d", &port) != 1)
        exit(1);
    fclose(in);
    place.sin_port = htons((unsigned short)port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (struct sockaddr *)&place, sizeof(place)) != 0)
        exit(1);
    return fd;
}

static char get(int fd)
{
    char byte = 0;

    if (recv(fd, &byte, 1, 0) != 1)
        exit(1);
    return byte;
}

static void put(int fd, char byte)
{
    if (send(fd, &byte, 1, 0) != 1)
        exit(1);
}

static void hub(const char *folder)
{
    int at = server(folder), workers[WORKERS], one = 1;

    for (int i = 0; i < WORKERS; i++) {
        int fd = accept(at, NULL, NULL);

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        workers[(int)get(fd)] = fd;
    }
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
    int fd = client(folder);
    double took = 0;
    char name[4096];
    FILE *out;

    put(fd, (char)rank);
    while (get(fd) == 1) {
        double begin = now(), until = begin + 0.03 + 0.01 * rank;

        if (rank == 0)
            spin(fd, until);
        else if (rank == 1)
            grind(until);
        else
            nap(until);
        took += now() - begin;
        put(fd, 1);
    }
    snprintf(name, sizeof(name), "%s/took.%d", folder, rank);
    out = fopen(name, "w");
    fprintf(out, "%.9f\n", took);
    fclose(out);
}

int main(int argc, char **argv)
{
    int rank = atoi(getenv("RANK"));

    usleep(200000); /* a younger process is not recorded */
    if (rank == WORKERS)
        hub(argv[argc - 1]);
    else
        worker(argv[argc - 1], rank);
    usleep(50000);
    return 0;
}
