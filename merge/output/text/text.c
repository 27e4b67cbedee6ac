/* text.c - the report for a person
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answer first, then the evidence, then how far to trust it; at most 100
 * columns.
 */
#include "merge/output/text/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/defs.h"
#include "merge/output/text/page.h"
#include "merge/output/words.h"

/* Profiles without device work that are named. */
#define EMPTY_NAMED 3
/* Programs that the first line names, and columns of one alone and of several.
 */
#define PROGRAMS_NAMED 2
#define PROGRAM_ALONE 40
#define PROGRAM 18

/* Did all ranks that called MPI get to its end? */
static bool is_finalized(const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->mpi_calls > 0 &&
            (rank->is_unfinalized || rank->end == REPORT_END_SIGNAL ||
             rank->end == REPORT_END_KILLED)) {
            return false;
        }
    }
    return true;
}

static void put_region(const struct page *page)
{
    const struct report *report = page->report;
    struct word length = word_time(region_length(report->region));

    switch (report->region_kind) {
    case REPORT_REGION_STEPS:
        fprintf(page->file, "region: steps %lld-%lld, %s",
                (long long)report->step_first, (long long)report->step_last,
                length.text);
        break;
    case REPORT_REGION_MPI:
        fprintf(page->file, "region: %s, %s",
                is_finalized(report) ? "MPI_Init to MPI_Finalize"
                                     : "from MPI_Init on",
                length.text);
        break;
    case REPORT_REGION_RANGE:
        fputs("region: range ", page->file);
        page_cell(page, report->region_range, 30);
        fprintf(page->file, ", %s", length.text);
        break;
    case REPORT_REGION_GIVEN:
        fprintf(page->file, "region: as asked, %s", length.text);
        break;
    case REPORT_REGION_KEPT:
        fprintf(page->file, "region: what was kept, %s", length.text);
        break;
    default:
        fprintf(page->file, "region: the whole run, %s", length.text);
        break;
    }
}

/* Of a kernel-only merge: profiles of devices that did nothing. */
static void put_empty(const struct page *page)
{
    const struct report *report = page->report;
    size_t empty = 0;

    for (size_t i = 0; i < report->inputs_count; i++) {
        const struct report_input *input = &report->inputs[i];

        if (input->rank >= 0 && input->operations == 0 &&
            empty++ < EMPTY_NAMED) {
            fputs("             no device work in ", page->file);
            page_cell(page, input->path, 60);
            fputc('\n', page->file);
        }
    }
    if (empty > EMPTY_NAMED) {
        fprintf(page->file, "             nor in %zu more\n",
                empty - EMPTY_NAMED);
    }
}

/* Of a kernel-only merge: how much is known of launches. */
static void put_inputs(const struct page *page)
{
    const struct report *report = page->report;
    uint64_t operations = 0, by_order = 0, found = 0;

    if (report->inputs_count == 0) {
        return;
    }
    for (size_t i = 0; i < report->inputs_count; i++) {
        operations += report->inputs[i].operations;
        by_order += report->inputs[i].by_order;
        found += report->inputs[i].by_id + report->inputs[i].by_order;
    }
    fprintf(page->file, "             %zu input%s, %s device operations",
            report->inputs_count, word_s(report->inputs_count),
            word_count(operations).text);
    fprintf(page->file, " %s launch or line known of %s", page_dot(page),
            word_count(found).text);
    if (by_order > 0) {
        fprintf(page->file, " (%s by order alone)", word_count(by_order).text);
    }
    fputc('\n', page->file);
    put_empty(page);
    if (!report->has_dates && report->inputs_count > 1) {
        fprintf(page->file, "             recordings share no date: %s\n",
                page_is_calibrated(report)
                    ? "what they have in common placed them"
                    : "the starts of those not calibrated were put together");
    }
}

/* "train", "ocean and atmos", "a, b and 2 more programs" */
static void put_programs(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = report->programs_of_ranks_count;
    size_t named = count > PROGRAMS_NAMED ? PROGRAMS_NAMED : count;

    page_program(page, report->program, count > 1 ? PROGRAM : PROGRAM_ALONE);
    for (size_t i = 1; i < named; i++) {
        fputs(i + 1 == count ? " and " : ", ", page->file);
        page_program(page, report->programs_of_ranks[i].program, PROGRAM);
    }
    if (count > named) {
        fprintf(page->file, " and %zu more programs", count - named);
    }
}

