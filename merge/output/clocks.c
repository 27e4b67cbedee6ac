/* clocks.c - the clocks part of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include <inttypes.h>

#include "merge/output/words.h"

#define MARGIN "             "
/* Faults of a domain that are written out. */
#define FAULTS_SHOWN 4

static void put_one(const struct page *page)
{
    const struct report_domain *domain = &page->report->domains[0];

    fputs("clocks: one domain, ranks exactly aligned", page->file);
    if (domain->bound > 0) {
        fprintf(page->file, " (map within %s)", word_time(domain->bound).text);
    }
    fputc('\n', page->file);
}

static void put_several(const struct page *page)
{
    const struct report *report = page->report;
    size_t calibrated = 0;

    for (size_t i = 0; i < report->domains_count; i++) {
        calibrated += report->domains[i].is_calibrated;
    }
    fprintf(page->file, "%zu clock domains, ", report->domains_count);
    if (calibrated == report->domains_count) {
        fputs("all calibrated\n", page->file);
    } else if (calibrated > 1) {
        fprintf(page->file,
                "%s%zu not calibrated%s: these are placed by their REALTIME\n",
                page_red(page), report->domains_count - calibrated,
                page_normal(page));
    } else {
        fprintf(page->file,
                "%snot calibrated%s: other hosts are placed by their "
                "REALTIME\n",
                page_red(page), page_normal(page));
    }
}

static void put_faults(const struct page *page,
                       const struct report_domain *domain)
{
    for (size_t i = 0; i < domain->faults_count && i < FAULTS_SHOWN; i++) {
        const struct ck_clock_fault *fault = domain->faults[i];

        fprintf(page->file, MARGIN "  %sfault%s: %s", page_red(page),
                page_normal(page), report_fault_name(fault->kind));
        if (fault->kind == CK_CLOCK_FAULT_STEP) {
            fprintf(page->file, " of %s", word_time(fault->step).text);
            fprintf(page->file, " +- %s", word_time(fault->bound).text);
        }
        fprintf(page->file, " between %.6f and %.6f s of its clock\n",
                (double)fault->from / 1e9, (double)fault->to / 1e9);
    }
    if (domain->faults_count > FAULTS_SHOWN) {
        fprintf(page->file, MARGIN "  and %zu more faults\n",
                domain->faults_count - FAULTS_SHOWN);
    }
}

static void put_probed(const struct page *page,
                       const struct report_domain *domain)
{
    fputs(MARGIN, page->file);
    page_cell(page, domain->host, 30);
    fprintf(page->file,
            ": %" PRIu32 " ranks, offset %+.9f s, drift %+.3f ppm, ",
            domain->ranks, (double)domain->offset / 1e9,
            (double)domain->drift_ppb / 1e3);
    fprintf(page->file, "bound +- %s", word_time(domain->bound_median).text);
    fprintf(page->file, " (max %s), grade %c\n",
            word_time(domain->bound_max).text, domain->grade);
    fprintf(page->file, MARGIN "  %s probes", word_count(domain->probes).text);
    fprintf(page->file, ", %s lost", word_count(domain->lost).text);
    fprintf(page->file, ", shortest round trip %s\n",
            domain->rtt_min < 0 ? "-" : word_time(domain->rtt_min).text);
    put_faults(page, domain);
}

static void put_unplaced(const struct page *page,
                         const struct report_domain *domain)
{
    if (domain->lacks_pairs) {
        fputs(MARGIN, page->file);
        page_cell(page, domain->host, 30);
        fprintf(page->file,
                ": %sno clock pairs were stored: its times are counter "
                "ticks%s\n",
                page_red(page), page_normal(page));
    }
    if (!domain->has_place) {
        fputs(MARGIN, page->file);
        page_cell(page, domain->host, 30);
        fputs(": not calibrated, no REALTIME snapshot: its place on the "
              "axis is not known\n",
              page->file);
    }
}

void page_clocks(const struct page *page)
{
    const struct report *report = page->report;

    if (report->domains_count == 1) {
        put_one(page);
    } else {
        put_several(page);
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        if (report->domains[i].is_probed) {
            put_probed(page, &report->domains[i]);
        }
        put_unplaced(page, &report->domains[i]);
    }
}
