/* targetstate.h - the target's life, as the front reports it to the
 * collector
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Begun or not to be run, asked to end, ended and how; and whether the front
 * itself lives. One user, one thread.
 */
#ifndef CK_AGENT_COLLECTOR_TARGETSTATE_H
#define CK_AGENT_COLLECTOR_TARGETSTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process/frontpipe.h"
#include "schema/time.h"

struct targetstate {
    int channel; /* borrowed */
    pid_t target;
    int target_fd;        /* pidfd, -1 = none */
    pid_t front;          /* our parent */
    bool is_killed;       /* the target, for the front's end */
    pid_t stopped_front;  /* it stopped as the target did; 0 = it runs */
    ck_time_t stopped_at; /* the target, RAW; 0 = it runs */
    ck_time_t stopped_ns; /* in all, before */
    uint32_t stops;       /* how often */
    bool is_meeting;      /* it runs, or waits for the aggregator */
    bool is_begun;        /* it runs */
    bool is_never;        /* it could not be run */
    bool is_flush;        /* it may be killed soon */
    bool is_end_known;    /* the front saw its end */
    bool is_front_gone;   /* and whatever it has not sent is lost */
    bool is_status_known; /* of the end that the front did not see */
    ck_time_t gone_at;    /* when the front was missed, RAW; 0 = it lives */
    ck_time_t over_at;    /* when the end was seen without it; 0 = not yet */
    ck_time_t alive_at;   /* when the target was seen to live, last */
    int32_t signal;       /* that asked it to end, sent last; 0 = none */
    int32_t asked;        /* the same, before its end was seen */
    struct frontpipe_end end;
};

/* `is_begun`: a collector before this one knew that the target runs. */
void targetstate_init(struct targetstate *targetstate,
                      int channel,
                      pid_t target,
                      bool is_begun);
void targetstate_fini(struct targetstate *targetstate);
/* Read what the front sent. */
void targetstate_step(struct targetstate *targetstate);
/* Has the target ended, as far as can be known? */
bool targetstate_is_over(struct targetstate *targetstate);
/* See whether the target lives: an end that is reported for a time before is
 * none. A front that stopped with it is woken when it goes on; where the front
 * was killed, so is the target, for which that was meant. */
void targetstate_follow(struct targetstate *targetstate, ck_time_t now);
/* By how long the target outlived the front; -1 = it did not. */
ck_time_t targetstate_outlived(const struct targetstate *targetstate);

#endif