/* Which ranks ran which of them, where there are several. */
static void put_programs_of_ranks(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = report->programs_of_ranks_count;

    for (size_t i = 0; i < count && i < PAGE_ROWS; i++) {
        const struct report_program *row = &report->programs_of_ranks[i];

        fputs("    ", page->file);
        page_ranks(page->file, row->ranks, row->ranks_count);
        fputs(": ", page->file);
        page_program(page, row->program, PROGRAM_ALONE);
        fputc('\n', page->file);
    }
    if (count > PAGE_ROWS) {
        fprintf(page->file, "    and %zu more programs\n", count - PAGE_ROWS);
    }
}

static void put_head(const struct page *page)
{
    const struct report *report = page->report;
    const char *point = page_dot(page);

    fprintf(page->file, "%sck%s  ", page_bold(page), page_normal(page));
    if (report->inputs_count > 0) {
        fputs("profiles", page->file);
    } else if (report->program == NULL || report->program[0] == '\0') {
        fputs("a run", page->file);
    } else {
        put_programs(page);
    }
    if (report->is_filtered) {
        fprintf(page->file, " %s %zu of %d ranks selected", point,
                report->ranks_count, report->size);
    } else if (!report->has_ranks) {
        fprintf(page->file, " %s 1 program", point);
    } else if (report->present == (uint32_t)report->size) {
        fprintf(page->file, " %s %u rank%s", point, report->present,
                word_s(report->present));
    } else {
        fprintf(page->file, " %s %s%u of %d ranks%s", point, page_red(page),
                report->present, report->size, page_normal(page));
    }
    if (report->hosts > 0) {
        fprintf(page->file, " %s %u host%s", point, report->hosts,
                word_s(report->hosts));
    } else {
        size_t clocks =
            report->clock_dates.is_believed ? 1 : report->domains_count;

        fprintf(page->file, " %s %zu clock%s", point, clocks, word_s(clocks));
    }
    fprintf(page->file, " %s ", point);
    put_region(page);
    fprintf(page->file, " %s ", point);
    page_cell(page, report->name, 44);
    fputc('\n', page->file);
    put_programs_of_ranks(page);
}

/* "3 of 100 events", "at least 3 of 100 events" */
static void put_lost(const struct page *page)
{
    const struct report *report = page->report;

    fprintf(page->file, "%s%s of %s events",
            report->is_lost_exact ? "" : "at least ",
            word_count(report->lost).text,
            word_count(defs_sum(report->events, report->lost)).text);
}

/* Profiles of a kernel-only merge that could not be read as a whole. */
static void put_partial_inputs(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = 0;

    for (size_t i = 0; i < report->inputs_count; i++) {
        if (report->inputs[i].complaint == NULL || count++ >= PAGE_ROWS) {
            continue;
        }
        fprintf(page->file, " %snot all was read%s: ", page_red(page),
                page_normal(page));
        page_wrap(page, report->inputs[i].complaint, 19, 3);
        fputs("\n   (exit status 3)\n", page->file);
    }
    if (count > PAGE_ROWS) {
        fprintf(page->file, " and %zu more profiles\n", count - PAGE_ROWS);
    }
}

/* What was discarded on request. */
static void put_kept(const struct page *page)
{
    const struct report *report = page->report;

    if (report->kept.ranks == 0) {
        return;
    }
    fprintf(page->file, " kept: the last %s",
            word_time(region_length(report->whole)).text);
    fprintf(page->file, " of %s; ", word_time(report->kept.whole).text);
    fprintf(
        page->file, "%s record%s before were discarded on request (--keep)\n",
        word_count(report->kept.records).text, word_s(report->kept.records));
}

