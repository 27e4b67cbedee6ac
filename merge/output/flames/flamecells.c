/* flamecells.c - time by stack and by instant, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/flames/flamecells.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Cells of a column. */
#define ROWS 50
/* Columns that a run has at least, where they are not of the shortest length.
 */
#define COLUMNS 20
#define COLUMN_LONGEST ((ck_time_t)1000000000)
#define COLUMN_SHORTEST ((ck_time_t)1000000)
/* Pairs whose place is remembered. */
#define KNOWN 1024

/* Of the path of stacks without room: no pointer and no rank is like that. */
static const struct table_key others = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

struct known_path {
    struct table_key key;
    enum flame_kind kind;
    uint32_t number; /* and 1; 0 = unused */
};

/* The sum that a path was added to last. */
struct known {
    uint64_t pair;   /* kind, path */
    uint32_t cell;   /* a wide one */
    uint32_t number; /* of the sum, and 1; 0 = unused */
};

/* The cell that was added to last. */
struct now {
    struct region part;
    size_t cell;
    uint32_t wide;
};

struct flamecells {
    struct region part;
    ck_time_t start; /* of the first cell */
    ck_time_t column;
    ck_time_t width;
    size_t count;
    size_t wide; /* cells of a wide one */
    struct table *paths[FLAME_KINDS];
    ck_time_t *times[FLAME_KINDS]; /* by cell */
    struct table *pairs;           /* kind and path, wide cell */
    ck_time_t *sums;               /* by number of the pair */
    size_t sums_count, sums_room;
    struct now now;
    struct known known[KNOWN];
    struct known_path known_paths[KNOWN];
};

/* Cells of a column are joined by 2, 5 and 5, so that a column has a whole
 * number of them; then by 2. */
static size_t next_factor(ck_time_t width, ck_time_t column)
{
    ck_time_t rows = width < column ? column / width : 1;

    return rows > 1 && rows % 2 != 0 ? 5 : 2;
}

static ck_time_t column_of(ck_time_t length)
{
    ck_time_t column = COLUMN_LONGEST;

    while (column > COLUMN_SHORTEST && length / column < COLUMNS) {
        column /= 10;
    }
    return column;
}

/* The last multiple at or before a time. */
static ck_time_t multiple_before(ck_time_t time, ck_time_t of)
{
    ck_time_t rest = time % of;

    return time - (rest < 0 ? rest + of : rest);
}

struct flamecells *flamecells_create(struct region part, int64_t realtime)
{
    struct flamecells *cells = xcalloc(1, sizeof(*cells));

    cells->part = part;
    cells->column = column_of(region_length(part));
    cells->width = cells->column / ROWS;
    cells->start =
        multiple_before(part.start + realtime, cells->column) - realtime;
    while ((size_t)((part.end - cells->start) / cells->width) >=
           FLAMECELLS_CELLS) {
        cells->width *= (ck_time_t)next_factor(cells->width, cells->column);
    }
    cells->count = (size_t)((part.end - cells->start) / cells->width) + 1;
    cells->wide = 1;
    cells->pairs = table_create();
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        cells->paths[kind] = table_create();
    }
    return cells;
}

void flamecells_destroy(struct flamecells *cells)
{
    if (cells == NULL) {
        return;
    }
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        table_destroy(cells->paths[kind]);
        free(cells->times[kind]);
    }
    table_destroy(cells->pairs);
    free(cells->sums);
    free(cells);
}

static uint64_t pair_of(enum flame_kind kind, uint32_t path)
{
    return (uint64_t)kind << 32 | path;
}

/* Add to the sum of a pair. Its number. */
static int64_t
pair_add(struct flamecells *cells, uint64_t pair, uint64_t cell, ck_time_t ns)
{
    int64_t number = table_number_of(cells->pairs, pair, cell, 0);

    if ((size_t)number == cells->sums_count) {
        array_grow(&cells->sums, &cells->sums_room, cells->sums_count,
                   sizeof(*cells->sums));
        cells->sums[cells->sums_count++] = 0;
    }
    cells->sums[number] += ns;
    return number;
}

/* Join wide cells, so that there are fewer pairs. */
static void widen(struct flamecells *cells)
{
    size_t factor =
        next_factor(cells->width * (ck_time_t)cells->wide, cells->column);
    struct table *before = cells->pairs;
    ck_time_t *sums = cells->sums;
    size_t count = cells->sums_count;

    cells->pairs = table_create();
    table_reserve(cells->pairs, count);
    cells->sums = NULL;
    cells->sums_count = cells->sums_room = 0;
    for (size_t i = 0; i < KNOWN; i++) {
        cells->known[i].number = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct table_key key = table_key(before, i);

        pair_add(cells, key.a, key.b / factor, sums[i]);
    }
    cells->wide *= factor;
    cells->now = (struct now){.part = {0, 0}};
    table_destroy(before);
    free(sums);
}

