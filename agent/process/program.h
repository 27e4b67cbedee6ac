/* program.h - what a file that is executed is, for the loader
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_PROGRAM_H
#define CK_AGENT_PROCESS_PROGRAM_H

/* Why no library of ours can be loaded into the program in this open file, or
 * NULL. Static text. Scripts and files that cannot be read are no obstacle. */
const char *program_obstacle(int fd);

#endif
