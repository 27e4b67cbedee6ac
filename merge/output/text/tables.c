/* tables.c - the tables of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/model/rankset.h"
#include "merge/output/words.h"
#include "schema/order.h"

#define TOP_KERNELS 10
#define TOP_COUNTERS 16
#define COUNTERS_INDENT 13
/* Columns of a list of ranks. */
#define RANK_LIST 9
#define BAR 8 /* not where the page is narrow */
#define NAME 13
#define NARROW 10 /* in place of it where the page is narrow */
/* Columns of a program where it is named. */
#define COMMAND 40
/* Rows at each end of a table of many devices. */
#define ROWS_EACH 4

static void put_ranks(const struct page *page,
                      const struct report_device *device)
{
    bool has_ranks = device->ranks_count > 0 && device->ranks[0] >= 0 &&
                     page->report->has_ranks;
    char *list =
        has_ranks ? rankset_text(device->ranks, device->ranks_count) : NULL;
    size_t fit = list == NULL ? 0 : rankset_fit(list, RANK_LIST);

    if (list == NULL) {
        fprintf(page->file, "%5s", "-");
    } else if (list[fit] == '\0') {
        fprintf(page->file, "%5s", list);
    } else {
        fprintf(page->file, "%.*s" RANKSET_MORE, (int)fit, list);
    }
    free(list);
}

static int name_columns(const struct page *page)
{
    return page_columns(page) < PAGE_COLUMNS ? NARROW : NAME;
}

static int bar_columns(const struct page *page)
{
    return page_columns(page) < PAGE_COLUMNS ? 0 : BAR;
}

static void put_bar(const struct page *page, const struct report_device *device)
{
    bool has_unicode = page->style->has_unicode;
    int columns = bar_columns(page);
    int busy =
        device->wall > 0
            ? (int)((double)device->busy * BAR / (double)device->wall + 0.5)
            : 0;

    for (int i = 0; i < columns; i++) {
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

/* Steps of a rank, in the last columns. */
static void put_steps(const struct page *page, const struct report_rank *rank)
{
    if (rank == NULL || rank->end == REPORT_END_MISSING || rank->steps == 0) {
        return;
    }
    /* Thousandths of a second. */
    fprintf(page->file, " %6s %6s", word_seconds(rank->step_median * 1000).text,
            word_seconds(rank->step_max * 1000).text);
}

/* A column of the idle time; "launch" is the widest title. */
static void
put_cause(const struct page *page, unsigned column, const char *text)
{
    fprintf(page->file, " %*s", column == CAUSE_COLUMN_LAUNCH ? 6 : 5, text);
}

/* What a device was busy with, a bar, and why it was idle. */
static void put_shares(const struct page *page,
                       const struct report_device *device)
{
    ck_time_t columns[CAUSE_COLUMNS] = {0};

    fprintf(page->file, " %6s %5s %5s  ",
            word_percent(device->compute, device->wall).text,
            word_percent(device->comm, device->wall).text,
            word_percent(device->copy, device->wall).text);
    put_bar(page, device);
    fprintf(page->file, " %5s", word_percent(device->idle, device->wall).text);
    for (unsigned c = 0; c < CAUSES; c++) {
        columns[cause_column(c)] += device->causes[c];
    }
    for (unsigned c = 0; c < CAUSE_COLUMNS; c++) {
        put_cause(page, c, word_percent(columns[c], device->wall).text);
    }
}

/* Do two rows show devices of programs that one rank ran? */
static bool is_of_same_rank(const struct report_device *a,
                            const struct report_device *b)
{
    return a->ranks_count > 0 && b->ranks_count > 0 &&
           a->ranks[0] == b->ranks[0] && a->command != NULL &&
           b->command != NULL && a->pid != b->pid;
}

/* Which program it was, and when, where a rank ran several. */
static void put_program(const struct page *page,
                        const struct report_device *device)
{
    const struct report *report = page->report;
    size_t at = (size_t)(device - report->devices);
    ck_time_t start = report->whole.start;
    const char *command = device->command;
    size_t word = command == NULL ? 0 : strcspn(command, " ");

    if (!(at > 0 && is_of_same_rank(device, device - 1)) &&
        !(at + 1 < report->devices_count &&
          is_of_same_rank(device, device + 1))) {
        return;
    }
    /* Without the directory of the program. */
    for (size_t i = 0; i < word; i++) {
        command = device->command[i] == '/' ? device->command + i + 1 : command;
    }
    fputs("       by ", page->file);
    page_cell(page, command, COMMAND);
    fprintf(page->file, " (process %u)", device->pid);
    if (device->kernels + device->copies > 0) {
        fprintf(page->file, ", from %s to ",
                word_time(device->run_first - start).text);
        fprintf(page->file, "%s of the run",
                word_time(device->run_last - start).text);
    }
    fputc('\n', page->file);
}

/* Parts of the device that its program made devices of their own. */
static void put_subs(const struct page *page,
                     const struct report_device *device)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->subs_count; i++) {
        const struct report_sub *sub = &report->subs[i];

        if (sub->physical == device->physical) {
            fprintf(page->file, "       part %-*u %6s %5s %5s\n",
                    name_columns(page) - 5, sub->index,
                    word_percent(sub->compute, sub->wall).text, "-",
                    word_percent(sub->copy, sub->wall).text);
        }
    }
}

