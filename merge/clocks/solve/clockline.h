/* clockline.h - how one clock moves against another, from one-sided facts
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Facts are upper and lower limits of an offset theta at instants of a local
 * clock, from any source and in any mixture. A line is points (at, theta);
 * between two of them theta leaves the straight line no faster than a rate.
 * It is a hypothesis to be tested, not a bound.
 */
#ifndef CK_MERGE_CLOCKS_SOLVE_CLOCKLINE_H
#define CK_MERGE_CLOCKS_SOLVE_CLOCKLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/clock/clocktrend.h"
#include "schema/time.h"

struct clockline_point {
    ck_time_t at; /* local clock */
    ck_time_t theta;
    ck_time_t half;    /* theta may be wrong by it here */
    ck_time_t vague;   /* a fact and the next one of the other side leave it at
                          least so far to both sides */
    int64_t rate_ppb;  /* to the next point; the last: beyond it */
    int64_t doubt_ppb; /* beyond its points the line may be off by it */
    ck_time_t since;   /* first and last fact that it is made of */
    ck_time_t until;
    double slope; /* used where it is alone in its stretch */
    bool is_last; /* of its stretch: then the clock jumped */
};

/* No points: not known. */
struct clockline {
    struct clockline_point *points;
    size_t count, room;
    /* A jump before `begin`, or behind `end`, has nothing known on its far
     * side. */
    ck_time_t begin, end;
    bool has_begin, has_end;
};

void clockline_fini(struct clockline *line);
/* Append a point. */
void clockline_add(struct clockline *line, struct clockline_point point);
/* Append the points of a stretch of facts, in order of time; `wander_ppb`: what
 * theta may move about the line, `blind_ppb`: where there is no line. What is
 * appended ends with a jump. Facts of one side only give no point; one that
 * contradicts all others is marked as dropped. */
void clockline_fit(struct clockline *line,
                   struct ck_clock_constraint *facts,
                   size_t count,
                   int64_t wander_ppb,
                   int64_t blind_ppb);
/* A guess of the offset may be off by this and more. */
#define CLOCKLINE_GUESS CK_TIME_MS
/* Append a point where facts do not suffice for a line: their edge, and a flat
 * course. */
void clockline_guess(struct clockline *line,
                     struct ck_clock_constraint *facts,
                     size_t count,
                     int64_t blind_ppb);
/* A line without error: theta = 0 for ever. */
void clockline_exact(struct clockline *line);

/* theta, and how wrong it may be; false where the clock jumped near `at`, on
 * the far side of a jump that has no points, or without any. */
bool clockline_at(const struct clockline *line,
                  ck_time_t at,
                  ck_time_t *theta,
                  ck_time_t *half);
/* Before the first point of its stretch or behind the last: the slope goes on.
 */
bool clockline_is_beyond(const struct clockline *line, ck_time_t at);
/* theta alone, on either side of a jump. */
ck_time_t clockline_theta(const struct clockline *line, ck_time_t at);
/* How far theta may leave the line from one instant to a later one,
 * CK_CLOCK_NONE across a jump. */
ck_time_t
clockline_slack(const struct clockline *line, ck_time_t from, ck_time_t to);

#endif
