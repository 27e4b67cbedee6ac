/* when.c - how much time of several things fell into each step
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/steps/when.h"

#include <stdlib.h>

#include "merge/analysis/steps/burst.h"
#include "merge/analysis/steps/series.h"
#include "merge/analysis/steps/window.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* The chance of a window where there is none, for a thing and a width. */
#define CHANCE 1e-3
/* A stretch of time has at least so many pieces, were they shared out evenly to
 * all ranks. */
#define PIECES_MIN 2

_Static_assert(WINDOWS_MAX == REPORT_WINDOWS_MAX,
               "a report has room for all windows");

struct when {
    struct steps *steps; /* borrowed */
    struct region region;
    struct series *items; /* by thing */
    size_t count, room;
    struct burst *bursts; /* by thing */
    size_t bursts_count, bursts_room;
    size_t limit;
    size_t cells;    /* in all series */
    size_t wide;     /* steps a cell */
    uint64_t pieces; /* that were added */
};

struct when *
when_create(struct steps *steps, struct region region, size_t limit)
{
    struct when *when = xcalloc(1, sizeof(*when));

    when->steps = steps;
    when->region = region;
    when->limit = limit > 0 ? limit : WHEN_CELLS_MAX;
    when->wide = 1;
    return when;
}

void when_destroy(struct when *when)
{
    if (when == NULL) {
        return;
    }
    for (size_t i = 0; i < when->count; i++) {
        series_fini(&when->items[i]);
    }
    free(when->items);
    free(when->bursts);
    free(when);
}

struct steps *when_steps(const struct when *when)
{
    return when == NULL ? NULL : when->steps;
}

/* ---- cells -------------------------------------------------------------- */

/* Each cell of each thing takes in the next one. */
static void when_fold(struct when *when)
{
    when->cells = 0;
    when->wide *= 2;
    for (size_t i = 0; i < when->count; i++) {
        series_fold(&when->items[i]);
        when->cells += when->items[i].count;
    }
}

static void
cell_add(struct when *when, uint32_t thing, size_t place, ck_time_t ns)
{
    struct series *series;

    while (thing >= when->count) {
        array_grow(&when->items, &when->room, when->count,
                   sizeof(*when->items));
        when->items[when->count++] = (struct series){.cells = NULL};
    }
    series = &when->items[thing];
    while (when->wide < STEPS_MAX &&
           when->cells - series->count +
                   series_length(series, place / when->wide) >
               when->limit) {
        when_fold(when);
    }
    when->cells -= series->count;
    series_add(series, place / when->wide, ns);
    when->cells += series->count;
}

/* ---- adding ------------------------------------------------------------- */

struct adding {
    struct when *when;
    uint32_t thing;
};

static void step_take(void *state, uint32_t step, struct region inside)
{
    struct adding *adding = state;

    cell_add(adding->when, adding->thing, step, region_length(inside));
}

static void
part_add(struct when *when, uint32_t thing, uint32_t rank, struct region part)
{
    while (thing >= when->bursts_count) {
        array_grow(&when->bursts, &when->bursts_room, when->bursts_count,
                   sizeof(*when->bursts));
        when->bursts[when->bursts_count++] = (struct burst){.all = 0};
    }
    burst_add(&when->bursts[thing], rank, part);
}

void when_add(struct when *when,
              uint32_t thing,
              uint32_t rank,
              struct region part)
{
    struct adding adding = {when, thing};
    double place;

    if (!region_clip(when->region, &part.start, &part.end) ||
        part.start == part.end) {
        return;
    }
    when->pieces++;
    part_add(when, thing, rank, part);
    if (steps_are_known(when->steps)) {
        steps_walk(when->steps, rank, part, step_take, &adding);
        return;
    }
    place = (double)(part.end - 1 - when->region.start) * WHEN_STRETCHES /
            (double)region_length(when->region);
    cell_add(when, thing, (size_t)place, region_length(part));
}

/* ---- windows ------------------------------------------------------------ */

/* How many steps, or stretches of time, one value is for, and how many values
 * there are. */
struct axis {
    size_t wide;
    size_t count;
    bool is_steps;
};

static struct axis axis_of(const struct when *when)
{
    struct axis axis = {when->wide, 0, steps_are_known(when->steps)};
    size_t all = axis.is_steps ? steps_count(when->steps) : WHEN_STRETCHES;

