/* posix_cost.c - what calls that ckposix wraps cost
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     posix_cost         the calls below
 *     posix_cost spin    CPU time of a fixed piece of work, for the sampler
 *
 * Prints a line a call: its name and the shortest time of many short rounds,
 * so that other programs of the machine are in most but not in all of them.
 * Prints nothing while it is too young to be recorded.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 400
#define CALLS 20000
#define YOUNG_US 120000
#define SPIN 400000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t semaphore;
static FILE *stream;
static int null;

static double now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void lock(void)
{
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_mutex_unlock(&mutex);
}

static void sem(void)
{
    (void)sem_wait(&semaphore);
    (void)sem_post(&semaphore);
}

static void stdio(void)
{
    (void)fwrite("12345678", 1, 8, stream);
}

static void pass(void)
{
    (void)!write(null, "12345678", 8);
}

static int calls_time(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
        int calls;
    } cases[] = {
        {"lock", lock, CALLS},
        {"sem", sem, CALLS},
        {"fwrite", stdio, CALLS},
        {"write", pass, CALLS / 10},
    };

    null = open("/dev/null", O_WRONLY);
    stream = fopen("/dev/null", "w");
    (void)sem_init(&semaphore, 0, 1);
    (void)usleep(YOUNG_US);
    (void)usleep(1000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double least = 1e18;

        for (int round = 0; round < ROUNDS; round++) {
            double begin = now_ns();
            double took;

            for (int call = 0; call < cases[i].calls; call++) {
                cases[i].call();
            }
            took = (now_ns() - begin) / cases[i].calls;
            least = took < least ? took : least;
        }
        printf("%s %.2f\n", cases[i].name, least);
    }
    return 0;
}

/* CPU time of the same work each time, ns: what interrupts it counts. */
static double spin_ns(void)
{
    struct timespec begin, end;
    volatile uint64_t sum = 1;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < SPIN; i++) {
        sum = sum * 6364136223846793005u + 1;
    }
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 +
           (double)(end.tv_nsec - begin.tv_nsec);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        printf("spin %.0f\n", spin_ns());
        return 0;
    }
    return calls_time();
}
