/* ticks.c - ticks of a time stamp counter as CLOCK_MONOTONIC_RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part's slope is a double: a part of an hour has 2^44 ticks, so the product
 * is good to well under a nanosecond.
 *
 * With several pieces a stamp goes to the first one with points on both sides
 * of it, else to the nearest. All others that it may be of (as far as their
 * lines go on, up to the next point of the neighbour) count as error.
 */
#include "merge/timeline/ticks.h"

#include <math.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/timeline/ticksfit.h"
#include "schema/order.h"

/* Two points nearer than this are one: their brackets would tilt the line. */
#define PAIR_GAP CK_TIME_MS
/* A rate without evidence is taken from a neighbour. */
#define RATE_ALIEN 500e-6
/* Where brackets leave any rate open, it is no less than that part. */
#define RATE_LEAST 0.01
#define REACH_MAX (INT64_MAX / 2)

/* A stamp may be damaged: wraps. */
static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* As far as times go. */
static ck_time_t limited(double ns)
{
    if (ns >= (double)TICKS_FAR) {
        return TICKS_FAR;
    }
    if (ns <= -(double)TICKS_FAR) {
        return -TICKS_FAR;
    }
    return (ck_time_t)ns;
}

CK_ORDER(pair_order, struct ticks_pair, CK_UP(raw))

/* Take a pair if it goes on from the last point. */
static void pair_take(struct ticks *ticks, const struct ticks_pair *pair)
{
    struct ticks_point *point = &ticks->points[ticks->count];

    if (ticks->count > 0 && (pair->raw < point[-1].raw + PAIR_GAP ||
                             pair->ticks == point[-1].ticks)) {
        return;
    }
    *point = (struct ticks_point){.ticks = pair->ticks,
                                  .raw = pair->raw,
                                  .width = pair->width,
                                  .error = pair->width,
                                  .source = pair->source};
    ticks->count++;
}

/* The leader's pairs, and others' before and after. */
static void
pairs_take(struct ticks *ticks, const struct ticks_pair *pairs, size_t count)
{
    const struct ticks_pair *leader = &pairs[0];
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;

    for (size_t i = 1; i < count; i++) {
        leader = pairs[i].key < leader->key ? &pairs[i] : leader;
    }
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].agent == leader->agent) {
            first = pairs[i].raw < first ? pairs[i].raw : first;
            last = pairs[i].raw > last ? pairs[i].raw : last;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].agent == leader->agent || pairs[i].raw < first ||
            pairs[i].raw > last) {
            pair_take(ticks, &pairs[i]);
        }
    }
}

/* ---- pieces -------------------------------------------------------------- */

static size_t pieces_count(const struct ticks *ticks)
{
    size_t count = 1;

    for (size_t i = 0; i + 1 < ticks->count; i++) {
        count += ticks->points[i].is_last;
    }
    return count;
}

/* Pairs right behind each other with wide brackets show next to nothing. */
static bool is_rate_known(struct ticksfit_rate rate)
{
    return rate.rate > 0 && rate.doubt <= RATE_ALIEN * rate.rate;
}

/* The rates at both ends of a piece, of what is in it. */
static void piece_rates(const struct ticks *ticks, struct ticks_piece *piece)
{
    const struct ticks_point *points = &ticks->points[piece->first];
    size_t count = piece->last - piece->first + 1;
    struct ticksfit_rate before = ticksfit_behind(points, count, 0);
    struct ticksfit_rate after = ticksfit_before(points, count, count - 1);

    if (is_rate_known(after) && !is_rate_known(before)) {
        before = after;
    } else if (is_rate_known(before) && !is_rate_known(after)) {
        after = before;
    }
    piece->before = before.rate > 0 ? before.rate : after.rate;
    piece->after = after.rate > 0 ? after.rate : before.rate;
    piece->doubt = before.doubt > after.doubt ? before.doubt : after.doubt;
    piece->is_odd = count > 1 && (points[0].is_odd || points[count - 2].is_odd);
    piece->is_rated =
        !piece->is_odd && is_rate_known(before) && is_rate_known(after);
}

static bool is_lender(const struct ticks_piece *piece)
{
    return piece->before > 0 && !piece->is_odd && !piece->is_lent;
}

