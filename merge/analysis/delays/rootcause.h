/* rootcause.h - the rank at the end of a chain of waits, and what it did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_ROOTCAUSE_H
#define CK_MERGE_ANALYSIS_DELAYS_ROOTCAUSE_H

#include "merge/analysis/history/lookback.h"

/* Ranks that a chain of waits is followed through. */
#define ROOTCAUSE_MAX 32

/* The end of a chain: a thread that waited for no other. */
struct rootcause_origin {
    uint32_t thread;
    unsigned hops; /* ranks between it and the one that was asked about */
    const struct history_state *did;
    bool has_ended; /* its process: it did nothing */
};
typedef void (*rootcause_take_f)(void *state,
                                 struct region piece,
                                 const struct rootcause_origin *origin);
/* What `thread` did in `part`, piece by piece; where it waited for another one
 * itself, what that one did, and so on; where it waited for its device, the
 * kernel that ran there. */
void rootcause_follow(const struct lookback *lookback,
                      uint32_t thread,
                      struct region part,
                      rootcause_take_f take,
                      void *state);

#endif
