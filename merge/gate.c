/* gate.c - what a run must keep to, as an exit status
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/gate.h"

#include <stdio.h>

#include "launch/cli.h"
#include "launch/log.h"
#include "merge/timeline/clockmap.h"

#define CLOCK_BYTES 320

/* Whose clock: "vm (rank 3)", "vm (8 ranks from 0)"; of a profile that names
 * no host "rank 3". */
static const char *clock_text(const struct report_domain *domain,
                              char text[CLOCK_BYTES])
{
    const char *host = domain->host == NULL ? "" : domain->host;
    char whose[48];

    if (domain->ranks > 1) {
        (void)snprintf(whose, sizeof(whose), "%u ranks from %d", domain->ranks,
                       domain->rank);
    } else {
        (void)snprintf(whose, sizeof(whose), "rank %d", domain->rank);
    }
    if (host[0] == '\0') {
        (void)snprintf(text, CLOCK_BYTES, "%s", whose);
    } else {
        (void)snprintf(text, CLOCK_BYTES, "%.250s (%s)", host, whose);
    }
    return text;
}

/* --max-clock-error: compares the limit with the pair of domains whose clocks
 * are known least of each other. */
int gate_clocks(const struct report *report, ck_time_t limit)
{
    const struct report_clock_pair *worst = &report->clock_worst;
    char a[CLOCK_BYTES], b[CLOCK_BYTES];

    if (limit < 0) {
        return CK_EXIT_DONE;
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];

        if (domain->ranks > 0 && !domain->is_calibrated) {
            ck_error("--max-clock-error: the clock of %s is not calibrated",
                     clock_text(domain, a));
            return CK_EXIT_GATE_UNKNOWN;
        }
        if (domain->ranks > 0 && domain->doubt > limit) {
            ck_error("--max-clock-error: the counter of %s jumped: its times "
                     "are known to +- %.3f us only",
                     clock_text(domain, a), (double)domain->doubt / 1e3);
            return CK_EXIT_GATE;
        }
    }
    if (worst->bound_max >= CLOCKMAP_ERROR_UNKNOWN) {
        ck_error("--max-clock-error: how far the clocks of %s and %s are apart "
                 "is not known everywhere",
                 clock_text(&report->domains[worst->a], a),
                 clock_text(&report->domains[worst->b], b));
        return limit < CLOCKMAP_ERROR_UNKNOWN ? CK_EXIT_GATE
                                              : CK_EXIT_GATE_UNKNOWN;
    }
    if (worst->bound_max > limit) {
        ck_error("--max-clock-error: the clocks of %s and %s are known to "
                 "+- %.3f us only",
                 clock_text(&report->domains[worst->a], a),
                 clock_text(&report->domains[worst->b], b),
                 (double)worst->bound_max / 1e3);
        return CK_EXIT_GATE;
    }
    return CK_EXIT_DONE;
}
