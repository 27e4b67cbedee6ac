/* userfile.h - which code is the user's
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The user's is what is in files that no package installs.
 */
#ifndef CK_MERGE_MODEL_USERFILE_H
#define CK_MERGE_MODEL_USERFILE_H

#include <stdbool.h>

#include "merge/model/defs.h"

/* Is that the path of a file that the user has made? */
bool userfile_path(const char *path);
/* Is the address (of the process) in one, and not in ck? */
bool userfile_is(const struct defs *defs, uint32_t process, uint64_t address);

#endif
