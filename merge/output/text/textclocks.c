/* textclocks.c - the clocks part of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <inttypes.h>
#include <string.h>

#include "merge/output/words.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clocksource.h"
#include "schema/clock/clocktrend.h"

#define MARGIN "             "
/* Faults of a domain that are written out. */
#define FAULTS_SHOWN 4
/* Of more clocks only these are written out, the remarkable ones. */
#define CLOCKS_SHOWN 12

/* The owner of a clock: its host, or of a profile without a host, its rank;
 * both where a host has several. */
static void put_clock(const struct page *page, uint32_t number)
{
    const struct report *report = page->report;
    const struct report_domain *domain = &report->domains[number];
    bool is_shared = false;

    if ((number & CLOCK_MEETING) != 0) {
        fputs("all", page->file);
        return;
    }
    if (number >= report->domains_count) {
        fputs(number == report->domains_count ? "the reference" : "a device",
              page->file);
        return;
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        is_shared = is_shared || (i != number && strcmp(report->domains[i].host,
                                                        domain->host) == 0);
    }
    page_cell(page, domain->host, 30);
    if (domain->rank >= 0 && (is_shared || domain->host[0] == '\0')) {
        fprintf(page->file, "%srank %d", domain->host[0] == '\0' ? "" : ", ",
                domain->rank);
    }
}

static void put_one(const struct page *page)
{
    const struct report_domain *domain = &page->report->domains[0];

    fprintf(page->file, "clocks: one domain%s",
            page->report->has_ranks ? ", ranks exactly aligned" : "");
    if (domain->bound > 0) {
        fprintf(page->file, " (map within %s)", word_time(domain->bound).text);
    }
    if (domain->checked > 0) {
        fprintf(page->file, ", as %s probe%s confirm%s",
                word_count(domain->checked).text, word_s(domain->checked),
                domain->checked == 1 ? "s" : "");
    }
    fputc('\n', page->file);
}

/* Profiles that are one clock, by their dates. */
static void put_dates(const struct page *page)
{
    const struct report_dates *dates = &page->report->clock_dates;

    if (dates->kernels == 0) {
        fprintf(page->file,
                "%zu recordings taken as one clock, by their dates (assumed to "
                "+- %s: each profile\n" MARGIN "is of a rank of the run)\n",
                page->report->domains_count, word_time(dates->error).text);
        return;
    }
    fprintf(page->file,
            "%zu profiles taken as one clock, by their dates (assumed): %s "
            "collective\n",
            page->report->domains_count, word_count(dates->kernels).text);
    fprintf(page->file,
            MARGIN "kernel%s agree with these to +- %s; what is shorter is "
                   "not claimed.\n",
            word_s(dates->kernels), word_time(dates->error).text);
    fputs(MARGIN "--clock-facts=kernels does not believe dates\n", page->file);
}

static void put_refuted(const struct page *page)
{
    const struct report_dates *dates = &page->report->clock_dates;

    if (dates->is_refuted) {
        fprintf(page->file,
                MARGIN "the profiles' dates are not believed: by them a rank "
                       "left a collective kernel\n" MARGIN
                       "  %s before another entered it (or not all profiles "
                       "begin at the same one)\n",
                word_time(dates->worst).text);
    }
}

/* Kernels that do not show which ranks meet in them. */
static void put_ungrouped(const struct page *page)
{
    const struct report_dates *dates = &page->report->clock_dates;
    uint64_t count = page->report->comm_ungrouped;

    if (dates->apart > 0) {
        fprintf(
            page->file,
            MARGIN "%s collective kernel%s without a process group "
                   "contradict%s the dates by up to\n" MARGIN
                   "  %s: clocks are off, or several groups ran kernels of "
                   "one name. No clock was moved;\n" MARGIN
                   "  --clock-facts=kernels takes them to be of all ranks\n",
            word_count(dates->apart).text, word_s(dates->apart),
            dates->apart == 1 ? "s" : "", word_time(dates->apart_worst).text);
    }
    if (count > 0) {
        fprintf(page->file,
                MARGIN "waits in %s collective kernel%s are not claimed: their "
                       "process group is not\n" MARGIN
                       "  recorded, and they do not fit one of all ranks. Up "
                       "to %s may be waits\n",
                word_count(count).text, word_s(count),
                word_time(page->report->comm_ungrouped_time).text);
    }
}