    while (!axis.is_steps && axis.wide < WHEN_STRETCHES &&
           WHEN_STRETCHES / axis.wide * PIECES_MIN * steps_ranks(when->steps) >
               when->pieces) {
        axis.wide *= 2;
    }
    axis.count = (all + axis.wide - 1) / axis.wide;
    return axis;
}

static void values_add(const struct when *when,
                       uint32_t thing,
                       struct axis axis,
                       ck_time_t *values)
{
    const struct series *series =
        thing < when->count ? &when->items[thing] : NULL;

    for (size_t i = 0; series != NULL && i < series->count; i++) {
        size_t at = (series->first + i) * when->wide / axis.wide;

        if (at < axis.count) {
            values[at] += series_get(series, i);
        }
    }
}

static ck_time_t stretch_start(const struct when *when, size_t stretch)
{
    return when->region.start +
           (ck_time_t)((double)region_length(when->region) * (double)stretch /
                       WHEN_STRETCHES);
}

static struct report_window window_report(const struct when *when,
                                          struct axis axis,
                                          const struct window *window)
{
    struct report_window row = {.share = window->share};
    size_t first = window->first * axis.wide;
    size_t end = (window->last + 1) * axis.wide;

    if (axis.is_steps) {
        const struct report_step *from, *to;

        end = end < steps_count(when->steps) ? end : steps_count(when->steps);
        from = steps_item(when->steps, first);
        to = steps_item(when->steps, end - 1);
        row.start = from->start;
        row.end = to->end;
        /* Numbers that begin anew do not identify the steps. */
        row.has_steps = to->number - from->number == (int64_t)(end - 1 - first);
        row.first_step = from->number;
        row.last_step = to->number;
        row.of_steps = steps_count(when->steps);
    } else {
        row.start = stretch_start(when, first);
        row.end = stretch_start(when, end);
    }
    return row;
}

/* Windows of things taken together, in values of that width. */
static void windows_at(const struct when *when,
                       struct axis axis,
                       const uint32_t *things,
                       size_t count,
                       struct report_windows *windows)
{
    struct window found[WINDOWS_MAX];
    ck_time_t *values = xcalloc(axis.count + 1, sizeof(*values));

    for (size_t i = 0; i < count; i++) {
        values_add(when, things[i], axis, values);
    }
    window_find(values, axis.count, CHANCE, found, &windows->count);
    for (size_t i = 0; i < windows->count; i++) {
        windows->items[i] = window_report(when, axis, &found[i]);
        windows->items[i].share *= 1 - windows->outside;
    }
    free(values);
}

/* ---- one event ---------------------------------------------------------- */

static struct burst
burst_of(const struct when *when, const uint32_t *things, size_t count)
{
    struct burst burst = {.all = 0};

    for (size_t i = 0; i < count; i++) {
        if (things[i] < when->bursts_count) {
            burst_join(&burst, &when->bursts[things[i]]);
        }
    }
    return burst;
}

/* The step with most of a part of a rank's time. */
struct most {
    uint32_t step;
    ck_time_t ns;
};

static void most_take(void *state, uint32_t step, struct region inside)
{
    struct most *most = state;

    if (region_length(inside) > most->ns) {
        *most = (struct most){step, region_length(inside)};
    }
}

/* Do the numbers identify the steps? */
static bool are_numbered(const struct steps *steps)
{
    size_t count = steps_count(steps);

    return count > 0 && steps_item(steps, count - 1)->number -
                                steps_item(steps, 0)->number ==
                            (int64_t)count - 1;
}

static void event_find(const struct when *when,
                       const struct burst *burst,
                       struct report_windows *windows)
{
    const struct burst_stretch *most = &burst->most;
    struct report_window *event = &windows->event;
    struct most step = {0, 0};

    windows->has_event = windows->count == 0 && burst_is_single(burst);
    if (!windows->has_event) {
        return;
    }
    *event =
        (struct report_window){.start = most->part.start,
                               .end = most->part.end,
                               .share = (double)most->ns / (double)burst->all};
    steps_walk(when->steps, most->rank, most->longest, most_take, &step);
    if (step.ns * 2 >= region_length(most->longest) &&
        are_numbered(when->steps)) {
        event->has_steps = true;
        event->first_step = event->last_step =
            steps_item(when->steps, step.step)->number;
        event->of_steps = steps_count(when->steps);
    }
}

