/* kernellog.h - faults that the kernel has written to its log
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_KERNELLOG_H
#define CK_AGENT_PERF_KERNELLOG_H

#include <stdbool.h>
#include <stdint.h>

/* Read the log from now on. -1 = it may not be read. */
int kernellog_open(void);

/* A fault as the log has it. */
struct kernellog_fault {
    uint64_t address; /* that was accessed */
    uint64_t pc, sp;  /* of the thread */
};
/* Is the line one of a fault: "TEXT[PID]: segfault at ADDRESS ip PC sp SP ..."?
 */
bool kernellog_parse(const char *line, struct kernellog_fault *fault);
/* The newest fault in new lines with that instruction and stack; process
 * numbers in the log are those of another namespace. False: there is none. */
bool kernellog_find(int fd, struct kernellog_fault *fault);

#endif
