/* window.c - parts of a series in which its values are high, and nowhere else
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For several levels: the stretch with the most values above the level less
 * those below it (the maximal sum of +1 and -1, in one pass). Its borders are
 * then moved to where two levels, the median inside and the one outside, fit
 * best: the maximal sum again, of values cut to these levels, less half way.
 * What is found is taken out and the rest looked at again.
 */
#include "merge/analysis/steps/window.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/order.h"

#define LENGTH_MIN 3
/* The level inside is that many times the one outside, and a mean value inside
 * no more than that many times the level. */
#define CONTRAST 2
#define UNEVEN 3
/* At a border the level rises by that part of the difference, within few values
 * and (wide) within that part of the window: else it is a trend. */
#define JUMP 0.5
#define JUMP_WIDE 0.65
/* Or, where the rest is calm: the values at the border are at that part of the
 * level, and what they have above the rest begins with them, but for a part. */
#define LOW 0.4
#define SHEER 0.8
#define BORDER_PART 4
#define BORDER_MIN 3
#define BORDER_MAX 8
/* What begins with the first values is warming up unless it is so long. */
#define WARM_VALUES 2
#define WARM_MIN 12
#define WARM_PART 20
/* Of what the values of slow steps have above the usual, and of all. */
#define SHARE_SLOW 0.8
#define SHARE_ALL 0.5
#define FITS_MAX 4
/* Of successive values, at most. */
#define LIKE_MAX 0.999
/* And what is less than so many standard errors is none. */
#define LIKE_ERRORS 1.5
/* Of the difference of the two levels, that the rest varies by at most where
 * it is calm, without its slow values, which are no more than an n-th of those
 * inside; and by which it and the window do where these are even. */
#define CALM 0.05
#define HICCUPS 15
#define EVEN_REST 0.1
#define EVEN_INSIDE 0.15

/* A window is apart from the rest with so many values or more. At most a tenth
 * of them are lower than LOW_INSIDE of the difference. Outside, slow values are
 * as few as where it is calm, and the others vary by less than APART_REST of
 * it. At a border the lower of the two values inside is above the median of the
 * three outside by CLIFF of the difference, and above the level outside five
 * times as much as that. However alike values are, a part of them is new. */
#define APART_MIN 12
#define LOW_INSIDE 0.3
#define LOW_PART 10
#define APART_REST 0.22
#define CLIFF 0.4
#define CLIFF_TIMES 5
#define CLIFF_INSIDE 2
#define CLIFF_OUTSIDE 3
#define APART_NEW 0.42

/* Parts of the values that are above the levels tried. */
static const double parts[] = {0.5,  0.4,  0.3,  0.2,   0.14,  0.1,
                               0.07, 0.04, 0.02, 0.008, 0.003, 0.0012};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* A series, and room for as many values. */
struct series {
    ck_time_t *values;
    size_t *places; /* in the whole series */
    size_t count;
    ck_time_t *sorted; /* ascending */
    ck_time_t *room;
};

/* [first, end) of a series, its median, and that of the rest. */
struct stretch {
    size_t first;
    size_t end;
    double inside;
    double outside;
};

CK_ORDER(by_size, ck_time_t, CK_LESS(*a, *b))

/* The k-th smallest; puts the values in another order. */
static ck_time_t nth(ck_time_t *values, size_t count, size_t k)
{
    size_t low = 0, high = count - 1;

    while (low < high) {
        ck_time_t pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;

        while (i <= j) {
            while (values[i] < pivot) {
                i++;
            }
            while (values[j] > pivot) {
                j--;
            }
            if (i <= j) {
                ck_time_t value = values[i];

                values[i++] = values[j];
                values[j] = value;
                if (j == 0) {
                    break;
                }
                j--;
            }
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            break;
        }
    }
    return values[k];
}

static double median(ck_time_t *values, size_t count)
{
    return count == 0 ? 0 : (double)nth(values, count, (count - 1) / 2);
}

static double median_of(struct series *series, size_t first, size_t end)
{
    memcpy(series->room, series->values + first,
           (end - first) * sizeof(*series->room));
    return median(series->room, end - first);
}

