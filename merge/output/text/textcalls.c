/* textcalls.c - the table of host calls: a row for each function, its places
 * below
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/cxxname.h"
#include "merge/output/instance.h"
#include "merge/output/words.h"

/* Functions of more than that are in report.json alone. */
#define TOP_FUNCTIONS 24
/* Places of all functions together that have a row of their own. */
#define TOP_PLACES 10
#define NAME 36
#define INDENT 2

/* What has a row: the sums of a function or of a place. */
struct sums {
    uint64_t calls;
    ck_time_t total;
    ck_time_t max;
    uint32_t ranks;
    const struct report_moved *moved;
};

/* Sizes of all messages, and of what ranks gave and got in collectives. */
static struct report_extent sizes_of(const struct report_moved *moved)
{
    struct report_extent sizes = moved->sent_sizes;

    report_extent_join(&sizes, &moved->received_sizes);
    report_extent_join(&sizes, &moved->collective_sizes);
    return sizes;
}

/* Their mean. */
static struct word each_word(const struct report_moved *moved)
{
    uint64_t bytes = moved->sent.bytes + moved->received.bytes +
                     moved->collectives.out + moved->collectives.in;
    uint64_t count = sizes_of(moved).count;

    return count > 0 ? word_bytes((bytes + count / 2) / count)
                     : (struct word){"-"};
}

static struct word bytes_word(uint64_t count, uint64_t bytes)
{
    return count > 0 ? word_bytes(bytes) : (struct word){"-"};
}

