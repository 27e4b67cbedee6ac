/* chrome.h - the run as a Chrome trace, for Perfetto and others
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process a rank, a track a thread and a device queue; slices that overlap
 * without nesting are spread over several tracks of the same name. Arrows go
 * from the launching call to the kernel or copy. Why a device was idle, and
 * waits for other ranks have tracks of their own, clocks a counter each
 * (chromeclocks.h). Times count from the start of the run.
 */
#ifndef CK_MERGE_OUTPUT_CHROME_CHROME_H
#define CK_MERGE_OUTPUT_CHROME_CHROME_H

#include "merge/clocks/align.h"
#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"
#include "schema/err.h"

struct chrome;
/* Write to a file (made anew; gzip when it ends in .gz). Only what touches
 * `part` is written. `defs` and `align` are borrowed. NULL with err. */
struct chrome *chrome_create(const char *path,
                             const struct defs *defs,
                             const struct align *align,
                             struct region part,
                             struct ck_err *err);
/* Without chrome_finish() before, the file is left unfinished. */
void chrome_destroy(struct chrome *chrome);
int chrome_take(void *chrome, const struct timeline_event *event);

/* A thread's wait for another one. */
struct chrome_wait {
    uint32_t thread; /* in the definitions */
    uint32_t
        whom; /* in the definitions; DEFS_NONE = the clocks cannot show it */
    struct region part;
    const char *kind; /* NULL = none */
    ck_time_t error;  /* of comparing the clocks of the two */
};
void chrome_wait(struct chrome *chrome, const struct chrome_wait *wait);
/* A device was idle because of that. */
void chrome_idle(struct chrome *chrome,
                 uint32_t physical,
                 struct region part,
                 enum cause cause);
/* After chrome_take() failed: set err if that was for the file. */
void chrome_failed(const struct chrome *chrome, struct ck_err *err);
/* Write the end, with the run's name and date. 0, or -1 with err. */
int chrome_finish(struct chrome *chrome,
                  const struct report *report,
                  struct ck_err *err);

#endif