/* Pieces without a rate take the nearest one that has. */
static void rates_lend(struct ticks *ticks)
{
    struct ticks_piece *pieces = ticks->pieces;

    for (size_t i = 0; i < ticks->pieces_count; i++) {
        const struct ticks_piece *lender = NULL;

        for (size_t by = 1; pieces[i].before <= 0 && lender == NULL &&
                            by < ticks->pieces_count;
             by++) {
            if (i + by < ticks->pieces_count && is_lender(&pieces[i + by])) {
                lender = &pieces[i + by];
            } else if (i >= by && is_lender(&pieces[i - by])) {
                lender = &pieces[i - by];
            }
        }
        if (pieces[i].before <= 0) {
            double rate = lender == NULL ? 1.0 : lender->before;

            pieces[i].before = pieces[i].after = rate;
            pieces[i].doubt = lender == NULL ? rate : rate * RATE_ALIEN;
            pieces[i].is_lent = true;
        }
    }
}

/* Ticks of a time, at the least rate there may be. */
static int64_t reach_of(ck_time_t span, double rate, double doubt)
{
    double ticks = (double)span / fmax(rate - doubt, rate * RATE_LEAST);

    return ticks < (double)REACH_MAX ? (int64_t)ceil(ticks) + 1 : REACH_MAX;
}

/* How far the lines of a piece go on: to the time of the neighbour's point. */
static void piece_reach(struct ticks *ticks, size_t number)
{
    struct ticks_piece *piece = &ticks->pieces[number];
    const struct ticks_point *first = &ticks->points[piece->first];
    const struct ticks_point *last = &ticks->points[piece->last];
    ck_time_t front = TICKS_OUTSIDE, behind = TICKS_OUTSIDE;

    if (number > 0) {
        front = first->raw - first[-1].raw + first->width + first[-1].width;
    }
    if (number + 1 < ticks->pieces_count) {
        behind = last[1].raw - last->raw + last->width + last[1].width;
    }
    piece->from = first->ticks - reach_of(front, piece->before, piece->doubt);
    piece->to = last->ticks + reach_of(behind, piece->after, piece->doubt);
}

static void pieces_make(struct ticks *ticks)
{
    size_t at = 0;

    ticks->pieces_count = pieces_count(ticks);
    ticks->pieces = xcalloc(ticks->pieces_count, sizeof(*ticks->pieces));
    for (size_t i = 0; i < ticks->count; i++) {
        if (ticks->points[i].is_last || i + 1 == ticks->count) {
            ticks->pieces[at].last = i;
            piece_rates(ticks, &ticks->pieces[at++]);
            if (at < ticks->pieces_count) {
                ticks->pieces[at].first = i + 1;
            }
        }
    }
    rates_lend(ticks);
    for (size_t i = 0; i < ticks->pieces_count; i++) {
        piece_reach(ticks, i);
    }
}

/* ---- a stamp by a piece -------------------------------------------------- */

CK_BEFORE(stamps_before, struct ticks_point, int64_t, a->ticks <= key)

/* The last point of a piece that is not behind a stamp; its first one. */
static size_t point_find(const struct ticks *ticks,
                         const struct ticks_piece *piece,
                         int64_t stamp)
{
    const struct ticks_point *first = &ticks->points[piece->first];
    size_t before = stamps_before(first, piece->last - piece->first + 1, stamp);

    return piece->first + before - (before > 0);
}

/* At a rate that is another's a line may lead past the next piece's point:
 * none of its stamps are so late. */
static int64_t within_neighbours(const struct ticks *ticks,
                                 const struct ticks_piece *piece,
                                 int64_t raw)
{
    const struct ticks_point *last = &ticks->points[piece->last];
    const struct ticks_point *first = &ticks->points[piece->first];

    if (!piece->is_lent) {
        return raw;
    }
    if (piece->last + 1 < ticks->count && raw >= last[1].raw) {
        return last[1].raw - 1;
    }
    return piece->first > 0 && raw < first[-1].raw ? first[-1].raw : raw;
}

static int64_t piece_raw(const struct ticks *ticks,
                         const struct ticks_piece *piece,
                         int64_t stamp)
{
    const struct ticks_point *point =
        &ticks->points[point_find(ticks, piece, stamp)];
    double slope = point->slope;

    if (stamp < point->ticks) {
        slope = piece->before;
    } else if (point == &ticks->points[piece->last]) {
        slope = piece->after;
    }
    return within_neighbours(
        ticks, piece,
        point->raw + limited((double)minus(stamp, point->ticks) * slope));
}

/* How wrong that may be if the stamp is of that piece. */
static ck_time_t piece_error(const struct ticks *ticks,
                             const struct ticks_piece *piece,
                             int64_t stamp)
{
    size_t at = point_find(ticks, piece, stamp);
    int64_t beyond = minus(stamp, ticks->points[at].ticks);

    if (beyond >= 0 && at < piece->last) {
        return ticks->points[at].error;
    }
    /* What the stretch beside it left open goes on. */
    at -= at == piece->last && at > piece->first;
    return (piece->first == piece->last ? ticks->points[at].width
                                        : ticks->points[at].error) +
           limited(ceil(fabs((double)beyond) * piece->doubt));
}

