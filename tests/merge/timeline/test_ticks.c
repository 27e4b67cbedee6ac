/* test_ticks.c - a counter that jumps: the truth is inside of the stated error
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Worlds: a counter and RAW over some minutes, pairs each second with brackets
 * of 10 ns to 2 us, and a few things that happen to the counter. CK_WORLDS is
 * how many of each kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/timeline/ticks.h"
#include "schema/clock/clocksource.h"

#define SECONDS 120
#define EVENTS 3
#define STAMPS 4000

/* From `at` (RAW ns) on. */
struct event {
    double at;
    double jump; /* ticks */
    double rate; /* ticks a ns; 0 = as before */
};

struct world {
    uint64_t state;
    double seconds;
    double rate;
    double wander; /* amplitude, parts */
    double width;  /* of each pair; 0 = of any size */
    struct event events[EVENTS];
    size_t events_count;
    struct ticks_pair pairs[2 * SECONDS];
    size_t pairs_count;
};

static double drawn(struct world *world)
{
    world->state = world->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(world->state >> 11) / 9007199254740992.0;
}

/* Between two sizes, all orders of magnitude alike; of either sign. */
static double sized(struct world *world, double least, double most)
{
    double size = least * pow(most / least, drawn(world));

    return drawn(world) < 0.5 ? -size : size;
}

static int64_t ticks_at(const struct world *world, double raw)
{
    double ticks = 3e12, from = 0, rate = world->rate;

    for (size_t i = 0; i < world->events_count; i++) {
        const struct event *event = &world->events[i];

        if (event->at > raw) {
            break;
        }
        ticks += (event->at - from) * rate + event->jump;
        from = event->at;
        rate = event->rate > 0 ? event->rate : rate;
    }
    ticks += (raw - from) * rate;
    /* A sine of 20 s in the rate, integrated. */
    return (int64_t)(ticks + world->wander * rate * 20e9 / 6.2832 *
                                 (1 - cos(raw * 6.2832 / 20e9)));
}

static void pair_draw(struct world *world, double at, int64_t source)
{
    double width =
        world->width > 0 ? world->width : 10 * pow(200, drawn(world));
    double off = (2 * drawn(world) - 1) * width;

    world->pairs[world->pairs_count++] = (struct ticks_pair){
        .ticks = ticks_at(world, at),
        .raw = (int64_t)(at + off),
        .width = (int64_t)ceil(width) + 1,
        .source = source,
    };
}

/* One at the end, as collectors have it. */
static void pairs_draw(struct world *world, int64_t source)
{
    double end = world->seconds * 1e9;

    world->pairs_count = 0;
    for (double at = 0; at < end - 1e7;) {
        pair_draw(world, at, source);
        /* Sometimes the collector has no CPU. */
        at += 1e9 * (0.9 + 0.2 * drawn(world)) +
              (drawn(world) < 0.02 ? 5e9 * drawn(world) : 0);
    }
    pair_draw(world, end, source);
}

/* Events at least 12 s apart. */
static void events_draw(struct world *world,
                        void (*draw)(struct world *world, struct event *event))
{
    double at = 3e9;

    world->events_count = 0;
    for (int i = 0; i < EVENTS; i++) {
        struct event *event = &world->events[world->events_count++];

        at += 12e9 + drawn(world) * 20e9;
        *event = (struct event){.at = at};
        draw(world, event);
    }
}

static void forward_draw(struct world *world, struct event *event)
{
    event->jump = fabs(sized(world, 1e3, 1e13));
}

static void backward_draw(struct world *world, struct event *event)
{
    event->jump = -fabs(sized(world, 1e3, 1e12));
}

static void rate_draw(struct world *world, struct event *event)
{
    event->rate = world->rate * (1 + sized(world, 1e-8, 0.1));
}

/* RAW goes on while the counter does not. */
static void suspend_draw(struct world *world, struct event *event)
{
    event->jump = -world->rate * fabs(sized(world, 1e3, 60e9));
}

/* A counter that begins again, as of a restored machine. */
static void reset_draw(struct world *world, struct event *event)
{
    event->jump = -(double)ticks_at(world, event->at) * drawn(world);
    event->rate = world->rate * (1 + sized(world, 1e-6, 0.01));
}

static bool is_calm(const struct world *world, double at)
{
    for (size_t i = 0; i < world->events_count; i++) {
        if (fabs(at - world->events[i].at) < 9e9) {
            return false;
        }
    }
    return true;
}

