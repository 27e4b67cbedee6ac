/* recover.h - what killed agents of a run left in memory, moved to the run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_INPUT_RECOVER_H
#define CK_MERGE_INPUT_RECOVER_H

/* Let ckagent look for ring files that belong to the run. Nothing is started
 * where this user has none; what cannot be recovered is reported on stderr and
 * is no failure of the merge. */
void recover_rings(const char *run);

#endif
