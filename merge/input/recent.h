/* recent.h - which frames of a stream a question about now needs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by rundir.c alone.
 */
#ifndef CK_MERGE_INPUT_RECENT_H
#define CK_MERGE_INPUT_RECENT_H

#include "merge/input/stream.h"

/* Its last frames, those that later ones need, and what a run begins with are
 * read; the others are marked as skipped. `is_longer`: so are all that
 * are not of an index. */
void recent_choose(struct rundir_stream *stream, bool is_longer);
/* Calls of frames that are not among the last ones are not handed out: others
 * of that time are not there. */
void recent_mask(const struct rundir_stream *stream,
                 size_t at,
                 struct store_frame *frame);

#endif
