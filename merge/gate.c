/* gate.c - what a run must keep to, as an exit status
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/gate.h"

#include "launch/cli.h"
#include "launch/log.h"

/* --max-clock-error: the two worst domains, one relative to the other. */
int gate_clocks(const struct report *report, ck_time_t limit)
{
    ck_time_t worst[2] = {0, 0};

    if (limit < 0) {
        return CK_EXIT_DONE;
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];

        if (domain->ranks == 0) {
            continue;
        }
        if (!domain->is_calibrated) {
            ck_error("--max-clock-error: the clock of host %s is not "
                     "calibrated",
                     domain->host);
            return CK_EXIT_GATE_UNKNOWN;
        }
        if (domain->bound_max > worst[0]) {
            worst[1] = worst[0];
            worst[0] = domain->bound_max;
        } else if (domain->bound_max > worst[1]) {
            worst[1] = domain->bound_max;
        }
    }
    if (worst[0] + worst[1] > limit) {
        ck_error("--max-clock-error: clocks of two ranks may be %.3f us apart",
                 (double)(worst[0] + worst[1]) / 1e3);
        return CK_EXIT_GATE;
    }
    return CK_EXIT_DONE;
}
