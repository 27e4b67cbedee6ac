/* textstuck.c - where ranks were that never left a call, and for whom they
 * waited
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A rank that died is the reason why others waited. Of a job that a person
 * ended the same calls show only where it was then: any job is in some. That it
 * hung is claimed of nothing shorter than HANG_LEAST and HANG_TIMES the usual
 * interval, and longer than each before.
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/model/rankset.h"
#include "merge/output/words.h"
#include "schema/order.h"

/* Ranks, or runs of them, that are named. */
#define NAMED_MAX 8
#define HANG_LEAST (30 * CK_TIME_S)
#define HANG_TIMES 10
/* A rank that is ready and gets no CPU keeps others waiting for this long. */
#define SIGN_LEAST CK_TIME_S

/* Why ranks never left their calls. */
enum why {
    WHY_DIED,  /* because of one that died */
    WHY_ASKED, /* a user ended the job */
    WHY_SEEN,  /* not known, or it still runs */
};

static enum why why_of(const struct report *report)
{
    enum why why = WHY_SEEN;

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (report_died(rank)) {
            return WHY_DIED;
        }
        if (report_was_asked(rank) ||
            (rank->end == REPORT_END_KILLED && rank->code != 0)) {
            why = WHY_ASKED;
        }
    }
    return why;
}

