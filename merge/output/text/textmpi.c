/* textmpi.c - steps, waits in MPI and efficiencies of the text
 * report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/instance.h"
#include "merge/output/words.h"

#define TOP_WAITS 5
#define TOP_STEPS 6
/* Columns of a place with its offset. */
#define WAIT_PLACE 26
#define TOP_EDGES 4
#define INIT "wait_at_init"
#define FINALIZE "wait_at_finalize"
#define INDENT "             "
/* Waits of less than an n-th of the ranks' time are not worth a line. */
#define WORTH_SHARE 200

static void put_stragglers(const struct page *page)
{
    size_t count = page_late_ranks(page->report);

    if (count > 0) {
        fprintf(page->file, "\n%s LATE RANKS%s\n", page_bold(page),
                page_normal(page));
    }
    for (size_t i = 0; i < count; i++) {
        page_late_rank(page, i);
    }
}

/* Behind a rank that --ranks leaves out; a line below the table explains it. */
static const char *left_out(const struct page *page, int32_t rank)
{
    return report_is_chosen(page->report, rank) ? "" : "*";
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Are both rows alike, but for a place in a file without symbols? That is
 * shown by the file's name alone. */
static bool is_alike(const struct report_cause *a, const struct report_cause *b)
{
    const struct place *left = &a->did.place, *right = &b->did.place;

    return a->cause == b->cause && is_same_text(a->wait, b->wait) &&
           a->ranks == b->ranks && a->rank == b->rank && a->last == b->last &&
           a->blamed == b->blamed && is_same_text(a->did.call, b->did.call) &&
           left->file == NULL && right->file == NULL &&
           left->function != NULL && right->function != NULL;
}

/* The row that is alike; NULL = there is none. */
static const struct report_cause *twin_find(const struct report *report,
                                            const struct report_cause *wait)
{
    for (size_t i = 0; i < report->waits_count && i < TOP_WAITS; i++) {
        if (&report->waits[i] != wait && is_alike(&report->waits[i], wait)) {
            return &report->waits[i];
        }
    }
    return NULL;
}

/* The place of a wait, with what distinguishes it from that of another row:
 * template arguments or parameters, or an offset. */
static void put_wait_place(const struct page *page,
                           const struct report_cause *wait)
{
    const struct report_cause *twin = twin_find(page->report, wait);
    const struct place *place = &wait->did.place;
    char instance[WAIT_PLACE + 1];

    fputs(" (", page->file);
    if (twin == NULL) {
        page_place(page, place);
    } else if (instance_text(instance, WAIT_PLACE, place->function,
                             twin->did.place.function)) {
        page_cell(page, instance, WAIT_PLACE);
    } else {
        page_cell(page, place->function, WAIT_PLACE);
    }
    fputc(')', page->file);
}

static void put_wait(const struct page *page, const struct report_cause *wait)
{
    const struct report *report = page->report;

    fprintf(page->file, " %9s %9s  %-18s ", word_time(wait->ns).text,
            word_count(wait->count).text,
            wait->cause == CAUSE_BELOW_CLOCK ? "tie (below clock error)"
                                             : wait->wait);
    if (wait->ranks == 1) {
        fprintf(page->file, "rank %d", wait->rank);
    } else {
        fprintf(page->file, "%u of %d ranks", wait->ranks,
                report->is_filtered ? (int)report_ranks(report) : report->size);
    }
    fputs(" in ", page->file);
    page_cell(page, wait->did.call != NULL ? wait->did.call : "?", 22);
    if (page_has_place(&wait->did.place)) {
        put_wait_place(page, wait);
    }
    if (wait->blamed >= 0) {
        fprintf(page->file, " for %d%s", wait->last,
                left_out(page, wait->last));
    }
    if (wait->blamed >= 0 && wait->last != wait->blamed) {
        fprintf(page->file, ", it for %d%s", wait->blamed,
                left_out(page, wait->blamed));
    }
    page_error(page, wait->error);
    fputs(wait->wrong_order > wait->ns / 2 ? " (wrong order)\n" : "\n",
          page->file);
}

static void put_waits(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t worth = page_ranks_time(report) / WORTH_SHARE;
    bool is_left_out = false;

    for (size_t i = 0; i < report->waits_count && i < TOP_WAITS; i++) {
        if (report->waits[i].ns <= worth) {
            break;
        }
        if (i == 0) {
            fprintf(page->file, "\n%s %9s %9s  %-23s %s%s\n", page_bold(page),
                    "WAITED", "times", "how", "who, where, for which rank",
                    page_normal(page));
        }
        put_wait(page, &report->waits[i]);
        is_left_out = is_left_out ||
                      (report->waits[i].blamed >= 0 &&
                       (!report_is_chosen(report, report->waits[i].last) ||
                        !report_is_chosen(report, report->waits[i].blamed)));
    }
    if (is_left_out) {
        fputs(" * not among --ranks\n", page->file);
    }
}

static ck_time_t
wait_time(const struct report_cause *waits, size_t count, const char *wait)
{
    ck_time_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (waits[i].wait != NULL && strcmp(waits[i].wait, wait) == 0) {
            sum += waits[i].ns;
        }
    }
    return sum;
}

