/* continuity.h - what is missing from the streams of a run, by positions
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Positions of a slot begin at 0 and go on from owner to owner, who may come
 * again, so units are missed in front of a stream as well as within it, unless
 * another stream of the slot has them. Behind the last stream of a slot only
 * the EXIT record shows it: its `units` are those that the collector took from
 * all slots. How many records were in a gap, and what was cut off with the EXIT
 * record, may be in the manifest.
 */
#ifndef CK_MERGE_INPUT_CONTINUITY_H
#define CK_MERGE_INPUT_CONTINUITY_H

#include <stddef.h>

#include "merge/input/manifest.h"
#include "merge/input/stream.h"
#include "merge/model/defs.h"

/* Order the frames of a stream, and drop what is there twice. */
void continuity_trim(struct rundir_stream *stream);
/* Count what is not there in front of frames. All streams were trimmed, and
 * none of them was read. */
void continuity_slots(struct rundir_stream *streams, size_t count);
/* Note what the manifest has of the segments, and which of them are not there
 * at all. A manifest that could not be read, or was written before the end, has
 * nothing. */
void continuity_tell(const struct manifest *manifest, struct defs *defs);
/* Note for each agent what is missing. The streams were read. */
void continuity_check(struct rundir_stream *streams,
                      size_t count,
                      struct defs *defs);

#endif
