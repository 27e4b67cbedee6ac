/* jobs.h - all jobs of this ckagg, and the connections of their peers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used from the loop only.
 */
#ifndef CK_AGGREGATOR_JOBS_JOBS_H
#define CK_AGGREGATOR_JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/jobs/job.h"
#include "aggregator/socket/route.h"
#include "schema/err.h"

/* Jobs at once; a hello for one more is refused. */
#define JOBS_MAX 256
/* A job that is done and sends nothing any more is put away. */
#define JOBS_DONE_KEPT (60 * CK_TIME_S)

struct jobs_options {
    const char *dir; /* embedded: the run directory; else that of the runs */
    const char *key; /* embedded: the job's key, "" = the first hello's */
    int64_t size;    /* embedded: of the world, 0 = as each HELLO has it */
    bool is_embedded;
    struct ck_keep keep; /* of each job */
};

struct jobs;

/* Embedded: opens the one job. NULL with err. Options are copied but for
 * their texts (borrowed). */
struct jobs *jobs_create(const struct jobs_options *options,
                         struct ck_err *err);
void jobs_destroy(struct jobs *jobs);

size_t jobs_count(const struct jobs *jobs);
struct job *jobs_at(const struct jobs *jobs, size_t i); /* borrowed */
/* The job of a key, of several the newest; NULL when there is none. With key ""
 * the only job. */
struct job *jobs_find(const struct jobs *jobs, const char *key);

/* What a hello names. */
struct jobs_wish {
    const char *key;
    const char *name; /* for people, and part of the directory's name */
    struct ck_begin launcher;
    bool is_local; /* by this machine's clock */
};
/* The job of the key, but none that is over and began before that launcher;
 * opens the run directory at need. NULL with err. */
struct job *
jobs_open(struct jobs *jobs, const struct jobs_wish *wish, struct ck_err *err);
/* Is the hello of a later job than the embedded one, which is over? */
bool jobs_is_later(const struct jobs *jobs, const struct jobs_wish *wish);

/* Bind a connection to a peer; an older connection of the peer is let go. 0,
 * or -1 with err. */
int jobs_bind(struct jobs *jobs,
              const struct route *route,
              struct route_end end,
              struct ck_err *err);
struct route_end jobs_end_of(const struct jobs *jobs,
                             const struct route *route);

/* Put jobs away that are done for JOBS_DONE_KEPT. */
void jobs_tidy(struct jobs *jobs, ck_time_t now);

#endif