/* What is missing of the run. */
static void put_missing(const struct page *page)
{
    const struct report *report = page->report;
    FILE *file = page->file;
    bool is_damaged = report->gaps + report->damage_places + report->gone > 0;

    if (report->manifest != NULL) {
        fprintf(file,
                " %smanifest.json of the run could not be read%s (see TRUST; "
                "exit status 3)\n",
                page_red(page), page_normal(page));
    }
    if (!is_damaged && report->lost == 0) {
        return;
    }
    fprintf(file, " %snot all was kept%s: ", page_red(page), page_normal(page));
    if (report->lost > 0) {
        put_lost(page);
        fputs(" were lost", file);
    }
    if (report->gaps > 0) {
        fprintf(file, "%s%s gap%s in the streams", report->lost > 0 ? ", " : "",
                word_count(report->gaps).text, word_s(report->gaps));
    }
    if (report->damage_places > 0) {
        fprintf(file, "%s%s damaged place%s in the files",
                report->lost + report->gaps > 0 ? ", " : "",
                word_count(report->damage_places).text,
                word_s(report->damage_places));
    }
    fputs(is_damaged ? " (see TRUST; exit status 3)\n" : " (see TRUST)\n",
          file);
}

/* The device that was idle most. */
static const struct report_device *idlest(const struct report *report)
{
    const struct report_device *most = NULL;

    for (size_t i = 0; i < report->devices_count; i++) {
        if (most == NULL || report->devices[i].idle > most->idle) {
            most = &report->devices[i];
        }
    }
    return most;
}

/* True when some device was idle for 1 % of the region less than the most
 * idle one: else it is no news which one that is. */
static bool is_uneven(const struct report *report,
                      const struct report_device *most)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        if (most->idle - report->devices[i].idle > most->wall / 100) {
            return true;
        }
    }
    return false;
}

/* What is neither busy nor idle, from a thousandth on. */
static void put_unknown(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    ck_time_t lost = all->causes[CAUSE_LOST_DATA];

    if (lost > all->wall / 1000) {
        fprintf(page->file,
                " For %s %% (%s) %sit is unknown%s whether they were busy: "
                "records are missing, or have no times.\n",
                word_percent(lost, all->wall).text, word_time(lost).text,
                page_bold(page), page_normal(page));
    }
}

static void put_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_device *all = &report->all;
    const struct report_device *most = idlest(report);
    ck_time_t idle = all->idle - all->unknown;

    fputc('\n', page->file);
    if (most == NULL) {
        page_host_answer(page);
        page_launches_answer(page);
        page_stopped_answer(page);
        page_load(page);
        return;
    }
    fprintf(page->file,
            " %sDevices were busy %s %%%s (%s of %s device time) and idle "
            "%s %% (%s).\n",
            page_bold(page), word_percent(all->busy, all->wall).text,
            page_normal(page), word_time(all->busy).text,
            word_time(all->wall).text, word_percent(idle, all->wall).text,
            word_time(idle).text);
    page_undone_answer(page);
    put_unknown(page);
    page_launches_answer(page);
    page_inputs_answer(page);
    page_clocks_answer(page);
    page_copies_answer(page);
    page_meetings_answer(page);
    if (most->ranks_count > 0 && is_uneven(report, most)) {
        fputs(" Most idle: ", page->file);
        if (most->number >= 0) {
            fputs("device ", page->file);
            (void)page_device(page, most->name, most->number, 13);
            fputs(" of ", page->file);
        }
        fprintf(page->file,
                "%s, %s %% of the region; its longest gap was %s.\n",
                page_who(page, most->ranks[0]).text,
                word_percent(most->idle, most->wall).text,
                word_time(most->longest_gap).text);
    }
    page_uneven_answer(page);
    page_stopped_answer(page);
    page_threads_answer(page);
    page_load(page);
}