/* All stamps within their error, the region's error at least that, and where
 * nothing happened it is small. Returns how many were not doubtful. */
static size_t world_check(struct world *world, bool is_unique)
{
    struct ticks ticks = {0};
    size_t calm = 0;
    int64_t span[2];

    ticks_make(&ticks, world->pairs, world->pairs_count);
    for (int i = 0; i < STAMPS; i++) {
        double at = drawn(world) * world->seconds * 1e9;
        int64_t stamp = ticks_at(world, at);
        int64_t raw = ticks_raw(&ticks, stamp);
        ck_time_t error = ticks_error(&ticks, stamp);
        ck_time_t off = llabs(raw - (int64_t)at);

        if (off > error + 2) {
            fail_msg("at %.6f s: off by %ld ns, stated %ld", at / 1e9,
                     (long)off, (long)error);
        }
        if (ticks_error_between(&ticks, raw, raw) + 2 < off) {
            fail_msg("at %.6f s, put at %.6f: off by %ld ns, known to %ld",
                     at / 1e9, (double)raw / 1e9, (long)off,
                     (long)ticks_error_between(&ticks, raw, raw));
        }
        assert_true(ticks.worst + 2 >= off ||
                    raw > world->pairs[world->pairs_count - 1].raw);
        span[0] = span[1] = stamp;
        ticks_span(&ticks, span, true, span);
        assert_true(span[0] <= raw && raw <= span[1]);
        if (is_unique && is_calm(world, at)) {
            assert_true(error < 50 * CK_TIME_US);
            calm += error <= 10 * CK_TIME_US;
        }
    }
    ticks_fini(&ticks);
    return calm;
}

static unsigned worlds(void)
{
    const char *text = getenv("CK_WORLDS");

    return text == NULL ? 40 : (unsigned)strtoul(text, NULL, 10);
}

static void worlds_check(void (*draw)(struct world *world, struct event *event),
                         bool is_unique)
{
    struct world *world = calloc(1, sizeof(*world));
    const char *seed = getenv("CK_SEED");

    assert_non_null(world);
    for (unsigned i = 0; i < worlds(); i++) {
        world->state = (seed == NULL ? 7 : strtoul(seed, NULL, 10)) + i * 977;
        world->rate = 1 + 3 * drawn(world);
        world->seconds = SECONDS;
        events_draw(world, draw);
        pairs_draw(world, CK_CLOCKSOURCE_TSC);
        (void)world_check(world, is_unique);
    }
    free(world);
}

static void a_counter_that_jumps_ahead_is_within_its_error(void **state)
{
    (void)state;
    worlds_check(forward_draw, true);
}

static void a_counter_that_jumps_back_is_within_its_error(void **state)
{
    (void)state;
    worlds_check(backward_draw, false);
}

static void a_counter_that_changes_its_rate_is_within_its_error(void **state)
{
    (void)state;
    worlds_check(rate_draw, true);
}

static void a_counter_that_stopped_is_within_its_error(void **state)
{
    (void)state;
    worlds_check(suspend_draw, false);
}

static void a_counter_that_begins_again_is_within_its_error(void **state)
{
    (void)state;
    worlds_check(reset_draw, false);
}

/* 1 ppm of wander and another clocksource: known to half a microsecond more. */
static void another_clocksource_may_wander(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    (void)state;
    assert_non_null(world);
    for (unsigned i = 0; i < worlds(); i++) {
        world->state = 99 + i;
        world->rate = 2.1;
        world->seconds = SECONDS;
        world->wander = 0.9e-6;
        pairs_draw(world, ck_clocksource_number("kvm-clock\n"));
        (void)world_check(world, true);
    }
    free(world);
}

/* As of aarch64: 25 MHz to 1 GHz, a stamp is up to 40 ns old. */
static void a_slow_counter_is_within_its_error(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    (void)state;
    assert_non_null(world);
    for (unsigned i = 0; i < worlds(); i++) {
        world->state = 31 + i * 977;
        world->rate = 0.025 * pow(40, drawn(world));
        world->seconds = SECONDS;
        world->width = 10;
        pairs_draw(world, CK_CLOCKSOURCE_ARCH);
        assert_true(world_check(world, true) > STAMPS / 2);
    }
    free(world);
}

