/* merging.c - one ckmerge at work on a run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/live/merging.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/cli.h"
#include "schema/fd.h"

#define OUTPUTS_MAX 16

struct merging {
    pid_t pid; /* 0 = ended */
    int out;   /* memory file: the child's stdout */
    char *text;
    size_t length;
    ck_time_t cpu;
    bool is_live;
};

/* A killed one ends in this time, unless its disk holds it. */
#define KILLED_WAIT (200 * CK_TIME_MS)
/* Ranks that have work go first; one that has a whole CPU leaves it a tenth, so
 * that results come where all CPUs have work. */
#define LIVE_NICE 10

/* A merge beside the job takes little of what the job could use. */
static void child_restrain(pid_t pid, const struct merging_wish *wish)
{
    struct rlimit limit = {(rlim_t)wish->cpu_s, (rlim_t)wish->cpu_s};

    if (!wish->is_urgent) {
        (void)setpriority(PRIO_PROCESS, (id_t)pid, LIVE_NICE);
    }
    (void)prlimit(pid, RLIMIT_CPU, &limit, NULL);
}

/* CPU time of all children that were waited for. */
static ck_time_t children_cpu(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0;
    }
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * CK_TIME_S +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * CK_TIME_US;
}

/* A memory file with the index of frames, -1 = none: ckmerge does without. */
static int index_open(const struct merging_wish *wish)
{
    int fd = wish->index ? memfd_create("ckmerge-frames", MFD_CLOEXEC) : -1;

    if (fd >= 0 && pwrite(fd, wish->index, wish->index_bytes, 0) !=
                       (ssize_t)wish->index_bytes) {
        ck_fd_close(fd);
        fd = -1;
    }
    return fd;
}

static int merging_spawn(struct merging *merging,
                         const char *run,
                         const struct merging_wish *wish,
                         int index,
                         struct ck_err *err)
{
    char path[PATH_MAX];
    const char *const *outputs = wish->outputs;
    char *argv[2 * OUTPUTS_MAX + 9];
    int n = 0;
    struct ck_child child = {
        .path = path,
        .argv = argv,
        .fds = {index, merging->out, wish->is_live ? -1 : -2},
        .is_tied = wish->is_live};

    if (ck_child_find("ckmerge", path, err) != 0) {
        return -1;
    }
    argv[n++] = (char *)"ckmerge";
    for (int i = 0; outputs && outputs[i] && i < OUTPUTS_MAX; i++) {
        argv[n++] = (char *)"--output";
        argv[n++] = (char *)outputs[i]; /* exec does not write to it */
    }
    if (wish->is_pageless) {
        argv[n++] = (char *)"--no-page";
    }
    if (wish->is_forced) {
        argv[n++] = (char *)"--force";
    }
    if (wish->is_live) {
        argv[n++] = (char *)"--live";
        argv[n++] = (char *)"--quiet";
    }
    if (index >= 0) {
        argv[n++] = (char *)"--frames";
        argv[n++] = (char *)"-";
    }
    argv[n++] = (char *)run;
    argv[n] = NULL;
    if (ck_child_start(&child, &merging->pid, err) != 0) {
        return -1;
    }
    if (wish->is_live) {
        child_restrain(merging->pid, wish);
    }
    return 0;
}

struct merging *merging_start(const char *run,
                              const struct merging_wish *wish,
                              struct ck_err *err)
{
    struct merging *merging = calloc(1, sizeof(*merging));
    int index, rc;

    if (!merging) {
        return ck_err_null(err, "out of memory");
    }
    merging->is_live = wish->is_live;
    merging->out = memfd_create("ckmerge", MFD_CLOEXEC);
    if (merging->out < 0) {
        (void)ck_err_set(err, "cannot make a memory file: %s", strerror(errno));
        goto error;
    }
    index = index_open(wish);
    rc = merging_spawn(merging, run, wish, index, err);
    ck_fd_close(index);
    if (rc != 0) {
        goto error;
    }
    return merging;
error:
    merging->pid = 0;
    merging_destroy(merging);
    return NULL;
}

int merging_look(struct merging *merging, int *code)
{
    ck_time_t before = children_cpu();
    int status;
    int ended = ck_child_wait(merging->pid, 0, &status);

    if (ended == 0) {
        return 0;
    }
    merging->pid = 0;
    merging->cpu = children_cpu() - before;
    if (ended < 0) {
        *code = CK_EXIT_FAILED;
    } else {
        *code =
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return 1;
}

ck_time_t merging_cpu(const struct merging *merging)
{
    return merging->cpu;
}

const char *merging_text(struct merging *merging, size_t *length)
{
    if (!merging->text) {
        merging->text = calloc(1, MERGING_TEXT_MAX + 1);
        if (merging->text) {
            ssize_t n = pread(merging->out, merging->text, MERGING_TEXT_MAX, 0);

            merging->length = n > 0 ? (size_t)n : 0;
            merging->text[merging->length] = '\0';
        }
    }
    *length = merging->length;
    return merging->text ? merging->text : "";
}

void merging_kill(const struct merging *merging)
{
    if (merging->pid > 0) {
        (void)kill(merging->pid, SIGKILL);
    }
}

static void child_end(const struct merging *merging)
{
    int status;

    if (merging->is_live) {
        (void)kill(merging->pid, SIGKILL);
        (void)ck_child_wait(merging->pid, KILLED_WAIT, &status);
        return;
    }
    (void)kill(merging->pid, SIGTERM);
    (void)kill(merging->pid, SIGCONT); /* a stopped one would stay */
    (void)waitpid(merging->pid, &status, 0);
}

void merging_destroy(struct merging *merging)
{
    int saved = errno;

    if (!merging) {
        return;
    }
    if (merging->pid > 0) {
        child_end(merging);
    }
    ck_fd_close(merging->out);
    free(merging->text);
    free(merging);
    errno = saved;
}