static void put_device(const struct page *page,
                       const struct report_device *device)
{
    int columns = name_columns(page);

    put_ranks(page, device);
    fputs("  ", page->file);
    columns -= page_device(page, device->name, device->number, (size_t)columns);
    fprintf(page->file, "%*s", columns > 0 ? columns : 0, "");
    put_shares(page, device);
    put_steps(page, rank_of(page->report, device));
    fputc('\n', page->file);
    put_program(page, device);
    put_subs(page, device);
}

CK_ORDER_POINTERS(by_idle, struct report_device, CK_DOWN(idle) ?: CK_LESS(a, b))

/* Many devices: those most and least idle, with the middle one. */
static void put_extremes(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = report->devices_count;
    const struct report_device **order = xcalloc(count, sizeof(*order));

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
    fprintf(page->file, "       %zu more device%s: --all-ranks\n",
            count - 2 * ROWS_EACH - 1, word_s(count - 2 * ROWS_EACH - 1));
    free(order);
}

/* How long any device was busy: the job's row is the first. */
static void put_any(const struct page *page)
{
    const struct report *report = page->report;

    if (report->levels_count > 0) {
        fprintf(
            page->file,
            "       any of them busy %s %% of the region, %.2f at a time "
            "then\n",
            word_percent(report->levels[0].busy, region_length(report->region))
                .text,
            (double)report->all.busy / (double)report->levels[0].busy);
    }
}

static void put_all(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    char devices[32];

    (void)snprintf(devices, sizeof(devices), "%zu devices", /* more than one */
                   page->report->devices_count);
    fprintf(page->file, "  all  %-*s", name_columns(page), devices);
    put_shares(page, all);
    fputc('\n', page->file);
    if (all->kernel_busy > 0) {
        fprintf(page->file,
                "       core time of kernels %s s in %s s of union: %.2f "
                "kernels at a time\n",
                word_seconds(all->kernel_core).text,
                word_seconds(all->kernel_busy).text,
                (double)all->kernel_core / (double)all->kernel_busy);
    }
    put_any(page);
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
            (shown == PAGE_ROWS && !page->style->is_all_ranks)) {
            continue;
        }
        shown++;
        fprintf(page->file, "%5d  %-*s %6s %5s %5s  %*s %5s", rank->number,
                name_columns(page), "no device", "-", "-", "-",
                bar_columns(page), "", "-");
        for (unsigned c = 0; c < CAUSE_COLUMNS; c++) {
            put_cause(page, c, "-");
        }
        put_steps(page, rank);
        fprintf(page->file, "%s MPI %s %%\n", rank->steps > 0 ? "" : " ",
                word_percent(rank->mpi, region_length(report->region)).text);
    }
}

static void put_titles(const struct page *page)
{
    int columns = bar_columns(page);
    char bar[16] = "";

    if (columns > 0) {
        (void)snprintf(bar, sizeof(bar), "%s busy  ",
                       page->style->has_unicode ? "\342\226\210" : "#");
    }
    fprintf(page->file, "\n%s%*s IDLE BY CAUSE, %% of the region%14s%s\n",
            page_bold(page), name_columns(page) + 34 + columns, "", "STEP",
            page_normal(page));
    fprintf(page->file,
            "%s RANK  %-*s COMPUTE COMM  COPY  %s  IDLE  peer launch  "
            "host    io other    p50    max%s\n",
            page_bold(page), name_columns(page), "DEVICE", bar,
            page_normal(page));
    fprintf(page->file, "%*s %5s %5s  %*s %5s %30s %6s %6s\n",
            name_columns(page) + 14, "%", "%", "%", columns, "", "%", "", "ms",
            "ms");
}

