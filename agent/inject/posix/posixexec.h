/* posixexec.h - a program of our own kind loads us without a look at /proc
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXEXEC_H
#define CK_AGENT_INJECT_POSIX_POSIXEXEC_H

/* At the start: LD_PRELOAD is again what the parent had. */
void posix_exec_load(void);

#endif
