/* jobs.c - all jobs of this ckagg, and the connections of their peers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A service's run directory is named ck-<job>-<hash of the key>, so that a
 * service that was killed finds the run of a job that goes on. Where the key is
 * used again the next one is ck-<job>-<hash>.2, as an agent does with --dir.
 */
#include "aggregator/jobs/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/jobs/manifest.h"
#include "schema/fnv.h"
#include "schema/store/owner.h"

/* Runs of one key. */
#define SIBLINGS_MAX 1000

struct jobs {
    struct jobs_options options;
    struct routes *routes;
    struct job *items[JOBS_MAX];
    size_t count;
    uint32_t numbers; /* handed out */
};

static struct job *
jobs_add(struct jobs *jobs, struct job_options *options, struct ck_err *err)
{
    struct job *job;

    if (jobs->count == JOBS_MAX) {
        return ck_err_null(err, "%d jobs at once are the limit", JOBS_MAX);
    }
    options->number = ++jobs->numbers;
    job = job_create(options, err);
    if (!job) {
        return NULL;
    }
    /* A full disk may have room later: until then agents keep their data. */
    if (manifest_save(job, err) != 0 && errno != ENOSPC && errno != EDQUOT) {
        job_destroy(job);
        return NULL;
    }
    jobs->items[jobs->count++] = job;
    return job;
}

struct jobs *jobs_create(const struct jobs_options *options, struct ck_err *err)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    struct job_options job = {.key = options->key,
                              .name = options->key,
                              .dir = options->dir,
                              .size = options->size,
                              .keep = options->keep};

    if (!jobs || !(jobs->routes = routes_create())) {
        (void)ck_err_set(err, "out of memory");
        goto error;
    }
    jobs->options = *options;
    if (options->is_embedded && !jobs_add(jobs, &job, err)) {
        goto error;
    }
    return jobs;
error:
    jobs_destroy(jobs);
    return NULL;
}

void jobs_destroy(struct jobs *jobs)
{
    int saved = errno;

    if (jobs) {
        for (size_t i = 0; i < jobs->count; i++) {
            job_destroy(jobs->items[i]);
        }
        routes_destroy(jobs->routes);
        free(jobs);
    }
    errno = saved;
}

size_t jobs_count(const struct jobs *jobs)
{
    return jobs->count;
}

struct job *jobs_at(const struct jobs *jobs, size_t i)
{
    return jobs->items[i];
}

static bool is_earlier(const struct job *job, const struct jobs_wish *wish)
{
    return ck_owner_is_earlier(job_is_over(job), &job_facts(job)->started,
                               &wish->launcher, wish->is_local);
}

/* Of the jobs of a key that are not earlier than the launcher the first; where
 * that is not known the last. */
static struct job *job_pick(const struct jobs *jobs,
                            const struct jobs_wish *wish)
{
    struct job *found = NULL;

    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = jobs->items[i];
        const struct job_facts *facts = job_facts(job);

        if (strcmp(facts->key, wish->key) == 0 && !is_earlier(job, wish) &&
            (!found || (facts->opened < job_facts(found)->opened) ==
                           (wish->launcher.realtime > 0))) {
            found = job;
        }
    }
    return found;
}

struct job *jobs_find(const struct jobs *jobs, const char *key)
{
    if (!key[0]) {
        return jobs->count == 1 ? jobs->items[0] : NULL;
    }
    return job_pick(jobs, &(struct jobs_wish){.key = key});
}

/* A run that this ckagg is at, maybe one whose manifest does not have its end
 * yet. */
static bool is_in_use(const struct jobs *jobs, const char *dir)
{
    for (size_t i = 0; i < jobs->count; i++) {
        if (strcmp(job_facts(jobs->items[i])->dir, dir) == 0) {
            return true;
        }
    }
    return false;
}

/* The name of the run behind those of earlier jobs of the key. 0, or -1 with
 * err. */
static int run_dir_find(const struct jobs *jobs,
                        const struct jobs_wish *wish,
                        char dir[PATH_MAX],
                        struct ck_err *err)
{
    char clean[JOB_NAME_BYTES];
    char sibling[16] = "";
    struct ck_owner owner;

