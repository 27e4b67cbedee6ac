/* sqlite.h - the run as an SQLite file: each call, kernel, copy, idle piece and
 * wait as a row
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written as the timeline goes by. Times count from the start of the run.
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_SQLITE_H
#define CK_MERGE_OUTPUT_SQLITE_SQLITE_H

#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/output/shownwait.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"
#include "schema/err.h"

struct sqlite;
/* A new file. Only what touches `part` is written, and times count from `zero`;
 * `defs` is borrowed. NULL with err. */
struct sqlite *sqlite_create(const char *path,
                             const struct defs *defs,
                             struct region part,
                             ck_time_t zero,
                             struct ck_err *err);
/* Without sqlite_finish() before, nothing is left of it. */
void sqlite_destroy(struct sqlite *sqlite);
/* A timeline_take_f. Errors of the file stick: it fails after one of the next
 * two failed, too. */
int sqlite_take(void *sqlite, const struct timeline_event *event);

struct sqlite_idle {
    uint32_t device; /* physical */
    struct region part;
    enum cause cause;
    int32_t rank;
    int32_t blamed; /* DEFS_RANK_UNKNOWN = none */
    bool is_start;
};
void sqlite_idle(struct sqlite *sqlite, const struct sqlite_idle *idle);
void sqlite_wait(struct sqlite *sqlite, const struct shown_wait *wait);
/* Set err if the file failed. */
void sqlite_failed(const struct sqlite *sqlite, struct ck_err *err);
/* What the report knows, indexes and views; then the file is in place. 0, or
 * -1 with err. */
int sqlite_finish(struct sqlite *sqlite,
                  const struct report *report,
                  struct ck_err *err);

#endif
