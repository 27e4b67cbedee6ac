/* callsite_target.c - waits in a library of the system, from known lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A child writes pieces of 16 KiB into a pipe, one each 20 ms; libz reads them
 * for this program, which names the lines that ask for them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PIECE 16384
#define PIECES 8

static void *(*open_fd)(int, const char *);
static int (*read_some)(void *, void *, unsigned);
static int (*close_file)(void *);
static char buffer[PIECE];

static void pause_ms(long ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000};

    (void)nanosleep(&time, NULL);
}

__attribute__((noinline)) static int pieces_read(void *file)
{
    int read = read_some(file, buffer, PIECE); /* line FIRST */

    read += read_some(file, buffer, PIECE); /* line SECOND */
    return read;
}

__attribute__((noinline)) static void *thread_read(void *file)
{
    int read = pieces_read(file);

    read += read_some(file, buffer, PIECE); /* line THREAD */
    return (void *)(long)read;
}

static void *functions_find(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library != NULL) {
        *(void **)&open_fd = dlsym(library, "gzdopen");
        *(void **)&read_some = dlsym(library, "gzread");
        *(void **)&close_file = dlsym(library, "gzclose");
    }
    return library;
}

static void pieces_write(int fd)
{
    memset(buffer, 'x', sizeof(buffer));
    for (int i = 0; i < PIECES; i++) {
        pause_ms(20);
        if (write(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer)) {
            _exit(1);
        }
    }
    _exit(0);
}

int main(void)
{
    pthread_t thread;
    void *file, *result;
    int ends[2], status;

    if (functions_find() == NULL || pipe(ends) != 0) {
        return 77;
    }
    pause_ms(150); /* ckposix attaches with a long call after 100 ms */
    if (fork() == 0) {
        close(ends[0]);
        pieces_write(ends[1]);
    }
    close(ends[1]);
    file = open_fd(ends[0], "r");
    if (file == NULL || pieces_read(file) != 2 * PIECE ||
        pthread_create(&thread, NULL, thread_read, file) != 0 ||
        pthread_join(thread, &result) != 0 || (long)result != 3 * PIECE) {
        return 1;
    }
    while (read_some(file, buffer, PIECE) > 0) {
    }
    return close_file(file) == 0 && wait(&status) > 0 && status == 0 ? 0 : 1;
}
