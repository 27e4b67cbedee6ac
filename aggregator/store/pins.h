/* pins.h - which stored frames of one agent show what is now
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `ckagg --where` asks ckmerge to read (frameindex.h): frames that hold
 * definitions; of each thread the last look at its open calls and at where it
 * is, with that stack; the first and the last frames of each stream; the
 * two at each gap. A frame that none of this is in any more is forgotten, so
 * that there are as many as the job has threads, names and communicators,
 * however long it runs. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_PINS_H
#define CK_AGGREGATOR_STORE_PINS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "schema/frame.h"

struct pins;

/* NULL with ENOMEM. */
struct pins *pins_create(void);
void pins_destroy(struct pins *pins);

/* A frame is stored at this offset: the next one of the segment. */
void pins_take(struct pins *pins,
               const struct ck_frame_header *header,
               const void *payload,
               uint64_t offset);
/* Write the agent's part of an index of frames: its segment has so many bytes
 * now, and a question may read its last `most`. False: there was no
 * memory for one, nothing is written. */
bool pins_write(struct pins *pins,
                const uint8_t agent[16],
                uint64_t end,
                uint64_t most,
                FILE *file);

#endif
