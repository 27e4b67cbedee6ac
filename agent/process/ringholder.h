/* ringholder.h - does a process have a ring mapped?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process id in the ring is what the program wrote there, and who reads it
 * may have more rights than the program (root's ckagent, another user's
 * program). No process can map the file for another one.
 */
#ifndef CK_AGENT_PROCESS_RINGHOLDER_H
#define CK_AGENT_PROCESS_RINGHOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* `path` and `fd` are of the ring's file; fd may be -1. True as well where this
 * may not be asked: then nothing else may. */
bool ringholder_is(uint32_t pid, const char *path, int fd);

#endif
