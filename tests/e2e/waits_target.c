/* waits_target.c - threads that wait in two functions, in turns
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * await_turn() waits on a condition, rest() sleeps; each is called by main()
 * and by work(). Prints how long both threads were in each, in microseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static int64_t awaited[2], rested[2]; /* us, by thread */

static int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

__attribute__((noinline)) static void await_turn(int who)
{
    int64_t began = now_us();

    (void)pthread_mutex_lock(&mutex);
    while (turn != who) {
        (void)pthread_cond_wait(&changed, &mutex); /* here: await_turn */
    }
    (void)pthread_mutex_unlock(&mutex);
    awaited[who] += now_us() - began;
}

__attribute__((noinline)) static void pass_turn(int who)
{
    (void)pthread_mutex_lock(&mutex);
    turn = who;
    (void)pthread_cond_signal(&changed);
    (void)pthread_mutex_unlock(&mutex);
    __asm__ volatile("");
}

__attribute__((noinline)) static void rest(int who, int ms)
{
    int64_t began = now_us();
    struct timespec time = {0, ms * 1000000L};

    (void)nanosleep(&time, NULL); /* here: rest */
    rested[who] += now_us() - began;
}

static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        await_turn(1);
        rest(1, 5);
        pass_turn(0);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++) {
        pass_turn(1);
        await_turn(0);
        rest(0, 8);
    }
    (void)pthread_join(thread, NULL);
    printf("%lld %lld\n", (long long)(awaited[0] + awaited[1]),
           (long long)(rested[0] + rested[1]));
    return 0;
}
