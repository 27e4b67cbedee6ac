/* textsubmits.c - what nkipy's own report has: submission, and classes of gaps
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * nkipy's five classes are causes of idle time by other names. They cover a
 * part of it; the rest is a row of its own.
 */
#include "merge/output/text/page.h"

#include <inttypes.h>
#include <string.h>

#define INDENT "             "

static const struct {
    const char *name;
    const char *text;
} classes[] = {
    {"exec_overhead", "exec overhead"}, {"sync_wait", "sync waits"},
    {"d2h_transfer", "D2H transfers"},  {"h2d_transfer", "H2D transfers"},
    {"memory_mgmt", "memory mgmt"},
};

#define CLASSES (sizeof(classes) / sizeof(classes[0]))

/* Submissions of some inputs, and what ran of them. */
struct submits {
    uint64_t count;
    uint64_t executed;
    ck_time_t ns;
    size_t inputs;
};

static void submits_add(struct submits *submits,
                        const struct report_input *input)
{
    if (input->submits > 0) {
        submits->count += input->submits;
        submits->executed += input->executed;
        submits->ns += input->submit;
        submits->inputs++;
    }
}

static ck_time_t each(const struct submits *submits)
{
    return submits->count > 0 ? submits->ns / (ck_time_t)submits->count : 0;
}

/* All inputs are profiles of nkipy. */
static bool is_nkipy(const struct report *report)
{
    for (size_t i = 0; i < report->inputs_count; i++) {
        if (strcmp(report->inputs[i].kind, "nkipy") != 0) {
            return false;
        }
    }
    return report->inputs_count > 0;
}

static ck_time_t class_sum(const struct report_device *device, const char *name)
{
    ck_time_t sum = 0;

    for (unsigned c = 0; c < CAUSES; c++) {
        const char *its = cause_nkipy(c);

        sum += its != NULL && strcmp(its, name) == 0 ? device->causes[c] : 0;
    }
    return sum;
}

/* How long a rank's devices worked in the whole run, as its submissions are of
 * the whole run: they have nothing but kernels. */
static ck_time_t device_time(const struct report *report, int32_t rank)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        sum += device->ranks_count == 1 && device->ranks[0] == rank
                   ? device->run_busy
                   : 0;
    }
    return sum;
}

/* Of the ranks whose submissions were recorded. */
static void put_ratio(const struct page *page, const struct submits *all)
{
    const struct report *report = page->report;
    ck_time_t device = 0;

    for (size_t i = 0; i < report->inputs_count; i++) {
        device += report->inputs[i].submits > 0
                      ? device_time(report, report->inputs[i].rank)
                      : 0;
    }
    fprintf(page->file, "device %s", word_time(device).text);
    fprintf(page->file, " / submission %s = %.2f%s, %s\n",
            word_time(all->ns).text, (double)device / (double)all->ns,
            report_is_part(report) ? " in the whole run" : "",
            device > all->ns
                ? "asynchronous: the device works longer than the host submits"
                : "synchronous: the host submits for as long as the device "
                  "works, or longer");
    if (all->inputs < report->inputs_count) {
        fprintf(page->file,
                INDENT "of %zu of %zu ranks: the others' submissions were not "
                       "recorded\n",
                all->inputs, report->inputs_count);
    }
    if (all->count != all->executed) {
        fprintf(page->file,
                INDENT "%" PRIu64 " submission%s and %" PRIu64
                       " execution%s were recorded: some are missing, and the "
                       "ratio is of the rest\n",
                all->count, word_s(all->count), all->executed,
                word_s(all->executed));
    }
}

/* What is submitted under scalene, whose signals interrupt it, takes longer. */
static void put_scalene(const struct page *page)
{
    const struct report *report = page->report;
    struct submits under = {0}, without = {0};

    if (report->scalene.path == NULL) {
        return;
    }
    for (size_t i = 0; i < report->inputs_count; i++) {
        const struct report_input *input = &report->inputs[i];

        submits_add(input->rank == report->scalene.rank ? &under : &without,
                    input);
    }
    if (under.count == 0 || without.count == 0 || each(&without) == 0) {
        fputs(INDENT "under scalene, whose signals make submissions longer "
                     "(a rank without it would show\n" INDENT "by how much)\n",
              page->file);
        return;
    }
    fprintf(page->file, INDENT "a submission took %s under scalene (%s)",
            word_time(each(&under)).text,
            page_who(page, report->scalene.rank).text);
    fprintf(page->file, " and %s without (%zu rank%s): %.2f times as long\n",
            word_time(each(&without)).text, without.inputs,
            word_s(without.inputs),
            (double)each(&under) / (double)each(&without));
}

static void put_classes(const struct page *page)
{
    static const char next_line[] = ",\n" INDENT "  ";
    static const char *const breaks[CLASSES] = {"", ", ", ", ", next_line,
                                                ", "};
    const struct report_device *all = &page->report->all;
    ck_time_t rest = all->idle;

    fprintf(page->file, "\n%s IDLE, nkipy's%s ", page_bold(page),
            page_normal(page));
    for (size_t i = 0; i < CLASSES; i++) {
        ck_time_t sum = class_sum(all, classes[i].name);

        rest -= sum;
        fprintf(page->file, "%s%s %s (%s %%)", breaks[i], classes[i].text,
                word_time(sum).text, word_percent(sum, all->idle).text);
    }
    fprintf(page->file, ", no class %s (%s %%)\n", word_time(rest).text,
            word_percent(rest, all->idle).text);
}

void page_submits(const struct page *page)
{
    const struct report *report = page->report;
    struct submits all = {0};

    if (!is_nkipy(report)) {
        return;
    }
    for (size_t i = 0; i < report->inputs_count; i++) {
        submits_add(&all, &report->inputs[i]);
    }
    if (all.ns > 0) {
        fprintf(page->file, "\n%s SUBMISSION%s ", page_bold(page),
                page_normal(page));
        put_ratio(page, &all);
        put_scalene(page);
    }
    if (report->all.idle > 0) {
        put_classes(page);
    }
}
