/* ill.c - what goes wrong on purpose
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/targets/train/ill.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t lock_taken;
static double hold_ms;

static double cpu_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

double ill_now_us(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

void ill_pause(double ms)
{
    struct timespec pause = {
        .tv_sec = (time_t)(ms / 1e3),
        .tv_nsec = (long)(ms * 1e6) % 1000000000L,
    };

    (void)nanosleep(&pause, NULL);
}

void ill_compute(double ms)
{
    double end = cpu_ms() + ms;
    volatile double sink = 1.0;

    while (cpu_ms() < end) {
        for (int i = 0; i < 1000; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

void ill_prepare(double ms)
{
    double end = cpu_ms() + ms;
    volatile double sink = 2.0;

    while (cpu_ms() < end) {
        for (int i = 0; i < 1000; i++) {
            sink = sink / 1.0000001 - 1e-9;
        }
    }
}

static void *holder(void *unused)
{
    struct timespec pause = {
        .tv_sec = (time_t)(hold_ms / 1e3),
        .tv_nsec = (long)(hold_ms * 1e6) % 1000000000L,
    };

    (void)unused;
    for (;;) {
        (void)pthread_mutex_lock(&lock);
        (void)pthread_barrier_wait(&lock_taken);
        (void)nanosleep(&pause, NULL);
        (void)pthread_mutex_unlock(&lock);
        (void)pthread_barrier_wait(&lock_taken);
    }
    return NULL;
}

void ill_lock(double ms)
{
    static int is_started;

    if (!is_started) {
        pthread_t thread;

        is_started = 1;
        hold_ms = ms;
        (void)pthread_barrier_init(&lock_taken, NULL, 2);
        (void)pthread_create(&thread, NULL, holder, NULL);
    }
    (void)pthread_barrier_wait(&lock_taken);
    (void)pthread_mutex_lock(&lock);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_barrier_wait(&lock_taken);
}

void ill_write(double mib)
{
    static char block[1 << 20];
    FILE *file = tmpfile();

    if (file == NULL) {
        return;
    }
    memset(block, 'x', sizeof(block));
    for (int i = 0; i < (int)mib; i++) {
        (void)fwrite(block, 1, sizeof(block), file);
    }
    (void)fflush(file);
    (void)fsync(fileno(file));
    (void)fclose(file);
}

void ill_crash(void)
{
    volatile int *nowhere = (volatile int *)(uintptr_t)getenv("CK_NO_SUCH");

    *nowhere = 1;
}
