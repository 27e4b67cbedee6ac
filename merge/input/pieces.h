/* pieces.h - the records of one frame, some at a time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame comes at once when it is small, stored packed, or begun in another
 * frame. Of any other one only the pieces asked for
 * are in memory; the frame's bytes are mapped.
 */
#ifndef CK_MERGE_INPUT_PIECES_H
#define CK_MERGE_INPUT_PIECES_H

#include "merge/input/opened.h"

struct pieces;
struct pieces *pieces_create(void);
void pieces_destroy(struct pieces *pieces);
/* Begin a frame; all borrowed until the next one. 0, or -1 with err. */
int pieces_open(struct pieces *pieces,
                struct opener *opener,
                const struct store_frame *frame,
                uint32_t classes,
                struct ck_err *err);
/* Records that as many pieces have at most; SIZE_MAX = that is not known. */
size_t pieces_most(const struct pieces *pieces, unsigned count);
/* Append the records of so many pieces to the rows: how many pieces are done
 * then (UINT32_MAX: all), or -1 with err. */
int64_t pieces_next(struct pieces *pieces,
                    unsigned count,
                    struct store_rows *rows,
                    struct ck_err *err);
/* Forget the frame. */
void pieces_close(struct pieces *pieces);

#endif
