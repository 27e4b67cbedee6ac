/* readers.h - several profiles read at once, by processes of their own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A reader is a forked copy of this process: it writes segments, and hands
 * back what else it found in shared memory. As many as there are CPUs to run
 * on; with one CPU, or one profile, none.
 */
#ifndef CK_MERGE_PROFILES_READERS_H
#define CK_MERGE_PROFILES_READERS_H

#include <stddef.h>

#include "merge/profiles/profile.h"

/* profile_read() for all of them that are foreign. 0, or -1 with err. */
int readers_run(struct profile *profiles,
                size_t count,
                const char *dir,
                struct ck_err *err);

#endif
