/* ringdir.h - where ring files are, and how they are called
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agents make them and look for those that killed agents left; a merge looks
 * whether there are any.
 */
#ifndef CK_SCHEMA_RING_RINGDIR_H
#define CK_SCHEMA_RING_RINGDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"

#define CK_RING_SUFFIX ".ring"
/* A ring file while it is being made. */
#define CK_RING_SUFFIX_NEW ".ring.new"

/* Directories of this user: in /dev/shm, in TMPDIR; both in CK_TEST_RINGS where
 * a test sets it. */
#define CK_RING_DIRS 2
#define CK_RING_DIR_BYTES 200
void ck_ring_dirs(char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES]);

/* Open one of them, which is made. Where another user was first, or may write
 * to it, a new directory beside it is made instead: its name is in `dir` then,
 * and `why` has the reason. Descriptor, or -1 with errno. */
int ck_ring_dir_open(char dir[CK_RING_DIR_BYTES], struct ck_err *why);
/* Remove the directory of a ring that is gone, where it was made so. */
void ck_ring_dir_remove(const char *path);

/* Those directories, then the ones that were made beside them, as far as they
 * are this user's. Returns how many. */
#define CK_RING_DIRS_MOST 64
size_t ck_ring_dirs_all(char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES]);

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
