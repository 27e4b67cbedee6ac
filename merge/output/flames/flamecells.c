/* flamecells.c - time by stack and by instant, in bounded memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/flames/flamecells.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
/* Paths that are remembered. */
#define KNOWN 4096
/* A sum is put before so many others of its path at most. */
#define BEHIND 64

/* Of the path of stacks without room: no pointer and no rank is like that. */
static const struct table_key others = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* A path that came lately, with time that is not yet in its sum. */
struct known_path {
    struct table_key key;
    ck_time_t ns;
    uint32_t cell;   /* a wide one */
    uint32_t number; /* and 1; 0 = unused */
    enum flame_kind kind;
};

/* The sums of a path, by cell: most pieces come in the order of time. */
struct path_sums {
    struct path_sum {
        int64_t cell; /* a wide one */
        ck_time_t ns;
    } * all;
    size_t count, room;
};

/* Sums that came so late that many others would have to make room. */
struct late_sums {
    struct table *pairs; /* kind and path, wide cell */
    ck_time_t *ns;       /* by number of the pair */
    size_t count, room;
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
    ck_time_t *times[FLAME_KINDS];       /* by cell */
    struct path_sums *sums[FLAME_KINDS]; /* by path */
    size_t sums_paths[FLAME_KINDS], sums_room[FLAME_KINDS];
    struct late_sums late;
    size_t sums_count; /* with those that came late */
    struct now now;
    struct known_path known[KNOWN];
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
    cells->late.pairs = table_create();
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        cells->paths[kind] = table_create();
    }
    return cells;
}

static void late_fini(struct late_sums *late)
{
    table_destroy(late->pairs);
    free(late->ns);
}

void flamecells_destroy(struct flamecells *cells)
{
    if (cells == NULL) {
        return;
    }
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        table_destroy(cells->paths[kind]);
        free(cells->times[kind]);
        for (size_t i = 0; i < cells->sums_paths[kind]; i++) {
            free(cells->sums[kind][i].all);
        }
        free(cells->sums[kind]);
    }
    late_fini(&cells->late);
    free(cells);
}

static struct path_sums *
path_sums(struct flamecells *cells, enum flame_kind kind, size_t path)
{
    while (path >= cells->sums_paths[kind]) {
        array_grow(&cells->sums[kind], &cells->sums_room[kind],
                   cells->sums_paths[kind], sizeof(*cells->sums[kind]));
        cells->sums[kind][cells->sums_paths[kind]++] = (struct path_sums){0};
    }
    return &cells->sums[kind][path];
}

/* Add to a sum that came late. True = it is new. */
static bool late_add(struct late_sums *late,
                     enum flame_kind kind,
                     uint32_t path,
                     int64_t cell,
                     ck_time_t ns)
{
    int64_t number = table_number_of(late->pairs, (uint64_t)kind << 32 | path,
                                     (uint64_t)cell, 0);
    bool is_new = (size_t)number == late->count;

    if (is_new) {
        array_grow(&late->ns, &late->room, late->count, sizeof(*late->ns));
        late->ns[late->count++] = 0;
    }
    late->ns[number] += ns;
    return is_new;
}

/* Add to the sum of a path and a wide cell. */
static void sum_put(struct flamecells *cells,
                    enum flame_kind kind,
                    uint32_t path,
                    int64_t cell,
                    ck_time_t ns)
{
    struct path_sums *sums = path_sums(cells, kind, path);
    size_t at = array_until_late(sums->all, sums->count, sizeof(*sums->all),
                                 offsetof(struct path_sum, cell), cell);

    if (at > 0 && sums->all[at - 1].cell == cell) {
        sums->all[at - 1].ns += ns;
        return;
    }
    if (sums->count - at > BEHIND) {
        cells->sums_count += late_add(&cells->late, kind, path, cell, ns);
        return;
    }
    array_grow(&sums->all, &sums->room, sums->count, sizeof(*sums->all));
    memmove(&sums->all[at + 1], &sums->all[at],
            (sums->count - at) * sizeof(*sums->all));
    sums->all[at] = (struct path_sum){cell, ns};
    sums->count++;
    cells->sums_count++;
}

/* Join so many cells of a path. */
static void path_join(struct path_sums *sums, int64_t factor)
{
    size_t kept = 0;

    for (size_t i = 0; i < sums->count; i++) {
        struct path_sum sum = {sums->all[i].cell / factor, sums->all[i].ns};

        if (kept > 0 && sums->all[kept - 1].cell == sum.cell) {
            sums->all[kept - 1].ns += sum.ns;
        } else {
            sums->all[kept++] = sum;
        }
    }
    sums->count = kept;
}

/* Join wide cells, so that there are fewer sums. */
static void widen(struct flamecells *cells)
{
    size_t factor =
        next_factor(cells->width * (ck_time_t)cells->wide, cells->column);
    struct late_sums late = cells->late;

    cells->sums_count = 0;
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        for (size_t i = 0; i < cells->sums_paths[kind]; i++) {
            path_join(&cells->sums[kind][i], (int64_t)factor);
            cells->sums_count += cells->sums[kind][i].count;
        }
    }
    cells->late = (struct late_sums){.pairs = table_create()};
    for (size_t i = 0; i < late.count; i++) {
        struct table_key key = table_key(late.pairs, i);

        sum_put(cells, (enum flame_kind)(key.a >> 32), (uint32_t)key.a,
                (int64_t)(key.b / factor), late.ns[i]);
    }
    late_fini(&late);
    for (size_t i = 0; i < KNOWN; i++) {
        cells->known[i].cell /= (uint32_t)factor;
    }
    cells->wide *= factor;
    cells->now = (struct now){.part = {0, 0}};
}