void page_devices(const struct page *page)
{
    const struct report *report = page->report;

    put_titles(page);
    if (report->devices_count > PAGE_ROWS && !page->style->is_all_ranks) {
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

void page_kernels(const struct page *page)
{
    const struct report *report = page->report;

    if (report->kernels_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s %-36s %10s %9s %7s %10s %10s   %s%s\n",
            page_bold(page), "KERNELS", "calls", "busy s", "share", "median",
            "longest", "ranks", page_normal(page));
    for (size_t i = 0; i < report->kernels_count && i < TOP_KERNELS; i++) {
        const struct report_kernel *kernel = &report->kernels[i];

        if (kernel->calls == 0) {
            break;
        }
        fputc(' ', page->file);
        page_column(page, kernel->name, 36);
        fprintf(page->file, " %10s %9s %5s %% %10s %10s   ",
                word_count(kernel->calls).text, word_seconds(kernel->busy).text,
                word_percent(kernel->busy, report->all.kernel_busy).text,
                word_time(kernel->median).text, word_time(kernel->max).text);
        if (kernel->ranks == 0 || !report->has_ranks) {
            fputs("-\n", page->file);
        } else {
            size_t fit = rankset_fit(kernel->rank_list, RANK_LIST);

            fprintf(page->file, "%.*s%s\n", (int)fit, kernel->rank_list,
                    kernel->rank_list[fit] == '\0' ? "" : RANKSET_MORE);
        }
    }
    if (report->kernels_count > TOP_KERNELS) {
        fprintf(page->file, " and %zu more (report.json)\n",
                report->kernels_count - TOP_KERNELS);
    }
}

static int
counter_text(const struct report_counter *counter, char *item, size_t room)
{
    int length = snprintf(item, room, "%.40s %s", counter->name,
                          word_counter(counter->name, counter->value).text);

    if (counter->share < 0.995) {
        length += snprintf(item + length, room - (size_t)length,
                           " (counted %.0f %%)", counter->share * 100);
    }
    return length;
}

/* Those of threads, or those of whole processes; `column`: of the cursor. */
static void
put_counters(const struct page *page, bool is_of_threads, int column)
{
    const struct report *report = page->report;
    bool is_first = true;

    for (size_t i = 0; i < report->counters_count && i < TOP_COUNTERS; i++) {
        char item[96];
        int length;

        if (report->counters[i].is_of_threads != is_of_threads) {
            continue;
        }
        length = counter_text(&report->counters[i], item, sizeof(item));
        if (!is_first && column + length + 3 > page_columns(page)) {
            fprintf(page->file, "\n%*s", COUNTERS_INDENT, "");
            column = COUNTERS_INDENT;
        } else if (!is_first) {
            fprintf(page->file, " %s ", page_dot(page));
            column += 3;
        }
        page_cell(page, item, 0);
        column += length;
        is_first = false;
    }
}

void page_counters(const struct page *page)
{
    const struct report *report = page->report;
    size_t of_threads = 0;

    for (size_t i = 0; i < report->counters_count; i++) {
        of_threads += report->counters[i].is_of_threads;
    }
    if (report->counters_count == 0) {
        return;
    }
    fprintf(page->file, "\n%s COUNTERS%s    ", page_bold(page),
            page_normal(page));
    if (report_is_part(report)) {
        fprintf(page->file, "(whole run)\n%*s", COUNTERS_INDENT, "");
    }
    if (of_threads < report->counters_count) {
        put_counters(page, false, COUNTERS_INDENT);
    }
    if (of_threads > 0) {
        if (of_threads < report->counters_count) {
            fprintf(page->file, "\n%*s", COUNTERS_INDENT, "");
        }
        fputs("sampled threads only: ", page->file);
        put_counters(page, true, COUNTERS_INDENT + 22);
    }
    for (size_t i = 0; i < report->rates_count; i++) {
        fprintf(page->file, "%s%s %.3g", i == 0 ? "\n             " : "; ",
                report->rates[i].name, report->rates[i].value);
    }
    fputc('\n', page->file);
}
