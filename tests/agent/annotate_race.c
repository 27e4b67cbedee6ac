/* annotate_race.c - threads whose first calls of ck.h come at the same time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Built with the thread sanitizer: a data race in ck.h ends it with a status
 * that is not 0.
 */
#include <agent/inject/ck.h>

#include <pthread.h>
#include <stddef.h>

#define THREADS 4

static pthread_barrier_t together;

static void *first_mark(void *unused)
{
    (void)unused;
    (void)pthread_barrier_wait(&together);
    ck_mark("first", 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    if (pthread_barrier_init(&together, NULL, THREADS) != 0) {
        return 2;
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, first_mark, NULL) != 0) {
            return 2;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return 0;
}
