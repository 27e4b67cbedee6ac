/* text.c - the report for a person
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The answer first, then the evidence, then how far to trust it; at most 100
 * columns.
 */
#include "merge/output/text.h"

#include <stdlib.h>
#include <string.h>

#include "merge/output/words.h"

#define COLUMNS 100
#define TOP_KERNELS 10
#define TOP_CALLS 10
#define TOP_COUNTERS 16
#define BAR 18
/* More rows than that and only the extremes are shown. */
#define ROWS_ALL 16
#define ROWS_EACH 4

struct page {
    const struct report *report;
    const struct text_style *style;
    FILE *file;
};

static const char *dot(const struct page *page)
{
    return page->style->has_unicode ? "\302\267" : "|";
}

static const char *bold(const struct page *page)
{
    return page->style->has_colour ? "\033[1m" : "";
}

static const char *red(const struct page *page)
{
    return page->style->has_colour ? "\033[31m" : "";
}

static const char *normal(const struct page *page)
{
    return page->style->has_colour ? "\033[0m" : "";
}

/* A text of the program in so many columns, padded when `is_padded`. */
static void put_cell(const struct page *page,
                     const char *text,
                     size_t columns,
                     bool is_padded)
{
    char cell[512];
    size_t shown = word_escape(cell, sizeof(cell), text == NULL ? "" : text,
                               columns, !page->style->has_unicode);

    fputs(cell, page->file);
    while (is_padded && shown++ < columns) {
        fputc(' ', page->file);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* The program's name: the last part of the command's first word. */
static void put_program(const struct page *page, const char *command)
{
    char word[64] = "";
    size_t length;

    if (command == NULL || command[0] == '\0') {
        fputs("a run", page->file);
        return;
    }
    length = strcspn(command, " ");
    while (length > 0 && memchr(command, '/', length) != NULL) {
        const char *slash = memchr(command, '/', length);

        length -= (size_t)(slash + 1 - command);
        command = slash + 1;
    }
    (void)snprintf(word, sizeof(word), "%.*s", (int)length, command);
    put_cell(page, word, 40, false);
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
        fprintf(page->file, "region: MPI_Init to MPI_Finalize, %s",
                length.text);
        break;
    case REPORT_REGION_GIVEN:
        fprintf(page->file, "region: as asked, %s", length.text);
        break;
    default:
        fprintf(page->file, "region: the whole run, %s", length.text);
        break;
    }
}

static void put_head(const struct page *page)
{
    const struct report *report = page->report;
    const char *point = dot(page);

    fprintf(page->file, "%sck%s  ", bold(page), normal(page));
    put_program(page, report->command);
    if (report->present == (uint32_t)report->size) {
        fprintf(page->file, " %s %u rank%s", point, report->present,
                report->present == 1 ? "" : "s");
    } else {
        fprintf(page->file, " %s %s%u of %d ranks%s", point, red(page),
                report->present, report->size, normal(page));
    }
    fprintf(page->file, " %s %u host%s %s ", point, report->hosts,
            report->hosts == 1 ? "" : "s", point);
    put_region(page);
    fprintf(page->file, " %s ", point);
    put_cell(page, report->name, 44, false);
    fputc('\n', page->file);
}

static void put_where(const struct page *page, const struct place *place)
{
    if (place->file != NULL && place->file[0] != '\0') {
        put_cell(page, base_name(place->file), 28, false);
        if (place->line != 0) {
            fprintf(page->file, ":%u", place->line);
        }
    } else if (place->function != NULL) {
        put_cell(page, place->function, 28, false);
    }
}

static bool has_place(const struct place *place)
{
    return (place->file != NULL && place->file[0] != '\0') ||
           place->function != NULL;
}

/* "rank 2 died of signal 9 at 7.31 s inside MPI_Allreduce (train.c:212)" */
static void put_end(const struct page *page, const struct report_rank *rank)
{
    fprintf(page->file, " %srank %d ", red(page), rank->number);
    if (rank->end == REPORT_END_SIGNAL) {
        fprintf(page->file, "died of signal %d", rank->code);
    } else if (rank->end == REPORT_END_MISSING) {
        fputs("is not in the run", page->file);
    } else if (rank->end == REPORT_END_UNKNOWN) {
        fputs("left no word of its end", page->file);
    } else {
        fprintf(page->file, "ended with status %d", rank->code);
    }
    if (rank->end_time != 0) {
        fprintf(page->file, " at %s",
                word_time(rank->end_time - page->report->whole.start).text);
    }
    if (rank->open != NULL) {
        fputs(" inside ", page->file);
        put_cell(page, rank->open, 40, false);
        if (has_place(&rank->open_place)) {
            fputs(" (", page->file);
            put_where(page, &rank->open_place);
            fputc(')', page->file);
        }
    }
    fprintf(page->file, "%s\n", normal(page));
}

/* Who ended first, first: the others mostly ended because of it. Ends without
 * a time come last. */
static int by_end(const void *a, const void *b)
{
    const struct report_rank *left = *(const struct report_rank *const *)a;
    const struct report_rank *right = *(const struct report_rank *const *)b;

    if ((left->end_time == 0) != (right->end_time == 0)) {
        return left->end_time == 0 ? 1 : -1;
    }
    if (left->end_time != right->end_time) {
        return left->end_time < right->end_time ? -1 : 1;
    }
    return (left->number > right->number) - (left->number < right->number);
}

static void put_ends(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_rank **ends =
        calloc(report->ranks_count + 1, sizeof(*ends));
    size_t count = 0, limit;

    if (ends == NULL) {
        return;
    }
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->end != REPORT_END_EXITED || rank->code != 0) {
            ends[count++] = rank;
        }
    }
    qsort(ends, count, sizeof(*ends), by_end);
    limit = page->style->is_all_ranks || count < ROWS_ALL ? count : ROWS_ALL;
    for (size_t i = 0; i < limit; i++) {
        put_end(page, ends[i]);
    }
    if (count > limit) {
        fprintf(page->file, " and %zu more ranks (--all-ranks)\n",
                count - limit);
    }
    free(ends);
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

