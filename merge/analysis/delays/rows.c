/* rows.c - time by cause: who waited, who is blamed, what they did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/rows.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

#define UNKNOWN UINT32_MAX

/* Rows by key. */
struct keyed {
    struct table *keys;
    uint32_t *rows; /* by number of the key */
    size_t count, room;
};

struct rows {
    const struct defs *defs;   /* borrowed */
    struct lookback *lookback; /* borrowed */
    rows_shown_f is_shown;
    size_t limit;
    struct keyed own;    /* of one rank each */
    struct keyed shared; /* of several */
    struct ledger_row *items;
    size_t count, room;
    struct table *places; /* of calls, by their text */
    uint32_t *place;      /* by activity; UNKNOWN */
    size_t place_count;
};

struct rows *rows_create(const struct defs *defs,
                         struct lookback *lookback,
                         rows_shown_f is_shown,
                         size_t limit)
{
    struct rows *rows = xcalloc(1, sizeof(*rows));

    rows->defs = defs;
    rows->lookback = lookback;
    rows->is_shown = is_shown;
    rows->limit = limit > 0 ? limit : ROWS_MAX;
    rows->own.keys = table_create();
    rows->shared.keys = table_create();
    rows->places = table_create();
    return rows;
}

void rows_destroy(struct rows *rows)
{
    if (rows == NULL) {
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->items[i].more != NULL) {
            free(rows->items[i].more->ranks);
            free(rows->items[i].more->sample);
            free(rows->items[i].more);
        }
    }
    table_destroy(rows->own.keys);
    table_destroy(rows->shared.keys);
    table_destroy(rows->places);
    free(rows->own.rows);
    free(rows->shared.rows);
    free(rows->place);
    free(rows->items);
    free(rows);
}

static struct ledger_row *row_new(struct rows *rows,
                                  const struct ledger_row *what)
{
    struct ledger_row *row;

    array_grow(&rows->items, &rows->room, rows->count, sizeof(*rows->items));
    row = &rows->items[rows->count++];
    *row = *what;
    row->key = ROWS_NO_KEY;
    row->ns = 0;
    row->ended = 0;
    row->count = 0;
    row->error = 0;
    row->wrong = 0;
    row->latest = (struct region){0, 0};
    row->longest = (struct report_piece){{0, 0}, row->rank, row->device};
    row->is_sampled = rows->count <= ROWS_SAMPLED;
    row->more = NULL;
    return row;
}

static struct rows_more *more_of(struct ledger_row *row)
{
    if (row->more == NULL) {
        row->more = xcalloc(1, sizeof(*row->more));
    }
    return row->more;
}

/* ---- pieces of a row ---------------------------------------------------- */

/* A random number below `count`, which is the same in each merge. */
static uint64_t random_below(uint64_t count, ck_time_t start)
{
    uint64_t mixed = (count ^ (uint64_t)start << 20) * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return (mixed ^ mixed >> 31) % count;
}

/* With room for one more, as long as there are to be more. */
static struct rows_sample *sample_grown(struct rows_sample *sample)
{
    uint32_t room = sample == NULL ? 1 : sample->room * 4;
    struct rows_sample *grown =
        xrealloc(sample, sizeof(*sample) + room * sizeof(struct report_piece));

    if (sample == NULL) {
        *grown = (struct rows_sample){.count = 0};
    }
    grown->room = room;
    return grown;
}

/* Each piece has the same chance to be among those that are kept. */
void rows_sample(struct ledger_row *row,
                 struct report_piece piece,
                 bool is_grown)
{
    struct rows_sample *sample;
    uint64_t at;

    if (!row->is_sampled) {
        return;
    }
    sample = more_of(row)->sample;
    if (is_grown && sample != NULL) {
        if (sample->last < ROWS_SAMPLE) {
            sample->pieces[sample->last].part = piece.part;
        }
        return;
    }
    if (sample == NULL ||
        (sample->kept == sample->room && sample->room < ROWS_SAMPLE)) {
        sample = row->more->sample = sample_grown(sample);
    }
    sample->count++;
    at = sample->kept < ROWS_SAMPLE
             ? sample->kept++
             : random_below(sample->count, piece.part.start);
    sample->last = at < ROWS_SAMPLE ? (uint32_t)at : ROWS_SAMPLE;
    if (at < ROWS_SAMPLE) {
        sample->pieces[at] = piece;
    }
}

