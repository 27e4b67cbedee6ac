/* collective.h - who came last to a collective call, and who waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocking collectives are matched by communicator and number. With E_i the
 * time that member i entered, a rank waits until
 *
 *     all to all      max E_j
 *     one to all      E_root, if it is not the root
 *     all to one      max E_j of the others, if it is the root
 *
 * provided that it receives something (a barrier: always).
 */
#ifndef CK_MERGE_ANALYSIS_COLLECTIVE_H
#define CK_MERGE_ANALYSIS_COLLECTIVE_H

#include "merge/align.h"
#include "merge/analysis/host.h"
#include "merge/timeline.h"

/* Calls of one communicator that are kept; older ones are forgotten. */
#define COLLECTIVE_WINDOW 1024

enum collective_role {
    COLLECTIVE_OTHER, /* not known to wait for anybody */
    COLLECTIVE_BARRIER,
    COLLECTIVE_ALL,
    COLLECTIVE_FROM_ROOT,
    COLLECTIVE_TO_ROOT,
};
enum collective_role collective_role(const char *function);
/* "wait_at_barrier", "wait_at_nxn", "late_broadcast", "early_reduce". */
const char *collective_wait_name(const char *function);

struct collective;
/* Borrowed. NULL with ENOMEM. */
struct collective *collective_create(const struct cast *cast,
                                     const struct align *align);
void collective_destroy(struct collective *collective);
/* Enter a call; fills in what its span says about it (comm, seq, is_waiting,
 * is_root). 0, or -1 with ENOMEM. */
int collective_enter(struct collective *collective,
                     const struct timeline_event *event,
                     struct host_span *span);

/* Until when a call had to wait, and for whom. */
struct collective_wait {
    ck_time_t until; /* <= enter: did not wait */
    uint32_t thread; /* that came last, in the cast */
    ck_time_t error; /* of comparing the two clocks */
};
/* False when not all that it takes is known: a member's call is not recorded,
 * or the merge has not come to it. */
bool collective_wait(const struct collective *collective,
                     const struct host_span *span,
                     struct collective_wait *wait);

#endif
