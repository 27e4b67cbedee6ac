/* reportout.h - where a collector shows the job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_REPORTOUT_H
#define CK_AGENT_REPORTOUT_H

#include <stdbool.h>
#include <stddef.h>

/* The text behind the empty line of a REPORT goes to the front's channel, or,
 * when there is no front (any more; channel -1), to stderr_fd (-1 = nowhere).
 * False when there is no front. */
bool reportout_show(int channel,
                    int stderr_fd,
                    const char *report,
                    size_t length);

#endif
