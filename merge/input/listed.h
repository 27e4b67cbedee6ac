/* listed.h - what an index of frames has of the files of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used by rundir.c alone.
 */
#ifndef CK_MERGE_INPUT_LISTED_H
#define CK_MERGE_INPUT_LISTED_H

#include "schema/store/frameindex.h"
#include "schema/store/run.h"

/* Of a file of these. NULL: nothing, or there is no index; the headers of all
 * its frames are to be walked. */
const struct ck_frameindex_file *
listed_find(const void *index, const struct ck_run_files *files, uint32_t file);
/* Was what the stream of the frame at this offset has before it there when it
 * was stored? `*at`: a row of `listed` (NULL = there is none), goes on. */
bool listed_is_joined(const struct ck_frameindex_file *listed,
                      uint32_t *at,
                      uint64_t offset);

#endif
