/* readers.c - several profiles read at once, by processes of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/readers.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/cli.h"

#define READERS_MAX 64

/* What a reader hands back of one profile. */
struct handed {
    bool is_done;
    int rc;
    struct ck_err err;
    struct import_facts facts;
    struct import_state state;
};

/* Shared by all readers. */
struct shared {
    bool is_short;      /* a reader was out of memory, and reported it */
    atomic_size_t next; /* profile that no thread has taken yet */
    struct handed handed[];
};

/* Processes; what CPUs are left over are for threads within them. */
static size_t readers_wanted(struct profile *profiles, size_t count)
{
    cpu_set_t set;
    size_t foreign = 0;
    size_t cpus = 1;
    size_t wanted;

    for (size_t i = 0; i < count; i++) {
        foreign += profile_has_reader(profiles[i].kind);
    }
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        cpus = (size_t)CPU_COUNT(&set);
    }
    cpus = cpus < READERS_MAX ? cpus : READERS_MAX;
    wanted = cpus < foreign ? cpus : foreign;
    for (size_t i = 0; i < count; i++) {
        profiles[i].threads = (unsigned)(cpus / (wanted > 0 ? wanted : 1));
    }
    return wanted;
}

static int read_in_turn(struct profile *profiles,
                        size_t count,
                        const char *dir,
                        struct ck_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (profile_has_reader(profiles[i].kind) &&
            profile_read(&profiles[i], dir, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What a reader does: profiles, until none is left. */
static void reader_work(struct shared *shared,
                        struct profile *profiles,
                        size_t count,
                        const char *dir)
{
    for (;;) {
        /* relaxed: the number alone is shared, its profile is not */
        size_t i =
            atomic_fetch_add_explicit(&shared->next, 1, memory_order_relaxed);
        struct handed *handed = &shared->handed[i];

        if (i >= count) {
            return;
        }
        if (!profile_has_reader(profiles[i].kind)) {
            continue;
        }
        handed->rc = profile_read(&profiles[i], dir, &handed->err);
        if (handed->rc == 0) {
            handed->facts = profiles[i].facts;
            import_give(profiles[i].import, &handed->state);
        }
        profile_fini(&profiles[i]);
        handed->is_done = true;
    }
}

/* Take over what the readers, all of them gone, have handed back. */
static int handed_take(const struct shared *shared,
                       struct profile *profiles,
                       size_t count,
                       const char *dir,
                       struct ck_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct handed *handed = &shared->handed[i];

        if (!profile_has_reader(profiles[i].kind)) {
            continue;
        }
        if (!handed->is_done) {
            return ck_err_set(err,
                              shared->is_short
                                  ? "%s: not read: a reader was out of memory"
                                  : "%s: its reader was killed",
                              profiles[i].path);
        }
        if (handed->rc != 0) {
            return ck_err_set(err, "%s", handed->err.text);
        }
        profiles[i].facts = handed->facts;
        profiles[i].import =
            import_adopt(dir, profiles[i].path, &handed->state, err);
        if (profiles[i].import == NULL) {
            return -1;
        }
    }
    return 0;
}

/* What signals do to the parent is blocked here: it ends its readers. */
static void tie(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(CK_EXIT_FAILED);
    }
}

/* Start readers and wait for all of them; none started: -1. */
static int readers_wait(struct shared *shared,
                        struct profile *profiles,
                        size_t count,
                        const char *dir,
                        size_t wanted)
{
    pid_t pids[READERS_MAX], parent = getpid();
    size_t started = 0;
    int status;

    for (size_t i = 0; i < wanted; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            tie(parent);
            reader_work(shared, profiles, count, dir);
            _exit(0);
        }
        if (pid > 0) {
            pids[started++] = pid;
        }
    }
    for (size_t i = 0; i < started; i++) {
        status = 0;
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR) {
        }
        shared->is_short |=
            WIFEXITED(status) && WEXITSTATUS(status) == CK_EXIT_FAILED;
    }
    return started > 0 ? 0 : -1;
}

int readers_run(struct profile *profiles,
                size_t count,
                const char *dir,
                struct ck_err *err)
{
    size_t wanted = readers_wanted(profiles, count);
    size_t bytes = sizeof(struct shared) + count * sizeof(struct handed);
    struct shared *shared;
    int rc;

    if (wanted < 2) {
        return read_in_turn(profiles, count, dir, err);
    }
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return ck_err_set(err, "out of memory");
    }
    rc = readers_wait(shared, profiles, count, dir, wanted) == 0
             ? handed_take(shared, profiles, count, dir, err)
             : read_in_turn(profiles, count, dir, err);
    (void)munmap(shared, bytes);
    return rc;
}
