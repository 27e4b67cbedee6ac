/* reportout.c - where a collector shows the job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/reportout.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/process/frontpipe.h"
#include "agent/process/processexit.h"
#include "agent/process/signals.h"

/* A launcher that is in a hurry kills the front before that has read the
 * signal: then the program's end shows it. */
static bool was_asked(const struct targetstate *targetstate)
{
    return targetstate->signal != 0 ||
           (targetstate->is_front_gone && !targetstate->is_end_known &&
            targetstate->is_status_known &&
            WIFSIGNALED(targetstate->end.status) &&
            signals_asks_end(WTERMSIG(targetstate->end.status)));
}

bool reportout_is_awaited(const struct reportout *out)
{
    targetstate_step(out->targetstate);
    return out->stderr_fd >= 0 && !was_asked(out->targetstate) &&
           !process_is_over((uint32_t)out->launcher);
}

void reportout_show(const struct reportout *out,
                    const char *report,
                    size_t length)
{
    const char *body = strstr(report, "\n\n");
    bool has_front = !out->targetstate->is_front_gone;
    size_t left;

    body = body == NULL ? report : body + 2;
    left = length - (size_t)(body - report);
    while (left > 0) {
        size_t piece = left < FRONTPIPE_TEXT ? left : FRONTPIPE_TEXT;

        has_front =
            has_front && frontpipe_send(out->targetstate->channel,
                                        FRONTPIPE_REPORT, body, piece) == 0;
        if (!has_front && !reportout_is_awaited(out)) {
            return;
        }
        if (!has_front) {
            (void)!write(out->stderr_fd, body, piece);
        }
        body += piece;
        left -= piece;
    }
}

void reportout_promise(const struct reportout *out, const char *dir)
{
    if (reportout_is_awaited(out)) {
        (void)dprintf(out->stderr_fd,
                      "ckagent: the report of what was recorded will be in "
                      "%s/report.txt\n",
                      dir);
    }
}