static bool is_between(const struct ticks *ticks,
                       const struct ticks_piece *piece,
                       int64_t stamp)
{
    return stamp >= ticks->points[piece->first].ticks &&
           stamp < ticks->points[piece->last].ticks;
}

/* Ticks from a stamp to the nearest point of a piece. */
static uint64_t distance(const struct ticks *ticks,
                         const struct ticks_piece *piece,
                         int64_t stamp)
{
    int64_t first = ticks->points[piece->first].ticks;
    int64_t last = ticks->points[piece->last].ticks;

    if (stamp < first) {
        return (uint64_t)first - (uint64_t)stamp;
    }
    if (stamp > last) {
        return (uint64_t)stamp - (uint64_t)last;
    }
    return 0;
}

static bool is_reached(const struct ticks_piece *piece, int64_t stamp)
{
    return stamp >= piece->from && stamp <= piece->to;
}

/* The piece that a stamp is taken to be of: the first that has it between its
 * points, else the nearest, of those whose lines reach it if there are any. */
static const struct ticks_piece *piece_choose(const struct ticks *ticks,
                                              int64_t stamp)
{
    const struct ticks_piece *best = &ticks->pieces[0];

    for (size_t i = 0; i < ticks->pieces_count; i++) {
        const struct ticks_piece *piece = &ticks->pieces[i];
        bool is_better =
            is_reached(piece, stamp) != is_reached(best, stamp)
                ? is_reached(piece, stamp)
                : distance(ticks, piece, stamp) < distance(ticks, best, stamp);

        if (is_between(ticks, piece, stamp)) {
            return piece;
        }
        best = is_better ? piece : best;
    }
    return best;
}

/* What one piece puts a stamp away from where another one does, and what the
 * other one leaves open; 0: the stamp is not of the other one. */
static ck_time_t rival_error(const struct ticks *ticks,
                             const struct ticks_piece *piece,
                             const struct ticks_piece *rival,
                             int64_t stamp)
{
    ck_time_t away, error;

    if (rival == piece || !is_reached(rival, stamp)) {
        return 0;
    }
    away = piece_raw(ticks, piece, stamp) - piece_raw(ticks, rival, stamp);
    error = (away < 0 ? -away : away) + piece_error(ticks, rival, stamp);
    return error < TICKS_FAR ? error : TICKS_FAR;
}

/* ---- errors -------------------------------------------------------------- */