/* Profiles that do not begin and end at the same kernels. */
static void put_ordered(const struct page *page)
{
    uint64_t count = page->report->clock_dates.ordered;

    if (count > 0) {
        fprintf(page->file,
                MARGIN "%s collective kernel%s found by when they end: not all "
                       "profiles begin and\n" MARGIN
                       "  end at the same ones, and they are not numbered\n",
                word_count(count).text, count == 1 ? " was" : "s were");
    }
}

/* Kernels that a rank lacks, so that who met in which is not known. */
static void put_uneven(const struct page *page)
{
    uint64_t count = page->report->comm_uneven;

    if (count > 0) {
        fprintf(page->file,
                MARGIN "waits in %s collective kernel%s are not claimed: not "
                       "all ranks of the group\n" MARGIN
                       "  recorded them, or their times do not fit. Up to %s "
                       "may be waits\n",
                word_count(count).text, word_s(count),
                word_time(page->report->comm_uneven_time).text);
    }
}

/* What no merge can know where clocks are estimated. */
static void put_hidden(const struct page *page)
{
    const struct report *report = page->report;

    if (report->comm_hidden_first > 0) {
        fprintf(page->file,
                MARGIN "nothing compares these clocks before the first "
                       "collective kernel ends: a wait in\n" MARGIN
                       "  it and a clock that is set during it cannot be "
                       "distinguished. Up to %s of\n" MARGIN
                       "  device time are not claimed for that\n",
                word_time(report->comm_hidden_first).text);
    }
    if (report->comm_alike > 0) {
        fprintf(page->file,
                MARGIN "%s collective kernel%s without a process group end%s "
                       "together, as those of groups\n" MARGIN
                       "  in step may: waits of less than 40 us in them are "
                       "not claimed\n",
                word_count(report->comm_alike).text, word_s(report->comm_alike),
                report->comm_alike == 1 ? "s" : "");
    }
    if (report->comm_hidden_most == 0 || report->domains_count < 2) {
        return;
    }
    fputs(MARGIN "a rank that comes late by the same time to each collective "
                 "kernel, and a clock\n",
          page->file);
    fprintf(page->file,
            MARGIN "  that is off by as much, cannot be told apart: up to %s a "
                   "kernel is not claimed\n",
            word_time(report->comm_hidden_most).text);
}

static void put_several(const struct page *page)
{
    const struct report *report = page->report;
    /* The REALTIME of profiles that know no date is one that was made up. */
    const char *place = report->inputs_count > 1 && !report->has_dates
                            ? "with their starts put together"
                            : "by their REALTIME";
    size_t calibrated = 0;

    for (size_t i = 0; i < report->domains_count; i++) {
        calibrated += report->domains[i].is_calibrated;
    }
    fprintf(page->file, "%zu clock domains, ", report->domains_count);
    if (calibrated == report->domains_count) {
        fputs("all calibrated\n", page->file);
    } else if (calibrated > 1) {
        fprintf(page->file, "%s%zu not calibrated%s: these are placed %s\n",
                page_red(page), report->domains_count - calibrated,
                page_normal(page), place);
    } else {
        fprintf(page->file,
                "%snot calibrated%s: all but the first are placed %s\n",
                page_red(page), page_normal(page), place);
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
        fprintf(page->file, MARGIN "  and %zu more fault%s\n",
                domain->faults_count - FAULTS_SHOWN,
                word_s(domain->faults_count - FAULTS_SHOWN));
    }
}

/* By what its place is known. */
static void put_means(const struct page *page,
                      const struct report_domain *domain)
{
    static const struct {
        enum clock_source sources[2];
        const char *text;
    } groups[] = {
        {{CLOCK_SOURCE_MESSAGE, CLOCK_SOURCE_COLLECTIVE},
         "messages and collectives"},
        {{CLOCK_SOURCE_KERNEL, CLOCK_SOURCES}, "parts in collective kernels"},
        {{CLOCK_SOURCE_DEVICE, CLOCK_SOURCES}, "launches and synchronisations"},
    };
    bool is_first = !domain->is_probed;

    fputs(MARGIN "  ", page->file);
    if (domain->is_probed) {
        fprintf(page->file, "%s probe%s", word_count(domain->probes).text,
                word_s(domain->probes));
        if (domain->way != NULL) {
            fprintf(page->file, " by %s%s", domain->way,
                    domain->has_stamps ? " with kernel stamps" : "");
        }
        fprintf(page->file, ", %s lost", word_count(domain->lost).text);
        fprintf(page->file, ", shortest round trip %s",
                domain->rtt_min < 0 ? "-" : word_time(domain->rtt_min).text);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        uint64_t count = domain->used[groups[i].sources[0]];

        if (groups[i].sources[1] != CLOCK_SOURCES) {
            count += domain->used[groups[i].sources[1]];
        }

        if (count > 0) {
            fprintf(page->file, "%s%s %s", is_first ? "" : "; ",
                    word_count(count).text, groups[i].text);
            is_first = false;
        }
    }
    if (domain->refuted > 0) {
        fprintf(page->file, ", %s refuted", word_count(domain->refuted).text);
    }
    fputc('\n', page->file);
}