static void levels_find(struct series *series, struct stretch *stretch)
{
    size_t rest = series->count - stretch->end;

    stretch->inside = median_of(series, stretch->first, stretch->end);
    memcpy(series->room, series->values,
           stretch->first * sizeof(*series->room));
    memcpy(series->room + stretch->first, series->values + stretch->end,
           rest * sizeof(*series->room));
    stretch->outside = median(series->room, stretch->first + rest);
}

/* Where values from `high` on count +1, those up to `low` -1, others what is
 * between: the stretch of the largest sum. */
static struct stretch
heaviest(const struct series *series, double low, double high)
{
    struct stretch best = {0, 0, 0, 0};
    double sum = 0, most = 0;
    size_t first = 0;

    for (size_t i = 0; i < series->count; i++) {
        double value = (double)series->values[i];

        if (sum <= 0) {
            sum = 0;
            first = i;
        }
        if (value >= high) {
            sum += 1;
        } else if (value <= low) {
            sum -= 1;
        } else {
            sum += 2 * (value - low) / (high - low) - 1;
        }
        if (sum > most) {
            most = sum;
            best.first = first;
            best.end = i + 1;
        }
    }
    return best;
}

/* ---- what a window must be ---------------------------------------------- */

static double choose_log(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* The chance that `length` values drawn from `all` have so many slow ones or
 * more, when `slow` of all are slow. */
static double drawn(double all, double slow, double length, double hits)
{
    /* expl(): exp() would be glibc 2.29's, and an archive is to run before. */
    double term = (double)expl(choose_log(slow, hits) +
                               choose_log(all - slow, length - hits) -
                               choose_log(all, length));
    double sum = term;

    while (term > sum * 1e-6 && hits < length && hits < slow) {
        term *= (slow - hits) * (length - hits) /
                ((hits + 1) * (all - slow - length + hits + 1));
        sum += term;
        hits++;
    }
    return sum;
}

/* Is what the rest varies by far below the window's level, farther where that
 * varies, too? Then, however alike successive values are, that makes none of
 * them slow. A few that are slow all the same are no part of that: they count
 * as slow ones. */
static bool is_calm(const struct series *series, const struct stretch *stretch)
{
    double gap = stretch->inside - stretch->outside, squares = 0, inside = 0;
    size_t length = stretch->end - stretch->first, slow = 0;

    for (size_t i = 0; i < series->count; i++) {
        double part = ((double)series->values[i] - stretch->outside) / gap;

        if (i >= stretch->first && i < stretch->end) {
            inside += (part - 1) * (part - 1);
            continue;
        }
        slow += part > 0.5;
        part = part < -1 ? -1 : part;
        squares += part > 0.5 ? 0 : part * part;
    }
    squares /= (double)(series->count - length);
    return slow * HICCUPS <= length &&
           (squares < CALM * CALM ||
            (squares < EVEN_REST * EVEN_REST &&
             inside < EVEN_INSIDE * EVEN_INSIDE * (double)length));
}

/* Are nearly all values inside high, and nearly all outside low? */
static bool is_filled(const struct series *series,
                      const struct stretch *stretch)
{
    double gap = stretch->inside - stretch->outside, squares = 0;
    size_t length = stretch->end - stretch->first, slow = 0, low = 0;

    for (size_t i = 0; i < series->count; i++) {
        double part = ((double)series->values[i] - stretch->outside) / gap;

        if (i >= stretch->first && i < stretch->end) {
            low += part < LOW_INSIDE;
            continue;
        }
        slow += part > 0.5;
        part = part < -1 ? -1 : part;
        squares += part > 0.5 ? 0 : part * part;
    }
    squares /= (double)(series->count - length);
    return slow * HICCUPS <= length && low * LOW_PART <= length &&
           squares < APART_REST * APART_REST;
}

/* Do the values fall down all at once at a border? At an end of the series
 * there is none. */
static bool
is_cliff(struct series *series, const struct stretch *stretch, bool is_begin)
{
    size_t border = is_begin ? stretch->first : stretch->end;
    size_t inner = is_begin ? border : border - CLIFF_INSIDE;
    double gap = stretch->inside - stretch->outside, inside = INFINITY, outside;

    if (is_begin ? border == 0 : border == series->count) {
        return true;
    }
    if (border < CLIFF_OUTSIDE || border + CLIFF_OUTSIDE > series->count) {
        return false;
    }
    for (size_t i = inner; i < inner + CLIFF_INSIDE; i++) {
        inside = fmin(inside, (double)series->values[i]);
    }
    outside = is_begin ? median_of(series, border - CLIFF_OUTSIDE, border)
                       : median_of(series, border, border + CLIFF_OUTSIDE);
    return inside - outside >= CLIFF * gap &&
           inside - stretch->outside >=
               CLIFF_TIMES * (outside - stretch->outside);
}

/* Is it so far from the rest that its values, and those outside, may resemble
 * those before them? What goes up and down by and by has no cliffs. */
static bool is_apart(struct series *series, const struct stretch *stretch)
{
    return stretch->end - stretch->first >= APART_MIN &&
           is_filled(series, stretch) && is_cliff(series, stretch, true) &&
           is_cliff(series, stretch, false);
}

/* How much less than independent values the series shows: values like those
 * before them, beside the two levels, count as the fewer that are new. */
static double independent_part(const struct series *series,
                               const struct stretch *stretch)
{
    size_t length = stretch->end - stretch->first;
    double above[2] = {0, 0}; /* the part of the values above their median */
    double products = 0, squares = 0, before = 0, like;

    for (size_t i = 0; i < series->count; i++) {
        bool is_in = i >= stretch->first && i < stretch->end;

        above[is_in] += (double)series->values[i] >
                        (is_in ? stretch->inside : stretch->outside);
    }
    above[1] /= (double)length;
    above[0] /= (double)(series->count - length);
    for (size_t i = 0; i < series->count; i++) {
        bool is_in = i >= stretch->first && i < stretch->end;
        double value = ((double)series->values[i] >
                        (is_in ? stretch->inside : stretch->outside)) -
                       above[is_in];

        products +=
            i == stretch->first || i == stretch->end ? 0 : value * before;
        squares += value * value;
        before = value;
    }
    like = squares > 0 ? products / squares : 0;
    /* No more than independent values show by chance. */
    if (like * sqrt((double)series->count) < LIKE_ERRORS) {
        return 1;
    }
    /* Of signs the correlation is less than of what they are the signs of
     * (Sheppard), and few values show less than there is (Kendall). */
    like = sin(M_PI_2 * like);
    like += (1 + 3 * like) / (double)series->count;
    like = like < LIKE_MAX ? like : LIKE_MAX;
    return (1 - like) / (1 + like);
}

/* The part of the values that is new. */
static double new_part(struct series *series, const struct stretch *stretch)
{
    double part;

    if (is_calm(series, stretch)) {
        return 1;
    }
    part = independent_part(series, stretch);
    return part < APART_NEW && is_apart(series, stretch) ? APART_NEW : part;
}

/* At most the chance that values in random order have any stretch where the
 * slow ones exceed the others by as many: the sum over all stretches. */
static double order_chance(struct series *series,
                           const struct stretch *stretch,
                           double chance)
{
    double level = (stretch->inside + stretch->outside) / 2;
    double part = new_part(series, stretch);
    double all = (double)series->count * part, slow = 0, hits = 0, sum = 0;
    double excess, length;

    for (size_t i = 0; i < series->count; i++) {
        bool is_slow = (double)series->values[i] > level;

        slow += is_slow;
        hits += is_slow && i >= stretch->first && i < stretch->end;
    }
    /* Whole values: less than one is not enough. */
    all = ceil(all);
    slow = ceil(slow * part);
    excess = round((2 * hits - (double)(stretch->end - stretch->first)) * part);
    if (excess < 1) {
        return 1;
    }
    length = excess;
    while (length <= all && (excess + length) / 2 <= slow && sum <= chance) {
        double needed = (excess + length) / 2;
        double other = length - needed;

        if (other <= all - slow) {
            sum += (all - length + 1) * drawn(all, slow, length, needed);
        }
        length += 2;
    }
    return sum;
}

/* Is the rise at a border, of so many values on each side, that part of the
 * difference? What makes a window's values high may do so more or less in its
 * course: then it is enough that they are high from the border on. */
static bool rises(struct series *series,
                  const struct stretch *stretch,
                  size_t width,
                  double part,
                  bool is_begin)
{
    size_t length = stretch->end - stretch->first;
    size_t border = is_begin ? stretch->first : stretch->end;
    size_t inside = length > width ? width : length;
    size_t before = is_begin ? width : inside;
    size_t after = is_begin ? inside : width;
    double gap = stretch->inside - stretch->outside, left, right, high, rise;

    before = before < border ? before : border;
    after = after < series->count - border ? after : series->count - border;
    left = median_of(series, border - before, border);
    right = median_of(series, border, border + after);
    high = (is_begin ? right : left) - stretch->outside;
    rise = is_begin ? right - left : left - right;
    return rise >= part * gap || (high >= LOW * gap && rise >= SHEER * high &&
                                  is_calm(series, stretch));
}

/* The same of a few values, and of as many as separate it from a trend in
 * noise. At an end of the series there is no border. */
static bool
is_sharp(struct series *series, const struct stretch *stretch, bool is_begin)
{
    size_t width = (stretch->end - stretch->first) / BORDER_PART;
    size_t few = width > BORDER_MAX ? BORDER_MAX : width;

    if (is_begin ? stretch->first == 0 : stretch->end == series->count) {
        return true;
    }
    return rises(series, stretch, few < BORDER_MIN ? BORDER_MIN : few, JUMP,
                 is_begin) &&
           rises(series, stretch, width < BORDER_MIN ? BORDER_MIN : width,
                 JUMP_WIDE, is_begin);
}

static bool is_warming_up(const struct series *series,
                          const struct stretch *stretch)
{
    size_t length = stretch->end - stretch->first;

    return stretch->first <= WARM_VALUES &&
           (length < WARM_MIN || length < series->count / WARM_PART);
}

static double sum_of(const struct series *series, const struct stretch *stretch)
{
    double sum = 0;

    for (size_t i = stretch->first; i < stretch->end; i++) {
        sum += (double)series->values[i];
    }
    return sum;
}

static bool
is_window(struct series *series, const struct stretch *stretch, double chance)
{
    size_t length = stretch->end - stretch->first;

    return length >= LENGTH_MIN && length <= series->count / 2 &&
           stretch->inside > CONTRAST * stretch->outside &&
           sum_of(series, stretch) <=
               UNEVEN * stretch->inside * (double)length &&
           !is_warming_up(series, stretch) &&
           (is_apart(series, stretch) || (is_sharp(series, stretch, true) &&
                                          is_sharp(series, stretch, false))) &&
           order_chance(series, stretch, chance) <= chance;
}

/* ---- finding ------------------------------------------------------------ */

/* Move the borders to where the two levels fit best. */
static struct stretch stretch_fit(struct series *series, struct stretch stretch)
{
    for (int i = 0; i < FITS_MAX; i++) {
        struct stretch next;

        levels_find(series, &stretch);
        if (stretch.inside <= stretch.outside) {
            break;
        }
        next = heaviest(series, stretch.outside, stretch.inside);
        if (next.first == stretch.first && next.end == stretch.end) {
            break;
        }
        stretch = next;
    }
    levels_find(series, &stretch);
    return stretch;
}

static double excess_of(const struct series *series,
                        const struct stretch *stretch)
{
    return sum_of(series, stretch) -
           stretch->outside * (double)(stretch->end - stretch->first);
}

/* The window that has most above the level of the rest; false = none. */
static bool
window_next(struct series *series, double chance, struct stretch *best)
{
    static const size_t tries = PARTS;
    struct stretch last = {0, 0, 0, 0};
    double most = 0;

    memcpy(series->sorted, series->values,
           series->count * sizeof(*series->sorted));
    qsort(series->sorted, series->count, sizeof(*series->sorted), by_size);
    for (size_t i = 0; i < PARTS; i++) {
        size_t above = (size_t)(parts[i] * (double)series->count);
        double level;
        struct stretch stretch;

        if (above < LENGTH_MIN) {
            break;
        }
        level = (double)series->sorted[series->count - above];
        if (level <= (double)series->sorted[0]) {
            continue;
        }
        stretch = heaviest(series, level - 1, level);
        if (stretch.end == 0 ||
            (stretch.first == last.first && stretch.end == last.end)) {
            continue;
        }
        last = stretch;
        stretch = stretch_fit(series, stretch);
        if (excess_of(series, &stretch) > most &&
            is_window(series, &stretch, chance / (double)tries)) {
            most = excess_of(series, &stretch);
            *best = stretch;
        }
    }
    return most > 0;
}

/* Take it out of the series; NULL = none of it is over a seam. */
static bool
window_take(struct series *series, struct stretch part, struct window *window)
{
    size_t length = part.end - part.first;

    window->first = series->places[part.first];
    window->last = series->places[part.end - 1];
    if (window->last - window->first != length - 1) {
        return false; /* it is on both sides of one found before */
    }
    memmove(series->values + part.first, series->values + part.end,
            (series->count - part.end) * sizeof(*series->values));
    memmove(series->places + part.first, series->places + part.end,
            (series->count - part.end) * sizeof(*series->places));
    series->count -= length;
    return true;
}

/* Do the windows have what is slow, and most of all? What is left of the series
 * is outside of them. Sets their shares. */
static bool is_enough(struct series *series,
                      const ck_time_t *values,
                      size_t values_count,
                      struct window *windows,
                      size_t count)
{
    double usual = median_of(series, 0, series->count);
    double all = 0, inside = 0, level = INFINITY, slow = 0, length = 0;

    for (size_t i = 0; i < values_count; i++) {
        all += (double)values[i];
    }
    for (size_t w = 0; w < count; w++) {
        size_t first = windows[w].first, size = windows[w].last - first + 1;
        double sum = 0, half;

        memcpy(series->room, values + first, size * sizeof(*values));
        half = (median(series->room, size) + usual) / 2;
        level = half < level ? half : level;
        for (size_t i = first; i < first + size; i++) {
            sum += (double)values[i];
        }
        windows[w].share = sum / all;
        inside += sum;
        length += (double)size;
    }
    for (size_t i = 0; i < series->count; i++) {
        double value = (double)series->values[i];

        slow += value > level ? value - usual : 0;
    }
    return inside >= SHARE_ALL * all && 2 * length <= (double)values_count &&
           inside - usual * length >=
               SHARE_SLOW * (inside - usual * length + slow);
}

CK_ORDER(by_first, struct window, CK_UP(first))

void window_find(const ck_time_t *values,
                 size_t values_count,
                 double chance,
                 struct window windows[WINDOWS_MAX],
                 size_t *count)
{
    size_t size = values_count * sizeof(ck_time_t);
    struct series series = {.count = values_count};
    struct stretch stretch = {0, 0, 0, 0};
    size_t found = 0;

    *count = 0;
    if (values_count < WINDOW_VALUES_MIN) {
        return;
    }
    series.values = xmalloc(size * 3);
    series.places = xmalloc(values_count * sizeof(*series.places));
    series.sorted = series.values + values_count;
    series.room = series.sorted + values_count;
    memcpy(series.values, values, size);
    for (size_t i = 0; i < values_count; i++) {
        series.places[i] = i;
    }
    while (found < WINDOWS_MAX && *count == 0 &&
           window_next(&series, chance, &stretch) &&
           window_take(&series, stretch, &windows[found])) {
        found++;
        if (is_enough(&series, values, values_count, windows, found)) {
            *count = found;
        }
    }
    qsort(windows, *count, sizeof(*windows), by_first);
    free(series.values);
    free(series.places);
}
