/* clockpair.c - how far two clocks may be apart when neither is the axis
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * With v what an offset differs from its trend by and g the clock in question,
 * let r_x = v_x - v_g at the instant of node x. Then r is 0 at all nodes of g,
 * and each difference constraint between two nodes holds for r as well, wider
 * by what v_g may move from the instant of the one to that of the other. So
 * the same relaxing gives the largest and the least r; the truth of a pair is
 * no further from the difference of the two midpoints than the farther one.
 */
#include "merge/clocks/clockpair.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clocks/solve/clocksystem.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/timeline/clockmap.h"
#include "schema/clock/clocktrend.h"

/* Maps leave out what a line does without to 2 ns, and round. */
#define ROUNDING 6
#define NOWHERE UINT32_MAX

/* How far v_g may have moved since some instant, over the axis. */
struct course {
    ck_time_t *at;     /* instants of g's nodes on the axis, ascending */
    ck_time_t *middle; /* v_g there */
    ck_time_t *moved;  /* sum of the slacks so far */
    uint32_t *stretch; /* the clock jumped between two of them */
    size_t count;
    uint32_t last_stretch; /* that g's last node is of, bounded or not */
    int64_t rate_ppb[2];   /* before the first, and behind the last */
};

/* All clocks against one. */
struct against {
    struct clockmap *maps; /* by domain, from the axis; NULL = not solved */
};

struct clockpair {
    const struct clocksolve *solve; /* borrowed */
    struct against *against;        /* by domain */
    size_t work;
};

struct clockpair *clockpair_create(const struct clocksolve *solve)
{
    struct clockpair *pair = xcalloc(1, sizeof(*pair));

    pair->solve = solve;
    pair->against =
        xcalloc((size_t)solve->graph->domains + 1, sizeof(*pair->against));
    return pair;
}

void clockpair_destroy(struct clockpair *pair)
{
    if (pair == NULL) {
        return;
    }
    for (uint32_t g = 0; g < pair->solve->graph->domains; g++) {
        struct clockmap *maps = pair->against[g].maps;

        for (uint32_t d = 0; maps != NULL && d < pair->solve->graph->domains;
             d++) {
            clockmap_fini(&maps[d]);
        }
        free(maps);
    }
    free(pair->against);
    free(pair);
}

/* ---- the clock in question ----------------------------------------------- */

static bool is_bounded(const struct clockrelax_node *node)
{
    return node->upper != CK_CLOCK_NONE && node->lower != -CK_CLOCK_NONE &&
           node->upper >= node->lower;
}

static ck_time_t middle_of(const struct clockrelax_node *node)
{
    return node->lower + (node->upper - node->lower) / 2;
}

/* The instant of a node on the axis. */
static ck_time_t time_of(const struct clocksolve *solve, size_t k)
{
    const struct clockrelax_place *place = &solve->relax.places[k];
    const struct clockrelax_node *node = &solve->relax.nodes[k];

    return place->at + place->trend + (is_bounded(node) ? middle_of(node) : 0);
}

static void course_fini(struct course *course)
{
    free(course->at);
    free(course->middle);
    free(course->moved);
    free(course->stretch);
}