static void put_ranks(const struct page *page,
                      const struct report_device *device)
{
    char list[64];
    size_t used = 0;

    list[0] = '\0';
    for (size_t i = 0; i < device->ranks_count && i < 3; i++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d",
                                 i > 0 ? "," : "", device->ranks[i]);
    }
    if (device->ranks_count > 3) {
        (void)snprintf(list + used, sizeof(list) - used, ",..");
    }
    fprintf(page->file, "%5s", device->ranks_count == 0 ? "-" : list);
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

static void put_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_device *all = &report->all;
    const struct report_device *most = idlest(report);

    fputc('\n', page->file);
    if (most == NULL) {
        fprintf(page->file, " No device work was recorded%s\n",
                report->present == (uint32_t)report->size ? "."
                                                          : " of the ranks "
                                                            "that are here.");
        return;
    }
    fprintf(page->file,
            " %sDevices were busy %s %%%s (%s of %s device time) and idle "
            "%s %% (%s).\n",
            bold(page), word_percent(all->busy, all->wall).text, normal(page),
            word_time(all->busy).text, word_time(all->wall).text,
            word_percent(all->idle, all->wall).text, word_time(all->idle).text);
    if (most->ranks_count > 0 && is_uneven(report, most)) {
        fprintf(page->file,
                " Most idle: rank %d, %s %% of the region; its longest gap "
                "was %s.\n",
                most->ranks[0], word_percent(most->idle, most->wall).text,
                word_time(most->longest_gap).text);
    }
}

static void put_bar(const struct page *page, const struct report_device *device)
{
    bool has_unicode = page->style->has_unicode;
    int busy =
        device->wall > 0
            ? (int)((double)device->busy * BAR / (double)device->wall + 0.5)
            : 0;

    for (int i = 0; i < BAR; i++) {
        fputs(i < busy ? (has_unicode ? "\342\226\210" : "#")
                       : (has_unicode ? "\342\226\221" : "."),
              page->file);
    }
}

static const struct report_rank *rank_of(const struct report *report,
                                         const struct report_device *device)
{
    for (size_t i = 0; device->ranks_count > 0 && i < report->ranks_count;
         i++) {
        if (report->ranks[i].number == device->ranks[0]) {
            return &report->ranks[i];
        }
    }
    return NULL;
}

/* MPI and steps of a rank, in the last columns. */
static void put_host(const struct page *page, const struct report_rank *rank)
{
    ck_time_t wall = region_length(page->report->region);

    if (rank == NULL || rank->end == REPORT_END_MISSING) {
        return;
    }
    fprintf(page->file, "  %5s",
            rank->mpi_calls > 0 ? word_percent(rank->mpi, wall).text : "-");
    if (rank->steps > 0) {
        fprintf(page->file, "  %8.3g  %8.3g", (double)rank->step_median / 1e6,
                (double)rank->step_max / 1e6);
    }
}

