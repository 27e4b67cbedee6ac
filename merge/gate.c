/* gate.c - what a run must keep to, as an exit status
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/gate.h"

#include "launch/cli.h"
#include "launch/log.h"

/* --max-clock-error: of the two domains that are known least of each other. */
int gate_clocks(const struct report *report, ck_time_t limit)
{
    const struct report_clock_pair *worst = &report->clock_worst;

    if (limit < 0) {
        return CK_EXIT_DONE;
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];

        if (domain->ranks > 0 && !domain->is_calibrated) {
            ck_error("--max-clock-error: the clock of host %s is not "
                     "calibrated",
                     domain->host);
            return CK_EXIT_GATE_UNKNOWN;
        }
    }
    if (worst->bound_max > limit) {
        ck_error("--max-clock-error: the clocks of %s and %s are known to "
                 "+- %.3f us only",
                 report->domains[worst->a].host, report->domains[worst->b].host,
                 (double)worst->bound_max / 1e3);
        return CK_EXIT_GATE;
    }
    return CK_EXIT_DONE;
}
