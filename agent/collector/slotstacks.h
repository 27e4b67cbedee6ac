/* slotstacks.h - the frames of stacks in a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Libraries of ours record the stacks of some calls. Their frames are noted, to
 * be given names at the end.
 */
#ifndef CK_AGENT_COLLECTOR_SLOTSTACKS_H
#define CK_AGENT_COLLECTOR_SLOTSTACKS_H

#include <stdint.h>

struct symbols;

/* Of all stacks in so many units of whole records. The program can write there
 * meanwhile: what no longer is well formed ends it. */
void slotstacks_note(struct symbols *symbols,
                     uint32_t incarnation,
                     const uint8_t *records,
                     uint32_t units);

#endif
