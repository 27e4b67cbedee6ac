/* callers_target.c - computes below known chains of calls, and prints them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Built without frame pointers, inlining and tail calls. At the end each line
 * is the CPU time that was spent below a chain, in ns, and the chain, the
 * outermost function first: what a sampler has to find.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 11
#define PIECE 2000000ll /* ns of CPU time of one spin */

enum chain { DEEP, SORT, ALIGNED, SIGNAL, THREAD, CHAINS };

static const char *const names[CHAINS] = {
    "main step solve deep deep deep deep deep deep deep deep deep deep deep "
    "spin",
    "main step sorter compare spin",
    "main step aligned spin",
    "main step interrupted handle spin",
    "worker spin",
};

static _Thread_local volatile double sum;
static long long spent[CHAINS];

static long long now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}

static void spin(enum chain chain)
{
    long long start = now();
    long long end = start + PIECE;
    long long at = start;

    while (at < end) {
        for (int i = 0; i < 20000; i++) {
            sum = sum * 0.5 + i;
        }
        at = now();
    }
    spent[chain] += at - start;
}

static void deep(int level)
{
    volatile char room[100];

    room[level] = (char)level;
    if (level > 1) {
        deep(level - 1);
    } else {
        spin(DEEP);
    }
    sum += room[level];
}

static void solve(void)
{
    deep(DEPTH);
    sum += 1;
}

static int compare(const void *a, const void *b)
{
    spin(SORT);
    return *(const int *)a - *(const int *)b;
}

/* Below the C library's qsort(), with room of a size that is not known. */
static void sorter(int count)
{
    int *items = __builtin_alloca((size_t)count * sizeof(*items));

    for (int i = 0; i < count; i++) {
        items[i] = count - i;
    }
    qsort(items, (size_t)count, sizeof(*items), compare);
    sum += items[0];
}

/* The frame is aligned by a register of its own. */
static void aligned(int count)
{
    _Alignas(64) volatile int items[32] = {count};
    volatile char *some = __builtin_alloca((size_t)count);

    some[0] = 1;
    spin(ALIGNED);
    sum += items[0] + some[0];
}

static void handle(int number)
{
    spin(SIGNAL);
    sum += number;
}

static void interrupted(void)
{
    (void)raise(SIGUSR1);
    sum += 1;
}

static void step(int number)
{
    solve();
    sorter(number % 2 + 2);
    aligned(number % 30 + 1);
    interrupted();
    sum += number;
}

static void *worker(void *steps)
{
    for (int i = 0; i < *(int *)steps; i++) {
        spin(THREAD);
        sum += i;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t thread;

    (void)signal(SIGUSR1, handle);
    if (pthread_create(&thread, NULL, worker, &steps) != 0) {
        return 1;
    }
    for (int i = 0; i < steps; i++) {
        step(i);
    }
    (void)pthread_join(thread, NULL);
    for (int i = 0; i < CHAINS; i++) {
        printf("%lld %s\n", spent[i], names[i]);
    }
    return 0;
}
