/* service.h - the loop of ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread: messages, acknowledgements, the end of jobs, one merge at a
 * time, the manifest, the status line.
 */
#ifndef CK_AGGREGATOR_SERVICE_H
#define CK_AGGREGATOR_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/socket/agg.h"
#include "aggregator/clock/clockserve.h"
#include "aggregator/jobs/jobs.h"
#include "aggregator/live/live.h"
#include "aggregator/live/merging.h"
#include "schema/err.h"

/* How often data is acknowledged while it comes, in the mean. */
#define SERVICE_ACK_PERIOD (50 * CK_TIME_MS)
/* How often peers and jobs are judged, and manifests written at most. */
#define SERVICE_JUDGE_PERIOD (250 * CK_TIME_MS)
#define SERVICE_SAVE_PERIOD CK_TIME_S
/* After a goodbye a job's end is looked for at once, at most so often; so is
 * the end of a merge. */
#define SERVICE_END_PERIOD (10 * CK_TIME_MS)
/* How often peers that met a full disk are asked to send again. */
#define SERVICE_FULL_PERIOD (500 * CK_TIME_MS)
#define SERVICE_FULL_ROOM ((uint64_t)16 << 20)
/* How long an embedded ckagg stays after the merge for late questions. */
#define SERVICE_STAY CK_TIME_S
#define SERVICE_STOP_GRACE (2 * CK_TIME_S)
/* The one of a job gets the signal with which a scheduler ends all of it. */
#define SERVICE_STEP_GRACE (10 * CK_TIME_S)
#define SERVICE_SAME_SIGNAL (1 * CK_TIME_S)

struct service_options {
    struct job_limits limits;
    struct merging_wish merging; /* what ckmerge is asked for */
    const char *dir;             /* where the runs of a service are */
    int64_t retain;              /* finished runs kept there; 0 = all */
    bool is_embedded;
    bool has_merge;
    bool has_line; /* live status line on stderr */
};

struct service;

/* Block the signals that end the loop. To be called before ZeroMQ starts a
 * thread: one that has not yet run would take a signal by its default. */
void service_block_signals(void);

/* agg and jobs are borrowed. SIGINT, SIGTERM and SIGHUP end the loop. NULL with
 * err. */
struct service *service_create(struct agg *agg,
                               struct jobs *jobs,
                               const struct service_options *options,
                               struct ck_err *err);
void service_destroy(struct service *service);
/* Who answers clock probes; borrowed. */
void service_clock(struct service *service, struct clockserve *serve);
/* Who shows running jobs; borrowed. */
void service_live(struct service *service, struct live *live);

/* Serve until a signal, or until the embedded job is done. At a signal jobs
 * whose agents have all left are merged. A job with agents at work has
 * SERVICE_STOP_GRACE or SERVICE_STEP_GRACE to finish, else it is only stored.
 * Another signal later, or a second SIGINT, ends at once; then, too, everything
 * is stored. Exit code. */
int service_run(struct service *service);

#endif