static void put_sums(const struct page *page, const struct sums *sums)
{
    const struct report_moved *moved = sums->moved;
    uint64_t out = moved->sent.bytes + moved->collectives.out;
    uint64_t in = moved->received.bytes + moved->collectives.in;

    fprintf(page->file, " %9s %8s %8s %8s %8s %8s %5u\n",
            word_count(sums->calls).text, word_seconds(sums->total).text,
            word_time(sums->max).text,
            bytes_word(out + moved->sent.count, out).text,
            bytes_word(in + moved->received.count, in).text,
            each_word(moved).text, sums->ranks);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Length of a function's text up to what a page leaves of it (page.c). */
static size_t plain_length(const char *function)
{
    const char *end = strstr(function, ".so");

    end = end != NULL ? end : strstr(function, "+0x");
    return end != NULL ? (size_t)(end - function) : strlen(function);
}

static bool has_file(const struct place *place)
{
    return place->file != NULL && place->file[0] != '\0';
}

/* Would both functions look the same on a page? Of C++ only names and scopes
 * are shown, and cut where there is no room. */
static bool is_same_plain(const char *a, const char *b)
{
    char left[512], right[512];
    size_t cut = NAME - INDENT;

    if (!cxxname_plain(left, sizeof(left), a) ||
        !cxxname_plain(right, sizeof(right), b)) {
        return plain_length(a) == plain_length(b) &&
               strncmp(a, b, plain_length(a)) == 0;
    }
    return strcmp(strlen(left) > cut ? left + strlen(left) - cut : left,
                  strlen(right) > cut ? right + strlen(right) - cut : right) ==
           0;
}

/* Would both look the same on a page? */
static bool is_alike(const struct place *a, const struct place *b)
{
    if (has_file(a) != has_file(b)) {
        return false;
    }
    if (has_file(a)) {
        return a->line == b->line &&
               strcmp(base_name(a->file), base_name(b->file)) == 0;
    }
    if (a->function == NULL || b->function == NULL) {
        return a->function == b->function;
    }
    return is_same_plain(a->function, b->function);
}

/* A function of C++ with its template arguments, and where these are the same,
 * parameters. */
static void instance_put(const struct page *page,
                         const struct report_call *call,
                         char *text,
                         size_t columns)
{
    const struct report *report = page->report;
    const struct place *place = &call->place;
    char shown[NAME + 1];

    (void)snprintf(text, NAME + 1, "%s", place->function);
    for (size_t i = 0; i < report->calls_count; i++) {
        const struct report_call *other = &report->calls[i];

        if (other == call || other->calls == 0 ||
            other->function != call->function ||
            !is_alike(&other->place, place) ||
            !instance_text(shown, columns, place->function,
                           other->place.function)) {
            continue;
        }
        (void)snprintf(text, NAME + 1, "%s", shown);
        if (strchr(shown, '(') != NULL) {
            return;
        }
    }
}

/* The other place of that function that looks the same; NULL = none. */
static const struct report_call *twin_find(const struct report *report,
                                           const struct report_call *call)
{
    for (size_t i = 0; i < report->calls_count; i++) {
        const struct report_call *other = &report->calls[i];

        if (other != call && other->calls > 0 &&
            other->function == call->function &&
            is_alike(&other->place, &call->place)) {
            return other;
        }
    }
    return NULL;
}

/* A place, with what it differs by from one that looks the same. */
static void place_text(const struct page *page,
                       const struct report_call *call,
                       char *text,
                       size_t room,
                       size_t columns)
{
    const struct report_call *twin = twin_find(page->report, call);
    const struct place *place = &call->place;

    text[0] = '\0';
    if (!page_has_place(place) && page->report->lost > 0) {
        (void)snprintf(text, room, "lost with other records");
    } else if (twin == NULL) {
        return;
    } else if (!page_has_place(place)) {
        (void)snprintf(text, room, "at 0x%llx", (unsigned long long)call->site);
    } else if (!has_file(place)) {
        instance_put(page, call, text, columns);
    } else if (place->function != NULL && twin->place.function != NULL &&
               strcmp(place->function, twin->place.function) != 0) {
        (void)snprintf(text, room, "%s:%u (%s)", base_name(place->file),
                       place->line, place->function);
    } else {
        (void)snprintf(text, room, "%s:%u", place->file, place->line);
    }
}

/* In exactly so many columns. */
static void
put_place(const struct page *page, const struct report_call *call, int columns)
{
    char text[512], *cell = NULL;
    size_t bytes = 0;
    struct page inner = *page;

    place_text(page, call, text, sizeof(text), (size_t)columns);
    if (text[0] != '\0') {
        page_column(page, text, (size_t)columns);
        return;
    }
    inner.file = xmemstream(&cell, &bytes);
    page_place_in(&inner, &call->place, (size_t)columns);
    (void)fclose(inner.file);
    page_column(page, cell, (size_t)columns);
    free(cell);
}

/* The only place with calls of a function, or the one that took longest. */
static const struct report_call *place_first(const struct report *report,
                                             size_t function)
{
    for (size_t i = 0; i < report->calls_count; i++) {
        if (report->calls[i].function == function &&
            report->calls[i].calls > 0) {
            return &report->calls[i];
        }
    }
    return NULL;
}

/* "   24 B to 65.5 kB each", below the mean of sizes that differ. */
static void put_extent(const struct page *page,
                       const struct report_moved *moved)
{
    struct report_extent sizes = sizes_of(moved);

    if (sizes.min < sizes.max) {
        fprintf(page->file, "   %s to %s each\n", word_bytes(sizes.min).text,
                word_bytes(sizes.max).text);
    }
}

/* "MPI_Isend, 91 places", or "MPI_Allreduce  train.c:196". */
static void put_function(const struct page *page, size_t number)
{
    const struct report_function *function = &page->report->functions[number];
    const struct report_call *only = place_first(page->report, number);
    int left = NAME - (int)strlen(function->name) - 2;
    char name[64];

    fputc(' ', page->file);
    if (function->places == 1 && left >= 12 &&
        (page_has_place(&only->place) || page->report->lost > 0)) {
        page_cell(page, function->name, 0);
        fputs("  ", page->file);
        put_place(page, only, left);
    } else if (function->places == 1) {
        page_column(page, function->name, NAME);
    } else {
        (void)snprintf(name, sizeof(name), "%.*s, %u places", NAME - 12,
                       function->name, function->places);
        page_column(page, name, NAME);
    }
    put_sums(page,
             &(struct sums){function->calls, function->total, function->max,
                            function->ranks, &function->moved});
    put_extent(page, &function->moved);
}

/* Places of a function, of those that have a row. */
static void put_places(const struct page *page, size_t function, size_t top)
{
    const struct report *report = page->report;

    for (size_t i = 0, shown = 0; i < report->calls_count && shown < top; i++) {
        const struct report_call *call = &report->calls[i];

        if (call->calls == 0 || strcmp(call->kind, "posix") == 0 ||
            report->functions[call->function].places == 1) {
            continue;
        }
        shown++;
        if (call->function == function) {
            fprintf(page->file, " %*s", INDENT, "");
            put_place(page, call, NAME - INDENT);
            put_sums(page, &(struct sums){call->calls, call->total, call->max,
                                          call->ranks, &call->moved});
        }
    }
}

/* Long calls of libc have a table of their own. */
void page_calls(const struct page *page)
{
    const struct report *report = page->report;
    size_t shown = 0;

    for (size_t i = 0; i < report->functions_count; i++) {
        const struct report_function *function = &report->functions[i];

        if (function->calls == 0 || strcmp(function->kind, "posix") == 0) {
            continue;
        }
        if (shown == 0) {
            fprintf(page->file, "\n%s %-*s %9s %8s %8s %8s %8s %8s %5s%s\n",
                    page_bold(page), NAME,
                    report_is_run(report)
                        ? "CALLS (host, whole run), called from"
                        : "CALLS (host), called from",
                    "calls", "total s", "longest", "sent", "received", "mean",
                    "ranks", page_normal(page));
        }
        if (shown++ < TOP_FUNCTIONS) {
            put_function(page, i);
            put_places(page, i, TOP_PLACES);
        }
    }
    if (shown > TOP_FUNCTIONS) {
        fprintf(page->file, " and %zu more function%s (report.json)\n",
                shown - TOP_FUNCTIONS, word_s(shown - TOP_FUNCTIONS));
    }
}