static void any_draw(struct world *world, struct event *event)
{
    static void (*const draws[])(struct world *, struct event *) = {
        forward_draw, backward_draw, rate_draw, suspend_draw, reset_draw};

    draws[(int)(drawn(world) * 5)](world, event);
}

/* One thing at any instant of a run of some seconds. */
static void what_happens_in_a_short_run_is_within_its_error(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    (void)state;
    assert_non_null(world);
    for (unsigned i = 0; i < 10 * worlds(); i++) {
        world->state = 5 + i * 977;
        world->rate = 1 + 3 * drawn(world);
        world->seconds = 3 + 5 * drawn(world);
        world->events_count = 1;
        world->events[0] =
            (struct event){.at = drawn(world) * world->seconds * 1e9};
        any_draw(world, &world->events[0]);
        pairs_draw(world, CK_CLOCKSOURCE_TSC);
        /* Two pairs show nothing. */
        if (world->pairs_count > 2) {
            (void)world_check(world, false);
        }
    }
    free(world);
}

static struct ticks_pair plain_pair(int64_t second, int64_t ticks)
{
    return (struct ticks_pair){.ticks = ticks,
                               .raw = second * CK_TIME_S,
                               .width = 15,
                               .source = CK_CLOCKSOURCE_TSC};
}

/* 2.8 ms in a stretch of a second; the stretches around it are not touched. */
static void a_jump_is_stated_where_it_happened(void **state)
{
    struct ticks_pair pairs[10];
    struct ticks ticks = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        pairs[i] =
            plain_pair(i, (int64_t)2 * i * CK_TIME_S + (i > 5 ? 5600000 : 0));
    }
    ticks_make(&ticks, pairs, 10);
    assert_int_equal(ticks.pieces_count, 2);
    assert_int_equal(ticks_jump(&ticks, 5), 2800000);
    assert_true(ticks_error(&ticks, 11 * CK_TIME_S) >= 2800000);
    assert_true(ticks_error(&ticks, 11 * CK_TIME_S) < 2810000);
    assert_true(ticks_error(&ticks, 5 * CK_TIME_S) < 200);
    assert_true(ticks_error(&ticks, 15 * CK_TIME_S) < 200);
    assert_true(ticks.bound < 200);
    assert_true(ticks.worst >= 2800000);
    ticks_fini(&ticks);
}

/* RAW was set 5 ms ahead shortly before the last of five pairs, or behind the
 * first: nothing was off by more, but what the rate is there is taken from the
 * other side. */
static void a_jump_at_an_end_is_known_to_its_size(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        struct ticks_pair pairs[5];
        struct ticks ticks = {0};

        for (int i = 0; i < 5; i++) {
            pairs[i] = plain_pair(i, (int64_t)2 * i * CK_TIME_S);
            pairs[i].raw += (behind ? i > 0 : i == 4) ? 5 * CK_TIME_MS : 0;
        }
        ticks_make(&ticks, pairs, 5);
        assert_true(ticks.worst >= 5 * CK_TIME_MS);
        assert_true(ticks.worst < 20 * CK_TIME_MS);
        ticks_fini(&ticks);
    }
}

/* All later pairs were ignored, and the old line went on. */
static void what_follows_a_jump_back_has_a_map_of_its_own(void **state)
{
    struct ticks_pair pairs[10];
    struct ticks ticks = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        pairs[i] = plain_pair(i, (i > 5 ? 0 : 40 * CK_TIME_S) +
                                     (int64_t)2 * i * CK_TIME_S);
    }
    ticks_make(&ticks, pairs, 10);
    assert_int_equal(ticks.count, 10);
    assert_int_equal(ticks.pieces_count, 2);
    assert_int_equal(ticks_raw(&ticks, 15 * CK_TIME_S), 7500000000);
    assert_true(ticks_error(&ticks, 15 * CK_TIME_S) < 200);
    assert_int_equal(ticks_raw(&ticks, 45 * CK_TIME_S), 2500000000);
    assert_true(ticks_error(&ticks, 45 * CK_TIME_S) < 200);
    ticks_fini(&ticks);
}

/* The last two readings of a machine under load: brackets of 3 ms, 1 ms apart,
 * are no evidence of the rate. */
