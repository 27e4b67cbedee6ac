/* texthosts.c - the answer for ranks that used no device, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

/* Where more than an n-th of the calls of MPI poll, waits are not known. */
#define POLLS_SHARE 4
/* A quotient above that is as good as one gets. */
#define GOOD 0.9
/* What costs no less than that part of what costs most is printed beside it. */
#define NEARLY 0.9
/* A quotient is not called good where more than an n-th is lost elsewhere: work
 * without a CPU, or what ranks waited for each other in MPI_Init. */
#define ELSEWHERE 10
/* Less than half of what a percentage shows is printed as 0.0. */
#define PRINTED 2000
/* Less than an n-th of the ranks' time is not worth a line. */
#define WORTH_UNKNOWN 50
/* Calls that are named as possible waits. */
#define TOP_UNKNOWN 2
/* So many times what is known: then little is. */
#define BLIND 10

static ck_time_t ranks_time(const struct report *report)
{
    return region_length(report->region) * (ck_time_t)report_ranks(report);
}

/* Time of all ranks, waiting for others. */
/* In MPI, of the time that is not outside. */
static ck_time_t inside_of(const struct report *report,
                           const struct report_rank *rank)
{
    ck_time_t inside = region_length(report->region) - rank->startup -
                       rank->gone - rank->useful;

    return inside < rank->mpi ? inside : rank->mpi;
}

/* For other ranks: several of its threads may wait at once. */
static ck_time_t waited_of(const struct report *report,
                           const struct report_rank *rank)
{
    ck_time_t inside = inside_of(report, rank);
    ck_time_t waited = rank->waited - rank->waited_data;

    return (waited < inside ? waited : inside) + rank->waited_data;
}

static ck_time_t waited_all(const struct report *report)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        sum += waited_of(report, &report->ranks[i]);
    }
    return sum;
}

static ck_time_t waited_data(const struct report *report)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        sum += report->ranks[i].waited_data;
    }
    return sum;
}

/* Did a rank end before its work was done? Then the others waited for that. */
static bool is_cut_short(const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->end == REPORT_END_SIGNAL || rank->end == REPORT_END_KILLED ||
            rank->is_unfinalized || (rank->open != NULL && rank->is_open_api)) {
            return true;
        }
    }
    return false;
}

/* Calls that only look whether something is complete: a program that polls with
 * them waits outside of MPI, as far as is known. `most`, where it is asked
 * for, is the function that was called most. */
static uint64_t polls_count(const struct report *report, const char **most)
{
    static const char *const names[] = {"MPI_Test", "MPI_Iprobe", "MPI_Improbe",
                                        "MPI_Request_get_status"};
    uint64_t count = 0, largest = 0;

    for (size_t i = 0; i < report->functions_count; i++) {
        const struct report_function *function = &report->functions[i];

        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            if (strncmp(function->name, names[k], strlen(names[k])) != 0) {
                continue;
            }
            count += function->calls;
            if (most != NULL && function->calls > largest) {
                largest = function->calls;
                *most = function->name;
            }
        }
    }
    return count;
}

static uint64_t mpi_count(const struct report *report)
{
    uint64_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        count += report->ranks[i].mpi_calls;
    }
    return count;
}

/* Are waits hidden in polls? */
static bool is_polling(const struct report *report)
{
    return polls_count(report, NULL) * POLLS_SHARE > mpi_count(report);
}

/* The quotient that is furthest from 1, in words, and with it the next one
 * where it costs nearly as much. */
