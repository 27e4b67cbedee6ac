/* svgtimeline.c - a row for each rank over time, with its longest waits
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/svg/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/output/svg/svgdraw.h"
#include "merge/output/words.h"
#include "schema/order.h"

#define WIDTH 1200
#define LEFT 90
#define PIXELS (WIDTH - LEFT - 20)
#define TOP 46
#define ROW 14
#define ROWS_MOST 128
#define ARROWS_MOST 200
/* Pixels that a wait has at least where it has an arrow. */
#define ARROW_LEAST 4
#define DEATH_TEXT 96

struct picture {
    struct svg svg;
    struct region part;
    struct lane_items read; /* of the row that is put */
    const struct lanes_row *shown[ROWS_MOST];
    size_t count;
};

/* What a rank is shown by: why its device was idle, else its calls. */
static bool is_better(const struct lanes_row *one, const struct lanes_row *than)
{
    return than == NULL ||
           (one->kind == LANES_IDLE && than->kind != LANES_IDLE);
}

CK_ORDER_POINTERS(by_rank, struct lanes_row, CK_UP(rank))

static void rows_choose(struct picture *picture, const struct lanes *lanes)
{
    size_t count;
    const struct lanes_row *rows = lanes_rows(lanes, &count);

    for (size_t i = 0; i < count; i++) {
        const struct lanes_row *row = &rows[i];
        size_t at = 0;

        if (row->depth > 0 || row->rank == DEFS_RANK_UNKNOWN ||
            (row->kind != LANES_IDLE && row->kind != LANES_CALLS)) {
            continue;
        }
        while (at < picture->count && picture->shown[at]->rank != row->rank) {
            at++;
        }
        if (at == picture->count && at < ROWS_MOST) {
            picture->shown[picture->count++] = row;
        } else if (at < picture->count && is_better(row, picture->shown[at])) {
            picture->shown[at] = row;
        }
    }
    qsort(picture->shown, picture->count, sizeof(picture->shown[0]), by_rank);
}

static double x_of(const struct picture *picture, ck_time_t time)
{
    return LEFT + PIXELS * (double)(time - picture->part.start) /
                      (double)region_length(picture->part);
}

/* The group with most time in each pixel, so that none is left out. */
static void groups_fill(const struct picture *picture,
                        const struct lane_items *lane,
                        const char *groups[PIXELS])
{
    double best[PIXELS];

    for (size_t i = 0; i < PIXELS; i++) {
        groups[i] = NULL;
        best[i] = -1;
    }
    for (size_t i = 0; i < lane->count; i++) {
        double from = x_of(picture, lane->all[i].start) - LEFT;
        double to = x_of(picture, lane->all[i].end) - LEFT;
        int first = from < 0 ? 0 : (int)from;

        for (int at = first; at < PIXELS && (at < to || at == first); at++) {
            double left = from > at ? from : at;
            double right = to < at + 1 ? to : at + 1;

            if (right - left > best[at] && to >= 0) {
                best[at] = right - left;
                groups[at] = svg_group(lane->all[i].class);
            }
        }
    }
}

static void put_row(struct picture *picture, size_t row)
{
    const char *groups[PIXELS];
    double y = TOP + (double)row * ROW;
    char label[32];

    (void)snprintf(label, sizeof(label), "rank %d", picture->shown[row]->rank);
    svg_text(&picture->svg, LEFT - 6, y + 10, "e", label);
    lane_read(&picture->shown[row]->lane, &picture->read);
    groups_fill(picture, &picture->read, groups);
    for (size_t from = 0, to; from < PIXELS; from = to) {
        for (to = from + 1; to < PIXELS && groups[to] == groups[from]; to++) {
        }
        if (groups[from] != NULL) {
            svg_rect(&picture->svg,
                     &(struct svg_box){LEFT + (double)from, y,
                                       (double)(to - from), ROW - 3,
                                       groups[from], NULL});
        }
    }
}

/* The middle of a rank's row; -1 = it has none. */
static double y_of(const struct picture *picture, int32_t rank)
{
    for (size_t i = 0; i < picture->count; i++) {
        if (picture->shown[i]->rank == rank) {
            return TOP + (double)i * ROW + (ROW - 3) / 2.0;
        }
    }
    return -1;
}