/* Are the waits of that kind in WAITED, but for what is not worth a line? */
static bool
is_inside(const struct report *report, const char *wait, ck_time_t worth)
{
    return wait_time(report->edges, report->edges_count, wait) -
               wait_time(report->waits, report->waits_count, wait) <=
           worth;
}

/* What the region leaves out. */
static void put_edges(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t worth = region_length(report->whole) *
                      (ck_time_t)report_ranks(report) / WORTH_SHARE;
    bool is_first = is_inside(report, INIT, worth);
    bool is_final = is_inside(report, FINALIZE, worth);
    FILE *file = page->file;
    size_t shown = 0;

    for (size_t i = 0; i < report->edges_count && shown < TOP_EDGES; i++) {
        const struct report_cause *wait = &report->edges[i];

        if (wait->ns <= worth || wait->cause != CAUSE_MPI_WAIT ||
            (is_first && strcmp(wait->wait, INIT) == 0) ||
            (is_final && strcmp(wait->wait, FINALIZE) == 0)) {
            continue;
        }
        if (shown++ == 0) {
            fprintf(file, "\n%s AT START AND END (whole run)%s\n",
                    page_bold(page), page_normal(page));
        }
        fputc(' ', file);
        page_count(page, wait->ranks);
        fprintf(file, " waited %s", word_time(wait->ns).text);
        page_error(page, wait->error);
        fputs(" in ", file);
        page_cell(page, wait->did.call != NULL ? wait->did.call : "MPI", 40);
        fputs(" for rank ", file);
        page_rank(page, wait->blamed);
        if (wait->seen_ns > 0) {
            fprintf(file, ".%sFor %s %% of it that rank was\n    ",
                    report_is_chosen(report, wait->blamed) ? " " : "\n    ",
                    word_percent(wait->seen_ns, wait->ns).text);
            page_activity(page, &wait->seen);
        }
        fputs(".\n", file);
    }
}

/* The cause of most idle time in a step; CAUSES = none. */
static enum cause step_cause(const struct report_step *step)
{
    enum cause best = CAUSES;

    for (unsigned c = 0; c < CAUSES; c++) {
        if (step->causes[c] > 0 &&
            (best == CAUSES || step->causes[c] > step->causes[best])) {
            best = (enum cause)c;
        }
    }
    return best;
}

static void put_step(const struct page *page, const struct report_step *step)
{
    enum cause cause = step_cause(step);

    fprintf(page->file, " %8lld %9s %5d %9s %7s %6s %6s %6s %9s %5s  %s",
            (long long)step->number, word_time(step->longest).text,
            step->longest_rank, word_time(step->shortest).text,
            word_count(step->launches).text, word_count(step->syncs).text,
            word_count(step->copies).text, word_count(step->collectives).text,
            word_time(step->waited).text,
            step->worst >= 0 ? word_count((uint64_t)step->worst).text : "-",
            cause == CAUSES ? "-" : cause_name(cause));
    if (step->waited_error > 0) {
        fputs(", waited", page->file);
        page_error(page, step->waited_error);
    }
    fputc('\n', page->file);
}

/* How long an outlier is at least that is among the TOP_STEPS longest. */
static ck_time_t outlier_least(const struct report_steps *table)
{
    ck_time_t top[TOP_STEPS] = {0}; /* longest first */

    for (size_t i = 0; i < table->count; i++) {
        ck_time_t length = table->items[i].longest;

        for (size_t k = 0; table->items[i].is_outlier && k < TOP_STEPS; k++) {
            if (length > top[k]) {
                ck_time_t shorter = top[k];

                top[k] = length;
                length = shorter;
            }
        }
    }
    return top[TOP_STEPS - 1];
}