static void put_lost(const struct page *page)
{
    const struct report_efficiency *e = &page->report->efficiency;
    bool is_short = e->outside.ns[REPORT_OUTSIDE_READY] > e->useful / ELSEWHERE;
    const char *uneven =
        is_short ? "uneven work, or work without a CPU (load balance"
                 : "uneven work (load balance";
    const struct part {
        double value;
        const char *words;
    } all[] =
        {
            {e->load_balance, uneven},
            {e->serialisation, "ranks that are late in turn (serialisation"},
            {e->transfer,
             "the network, or ranks without a CPU in MPI (transfer"},
        },
      joined[] = {
          {e->load_balance, uneven},
          {e->communication, "time in MPI, waits or transfer (communication"},
      };
    bool is_known = report_knows_transfer(page->report);
    const struct part *parts = is_known ? all : joined;
    size_t count = is_known ? sizeof(all) / sizeof(all[0])
                            : sizeof(joined) / sizeof(joined[0]);
    size_t least = 0;
    const char *also = "";

    for (size_t i = 1; i < count; i++) {
        least = parts[i].value < parts[least].value ? i : least;
    }
    fprintf(page->file, " Parallel efficiency %.2f; the most is lost to ",
            e->parallel);
    for (size_t i = 0; i < count; i++) {
        if (1 - parts[i].value >= NEARLY * (1 - parts[least].value)) {
            fprintf(page->file, "%s%s %.2f)", also, parts[i].words,
                    parts[i].value);
            also = "\n   and ";
        }
    }
    fputs(".\n", page->file);
}

/* What ranks waited for the last one in MPI_Init. */
static ck_time_t init_time(const struct report *report)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->edges_count; i++) {
        const struct report_cause *wait = &report->edges[i];

        if (wait->cause == CAUSE_MPI_WAIT &&
            strcmp(wait->wait, "wait_at_init") == 0) {
            sum += wait->ns;
        }
    }
    return sum;
}

static void put_good(const struct page *page)
{
    const struct report_efficiency *e = &page->report->efficiency;
    ck_time_t ready = e->outside.ns[REPORT_OUTSIDE_READY];
    ck_time_t init = init_time(page->report);
    ck_time_t whole = region_length(page->report->whole) *
                      (ck_time_t)report_ranks(page->report);

    fprintf(page->file, " Parallel efficiency %.2f", e->parallel);
    if (ready > e->useful / ELSEWHERE) {
        fprintf(page->file,
                ", but ranks had no CPU for %s %% of what counts as work in "
                "it.\n",
                word_percent(ready, e->useful).text);
    } else if (init > whole / ELSEWHERE) {
        fprintf(page->file,
                " from MPI_Init on; before, ranks waited %s there (%s %% of "
                "their whole time).\n",
                word_time(init).text, word_percent(init, whole).text);
    } else {
        fputs(": little to gain.\n", page->file);
    }
}

static void put_polls(const struct page *page)
{
    const char *most = "MPI_Test";
    uint64_t count = polls_count(page->report, &most);

    fprintf(page->file,
            " Ranks polled %s times (most with %.40s): how long they waited "
            "there is not\n   known, and what they did between counts as work. "
            "Parallel efficiency %.2f at most.\n",
            word_count(count).text, most, page->report->efficiency.parallel);
}

/* How much of the ranks' time was work, and why no more. A wait for a rank that
 * is not here would count as one for those that are. */
static void put_efficiency(const struct page *page)
{
    const struct report_efficiency *e = &page->report->efficiency;

    if (is_cut_short(page->report)) {
        fprintf(page->file,
                " Parallel efficiency %.2f, including the time until the job "
                "was ended.\n",
                e->parallel);
        return;
    }
    if (is_polling(page->report)) {
        put_polls(page);
        return;
    }
    if (e->parallel >= GOOD) {
        put_good(page);
        return;
    }
    if (page->report->is_filtered) {
        fprintf(page->file,
                " Parallel efficiency %.2f of the selected ranks, with what "
                "they lose to the others.\n",
                e->parallel);
        return;
    }
    if ((int64_t)page->report->present < page->report->size) {
        fprintf(page->file,
                " Parallel efficiency %.2f of %u of %d ranks; what is lost to "
                "the ranks that are not\n   here cannot be told from what "
                "these lose by themselves.\n",
                e->parallel, e->ranks, page->report->size);
        return;
    }
    put_lost(page);
}

