/* reportout.h - where a collector shows the job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The front prints it. A front that has ended was what its shell waited for, or
 * its launcher. Below a launcher the shell waits for that one: as long as it
 * runs, and the rank was not asked to end, the report still comes before the
 * prompt.
 */
#ifndef CK_AGENT_COLLECTOR_REPORTOUT_H
#define CK_AGENT_COLLECTOR_REPORTOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/collector/targetstate.h"

struct reportout {
    struct targetstate
        *targetstate; /* borrowed; its channel leads to the front */
    int stderr_fd;    /* borrowed; of the launcher, -1 = none */
    pid_t launcher;   /* without one the front itself */
};

/* Without a front: is a shell still waiting for what stderr_fd gets? Reads what
 * the front sent last. */
bool reportout_is_awaited(const struct reportout *out);
/* The text behind the empty line of a REPORT: to the front, or where there is
 * none to the launcher's stderr if that is awaited. */
void reportout_show(const struct reportout *out,
                    const char *report,
                    size_t length);
/* The front was killed before it could log that the report will be in `dir`. */
void reportout_promise(const struct reportout *out, const char *dir);

#endif