static void put_device(const struct page *page,
                       const struct report_device *device)
{
    char name[64];

    put_ranks(page, device);
    fputs("  ", page->file);
    (void)snprintf(name, sizeof(name), "%.63s",
                   device->name[0] != '\0' ? device->name : "(device)");
    put_cell(page, name, 18, true);
    fprintf(page->file, " %6s %5s %5s  ",
            word_percent(device->compute, device->wall).text,
            word_percent(device->comm, device->wall).text,
            word_percent(device->copy, device->wall).text);
    put_bar(page, device);
    fprintf(page->file, " %5s", word_percent(device->idle, device->wall).text);
    put_host(page, rank_of(page->report, device));
    fputc('\n', page->file);
}

static int by_idle(const void *a, const void *b)
{
    const struct report_device *left = *(const struct report_device *const *)a;
    const struct report_device *right = *(const struct report_device *const *)b;

    if (left->idle != right->idle) {
        return left->idle < right->idle ? 1 : -1;
    }
    return (left > right) - (left < right);
}

/* Many devices: those most and least idle, with the middle one. */
static void put_extremes(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = report->devices_count;
    const struct report_device **order = calloc(count, sizeof(*order));

    if (order == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &report->devices[i];
    }
    qsort(order, count, sizeof(*order), by_idle);
    for (size_t i = 0; i < ROWS_EACH; i++) {
        put_device(page, order[i]);
    }
    fputs("  ...  the middle one:\n", page->file);
    put_device(page, order[count / 2]);
    fputs("  ...  the least idle:\n", page->file);
    for (size_t i = count - ROWS_EACH; i < count; i++) {
        put_device(page, order[i]);
    }
    fprintf(page->file, "       %zu more devices: --all-ranks\n",
            count - 2 * ROWS_EACH - 1);
    free(order);
}

static void put_all(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    char devices[32];

    (void)snprintf(devices, sizeof(devices), "%zu devices",
                   page->report->devices_count);
    fprintf(page->file, "  all  %-18s %6s %5s %5s  ", devices,
            word_percent(all->compute, all->wall).text,
            word_percent(all->comm, all->wall).text,
            word_percent(all->copy, all->wall).text);
    put_bar(page, all);
    fprintf(page->file, " %5s\n", word_percent(all->idle, all->wall).text);
    if (all->kernel_busy > 0) {
        fprintf(page->file,
                "       core time of kernels %s s in %s s of union: %.2f "
                "kernels at a time\n",
                word_seconds(all->kernel_core).text,
                word_seconds(all->kernel_busy).text,
                (double)all->kernel_core / (double)all->kernel_busy);
    }
}

static bool has_device(const struct report *report, int32_t rank)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        for (size_t j = 0; j < report->devices[i].ranks_count; j++) {
            if (report->devices[i].ranks[j] == rank) {
                return true;
            }
        }
    }
    return false;
}

/* Ranks that used no device still have MPI and steps. */
static void put_deviceless(const struct page *page)
{
    const struct report *report = page->report;
    size_t shown = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->end == REPORT_END_MISSING ||
            has_device(report, rank->number) ||
            (shown == ROWS_ALL && !page->style->is_all_ranks)) {
            continue;
        }
        shown++;
        fprintf(page->file, "%5d  %-18s %6s %5s %5s  %*s %5s", rank->number,
                "no device", "-", "-", "-", BAR, "", "-");
        put_host(page, rank);
        fputc('\n', page->file);
    }
}

static void put_devices(const struct page *page)
{
    const struct report *report = page->report;
    bool has_unicode = page->style->has_unicode;

    fprintf(page->file,
            "\n%s RANK  DEVICE             COMPUTE  COMM  COPY  %s busy %s "
            "idle       IDLE    MPI  STEP p50       max%s\n",
            bold(page), has_unicode ? "\342\226\210" : "#",
            has_unicode ? "\342\226\221" : ".", normal(page));
    fprintf(page->file, "%32s %5s %5s  %*s %5s  %5s  %8s  %8s\n", "%", "%", "%",
            BAR, "", "%", "%", "ms", "ms");
    if (report->devices_count > ROWS_ALL && !page->style->is_all_ranks) {
        put_extremes(page);
    } else {
        for (size_t i = 0; i < report->devices_count; i++) {
            put_device(page, &report->devices[i]);
        }
    }
    put_deviceless(page);
    if (report->devices_count > 1) {
        put_all(page);
    }
}

