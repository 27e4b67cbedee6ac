/* series.c - values of a thing, by cell
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/steps/series.h"

#include <stdlib.h>
#include <string.h>

static size_t cell_bytes(const struct series *series)
{
    return series->is_long ? sizeof(ck_time_t) : sizeof(uint32_t);
}

ck_time_t series_get(const struct series *series, size_t at)
{
    return series->is_long ? ((const ck_time_t *)series->cells)[at]
                           : ((const uint32_t *)series->cells)[at];
}

/* Cells that have room for any time. 0, or -1 with ENOMEM. */
static int series_lengthen(struct series *series)
{
    ck_time_t *cells = malloc(series->room * sizeof(*cells));

    if (cells == NULL) {
        return -1;
    }
    for (size_t i = 0; i < series->count; i++) {
        cells[i] = series_get(series, i);
    }
    free(series->cells);
    series->cells = cells;
    series->is_long = true;
    return 0;
}

/* 0, or -1 with ENOMEM. */
static int cell_set(struct series *series, size_t at, ck_time_t ns)
{
    if (!series->is_long && ns > UINT32_MAX && series_lengthen(series) != 0) {
        return -1;
    }
    if (series->is_long) {
        ((ck_time_t *)series->cells)[at] = ns;
    } else {
        ((uint32_t *)series->cells)[at] = (uint32_t)ns;
    }
    return 0;
}

/* Give back what is not used: each cell is for more time now, so few more are
 * to come. */
static void series_shrink(struct series *series)
{
    void *kept =
        series->count == 0
            ? NULL
            : realloc(series->cells, series->count * cell_bytes(series));

    if (kept != NULL) {
        series->cells = kept;
        series->room = series->count;
    }
}

int series_fold(struct series *series)
{
    size_t count = 0;

    for (size_t k = 0; k < series->count; count++) {
        ck_time_t sum = series_get(series, k);

        k++;
        if (k < series->count && (series->first + k) % 2 == 1) {
            sum += series_get(series, k++);
        }
        if (cell_set(series, count, sum) != 0) {
            return -1;
        }
    }
    series->first /= 2;
    series->count = count;
    series_shrink(series);
    return 0;
}

/* Most of many things have one cell or two; together they are the most memory
 * that an analysis of many ranks needs. */
static int series_room(struct series *series, size_t wanted)
{
    size_t room = series->room + series->room / 4 + 4;
    void *grown;

    if (wanted <= series->room) {
        return 0;
    }
    room = room > wanted ? room : wanted;
    grown = realloc(series->cells, room * cell_bytes(series));
    if (grown == NULL) {
        return -1;
    }
    series->cells = grown;
    series->room = room;
    return 0;
}

/* Room for the cell; the new ones are 0. 0, or -1 with ENOMEM. */
static int series_reach(struct series *series, size_t cell)
{
    size_t first =
        series->count == 0 || cell < series->first ? cell : series->first;
    size_t end = series->first + series->count;
    size_t before = series->count == 0 ? 0 : series->first - first;
    size_t bytes = cell_bytes(series), wanted;
    char *cells;

    end = series->count == 0 || cell >= end ? cell + 1 : end;
    wanted = end - first;
    if (series_room(series, wanted) != 0) {
        return -1;
    }
    cells = series->cells;
    if (before > 0) {
        memmove(cells + before * bytes, cells, series->count * bytes);
        memset(cells, 0, before * bytes);
    }
    memset(cells + (before + series->count) * bytes, 0,
           (wanted - before - series->count) * bytes);
    series->first = first;
    series->count = wanted;
    return 0;
}

size_t series_length(const struct series *series, size_t cell)
{
    size_t end = series->first + series->count;

    if (series->count == 0) {
        return 1;
    }
    if (cell < series->first) {
        return end - cell;
    }
    if (cell >= end) {
        return cell + 1 - series->first;
    }
    return series->count;
}

int series_add(struct series *series, size_t cell, ck_time_t ns)
{
    size_t at;

    if (series_reach(series, cell) != 0) {
        return -1;
    }
    at = cell - series->first;
    return cell_set(series, at, series_get(series, at) + ns);
}

void series_fini(struct series *series)
{
    free(series->cells);
    series->cells = NULL;
    series->count = series->room = 0;
}
