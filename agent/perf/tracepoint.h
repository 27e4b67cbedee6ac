/* tracepoint.h - the kernel's tracepoints, as tracefs describes them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_TRACEPOINT_H
#define CK_AGENT_PERF_TRACEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a file ("id", "format") of a tracepoint ("sched/sched_switch"). False:
 * it cannot be read, and the text is empty. */
bool tracepoint_read(const char *event,
                     const char *file,
                     char *text,
                     size_t room);
/* Its number, for perf_event. False: not known. */
bool tracepoint_number(const char *event, uint64_t *number);

#endif