/* What the bound rests on, where it is more than usual or nothing but messages
 * could refute it. */
static void put_assumed(const struct page *page,
                        const struct report_domain *domain)
{
    int64_t assumed_ppb = domain->wander_ppb + domain->hidden_ppb;

    if (domain->wander_ppb <= CK_CLOCK_WANDER_PPB && domain->is_probed) {
        return;
    }
    fprintf(page->file,
            MARGIN "  assumed: its rate wanders by no more than %.1f ppm about "
                   "its trend%s\n",
            (double)assumed_ppb / 1e3,
            domain->is_probed ? "" : ";\n" MARGIN "  no probe confirms that");
}

/* The largest bound; what is beyond that is omitted. */
static struct word word_most(ck_time_t bound)
{
    return bound < CLOCKMAP_ERROR_UNKNOWN ? word_time(bound)
                                          : (struct word){.text = "not known"};
}

static void put_bounded(const struct page *page, uint32_t number)
{
    const struct report_domain *domain = &page->report->domains[number];
    fputs(MARGIN, page->file);
    put_clock(page, number);
    fprintf(page->file,
            ": %" PRIu32 " rank%s, offset %+.9f s, drift %+.3f ppm, ",
            domain->ranks, word_s(domain->ranks), (double)domain->offset / 1e9,
            (double)domain->drift_ppb / 1e3);
    fprintf(page->file, "bound +- %s", word_time(domain->bound_median).text);
    fprintf(page->file, " (max %s), grade %c, by %s\n",
            word_most(domain->bound_max).text, domain->grade, domain->method);
    put_means(page, domain);
    put_assumed(page, domain);
    put_faults(page, domain);
}

/* Facts that contradicted each other, and what was done. */
static void put_conflict(const struct page *page,
                         const struct clocksolve_fault *fault)
{
    fprintf(page->file, MARGIN "%scontradiction%s of %s: ", page_red(page),
            page_normal(page), word_time(fault->excess).text);
    if (fault->kind == CK_CLOCK_FAULT_RATE) {
        fputs("the clock of ", page->file);
        put_clock(page, fault->domain);
        fprintf(page->file, " was allowed %.1f ppm;",
                (double)fault->rate_ppb / 1e3);
    } else {
        fputs("the first was left out;", page->file);
    }
    for (size_t i = 0; i < fault->edges_count; i++) {
        fprintf(page->file, "%s %s ", i == 0 ? "" : ",",
                report_source_name(fault->edges[i].source));
        put_clock(page, fault->edges[i].from);
        fputs(" to ", page->file);
        put_clock(page, fault->edges[i].to);
        fprintf(page->file, " at %.6f s", (double)fault->edges[i].sent / 1e9);
    }
    fprintf(page->file, "%s\n",
            fault->cycle > fault->edges_count ? ", ..." : "");
}

static void put_conflicts(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->conflicts_count && i < FAULTS_SHOWN; i++) {
        put_conflict(page, report->conflicts[i]);
    }
    if (report->conflicts_count > FAULTS_SHOWN) {
        fprintf(page->file, MARGIN "and %zu more contradiction%s\n",
                report->conflicts_count - FAULTS_SHOWN,
                word_s(report->conflicts_count - FAULTS_SHOWN));
    }
}

/* What cannot be, before and after. */
static void put_causality(const struct page *page)
{
    const struct report_causality *c = &page->report->causality;

    if (c->kernels > 0) {
        fprintf(page->file, MARGIN "backwards in time: %s of ",
                word_count(c->kernels_after).text);
        fprintf(page->file, "%s collective kernels ",
                word_count(c->kernels).text);
        fprintf(page->file, "(%s before alignment)\n",
                word_count(c->kernels_before).text);
    }
    if (c->messages + c->collectives == 0) {
        return;
    }
    fprintf(page->file, MARGIN "backwards in time: %s of ",
            word_count(c->messages_after).text);
    fprintf(page->file, "%s message%s, ", word_count(c->messages).text,
            word_s(c->messages));
    fprintf(page->file, "%s of ", word_count(c->collectives_after).text);
    fprintf(page->file, "%s collective%s (", word_count(c->collectives).text,
            word_s(c->collectives));
    fprintf(page->file, "%s and ", word_count(c->messages_before).text);
    fprintf(page->file, "%s before alignment)\n",
            word_count(c->collectives_before).text);
}