static void
sum_add(struct flamecells *cells, uint64_t pair, uint32_t wide, ck_time_t ns)
{
    struct known *known = &cells->known[(pair ^ pair >> 32) % KNOWN];
    int64_t number;

    if (known->number != 0 && known->pair == pair && known->cell == wide) {
        cells->sums[known->number - 1] += ns;
        return;
    }
    number = pair_add(cells, pair, wide, ns);
    *known = (struct known){pair, wide, (uint32_t)number + 1};
    while (cells->sums_count > FLAMECELLS_SUMS && cells->wide < cells->count) {
        widen(cells);
    }
}

/* Number of the path. */
static int64_t path_find(struct table *paths, struct table_key path)
{
    if (table_count(paths) + 1 >= FLAMECELLS_PATHS && !table_has(paths, path)) {
        return table_number(paths, others);
    }
    return table_number(paths, path);
}

/* The same, without a search for one that came lately. */
static int64_t path_number(struct flamecells *cells,
                           enum flame_kind kind,
                           const struct table_key *path)
{
    uint64_t hash = (path->a ^ path->b * 31 ^ path->c * 17) + (uint64_t)kind;
    struct known_path *known =
        &cells->known_paths[(hash ^ hash >> 4 ^ hash >> 32) % KNOWN];
    int64_t number;

    if (known->number != 0 && known->kind == kind && known->key.a == path->a &&
        known->key.b == path->b && known->key.c == path->c) {
        return known->number - 1;
    }
    number = path_find(cells->paths[kind], *path);
    *known = (struct known_path){*path, kind, (uint32_t)number + 1};
    return number;
}

/* The cell of an instant. */
static void now_set(struct flamecells *cells, ck_time_t at)
{
    size_t cell = (size_t)((at - cells->start) / cells->width);
    ck_time_t start = cells->start + (ck_time_t)cell * cells->width;

    cells->now = (struct now){
        {start, start + cells->width}, cell, (uint32_t)(cell / cells->wide)};
}

/* The time of a piece, or of a point `ns`, in each of its cells. */
static void piece_add(struct flamecells *cells,
                      uint64_t pair,
                      struct region piece,
                      ck_time_t ns)
{
    ck_time_t *times = cells->times[pair >> 32];
    ck_time_t at = piece.start;

    do {
        ck_time_t end, part;

        if (at < cells->now.part.start || at >= cells->now.part.end) {
            now_set(cells, at);
        }
        end = cells->now.part.end;
        part = end < piece.end ? end - at : piece.end - at;
        part = piece.start == piece.end ? ns : part;
        times[cells->now.cell] += part;
        sum_add(cells, pair, cells->now.wide, part);
        at = end;
    } while (at < piece.end);
}

void flamecells_add(struct flamecells *cells,
                    enum flame_kind kind,
                    const struct table_key *path,
                    struct region piece,
                    ck_time_t ns)
{
    int64_t number;

    if (!region_clip(cells->part, &piece.start, &piece.end) || ns <= 0) {
        return;
    }
    if (cells->times[kind] == NULL) {
        cells->times[kind] = xcalloc(cells->count, sizeof(ck_time_t));
    }
    number = path_number(cells, kind, path);
    piece_add(cells, pair_of(kind, (uint32_t)number), piece, ns);
}

/* ---- what there is ------------------------------------------------------ */

ck_time_t flamecells_start(const struct flamecells *cells)
{
    return cells->start;
}

ck_time_t flamecells_column(const struct flamecells *cells)
{
    return cells->column;
}

ck_time_t flamecells_width(const struct flamecells *cells)
{
    return cells->width;
}

size_t flamecells_count(const struct flamecells *cells)
{
    return cells->count;
}

const ck_time_t *flamecells_times(const struct flamecells *cells,
                                  enum flame_kind kind)
{
    return cells->times[kind];
}

size_t flamecells_wide(const struct flamecells *cells)
{
    return cells->wide;
}

size_t flamecells_paths(const struct flamecells *cells, enum flame_kind kind)
{
    return table_count(cells->paths[kind]);
}

bool flamecells_path(const struct flamecells *cells,
                     enum flame_kind kind,
                     size_t path,
                     struct table_key *key)
{
    *key = table_key(cells->paths[kind], path);
    return key->a != others.a || key->b != others.b || key->c != others.c;
}

CK_ORDER(by_cell, struct flame_sum, CK_UP(cell) ?: CK_UP(path))

struct flame_sum *flamecells_sums(const struct flamecells *cells,
                                  enum flame_kind kind,
                                  size_t *count)
{
    struct flame_sum *sums = xcalloc(cells->sums_count + 1, sizeof(*sums));

    *count = 0;
    for (size_t i = 0; i < cells->sums_count; i++) {
        struct table_key key = table_key(cells->pairs, i);

        if (key.a >> 32 == (uint64_t)kind) {
            sums[(*count)++] = (struct flame_sum){
                (uint32_t)key.a, (uint32_t)key.b, cells->sums[i]};
        }
    }
    qsort(sums, *count, sizeof(*sums), by_cell);
    return sums;
}