static void
course_init(struct course *course, const struct clocksolve *solve, uint32_t g)
{
    const struct clockrelax_node *nodes = solve->relax.nodes;
    size_t first = solve->first[g];
    size_t count = solve->first[g + 1] - first;
    ck_time_t moved = 0;
    uint32_t stretch = 0;

    memset(course, 0, sizeof(*course));
    course->at = xcalloc(count + 1, sizeof(*course->at));
    course->middle = xcalloc(count + 1, sizeof(*course->middle));
    course->moved = xcalloc(count + 1, sizeof(*course->moved));
    course->stretch = xcalloc(count + 1, sizeof(*course->stretch));
    for (size_t k = first; k < first + count; k++) {
        size_t i = course->count;
        ck_time_t at = time_of(solve, k);

        if (is_bounded(&nodes[k])) {
            course->at[i] =
                i > 0 && at < course->at[i - 1] ? course->at[i - 1] : at;
            course->middle[i] = middle_of(&nodes[k]);
            course->moved[i] = moved;
            course->stretch[i] = stretch;
            course->count++;
        }
        course->last_stretch = stretch;
        stretch += nodes[k].slack == CK_CLOCK_NONE;
        moved += nodes[k].slack == CK_CLOCK_NONE ? 0 : nodes[k].slack;
    }
    if (count > 0) {
        course->rate_ppb[0] = solve->relax.places[first].rate_ppb;
        course->rate_ppb[1] = solve->relax.places[first + count - 1].rate_ppb;
    }
}

/* v_g at an instant: what it moved so far, and its middle. */
struct instant {
    ck_time_t moved;
    ck_time_t middle;
    uint32_t stretch; /* NOWHERE: where it jumped */
};

static struct instant course_at(const struct course *course, ck_time_t time)
{
    size_t low = 0, high = course->count, last = course->count - 1;
    ck_time_t from, span;

    if (time <= course->at[0]) {
        return (struct instant){
            -ck_clock_drift(course->at[0] - time, course->rate_ppb[0]),
            course->middle[0], 0};
    }
    if (time >= course->at[last]) {
        return (struct instant){
            course->moved[last] +
                ck_clock_drift(time - course->at[last], course->rate_ppb[1]),
            course->middle[last], course->stretch[last]};
    }
    while (high - low > 1) {
        size_t at = low + (high - low) / 2;

        if (course->at[at] <= time) {
            low = at;
        } else {
            high = at;
        }
    }
    if (course->stretch[low] != course->stretch[high]) {
        return (struct instant){0, 0, NOWHERE};
    }
    from = time - course->at[low];
    span = course->at[high] - course->at[low];
    return (struct instant){
        course->moved[low] +
            (ck_time_t)((__int128)(course->moved[high] - course->moved[low]) *
                        from / span),
        course->middle[low] +
            (ck_time_t)((__int128)(course->middle[high] - course->middle[low]) *
                        from / span),
        course->stretch[low]};
}

/* How far v_g may move from one instant to another. */
static ck_time_t
course_slack(const struct course *course, ck_time_t from, ck_time_t to)
{
    struct instant a = course_at(course, from);
    struct instant b = course_at(course, to);

    if (a.stretch != b.stretch || a.stretch == NOWHERE) {
        return CK_CLOCK_NONE;
    }
    return ck_clock_distance(a.moved, b.moved) + 2;
}

/* ---- solving for it ------------------------------------------------------ */

static void nodes_make(const struct clocksolve *solve,
                       const struct course *course,
                       uint32_t g,
                       struct clockrelax_node *nodes)
{
    for (size_t k = 0; k < solve->relax.nodes_count; k++) {
        const struct clockrelax_node *node = &solve->relax.nodes[k];
        /* Where g itself is not known, next to a jump, nothing is. */
        bool is_g =
            k >= solve->first[g] && k < solve->first[g + 1] && is_bounded(node);

        nodes[k] = (struct clockrelax_node){
            .upper = is_g ? 0 : CK_CLOCK_NONE,
            .lower = is_g ? 0 : -CK_CLOCK_NONE,
            .slack = node->slack,
            .upper_of = CLOCKRELAX_ORIGIN,
            .lower_of = CLOCKRELAX_ORIGIN,
        };
        if (node->slack != CK_CLOCK_NONE && k + 1 < solve->relax.nodes_count) {
            ck_time_t more =
                course_slack(course, time_of(solve, k), time_of(solve, k + 1));

            nodes[k].slack =
                more == CK_CLOCK_NONE ? CK_CLOCK_NONE : node->slack + more;
        }
    }
}