static void put_kernels(const struct page *page)
{
    const struct report *report = page->report;

    if (report->kernels_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-36s %10s %9s %7s %12s %12s   %s%s\n",
            bold(page), "KERNELS", "calls", "busy s", "share", "median us",
            "max us", "ranks", normal(page));
    for (size_t i = 0; i < report->kernels_count && i < TOP_KERNELS; i++) {
        const struct report_kernel *kernel = &report->kernels[i];

        if (kernel->calls == 0) {
            break;
        }
        fputc(' ', page->file);
        put_cell(page, kernel->name, 36, true);
        fprintf(page->file, " %10s %9s %5s %% %12.4g %12.4g   ",
                word_count(kernel->calls).text, word_seconds(kernel->busy).text,
                word_percent(kernel->busy, report->all.kernel_busy).text,
                (double)kernel->median / 1e3, (double)kernel->max / 1e3);
        if (kernel->ranks == 1) {
            fprintf(page->file, "%d\n", kernel->rank_first);
        } else {
            fprintf(page->file, "%d-%d\n", kernel->rank_first,
                    kernel->rank_last);
        }
    }
    if (report->kernels_count > TOP_KERNELS) {
        fprintf(page->file, " and %zu more (report.json)\n",
                report->kernels_count - TOP_KERNELS);
    }
}

static void put_copies(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->copies_count; i++) {
        const struct report_copy *copy = &report->copies[i];

        if (copy->calls == 0) {
            continue;
        }
        fprintf(page->file, "%s%s %s times, %s, %s s",
                i == 0 ? " copies: " : "; ", copy->name,
                word_count(copy->calls).text, word_bytes(copy->bytes).text,
                word_seconds(copy->total).text);
    }
    if (report->copies_count > 0) {
        fputc('\n', page->file);
    }
}

static void put_calls(const struct page *page)
{
    const struct report *report = page->report;

    if (report->calls_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-34s %10s %9s %10s %6s  %s%s\n", bold(page),
            "CALLS (host)", "calls", "total s", "max ms", "ranks",
            "called from", normal(page));
    for (size_t i = 0; i < report->calls_count && i < TOP_CALLS; i++) {
        const struct report_call *call = &report->calls[i];

        if (call->calls == 0) {
            break;
        }
        fputc(' ', page->file);
        put_cell(page, call->name, 34, true);
        fprintf(page->file, " %10s %9s %10.3g %6u  ",
                word_count(call->calls).text, word_seconds(call->total).text,
                (double)call->max / 1e6, call->ranks);
        put_where(page, &call->place);
        fputc('\n', page->file);
    }
    if (report->calls_count > TOP_CALLS) {
        fprintf(page->file, " and %zu more places (report.json)\n",
                report->calls_count - TOP_CALLS);
    }
}

/* Counters of time are nanoseconds. */
static struct word counter_word(const struct report_counter *counter)
{
    static const char *const times[] = {"task-clock", "cpu-clock",
                                        "thread-cpu-time", "run-queue-wait"};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (strcmp(counter->name, times[i]) == 0) {
            return word_time((ck_time_t)counter->value);
        }
    }
    return word_number(counter->value);
}

static void put_counters(const struct page *page)
{
    const struct report *report = page->report;
    int column;

    if (report->counters_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s COUNTERS%s   ", bold(page), normal(page));
    column = 12;
    for (size_t i = 0; i < report->counters_count && i < TOP_COUNTERS; i++) {
        const struct report_counter *counter = &report->counters[i];
        char item[96];
        int length = snprintf(item, sizeof(item), "%.40s %s", counter->name,
                              counter_word(counter).text);

        if (counter->share < 0.995) {
            length += snprintf(item + length, sizeof(item) - (size_t)length,
                               " (counted %.0f %%)", counter->share * 100);
        }
        if (i > 0 && column + length + 3 > COLUMNS) {
            fprintf(page->file, "\n            ");
            column = 12;
        } else if (i > 0) {
            fprintf(page->file, " %s ", dot(page));
            column += 3;
        }
        put_cell(page, item, 0, false);
        column += length;
    }
    for (size_t i = 0; i < report->rates_count; i++) {
        fprintf(page->file, "%s%s %.3g", i == 0 ? "\n            " : "; ",
                report->rates[i].name, report->rates[i].value);
    }
    fputc('\n', page->file);
}

static void put_clocks(const struct page *page)
{
    const struct report *report = page->report;

    if (report->domains_count == 1) {
        fprintf(page->file, "clocks: one domain, ranks exactly aligned");
        if (report->domains[0].bound > 0) {
            fprintf(page->file, " (map within %s)",
                    word_time(report->domains[0].bound).text);
        }
        fputc('\n', page->file);
    } else {
        fprintf(page->file, "%zu clock domains, %snot calibrated%s",
                report->domains_count, red(page), normal(page));
        fputs(": other hosts are placed by their REALTIME\n", page->file);
    }
    for (size_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];

        if (domain->lacks_pairs) {
            fputs("             ", page->file);
            put_cell(page, domain->host, 30, false);
            fprintf(page->file,
                    ": %sno clock pairs were stored: its times are counter "
                    "ticks%s\n",
                    red(page), normal(page));
        }
        if (!domain->has_place) {
            fputs("             ", page->file);
            put_cell(page, domain->host, 30, false);
            fputs(": not calibrated, no REALTIME snapshot: its place on the "
                  "axis is not known\n",
                  page->file);
        }
    }
}

