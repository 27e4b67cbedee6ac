/* livemerge.h - merges of a job that is still running, at a bounded cost
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each merge is a ckmerge of what is stored so far, at a lower priority. Its
 * CPU time is expected from the two before it, and from how much the run has
 * grown since: it begins when that is LIVEMERGE_SHARE of the time since the
 * last one began, and only where the page was asked for lately. One that takes
 * far more CPU time than expected, or wall time, is ended. They write below
 * DIR/live (livedir.h), which is removed when the job has ended.
 */
#ifndef CK_AGGREGATOR_LIVE_LIVEMERGE_H
#define CK_AGGREGATOR_LIVE_LIVEMERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/time.h"

/* Merges take one part in so many of one CPU's time. */
#define LIVEMERGE_SHARE 20
/* They follow each other no faster. */
#define LIVEMERGE_PERIOD (2 * CK_TIME_S)
/* How long after the last request for a page merges go on. */
#define LIVEMERGE_WANTED (120 * CK_TIME_S)
/* One that takes so long, and so many times the CPU time that it may take, is
 * ended: it is stopped, or its disk does not answer. */
#define LIVEMERGE_WALL (10 * CK_TIME_S)
#define LIVEMERGE_WALL_TIMES 20

struct livemerge;

struct livemerge_facts {
    uint64_t number; /* of merges that ended well; 0 = none yet */
    uint64_t failed;
    ck_time_t data;  /* when the last of them began to read, RAW */
    uint64_t bytes;  /* stored at that time */
    ck_time_t cpu;   /* of all merges */
    ck_time_t since; /* when the first could have begun, RAW */
    bool is_at_work;
};

/* Of a run directory. NULL with errno. */
struct livemerge *livemerge_create(const char *run, ck_time_t now);
/* Ends the merge that is at work, and removes what merges left in the run. */
void livemerge_destroy(struct livemerge *merge);
/* Ends the merge that is at work; what the last one made stays. */
void livemerge_stop(struct livemerge *merge);
/* A page of what it makes was asked for. */
void livemerge_want(struct livemerge *merge, ck_time_t now);
/* Take the end of a merge; begin one where it is due, `bytes` being stored now
 * and `may_begin`. 0, or -1 with err (once of each failure). */
int livemerge_look(struct livemerge *merge,
                   uint64_t bytes,
                   bool may_begin,
                   ck_time_t now,
                   struct ck_err *err);
struct livemerge_facts livemerge_facts(const struct livemerge *merge);
/* The page, the caller's to close; its length in *length. -1: there is none. */
int livemerge_page(const struct livemerge *merge, size_t *length);
/* The metrics of the last merge; borrowed, "" = none. */
const char *livemerge_metrics(const struct livemerge *merge);

/* What a merge cost; 0 bytes = there was none. */
struct livemerge_cost {
    ck_time_t cpu;
    uint64_t bytes;
};

/* CPU time that a merge of `bytes` will take, by the last one and the one
 * before it: what each byte more costs is the least that is likely, what the
 * two differed by if that is more, and no more than in proportion. A merge has
 * a cost without any byte, and most of the first one's is that. */
ck_time_t livemerge_expect(const struct livemerge_cost *last,
                           const struct livemerge_cost *before,
                           uint64_t bytes);
/* Wall time that it has, expected to take `cost` of CPU time. */
ck_time_t livemerge_wall(ck_time_t cost);

#endif