    job_name_clean(wish->name, clean);
    for (int i = 2; i < SIBLINGS_MAX; i++) {
        if (snprintf(dir, PATH_MAX, "%s/ck-%s-%016" PRIx64 "%s",
                     jobs->options.dir, clean,
                     ck_fnv_text(CK_FNV_START, wish->key),
                     sibling) >= PATH_MAX) {
            return ck_err_set(err, "path of the run directory is too long");
        }
        if (!is_in_use(jobs, dir) &&
            (!ck_owner_read(dir, &owner) ||
             !ck_owner_is_earlier(owner.is_over, &owner.started,
                                  &wish->launcher, wish->is_local))) {
            return 0;
        }
        (void)snprintf(sibling, sizeof(sibling), ".%d", i);
    }
    errno = EEXIST;
    return ck_err_set(err, "%s and %d more hold earlier runs of this job", dir,
                      SIBLINGS_MAX - 3);
}

bool jobs_is_later(const struct jobs *jobs, const struct jobs_wish *wish)
{
    return jobs->options.is_embedded &&
           strcmp(job_facts(jobs->items[0])->key, wish->key) == 0 &&
           is_earlier(jobs->items[0], wish);
}

struct job *
jobs_open(struct jobs *jobs, const struct jobs_wish *wish, struct ck_err *err)
{
    struct job_options options = {
        .key = wish->key, .name = wish->name, .keep = jobs->options.keep};
    struct job *job;
    char dir[PATH_MAX];

    if (jobs->options.is_embedded) {
        job = jobs->items[0];
        if (!job_facts(job)->key[0] ||
            strcmp(job_facts(job)->key, wish->key) == 0) {
            return job;
        }
        return ck_err_null(err, "this ckagg serves the job %.64s, not %.64s",
                           job_facts(job)->key, wish->key);
    }
    if (!wish->key[0]) {
        return ck_err_null(err, "the hello names no job_key");
    }
    job = job_pick(jobs, wish);
    if (job) {
        return job;
    }
    if (run_dir_find(jobs, wish, dir, err) != 0) {
        return NULL;
    }
    options.dir = dir;
    return jobs_add(jobs, &options, err);
}

int jobs_bind(struct jobs *jobs,
              const struct route *route,
              struct route_end end,
              struct ck_err *err)
{
    const struct route *old = peer_route(end.peer);

    if (routes_put(jobs->routes, route, end) != 0) {
        return ck_err_set(err, "out of memory");
    }
    if (old && !route_equal(old, route)) {
        routes_remove(jobs->routes, old);
        peer_unroute(end.peer);
    }
    return 0;
}

struct route_end jobs_end_of(const struct jobs *jobs, const struct route *route)
{
    return routes_get(jobs->routes, route);
}

static ck_time_t job_last_heard(const struct job *job)
{
    ck_time_t last = job_facts(job)->opened;

    for (size_t i = 0; i < job_peers(job); i++) {
        ck_time_t heard = peer_last_heard(job_peer_at(job, i));

        last = heard > last ? heard : last;
    }
    return last;
}

static void jobs_remove(struct jobs *jobs, size_t at)
{
    struct job *job = jobs->items[at];

    for (size_t i = 0; i < job_peers(job); i++) {
        const struct route *route = peer_route(job_peer_at(job, i));

        if (route) {
            routes_remove(jobs->routes, route);
        }
    }
    job_destroy(job);
    jobs->items[at] = jobs->items[--jobs->count];
}

void jobs_tidy(struct jobs *jobs, ck_time_t now)
{
    if (jobs->options.is_embedded) {
        return;
    }
    for (size_t i = jobs->count; i-- > 0;) {
        const struct job *job = jobs->items[i];

        if (job_facts(job)->state == JOB_DONE &&
            now - job_last_heard(job) >= JOBS_DONE_KEPT) {
            jobs_remove(jobs, i);
        }
    }
}