/* The host's other clocks; ck's own is none of them. The times without a
 * collector are listed for each rank (put_aways()). */
static void put_watched(const struct page *page, uint32_t number)
{
    const struct report_domain *domain = &page->report->domains[number];
    size_t count = 0;
    static const char *const texts[CLOCKWATCH_KINDS] = {
        [CLOCKWATCH_STEP] = "CLOCK_REALTIME was set by",
        [CLOCKWATCH_SUSPEND] = "the machine slept for",
        [CLOCKWATCH_COUNTER] = "the counter that stamps records jumped by",
    };
    char name[9];

    for (size_t i = 0; i < domain->watched_count; i++) {
        const struct clockwatch_event *event = &domain->watched[i];

        if (event->kind == CLOCKWATCH_PAUSE || count++ >= FAULTS_SHOWN) {
            continue;
        }
        fputs(MARGIN, page->file);
        put_clock(page, number);
        if (event->kind == CLOCKWATCH_SLEW) {
            fprintf(page->file, ": CLOCK_MONOTONIC was slewed by %+.1f ppm",
                    (double)event->rate_ppb / 1e3);
        } else if (event->kind == CLOCKWATCH_SOURCE) {
            fputs(": the kernel's clocksource was found to be ", page->file);
            page_cell(page, ck_clocksource_name(event->source, name), 0);
            fputs(" now", page->file);
        } else {
            fprintf(page->file, ": %s %s", texts[event->kind],
                    word_time(event->step).text);
        }
        fprintf(page->file, " between %.3f and %.3f s of its clock\n",
                (double)event->from / 1e9, (double)event->to / 1e9);
    }
    if (count > FAULTS_SHOWN) {
        fprintf(page->file, MARGIN "  and %zu more\n", count - FAULTS_SHOWN);
    }
}

static void put_unplaced(const struct page *page, uint32_t number)
{
    const struct report_domain *domain = &page->report->domains[number];
    if (domain->lacks_pairs) {
        fputs(MARGIN, page->file);
        put_clock(page, number);
        fprintf(page->file,
                ": %sno clock pairs were stored: its times are counter "
                "ticks%s\n",
                page_red(page), page_normal(page));
    }
    if (domain->why != NULL) {
        fputs(MARGIN, page->file);
        put_clock(page, number);
        fprintf(page->file, ": not calibrated: %s\n", domain->why);
    }
    if (!domain->has_place) {
        fputs(MARGIN, page->file);
        put_clock(page, number);
        fputs(": not calibrated, no REALTIME snapshot: its place on the "
              "axis is not known\n",
              page->file);
    }
}

/* What is not known, and what would help. */
static void put_cure(const struct page *page)
{
    const struct report *report = page->report;
    bool is_lacking = false;

    for (size_t i = 0; i < report->domains_count; i++) {
        is_lacking = is_lacking || report->domains[i].why != NULL;
    }
    if (!is_lacking) {
        return;
    }
    fputs(MARGIN "waits across clocks that are not calibrated are not "
                 "attributed;\n",
          page->file);
    fputs(report->inputs_count > 0
              ? MARGIN "  a bound needs several collective kernels in common\n"
              : MARGIN "  a bound needs probes that are answered (a ckagg that "
                       "its host reaches by UDP\n" MARGIN
                       "  or TCP, see ckagg --clock-port), or messages or "
                       "collectives both ways\n",
          page->file);
}

/* Devices whose tracer was refuted. */
static void put_devices(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->device_clocks_count; i++) {
        const struct report_device_clock *clock = &report->device_clocks[i];
        uint64_t refuted = clock->launches_refuted + clock->syncs_refuted;

        if (refuted + clock->suspects == 0) {
            continue;
        }
        fprintf(page->file, MARGIN "device %" PRIu32 " of %s: ", clock->device,
                page_who(page, clock->rank).text);
        fprintf(page->file, "%s%s of ", page_red(page),
                word_count(refuted).text);
        fprintf(page->file,
                "%s launches and synchronisations contradict its stamps%s "
                "(by %s at most)",
                word_count(clock->launches + clock->syncs).text,
                page_normal(page), word_time(clock->worst).text);
        if (clock->suspects > 0) {
            fprintf(page->file, ", %s stamps are nonsense",
                    word_count(clock->suspects).text);
        }
        if (clock->is_placed) {
            fprintf(page->file, "; moved by %s", word_time(clock->offset).text);
            if (clock->bound != CK_CLOCK_NONE) {
                fprintf(page->file, " +- %s", word_time(clock->bound).text);
            }
        }
        fputc('\n', page->file);
    }
}