/* The row of a key, made when there is none. */
static struct ledger_row *keyed_find(struct rows *rows,
                                     struct keyed *keyed,
                                     struct table_key key,
                                     const struct ledger_row *what)
{
    int64_t number = table_number(keyed->keys, key);
    struct ledger_row *row;

    if ((size_t)number < keyed->count) {
        return &rows->items[keyed->rows[number]];
    }
    array_grow(&keyed->rows, &keyed->room, keyed->count, sizeof(*keyed->rows));
    row = row_new(rows, what);
    keyed->rows[keyed->count++] = (uint32_t)(rows->count - 1);
    return row;
}

/* A piece, and how many pieces it represents. */
struct weighed {
    const struct report_piece *piece;
    ck_time_t length;
    double weight;
};

CK_ORDER(by_piece,
         struct weighed,
         CK_UP(length) ?: CK_UP(piece->part.start) ?: CK_UP(piece->rank))

/* The pieces that were kept; returns the sum of their weights. */
static double weights_fill(struct weighed *pieces,
                           const struct ledger_row *const *rows,
                           size_t count)
{
    double whole = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rows_sample *sample = rows_sample_of(rows[i]);

        for (uint32_t k = 0; sample != NULL && k < sample->kept; k++) {
            const struct report_piece *piece = &sample->pieces[k];
            double weight = (double)sample->count / sample->kept;

            *pieces++ =
                (struct weighed){piece, region_length(piece->part), weight};
            whole += weight;
        }
    }
    return whole;
}

struct report_piece rows_typical(const struct ledger_row *const *rows,
                                 size_t count)
{
    struct report_piece typical = {{0, 0}, DEFS_RANK_UNKNOWN, DEFS_NONE};
    struct weighed *pieces;
    double whole, before = 0;
    size_t kept = 0, at = 0;

    for (size_t i = 0; i < count; i++) {
        kept +=
            rows_sample_of(rows[i]) == NULL ? 0 : rows_sample_of(rows[i])->kept;
    }
    pieces = xcalloc(kept + 1, sizeof(*pieces));
    whole = weights_fill(pieces, rows, count);
    qsort(pieces, kept, sizeof(*pieces), by_piece);
    while (at + 1 < kept && before + pieces[at].weight < whole / 2) {
        before += pieces[at++].weight;
    }
    if (kept > 0) {
        typical = *pieces[at].piece;
    }
    free(pieces);
    return typical;
}

/* ---- rows of several ranks ---------------------------------------------- */

/* Activities with the same call from the same place have one number. */
static uint32_t place_number(struct rows *rows, uint32_t did)
{
    struct report_activity activity;
    int64_t number;

    while (rows->place_count <= did) {
        size_t room = rows->place_count;
        uint32_t *grown =
            xrealloc(rows->place, (room * 2 + 64) * sizeof(*grown));

        rows->place = grown;
        rows->place_count = room * 2 + 64;
        memset(grown + room, 0xff, (rows->place_count - room) * sizeof(*grown));
    }
    if (rows->place[did] != UNKNOWN) {
        return rows->place[did];
    }
    activity = lookback_activity_report(rows->lookback, did);
    /* Kept texts: equal ones are one pointer. */
    number = table_number_of(rows->places, (uintptr_t)activity.call,
                             (uintptr_t)activity.place.file,
                             (uintptr_t)activity.place.function ^
                                 (uint64_t)activity.place.line << 48);
    rows->place[did] = (uint32_t)number;
    return rows->place[did];
}

