/* closeups.c - what was going on around the longest piece of each cause, item
 * by item
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/closeups.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* A piece is copied when so many came behind it, and at the latest when so many
 * did; which is looked for before some are forgotten. */
#define COPIED (CLOSEUPS_RING / 2)
#define COPIED_LAST (CLOSEUPS_RING / 4 * 3)
#define PARTS (CLOSEUPS_RING / CLOSEUPS_PART)
/* Causes that are kept apart, at most. Each may have one of some places; where
 * they are taken, the one with less time leaves. */
#define PLACES 1024
#define PLACES_OF_ONE 8
/* One with less than this part of all time is not worth copying. */
#define WORTH 256
#define STEPS_BESIDE 2
#define NARROWER_MOST 64
/* Ranks of a cause whose last pieces are known. */
#define LATEST 8

/* The last piece of a rank, with those that it goes on from. */
struct latest {
    int32_t rank;
    struct region piece;
};

/* A cause. */
struct cause_of {
    struct closeup_of of;
    ck_time_t weight; /* time of its pieces, less that of others; 0 = free */
};

/* Its longest piece. */
struct place {
    int32_t ranks[CLOSEUP_RANKS];
    struct latest latest[LATEST];
    struct region piece; /* the longest */
    ck_time_t beside;    /* that is worth seeing on each side of it */
    bool is_due;         /* it is not copied yet */
    size_t put;          /* items that had come before it */
    struct closeup taken;
};

/* What is known of a row. */
struct known {
    struct closeup_item forgotten; /* its last item that is */
    size_t forgot;                 /* so many items were forgotten by then; 0 =
                                      none of it yet */
    bool is_known;
    bool is_late;
    bool is_seen;  /* in the one that is being copied, */
    uint8_t depth; /* where its forgotten item is so deep, */
    size_t next;   /* and its next item goes there */
    int32_t rank;
    ck_time_t known_end; /* end of its last item, where they are late */
};

struct closeups {
    struct closeups_ring ring;
    uint8_t *depths;       /* of the ring's items, in the one being copied */
    size_t forgot;         /* items that are forgotten */
    ck_time_t begun;       /* latest start of one of them */
    ck_time_t then[PARTS]; /* latest start of any when each part was full */
    ck_time_t step;
    ck_time_t whole; /* of all pieces */
    struct known *rows;
    size_t rows_count;
    size_t rows_room;
    struct cause_of
        causes[PLACES];          /* apart: for each piece some are looked at */
    struct place places[PLACES]; /* theirs */
};

struct closeups *closeups_create(void)
{
    struct closeups *closeups = xcalloc(1, sizeof(*closeups));

    closeups->ring.items =
        xmalloc(CLOSEUPS_RING * sizeof(*closeups->ring.items));
    closeups->ring.rows = xmalloc(CLOSEUPS_RING * sizeof(*closeups->ring.rows));
    closeups->depths = xmalloc(CLOSEUPS_RING * sizeof(*closeups->depths));
    closeups->begun = closeups->ring.now = INT64_MIN;
    return closeups;
}

static void ring_free(struct closeups *closeups)
{
    free(closeups->ring.items);
    free(closeups->ring.rows);
    free(closeups->depths);
    closeups->ring.items = NULL;
    closeups->ring.rows = NULL;
    closeups->depths = NULL;
}

void closeups_destroy(struct closeups *closeups)
{
    if (closeups == NULL) {
        return;
    }
    for (size_t i = 0; i < PLACES; i++) {
        free(closeups->places[i].taken.items);
    }
    ring_free(closeups);
    free(closeups->rows);
    free(closeups);
}

/* ---- copying one -------------------------------------------------------- */

static bool has_rank(const int32_t ranks[CLOSEUP_RANKS], int32_t rank)
{
    return rank == ranks[0] || rank == ranks[1] || rank == ranks[2];
}

static bool is_within(const struct closeup_item *item, struct region part)
{
    return item->end > part.start && item->start < part.end;
}

/* Less of what is beside the piece; then less of its begin. */
static struct region narrower(struct region part, struct region piece)
{
    ck_time_t left = piece.start - part.start, right = part.end - piece.end;

