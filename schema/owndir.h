/* owndir.h - a directory that no other user writes to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * In /dev/shm and /tmp any user may make a directory of the name that this user
 * would use. What is in such a directory is not believed: it is opened once,
 * looked at by its descriptor, and used by its descriptor.
 */
#ifndef CK_SCHEMA_OWNDIR_H
#define CK_SCHEMA_OWNDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/err.h"

/* Open a directory that is this user's, of mode 0700 or less, and no link.
 * Descriptor, or -1 with errno (EPERM: it is not so) and err, which may be
 * NULL. */
int ck_owndir_open(const char *dir, struct ck_err *err);
/* The same; made when it is not there. */
int ck_owndir_make(const char *dir, struct ck_err *err);

/* Open a plain file of this user in it that no other can write to or read;
 * `flags` of open(), not O_CREAT. Descriptor, or -1 with errno (EPERM: it is
 * not so). Never waits, as for a FIFO. */
int ck_owndir_file(int dir, const char *name, int flags);

/* Does the directory, or the link to it, belong to this user, and may only
 * its group write to it besides? False with errno. */
bool ck_owndir_is_mine(const char *dir);

#endif
