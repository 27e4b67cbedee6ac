/* factsfile.h - the file of what stays of an agent's discarded segments
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Thin frames (thin.h) and, behind those of each segment, a note; appended to
 * in one write a segment. A file that has grown too large is squeezed: written
 * anew without what later facts replace, and put in place of the old one.
 * Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_FACTSFILE_H
#define CK_AGGREGATOR_STORE_FACTSFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/store/thin.h"
#include "schema/err.h"
#include "schema/frame.h"

struct factsfile;

/* True when the frame is the last one of its stream. */
typedef bool (*factsfile_is_last_f)(void *state,
                                    const struct ck_frame_header *header);
/* A thin frame that was found. 0, or -1 with errno to stop. */
typedef int (*factsfile_take_f)(void *state,
                                const struct ck_frame_header *header,
                                const void *payload);

struct factsfile_sums {
    uint64_t frames;
    uint64_t records;
    uint64_t bytes;
    struct thin_note note; /* the last one */
};

/* Open the agent's file in `dir`, if there is one, and hand out its frames.
 * NULL with errno and err. */
struct factsfile *factsfile_create(const char *dir,
                                   const uint8_t agent[16],
                                   factsfile_take_f take,
                                   void *state,
                                   struct ck_err *err);
void factsfile_destroy(struct factsfile *factsfile);
bool factsfile_are_there(const struct factsfile *factsfile);

/* Begin with another segment: its frames are added to what this returns,
 * borrowed. NULL with ENOMEM. */
struct thin *factsfile_begin(struct factsfile *factsfile);
/* Append what was added, and the note that the segment of this number and so
 * many bytes is discarded. 0, or -1 with errno: nothing changed. */
int factsfile_commit(struct factsfile *factsfile,
                     uint32_t number,
                     uint64_t bytes);
/* Squeeze the file where it is larger than `limit`, and twice as large as it
 * was after the last time. 0, or -1 with errno: nothing changed. */
int factsfile_squeeze(struct factsfile *factsfile,
                      uint64_t limit,
                      factsfile_is_last_f is_last,
                      void *state);

struct factsfile_sums factsfile_sums(const struct factsfile *factsfile);
/* fdatasync. 0 or -1 with errno. */
int factsfile_sync(struct factsfile *factsfile);

#endif