/* The longest steps, in order of time. */
static void put_steps(const struct page *page)
{
    const struct report_steps *table = &page->report->table;
    unsigned shown = 0;
    uint64_t all;
    ck_time_t least;

    if (table->count == 0) {
        return;
    }
    fprintf(page->file, "\n%s STEPS%s       ", page_bold(page),
            page_normal(page));
    if (table->count < page->report->steps) {
        fprintf(page->file, "the first %s of ", word_count(table->count).text);
    }
    all = page_steps_all(page->report);
    fprintf(page->file, "%s step%s, median %s (slowest rank of each); ",
            word_count(all).text, word_s(all), word_time(table->median).text);
    if (table->rhythm != NULL) {
        fputs("taken to end with ", page->file);
        page_cell(page, table->rhythm, 24);
        fputs(" (", page->file);
        page_place(page, &table->rhythm_place);
        fputs(");\n" INDENT, page->file);
    }
    if (table->outliers == 0) {
        fputs("none is 1.5 times as long\n", page->file);
        return;
    }
    fprintf(page->file, "%u of 1.5 times that or more\n", table->outliers);
    fprintf(page->file, "%s %8s %9s %5s %9s %7s %6s %6s %6s %9s %5s  %s%s\n",
            page_bold(page), "step", "longest", "rank", "shortest", "launch",
            "sync", "copy", "coll", "waited", "for", "devices idle in",
            page_normal(page));
    least = outlier_least(table);
    for (size_t i = 0; i < table->count && shown < TOP_STEPS; i++) {
        if (table->items[i].is_outlier && table->items[i].longest >= least) {
            put_step(page, &table->items[i]);
            shown++;
        }
    }
    if (table->outliers > shown) {
        fprintf(page->file, " and %u more (report.json)\n",
                table->outliers - shown);
    }
}

/* The device that others waited for most in collective kernels. NULL = none. */
static const struct report_device *latest(const struct report *report)
{
    const struct report_device *worst = NULL;

    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        if (device->comm_caused > 0 &&
            (worst == NULL || device->comm_caused > worst->comm_caused)) {
            worst = device;
        }
    }
    return worst;
}

static void put_waited_kernels(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    const struct report_device *worst = latest(page->report);
    bool is_missing = page->report->present < (uint32_t)page->report->size;

    fprintf(page->file, " They waited %s%s",
            all->comm_hidden > all->comm_waited / 100 ? "at least " : "",
            word_time(all->comm_waited).text);
    fprintf(page->file,
            " in collective kernels for the last %srank to begin, %s %% of all "
            "device time",
            is_missing ? "recorded " : "",
            word_percent(all->comm_waited, all->wall).text);
    if (worst != NULL && worst->ranks_count > 0) {
        fprintf(page->file, ":\n %s %% of that for rank ",
                word_percent(worst->comm_caused, all->comm_waited).text);
        page_rank(page, worst->ranks[0]);
    }
    fputs(".\n", page->file);
}

/* Collective kernels without any claim. */
static void put_unclaimed_kernels(const struct page *page,
                                  uint64_t count,
                                  ck_time_t time,
                                  const char *why)
{
    fprintf(page->file,
            " Waits for a rank that came late and transfers cannot be told "
            "apart in %s collective\n kernel%s: ",
            word_count(count).text, word_s(count));
    fprintf(page->file, "up to %s, %s %% of all device time",
            word_time(time).text,
            word_percent(time, page->report->all.wall).text);
    fprintf(page->file, ", may be waits\n (%s: TRUST).\n", why);
}

/* Why waits that are as short are not claimed. */
static const char *why_hidden(const struct report *report)
{
    if (report->clock_dates.is_believed) {
        return report->comm_alike > 0
                   ? "dates are assumed, and groups are not recorded"
                   : "dates are assumed, and ends are apart by that";
    }
    if (!page_is_calibrated(report)) {
        return "clocks are not calibrated, or estimated by these kernels "
               "themselves";
    }
    return report->comm_alike > 0 && report->domains_count < 2
               ? "their process group is not recorded"
               : "clocks are estimated by these kernels themselves";
}

