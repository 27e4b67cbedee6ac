/* groupwatch.h - was a signal sent to us alone, or to our process group?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Launchers, shells and terminals signal the group, so the target has the
 * signal already; `kill PID` and a supervisor reach us alone, so we hand it
 * on. The signal does not show it. A second process of our group with all
 * signals blocked does: kill(2) to a group marks the youngest member first, so
 * a group's signal is pending there when it reaches us. It takes and counts
 * them when it is asked.
 */
#ifndef CK_AGENT_PROCESS_GROUPWATCH_H
#define CK_AGENT_PROCESS_GROUPWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GROUPWATCH_SIGNALS 65

struct groupwatch {
    pid_t pid; /* 0 = none: group signals are taken for granted */
    int hold;  /* questions and answers; end of file ends it */
    uint32_t counts[GROUPWATCH_SIGNALS]; /* that it got and we did not yet */
};

/* Fork the watcher. It ends with us. */
void groupwatch_start(struct groupwatch *watch);
void groupwatch_stop(struct groupwatch *watch);

/* We got this signal: did the group? True once for each that the group got. */
bool groupwatch_has(struct groupwatch *watch, int signal_number);

/* `pid` ended: if it is the watcher, start another. True when it was. */
bool groupwatch_reaped(struct groupwatch *watch, pid_t pid);

#endif