/* Did the program ask a device for anything? */
static bool has_device_api(const struct report *report)
{
    static const char *const kinds[] = {"opencl", "cuda", "cuda-driver", "nrt"};

    for (size_t i = 0; i < report->functions_count; i++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (strcmp(report->functions[i].kind, kinds[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* That there is no word about devices is news where one would expect some, and
 * where there is nothing else. */
static void put_no_device(const struct page *page)
{
    const struct report *report = page->report;
    bool is_all = report->present == (uint32_t)report->size;
    bool has_more = report->efficiency.ranks > 0 || waited_all(report) > 0;

    if (page_inputs_blind(page)) {
        return;
    }
    if (has_device_api(report) || !is_all || !has_more) {
        fprintf(page->file, " No device work was recorded%s\n",
                is_all ? "." : " of the ranks that are here.");
    }
}

/* Whether a rank's clock cannot be compared with the others'. */
static bool has_strange_clock(const struct report *report)
{
    for (size_t i = 0; i < report->domains_count; i++) {
        if (report->domains[i].ranks > 0 && !report->domains[i].is_calibrated) {
            return true;
        }
    }
    return false;
}

/* Waits that would print as 0.0 %, though some of it is not known; where clocks
 * cannot be compared or ranks poll, however little it is. */
static bool is_unknown(const struct report *report,
                       ck_time_t waited,
                       ck_time_t unknown,
                       ck_time_t whole)
{
    return waited * PRINTED < whole &&
           (unknown * PRINTED >= whole || is_polling(report) ||
            (unknown > waited && has_strange_clock(report)));
}

static ck_time_t unknown_all(const struct report *report)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        sum += report->ranks[i].waited_unknown;
    }
    return sum;
}

/* Is next to nothing known of waits? */
static bool is_little(ck_time_t waited, ck_time_t unknown, ck_time_t whole)
{
    return unknown > BLIND * waited && unknown * WORTH_UNKNOWN > whole;
}

/* Is that so of all ranks, and so of for whom they waited? */
static bool is_blind(const struct report *report)
{
    return is_little(waited_all(report), unknown_all(report),
                     ranks_time(report));
}

bool page_hides_waits(const struct report *report)
{
    return is_blind(report) || is_polling(report);
}

/* Which calls these are. */
static void
put_unknown_waits(const struct page *page, ck_time_t unknown, ck_time_t all)
{
    const struct report *report = page->report;

    if (page_has_shared(report)) {
        return; /* more than the rows' time may be in them */
    }
    for (size_t i = 0; i < report->unknown_waits_count && i < TOP_UNKNOWN;
         i++) {
        const struct report_unknown_wait *row = &report->unknown_waits[i];

        if (row->ns * WORTH_UNKNOWN < unknown) {
            break;
        }
        fprintf(page->file, "   %s %% in ", word_percent(row->ns, all).text);
        page_call_of(page, row->call, &row->place);
        fputs(".\n", page->file);
    }
}

/* " and waited 42.8 % in MPI for each other." */
static void put_waited(const struct page *page, ck_time_t all)
{
    const struct report *report = page->report;
    ck_time_t waited = waited_all(report);
    ck_time_t unknown = unknown_all(report);

    if (is_unknown(report, waited, unknown, all) && unknown * PRINTED < all &&
        !has_strange_clock(report)) {
        fputs(".\n", page->file);
        return;
    }
    if (is_unknown(report, waited, unknown, all)) {
        fprintf(
            page->file,
            ".\n How long %s waited for others is unknown: %s %% (%s) was in "
            "MPI calls whose waits are %s.\n",
            report->efficiency.ranks == 1 ? "it" : "they",
            word_percent(unknown, all).text, word_time(unknown).text,
            has_strange_clock(report) ? "not known" : "not recorded");
        put_unknown_waits(page, unknown, all);
        return;
    }
    fprintf(page->file, " and waited %s%s %%%s%s.\n",
            is_polling(report) ? "at least " : "",
            word_percent(waited, all).text,
            waited_data(report) > 0 ? "" : " in MPI",
            report->is_filtered || report->efficiency.ranks == 1
                ? ""
                : " for each other");
    if (unknown * WORTH_UNKNOWN > all) {
        fprintf(page->file,
                " Another %s %% was in MPI calls; whether they waited there "
                "is not known.\n",
                word_percent(unknown, all).text);
        put_unknown_waits(page, unknown, all);
    }
}

/* How much of the ranks' time was work, and how much waiting. */
static void put_times(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_efficiency *e = &report->efficiency;
    ck_time_t all = e->region * (ck_time_t)e->ranks - e->gone;
    bool is_one = e->ranks == 1;

    fprintf(page->file, " %s", page_bold(page));
    if (report->size == 1 && report->ranks_count == 1) {
        fprintf(page->file, "Rank %d", report->ranks[0].number);
    } else {
        page_count(page, e->ranks);
    }
    fprintf(page->file, " %s outside MPI %s %%%s of %s time (%s of %s)",
            is_one ? "was" : "were", word_percent(e->useful, all).text,
            page_normal(page), is_one ? "its" : "their",
            word_time(e->useful).text, word_time(all).text);
    put_waited(page, all);
}

void page_host_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_efficiency *e = &report->efficiency;

    put_no_device(page);
    page_spawned(page);
    page_threads_answer(page);
    if (e->ranks > 0) {
        page_folded(page, put_times);
        fputs("   ", page->file);
        page_outside(page, 3, 3);
        page_late_answer(page);
        put_efficiency(page);
    } else if (waited_all(report) > 0) {
        fprintf(page->file, " %s", page_bold(page));
        page_count(page, report_ranks(report));
        fprintf(page->file,
                " waited %s %%%s of their time (%s of %s) for %s data, on "
                "sockets.\n",
                word_percent(waited_all(report), ranks_time(report)).text,
                page_normal(page), word_time(waited_all(report)).text,
                word_time(ranks_time(report)).text,
                report->is_filtered ? "others'" : "each other's");
    }
    if (e->ranks == 0) {
        page_peers_answer(page);
    }
    page_hot_answer(page);
}

/* Without a step of any rank the table has no columns for them. */
static bool has_steps(const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].steps > 0) {
            return true;
        }
    }
    return false;
}