    if (left > 0 || right > 0) {
        return (struct region){piece.start - (left > 0 ? left / 2 : left),
                               piece.end + (right > 0 ? right / 2 : right)};
    }
    part.start += region_length(part) / 2 + 1;
    return part;
}

/* A row whose pieces come late: not yet those of the time of the piece. */
static bool is_unknown(const struct known *row, const struct place *place)
{
    return row->is_late && has_rank(place->ranks, row->rank) &&
           row->known_end < place->piece.end;
}

static bool has_unknown(const struct closeups *closeups,
                        const struct place *place)
{
    for (size_t i = 0; i < closeups->rows_count; i++) {
        if (is_unknown(&closeups->rows[i], place)) {
            return true;
        }
    }
    return false;
}

/* Choose the rows that are seen. Returns until when is known what they have. */
static ck_time_t
rows_choose(struct closeups *closeups, const struct place *place, bool is_last)
{
    ck_time_t until = is_last ? INT64_MAX : closeups->ring.now;

    for (size_t i = 0; i < closeups->rows_count; i++) {
        struct known *row = &closeups->rows[i];

        row->is_seen = row->is_known && has_rank(place->ranks, row->rank) &&
                       (is_last || !is_unknown(row, place));
        if (row->is_seen && row->is_late && !is_last &&
            row->known_end < until) {
            until = row->known_end;
        }
    }
    return until;
}

/* Parts of time, each within the one before. */
struct parts {
    struct region all[NARROWER_MOST + 1];
};

static void
parts_fill(struct parts *parts, struct region part, struct region piece)
{
    for (int i = 0; i <= NARROWER_MOST; i++) {
        parts->all[i] = part;
        part = narrower(part, piece);
    }
}

/* In how many of them an item is. */
static inline uint8_t depth_of(const struct closeup_item *item,
                               const struct parts *parts)
{
    uint8_t depth = 0;

    while (depth <= NARROWER_MOST && is_within(item, parts->all[depth])) {
        depth++;
    }
    return depth;
}

/* Looks how deep all items of the rows that are seen are. Of what is forgotten
 * of a row only the last item can be in a part: it begins behind the start of
 * each. Returns the first part that no more items are in than one may have, or
 * the last one, and how many that has. */
static int
depths_find(struct closeups *closeups, const struct parts *parts, size_t *kept)
{
    size_t counts[NARROWER_MOST + 2] = {0};
    size_t within = 0;
    int best;

    for (size_t i = 0; i < closeups->rows_count; i++) {
        struct known *row = &closeups->rows[i];

        row->depth = row->forgot > 0 && row->is_seen
                         ? depth_of(&row->forgotten, parts)
                         : 0;
        counts[row->depth]++;
    }
    for (size_t i = closeups->forgot; i < closeups->ring.put; i++) {
        size_t at = i % CLOSEUPS_RING;
        uint8_t depth = 0;

        if (closeups->rows[closeups->ring.rows[at]].is_seen) {
            depth = depth_of(&closeups->ring.items[at], parts);
        }
        closeups->depths[at] = depth;
        counts[depth]++;
    }
    for (best = NARROWER_MOST; best >= 0; best--) {
        if (within + counts[best + 1] > CLOSEUP_ITEMS && best < NARROWER_MOST) {
            break;
        }
        within += counts[best + 1];
    }
    *kept = within;
    return best + 1;
}

static int by_row(const void *a, const void *b)
{
    const struct closeup_item *one = a, *other = b;

    return one->row != other->row
               ? (one->row > other->row) - (one->row < other->row)
               : (one->start > other->start) - (one->start < other->start);
}

/* Where the first item of each row goes that is deeper. */
static void rows_begin(struct closeups *closeups, int depth)
{
    size_t next = 0;

    for (size_t i = 0; i < closeups->rows_count; i++) {
        closeups->rows[i].next = closeups->rows[i].depth > depth;
    }
    for (size_t i = closeups->forgot; i < closeups->ring.put; i++) {
        size_t at = i % CLOSEUPS_RING;

        closeups->rows[closeups->ring.rows[at]].next +=
            closeups->depths[at] > depth;
    }
    for (size_t i = 0; i < closeups->rows_count; i++) {
        size_t its = closeups->rows[i].next;

        closeups->rows[i].next = next;
        next += its;
    }
}

