/* ringsize.h - where the recording memory is not as large as asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_RING_RINGSIZE_H
#define CK_AGENT_RING_RINGSIZE_H

#include <stddef.h>

#include "agent/ring/ringfile.h"

#define RINGSIZE_LINE 1024

/* A line for the user: what is used in place of the wished size of a slot, and
 * of the wished bound of the ring, and where there is little memory, or only on
 * a disk. "" = it is as wished. */
void ringsize_line(const struct ringfile *ring,
                   const struct ringfile_wish *wish,
                   char line[RINGSIZE_LINE]);

#endif
