/* parents.h - the directories above one that is to be made
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of --dir of ckagent and ckagg.
 */
#ifndef CK_LAUNCH_PARENTS_H
#define CK_LAUNCH_PARENTS_H

#include <stdbool.h>

/* Make those that are missing, with the rights that the user's mask leaves;
 * another rank may do so at the same time. True: all are there, so that to make
 * `path` may be tried again. */
bool ck_parents_create(const char *path);

#endif