/* The items that are deeper, so many, by row and start: those of a row come in
 * that order. */
static struct closeup_item *
items_take(struct closeups *closeups, int depth, size_t count)
{
    struct closeup_item *items = xmalloc(count * sizeof(*items));
    bool is_sorted = true;

    rows_begin(closeups, depth);
    for (size_t i = 0; i < closeups->rows_count; i++) {
        if (closeups->rows[i].depth > depth) {
            items[closeups->rows[i].next++] = closeups->rows[i].forgotten;
        }
    }
    for (size_t i = closeups->forgot; i < closeups->ring.put; i++) {
        size_t at = i % CLOSEUPS_RING;

        if (closeups->depths[at] > depth) {
            items[closeups->rows[closeups->ring.rows[at]].next++] =
                closeups->ring.items[at];
        }
    }
    for (size_t i = 1; i < count; i++) {
        is_sorted = is_sorted && by_row(&items[i - 1], &items[i]) <= 0;
    }
    if (!is_sorted) {
        qsort(items, count, sizeof(*items), by_row);
    }
    return items;
}

/* Copy the place's piece with what is around it, as far as that is there;
 * `is_last`: nothing comes any more. */
static void
place_take(struct closeups *closeups, struct place *place, bool is_last)
{
    struct region part = {place->piece.start - place->beside,
                          place->piece.end + place->beside};
    ck_time_t until = rows_choose(closeups, place, is_last);
    struct parts parts;
    size_t kept;
    int best;

    place->is_due = false;
    if (part.start <= closeups->begun) {
        part.start = closeups->begun + 1;
    }
    if (part.end > until) {
        part.end = until;
    }
    parts_fill(&parts, part, place->piece);
    best = depths_find(closeups, &parts, &kept);
    part = parts.all[best];
    if (kept == 0 || kept > CLOSEUP_ITEMS || part.start >= part.end) {
        return;
    }
    free(place->taken.items);
    place->taken = (struct closeup){
        .part = part, .items = items_take(closeups, best, kept), .count = kept};
    memcpy(place->taken.ranks, place->ranks, sizeof(place->ranks));
}

static bool is_wanted(const struct closeups *closeups, size_t place)
{
    return closeups->places[place].is_due &&
           closeups->causes[place].weight >= closeups->whole / WORTH;
}

/* Copy what is due, later where something is not known of it yet. */
static void look(struct closeups *closeups)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct place *place = &closeups->places[i];
        size_t behind = closeups->ring.put - place->put;

        if (behind >= COPIED && is_wanted(closeups, i) &&
            (behind >= COPIED_LAST || !has_unknown(closeups, place))) {
            place_take(closeups, place, false);
        }
    }
}

/* ---- what comes --------------------------------------------------------- */

/* The oldest part makes room. */
static void forget(struct closeups *closeups)
{
    size_t until = closeups->forgot + CLOSEUPS_PART;

    for (size_t i = until; i-- > closeups->forgot;) {
        struct known *row =
            &closeups->rows[closeups->ring.rows[i % CLOSEUPS_RING]];

        if (row->forgot != until) {
            row->forgot = until;
            row->forgotten = closeups->ring.items[i % CLOSEUPS_RING];
        }
    }
    closeups->begun = closeups->then[closeups->forgot / CLOSEUPS_PART % PARTS];
    closeups->forgot = until;
}

void closeups_full(struct closeups *closeups)
{
    size_t part = closeups->ring.put / CLOSEUPS_PART - 1;

    look(closeups);
    closeups->then[part % PARTS] = closeups->ring.now;
    if (closeups->ring.put >= CLOSEUPS_RING) {
        forget(closeups);
    }
}

void closeups_late(struct closeups *closeups, uint32_t row, ck_time_t end)
{
    closeups->rows[row].known_end = end;
}

void closeups_row(struct closeups *closeups,
                  uint32_t row,
                  int32_t rank,
                  bool is_late)
{
    while (row >= closeups->rows_count) {
        array_grow(&closeups->rows, &closeups->rows_room, closeups->rows_count,
                   sizeof(*closeups->rows));
        closeups->rows[closeups->rows_count++] = (struct known){0};
    }
    closeups->rows[row].is_known = true;
    closeups->rows[row].rank = rank;
    closeups->rows[row].is_late = is_late;
}

