/* svgsteps.c - a cell for each step and rank: how long, against the median
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/svg/svg.h"

#include <stdio.h>

#include "merge/output/svg/svgdraw.h"
#include "merge/output/words.h"

#define WIDTH 1100
#define LEFT 90
#define TOP 46
#define COLUMNS_MOST 1000
#define ROWS_MOST 128
/* Times of the median that have the darkest colour. */
#define DARKEST 2

static const char *const heats[SVG_HEATS] = {"h0", "h1", "h2", "h3",
                                             "h4", "h5", "h6"};

static const char *heat_of(ck_time_t ns, ck_time_t median)
{
    double part = median > 0 ? (double)ns / (double)median / DARKEST : 0;
    int at = (int)(part * SVG_HEATS);

    if (ns < 0) {
        return "none";
    }
    return heats[at >= SVG_HEATS ? SVG_HEATS - 1 : at];
}

/* What rows there are: every rank, or of larger jobs the slowest and the
 * fastest one of each step. */
static size_t rows_of(const struct report *report)
{
    return report->table.count > 0 && report->table.items[0].lengths != NULL &&
                   report->ranks_count <= ROWS_MOST
               ? report->ranks_count
               : 2;
}

static ck_time_t
length_of(const struct report_step *step, size_t row, bool has_ranks)
{
    if (has_ranks) {
        return step->lengths == NULL ? -1 : step->lengths[row];
    }
    return row == 0 ? step->longest : step->shortest;
}

/* The longest of the steps that one column shows. */
static ck_time_t
column_of(const struct report *report, size_t row, size_t first, size_t behind)
{
    bool has_ranks = rows_of(report) == report->ranks_count &&
                     report->table.items[0].lengths != NULL;
    ck_time_t most = -1;

    for (size_t i = first; i < behind; i++) {
        ck_time_t ns = length_of(&report->table.items[i], row, has_ranks);

        most = ns > most ? ns : most;
    }
    return most;
}

static void put_row(struct svg *svg, const struct report *report, size_t row)
{
    size_t count = report->table.count;
    size_t columns = count < COLUMNS_MOST ? count : COLUMNS_MOST;
    double width = (double)(WIDTH - LEFT - 20) / (double)columns;
    double y = TOP + (double)row * 16;

    for (size_t k = 0; k < columns; k++) {
        size_t first = k * count / columns;
        size_t behind = (k + 1) * count / columns;
        ck_time_t ns = column_of(report, row, first, behind);
        char tip[160];

        (void)snprintf(tip, sizeof(tip), "step %lld: %s",
                       (long long)report->table.items[first].number,
                       ns < 0 ? "none" : word_time(ns).text);
        svg_rect(svg,
                 &(struct svg_box){LEFT + (double)k * width, y,
                                   width > 3 ? width - 1 : width, 15,
                                   heat_of(ns, report->table.median), tip});
    }
}

static void put_labels(struct svg *svg, const struct report *report)
{
    size_t rows = rows_of(report);
    bool has_ranks = rows == report->ranks_count;

    for (size_t row = 0; row < rows; row++) {
        char label[32];

        if (has_ranks) {
            (void)snprintf(label, sizeof(label), "rank %d",
                           report->ranks[row].number);
        } else {
            (void)snprintf(label, sizeof(label), "%s",
                           row == 0 ? "slowest rank" : "fastest rank");
        }
        svg_text(svg, LEFT - 6, TOP + (double)row * 16 + 12, "e", label);
    }
}

char *output_svg_steps(const struct report *report, size_t *length)
{
    size_t rows = report->table.count > 0 ? rows_of(report) : 0;
    struct svg svg;
    char title[300];

    svg_open(&svg, WIDTH, TOP + (int)rows * 16 + 20, "steps");
    (void)snprintf(title, sizeof(title),
                   rows == 0 ? "%.150s: no steps are known"
                             : "%.150s: time of %zu steps; the median is %s, "
                               "darkest is twice that or more",
                   report->name, report->table.count,
                   word_time(report->table.median).text);
    svg_text(&svg, 10, 22, "b", title);
    if (rows > 0) {
        put_labels(&svg, report);
    }
    for (size_t row = 0; row < rows; row++) {
        put_row(&svg, report, row);
    }
    return svg_close(&svg, length);
}
