/* writers.h - outputs that are written while the run is merged: the trace, the
 * database, the stacks, the rows of the page's timeline
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_WRITERS_H
#define CK_MERGE_WRITERS_H

#include <limits.h>
#include <stdbool.h>

#include "merge/analysis/analysis.h"
#include "merge/baseline.h"
#include "merge/clocks/align.h"
#include "merge/options.h"
#include "merge/output/chrome/chrome.h"
#include "merge/output/flames/flames.h"
#include "merge/output/lanes/lanes.h"
#include "merge/output/perfetto/perfetto.h"
#include "merge/output/sqlite/sqlite.h"
#include "merge/output/stacks/foldeddiff.h"
#include "merge/output/stacks/stacktable.h"
#include "merge/report/report.h"

/* Consumers that writers_consumers() adds at most. */
#define WRITERS_MOST 8

struct writers {
    const struct options *options; /* borrowed, as the next three */
    const struct defs *defs;
    const struct align *align;
    const struct report *report;
    const struct lines *lines; /* borrowed, for the flames, as: */
    const struct copyplaces *copies;
    bool is_held; /* clocks are not those of the trace yet: it is written in a
                     reading of its own (writers_across()) */
    char chrome_path[PATH_MAX]; /* "" = not asked for */
    char sqlite_path[PATH_MAX];
    char perfetto_path[PATH_MAX];
    char folded_path[PATH_MAX];
    char waits_path[PATH_MAX];
    char memory_path[PATH_MAX];
    char diff_path[PATH_MAX];
    struct baseline_stacks before; /* that stacks are put beside */
    struct foldeddiff diff;        /* both; made by writers_finish() */
    char device_path[PATH_MAX];
    char speedscope_path[PATH_MAX];
    char flamescope_path[PATH_MAX];
    char firefox_path[PATH_MAX];
    struct chrome *chrome; /* NULL = none, as the next five */
    struct perfetto *perfetto;
    struct sqlite *sqlite;
    struct lanes *lanes;
    const struct lookback *lookback; /* borrowed, for these, as: */
    uint64_t *dids; /* of activities, did_of(); 0 = not asked yet */
    size_t dids_count;
    struct flames *flames;
    struct stacktable *stacks;
    struct stacktable *waits;  /* without a CPU */
    struct stacktable *memory; /* that was asked for */
    struct follower *follower; /* whose thread calls all of these while the run
                                  is merged; NULL = none does. Borrowed */
};

/* Where they go; no output replaces what is read, or what is not of ckmerge.
 * writers->options is set. 0, or -1 with err. */
int writers_where(struct writers *writers, struct ck_err *err);
/* Is a format written here, and not from the report? */
bool writers_has(int format);
/* Begin them, once all but the paths is set; `analysis` shows them waits and
 * idle times. 0, or -1 with err. */
int writers_open(struct writers *writers,
                 struct analysis *analysis,
                 struct ck_err *err);
/* Add those that take events of the pass, and of a pass that follows it where
 * clocks were held. Returns how many there are then. */
size_t writers_consumers(struct writers *writers,
                         struct timeline_consumer *consumers,
                         size_t count);
size_t writers_across(const struct writers *writers,
                      struct timeline_consumer *consumers,
                      size_t count);
/* After a pass failed: set err if that was for one of the files. */
void writers_failed(const struct writers *writers, struct ck_err *err);
/* Write the ends, once the report is complete. 0, or -1 with err. */
int writers_finish(struct writers *writers, struct ck_err *err);
/* Print where they are. */
void writers_say(const struct writers *writers);
void writers_fini(struct writers *writers);

#endif
