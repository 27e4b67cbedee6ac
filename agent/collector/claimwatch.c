/* claimwatch.c - the collector is woken when a thread gets a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The word that is waited for is in memory that a program may overwrite: one
 * doze ends by at most one wake, whatever the word holds.
 */
#include "agent/collector/claimwatch.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 << 10)

struct claimwatch {
    struct ck_ring_header *header; /* borrowed */
    pthread_t thread;
    sem_t armed; /* posted by each doze, and for the end */
    int fd;
    bool is_dozing;
    _Atomic bool is_over;
};

static void *watch_run(void *given)
{
    struct claimwatch *watch = given;
    const uint64_t one = 1;

    for (;;) {
        long status = -1;

        while (sem_wait(&watch->armed) != 0) {
        }
        while (status != 0 && !atomic_load(&watch->is_over)) {
            status = syscall(SYS_futex, &watch->header->doze, FUTEX_WAIT, 1,
                             NULL, NULL, 0);
            if (status != 0 && errno != EINTR) {
                break;
            }
        }
        if (atomic_load(&watch->is_over)) {
            return NULL;
        }
        (void)!write(watch->fd, &one, sizeof(one));
    }
}

/* All signals are the collector's. 0, or -1 with errno. */
static int thread_start(struct claimwatch *watch)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    int error = pthread_attr_init(&attributes);

    if (error == 0) {
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&watch->thread, &attributes, watch_run, watch);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)pthread_attr_destroy(&attributes);
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

struct claimwatch *claimwatch_create(struct ck_ring_header *header)
{
    struct claimwatch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL) {
        return NULL;
    }
    watch->header = header;
    atomic_store(&header->doze, 0); /* of a collector before */
    watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->fd == -1) {
        free(watch);
        return NULL;
    }
    if (sem_init(&watch->armed, 0, 0) != 0 || thread_start(watch) != 0) {
        int saved = errno;

        (void)close(watch->fd);
        free(watch);
        errno = saved;
        return NULL;
    }
    return watch;
}

void claimwatch_destroy(struct claimwatch *watch)
{
    if (watch == NULL) {
        return;
    }
    atomic_store(&watch->is_over, true);
    atomic_store(&watch->header->doze, 0);
    (void)sem_post(&watch->armed);
    (void)syscall(SYS_futex, &watch->header->doze, FUTEX_WAKE, 1, NULL, NULL,
                  0);
    (void)pthread_join(watch->thread, NULL);
    (void)sem_destroy(&watch->armed);
    (void)close(watch->fd);
    free(watch);
}

int claimwatch_fd(const struct claimwatch *watch)
{
    return watch->fd;
}

bool claimwatch_doze(struct claimwatch *watch)
{
    if (watch->is_dozing) {
        return false;
    }
    watch->is_dozing = true;
    atomic_store(&watch->header->doze, 1);
    (void)sem_post(&watch->armed);
    return true;
}

bool claimwatch_is_dozing(const struct claimwatch *watch)
{
    return watch->is_dozing;
}

void claimwatch_rise(struct claimwatch *watch)
{
    uint64_t count;

    if (read(watch->fd, &count, sizeof(count)) == (ssize_t)sizeof(count)) {
        atomic_store(&watch->header->doze, 0);
        watch->is_dozing = false;
    }
}