void closeups_step(struct closeups *closeups, ck_time_t length)
{
    closeups->step = length;
}

static uint32_t place_of(const struct closeup_of *of)
{
    const uint64_t parts[] = {of->wait, (uint32_t)of->rank,
                              (uint32_t)of->blamed, of->did, of->is_start};
    uint64_t hash = of->cause + 1;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 32) % PLACES;
}

static bool is_same(const struct closeup_of *one,
                    const struct closeup_of *other)
{
    return one->cause == other->cause && one->wait == other->wait &&
           one->rank == other->rank && one->blamed == other->blamed &&
           one->did == other->did && one->is_start == other->is_start;
}

/* Longer; of those of one length the first one, as in the report. */
static bool is_better(struct region one, struct region other)
{
    ck_time_t more = region_length(one) - region_length(other);

    return more > 0 || (more == 0 && one.start < other.start);
}

/* The place of the cause; NULL = others have its places and more time. */
static struct place *place_find(struct closeups *closeups,
                                const struct closeup_of *of,
                                ck_time_t length)
{
    uint32_t first = place_of(of), least = first;

    for (uint32_t i = 0; i < PLACES_OF_ONE; i++) {
        uint32_t at = (first + i) % PLACES;
        struct cause_of *cause = &closeups->causes[at];

        if (cause->weight > 0 && is_same(&cause->of, of)) {
            cause->weight += length;
            return &closeups->places[at];
        }
        least = cause->weight < closeups->causes[least].weight ? at : least;
    }
    if (closeups->causes[least].weight > length) {
        closeups->causes[least].weight -= length;
        return NULL;
    }
    free(closeups->places[least].taken.items);
    closeups->causes[least] = (struct cause_of){*of, length};
    closeups->places[least] = (struct place){0};
    return &closeups->places[least];
}

/* The piece with what it goes on from. */
static struct region
piece_joined(struct place *place, struct region piece, int32_t rank)
{
    struct latest *latest = &place->latest[(uint32_t)rank % LATEST];

    if (latest->rank == rank && piece.start == latest->piece.end &&
        latest->piece.start < piece.start) {
        piece.start = latest->piece.start;
    }
    *latest = (struct latest){rank, piece};
    return piece;
}

void closeups_piece(struct closeups *closeups,
                    const struct closeup_of *of,
                    struct region piece,
                    const int32_t ranks[CLOSEUP_RANKS])
{
    struct place *place = place_find(closeups, of, region_length(piece));
    ck_time_t beside;

    closeups->whole += region_length(piece);
    if (place == NULL) {
        return;
    }
    piece = piece_joined(place, piece, ranks[0]);
    if (is_better(piece, place->piece)) {
        beside = STEPS_BESIDE * closeups->step;
        place->piece = piece;
        place->beside =
            beside > region_length(piece) ? beside : region_length(piece);
        place->is_due = true;
        place->put = closeups->ring.put;
        memcpy(place->ranks, ranks, sizeof(place->ranks));
    }
}

void closeups_finish(struct closeups *closeups)
{
    for (size_t i = 0; i < PLACES; i++) {
        if (is_wanted(closeups, i)) {
            place_take(closeups, &closeups->places[i], true);
        }
    }
    ring_free(closeups); /* the page has a use for its memory */
}

static ck_time_t overlap(struct region one, struct region other)
{
    ck_time_t start = one.start > other.start ? one.start : other.start;
    ck_time_t end = one.end < other.end ? one.end : other.end;

    return end > start ? end - start : 0;
}

const struct closeup *closeups_find(const struct closeups *closeups,
                                    struct region piece,
                                    int32_t rank)
{
    const struct closeup *best = NULL;
    ck_time_t most = 0;

    for (size_t i = 0; i < PLACES; i++) {
        const struct place *place = &closeups->places[i];
        const struct closeup *one = &place->taken;
        ck_time_t seen = one->items == NULL || !has_rank(one->ranks, rank)
                             ? 0
                             : overlap(one->part, piece);

        if (seen > 0 && place->piece.start == piece.start &&
            place->piece.end == piece.end) {
            return one;
        }
        if (seen > most) {
            best = one;
            most = seen;
        }
    }
    return best;
}