/* What others waited for the rank. */
static struct word caused_word(const struct report *report,
                               const struct report_rank *rank)
{
    if (is_blind(report)) {
        return (struct word){"unknown"};
    }
    return rank->mpi_calls > 0 || rank->caused > 0 ? word_time(rank->caused)
                                                   : (struct word){"-"};
}

static void put_rank(const struct page *page, const struct report_rank *rank)
{
    const struct report *report = page->report;
    ck_time_t region = region_length(report->region);
    ck_time_t outside =
        (rank->mpi_calls > 0 ? rank->useful : region - rank->gone) -
        rank->waited_data;
    ck_time_t waited = waited_of(report, rank);
    ck_time_t inside = inside_of(report, rank);

    fprintf(page->file, "%5d  %9s %9s %9s %14s  ", rank->number,
            word_percent(outside, region).text,
            is_unknown(report, waited, rank->waited_unknown, region) ||
                    is_little(waited, rank->waited_unknown, region)
                ? "unknown"
                : word_percent(waited, region).text,
            word_percent(inside - (waited - rank->waited_data), region).text,
            caused_word(report, rank).text);
    if (rank->steps > 0) {
        fprintf(page->file, "%9s", word_time(rank->step_median).text);
        fprintf(page->file, " %9s  ", word_time(rank->step_max).text);
    } else if (has_steps(report)) {
        fprintf(page->file, "%9s %9s  ", "-", "-");
    }
    page_cell(page, rank->host, 24);
    fputc('\n', page->file);
}

void page_hosts(const struct page *page)
{
    const struct report *report = page->report;
    bool has_data = waited_data(report) > 0;
    size_t shown = 0, more = 0;

    fprintf(page->file, "\n%s RANK  %9s %9s %9s %14s  %sHOST%s\n",
            page_bold(page), "OUTSIDE", "WAITED", "ELSE IN", "OTHERS WAITED",
            has_steps(report) ? "     STEP            " : "",
            page_normal(page));
    fprintf(page->file, "%16s %9s %9s %14s%s\n", has_data ? "WAITS %" : "MPI %",
            has_data ? "%" : "IN MPI %", "MPI %", "FOR IT",
            has_steps(report) ? "        p50       max" : "");
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->end == REPORT_END_MISSING) {
            continue;
        }
        if (shown == PAGE_ROWS && !page->style->is_all_ranks) {
            more++;
            continue;
        }
        shown++;
        put_rank(page, rank);
    }
    if (more > 0) {
        fprintf(page->file, "       %zu more rank%s: --all-ranks\n", more,
                more == 1 ? "" : "s");
    }
    page_peers_row(page);
    page_outside_ranks(page);
}
