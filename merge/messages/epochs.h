/* epochs.h - who lets whom go on in windows of one-sided communication
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * MPI_Win_post lets the ranks of its group go on, in MPI_Win_start or in
 * MPI_Win_complete, as the MPI library likes; MPI_Win_complete lets those of
 * the group of MPI_Win_start go on, in MPI_Win_wait. The nth time that a rank
 * is let go on by another in a window is the nth time that it waits for it
 * there.
 */
#ifndef CK_MERGE_MESSAGES_EPOCHS_H
#define CK_MERGE_MESSAGES_EPOCHS_H

#include "merge/messages/matched.h"
#include "merge/model/defs.h"
#include "merge/timeline/timeline.h"

/* A call that may have to wait for another rank's. */
struct epochs_wait {
    struct match_call call;
    ck_time_t exit;
};
/* The call that lets it go on. */
struct epochs_gift {
    uint32_t thread; /* in the definitions */
    ck_time_t enter;
    int64_t mark;
};
/* Each such wait is given twice: when its call is seen (NULL), and when it is
 * known which call lets it go on; where records are lost only once. */
typedef void (*epochs_take_f)(void *state,
                              const struct epochs_wait *wait,
                              const struct epochs_gift *gift);

struct epochs;
/* Definitions borrowed. */
struct epochs *
epochs_create(const struct defs *defs, epochs_take_f take, void *state);
void epochs_destroy(struct epochs *epochs);
/* Of records that are no MPI_CALL, EPOCH or LOST nothing is taken; `mark` is
 * kept for its call. */
void epochs_take(struct epochs *epochs,
                 const struct timeline_event *event,
                 int64_t mark);

#endif
