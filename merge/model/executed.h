/* executed.h - which program a run is of, behind what only started it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_EXECUTED_H
#define CK_MERGE_MODEL_EXECUTED_H

#include "merge/model/defs.h"

/* The command of the program that the agent's command started, where that is
 * only there to start one (env, nice, sh -c): the one that recorded. The
 * agent's command itself where it is the program, where none recorded, or where
 * several did and not one of them used MPI. Lives as long as the definitions.
 */
const char *executed_find(const struct defs *defs, uint32_t agent);
/* The program of a command as a person calls it: the last part of its first
 * word, behind Python with the script or module that it runs ("python3 a.py").
 * Returns the length. */
size_t executed_name(const char *command, char *to, size_t room);
/* Is its command known? A process that ended soon, or a child of a shell before
 * it became another program, has none. */
bool executed_is_named(const struct defs_process *process);

#endif
