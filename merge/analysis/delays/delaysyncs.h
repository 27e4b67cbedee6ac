/* delaysyncs.h - the instants that a thread has in common with others
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Until such an instant a thread waited for another one, or others for it.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYSYNCS_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYSYNCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Instants kept of a thread. */
#define DELAY_SYNCS_MAX 64

struct delaysync {
    ck_time_t at;
    uint32_t source; /* thread that was waited for */
};

/* Those of one thread; all 0 = none. */
struct delaysyncs {
    struct delaysync *items; /* by time; DELAY_SYNCS_MAX at most */
    size_t count, room;
    bool is_cut; /* there were more: the first ones are gone */
};

void delaysyncs_fini(struct delaysyncs *syncs);
/* Add one, unless it is known; of too many the first goes. */
void delaysyncs_add(struct delaysyncs *syncs, struct delaysync sync);
/* The last instant by `until` that two threads have in common; INT64_MIN = none
 * is known. */
ck_time_t delaysyncs_find(const struct delaysyncs *a,
                          const struct delaysyncs *b,
                          ck_time_t until);

#endif