/* The part of the time that is in no step. */
static double outside_of(const struct when *when,
                         const struct burst *burst,
                         const uint32_t *things,
                         size_t count)
{
    ck_time_t inside = 0;

    if (!steps_are_known(when->steps) || burst->all == 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        const struct series *series =
            things[i] < when->count ? &when->items[things[i]] : NULL;

        for (size_t k = 0; series != NULL && k < series->count; k++) {
            inside += series_get(series, k);
        }
    }
    return inside >= burst->all ? 0 : 1 - (double)inside / (double)burst->all;
}

/* The value by whose end half of all has passed. */
static void median_find(const struct when *when,
                        const uint32_t *things,
                        size_t count,
                        struct report_windows *windows)
{
    struct axis axis = axis_of(when);
    ck_time_t *values = xcalloc(axis.count + 1, sizeof(*values));
    ck_time_t all = 0, passed = 0;

    for (size_t i = 0; i < count; i++) {
        values_add(when, things[i], axis, values);
    }
    for (size_t i = 0; i < axis.count; i++) {
        all += values[i];
    }
    for (size_t i = 0; i < axis.count; i++) {
        if (passed < all - all / 2 && passed + values[i] >= all - all / 2) {
            const struct window at = {.first = i, .last = i};
            struct report_window row = window_report(when, axis, &at);

            windows->median = (struct region){row.start, row.end};
        }
        passed += values[i];
    }
    free(values);
}

static void windows_find(const struct when *when,
                         const uint32_t *things,
                         size_t count,
                         struct report_windows *windows)
{
    struct axis axis = axis_of(when);

    while (axis.count >= WINDOW_VALUES_MIN && windows->count == 0) {
        windows_at(when, axis, things, count, windows);
        if (axis.is_steps) {
            break;
        }
        /* Pieces are longer, and fewer, where a rank is late. */
        axis.wide *= 2;
        axis.count /= 2;
    }
}

void when_windows(const struct when *when,
                  const uint32_t *things,
                  size_t count,
                  struct report_windows *windows)
{
    struct burst burst = burst_of(when, things, count);

    *windows = (struct report_windows){.count = 0};
    windows->outside = outside_of(when, &burst, things, count);
    windows_find(when, things, count, windows);
    median_find(when, things, count, windows);
    event_find(when, &burst, windows);
}

/* ---- slow steps --------------------------------------------------------- */

CK_ORDER(by_length, ck_time_t, CK_LESS(*b, *a))

/* The slow ones of values, and their part of their sum. Puts them in order,
 * longest first. */
static struct report_slow slow_of(ck_time_t *values, size_t count)
{
    struct report_slow slow = {.steps = 0};
    ck_time_t all = 0, half = 0, sum = 0;
    size_t i = 0;

    qsort(values, count, sizeof(*values), by_length);
    for (size_t k = 0; k < count; k++) {
        all += values[k];
    }
    while (i < count && half < all - half) {
        half += values[i++];
    }
    if (i == 0) {
        return slow;
    }
    half = values[i - 1] / 2;
    for (i = 0; i < count && values[i] > 0 && values[i] >= half; i++) {
        sum += values[i];
    }
    return (struct report_slow){.steps = (uint32_t)i,
                                .share = (double)sum / (double)all,
                                .median = values[i / 2]};
}

void when_slow(const struct when *when,
               uint32_t thing,
               struct report_slow *slow)
{
    const struct series *series =
        thing < when->count ? &when->items[thing] : NULL;
    ck_time_t *values;

    *slow = (struct report_slow){.steps = 0};
    if (series == NULL || series->count == 0 || when->wide > 1 ||
        !steps_are_known(when->steps)) {
        return;
    }
    values = xmalloc(series->count * sizeof(*values));
    for (size_t i = 0; i < series->count; i++) {
        values[i] = series_get(series, i);
    }
    *slow = slow_of(values, series->count);
    slow->share *= 1 - outside_of(when, &when->bursts[thing], &thing, 1);
    free(values);
}