static void links_make(const struct clocksolve *solve,
                       const struct course *course,
                       struct clockrelax_link *links)
{
    for (size_t i = 0; i < solve->relax.links_count; i++) {
        struct clockrelax_link link = solve->relax.links[i];

        if (link.x != CLOCKRELAX_ORIGIN) {
            ck_time_t more = course_slack(course, time_of(solve, link.x),
                                          time_of(solve, link.y));

            if (more == CK_CLOCK_NONE) {
                link = (struct clockrelax_link){CLOCKRELAX_ORIGIN,
                                                CLOCKRELAX_ORIGIN, 0};
            } else {
                link.w += more;
            }
        }
        links[i] = link;
    }
}

/* A clock's nodes from one to a later one are not of one stretch. */
static bool has_jump(const struct clocksolve *solve, size_t from, size_t to)
{
    while (from < to && solve->relax.nodes[from].slack != CK_CLOCK_NONE) {
        from++;
    }
    return from < to;
}

/* Where a clock or g jumped in front of what is known of both, or behind it,
 * nothing goes on there. `ends`: the first and the last node that is a point.
 */
static void ends_close(const struct clocksolve *solve,
                       const struct course *course,
                       const size_t ends[2],
                       struct clockmap_point **points,
                       size_t *count)
{
    uint32_t domain = solve->relax.places[ends[0]].domain;
    struct instant first = course_at(course, (*points)[0].at);
    struct instant last = course_at(course, (*points)[*count - 1].at);
    size_t room = *count;

    if (last.stretch != course->last_stretch ||
        has_jump(solve, ends[1], solve->first[domain + 1] - 1)) {
        array_grow(points, &room, *count, sizeof(**points));
        (*points)[*count - 1].is_last = true;
        (*points)[*count] =
            (struct clockmap_point){.at = (*points)[*count - 1].at + 1,
                                    .bound = CLOCKMAP_ERROR_UNKNOWN};
        (*count)++;
    }
    if (first.stretch != 0 || course->stretch[0] != 0 ||
        has_jump(solve, solve->first[domain], ends[0])) {
        array_grow(points, &room, *count, sizeof(**points));
        memmove(*points + 1, *points, *count * sizeof(**points));
        (*points)[0] = (struct clockmap_point){.at = (*points)[1].at - 1,
                                               .bound = CLOCKMAP_ERROR_UNKNOWN,
                                               .is_last = true};
        (*count)++;
    }
}

/* The bounds of a domain against g, as a map from the axis. */
static void bounds_map(const struct clocksolve *solve,
                       const struct course *course,
                       const struct clockrelax_node *nodes,
                       uint32_t domain,
                       struct clockmap *map)
{
    struct clockmap_point *points = NULL;
    size_t count = 0, room = 0, ends[2] = {0, 0};

    for (size_t k = solve->first[domain]; k < solve->first[domain + 1]; k++) {
        ck_time_t time = time_of(solve, k);
        struct instant g = course_at(course, time);
        ck_time_t middle = middle_of(&solve->relax.nodes[k]) - g.middle;
        ck_time_t above, below, span, slack;

        if (!is_bounded(&nodes[k]) || !is_bounded(&solve->relax.nodes[k]) ||
            g.stretch == NOWHERE ||
            (count > 0 && points[count - 1].at >= time)) {
            if (count > 0) {
                points[count - 1].is_last |= nodes[k].slack == CK_CLOCK_NONE;
            }
            continue;
        }
        array_grow(&points, &room, count, sizeof(*points));
        above = nodes[k].upper - middle;
        below = middle - nodes[k].lower;
        points[count] = (struct clockmap_point){
            .at = time,
            .bound = (above > below ? above : below) + ROUNDING,
            .is_last = nodes[k].slack == CK_CLOCK_NONE &&
                       k + 1 < solve->first[domain + 1],
        };
        /* g's middle is no straight line either: hence twice. */
        span =
            k + 1 < solve->first[domain + 1] ? time_of(solve, k + 1) - time : 0;
        slack = nodes[k].slack == CK_CLOCK_NONE || span <= 0
                    ? 0
                    : 2 * nodes[k].slack - solve->relax.nodes[k].slack;
        points[count].rate_ppb =
            slack == 0 ? solve->relax.places[k].rate_ppb + course->rate_ppb[0]
                       : (int64_t)((__int128)slack * 1000000000 / span) + 1;
        ends[count > 0] = k;
        count++;
    }
    if (count > 1) {
        /* In front of a map its first stretch goes on by the rate that the last
         * point of that has, behind it its last one. */
        points[count - 1].rate_ppb =
            solve->relax.places[ends[1]].rate_ppb + course->rate_ppb[1];
        ends_close(solve, course, ends, &points, &count);
        (void)clockmap_make(map, points, count);
    }
    free(points);
}