static void put_losses(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->losses_count; i++) {
        const struct report_loss *loss = &report->losses[i];

        fprintf(page->file, "             %s%s lost",
                loss->is_exact ? "" : "at least ",
                word_count(loss->records).text);
        if (loss->about > 0) {
            fprintf(page->file, ", about %s by the size of the gaps",
                    word_count(loss->about).text);
        }
        fprintf(page->file, ": %s\n", loss->reason);
        if (loss->cure != NULL) {
            fprintf(page->file, "               %sTry:%s ", page_bold(page),
                    page_normal(page));
            page_wrap(page, loss->cure, 20, 20);
            fputc('\n', page->file);
        }
    }
    if (report->manifest != NULL) {
        fprintf(page->file, "             %smanifest.json:%s ", page_red(page),
                page_normal(page));
        page_wrap(page, report->manifest, 28, 15);
        fputs("\n               ", page->file);
        page_wrap(page, REPORT_MANIFEST_UNKNOWN, 15, 15);
        fputc('\n', page->file);
    }
    if (report->gaps > 0) {
        fprintf(page->file,
                "             %s%s gap%s in the streams (%s units of 32 B did "
                "not arrive)%s\n",
                page_red(page), word_count(report->gaps).text,
                word_s(report->gaps), word_count(report->gap_units).text,
                page_normal(page));
    }
    if (report->damage_places > 0) {
        fprintf(page->file,
                "             %s%s damaged place%s%s, first: ", page_red(page),
                word_count(report->damage_places).text,
                word_s(report->damage_places), page_normal(page));
        page_wrap(page, report->damage_first, 40, 15);
        fputc('\n', page->file);
    }
    if (report->unknown > 0) {
        fprintf(page->file,
                "             %s record%s of kinds that this version does not "
                "know\n",
                word_count(report->unknown).text, word_s(report->unknown));
    }
}

/* Ranks without any records from some time on. */
static void put_limits(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->dark != REPORT_DARK_LIMIT || count++ >= PAGE_ROWS) {
            continue;
        }
        fprintf(page->file,
                "             %s: --limit was reached at %s, nothing was "
                "kept from then on\n",
                page_who(page, rank->number).text,
                word_time(rank->dark_since - report->whole.start).text);
    }
    if (count > PAGE_ROWS) {
        fprintf(page->file, "             and %zu more ranks\n",
                count - PAGE_ROWS);
    }
}

/* Files with records of this run that are not here. */
static void put_spools(const struct page *page)
{
    const struct report *report = page->report;
    char path[PATH_MAX + 8]; /* whole: it is to be copied */
    size_t shown = 0;
    size_t count = 0;

    for (size_t i = 0; i < report->spools_count; i++) {
        const struct report_spool *spool = &report->spools[i];

        if (spool->path[0] == '\0') {
            continue;
        }
        if (count++ < PAGE_ROWS) {
            fprintf(page->file, "             %s record%s of %s are on ",
                    word_count(spool->records).text, word_s(spool->records),
                    page_who(page, spool->rank).text);
            page_cell(page, spool->host[0] == '\0' ? "its host" : spool->host,
                      0);
            (void)word_escape(path, sizeof(path), spool->path, 0, 0);
            fprintf(page->file, " in\n               %s\n", path);
            shown++;
        }
    }
    if (count > shown) {
        fprintf(page->file, "             and %zu more file%s\n", count - shown,
                word_s(count - shown));
    }
}

/* Ranks that had no collector for a while. */
static void put_aways(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->aways_count && i < PAGE_ROWS; i++) {
        const struct report_away *away = &report->aways[i];

        fprintf(page->file, "             %s: no collector ran ",
                page_who(page, away->rank).text);
        if (away->part.end != INT64_MAX) {
            fprintf(page->file, "for %s, ",
                    word_time(region_length(away->part)).text);
        }
        fprintf(page->file, "from %s on%s\n",
                word_time(away->part.start - report->whole.start).text,
                away->part.end == INT64_MAX ? ", to its end" : "");
    }
    if (report->aways_count > PAGE_ROWS) {
        fprintf(page->file, "             and %zu more\n",
                report->aways_count - PAGE_ROWS);
    }
}

static void put_notes(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].is_claimed_twice) {
            fprintf(page->file,
                    "             %srank %d is claimed by several agents%s: "
                    "are two jobs in one directory?\n",
                    page_red(page), report->ranks[i].number, page_normal(page));
        }
    }
    for (size_t i = 0; i < report->notes_count && i < PAGE_ROWS; i++) {
        fputs("             ", page->file);
        page_wrap(page, report->notes[i].text, 13, 15);
        if (report->notes[i].count > 1) {
            /* What begins with a number is a sum. */
            fprintf(page->file,
                    isdigit((unsigned char)report->notes[i].text[0])
                        ? " (sum of %llu)"
                        : " (%llu times)",
                    (unsigned long long)report->notes[i].count);
        }
        fputc('\n', page->file);
    }
}