void page_meetings_answer(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_device *all = &report->all;

    if (all->comm_waited > all->wall / WORTH_SHARE) {
        put_waited_kernels(page);
    }
    if (report->comm_ungrouped_time > all->wall / WORTH_SHARE) {
        put_unclaimed_kernels(page, report->comm_ungrouped,
                              report->comm_ungrouped_time,
                              "their process group is not recorded");
    }
    if (report->comm_uneven_time > all->wall / WORTH_SHARE) {
        put_unclaimed_kernels(page, report->comm_uneven,
                              report->comm_uneven_time,
                              "they do not fit together");
    }
    if (report->comm_hidden_first > all->wall / WORTH_SHARE) {
        fprintf(page->file,
                " Waits in the first collective kernel are not known, up to "
                "%s of device time: clocks\n are estimated by the ends of "
                "these kernels (TRUST).\n",
                word_time(report->comm_hidden_first).text);
    }
    if (all->comm_hidden - report->comm_hidden_first >
        all->wall / WORTH_SHARE) {
        fprintf(page->file,
                " Which rank came late to collective kernels by up to %s each "
                "is not known:\n %s (TRUST).\n",
                word_time(report->comm_hidden_most).text, why_hidden(report));
    }
}

/* Of that, what was waited for the last device, and which that was most. */
static void put_device_waits(const struct page *page)
{
    const struct report *report = page->report;
    const struct report_device *worst = latest(report);

    if (worst == NULL || report->all.comm_wait == 0) {
        return;
    }
    fprintf(page->file, ",\n" INDENT "%s of that until the last rank came",
            word_time(report->all.comm_wait).text);
    if (worst->ranks_count > 0) {
        fprintf(page->file, ", %s %% because of rank ",
                word_percent(worst->comm_caused, report->all.comm_waited).text);
        page_rank(page, worst->ranks[0]);
    }
}

/* Time of ranks that were not through MPI_Init when the first one was. */
static void put_startup(const struct page *page)
{
    const struct report_efficiency *e = &page->report->efficiency;
    ck_time_t all = page_ranks_time(page->report);

    if (e->startup > all / WORTH_SHARE) {
        fprintf(page->file,
                INDENT "startup (before a rank's own return from MPI_Init) %s, "
                       "%s %%\n",
                word_time(e->startup).text, word_percent(e->startup, all).text);
    }
}

static void put_efficiency(const struct page *page)
{
    const struct report_efficiency *e = &page->report->efficiency;

    if (e->ranks == 0 && e->devices == 0) {
        return;
    }
    fprintf(page->file, "\n%s EFFICIENCY%s ", page_bold(page),
            page_normal(page));
    if (e->ranks > 0) {
        fprintf(page->file,
                " ranks %.3f = load balance %.3f x communication %.3f ",
                e->parallel, e->load_balance, e->communication);
        if (report_knows_transfer(page->report)) {
            fprintf(page->file, "(serial. %.3f x transfer %.3f)\n" INDENT,
                    e->serialisation, e->transfer);
        } else {
            fputs("(serial. x transfer: not known)\n" INDENT, page->file);
        }
        page_count(page, e->ranks);
        fprintf(page->file,
                ", outside MPI %s of %s, %s of %s receives matched\n",
                word_time(e->useful).text,
                word_time(page_ranks_time(page->report)).text,
                word_count(e->matched).text, word_count(e->receives).text);
        put_startup(page);
        if (page->report->devices_count > 0) {
            fputs(INDENT, page->file);
            page_outside(page, (int)sizeof(INDENT) - 1,
                         (int)sizeof(INDENT) + 1);
        }
    }
    if (e->devices > 0) {
        fprintf(page->file,
                "%s devices %.3f = load balance %.3f x communication %.3f x "
                "orchestration %.3f\n",
                e->ranks > 0 ? &INDENT[1] : "", e->device_parallel,
                e->device_load_balance, e->device_communication,
                e->device_orchestration);
    }
    if (page->report->all.comm_all > 0) {
        fprintf(page->file,
                INDENT "communication on devices %s, %s of it exposed",
                word_time(page->report->all.comm_all).text,
                word_time(page->report->all.comm).text);
        put_device_waits(page);
        fputc('\n', page->file);
    }
}

void page_mpi(const struct page *page)
{
    put_stragglers(page);
    put_waits(page);
    page_folded(page, put_edges);
    put_steps(page);
    put_efficiency(page);
}
