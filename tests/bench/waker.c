/* waker.c - a process that wakes beside a program, and does next to nothing
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     waker MICROSECONDS BYTES PROGRAM [ARGUMENT]...
 *
 * Runs the program, and meanwhile reads so many bytes each so many
 * microseconds: what a collector of its records can do least. What the program
 * loses by it is the machine's price for being looked at so often. Ends with
 * its status.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING ((size_t)4 << 20)
#define LINE 64

/* Reads on from `at` in turn. */
static size_t look(const volatile char *ring, size_t at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        (void)ring[(at + i) % RING];
    }
    return (at + bytes) % RING;
}

int main(int argc, char **argv)
{
    struct timespec pause = {0, argc > 3 ? atol(argv[1]) * 1000 : 0};
    size_t bytes = argc > 3 ? (size_t)atol(argv[2]) : 0;
    char *ring = calloc(1, RING);
    size_t at = 0;
    int status = 0;
    pid_t pid;

    if (pause.tv_nsec <= 0 || pause.tv_nsec >= 1000000000 || ring == NULL) {
        (void)fprintf(stderr, "usage: waker MICROSECONDS BYTES PROGRAM "
                              "[ARGUMENT]...\n");
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        (void)execvp(argv[3], &argv[3]);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        (void)nanosleep(&pause, NULL);
        at = look(ring, at, bytes);
    }
    free(ring);
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
