/* ringdir.h - where ring files lie, and how they are called
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agents make them and look for those that killed agents left; a merge looks
 * whether there are any.
 */
#ifndef CK_SCHEMA_RINGDIR_H
#define CK_SCHEMA_RINGDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CK_RING_SUFFIX ".ring"
/* A ring file while it is being made. */
#define CK_RING_SUFFIX_NEW ".ring.new"

/* Directories of this user: in /dev/shm, in TMPDIR. */
#define CK_RING_DIRS 2
#define CK_RING_DIR_BYTES 200
void ck_ring_dirs(char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES]);

/* dir/<16 hex digits of the agent's id>.ring in `path`. 0, or -1 with errno
 * (ENAMETOOLONG). */
int ck_ring_path(char *path,
                 size_t room,
                 const char *dir,
                 const uint8_t agent[16]);

/* Is this the name of a ring file, or of one that is being made? */
bool ck_ring_is_name(const char *name);
bool ck_ring_is_new_name(const char *name);

#endif
