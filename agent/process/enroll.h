/* enroll.h - a program that records nothing gets its entry all the same
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The libraries in a program enter its image in the ring's table with their
 * first record. One that only computes makes none, and its samples have no
 * owner: the collector enters it, under the same key, so that a library that
 * comes later finds the entry.
 */
#ifndef CK_AGENT_PROCESS_ENROLL_H
#define CK_AGENT_PROCESS_ENROLL_H

#include <sys/types.h>

#include "schema/ring/ring.h"

/* Enter what process `pid` runs now. 0, or -1 with errno (EPERM: its memory may
 * not be read; ESRCH: it is gone; ENOSPC: the table is full). */
int enroll(struct ck_ring_header *header, pid_t pid);

#endif
