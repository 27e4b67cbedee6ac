/* lockplaces.h - where threads wait for locks, and what holders do meanwhile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_LOCKPLACES_H
#define CK_MERGE_ANALYSIS_THREADS_LOCKPLACES_H

#include "merge/model/defs.h"
#include "merge/report/report.h"

/* A call that has to do with a lock. */
struct lockplaces_call {
    uint32_t lock;    /* its number */
    uint32_t process; /* whose call, name and site these are */
    uint32_t name;
    uint64_t site;
};

struct lockplaces;
/* Borrowed. */
struct lockplaces *lockplaces_create(const struct defs *defs);
void lockplaces_destroy(struct lockplaces *places);

/* The thread waited so long; 0 = not in the region, which is not counted. */
void lockplaces_waited(struct lockplaces *places,
                       const struct lockplaces_call *call,
                       uint32_t thread,
                       ck_time_t ns);
/* The lock's holder was in the call so long while others waited. */
void lockplaces_held(struct lockplaces *places,
                     const struct lockplaces_call *call,
                     ck_time_t ns);

/* What a report has of a lock by its places. */
void lockplaces_fill(const struct lockplaces *places,
                     uint32_t lock,
                     struct report_lock *row);
/* As locks_thread(). */
ck_time_t lockplaces_thread(const struct lockplaces *places,
                            uint32_t thread,
                            const char **what,
                            struct place *place,
                            ck_time_t *most);

#endif
