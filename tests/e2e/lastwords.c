/* lastwords.c - four threads; one ends the process by a signal
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   lastwords SIGNAL [handled]
 *
 * The fourth thread calls outer, which calls wound. "handled": the program has
 * a handler of its own, which writes a line, and lets the signal end it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile double sum;
static volatile int zero;
static int kind;

static void handler(int number)
{
    static const char line[] = "the program's own handler\n";

    (void)!write(STDOUT_FILENO, line, sizeof(line) - 1);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void *wait_long(void *unused)
{
    (void)pause();
    return unused;
}

__attribute__((noinline)) static void spin(void)
{
    for (;;) {
        sum = sum * 0.5 + 1;
    }
}

static void *compute(void *unused)
{
    spin();
    return unused;
}

/* Behind the end of a file. */
static void page_beyond(void)
{
    FILE *file = tmpfile();
    volatile char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);

    page[0] = 1;
}

__attribute__((noinline)) static void wound(volatile int *at)
{
    switch (kind) {
    case SIGSEGV:
        *at = 1;
        break;
    case SIGABRT:
        abort();
    case SIGFPE:
        zero = 1000 / zero;
        break;
    case SIGBUS:
        page_beyond();
        break;
    case SIGILL:
        __builtin_trap();
    default:
        (void)raise(kind);
    }
    sum += 1;
}

__attribute__((noinline)) static void outer(void)
{
    wound((volatile int *)(uintptr_t)0x10);
    sum += 1;
}

static void *end(void *unused)
{
    (void)usleep(300000);
    outer();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];

    kind = argc > 1 ? atoi(argv[1]) : SIGSEGV;
    if (argc > 2) {
        (void)signal(kind, handler);
    }
    (void)pthread_create(&threads[0], NULL, wait_long, NULL);
    (void)pthread_create(&threads[1], NULL, compute, NULL);
    (void)pthread_create(&threads[2], NULL, end, NULL);
    (void)pthread_join(threads[0], NULL);
    return 0;
}
