/* unrecorded.h - launches behind the last one whose work was recorded
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device's tracer gives its records late, and what it holds when a process is
 * killed, hangs or stops is gone. Launches are recorded at once: those behind
 * the last launch of the process with any recorded work show from when on it is
 * not known what the device did.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_UNRECORDED_H
#define CK_MERGE_ANALYSIS_HISTORY_UNRECORDED_H

#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Launches of a thread that are remembered; of more only the number is. */
#define UNRECORDED_MAX ((size_t)4096)

struct unrecorded;
/* `defs` is borrowed. */
struct unrecorded *unrecorded_create(const struct defs *defs);
void unrecorded_destroy(struct unrecorded *unrecorded);
/* A call of the CUDA API. */
void unrecorded_launch(struct unrecorded *unrecorded,
                       const struct timeline_event *event);
/* Work of a device that was launched by that call of the thread. */
void unrecorded_work(struct unrecorded *unrecorded,
                     uint32_t thread,
                     uint32_t call);
/* The record of a kernel came, whichever call launched it. Where that is not
 * known, it may be the work of each launch before it. */
void unrecorded_kernel(struct unrecorded *unrecorded,
                       const struct timeline_event *event);
/* Once all was taken, and before the next two. */
void unrecorded_close(struct unrecorded *unrecorded);
/* How many a process has, and from the first of them to its last call. */
uint64_t unrecorded_count(const struct unrecorded *unrecorded,
                          uint32_t process,
                          struct region *part);
struct report_launches unrecorded_report(const struct unrecorded *unrecorded);

#endif
