/* livemerge.c - merges of a job that is still running, at a bounded cost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/livemerge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/http/metricstext.h"
#include "aggregator/merging.h"
#include "launch/cli.h"

#define PAGE "report.html"
/* What the first merge is taken to cost, and each byte of a run. */
#define FIRST_CPU (100 * CK_TIME_MS)
#define CPU_BYTES 50 /* in a microsecond */
#define PATH_BYTES (PATH_MAX + sizeof("html=/" LIVEMERGE_DIR "/" PAGE))

struct livemerge {
    char run[PATH_MAX];
    char output[PATH_BYTES]; /* "html=PATH" */
    struct merging *merging; /* NULL = none is at work */
    struct livemerge_facts facts;
    char *metrics;
    ck_time_t wanted;    /* 0 = never */
    ck_time_t began;     /* the last one that was begun; 0 = none */
    uint64_t bytes;      /* that it reads */
    ck_time_t last_cpu;  /* of the last that ended, well or not */
    uint64_t last_bytes; /* 0 = none */
    int last_code;
    bool has_dir; /* DIR/live is ours */
};

ck_time_t livemerge_expect(ck_time_t cpu, uint64_t before, uint64_t bytes)
{
    double growth;

    if (before == 0) {
        return FIRST_CPU + (ck_time_t)(bytes / CPU_BYTES) * CK_TIME_US;
    }
    growth = bytes > before ? (double)bytes / (double)before : 1;
    return (ck_time_t)((double)cpu * growth);
}

/* "DIR/live/report.html", where merges write. */
static const char *page_path(const struct livemerge *merge)
{
    return merge->output + strlen("html=");
}

struct livemerge *livemerge_create(const char *run, ck_time_t now)
{
    struct livemerge *merge = calloc(1, sizeof(*merge));

    if (merge == NULL) {
        return NULL;
    }
    (void)snprintf(merge->run, sizeof(merge->run), "%s", run);
    (void)snprintf(merge->output, sizeof(merge->output),
                   "html=%s/" LIVEMERGE_DIR "/" PAGE, run);
    merge->facts.since = now;
    return merge;
}

/* "DIR/live". */
static void dir_path(const struct livemerge *merge, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/" LIVEMERGE_DIR, merge->run);
}

void livemerge_destroy(struct livemerge *merge)
{
    char dir[PATH_BYTES];

    if (merge == NULL) {
        return;
    }
    merging_destroy(merge->merging);
    if (merge->has_dir) {
        (void)unlink(page_path(merge));
        dir_path(merge, dir);
        (void)rmdir(dir);
    }
    free(merge->metrics);
    free(merge);
}

void livemerge_want(struct livemerge *merge, ck_time_t now)
{
    merge->wanted = now;
}

struct livemerge_facts livemerge_facts(const struct livemerge *merge)
{
    struct livemerge_facts facts = merge->facts;

    facts.is_at_work = merge->merging != NULL;
    return facts;
}

/* A directory of this user alone: a link of that name is not followed. */
static int dir_make(struct livemerge *merge, struct ck_err *err)
{
    char dir[PATH_BYTES];
    struct stat facts;

    dir_path(merge, dir);
    if (mkdir(dir, 0700) != 0 &&
        (errno != EEXIST || lstat(dir, &facts) != 0 ||
         !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid())) {
        return ck_err_set(err, "cannot use %s: %s", dir, strerror(errno));
    }
    merge->has_dir = true;
    return 0;
}

static bool is_due(const struct livemerge *merge, uint64_t bytes, ck_time_t now)
{
    ck_time_t last = merge->began == 0 ? merge->facts.since : merge->began;
    ck_time_t cost =
        livemerge_expect(merge->last_cpu, merge->last_bytes, bytes);

    return bytes > 0 && bytes != merge->bytes && merge->wanted > 0 &&
           now - merge->wanted < LIVEMERGE_WANTED &&
           now - last >= LIVEMERGE_PERIOD &&
           now - last >= LIVEMERGE_SHARE * cost;
}

static int
merge_begin(struct livemerge *merge, uint64_t bytes, struct ck_err *err)
{
    const char *const outputs[] = {merge->output, "openmetrics", NULL};
    ck_time_t cost =
        livemerge_expect(merge->last_cpu, merge->last_bytes, bytes);
    struct merging_wish wish = {.outputs = outputs,
                                .is_pageless = true,
                                .is_live = true,
                                .cpu_s = 1 + 2 * cost / CK_TIME_S};

    merge->began = ck_time_raw();
    merge->bytes = bytes;
    if (dir_make(merge, err) != 0 ||
        (merge->merging = merging_start(merge->run, &wish, err)) == NULL) {
        merge->facts.failed++;
        return -1;
    }
    return 0;
}

/* The metrics that it printed take the place of the last ones. */
static void metrics_take(struct livemerge *merge)
{
    size_t length;
    const char *text = merging_text(merge->merging, &length);
    char *metrics =
        metricstext_rise(merge->metrics == NULL ? "" : merge->metrics, text);

    if (metrics != NULL) {
        free(merge->metrics);
        merge->metrics = metrics;
    }
}

/* 0, or -1 with err: it made nothing, and that is new. */
static int merge_end(struct livemerge *merge, int code, struct ck_err *err)
{
    bool is_good = code == CK_EXIT_DONE || code == CK_EXIT_PARTIAL;
    bool is_new = code != merge->last_code;

    merge->last_cpu = merging_cpu(merge->merging);
    merge->last_bytes = merge->bytes;
    merge->last_code = code;
    merge->facts.cpu += merge->last_cpu;
    if (is_good) {
        metrics_take(merge);
        merge->facts.number++;
        merge->facts.data = merge->began;
        merge->facts.bytes = merge->bytes;
    } else {
        merge->facts.failed++;
    }
    merging_destroy(merge->merging);
    merge->merging = NULL;
    return is_good || !is_new
               ? 0
               : ck_err_set(err,
                            "a merge of the running job ended with %d; try "
                            "ckmerge --live %s",
                            code, merge->run);
}

int livemerge_look(struct livemerge *merge,
                   uint64_t bytes,
                   bool may_begin,
                   ck_time_t now,
                   struct ck_err *err)
{
    int code;

    if (merge->merging != NULL) {
        return merging_look(merge->merging, &code) == 1
                   ? merge_end(merge, code, err)
                   : 0;
    }
    return may_begin && is_due(merge, bytes, now)
               ? merge_begin(merge, bytes, err)
               : 0;
}

int livemerge_page(const struct livemerge *merge, size_t *length)
{
    struct stat facts;
    int fd = merge->facts.number == 0
                 ? -1
                 : open(page_path(merge),
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        (void)close(fd);
        return -1;
    }
    *length = (size_t)facts.st_size;
    return fd;
}

const char *livemerge_metrics(const struct livemerge *merge)
{
    return merge->metrics == NULL ? "" : merge->metrics;
}