static void put_losses(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->losses_count; i++) {
        fprintf(page->file, "             %s lost: %s\n",
                word_count(report->losses[i].records).text,
                report->losses[i].reason);
    }
    if (report->gaps > 0) {
        fprintf(page->file,
                "             %s%s gaps in the streams (%s units of 32 B did "
                "not arrive)%s\n",
                red(page), word_count(report->gaps).text,
                word_count(report->gap_units).text, normal(page));
    }
    if (report->damage_places > 0) {
        fprintf(page->file,
                "             %s%s damaged places%s, first: ", red(page),
                word_count(report->damage_places).text, normal(page));
        put_cell(page, report->damage_first, 60, false);
        fputc('\n', page->file);
    }
    if (report->unknown > 0) {
        fprintf(page->file,
                "             %s records of kinds that this version does not "
                "know\n",
                word_count(report->unknown).text);
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
                    red(page), report->ranks[i].number, normal(page));
        }
    }
    for (size_t i = 0; i < report->notes_count && i < ROWS_ALL; i++) {
        fputs("             ", page->file);
        put_cell(page, report->notes[i].text,
                 report->notes[i].count > 1 ? COLUMNS - 24 : COLUMNS - 14,
                 false);
        if (report->notes[i].count > 1) {
            fprintf(page->file, " (%llu times)",
                    (unsigned long long)report->notes[i].count);
        }
        fputc('\n', page->file);
    }
}

static void put_cost(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t whole = region_length(report->whole);

    fputs("             ck itself: ", page->file);
    if (report->own_cpu_ranks > 0 && whole > 0) {
        fprintf(page->file,
                "%s of CPU time in %u agents (%.2g %% of a core "
                "each) %s ",
                word_time(report->own_cpu).text, report->own_cpu_ranks,
                100.0 * (double)report->own_cpu / (double)whole /
                    report->own_cpu_ranks,
                dot(page));
    }
    fprintf(page->file, "%s stored", word_bytes(report->bytes).text);
    if (report->events > 0) {
        fprintf(page->file, " (%.1f B/event)",
                (double)report->bytes / (double)report->events);
    }
    fputc('\n', page->file);
}

static void put_trust(const struct page *page)
{
    const struct report *report = page->report;
    size_t well = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        well += report->ranks[i].end == REPORT_END_EXITED;
    }
    fprintf(page->file, "\n%s TRUST%s       ", bold(page), normal(page));
    fprintf(page->file, "%s of %s events lost %s %zu of %d ranks complete\n",
            word_count(report->lost).text,
            word_count(report->events + report->lost).text, dot(page), well,
            report->size);
    fputs("             ", page->file);
    put_clocks(page);
    put_losses(page);
    put_notes(page);
    if (report->devices_count > 0) {
        fprintf(page->file,
                "             ledger %s: busy + idle = %s ns of device time\n",
                report->is_ledger_closed ? "closes" : "DOES NOT CLOSE",
                word_count((uint64_t)report->all.wall).text);
    }
    put_cost(page);
}

void output_text(const struct report *report,
                 const struct text_style *style,
                 FILE *file)
{
    struct page page = {report, style, file};

    put_head(&page);
    put_ends(&page);
    put_answer(&page);
    put_devices(&page);
    put_kernels(&page);
    put_copies(&page);
    put_calls(&page);
    put_counters(&page);
    put_trust(&page);
    fprintf(file, "%s MORE%s        ckmerge --output chrome ", bold(&page),
            normal(&page));
    put_cell(&page, report->name, 44, false);
    fprintf(file, "  %s  report.json\n", dot(&page));
}
