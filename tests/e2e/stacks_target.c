/* stacks_target.c - computes three parts of four 12 calls deep, one at the top
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parts are CPU time of the thread, which samples count as well: their ratio is
 * the same on any machine. Built with frame pointers and without tail calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 12

static volatile double sum;

__attribute__((noinline)) static void spin(long milliseconds)
{
    struct timespec at;
    long long end;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    end = at.tv_sec * 1000000000ll + at.tv_nsec + milliseconds * 1000000ll;
    do {
        for (int i = 0; i < 20000; i++) {
            sum = sum * 0.5 + i;
        }
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    } while (at.tv_sec * 1000000000ll + at.tv_nsec < end);
}

__attribute__((noinline)) static void deep(int level, long milliseconds)
{
    if (level > 0) {
        deep(level - 1, milliseconds);
    } else {
        spin(milliseconds);
    }
    sum += 1; /* behind the call, so that it is none at the tail */
}

__attribute__((noinline)) static void solve(long milliseconds)
{
    deep(DEPTH - 1, milliseconds);
    sum += 1;
}

__attribute__((noinline)) static void shallow(long milliseconds)
{
    spin(milliseconds);
    sum += 1;
}

int main(int argc, char **argv)
{
    long part = argc > 1 ? strtol(argv[1], NULL, 10) : 200;

    solve(3 * part);
    shallow(part);
    return sum < 0;
}
