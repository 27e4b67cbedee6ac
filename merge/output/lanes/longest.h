/* longest.h - which of many pieces of time are the longest, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It knows lengths alone: the pieces are in an array of the caller's, where
 * each has its place.
 */
#ifndef CK_MERGE_OUTPUT_LANES_LONGEST_H
#define CK_MERGE_OUTPUT_LANES_LONGEST_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

#define LONGEST_NONE SIZE_MAX

struct longest_piece;
struct longest {
    size_t most; /* that are kept */
    size_t count;
    ck_time_t left_out; /* the longest one that is not kept; 0 = all are */
    struct longest_piece *heap;
};

/* All zero but for `most`; to be freed by longest_fini(). */
void longest_fini(struct longest *longest);
/* The place of one more piece: the next free one, or that of the shortest,
 * which is kept no more; LONGEST_NONE = it is not longer than any that are
 * kept. */
size_t longest_put(struct longest *longest, ck_time_t length);

#endif