static void rank_mark(const struct rows *rows,
                      struct ledger_row *row,
                      const struct ledger_row *what)
{
    uint32_t index = defs_rank_index(rows->defs, what->rank);
    uint8_t *ranks = more_of(row)->ranks;

    if (ranks == NULL) {
        ranks = xcalloc(rows->defs->ranks_count / 8 + 1, 1);
        row->more->ranks = ranks;
    }
    if (index != DEFS_NONE) {
        ranks[index / 8] |= (uint8_t)(1 << index % 8);
    }
    if (what->rank < row->rank) {
        row->rank = what->rank;
        row->device = what->device;
    }
}

/* The row of all that waited like this. */
static struct ledger_row *shared_find(struct rows *rows,
                                      const struct ledger_row *what)
{
    uint32_t place =
        what->did == DEFS_NONE ? UNKNOWN - 1 : place_number(rows, what->did);
    /* With as many of these, the ranks in between are left out too. */
    int32_t last = rows->shared.count < rows->limit ? what->last : what->blamed;
    struct ledger_row *row;

    row = keyed_find(
        rows, &rows->shared,
        (struct table_key){
            (uint64_t)(uint32_t)what->blamed << 32 | what->blamed_did,
            (uint64_t)place << 32 | (uint64_t)what->wait << 8 |
                (uint64_t)what->is_start << 1 |
                (uint64_t)rows->is_shown(rows->defs, what->device),
            (uint32_t)last},
        what);
    rank_mark(rows, row, what);
    return row;
}

/* ---- the whole ---------------------------------------------------------- */

struct ledger_row *rows_find(struct rows *rows, const struct ledger_row *what)
{
    struct table_key key = {
        (uint64_t)what->device << 40 | (uint64_t)(what->last & 0xffffff) << 16 |
            (uint64_t)what->wait << 8 | (uint64_t)what->is_start << 7 |
            (uint64_t)what->cause,
        (uint64_t)what->did << 32 | what->blamed_did,
        (uint64_t)(uint32_t)what->rank << 32 | (uint32_t)what->blamed};
    int64_t number;

    if (what->cause != CAUSE_MPI_WAIT || rows->count < rows->limit) {
        return keyed_find(rows, &rows->own, key, what);
    }
    number = table_find(rows->own.keys, key);
    return number < 0 ? shared_find(rows, what)
                      : &rows->items[rows->own.rows[number]];
}

/* Would rows_find() find it for that? */
static bool is_row(const struct ledger_row *row, const struct ledger_row *what)
{
    return !rows_has_ranks(row) && row->device == what->device &&
           row->cause == what->cause && row->rank == what->rank &&
           row->wait == what->wait && row->last == what->last &&
           row->blamed == what->blamed && row->did == what->did &&
           row->blamed_did == what->blamed_did &&
           row->is_start == what->is_start;
}

struct ledger_row *rows_again(struct rows *rows,
                              const struct ledger_row *what,
                              uint32_t last[ROWS_LAST])
{
    struct ledger_row *row;

    for (size_t i = 0; i < ROWS_LAST && last[i] > 0; i++) {
        row = &rows->items[last[i] - 1];
        if (is_row(row, what)) {
            return row;
        }
    }
    row = rows_find(rows, what);
    last[1] = last[0];
    last[0] = (uint32_t)(row - rows->items) + 1;
    return row;
}

struct ledger_row *rows_all(const struct rows *rows, size_t *count)
{
    *count = rows->count;
    return rows->items;
}

uint32_t rows_ranks(const struct defs *defs,
                    const struct ledger_row *const *rows,
                    size_t count)
{
    size_t bytes = defs->ranks_count / 8 + 1;
    uint8_t *all = xcalloc(bytes, 1);
    uint32_t ranks = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t index = defs_rank_index(defs, rows[i]->rank);

        for (size_t j = 0; rows_has_ranks(rows[i]) && j < bytes; j++) {
            all[j] |= rows[i]->more->ranks[j];
        }
        index = index == DEFS_NONE ? (uint32_t)defs->ranks_count : index;
        all[index / 8] |= (uint8_t)(1 << index % 8);
    }
    for (size_t i = 0; i < bytes; i++) {
        ranks += (uint32_t)__builtin_popcount(all[i]);
    }
    free(all);
    return ranks;
}