static void put_cost(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t whole = report->kept.ranks > 0 ? report->kept.whole
                                             : region_length(report->whole);

    fputs("             ck itself: ", page->file);
    if (report->own_cpu_ranks > 0 && whole > 0) {
        fprintf(page->file,
                "%s of CPU time in %u agent%s (%.2g %% of a core%s)\n"
                "               ",
                word_time(report->own_cpu).text, report->own_cpu_ranks,
                word_s(report->own_cpu_ranks),
                100.0 * (double)report->own_cpu / (double)whole /
                    report->own_cpu_ranks,
                report->own_cpu_ranks == 1 ? "" : " each");
    }
    if (report->samples.own > 0) {
        fprintf(page->file,
                "about %s in the program's threads (%s %% of the CPU time "
                "sampled)\n               ",
                word_time(report->samples.own).text,
                word_percent(report->samples.own, report->samples.total).text);
    }
    fprintf(page->file, "%s stored", word_bytes(report->bytes).text);
    if (report->events > 0) {
        fprintf(page->file, " (%.1f B/event)",
                (double)report->bytes / (double)report->events);
    }
    fputc('\n', page->file);
}

/* "; 0.4 % what", where it is any. */
static void
put_stacks_part(const struct page *page, uint64_t part, const char *what)
{
    uint64_t all = page->report->samples.stacks.count;

    if (part > 0) {
        fprintf(page->file, ", %s %% %s",
                word_percent((ck_time_t)part, (ck_time_t)all).text, what);
    }
}

static void put_stacks(const struct page *page)
{
    const struct report_stacks *stacks = &page->report->samples.stacks;
    char cut[96];

    if (stacks->count == 0) {
        return;
    }
    (void)snprintf(cut, sizeof(cut), "deeper than %s",
                   word_bytes(stacks->bytes).text);
    fprintf(
        page->file, "             stacks of %llu samples unwound: %s %% whole",
        (unsigned long long)stacks->count,
        word_percent((ck_time_t)stacks->whole, (ck_time_t)stacks->count).text);
    put_stacks_part(page, stacks->cut, cut);
    put_stacks_part(page, stacks->unknown, "end in code without unwind tables");
    put_stacks_part(page, stacks->wrong, "end at no frame");
    put_stacks_part(page, stacks->deep, "have too many frames");
    put_stacks_part(page, stacks->pointers, "in part by frame pointers");
    fprintf(page->file,
            "\n               (%.0f frames on average, deepest %llu)\n",
            (double)stacks->frames / (double)stacks->count,
            (unsigned long long)stacks->deepest);
}

/* Nothing of the rank is missing but what was counted as lost, however it
 * ended. */
static bool is_recorded(const struct report_rank *rank)
{
    return report_has_end(rank) && rank->gaps == 0 &&
           rank->dark == REPORT_DARK_NOT;
}

static void put_trust(const struct page *page)
{
    const struct report *report = page->report;
    size_t of =
        report->is_filtered ? report->ranks_count : (size_t)report->size;
    size_t well = 0, maybe = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        well += is_recorded(&report->ranks[i]);
        maybe += report->ranks[i].dark == REPORT_DARK_OPEN;
    }
    fprintf(page->file, "\n%s TRUST%s       ", page_bold(page),
            page_normal(page));
    put_lost(page);
    fprintf(page->file, " lost %s ", page_dot(page));
    if (report->has_ranks) {
        fprintf(page->file, "%zu of %zu%s rank%s recorded to the end", well, of,
                report->is_filtered ? " selected" : "", word_s(of));
        if (maybe > 0) {
            fprintf(page->file, ", and perhaps %zu more", maybe);
        }
        fputc('\n', page->file);
    } else {
        fprintf(page->file, "the program was %srecorded to the end\n",
                well < of ? "not " : "");
    }
    fputs("             ", page->file);
    page_clocks(page);
    put_inputs(page);
    put_losses(page);
    put_spools(page);
    put_limits(page);
    put_aways(page);
    page_delay_limits(page);
    page_launches(page);
    page_threads_trust(page);
    put_notes(page);
    if (report->devices_count > 0) {
        fprintf(
            page->file,
            "             ledger %s: busy + causes = %s ns of device time\n",
            report->is_ledger_closed ? "closes" : "DOES NOT CLOSE",
            word_count((uint64_t)report->all.wall).text);
    }
    page_folded(page, put_stacks);
    page_blocked_trust(page);
    page_allocations_trust(page);
    put_cost(page);
}