/* The two clocks that are known least of each other. */
static void put_worst(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_clock_pair *worst = &report->clock_worst;

    if (worst->bound_max == 0) {
        return;
    }
    fputs(MARGIN "any two ranks: +- ", page->file);
    fprintf(page->file, "%s", word_time(worst->bound_median).text);
    fprintf(page->file, " (max %s, ", word_most(worst->bound_max).text);
    put_clock(page, worst->a);
    fputs(" to ", page->file);
    put_clock(page, worst->b);
    fputs(worst->is_sum ? ", each one's bound added)\n" : ")\n", page->file);
}

/* Probes that ckagg did not answer. */
static void put_dropped(const struct page *page)
{
    const struct report_probes *probes = &page->report->probes;
    const struct {
        uint64_t count;
        const char *what;
    } dropped[] = {{probes->malformed, "malformed"},
                   {probes->foreign, "of no session"},
                   {probes->untagged, "with a wrong tag"},
                   {probes->replayed, "replayed"}};
    const char *between = "clock probes that were dropped: ";

    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (dropped[i].count > 0) {
            fprintf(page->file, "%s%s%s %s", between[0] == 'c' ? MARGIN : "",
                    between, word_count(dropped[i].count).text,
                    dropped[i].what);
            between = ", ";
        }
    }
    if (between[0] == ',') {
        fprintf(page->file, " (%s answered)\n",
                word_count(probes->answered).text);
    }
}

/* Something befell it, or it is one of the two that are known least. */
static bool is_remarkable(const struct report *report, uint32_t number)
{
    const struct report_domain *domain = &report->domains[number];

    return domain->faults_count > 0 || domain->watched_count > 0 ||
           domain->is_clone || (domain->machines > 1 && domain->believed > 0) ||
           domain->why != NULL || domain->lacks_pairs || !domain->has_place ||
           number == report->clock_worst.a || number == report->clock_worst.b;
}

/* Machines that name one clock: another one, or not checked. */
static void put_machines(const struct page *page, uint32_t number)
{
    const struct report_domain *domain = &page->report->domains[number];

    if (domain->is_clone) {
        fputs(MARGIN, page->file);
        put_clock(page, number);
        fprintf(page->file,
                ": %sits boot id is that of another host, its clock is not%s "
                "(cloned machines?):\n" MARGIN
                "  taken for a clock of its own\n",
                page_red(page), page_normal(page));
    }
    if (domain->machines > 1 && domain->believed > 0) {
        fputs(MARGIN, page->file);
        put_clock(page, number);
        fprintf(page->file,
                ": %" PRIu32 " machines have one boot id; that they have one "
                "clock is assumed,\n" MARGIN "  of %" PRIu32
                " of them no probe was compared\n",
                domain->machines, domain->believed);
    }
}

/* Each clock, or of many those that are remarkable. */
static void put_clocks(const struct page *page)
{
    const struct report *report = page->report;
    size_t shown = 0, hidden = 0;

    for (uint32_t i = 0; i < report->domains_count; i++) {
        if (report->domains_count > CLOCKS_SHOWN &&
            (shown == CLOCKS_SHOWN || !is_remarkable(report, i))) {
            hidden++;
            continue;
        }
        shown++;
        if (report->domains[i].is_bounded) {
            put_bounded(page, i);
        } else if (report->domains[i].faults_count > 0) {
            fputs(MARGIN, page->file);
            put_clock(page, i);
            fputs(": the clock that the others are compared with\n",
                  page->file);
            put_faults(page, &report->domains[i]);
        }
        put_machines(page, i);
        put_watched(page, i);
        put_unplaced(page, i);
    }
    if (hidden > 0) {
        fprintf(page->file, MARGIN "and %zu more clock%s (report.json)\n",
                hidden, word_s(hidden));
    }
}

void page_clocks(const struct page *page)
{
    const struct report *report = page->report;

    if (report->domains_count == 1) {
        put_one(page);
    } else if (report->clock_dates.is_believed) {
        put_dates(page);
    } else {
        put_several(page);
        put_refuted(page);
    }
    put_ungrouped(page);
    put_ordered(page);
    put_uneven(page);
    put_hidden(page);
    put_clocks(page);
    put_cure(page);
    put_dropped(page);
    if (report->domains_count > 1) {
        put_worst(page);
        put_devices(page);
        put_conflicts(page);
        put_causality(page);
    }
}
