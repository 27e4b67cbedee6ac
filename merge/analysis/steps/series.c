/* series.c - values of a thing, by cell
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/steps/series.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

static size_t cell_bytes(const struct series *series)
{
    return series->is_long ? sizeof(ck_time_t) : sizeof(uint32_t);
}

ck_time_t series_get(const struct series *series, size_t at)
{
    return series->is_long ? ((const ck_time_t *)series->cells)[at]
                           : ((const uint32_t *)series->cells)[at];
}

/* Cells that have room for any time. */
static void series_lengthen(struct series *series)
{
    ck_time_t *cells = xmalloc(series->room * sizeof(*cells));

    for (size_t i = 0; i < series->count; i++) {
        cells[i] = series_get(series, i);
    }
    free(series->cells);
    series->cells = cells;
    series->is_long = true;
}

static void cell_set(struct series *series, size_t at, ck_time_t ns)
{
    if (!series->is_long && ns > UINT32_MAX) {
        series_lengthen(series);
    }
    if (series->is_long) {
        ((ck_time_t *)series->cells)[at] = ns;
    } else {
        ((uint32_t *)series->cells)[at] = (uint32_t)ns;
    }
}

/* Give back what is not used: each cell is for more time now, so few more are
 * to come. */
static void series_shrink(struct series *series)
{
    void *kept =
        series->count == 0
            ? NULL
            : xrealloc(series->cells, series->count * cell_bytes(series));

    if (kept != NULL) {
        series->cells = kept;
        series->room = series->count;
    }
}

void series_fold(struct series *series)
{
    size_t count = 0;

    for (size_t k = 0; k < series->count; count++) {
        ck_time_t sum = series_get(series, k);

        k++;
        if (k < series->count && (series->first + k) % 2 == 1) {
            sum += series_get(series, k++);
        }
        cell_set(series, count, sum);
    }
    series->first /= 2;
    series->count = count;
    series_shrink(series);
}

/* Most of many things have one cell or two; together they are the most memory
 * that an analysis of many ranks needs. */
static void series_room(struct series *series, size_t wanted)
{
    size_t room = series->room + series->room / 4 + 4;
    void *grown;

    if (wanted <= series->room) {
        return;
    }
    room = room > wanted ? room : wanted;
    grown = xrealloc(series->cells, room * cell_bytes(series));
    series->cells = grown;
    series->room = room;
}

/* Room for the cell; the new ones are 0. */
static void series_reach(struct series *series, size_t cell)
{
    size_t first =
        series->count == 0 || cell < series->first ? cell : series->first;
    size_t end = series->first + series->count;
    size_t before = series->count == 0 ? 0 : series->first - first;
    size_t bytes = cell_bytes(series), wanted;
    char *cells;

    end = series->count == 0 || cell >= end ? cell + 1 : end;
    wanted = end - first;
    series_room(series, wanted);
    cells = series->cells;
    if (before > 0) {
        memmove(cells + before * bytes, cells, series->count * bytes);
        memset(cells, 0, before * bytes);
    }
    memset(cells + (before + series->count) * bytes, 0,
           (wanted - before - series->count) * bytes);
    series->first = first;
    series->count = wanted;
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

void series_add(struct series *series, size_t cell, ck_time_t ns)
{
    size_t at;

    series_reach(series, cell);
    at = cell - series->first;
    cell_set(series, at, series_get(series, at) + ns);
}

void series_fini(struct series *series)
{
    free(series->cells);
    series->cells = NULL;
    series->count = series->room = 0;
}
