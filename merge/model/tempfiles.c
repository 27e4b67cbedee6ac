/* tempfiles.c - what must not stay where ckmerge ends early
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/tempfiles.h"

#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATHS_MOST 64
/* Given back before directories are read where memory is out. */
#define RESERVE_BYTES (64 * 1024)
/* Of the thread that waits for signals: nftw() has a path on it. */
#define STACK_BYTES (128 * 1024)

static struct {
    pthread_mutex_t lock;
    char paths[PATHS_MOST][PATH_MAX]; /* "" = free */
    pid_t owner;                      /* 0 = no path was entered */
    void *reserve;
} temp = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const int ends[] = {SIGHUP, SIGINT, SIGTERM};

static char *slot_find(const char *path)
{
    for (size_t i = 0; i < PATHS_MOST; i++) {
        if (strcmp(temp.paths[i], path) == 0) {
            return temp.paths[i];
        }
    }
    return NULL;
}

void tempfiles_hold(void)
{
    (void)pthread_mutex_lock(&temp.lock);
}

void tempfiles_release(void)
{
    (void)pthread_mutex_unlock(&temp.lock);
}

void tempfiles_add(const char *path)
{
    char *slot = slot_find("");

    if (temp.owner == 0) {
        temp.owner = getpid();
        temp.reserve = malloc(RESERVE_BYTES);
    }
    if (slot != NULL && strlen(path) < PATH_MAX) {
        (void)strcpy(slot, path);
    }
}

void tempfiles_forget(const char *path)
{
    char *slot;

    tempfiles_hold();
    slot = slot_find(path);
    if (slot != NULL) {
        slot[0] = '\0';
    }
    tempfiles_release();
}

static int one_remove(const char *path,
                      const struct stat *status,
                      int kind,
                      struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void tempfiles_remove(void)
{
    /* A fork has the table, and maybe the lock, of its parent. */
    if (temp.owner != 0 && temp.owner != getpid()) {
        return;
    }
    tempfiles_hold();
    free(temp.reserve);
    temp.reserve = NULL;
    for (size_t i = 0; i < PATHS_MOST; i++) {
        if (temp.paths[i][0] != '\0' && unlink(temp.paths[i]) != 0) {
            (void)nftw(temp.paths[i], one_remove, 8, FTW_DEPTH | FTW_PHYS);
        }
        temp.paths[i][0] = '\0';
    }
}

void tempfiles_abandon(void)
{
    for (size_t i = 0; i < PATHS_MOST && temp.owner == getpid(); i++) {
        if (temp.paths[i][0] != '\0') {
            (void)unlink(temp.paths[i]);
        }
    }
}

static void *signals_wait(void *state)
{
    sigset_t awaited = *(const sigset_t *)state;
    int signal_number = 0;

    while (sigwait(&awaited, &signal_number) != 0) {
    }
    tempfiles_remove();
    /* As the signal would have: its usual way to end the program. */
    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, signal_number);
    (void)signal(signal_number, SIG_DFL);
    (void)kill(getpid(), signal_number);
    (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
    return NULL;
}

void tempfiles_watch(void)
{
    static sigset_t awaited;
    struct sigaction now;
    pthread_attr_t small;
    pthread_t thread;

    (void)sigemptyset(&awaited);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            (void)sigaddset(&awaited, ends[i]);
        }
    }
    (void)pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&small, STACK_BYTES);
    if (pthread_create(&thread, &small, signals_wait, &awaited) != 0) {
        (void)pthread_sigmask(SIG_UNBLOCK, &awaited, NULL);
    }
    (void)pthread_attr_destroy(&small);
}
