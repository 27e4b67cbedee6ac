/* hang.h - where the ranks of a run were that did not end well
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collectives that ranks entered and never left, with who waited in them
 * and who never came; and the last call that each rank left. A rank has come
 * to a collective when it has a record of that number on that communicator, or
 * of a later one.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_HANG_H
#define CK_MERGE_ANALYSIS_WAITS_HANG_H

#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

struct hang;
/* False when all ranks ended well: there is nothing to find. */
bool hang_is_wanted(const struct defs *defs);
/* Borrowed. */
struct hang *hang_create(const struct defs *defs);
void hang_destroy(struct hang *hang);
/* timeline_take_f; wants the events of all ranks. */
int hang_take(void *consumer, const struct timeline_event *event);
/* True when a process belongs to the communicator of a collective that another
 * one is in, and has not come to it. False where its records are missing. */
bool hang_is_absent(const struct hang *hang,
                    uint32_t process,
                    const struct ck_collective *record,
                    uint32_t other);
/* The rank that a call of messages waits for, which the process never left; -1
 * = any, or not known. */
int32_t hang_peer(const struct hang *hang,
                  uint32_t process,
                  const struct ck_message *record);
/* When the rank's last call ended, on the axis; 0 = none is known. */
ck_time_t hang_last(const struct hang *hang, int32_t rank);
/* True when frames that were not read may show more of who is where than those
 * that were. Before hang_report(). */
bool hang_is_doubtful(struct hang *hang);
/* After the rows of the ranks. */
void hang_report(struct hang *hang, struct report *report);

#endif
