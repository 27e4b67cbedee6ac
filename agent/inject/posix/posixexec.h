/* posixexec.h - a program of our own kind loads us without a look at /proc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXEXEC_H
#define CK_AGENT_INJECT_POSIX_POSIXEXEC_H

/* At the start: LD_PRELOAD, whose value in the environment this is, is again
 * what the parent had. NULL = unset. */
void posix_exec_load(char *preload);

#endif
