/* textstanding.c - where threads were when their collectors looked last
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences on who keeps others waiting, on threads that are stopped and on
 * locks; then the stacks of all threads as a tree by equal prefix, the function
 * that was called first at its root, the branches of few ranks first.
 */
#include "merge/output/text/page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"
#include "schema/order.h"

/* Lines of the tree. */
#define LINES_MAX 60
/* Functions of a line; of longer chains the middle is left out. */
#define CHAIN_MAX 12
#define CIRCLE_MAX 16

/* ---- a thread ----------------------------------------------------------- */

/* What every thread begins in. */
static bool is_begin(const char *function)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "clone",
                                        "__clone",
                                        "clone3",
                                        "__clone3",
                                        "thread_start"};

    /* glibc's own name of one of its functions. */
    function += strncmp(function, "__GI_", 5) == 0 ? 5 : 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);

        if (strncmp(function, names[i], length) == 0 &&
            (function[length] == '\0' || function[length] == '@')) {
            return true;
        }
    }
    return false;
}

/* An address in the C library, which has no name for it: of glibc since 2.37 on
 * Debian the function that calls main(). */
static bool is_libc(const char *function)
{
    return strncmp(function, "libc.so.", 8) == 0 &&
           strstr(function, "+0x") != NULL;
}

/* "MPI_Barrier" of MPI_Barrier and PMPI_Barrier; NULL = no call of MPI. */
static const char *mpi_name(const char *function)
{
    if (function != NULL && function[0] == 'P') {
        function++;
    }
    return function != NULL && strncmp(function, "MPI_", 4) == 0 &&
                   isupper((unsigned char)function[4])
               ? function
               : NULL;
}

/* The frames that are shown are [first, last): below the innermost ones that
 * are MPI's own affair, above those that every thread begins in. */
struct shown {
    size_t first, last;
};

static struct shown shown_of(const struct report_standing *row)
{
    struct shown shown = {0, row->frames_count};

    while (
        shown.last > 0 && row->frames[shown.last - 1].function != NULL &&
        (is_begin(row->frames[shown.last - 1].function) ||
         (shown.last > 1 && is_libc(row->frames[shown.last - 1].function)))) {
        shown.last--;
    }
    for (size_t i = shown.last; i-- > 0;) {
        if (mpi_name(row->frames[i].function) != NULL) {
            shown.first = i;
            break;
        }
    }
    return shown;
}

/* Its frame at a depth from the outermost, NULL = there is none. */
static const struct place *frame_at(const struct report_standing *row,
                                    size_t depth)
{
    struct shown shown = shown_of(row);

    return depth < shown.last - shown.first
               ? &row->frames[shown.last - 1 - depth]
               : NULL;
}

static const char *frame_name(const struct place *place)
{
    const char *mpi = mpi_name(place->function);

    return mpi != NULL ? mpi : place->function;
}

/* A first thread, or one that is in the user's code: others are libraries'. */
static bool is_shown(const struct report_standing *row)
{
    if (row->is_first) {
        return true;
    }
    for (size_t i = 0; i < row->frames_count; i++) {
        if (row->is_users[i]) {
            return true;
        }
    }
    return false;
}

static bool is_stopped(const struct report_standing *row)
{
    return row->state == 'T' || row->state == 't';
}

const struct place *page_users_place(const struct report_standing *row)
{
    for (size_t i = 0; i < row->frames_count; i++) {
        if (row->is_users[i] && row->frames[i].function != NULL) {
            return &row->frames[i];
        }
    }
    return row->frames_count > 0 ? &row->frames[shown_of(row).first] : NULL;
}