void page_call_of(const struct page *page,
                  const char *name,
                  const struct place *place)
{
    page_cell(page, name, 40);
    if (page_has_place(place)) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

void page_ranks(FILE *file, const int32_t *ranks, size_t count)
{
    size_t at = 0;

    fputs(count == 1 ? "rank " : "ranks ", file);
    for (size_t named = 0; at < count && named < NAMED_MAX; named++) {
        struct rankset_run run;
        char word[32];
        size_t next = rankset_run(ranks, count, at, &run);

        if (at > 0) {
            fputs(next == count ? " and " : ", ", file);
        }
        (void)rankset_put(&run, word, sizeof(word));
        fputs(word, file);
        at = next;
    }
    if (at < count) {
        fprintf(file, " and %zu more", count - at);
    }
}

/* How long some ranks were in their calls: the shortest and the longest. */
struct spell {
    ck_time_t least;
    ck_time_t most; /* 0 = not known */
};

static struct spell
spell_of(const struct report *report, const int32_t *ranks, size_t count)
{
    struct spell spell = {INT64_MAX, 0};

    for (size_t r = 0; r < report->ranks_count; r++) {
        const struct report_rank *rank = &report->ranks[r];

        for (size_t i = 0; i < count; i++) {
            if (rank->number == ranks[i] && rank->open_ns > 0) {
                spell.least =
                    rank->open_ns < spell.least ? rank->open_ns : spell.least;
                spell.most =
                    rank->open_ns > spell.most ? rank->open_ns : spell.most;
            }
        }
    }
    return spell;
}

/* " for 12.0 s", " for 3.10 ms to 12.0 s" */
static void put_spell(FILE *file, struct spell spell)
{
    if (spell.most == 0) {
        return;
    }
    fputs(" for ", file);
    if (spell.most - spell.least > spell.most / 100) {
        fprintf(file, "%s to ", word_time(spell.least).text);
    }
    fputs(word_time(spell.most).text, file);
}

/* What is usual in the job: its steps, if it has some. */
static struct report_usual usual_of(const struct report *report)
{
    struct report_usual usual = report->usual;

    if (report->table.count >= HANG_TIMES) {
        usual.of = "steps";
        usual.median = report->table.median;
        usual.longest = 0;
        for (size_t i = 0; i < report->table.count; i++) {
            ck_time_t length = report->table.items[i].longest;

            usual.longest = length > usual.longest ? length : usual.longest;
        }
    }
    return usual;
}

static bool is_long(const struct report_usual *usual, ck_time_t time)
{
    return usual->of == NULL ||
           (time >= SIGN_LEAST && time >= HANG_TIMES * usual->median);
}

static bool is_hang(const struct report_usual *usual, ck_time_t time)
{
    return usual->of != NULL && time >= HANG_LEAST && is_long(usual, time) &&
           time > usual->longest;
}

static void put_comm(const struct page *page, const char *comm)
{
    fputs(" on ", page->file);
    if (comm != NULL) {
        page_cell(page, comm, 40);
    } else {
        fputs("a communicator without a name", page->file);
    }
}

/* ", but rank 1 is in MPI_Barrier (train.c:12) in its place" */
static void put_others(const struct page *page,
                       const struct report_impasse *still)
{
    FILE *file = page->file;

    if (still->others_count == 0) {
        return;
    }
    fputs(", but ", file);
    page_ranks(file, still->others, still->others_count);
    fputs(still->others_count == 1 ? " is in " : " are in ", file);
    page_call_of(page, still->other_call, &still->other_place);
    if (still->root != still->other_root && still->other_root >= 0 &&
        still->root >= 0) {
        fprintf(file, " with root %d, not %d,", still->other_root, still->root);
    }
    fputs(" in its place: a mismatch", file);
}

/* "3 of 4 ranks waited in MPI_Allreduce (train.c:197), collective 57 on
 * MPI_COMM_WORLD, which rank 2 never entered, for 1.20 s" */
static void put_impasse(const struct page *page,
                        const struct report_impasse *still,
                        enum why why)
{
    const int32_t *died = still->ranks + still->waited;
    const int32_t *absent = died + still->died;
    FILE *file = page->file;

    fprintf(file, "%zu of %d ranks %s in ", still->waited, still->size,
            why == WHY_DIED ? "waited" : "had waited");
    page_call_of(page, still->call, &still->place);
    if (still->number > 0) {
        fprintf(file, ", collective %u", still->number);
        put_comm(page, still->comm);
    }
    if (still->died > 0) {
        fputs(", in which ", file);
        page_ranks(file, died, still->died);
        fputs(" died", file);
    }
    if (still->absent > 0) {
        fputs(still->died > 0 ? " and which " : ", which ", file);
        page_ranks(file, absent, still->absent);
        if (!still->is_sure) {
            fputs(" did not enter as far as is recorded", file);
        } else {
            fputs(why == WHY_DIED ? " never entered" : " had not entered",
                  file);
        }
    }
    put_others(page, still);
    fputc(',', file);
    put_spell(file, spell_of(page->report, still->ranks, still->waited));
}

/* "ranks 0 and 3 waited in MPI_Recv (ring.c:40) for rank 2, tag 7 on
 * MPI_COMM_WORLD, for 1.20 s" */
static void put_message(const struct page *page,
                        const struct report_awaited *awaited,
                        enum why why)
{
    FILE *file = page->file;

    page_ranks(file, awaited->ranks, awaited->ranks_count);
    fputs(why == WHY_DIED ? " waited in " : " had waited in ", file);
    page_call_of(page, awaited->call, &awaited->place);
    if (awaited->peer < 0) {
        fputs(" for any rank", file);
    } else {
        fputs(" for rank ", file);
        page_rank(page, awaited->peer);
        fputs(awaited->is_send ? " to receive" : "", file);
    }
    if (awaited->tag >= 0) {
        fprintf(file, ", tag %d", awaited->tag);
    } else {
        fputs(", any tag", file);
    }
    put_comm(page, awaited->comm);
    fputc(',', file);
    put_spell(file,
              spell_of(page->report, awaited->ranks, awaited->ranks_count));
}

/* A sentence in lines, behind so many blanks. */
void page_alarm(const struct page *page, const char *text, int indent)
{
    fprintf(page->file, "%*s%s", indent, "", page_red(page));
    page_wrap(page, text, indent, indent + 2);
    fprintf(page->file, "%s\n", page_normal(page));
}

static bool is_shown(const struct report_impasse *still)
{
    return still->waited > 0 &&
           still->died + still->absent + still->others_count > 0;
}

static bool is_message_shown(const struct report *report, size_t index)
{
    return !report->awaited[0].has_died || report->awaited[index].has_died;
}

static void
put_row(const struct page *page, size_t row, enum why why, int indent)
{
    const struct report *report = page->report;
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    if (row < report->impasses_count) {
        put_impasse(&inner, &report->impasses[row], why);
    } else {
        put_message(&inner, &report->awaited[row - report->impasses_count],
                    why);
    }
    (void)fclose(inner.file);
    if (length > 0 && text[length - 1] == ',') {
        text[length - 1] = '\0';
    }
    page_alarm(page, text, indent);
    free(text);
}

/* Collectives, then messages; where a rank died, those for it. The longest
 * that a rank was in one, 0 = nothing was shown. */
static ck_time_t put_calls(const struct page *page, enum why why, int indent)
{
    const struct report *report = page->report;
    ck_time_t most = 0;

    for (size_t i = 0; i < report->impasses_count && i < PAGE_ROWS; i++) {
        const struct report_impasse *still = &report->impasses[i];

        if (is_shown(still)) {
            struct spell spell = spell_of(report, still->ranks, still->waited);

            put_row(page, i, why, indent);
            most = spell.most > most ? spell.most : most;
        }
    }
    for (size_t i = 0; i < report->awaited_count && i < PAGE_ROWS; i++) {
        const struct report_awaited *awaited = &report->awaited[i];

        if (is_message_shown(report, i)) {
            struct spell spell =
                spell_of(report, awaited->ranks, awaited->ranks_count);

            put_row(page, report->impasses_count + i, why, indent);
            most = spell.most > most ? spell.most : most;
        }
    }
    return most;
}

/* Is it a collective that others had not entered, known for sure? */
static bool is_unentered(const struct report_impasse *still)
{
    return still->is_sure && still->absent > 0;
}

static bool is_waiting_in(const struct report_impasse *still, int32_t rank)
{
    for (size_t i = 0; is_unentered(still) && i < still->waited; i++) {
        if (still->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* All that is_waiting_in() holds for, of any collective, ascending. */
struct waiting {
    int32_t *ranks;
    size_t count;
};

CK_ORDER(by_rank, int32_t, CK_LESS(*a, *b))

static struct waiting waiting_of(const struct report *report)
{
    struct waiting waiting = {NULL, 0};
    size_t room = 0;

    for (size_t i = 0; i < report->impasses_count; i++) {
        room += report->impasses[i].waited;
    }
    waiting.ranks = xcalloc(room + 1, sizeof(*waiting.ranks));
    for (size_t i = 0; i < report->impasses_count; i++) {
        const struct report_impasse *still = &report->impasses[i];

        if (is_unentered(still) && still->waited > 0) {
            memcpy(waiting.ranks + waiting.count, still->ranks,
                   still->waited * sizeof(*still->ranks));
            waiting.count += still->waited;
        }
    }
    qsort(waiting.ranks, waiting.count, sizeof(*waiting.ranks), by_rank);
    return waiting;
}

static bool waiting_has(const struct waiting *waiting, int32_t rank)
{
    return bsearch(&rank, waiting->ranks, waiting->count,
                   sizeof(*waiting->ranks), by_rank) != NULL;
}

/* One that a rank waited for in a collective, if that one waits itself; -1. */
static int32_t absent_of(const struct report *report,
                         const struct waiting *waiting,
                         int32_t rank)
{
    for (size_t i = 0; i < report->impasses_count; i++) {
        const struct report_impasse *still = &report->impasses[i];
        const int32_t *absent = still->ranks + still->waited + still->died;

        if (!is_waiting_in(still, rank)) {
            continue;
        }
        for (size_t j = 0; j < still->absent; j++) {
            if (waiting_has(waiting, absent[j])) {
                return absent[j];
            }
        }
        return absent[0];
    }
    return -1;
}

/* The one rank that a rank waited for, by a message, else in a collective; -1 =
 * none, or several. */
static int32_t peer_of(const struct report *report,
                       const struct waiting *waiting,
                       int32_t rank)
{
    int32_t peer = -1;

    for (size_t i = 0; i < report->awaited_count; i++) {
        const struct report_awaited *awaited = &report->awaited[i];

        for (size_t j = 0; j < awaited->ranks_count; j++) {
            if (awaited->ranks[j] == rank) {
                if (peer >= 0 || awaited->peer < 0) {
                    return -1;
                }
                peer = awaited->peer;
            }
        }
    }
    return peer >= 0 ? peer : absent_of(report, waiting, rank);
}

/* Ranks that wait for each other in a circle, from that one on: their number, 0
 * = they do not. */
static size_t circle_find(const struct report *report,
                          const struct waiting *waiting,
                          int32_t rank,
                          int32_t ranks[PAGE_ROWS])
{
    size_t count = 0;

    ranks[count++] = rank;
    while (count < PAGE_ROWS) {
        int32_t next = peer_of(report, waiting, ranks[count - 1]);

        if (next < 0 || next == ranks[0]) {
            break;
        }
        ranks[count++] = next;
    }
    return peer_of(report, waiting, ranks[count - 1]) == ranks[0] ? count : 0;
}

/* The first of those that wait by message or collective `row`; -1 = none. */
static int32_t first_of(const struct report *report, size_t row)
{
    const struct report_impasse *still;

    if (row < report->awaited_count) {
        return report->awaited[row].ranks[0];
    }
    still = &report->impasses[row - report->awaited_count];
    return still->waited > 0 ? still->ranks[0] : -1;
}

/* The first circle; 0 = there is none. */
static size_t first_circle(const struct report *report,
                           int32_t ranks[PAGE_ROWS])
{
    struct waiting waiting = waiting_of(report);
    size_t count = 0;

    for (size_t i = 0;
         count == 0 && i < report->awaited_count + report->impasses_count;
         i++) {
        int32_t first = first_of(report, i);

        count = first < 0 ? 0 : circle_find(report, &waiting, first, ranks);
    }
    free(waiting.ranks);
    return count;
}

/* Where messages are on their way a healthy job is in a circle, too, for a
 * while. */
static void put_circle(const struct page *page, enum why why, int indent)
{
    const struct report *report = page->report;
    struct report_usual usual = usual_of(report);
    int32_t ranks[PAGE_ROWS];
    size_t count = first_circle(report, ranks);
    struct spell spell = spell_of(report, ranks, count);

    if (count > 0 && (why == WHY_DIED || is_long(&usual, spell.least))) {
        fprintf(page->file, "%*s%s", indent, "", page_red(page));
        page_ranks(page->file, ranks, count);
        fputs(why == WHY_DIED ? " waited for each other in a circle"
                              : " had waited for each other in a circle",
              page->file);
        put_spell(page->file, spell);
        fprintf(page->file, "%s%s\n",
                is_hang(&usual, spell.least) ? ": a deadlock" : "",
                page_normal(page));
    }
}

/* Whether that is long, for this job. */
static void put_usual(const struct page *page, ck_time_t most)
{
    struct report_usual usual = usual_of(page->report);
    struct word times;

    if (usual.of == NULL) {
        fputs("   How long the job usually takes from one call to the next is "
              "not known.\n",
              page->file);
        return;
    }
    if (!is_long(&usual, most) || most <= usual.longest) {
        fprintf(page->file,
                "   No sign of a hang: the median interval between %s is %s, "
                "the longest %s%s.\n",
                usual.of, word_time(usual.median).text,
                word_time(usual.longest).text,
                usual.is_recent ? " (of late)" : "");
        return;
    }
    times =
        word_count((uint64_t)(most / (usual.median > 0 ? usual.median : 1)));
    fprintf(page->file,
            "   %s%s is %s times the median interval between %s (%s%s)%s.%s\n",
            page_red(page), word_time(most).text, times.text, usual.of,
            word_time(usual.median).text, usual.is_recent ? ", of late" : "",
            is_hang(&usual, most) ? ": the job hung" : "", page_normal(page));
}

/* The longest that a rank was in a call that it never left; 0 = in none. */
static ck_time_t longest_open(const struct report *report)
{
    ck_time_t most = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        most =
            report->ranks[i].open_ns > most ? report->ranks[i].open_ns : most;
    }
    return most;
}

bool page_is_going_on(const struct page *page)
{
    const struct report *report = page->report;
    struct report_usual usual = usual_of(report);
    ck_time_t most = longest_open(report);

    return report->is_running && why_of(report) == WHY_SEEN &&
           !is_hang(&usual, most) &&
           (usual.of == NULL ? most < HANG_LEAST
                             : !is_long(&usual, most) || most <= usual.longest);
}

static bool has_calls(const struct report *report)
{
    for (size_t i = 0; i < report->impasses_count; i++) {
        if (is_shown(&report->impasses[i])) {
            return true;
        }
    }
    return report->awaited_count > 0;
}

void page_stuck(const struct page *page)
{
    enum why why = why_of(page->report);
    int indent = why == WHY_DIED ? 1 : 3;
    ck_time_t most;

    if (!has_calls(page->report)) {
        page_standings(page, 1);
        return;
    }
    if (why != WHY_DIED) {
        fputs(why == WHY_ASKED ? " When it was interrupted:\n"
                               : " When it was seen last:\n",
              page->file);
    }
    most = put_calls(page, why, indent);
    put_circle(page, why, indent);
    page_standings(page, indent);
    if (why != WHY_DIED && most > 0) {
        put_usual(page, most);
    }
}
