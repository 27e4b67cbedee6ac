/* plain.c - threads, locks, memory and files: what a sanitizer looks at
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * harmless.sh builds it in many ways. A word on the command line: it writes
 * behind its memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURNS 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turns;

static void *work(void *which)
{
    long mine = (long)which;

    for (int i = 0; i < TURNS; i++) {
        (void)pthread_mutex_lock(&lock);
        while (turns % 2 != mine) {
            (void)pthread_cond_wait(&changed, &lock);
        }
        turns++;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char name[] = "plain.XXXXXX";
    pthread_t threads[2];
    char *text = malloc(8);
    int fd = mkstemp(name);
    FILE *file;

    (void)argv;
    for (long i = 0; i < 2; i++) {
        (void)pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)usleep(150000); /* long enough to be recorded */
    (void)!write(fd, "written", 8);
    (void)close(fd);
    file = fopen(name, "r");
    (void)!fread(text, 1, 8, file);
    (void)fclose(file);
    (void)unlink(name);
    printf("%s %d\n", text, turns);
    if (argc > 1) {
        text[7 + argc] = 'x';
    }
    free(text);
    return 3;
}
