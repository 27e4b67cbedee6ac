/* texttraffic.c - what ranks sent each other, and message sizes, of the text
 * report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/words.h"

/* With more ranks there are only the pairs with most bytes. */
#define MATRIX_RANKS 16
#define MATRIX_CELL 5
#define TOP_PAIRS 5
#define TOP_SIZES 4
#define LABEL 34
#define PAIR 40

/* Sizes that share a column: those of fewer bytes than 2^end. */
static const struct {
    const char *title;
    unsigned end; /* bin behind the last one of the column */
} columns[] = {{"0 B", 1},           {"<64 B", 7},     {"<1 KiB", 11},
               {"<16 KiB", 15},      {"<128 KiB", 18}, {"<1 MiB", 21},
               {"more", REPORT_BINS}};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* What was sent, or where that is not recorded, received. */
static uint64_t pair_bytes(const struct report_pair *pair)
{
    return pair->sent.bytes > pair->received.bytes ? pair->sent.bytes
                                                   : pair->received.bytes;
}

static uint64_t pair_count(const struct report_pair *pair)
{
    return pair->sent.count > pair->received.count ? pair->sent.count
                                                   : pair->received.count;
}

static const struct report_pair *
pair_find(const struct report_traffic *traffic, int32_t from, int32_t to)
{
    for (size_t i = 0; i < traffic->pairs_count; i++) {
        if (traffic->pairs[i].from == from && traffic->pairs[i].to == to) {
            return &traffic->pairs[i];
        }
    }
    return NULL;
}

/* "1.2M", in at most four columns. */
static void put_short(const struct page *page, uint64_t bytes)
{
    static const char units[] = " kMGTPE";
    double value = (double)bytes;
    size_t unit = 0;
    char text[16];

    while (value >= 999.5 && units[unit + 1] != '\0') {
        value /= 1000;
        unit++;
    }
    if (unit == 0) {
        (void)snprintf(text, sizeof(text), "%.0f", value);
    } else {
        (void)snprintf(text, sizeof(text), value < 9.95 ? "%.1f%c" : "%.0f%c",
                       value, units[unit]);
    }
    fprintf(page->file, "%*s", MATRIX_CELL, text);
}

/* Is there a rank in the matrix that sent or received a message? */
static bool has_matrix(const struct report *report)
{
    size_t seen = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        seen += report->ranks[i].end != REPORT_END_MISSING;
    }
    return !report->traffic.is_by_host && seen > 1 &&
           report->ranks_count <= MATRIX_RANKS;
}

static void put_matrix(const struct page *page)
{
    const struct report *report = page->report;

    fprintf(page->file, "  from\\to");
    for (size_t i = 0; i < report->ranks_count; i++) {
        fprintf(page->file, "%*d", MATRIX_CELL, report->ranks[i].number);
    }
    fputs("   (bytes)\n", page->file);
    for (size_t i = 0; i < report->ranks_count; i++) {
        fprintf(page->file, "%9d", report->ranks[i].number);
        for (size_t k = 0; k < report->ranks_count; k++) {
            const struct report_pair *pair =
                pair_find(&report->traffic, report->ranks[i].number,
                          report->ranks[k].number);

            if (pair == NULL || pair_count(pair) == 0) {
                fprintf(page->file, "%*s", MATRIX_CELL, "-");
            } else {
                put_short(page, pair_bytes(pair));
            }
        }
        fputc('\n', page->file);
    }
}

static void
put_end(const struct page *page, int32_t rank, const char *host, size_t room)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", rank);
    if (host == NULL && rank < 0) {
        (void)snprintf(text, sizeof(text), "not known");
    }
    page_cell(page, host != NULL ? host : text, host != NULL ? room : 0);
}

/* One wait of a pair: "1 waited 2.00 s for 0 to send" */
struct pair_wait {
    ck_time_t ns;
    bool is_sender; /* it is who sends that waits */
    const char *what;
};

/* What the two waited for each other's messages, and apart in collectives; who
 * calls none still has the last two. */
static void put_pair_waits(const struct page *page,
                           const struct report_pair *pair)
{
    const struct pair_wait waits[] = {
        {pair->waits.sender, false, "to send"},
        {pair->waits.receiver, true, "to receive"},
        {pair->waits.collective, false,
         "in collectives, MPI_Init or MPI_Finalize"},
    };

    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        bool is_back = waits[i].is_sender;

        if (waits[i].ns == 0) {
            continue;
        }
        fputs("      ", page->file);
        put_end(page, is_back ? pair->from : pair->to,
                is_back ? pair->from_host : pair->to_host, PAIR / 2);
        fprintf(page->file, " waited %s for ", word_time(waits[i].ns).text);
        put_end(page, is_back ? pair->to : pair->from,
                is_back ? pair->to_host : pair->from_host, PAIR / 2);
        fprintf(page->file, " %s\n", waits[i].what);
    }
}

static void put_pair(const struct page *page, const struct report_pair *pair)
{
    uint64_t count = pair_count(pair);

    fputs("  ", page->file);
    put_end(page, pair->from, pair->from_host, PAIR / 2);
    fputs(" to ", page->file);
    put_end(page, pair->to, pair->to_host, PAIR / 2);
    fprintf(page->file, ": %s message%s", word_count(count).text,
            word_s(count));
    if (count > 0) {
        uint64_t bytes = pair_bytes(pair);

        fprintf(page->file, ", %s", word_bytes(bytes).text);
        fprintf(page->file, " (mean %s)",
                word_bytes((bytes + count / 2) / count).text);
    }
    if (pair->sent.count != pair->received.count &&
        !page->report->is_filtered) {
        fprintf(page->file, ", %s received",
                word_count(pair->received.count).text);
    }
    fputc('\n', page->file);
    put_pair_waits(page, pair);
}

