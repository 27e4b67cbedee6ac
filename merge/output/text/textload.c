/* textload.c - why threads that were ready had no CPU, as one sentence
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/words.h"

#define TEXT_BYTES 768
/* Without a verdict, less than an n-th of the ranks' time is no news. */
#define WORTH_QUEUE 10
/* Half a thread a rank more is another one. */
#define CROWD 0.5
/* Less than an n-th of the ranks' time outside of waits cost next to nothing.
 */
#define WORTH_LOSS 50

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

/* Whose threads waited: of the ranks that share the CPUs, or of all. */
static void who_text(const struct report *report, char *text, size_t room)
{
    const struct report_load *load = &report->load;
    const char *when = report_is_part(report) ? "In the whole run t" : "T";

    if ((int64_t)load->ranks < report->size) {
        (void)snprintf(text, room, "%she threads of %u of %d ranks", when,
                       load->ranks, report->size);
    } else {
        (void)snprintf(text, room, "%she job's threads", when);
    }
}

/* "1 of the job's threads was", "2.3 ... were" */
static const char *were(const char *number)
{
    return strcmp(number, "1") == 0 ? "was" : "were";
}

static void load_text(const struct report *report, char *text, size_t room)
{
    const struct report_load *load = &report->load;
    struct word waited = word_time(load->waited);
    struct word ready = word_number(load->ready);
    char cpus[192], others[128] = "", who[96];

    cpus_text(load, cpus, sizeof(cpus));
    who_text(report, who, sizeof(who));
    switch (load->verdict) {
    case REPORT_LOAD_QUOTA:
        (void)snprintf(text, room,
                       "A cgroup's quota of %s CPUs stopped the ranks: it "
                       "was used up in %lld of %lld periods%s.",
                       word_number(load->quota).text,
                       (long long)load->throttled_periods,
                       (long long)load->periods,
                       report_is_part(report) ? " (whole run)" : "");
        break;
    case REPORT_LOAD_OWN:
        if (report_has_others(load)) {
            (void)snprintf(others, sizeof(others),
                           "; other programs used %s of these",
                           word_number(load->others).text);
        }
        (void)snprintf(text, room,
                       "%s waited %s for a CPU: %s of them "
                       "%s ready at a time on %s%s.",
                       who, waited.text, ready.text, were(ready.text), cpus,
                       others);
        break;
    case REPORT_LOAD_OTHERS:
        (void)snprintf(text, room,
                       "%s waited %s for a CPU: other programs used %s of %s; "
                       "%s of the job's threads %s ready there at a time.",
                       who, waited.text, word_number(load->others).text, cpus,
                       ready.text, were(ready.text));
        break;
    default:
        (void)snprintf(text, room,
                       "%s waited %s for a CPU, though %s of "
                       "them %s ready at a time on %s and other programs "
                       "used %s +- %s: in short bursts, or badly placed.",
                       who, waited.text, ready.text, were(ready.text), cpus,
                       word_number(load->others).text,
                       word_number(load->others_error).text);
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

/* What the threads' counters alone show. */
static void put_unknown(const struct page *page)
{
    const struct report *report = page->report;

    for (size_t i = 0; i < report->counters_count; i++) {
        const struct report_counter *counter = &report->counters[i];

        if (strcmp(counter->name, "run-queue-wait") == 0 &&
            counter->value * WORTH_QUEUE > (double)run_time(report)) {
            fprintf(page->file,
                    " The job's threads waited at least %s for a CPU%s; what "
                    "used the CPUs was not recorded.\n",
                    word_time((ck_time_t)counter->value).text,
                    report_is_part(report) ? " (whole run)" : "");
        }
    }
}

/* Did it cost nothing? So it is where no more threads than ranks wanted a CPU,
 * no longer than the ranks were in MPI, where they waited for each other
 * anyway. */
static bool is_free(const struct report *report)
{
    const struct report_efficiency *e = &report->efficiency;
    const struct report_load *load = &report->load;
    ck_time_t inside = 0, busy = 0,
              lost = e->outside.ns[REPORT_OUTSIDE_READY] +
                     e->outside.ns[REPORT_OUTSIDE_UNKNOWN];

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];
        ck_time_t waited = rank->waited - rank->waited_data;

        inside += rank->mpi;
        busy += rank->mpi > waited ? rank->mpi - waited : 0;
    }
    return e->ranks > 0 && report->devices_count == 0 &&
           load->verdict != REPORT_LOAD_QUOTA &&
           load->ready < load->ranks + CROWD && load->waited <= inside &&
           (lost + busy) * WORTH_LOSS < e->region * (ck_time_t)e->ranks;
}

void page_load(const struct page *page)
{
    const struct report_load *load = &page->report->load;
    char text[TEXT_BYTES];

    if (load->verdict == REPORT_LOAD_UNKNOWN) {
        put_unknown(page);
    } else if (load->verdict != REPORT_LOAD_NONE && !is_free(page->report)) {
        load_text(page->report, text, sizeof(text));
        fputc(' ', page->file);
        page_wrap(page, text, 1, 3);
        fputc('\n', page->file);
    }
}