void page_frame(const struct page *page, const struct place *place)
{
    char name[256];

    (void)snprintf(name, sizeof(name), "%s",
                   place->function == NULL ? "?" : frame_name(place));
    name[strcspn(name, "@")] = '\0';
    page_cell(page, name, 60);
    if (place->line > 0 && place->file != NULL) {
        fputs(" (", page->file);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* "runs", "waits in read of /a/b", "is stopped" */
static void put_state(const struct page *page,
                      const struct report_standing *row)
{
    FILE *file = page->file;

    if (is_stopped(row)) {
        fputs("is stopped", file);
    } else if (row->state == 'R') {
        fputs("runs", file);
    } else if (row->lock != 0) {
        fprintf(file, "waits for a lock of thread %u", row->owner);
    } else {
        fputs(row->state == 'D' ? "waits for a disk or the kernel" : "waits",
              file);
        if (row->call[0] != '\0') {
            fputs(" in ", file);
            page_cell(page, row->call, 30);
        }
    }
    if (row->file[0] != '\0') {
        fputs(" of ", file);
        page_cell(page, row->file, 0);
    }
}

/* ---- sentences ---------------------------------------------------------- */

static void put_where(const struct page *page,
                      const struct report_standing *row)
{
    const struct place *place = page_users_place(row);

    fprintf(page->file, "%s ", page_who(page, row->rank).text);
    put_state(page, row);
    if (place != NULL) {
        fputs(", in ", page->file);
        page_frame(page, place);
    }
}

static bool has_rank(const int32_t *ranks, size_t count, int32_t rank)
{
    for (size_t i = 0; i < count; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* It waits in a call that is in a sentence already. */
static bool is_waiting(const struct report *report, int32_t rank)
{
    for (size_t i = 0; i < report->impasses_count; i++) {
        const struct report_impasse *still = &report->impasses[i];

        if (has_rank(still->ranks, still->waited, rank)) {
            return true;
        }
    }
    for (size_t i = 0; i < report->awaited_count; i++) {
        const struct report_awaited *awaited = &report->awaited[i];

        if (has_rank(awaited->ranks, awaited->ranks_count, rank)) {
            return true;
        }
    }
    return false;
}

/* Some rank waits for that rank. */
static bool is_awaited(const struct report *report, int32_t rank)
{
    for (size_t i = 0; i < report->impasses_count; i++) {
        const struct report_impasse *still = &report->impasses[i];

        if (has_rank(still->ranks + still->waited + still->died, still->absent,
                     rank)) {
            return true;
        }
    }
    for (size_t i = 0; i < report->awaited_count; i++) {
        if (report->awaited[i].peer == rank) {
            return true;
        }
    }
    return false;
}

/* A sentence of one thread, in lines. */
typedef void (*sentence_f)(const struct page *page,
                           const struct report_standing *row);

static void put_sentence(const struct page *page,
                         const struct report_standing *row,
                         sentence_f sentence,
                         int indent)
{
    struct page inner = *page;
    char *text = NULL;
    size_t length;

    inner.file = xmemstream(&text, &length);
    sentence(&inner, row);
    (void)fclose(inner.file);
    if (length > 0) {
        page_alarm(page, text, indent);
    }
    free(text);
}

/* Where those are that others wait for, and those that are stopped. */
static void put_culprits(const struct page *page, int indent)
{
    const struct report *report = page->report;
    size_t count = 0;

    for (size_t i = 0; i < report->standings_count && count < PAGE_ROWS; i++) {
        const struct report_standing *row = &report->standings[i];

        if (row->is_first &&
            (is_stopped(row) || (is_awaited(report, row->rank) &&
                                 !is_waiting(report, row->rank)))) {
            put_sentence(page, row, put_where, indent);
            count++;
        }
    }
}

/* The thread of the same process that holds the lock; NULL = not seen. */
static const struct report_standing *
holder_of(const struct report *report, const struct report_standing *row)
{
    for (size_t i = 0; row->lock != 0 && i < report->standings_count; i++) {
        const struct report_standing *other = &report->standings[i];

        if (other->process == row->process && other->tid == row->owner) {
            return other;
        }
    }
    return NULL;
}

/* How many threads wait for each other's locks in a circle from that one on; 0
 * = they do not. Printed once: by the one with the lowest number. */
static size_t circle_of(const struct report *report,
                        const struct report_standing *row)
{
    const struct report_standing *at = row;
    size_t count = 0;

    do {
        at = holder_of(report, at);
        count++;
    } while (at != NULL && at != row && at->tid > row->tid &&
             count < CIRCLE_MAX);
    return at == row ? count : 0;
}

static void put_thread(const struct page *page,
                       const struct report_standing *row)
{
    const struct place *place = page_users_place(row);

    fprintf(page->file, "thread %u", row->tid);
    if (place != NULL) {
        fputs(" in ", page->file);
        page_frame(page, place);
    }
}

static void put_lock(const struct page *page, const struct report_standing *row)
{
    const struct report_standing *holder = holder_of(page->report, row);
    size_t circle = circle_of(page->report, row);
    const struct report_standing *at = row;

    if (circle == 0 && (holder == NULL || holder->lock != 0)) {
        return;
    }
    fprintf(page->file, "%s: ", page_who(page, row->rank).text);
    put_thread(page, row);
    if (circle == 0) {
        fputs(" waits for a lock that is held by ", page->file);
        put_thread(page, holder);
        fputs(", which ", page->file);
        put_state(page, holder);
    }
    for (size_t i = 1; i < circle; i++) {
        at = holder_of(page->report, at);
        fputs(" and ", page->file);
        put_thread(page, at);
    }
    if (circle > 0) {
        fputs(circle == 1 ? " waits for a lock that it holds itself: a deadlock"
                          : " wait for locks that the other holds: a deadlock",
              page->file);
    }
}

static void put_locks(const struct page *page, int indent)
{
    const struct report *report = page->report;
    size_t count = 0;

    for (size_t i = 0; i < report->standings_count && count < PAGE_ROWS; i++) {
        if (report->standings[i].lock != 0) {
            put_sentence(page, &report->standings[i], put_lock, indent);
            count++;
        }
    }
}

/* ---- the tree ----------------------------------------------------------- */

struct tree {
    const struct page *page;
    const struct report_standing **rows;
    int32_t *ranks; /* room for one each */
    size_t lines;
};

static int text_order(const char *a, const char *b)
{
    if (a == b) {
        return 0;
    }
    if (a == NULL || b == NULL) {
        return a == NULL ? -1 : 1;
    }
    return strcmp(a, b);
}

static int frame_order(const struct place *a, const struct place *b)
{
    int order;

    if (a == NULL || b == NULL) {
        return (a != NULL) - (b != NULL);
    }
    order = text_order(frame_name(a), frame_name(b));
    if (order == 0) {
        order = text_order(a->file, b->file);
    }
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_path(const void *a, const void *b)
{
    const struct report_standing *left =
        *(const struct report_standing *const *)a;
    const struct report_standing *right =
        *(const struct report_standing *const *)b;

    for (size_t depth = 0;; depth++) {
        const struct place *one = frame_at(left, depth);
        const struct place *two = frame_at(right, depth);
        int order = frame_order(one, two);

        if (order != 0) {
            return order;
        }
        if (one == NULL) {
            return left->rank != right->rank
                       ? (left->rank > right->rank) - (left->rank < right->rank)
                       : (left->tid > right->tid) - (left->tid < right->tid);
        }
    }
}

CK_ORDER(by_number, int32_t, CK_LESS(*a, *b))

/* The ranks of some rows, each once, in tree->ranks. */
static size_t ranks_of(const struct tree *tree,
                       const struct report_standing **rows,
                       size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        tree->ranks[i] = rows[i]->rank;
    }
    qsort(tree->ranks, count, sizeof(*tree->ranks), by_number);
    for (size_t i = 0; i < count; i++) {
        if (used == 0 || tree->ranks[used - 1] != tree->ranks[i]) {
            tree->ranks[used++] = tree->ranks[i];
        }
    }
    return used;
}

/* Rows from the first on that have the same frame at that depth. */
static size_t
alike(const struct report_standing **rows, size_t count, size_t depth)
{
    size_t n = 1;

    while (n < count && frame_order(frame_at(rows[0], depth),
                                    frame_at(rows[n], depth)) == 0) {
        n++;
    }
    return n;
}

/* "ranks 0, 2 and 3", "rank 1, 3 threads" */
static void put_ranks(const struct tree *tree,
                      const struct report_standing **rows,
                      size_t count)
{
    size_t ranks = ranks_of(tree, rows, count);
    FILE *file = tree->page->file;

    if (ranks == 1) {
        fputs(page_who(tree->page, rows[0]->rank).text, file);
    } else {
        page_ranks(file, tree->ranks, ranks);
    }
    if (count > ranks) {
        fprintf(file, ", %zu threads", count);
    } else if (count == 1 && !rows[0]->is_first) {
        fprintf(file, ", thread %u", rows[0]->tid);
        if (rows[0]->name[0] != '\0') {
            fputs(" (", file);
            page_cell(tree->page, rows[0]->name, 20);
            fputc(')', file);
        }
    }
}

/* What they do, if all do the same; and how it is known. */
static void put_leaf(const struct tree *tree,
                     const struct report_standing **rows,
                     size_t count)
{
    FILE *file = tree->page->file;
    bool is_same = true;

    for (size_t i = 1; i < count; i++) {
        is_same = is_same && rows[i]->state == rows[0]->state &&
                  rows[i]->lock == rows[0]->lock &&
                  strcmp(rows[i]->call, rows[0]->call) == 0 &&
                  strcmp(rows[i]->file, rows[0]->file) == 0;
    }
    fprintf(file, " %s ", page_dot(tree->page));
    if (is_same) {
        put_state(tree->page, rows[0]);
    } else {
        fputs("some run, some wait", file);
    }
    if (strcmp(rows[0]->how, "part") == 0) {
        fputs(" (its outer callers are not known)", file);
    } else if (strcmp(rows[0]->how, "call") == 0) {
        fputs(" (by its call)", file);
    } else if (strcmp(rows[0]->how, "refused") == 0 ||
               rows[0]->frames_count == 0) {
        fputs(strcmp(rows[0]->how, "refused") == 0
                  ? " (its stack may not be read)"
                  : " (no sample of it)",
              file);
    } else if (rows[0]->age > 0) {
        fprintf(file, " (sampled %s before)", word_time(rows[0]->age).text);
    }
}

/* The frames that all rows have from `depth` on; the depth behind them. */
static size_t put_chain(const struct tree *tree,
                        const struct report_standing **rows,
                        size_t count,
                        size_t depth)
{
    FILE *file = tree->page->file;
    size_t end = depth;

    while (frame_at(rows[0], end) != NULL && alike(rows, count, end) == count) {
        end++;
    }
    for (size_t i = depth; i < end; i++) {
        if (end - depth > CHAIN_MAX && i == depth + CHAIN_MAX / 2) {
            i = end - CHAIN_MAX / 2;
            fputs(" > ...", file);
        }
        fputs(i > depth ? " > " : ": ", file);
        page_frame(tree->page, frame_at(rows[0], i));
    }
    return end;
}

static void put_branch(struct tree *tree,
                       const struct report_standing **rows,
                       size_t count,
                       size_t depth,
                       int indent);

/* Where the branches begin among the rows; the branches of few ranks first. */
struct branch {
    size_t first, count, ranks;
};

CK_ORDER(by_ranks, struct branch, CK_UP(ranks) ?: CK_UP(first))

static void put_branches(struct tree *tree,
                         const struct report_standing **rows,
                         size_t count,
                         size_t depth,
                         int indent)
{
    struct branch *branches = xcalloc(count, sizeof(*branches));
    size_t used = 0;

    for (size_t at = 0; at < count; used++) {
        size_t n = alike(rows + at, count - at, depth);

        branches[used] = (struct branch){at, n, ranks_of(tree, rows + at, n)};
        at += n;
    }
    qsort(branches, used, sizeof(*branches), by_ranks);
    for (size_t i = 0; i < used; i++) {
        put_branch(tree, rows + branches[i].first, branches[i].count, depth,
                   indent);
    }
    free(branches);
}

/* A line, and what is below it. */
static void put_branch(struct tree *tree,
                       const struct report_standing **rows,
                       size_t count,
                       size_t depth,
                       int indent)
{
    struct page inner = *tree->page;
    struct tree line = *tree;
    char *text = NULL;
    size_t length, end;
    bool is_leaf;

    if (tree->lines++ >= LINES_MAX) {
        return;
    }
    inner.file = xmemstream(&text, &length);
    line.page = &inner;
    put_ranks(&line, rows, count);
    end = put_chain(&line, rows, count, depth);
    is_leaf =
        frame_at(rows[0], end) == NULL && alike(rows, count, end) == count;
    if (is_leaf) {
        put_leaf(&line, rows, count);
    }
    (void)fclose(inner.file);
    fprintf(tree->page->file, "%*s", indent, "");
    page_wrap(tree->page, text, indent, indent + 4);
    fputc('\n', tree->page->file);
    free(text);
    if (!is_leaf) {
        put_branches(tree, rows, count, end, indent + 2);
    }
}

/* What the lack of rights kept from being seen. */
static void put_refused(const struct page *page)
{
    const struct report *report = page->report;
    size_t refused = 0;

    for (size_t i = 0; i < report->standings_count; i++) {
        refused += strcmp(report->standings[i].how, "refused") == 0;
    }
    if (refused > 0) {
        fprintf(page->file,
                "   %zu stack%s may not be read: kernel.yama.ptrace_scope, "
                "seccomp, or another user\n",
                refused, word_s(refused));
    }
}

static void put_tree(struct tree *tree, size_t count, size_t others)
{
    FILE *file = tree->page->file;

    qsort(tree->rows, count, sizeof(*tree->rows), by_path);
    fprintf(file,
            "%s STACKS%s      %zu thread%s, the first caller first; nothing "
            "was stopped, no signal was sent\n",
            page_bold(tree->page), page_normal(tree->page), count,
            word_s(count));
    put_branches(tree, tree->rows, count, 0, 3);
    if (tree->lines > LINES_MAX) {
        fprintf(file, "   and %zu more lines (report.json has all)\n",
                tree->lines - LINES_MAX);
    }
    put_refused(tree->page);
    if (others > 0) {
        fprintf(file, "   %zu more thread%s only in code of libraries\n",
                others, others == 1 ? " is" : "s are");
    }
}

void page_standings(const struct page *page, int indent)
{
    if (page->report->standings_count > 0) {
        put_culprits(page, indent);
        put_locks(page, indent);
    }
}

void page_standing_stacks(const struct page *page)
{
    const struct report *report = page->report;
    size_t room = report->standings_count + 1;
    struct tree tree = {.page = page,
                        .rows = xcalloc(room, sizeof(*tree.rows)),
                        .ranks = xcalloc(room, sizeof(*tree.ranks))};
    size_t count = 0;

    for (size_t i = 0; tree.rows != NULL && i < report->standings_count; i++) {
        if (is_shown(&report->standings[i])) {
            tree.rows[count++] = &report->standings[i];
        }
    }
    if (tree.ranks != NULL && count > 0) {
        put_tree(&tree, count, report->standings_count - count);
    }
    free(tree.rows);
    free(tree.ranks);
}