/* Put its time into its sum. */
static void known_put(struct flamecells *cells, struct known_path *known)
{
    ck_time_t ns = known->ns;

    if (ns == 0) {
        return;
    }
    known->ns = 0;
    sum_put(cells, known->kind, known->number - 1, known->cell, ns);
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

/* The path, without a search for one that came lately. */
static struct known_path *path_known(struct flamecells *cells,
                                     enum flame_kind kind,
                                     const struct table_key *path)
{
    uint64_t hash = (path->a ^ path->b * 31 ^ path->c * 17) + (uint64_t)kind;
    struct known_path *known =
        &cells->known[(hash ^ hash >> 4 ^ hash >> 32) % KNOWN];

    if (known->number != 0 && known->kind == kind && known->key.a == path->a &&
        known->key.b == path->b && known->key.c == path->c) {
        return known;
    }
    known_put(cells, known);
    *known = (struct known_path){
        .key = *path,
        .kind = kind,
        .number = (uint32_t)path_find(cells->paths[kind], *path) + 1};
    return known;
}

/* Look at the cell of an instant. */
static void now_set(struct flamecells *cells, ck_time_t at)
{
    size_t cell;
    ck_time_t start;

    if (at >= cells->now.part.start && at < cells->now.part.end) {
        return;
    }
    cell = (size_t)((at - cells->start) / cells->width);
    start = cells->start + (ck_time_t)cell * cells->width;
    cells->now = (struct now){
        {start, start + cells->width}, cell, (uint32_t)(cell / cells->wide)};
}

/* The time of a piece, or of a point `ns`, in each of its cells. */
static void piece_add(struct flamecells *cells,
                      struct known_path *known,
                      struct region piece,
                      ck_time_t ns)
{
    ck_time_t *times = cells->times[known->kind];
    ck_time_t at = piece.start;

    do {
        ck_time_t end, part;

        now_set(cells, at);
        if (known->cell != cells->now.wide) {
            known_put(cells, known);
            now_set(cells, at);
            known->cell = cells->now.wide;
        }
        end = cells->now.part.end;
        part = end < piece.end ? end - at : piece.end - at;
        part = piece.start == piece.end ? ns : part;
        times[cells->now.cell] += part;
        known->ns += part;
        at = end;
    } while (at < piece.end);
}

void flamecells_add(struct flamecells *cells,
                    enum flame_kind kind,
                    const struct table_key *path,
                    struct region piece,
                    ck_time_t ns)
{
    if (!region_clip(cells->part, &piece.start, &piece.end) || ns <= 0) {
        return;
    }
    if (cells->times[kind] == NULL) {
        cells->times[kind] = xcalloc(cells->count, sizeof(ck_time_t));
    }
    piece_add(cells, path_known(cells, kind, path), piece, ns);
}

void flamecells_finish(struct flamecells *cells)
{
    for (size_t i = 0; i < KNOWN; i++) {
        known_put(cells, &cells->known[i]);
    }
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

/* Sums of a kind, by cell: where each cell begins, as many as come before. */
struct sorting {
    size_t *begins; /* by wide cell */
    struct flame_sum *sums;
    size_t count;
};

static void cells_count(const struct flamecells *cells,
                        enum flame_kind kind,
                        struct sorting *to)
{
    size_t wides = cells->count / cells->wide + 1, before = 0;

    to->begins = xcalloc(wides + 1, sizeof(*to->begins));
    for (size_t path = 0; path < cells->sums_paths[kind]; path++) {
        const struct path_sums *its = &cells->sums[kind][path];

        to->count += its->count;
        for (size_t i = 0; i < its->count; i++) {
            to->begins[its->all[i].cell]++;
        }
    }
    for (size_t i = 0; i <= wides; i++) {
        size_t its = to->begins[i];

        to->begins[i] = before;
        before += its;
    }
}

/* Those that came late, behind all others, which are in order. */
static void late_take(const struct flamecells *cells,
                      enum flame_kind kind,
                      struct sorting *to)
{
    size_t before = to->count;

    for (size_t i = 0; i < cells->late.count; i++) {
        struct table_key key = table_key(cells->late.pairs, i);

        if (key.a >> 32 == (uint64_t)kind) {
            to->sums[to->count++] = (struct flame_sum){
                (uint32_t)key.a, (uint32_t)key.b, cells->late.ns[i]};
        }
    }
    if (to->count > before) {
        qsort(to->sums, to->count, sizeof(*to->sums), by_cell);
    }
}

struct flame_sum *flamecells_sums(const struct flamecells *cells,
                                  enum flame_kind kind,
                                  size_t *count)
{
    struct sorting to = {NULL, NULL, 0};

    cells_count(cells, kind, &to);
    to.sums = xmalloc((to.count + cells->late.count) * sizeof(*to.sums));
    for (size_t path = 0; path < cells->sums_paths[kind]; path++) {
        const struct path_sums *its = &cells->sums[kind][path];

        for (size_t i = 0; i < its->count; i++) {
            to.sums[to.begins[its->all[i].cell]++] = (struct flame_sum){
                (uint32_t)path, (uint32_t)its->all[i].cell, its->all[i].ns};
        }
    }
    late_take(cells, kind, &to);
    free(to.begins);
    *count = to.count;
    return to.sums;
}