static void lines_go_on_where_brackets_leave_any_rate_open(void **state)
{
    struct ticks_pair pairs[12];
    struct ticks ticks = {0};

    (void)state;
    for (int i = 0; i < 11; i++) {
        pairs[i] = plain_pair(i, (2 * i + (i > 5 ? 18 : 0)) * CK_TIME_S);
    }
    pairs[11] = (struct ticks_pair){.ticks = pairs[10].ticks + 2 * CK_TIME_MS,
                                    .raw = pairs[10].raw + CK_TIME_MS,
                                    .width = 3 * CK_TIME_MS,
                                    .source = CK_CLOCKSOURCE_TSC};
    ticks_make(&ticks, pairs, 12);
    assert_int_equal(ticks.pieces_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct ticks_piece *piece = &ticks.pieces[i];

        assert_true(piece->from < ticks.points[piece->first].ticks);
        assert_true(piece->to > ticks.points[piece->last].ticks);
    }
    assert_true(ticks_error(&ticks, 5 * CK_TIME_S) < 200);
    assert_true(ticks_error(&ticks, 33 * CK_TIME_S) < 200);
    ticks_fini(&ticks);
}

/* A counter that jumps with each pair: the rest is one piece, and no stamp is
 * off by more than its error. */
static void of_endless_jumps_the_error_is_reported(void **state)
{
    enum { PAIRS = 2000 };
    struct ticks_pair *pairs = calloc(PAIRS, sizeof(*pairs));
    int64_t *ahead = calloc(PAIRS, sizeof(*ahead));
    struct world world = {.state = 77};
    struct ticks ticks = {0};
    ck_time_t most = 0;

    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        ahead[i] = (int64_t)sized(&world, 1e6, 1e13);
        pairs[i] = plain_pair(i, 2 * i * CK_TIME_S + ahead[i]);
    }
    ticks_make(&ticks, pairs, PAIRS);
    assert_true(ticks.pieces_count <= TICKS_PIECES);
    for (int i = 0; i < 20000; i++) {
        int second = (int)(drawn(&world) * (PAIRS - 1));
        int64_t raw = second * CK_TIME_S + (int64_t)(drawn(&world) * 1e9);
        /* The jump is somewhere between the two pairs. */
        int64_t stamp = 2 * raw + ahead[second + (drawn(&world) < 0.5)];
        ck_time_t off = llabs(ticks_raw(&ticks, stamp) - raw);

        if (off > ticks_error(&ticks, stamp) + 2) {
            fail_msg("at %.3f s: off by %ld ns, stated %ld", (double)raw / 1e9,
                     (long)off, (long)ticks_error(&ticks, stamp));
        }
        most = off > most ? off : most;
    }
    assert_true(ticks.worst >= most);
    ticks_fini(&ticks);
    free(pairs);
    free(ahead);
}

static void a_clocksource_is_a_number_and_a_name(void **state)
{
    char name[9];

    (void)state;
    assert_int_equal(ck_clocksource_number("tsc\n"), CK_CLOCKSOURCE_TSC);
    assert_int_equal(ck_clocksource_number("arch_sys_counter\n"),
                     CK_CLOCKSOURCE_ARCH);
    assert_true(ck_clocksource_is_counter(CK_CLOCKSOURCE_ARCH));
    assert_false(ck_clocksource_is_counter(ck_clocksource_number("jiffies\n")));
    assert_string_equal(
        ck_clocksource_name(ck_clocksource_number("kvm-clock\n"), name),
        "kvm-cloc");
    assert_int_equal(ck_clocksource_number("\n"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_jumps_ahead_is_within_its_error),
        cmocka_unit_test(a_counter_that_jumps_back_is_within_its_error),
        cmocka_unit_test(a_counter_that_changes_its_rate_is_within_its_error),
        cmocka_unit_test(a_counter_that_stopped_is_within_its_error),
        cmocka_unit_test(a_counter_that_begins_again_is_within_its_error),
        cmocka_unit_test(another_clocksource_may_wander),
        cmocka_unit_test(a_slow_counter_is_within_its_error),
        cmocka_unit_test(what_happens_in_a_short_run_is_within_its_error),
        cmocka_unit_test(a_jump_at_an_end_is_known_to_its_size),
        cmocka_unit_test(a_jump_is_stated_where_it_happened),
        cmocka_unit_test(what_follows_a_jump_back_has_a_map_of_its_own),
        cmocka_unit_test(lines_go_on_where_brackets_leave_any_rate_open),
        cmocka_unit_test(of_endless_jumps_the_error_is_reported),
        cmocka_unit_test(a_clocksource_is_a_number_and_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