static void put_pairs(const struct page *page)
{
    const struct report_traffic *traffic = &page->report->traffic;
    size_t of = 0;

    for (size_t i = 0; i < traffic->pairs_count; i++) {
        of += pair_count(&traffic->pairs[i]) > 0;
    }
    for (size_t i = 0; i < traffic->pairs_count && i < TOP_PAIRS; i++) {
        if (pair_count(&traffic->pairs[i]) > 0) {
            put_pair(page, &traffic->pairs[i]);
        }
    }
    if (of > TOP_PAIRS) {
        fprintf(page->file, "  and %zu more pairs (report.json)\n",
                of - TOP_PAIRS);
    }
}

/* "100.0" has room in each. */
static int column_width(size_t column)
{
    int width = (int)strlen(columns[column].title);

    return width < 5 ? 5 : width;
}

static void put_shares(const struct page *page,
                       const struct report_sizes *sizes,
                       bool is_collective)
{
    uint64_t all = is_collective ? sizes->collectives.count : sizes->all.count;
    unsigned bin = 0;

    for (size_t c = 0; c < COLUMNS; c++) {
        uint64_t count = 0;

        for (; bin < columns[c].end; bin++) {
            count += is_collective ? sizes->collective_bins[bin].count
                                   : sizes->bins[bin].count;
        }
        fprintf(page->file, " %*s", column_width(c),
                count == 0
                    ? "-"
                    : word_percent((ck_time_t)count, (ck_time_t)all).text);
    }
    fputc('\n', page->file);
}

/* The communicator, and behind it what of it is counted; in two lines where one
 * has no room, so that no two rows look the same. */
static void put_label(const struct page *page,
                      const struct report_sizes *sizes,
                      const char *what)
{
    const char *label = sizes->comm == NULL ? "(others)" : sizes->comm;
    char text[160];
    int used = 0;

    if (sizes->comms > 1) {
        used = snprintf(text, sizeof(text), "%llu x ",
                        (unsigned long long)sizes->comms);
    }
    (void)snprintf(text + used, sizeof(text) - (size_t)used, "%.100s", label);
    fputc(' ', page->file);
    if (strlen(text) + strlen(", ") + strlen(what) <= LABEL) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                       what[0] != '\0' ? ", " : "", what);
    } else if (strlen(text) > LABEL || what[0] != '\0') {
        page_cell(page, text, PAGE_COLUMNS - 1);
        (void)snprintf(text, sizeof(text), "  %s",
                       what[0] != '\0' ? what : "messages");
        fputs("\n ", page->file);
    }
    page_column(page, text, LABEL);
}

static void put_size(const struct page *page, const struct report_sizes *sizes)
{
    if (sizes->all.count > 0) {
        put_label(page, sizes, "");
        fprintf(page->file, " %9s", word_count(sizes->all.count).text);
        put_shares(page, sizes, false);
    }
    if (sizes->collectives.out + sizes->collectives.in > 0) {
        put_label(page, sizes, "collectives*");
        fprintf(page->file, " %9s", word_count(sizes->collectives.count).text);
        put_shares(page, sizes, true);
    }
}

/* Were there any bytes? Those with most are the first. */
static bool has_bytes(const struct report_sizes *sizes)
{
    return sizes->all.count > 0 ||
           sizes->collectives.out + sizes->collectives.in > 0;
}

static bool has_collectives(const struct report_traffic *traffic)
{
    for (size_t i = 0; i < traffic->sizes_count && i < TOP_SIZES; i++) {
        if (traffic->sizes[i].collectives.out +
                traffic->sizes[i].collectives.in >
            0) {
            return true;
        }
    }
    return false;
}

static void put_sizes(const struct page *page)
{
    const struct report_traffic *traffic = &page->report->traffic;

    if (traffic->sizes_count == 0 || !has_bytes(&traffic->sizes[0])) {
        return;
    }
    fprintf(page->file, "\n%s %-*s %9s", page_bold(page), LABEL,
            "MESSAGE SIZES, % of the number", "number");
    for (size_t c = 0; c < COLUMNS; c++) {
        fprintf(page->file, " %*s", column_width(c), columns[c].title);
    }
    fprintf(page->file, "%s\n", page_normal(page));
    for (size_t i = 0; i < traffic->sizes_count && i < TOP_SIZES; i++) {
        put_size(page, &traffic->sizes[i]);
    }
    if (has_collectives(traffic)) {
        fputs(" * each rank's call once, by all the bytes that it gave to or "
              "got from all ranks, the larger\n",
              page->file);
    }
    if (traffic->sizes_count > TOP_SIZES) {
        fprintf(page->file,
                " and %zu more kind%s of communicators "
                "(report.json)\n",
                traffic->sizes_count - TOP_SIZES,
                word_s(traffic->sizes_count - TOP_SIZES));
    }
}

void page_traffic(const struct page *page)
{
    const struct report_traffic *traffic = &page->report->traffic;

    if (traffic->sent.count + traffic->received.count > 0) {
        fprintf(page->file, "\n%s MESSAGES%s    %s%s sent from %s to %s, %s",
                page_bold(page), page_normal(page),
                report_is_run(page->report) ? "whole run: " : "",
                word_count(traffic->sent.count).text,
                traffic->is_by_host ? "host" : "rank",
                traffic->is_by_host ? "host" : "rank",
                word_bytes(traffic->sent.bytes).text);
        if (traffic->received.count != traffic->sent.count) {
            fprintf(page->file, "; %s received",
                    word_count(traffic->received.count).text);
        }
        fputc('\n', page->file);
        if (has_matrix(page->report)) {
            put_matrix(page);
        }
        put_pairs(page);
    }
    put_sizes(page);
}