/* How a rank ended that did not end well; false = it did, or that is not known.
 */
static bool death_text(char text[DEATH_TEXT],
                       const struct report_rank *rank,
                       ck_time_t zero)
{
    struct word at = word_time(rank->end_time - zero);

    if (rank->end_time == 0) {
        return false;
    }
    if (rank->end == REPORT_END_SIGNAL) {
        (void)snprintf(text, DEATH_TEXT, "%s: signal %d at %s",
                       rank->asked == rank->code ? "ended" : "died", rank->code,
                       at.text);
    } else if (rank->end == REPORT_END_KILLED) {
        (void)snprintf(text, DEATH_TEXT, "killed at %s", at.text);
    } else if (rank->end == REPORT_END_EXITED && rank->code != 0) {
        (void)snprintf(text, DEATH_TEXT, "ended: status %d at %s", rank->code,
                       at.text);
    } else {
        return false;
    }
    return true;
}

/* A mark where a rank died, with how; behind that its row is empty. */
static void put_deaths(struct picture *picture, const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double x = x_of(picture, rank->end_time);
        double y = y_of(picture, rank->number);
        char text[DEATH_TEXT];
        bool is_left = x > LEFT + PIXELS / 2.0;

        if (y < 0 || x > LEFT + PIXELS ||
            !death_text(text, rank, report->whole.start)) {
            continue;
        }
        x = x < LEFT ? LEFT : x;
        svg_rect(&picture->svg, &(struct svg_box){x - 1, y - (ROW - 3) / 2.0, 3,
                                                  ROW - 3, "x", text});
        svg_text(&picture->svg, is_left ? x - 4 : x + 5, y + 4,
                 is_left ? "x e" : "x", text);
    }
}

CK_ORDER_POINTERS(by_length,
                  struct shown_wait,
                  CK_LESS(region_length(b->part), region_length(a->part)))

static void put_arrows(struct picture *picture, struct lanes *lanes)
{
    size_t count;
    const struct shown_wait *waits = lanes_waits(lanes, &count);
    const struct shown_wait **longest =
        xcalloc(count + 1, sizeof(struct shown_wait *));

    for (size_t i = 0; i < count; i++) {
        longest[i] = &waits[i];
    }
    qsort(longest, count, sizeof(struct shown_wait *), by_length);
    for (size_t i = 0; i < count && i < ARROWS_MOST; i++) {
        double x = x_of(picture, longest[i]->part.end);
        double from = y_of(picture, longest[i]->whom);
        double to = y_of(picture, longest[i]->rank);

        if (from >= 0 && to >= 0 && x <= LEFT + PIXELS &&
            x - x_of(picture, longest[i]->part.start) >= ARROW_LEAST) {
            svg_arrow(&picture->svg, x, from, to);
        }
    }
    free(longest);
}

static void put_ruler(struct picture *picture, ck_time_t zero)
{
    for (int i = 0; i <= 4; i++) {
        ck_time_t time =
            picture->part.start + region_length(picture->part) / 4 * i;

        svg_text(&picture->svg, LEFT + PIXELS / 4.0 * i, TOP - 8,
                 i == 4 ? "q e" : "q", word_time(time - zero).text);
    }
}

char *output_svg_timeline(const struct report *report,
                          struct lanes *lanes,
                          size_t *length)
{
    struct picture *picture = xcalloc(1, sizeof(*picture));
    char title[300], *text;

    picture->part =
        region_length(report->region) > 0 ? report->region : lanes_part(lanes);
    rows_choose(picture, lanes);
    svg_open(&picture->svg, WIDTH, TOP + (int)picture->count * ROW + 34,
             "timeline");
    (void)snprintf(title, sizeof(title),
                   "%.150s: why each rank's device was idle, or what it "
                   "called; arrows end where a wait ended",
                   report->name);
    svg_text(&picture->svg, 10, 20, "b", title);
    put_ruler(picture, report->whole.start);
    for (size_t i = 0; i < picture->count; i++) {
        put_row(picture, i);
    }
    put_arrows(picture, lanes);
    put_deaths(picture, report);
    svg_legend(&picture->svg, TOP + (double)picture->count * ROW + 20);
    text = svg_close(&picture->svg, length);
    free(picture->read.all);
    free(picture);
    return text;
}