/* Relax for g and keep what comes of it. */
static void against_solve(const struct clocksolve *solve,
                          const struct course *course,
                          uint32_t g,
                          struct clockmap *maps)
{
    struct clockrelax relax = solve->relax;
    struct clockrelax_conflict *conflict = xmalloc(sizeof(*conflict));

    relax.nodes = xmalloc((relax.nodes_count + 1) * sizeof(*relax.nodes));
    relax.links = xmalloc((relax.links_count + 1) * sizeof(*relax.links));
    relax.groups = xmalloc((relax.groups_count + 1) * sizeof(*relax.groups));
    nodes_make(solve, course, g, relax.nodes);
    links_make(solve, course, relax.links);
    memcpy(relax.groups, solve->relax.groups,
           relax.groups_count * sizeof(*relax.groups));
    clockrelax_run(&relax, conflict);
    for (uint32_t d = 0; conflict->excess == 0 && d < solve->graph->domains;
         d++) {
        if (d != g) {
            bounds_map(solve, course, relax.nodes, d, &maps[d]);
        }
    }
    free(relax.nodes);
    free(relax.links);
    free(relax.groups);
    free(conflict);
}

/* The maps of all domains against g; NULL = none. */
static struct clockmap *against(struct clockpair *pair, uint32_t g)
{
    const struct clocksolve *solve = pair->solve;
    size_t cost = solve->relax.nodes_count + solve->relax.links_count;
    struct clockmap *maps = pair->against[g].maps;
    struct course course;

    if (maps != NULL || pair->work + cost > CLOCKPAIR_WORK) {
        return maps;
    }
    maps = xcalloc((size_t)solve->graph->domains + 1, sizeof(*maps));
    pair->work += cost;
    pair->against[g].maps = maps;
    course_init(&course, solve, g);
    if (course.count > 0) {
        against_solve(solve, &course, g, maps);
    }
    course_fini(&course);
    return maps;
}

ck_time_t
clockpair_bound(struct clockpair *pair, uint32_t a, uint32_t b, ck_time_t time)
{
    uint32_t g = a < b ? a : b;
    uint32_t other = a < b ? b : a;
    struct clockmap *maps;
    ck_time_t error;

    if (a == b) {
        return 0;
    }
    maps = against(pair, g);
    if (maps == NULL || maps[other].count == 0) {
        return CK_CLOCK_NONE;
    }
    error = clockmap_error(&maps[other], time);
    return error == CLOCKMAP_ERROR_UNKNOWN ? CK_CLOCK_NONE : error;
}

bool clockpair_parts(struct clockpair *pair,
                     uint32_t a,
                     uint32_t b,
                     const ck_time_t stretch[2],
                     ck_time_t parts[CLOCKPARTS])
{
    struct clockmap *maps = a == b ? NULL : against(pair, a < b ? a : b);
    uint32_t other = a < b ? b : a;

    if (maps == NULL || maps[other].count == 0) {
        return false;
    }
    clockparts_fill(&maps[other], stretch[0], stretch[1], parts);
    return true;
}