/* As a shell takes it. */
static void put_path(const struct page *page, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@=";
    bool is_plain = path[strspn(path, plain)] == '\0' && path[0] != '\0';

    if (!is_plain) {
        fputc('\'', page->file);
    }
    page_cell(page, path, 0);
    if (!is_plain) {
        fputc('\'', page->file);
    }
}

/* What is wrong with the run: the first part of the report. */
static void put_alarms(const struct page *page)
{
    page_disagree(page);
    page_ends(page);
    page_standing_stacks(page);
    page_undone(page);
    page_failures(page);
    put_partial_inputs(page);
    put_kept(page);
    put_missing(page);
}

static void put_rows(const struct page *page)
{
    if (page->report->devices_count > 0) {
        page_devices(page);
    } else {
        page_hosts(page);
    }
}

static void put_tables(const struct page *page)
{
    page_ranges(page);
    page_threads(page);
    page_hot(page);
    page_blocked(page);
    page_memory(page);
    page_allocations(page);
    page_calls(page);
    page_traffic(page);
    page_libc(page);
    page_counters(page);
}

static void put_device_tables(const struct page *page)
{
    page_submits(page);
    page_kernels(page);
    page_launch_stacks(page);
    page_copies(page);
}

static void put_more(const struct page *page)
{
    const struct report *report = page->report;

    fprintf(
        page->file, "%s MORE%s        %s ", page_bold(page), page_normal(page),
        report->inputs_count > 0 ? "scalene view" : "ckmerge --output chrome");
    put_path(page, report->run);
    fprintf(page->file, "  %s  %s\n", page_dot(page),
            report->inputs_count > 0 ? "its member \"ck\"" : "report.json");
    if (page->style->page != NULL) {
        fprintf(page->file, "%s PAGE%s        ", page_bold(page),
                page_normal(page));
        put_path(page, page->style->page);
        fputc('\n', page->file);
    }
}

static void (*const parts[TEXT_PARTS])(const struct page *page) = {
    [TEXT_HEAD] = put_head,
    [TEXT_ALARMS] = put_alarms,
    [TEXT_RUNNING] = page_running,
    [TEXT_ANSWER] = put_answer,
    [TEXT_WHY] = page_why,
    [TEXT_ROWS] = put_rows,
    [TEXT_DEVICE_TABLES] = put_device_tables,
    [TEXT_MPI] = page_mpi,
    [TEXT_TABLES] = put_tables,
    [TEXT_TRUST] = put_trust,
    [TEXT_MORE] = put_more,
};

void output_text_part(const struct report *report,
                      const struct text_style *style,
                      enum text_part part,
                      FILE *file)
{
    struct page_given given = {.count = 0};
    struct page page = {report, style, file, &given};

    parts[part](&page);
}

void output_text(const struct report *report,
                 const struct text_style *style,
                 FILE *file)
{
    struct page_given given = {.count = 0};
    struct page page = {report, style, file, &given};

    for (size_t i = 0; i < TEXT_PARTS; i++) {
        parts[i](&page);
    }
}

void output_where(const struct report *report,
                  const struct text_style *style,
                  FILE *file)
{
    struct page_given given = {.count = 0};
    struct page page = {report, style, file, &given};

    long begin;

    put_head(&page);
    begin = ftell(file);
    page_ends(&page);
    page_running(&page);
    page_standing_stacks(&page);
    if (ftell(file) == begin) {
        fputs(
            page_is_going_on(&page)
                ? " The job is running; no rank is in a call that is "
                  "recorded.\n"
                : " The job has ended, and no rank was still in a call: there "
                  "is nothing to locate. Its report: ckmerge RUN\n",
            file);
    }
}
