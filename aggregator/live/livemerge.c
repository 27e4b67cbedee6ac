/* livemerge.c - merges of a job that is still running, at a bounded cost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/live/livemerge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregator/http/metricstext.h"
#include "aggregator/live/livedir.h"
#include "aggregator/live/merging.h"
#include "launch/cli.h"

#define PAGE "report.html"
/* What the first merge is taken to cost, and each byte of a run at least. */
#define FIRST_CPU (100 * CK_TIME_MS)
#define BYTE_CPU 20 /* ns */
#define PATH_BYTES (PATH_MAX + sizeof("html=/" LIVEDIR_NAME "/" PAGE))

struct livemerge {
    char run[PATH_MAX];
    char output[PATH_BYTES]; /* "html=PATH" */
    struct merging *merging; /* NULL = none is at work */
    struct livemerge_facts facts;
    char *metrics;
    ck_time_t wanted;             /* 0 = never */
    ck_time_t began;              /* the last one that was begun; 0 = none */
    ck_time_t until;              /* it is to be done then */
    uint64_t bytes;               /* that it reads */
    struct livemerge_cost last;   /* that ended, well or not */
    struct livemerge_cost before; /* of that one */
    struct ck_err warned;         /* the last reason that was returned */
    bool has_dir;                 /* DIR/live is ours */
    bool is_late;                 /* the merge at work is being ended */
};

ck_time_t livemerge_expect(const struct livemerge_cost *last,
                           const struct livemerge_cost *before,
                           uint64_t bytes)
{
    double each = BYTE_CPU;

    if (last->bytes == 0) {
        return FIRST_CPU + (ck_time_t)((double)bytes * BYTE_CPU);
    }
    if (bytes <= last->bytes) {
        return last->cpu;
    }
    if (before->bytes > 0 && before->bytes < last->bytes) {
        each = fmax(each, (double)(last->cpu - before->cpu) /
                              (double)(last->bytes - before->bytes));
    }
    each = fmin(each, (double)last->cpu / (double)last->bytes);
    return last->cpu + (ck_time_t)((double)(bytes - last->bytes) * each);
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
                   "html=%s/" LIVEDIR_NAME "/" PAGE, run);
    merge->facts.since = now;
    return merge;
}

void livemerge_stop(struct livemerge *merge)
{
    merging_destroy(merge->merging);
    merge->merging = NULL;
}

void livemerge_destroy(struct livemerge *merge)
{
    int run;

    if (merge == NULL) {
        return;
    }
    livemerge_stop(merge);
    run = merge->has_dir ? open(merge->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                         : -1;
    if (run >= 0) {
        (void)livedir_remove(run);
        (void)close(run);
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

/* 0, or -1 with err. */
static int dir_have(struct livemerge *merge, struct ck_err *err)
{
    if (merge->has_dir) {
        return livedir_check(merge->run, err);
    }
    merge->has_dir = livedir_make(merge->run, err) == 0;
    return merge->has_dir ? 0 : -1;
}

/* A reason is returned once, not each time in a row. */
static int warn_once(struct livemerge *merge, const struct ck_err *err)
{
    if (strcmp(merge->warned.text, err->text) == 0) {
        return 0;
    }
    merge->warned = *err;
    return -1;
}

/* CPU time that a merge may take, in seconds. */
static int64_t cpu_limit(ck_time_t cost)
{
    return 1 + 2 * cost / CK_TIME_S;
}

ck_time_t livemerge_wall(ck_time_t cost)
{
    return LIVEMERGE_WALL + LIVEMERGE_WALL_TIMES * cpu_limit(cost) * CK_TIME_S;
}

static bool is_due(const struct livemerge *merge, uint64_t bytes, ck_time_t now)
{
    ck_time_t last = merge->began == 0 ? merge->facts.since : merge->began;
    ck_time_t cost = livemerge_expect(&merge->last, &merge->before, bytes);

    return bytes > 0 && bytes != merge->bytes && merge->wanted > 0 &&
           now - merge->wanted < LIVEMERGE_WANTED &&
           now - last >= LIVEMERGE_PERIOD &&
           now - last >= LIVEMERGE_SHARE * cost;
}

static int
merge_begin(struct livemerge *merge, uint64_t bytes, struct ck_err *err)
{
    const char *const outputs[] = {merge->output, "openmetrics", NULL};
    ck_time_t cost = livemerge_expect(&merge->last, &merge->before, bytes);
    struct merging_wish wish = {.outputs = outputs,
                                .is_pageless = true,
                                .is_live = true,
                                .cpu_s = cpu_limit(cost)};

    merge->began = ck_time_raw();
    merge->until = merge->began + livemerge_wall(cost);
    merge->bytes = bytes;
    merge->is_late = false;
    if (dir_have(merge, err) != 0 ||
        (merge->merging = merging_start(merge->run, &wish, err)) == NULL) {
        merge->facts.failed++;
        return warn_once(merge, err);
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

    merge->before = merge->last;
    merge->last =
        (struct livemerge_cost){merging_cpu(merge->merging), merge->bytes};
    merge->facts.cpu += merge->last.cpu;
    if (is_good) {
        metrics_take(merge);
        merge->facts.number++;
        merge->facts.data = merge->began;
        merge->facts.bytes = merge->bytes;
        merge->warned.text[0] = '\0';
    } else {
        merge->facts.failed++;
    }
    livemerge_stop(merge);
    if (is_good || merge->is_late) { /* a late one was reported */
        return 0;
    }
    (void)ck_err_set(err,
                     "a merge of the running job ended with %d; try "
                     "ckmerge --live %s",
                     code, merge->run);
    return warn_once(merge, err);
}

/* The merge at work takes too long: its end is taken later. */
static int merge_cut(struct livemerge *merge, ck_time_t now, struct ck_err *err)
{
    merge->is_late = true;
    merging_kill(merge->merging);
    (void)ck_err_set(err,
                     "a merge of the running job was ended: it was not done "
                     "in %lld s; try ckmerge --live %s",
                     (long long)((now - merge->began) / CK_TIME_S), merge->run);
    return warn_once(merge, err);
}

int livemerge_look(struct livemerge *merge,
                   uint64_t bytes,
                   bool may_begin,
                   ck_time_t now,
                   struct ck_err *err)
{
    int code;

    if (merge->merging != NULL && merging_look(merge->merging, &code) == 1) {
        return merge_end(merge, code, err);
    }
    if (merge->merging != NULL) {
        return !merge->is_late && now >= merge->until
                   ? merge_cut(merge, now, err)
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
