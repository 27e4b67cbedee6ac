/* retain.c - how many finished runs a service keeps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/retain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/live/livedir.h"
#include "launch/format.h"
#include "launch/log.h"
#include "schema/fd.h"
#include "schema/store/run.h"

#define RUNS_MAX 65536
/* What mkostemp() puts for XXXXXX. */
#define FRESH_LENGTH 6
#define FRESH "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

struct retain_run {
    char name[NAME_MAX + 1];
    struct timespec written; /* its manifest */
};

static bool is_open(const struct jobs *jobs, const char *name)
{
    for (size_t i = 0; i < jobs_count(jobs); i++) {
        const struct job_facts *facts = job_facts(jobs_at(jobs, i));
        const char *slash = strrchr(facts->dir, '/');

        if (facts->state != JOB_DONE && slash && strcmp(slash + 1, name) == 0) {
            return true;
        }
    }
    return false;
}

/* True for a run directory of ours; its manifest's time. */
static bool run_look(int dir, const char *name, struct timespec *written)
{
    struct stat facts;
    bool is_run = false;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &facts) == 0 && facts.st_uid == geteuid() &&
        fstatat(fd, CK_RUN_MANIFEST, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(facts.st_mode)) {
        *written = facts.st_mtim;
        is_run = true;
    }
    (void)close(fd);
    return is_run;
}

static int run_compare(const void *a, const void *b)
{
    const struct timespec *x = &((const struct retain_run *)a)->written;
    const struct timespec *y = &((const struct retain_run *)b)->written;

    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? -1 : 1;
    }
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Is it that file? ".a1B2c3" behind it is of one that a killed ckmerge was
 * writing. */
static bool is_named(const char *name, const char *whole)
{
    size_t length = strlen(whole);
    const char *rest = name + length;

    return strncmp(name, whole, length) == 0 &&
           (rest[0] == '\0' ||
            (rest[0] == '.' && strlen(rest) == 1 + FRESH_LENGTH &&
             strspn(rest + 1, FRESH) == FRESH_LENGTH));
}

static void name_cut(char *name, const char *end)
{
    size_t length = strlen(name), cut = strlen(end);

    if (length > cut && strcmp(name + length - cut, end) == 0) {
        name[length - cut] = '\0';
    }
}

/* What ckagg, agents and ckmerge name themselves in a run; ".new" is of facts
 * that a killed ckagg was writing. */
static bool is_run_file(const char *name)
{
    static const char *const names[] = {
        CK_RUN_MANIFEST, "ckagg.log", "endpoint", "report.txt", "report.json"};
    struct ck_run_name frames;
    char whole[NAME_MAX + 1];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_named(name, names[i])) {
            return true;
        }
    }
    for (int i = 0; i < CK_FORMAT_COUNT; i++) {
        const char *own = ck_format_own((enum ck_format)i);

        if (own && is_named(name, own)) {
            return true;
        }
    }
    (void)snprintf(whole, sizeof(whole), "%s", name);
    name_cut(whole, ".new");
    return ck_run_name(whole, &frames);
}

/* The first entry that no part of ck made; NULL = none. */
static const char *strange_find(DIR *list)
{
    const struct dirent *entry;

    while ((entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, LIVEDIR_NAME) != 0 &&
            !is_run_file(entry->d_name)) {
            return entry->d_name;
        }
    }
    rewinddir(list);
    return NULL;
}

static void run_remove(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    const char *strange;

    if (!list) {
        ck_fd_close(fd);
        return;
    }
    strange = strange_find(list);
    if (strange) {
        ck_warn("the old run %s is kept whole: %s in it is not of ck", name,
                strange);
        (void)closedir(list);
        return;
    }
    while ((entry = readdir(list))) {
        if (is_run_file(entry->d_name)) {
            (void)unlinkat(fd, entry->d_name, 0);
        }
    }
    (void)livedir_remove(fd); /* of a ckagg that was killed */
    (void)closedir(list);
    if (unlinkat(dir, name, AT_REMOVEDIR) != 0) {
        ck_warn("cannot remove the old run %s: %s", name, strerror(errno));
    } else {
        ck_info("removed the old run %s", name);
    }
}

static size_t
runs_list(DIR *list, const struct jobs *jobs, struct retain_run *runs)
{
    const struct dirent *entry;
    size_t count = 0;

    while ((entry = readdir(list)) && count < RUNS_MAX) {
        struct retain_run *run = &runs[count];

        if (strncmp(entry->d_name, "ck-", 3) == 0 &&
            !is_open(jobs, entry->d_name) &&
            run_look(dirfd(list), entry->d_name, &run->written)) {
            strcpy(run->name, entry->d_name);
            count++;
        }
    }
    return count;
}

void retain_runs(const char *dir, int64_t keep, const struct jobs *jobs)
{
    DIR *list = opendir(dir);
    struct retain_run *runs = calloc(RUNS_MAX, sizeof(*runs));

    if (list && runs) {
        size_t count = runs_list(list, jobs, runs);

        qsort(runs, count, sizeof(*runs), run_compare);
        for (size_t i = 0; (int64_t)(count - i) > keep && i < count; i++) {
            run_remove(dirfd(list), runs[i].name);
        }
    }
    free(runs);
    if (list) {
        (void)closedir(list);
    }
}
