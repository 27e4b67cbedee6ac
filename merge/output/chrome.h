/* chrome.h - the run as a Chrome trace, for Perfetto and others
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process a rank, a track a thread and a device queue; slices that overlap
 * without nesting are spread over several tracks of the same name. Arrows go
 * from the launching call to the kernel or copy. Times count from the start
 * of the run.
 */
#ifndef CK_MERGE_OUTPUT_CHROME_H
#define CK_MERGE_OUTPUT_CHROME_H

#include "merge/interval.h"
#include "merge/timeline.h"
#include "schema/err.h"

struct chrome;
/* Write to a file (made anew; gzip when it ends in .gz). Only what touches
 * `part` is written. `cast` is borrowed. NULL with err. */
struct chrome *chrome_create(const char *path,
                             const struct cast *cast,
                             struct region part,
                             struct ck_err *err);
/* Without chrome_finish() before, the file is left unfinished. */
void chrome_destroy(struct chrome *chrome);
int chrome_take(void *chrome, const struct timeline_event *event);
/* After chrome_take() failed: set err if that was for the file. */
void chrome_failed(const struct chrome *chrome, struct ck_err *err);
/* Write the end. 0, or -1 with err. */
int chrome_finish(struct chrome *chrome, struct ck_err *err);

#endif
