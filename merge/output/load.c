/* load.c - why threads that were ready had no CPU, as one sentence
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page.h"

#include <string.h>

#include "merge/output/words.h"

#define TEXT_BYTES 768
/* Without a verdict, less than an n-th of the ranks' time is no news. */
#define WORTH_QUEUE 10
/* As in analysis/load.c: so much of a CPU is worth a word. */
#define OTHERS 0.1

/* "2 CPUs (all of vm)" */
static void cpus_text(const struct report_load *load, char *text, size_t room)
{
    static const char *const limits[] = {
        [REPORT_LIMIT_HOST] = "all of ",
        [REPORT_LIMIT_AFFINITY] = "allowed by affinity on ",
        [REPORT_LIMIT_QUOTA] = "allowed by a cgroup's quota on ",
    };

    (void)snprintf(text, room, "%s CPU%s (%s%.40s)",
                   word_number(load->cpus).text, load->cpus == 1 ? "" : "s",
                   limits[load->limit],
                   load->host != NULL ? load->host : "the host");
}

static void load_text(const struct report_load *load, char *text, size_t room)
{
    struct word waited = word_time(load->waited);
    char cpus[192], others[128] = "";

    cpus_text(load, cpus, sizeof(cpus));
    switch (load->verdict) {
    case REPORT_LOAD_QUOTA:
        (void)snprintf(text, room,
                       "A cgroup's quota of %s CPUs stopped the ranks: it "
                       "was used up in %lld of %lld periods.",
                       word_number(load->quota).text,
                       (long long)load->throttled_periods,
                       (long long)load->periods);
        break;
    case REPORT_LOAD_OWN:
        if (load->others > OTHERS) {
            (void)snprintf(others, sizeof(others),
                           ", of which other programs used %s",
                           word_number(load->others).text);
        }
        (void)snprintf(text, room,
                       "The job's threads waited %s for a CPU: %s of them "
                       "were ready at a time on %s%s.",
                       waited.text, word_number(load->ready).text, cpus,
                       others);
        break;
    case REPORT_LOAD_OTHERS:
        (void)snprintf(text, room,
                       "The job's threads waited %s for a CPU: other programs "
                       "used %s of %s, on which %s threads of the job "
                       "were ready at a time.",
                       waited.text, word_number(load->others).text, cpus,
                       word_number(load->ready).text);
        break;
    default:
        (void)snprintf(text, room,
                       "The job's threads waited %s for a CPU, though %s of "
                       "them were ready at a time on %s and other programs "
                       "used %s: in short bursts, or badly placed.",
                       waited.text, word_number(load->ready).text, cpus,
                       word_number(load->others).text);
        break;
    }
}

/* Time of all ranks in the whole run, with what was discarded of it. */
static ck_time_t run_time(const struct report *report)
{
    ck_time_t whole = report->kept.ranks > 0 ? report->kept.whole
                                             : region_length(report->whole);

    return whole * (ck_time_t)report->present;
}

/* What the threads' counters alone tell. */
static void put_unknown(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->counters_count; i++) {
        const struct report_counter *counter = &report->counters[i];

        if (strcmp(counter->name, "run-queue-wait") == 0 &&
            counter->value * WORTH_QUEUE > (double)run_time(report)) {
            fprintf(page->file,
                    " The job's threads waited %s for a CPU%s; what used the "
                    "CPUs was not recorded.\n",
                    word_time((ck_time_t)counter->value).text,
                    report->region_kind != REPORT_REGION_WHOLE ? " (whole run)"
                                                               : "");
        }
    }
}

void page_load(const struct page *page)
{
    const struct report_load *load = &page->report->load;
    char text[TEXT_BYTES];

    if (load->verdict == REPORT_LOAD_UNKNOWN) {
        put_unknown(page);
    } else if (load->verdict != REPORT_LOAD_NONE) {
        load_text(load, text, sizeof(text));
        fputc(' ', page->file);
        page_wrap(page, text, 1, 3);
        fputc('\n', page->file);
    }
}