/* The largest one of stamps between two that are put on a piece. */
static ck_time_t rivals_worst(const struct ticks *ticks,
                              const struct ticks_piece *piece,
                              int64_t from,
                              int64_t to)
{
    ck_time_t worst = 0;

    for (size_t i = 0; i < ticks->pieces_count; i++) {
        const struct ticks_piece *rival = &ticks->pieces[i];
        int64_t ends[2] = {from > rival->from ? from : rival->from,
                           to < rival->to ? to : rival->to};

        for (int end = 0; end < 2 && ends[0] <= ends[1]; end++) {
            ck_time_t error = rival_error(ticks, piece, rival, ends[end]);

            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

/* Whether a point's stretch is also between points of an earlier piece. */
static bool is_shared(const struct ticks *ticks, size_t number, size_t at)
{
    for (size_t i = 0; i < number; i++) {
        const struct ticks_piece *rival = &ticks->pieces[i];

        if (ticks->points[rival->first].ticks < ticks->points[at + 1].ticks &&
            ticks->points[rival->last].ticks > ticks->points[at].ticks) {
            return true;
        }
    }
    return false;
}

static void error_raise(struct ticks_point *point, ck_time_t error)
{
    error = error < TICKS_FAR ? error : TICKS_FAR;
    point->error = error > point->error ? error : point->error;
}

/* A point alone does not show whether the counter jumped to it or changed its
 * rate. Either way the counter was no further from the other piece's line than
 * the point is; next to another point alone no bound is known. */
static ck_time_t alone_error(const struct ticks *ticks,
                             const struct ticks_piece *piece,
                             const struct ticks_piece *next)
{
    const struct ticks_point *last = &ticks->points[piece->last];
    bool is_first = piece->first == piece->last;
    const struct ticks_piece *line = is_first ? next : piece;
    const struct ticks_point *alone = is_first ? last : last + 1;
    ck_time_t gap = last[1].raw - last->raw;
    ck_time_t off;

    if (line->first == line->last || !line->is_rated) {
        return gap;
    }
    off = piece_raw(ticks, line, alone->ticks) - alone->raw;
    off = (off < 0 ? -off : off) + piece_error(ticks, line, alone->ticks) +
          alone->width;
    return off < gap ? off : gap;
}

/* What is behind a piece, up to the next one. */
static void end_error(struct ticks *ticks, size_t number)
{
    const struct ticks_piece *piece = &ticks->pieces[number];
    const struct ticks_piece *next = piece + 1;
    struct ticks_point *last = &ticks->points[piece->last];

    if (number + 1 == ticks->pieces_count) {
        last->error = piece_error(ticks, piece, last->ticks);
        error_raise(last, rivals_worst(ticks, piece, last->ticks, piece->to));
        return;
    }
    last->error = piece_error(ticks, piece, piece->to);
    error_raise(last, piece_error(ticks, next, next->from));
    error_raise(last, rivals_worst(ticks, piece, last->ticks, piece->to));
    error_raise(last, rivals_worst(ticks, next, next->from,
                                   ticks->points[next->first].ticks));
    if (piece->first == piece->last || next->first == next->last) {
        error_raise(last, alone_error(ticks, piece, next));
    }
}

/* What stamps of several pieces leave open, in the errors of the stretches. */
static void pieces_errors(struct ticks *ticks)
{
    for (size_t p = 0; p < ticks->pieces_count; p++) {
        const struct ticks_piece *piece = &ticks->pieces[p];

        for (size_t i = piece->first; p > 0 && i < piece->last; i++) {
            ticks->points[i].is_other = is_shared(ticks, p, i);
        }
        for (size_t i = piece->first;
             ticks->pieces_count > 1 && i < piece->last; i++) {
            error_raise(&ticks->points[i],
                        rivals_worst(ticks, piece, ticks->points[i].ticks,
                                     ticks->points[i + 1].ticks));
        }
        end_error(ticks, p);
    }
    error_raise(&ticks->points[0],
                rivals_worst(ticks, ticks->pieces, ticks->pieces[0].from,
                             ticks->points[0].ticks));
}

static void bounds_set(struct ticks *ticks)
{
    for (size_t i = 0; i < ticks->count; i++) {
        ck_time_t error = ticks->points[i].error;

        ticks->worst = error > ticks->worst ? error : ticks->worst;
        if (error <= TICKS_DOUBT && error > ticks->bound) {
            ticks->bound = error;
        }
    }
}

void ticks_make(struct ticks *ticks, struct ticks_pair *pairs, size_t count)
{
    if (count == 0) {
        return;
    }
    ticks->points = xcalloc(count, sizeof(*ticks->points));
    qsort(pairs, count, sizeof(*pairs), pair_order);
    pairs_take(ticks, pairs, count);
    ticksfit_points(ticks->points, ticks->count);
    ticks->count = ticksfit_limit(ticks->points, ticks->count);
    pieces_make(ticks);
    pieces_errors(ticks);
    bounds_set(ticks);
}

void ticks_fini(struct ticks *ticks)
{
    free(ticks->points);
    free(ticks->pieces);
    ticks->points = NULL;
    ticks->pieces = NULL;
    ticks->count = ticks->pieces_count = 0;
}

/* ---- what readers ask ---------------------------------------------------- */

/* A stamp that is not where the last one was. */
static int64_t raw_seek(struct ticks *ticks, int64_t stamp)
{
    const struct ticks_piece *piece;

    if (ticks->count < 2) {
        atomic_store_explicit(&ticks->is_lacking, true, memory_order_relaxed);
        return ticks->count == 0 ? stamp
                                 : minus(ticks->points[0].raw,
                                         minus(ticks->points[0].ticks, stamp));
    }
    piece =
        ticks->pieces_count == 1 ? ticks->pieces : piece_choose(ticks, stamp);
    atomic_store_explicit(&ticks->hint, point_find(ticks, piece, stamp),
                          memory_order_relaxed);
    return piece_raw(ticks, piece, stamp);
}

int64_t ticks_raw(struct ticks *ticks, int64_t stamp)
{
    size_t at = atomic_load_explicit(&ticks->hint, memory_order_relaxed);
    const struct ticks_point *point;

    if (at + 1 >= ticks->count) {
        return raw_seek(ticks, stamp);
    }
    point = &ticks->points[at];
    if (stamp >= point->ticks && stamp < point[1].ticks && !point->is_last &&
        !point->is_other) {
        return point->raw +
               (int64_t)((double)(stamp - point->ticks) * point->slope);
    }
    return raw_seek(ticks, stamp);
}

/* Outside of a piece, next to one whose rate is another's: what is possible on
 * that side. */
static ck_time_t lent_error(const struct ticks *ticks,
                            const struct ticks_piece *piece,
                            int64_t stamp)
{
    size_t number = (size_t)(piece - ticks->pieces);
    const struct ticks_point *first = &ticks->points[piece->first];
    bool is_lent = piece->is_lent;

    if (stamp >= ticks->points[piece->last].ticks) {
        is_lent |= number + 1 < ticks->pieces_count && piece[1].is_lent;
        return is_lent ? ticks->points[piece->last].error : 0;
    }
    if (stamp < first->ticks) {
        is_lent |= number > 0 && piece[-1].is_lent;
        if (!is_lent) {
            return 0;
        }
        if (number == 0) {
            return first->error;
        }
        return first[-1].error;
    }
    return 0;
}

ck_time_t ticks_error(struct ticks *ticks, int64_t stamp)
{
    const struct ticks_piece *piece;
    ck_time_t error, worst;

    if (ticks->count < 2) {
        return ticks->count == 0 ? 0 : ticks->points[0].width;
    }
    piece = piece_choose(ticks, stamp);
    error = piece_error(ticks, piece, stamp);
    worst = rivals_worst(ticks, piece, stamp, stamp);
    error = worst > error ? worst : error;
    worst = lent_error(ticks, piece, stamp);
    return worst > error ? worst : error;
}

/* What a rate may be wrong by, in front of the first pair or behind the last.
 */
static ck_time_t
outside(const struct ticks *ticks, ck_time_t from, ck_time_t to)
{
    const struct ticks_piece *last = &ticks->pieces[ticks->pieces_count - 1];
    ck_time_t before = minus(ticks->points[0].raw, from);
    ck_time_t behind = minus(to, ticks->points[ticks->count - 1].raw);
    double error = 0;

    if (before > 0) {
        error = (double)before * ticks->pieces->doubt / ticks->pieces->before;
    }
    if (behind > 0) {
        error += (double)behind * last->doubt / last->after;
    }
    return limited(ceil(error));
}

CK_BEFORE(points_before, struct ticks_point, ck_time_t, a->raw <= key)

ck_time_t
ticks_error_between(const struct ticks *ticks, ck_time_t from, ck_time_t to)
{
    const struct ticks_point *points = ticks->points;
    size_t low = points_before(points, ticks->count, from);
    ck_time_t worst;

    if (ticks->count < 2) {
        return 0;
    }
    low -= low > 0;
    worst = points[low].error + outside(ticks, from, to);
    while (low + 1 < ticks->count && points[low + 1].raw <= to) {
        low++;
        worst = points[low].error > worst ? points[low].error : worst;
    }
    return worst;
}

void ticks_span(struct ticks *ticks,
                const int64_t stamps[2],
                bool is_safe,
                ck_time_t span[2])
{
    span[0] = ticks_raw(ticks, stamps[0]);
    span[1] = ticks_raw(ticks, stamps[1]);
    for (size_t i = 0; ticks->pieces_count > 1 && i < ticks->pieces_count;
         i++) {
        const struct ticks_piece *piece = &ticks->pieces[i];
        int64_t limits[2] = {piece->from, piece->to};
        int64_t ends[2];

        if (!is_safe) {
            limits[0] = ticks->points[piece->first].ticks;
            limits[1] = ticks->points[piece->last].ticks;
        }
        for (int end = 0; end < 2; end++) {
            if (stamps[end] < limits[0]) {
                ends[end] = limits[0];
            } else if (stamps[end] > limits[1]) {
                ends[end] = limits[1];
            } else {
                ends[end] = stamps[end];
            }
        }
        if (stamps[0] <= limits[1] && stamps[1] >= limits[0]) {
            ck_time_t first = piece_raw(ticks, piece, ends[0]);
            ck_time_t last = piece_raw(ticks, piece, ends[1]);

            span[0] = first < span[0] ? first : span[0];
            span[1] = last > span[1] ? last : span[1];
        }
    }
}

ck_time_t ticks_jump(const struct ticks *ticks, size_t point)
{
    for (size_t i = 0; i + 1 < ticks->pieces_count; i++) {
        if (ticks->pieces[i].last == point) {
            int64_t stamp = ticks->points[point + 1].ticks;

            /* Where the counter is ahead, its old line gives a later time. */
            return piece_raw(ticks, &ticks->pieces[i], stamp) -
                   ticks->points[point + 1].raw;
        }
    }
    return 0;
}
