/* meetdir.h - where agents of this user meet when the known place is taken
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any user may make a directory of a known name in /tmp first. Then agents use
 * one with random characters in its name. All of them find the same one without
 * a message between them: it is the oldest that this user made. It stays, as
 * the known one does.
 */
#ifndef CK_AGENT_LINK_MEETDIR_H
#define CK_AGENT_LINK_MEETDIR_H

#include <stddef.h>

#include "schema/err.h"

/* "PARENT/ck-meet-UID-XXXXXX", found or made. 0, or -1 with errno and err.
 * Waits 20 ms where it is younger than a second. */
int meetdir_find(const char *parent,
                 char *dir,
                 size_t room,
                 struct ck_err *err);

#endif
