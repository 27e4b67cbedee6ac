/* launchcalls.h - calls that may have launched device work, until it comes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread may be thousands of launches ahead of its device, farther than
 * history.h looks back. So the last LAUNCHCALLS calls that have a number are
 * kept, of all threads together: a later one takes the place of an earlier one
 * whose thread and number fall on it.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_LAUNCHCALLS_H
#define CK_MERGE_ANALYSIS_DEVICES_LAUNCHCALLS_H

#include "merge/timeline/consumer.h"

#define LAUNCHCALLS ((size_t)1 << 16)

struct launchcall {
    ck_time_t start;  /* on the axis */
    uint64_t site;    /* 0 = unknown */
    uint32_t process; /* in the definitions */
    uint32_t tid;
    uint32_t call;   /* its number; 0 = free */
    uint32_t thread; /* in the definitions */
};

struct launchcalls;
struct launchcalls *launchcalls_create(void);
void launchcalls_destroy(struct launchcalls *calls);
/* Keep the event if it is a call with a number. `tid` is its thread's. */
void launchcalls_take(struct launchcalls *calls,
                      const struct timeline_event *event,
                      uint32_t tid);
/* Borrowed until the next call; NULL = it is not known (any more). */
const struct launchcall *launchcalls_find(const struct launchcalls *calls,
                                          uint32_t process,
                                          uint32_t tid,
                                          uint32_t call);

#endif
