/* continuity.h - what is missing from the streams of a run, by positions
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Positions of a slot begin at 0 and go on from owner to owner, so units are
 * missed in front of a stream as well as within it. Behind the last stream of
 * a slot only the EXIT record can tell: its `units` are those that the
 * collector took from all slots.
 */
#ifndef CK_MERGE_INPUT_CONTINUITY_H
#define CK_MERGE_INPUT_CONTINUITY_H

#include <stddef.h>

#include "merge/cast.h"
#include "merge/input/store.h"

/* Say of each agent what is missing. The streams were read. 0, or -1 with
 * ENOMEM. */
int continuity_check(const struct store_stream *streams,
                     size_t count,
                     struct cast *cast);

#endif
