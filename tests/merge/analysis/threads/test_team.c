/* test_team.c - time of a team's threads, against a look at each nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "merge/analysis/threads/team.h"
#include "tests/merge/chance.h"

#define LENGTH 200
#define THREADS 4
#define ITEMS 24

struct item {
    ck_time_t start, end;
    enum report_team_state state;
};

/* One thread of a world: nested intervals, in order of their starts. */
struct thread {
    ck_time_t start, end;
    struct item items[ITEMS];
    size_t count;
};

struct world {
    struct thread threads[THREADS];
    ck_time_t truth[THREADS][REPORT_TEAM_STATES];
    ck_time_t seen[THREADS][REPORT_TEAM_STATES];
};

static void nest(struct thread *thread, ck_time_t from, ck_time_t to, int depth)
{
    while (to - from > 4 && depth < 4 && thread->count < ITEMS &&
           chance_below(3) > 0) {
        static const enum report_team_state states[] = {
            REPORT_TEAM_BARRIER, REPORT_TEAM_LOCK, REPORT_TEAM_AWAIT,
            REPORT_TEAM_MPI, REPORT_TEAM_WORK};
        ck_time_t start = from + chance_below(to - from - 2);
        ck_time_t end = start + 1 + chance_below(to - start - 1);

        thread->items[thread->count++] =
            (struct item){start, end, states[chance_below(5)]};
        nest(thread, start, end, depth + 1);
        from = end;
    }
}

/* Behind its part a thread runs tasks, and within these anything. */
static void thread_make(struct thread *thread)
{
    ck_time_t from;

    memset(thread, 0, sizeof(*thread));
    thread->start = chance_below(20);
    thread->end = 60 + chance_below(100);
    nest(thread, thread->start, thread->end, 0);
    from = thread->end;
    while (from + 6 < LENGTH - 10 && thread->count + 4 < ITEMS &&
           chance_below(2) == 0) {
        ck_time_t start = from + chance_below(3);
        ck_time_t end = start + 1 + chance_below(LENGTH - 10 - start);

        thread->items[thread->count++] =
            (struct item){start, end, REPORT_TEAM_WORK};
        nest(thread, start, end, 1);
        from = end;
    }
}

static ck_time_t worked(const struct thread *thread)
{
    ck_time_t last = thread->end;

    for (size_t i = 0; i < thread->count; i++) {
        if (thread->items[i].state == REPORT_TEAM_WORK &&
            thread->items[i].end > last) {
            last = thread->items[i].end;
        }
    }
    return last;
}

/* What the thread is in at that instant: its last item that is open. */
static enum report_team_state
state_at(const struct thread *thread, ck_time_t at, ck_time_t done)
{
    enum report_team_state state = REPORT_TEAM_WORK;

    if (at < thread->start) {
        return REPORT_TEAM_FORK;
    }
    if (at >= thread->end) {
        state = at < done ? REPORT_TEAM_IMBALANCE : REPORT_TEAM_JOIN;
    }
    for (size_t i = 0; i < thread->count; i++) {
        if (thread->items[i].start <= at && at < thread->items[i].end) {
            state = thread->items[i].state;
        }
    }
    return state;
}

static void take(void *state,
                 const struct team *team,
                 const struct team_part *part,
                 enum report_team_state what,
                 uint32_t row,
                 struct region time)
{
    struct world *world = state;

    (void)row;
    world->seen[part - team->parts][what] += region_length(time);
}

static void
play(struct world *world, struct team *team, const struct team_taker *taker)
{
    for (ck_time_t at = 0; at < LENGTH; at++) {
        for (uint32_t t = 0; t < THREADS; t++) {
            const struct thread *thread = &world->threads[t];
            struct team_part *part = team_part(team, t);

            if (at == thread->start) {
                part->thread = t;
                team_begin(team, part, (struct region){at, thread->end});
                part->at = at;
            }
            for (size_t i = 0; i < thread->count; i++) {
                const struct item *item = &thread->items[i];

                if (item->start != at) {
                    continue;
                }
                if (item->state == REPORT_TEAM_WORK) {
                    team_worked(team, part, item->end);
                }
                team_enter(
                    team, part, at,
                    (struct team_item){item->state, DEFS_NONE, item->end},
                    taker);
            }
        }
    }
    team_end(team, taker);
}

static bool is_wrong(void *unused)
{
    struct world world = {0};
    struct team team = {.size = THREADS, .part = {0, LENGTH}};
    struct team_taker taker = {take, &world};
    ck_time_t done = 0;
    uint32_t last;

    (void)unused;
    team_init(&team);
    for (int t = 0; t < THREADS; t++) {
        thread_make(&world.threads[t]);
        if (worked(&world.threads[t]) > done) {
            done = worked(&world.threads[t]);
        }
    }
    for (int t = 0; t < THREADS; t++) {
        for (ck_time_t at = world.threads[t].start; at < LENGTH; at++) {
            world.truth[t][state_at(&world.threads[t], at, done)]++;
        }
    }
    play(&world, &team, &taker);
    assert_int_equal(team_done(&team, &last), done);
    assert_int_equal(worked(&world.threads[last]), done);
    team_fini(&team);
    return memcmp(world.truth, world.seen, sizeof(world.truth)) != 0;
}

static void time_belongs_to_the_innermost_and_sums_to_the_region(void **state)
{
    (void)state;
    chance_worlds(2000, is_wrong, NULL);
}

static void the_last_at_a_barrier_is_whom_all_waited_for(void **state)
{
    struct team team = {.size = 3, .part = {100, 900}};
    struct team_meeting meeting;

    (void)state;
    team_init(&team);
    assert_false(team_meet(&team, 1, 7, 0, 200, &meeting));
    assert_false(team_meet(&team, 1, 7, 2, 250, &meeting));
    /* One is early at the next one. */
    assert_true(team_meet(&team, 1, 7, 1, 400, &meeting));
    assert_int_equal(meeting.row, 7);
    assert_int_equal(meeting.last, 1);
    assert_int_equal(meeting.waited, 200 + 150);
    assert_false(team_meet(&team, 2, 8, 1, 500, &meeting));
    team_fini(&team);
}

static void
a_part_is_awaited_at_barriers_and_the_last_one_at_the_end(void **state)
{
    struct team team = {.size = 3, .part = {0, 1000}};
    struct world world = {0};
    struct team_taker taker = {take, &world};
    uint32_t row;

    (void)state;
    team_init(&team);
    for (uint32_t t = 0; t < 3; t++) {
        struct team_part *part = team_part(&team, t);

        part->thread = t;
        team_begin(&team, part, (struct region){0, 500 + 100 * (ck_time_t)t});
    }
    assert_false(team_is_awaited(&team, &team.parts[2], 100, &row));
    team_enter(&team, &team.parts[0], 100,
               (struct team_item){REPORT_TEAM_BARRIER, 7, 200}, &taker);
    assert_true(team_is_awaited(&team, &team.parts[1], 150, &row));
    assert_int_equal(row, 7);
    assert_false(team_is_awaited(&team, &team.parts[0], 150, &row));
    assert_false(team_is_awaited(&team, &team.parts[1], 200, &row));
    /* At the end all wait for the last one alone. */
    assert_false(team_is_awaited(&team, &team.parts[1], 550, &row));
    assert_true(team_is_awaited(&team, &team.parts[2], 550, &row));
    assert_int_equal(row, DEFS_NONE);
    team_fini(&team);
}

static void a_region_is_in_the_function_around_it(void **state)
{
    static const struct {
        const char *symbol, *function;
    } cases[] = {
        {"solve._omp_fn.0", "solve"}, /* gcc */
        {".omp_outlined.", "around"}, /* clang up to 15 */
        {".omp_outlined._debug__", "around"},
        {"solve.omp_outlined", "solve"}, /* clang since 16 */
        {"solve.omp_outlined_debug__.3", "solve"},
        {"solve", "solve"},
    };
    const struct place around = {.function = "around"};
    struct names *names = names_create();
    struct defs_process process = {.names = names};
    struct defs defs = {.texts = texts_create(), .processes = &process};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place place = {.function = cases[i].symbol};

        names_set_place(names, i + 1, place);
        place = team_place(&defs, 0, i + 1, &around);
        assert_string_equal(place.function, cases[i].function);
    }
    names_destroy(names);
    texts_destroy(defs.texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_belongs_to_the_innermost_and_sums_to_the_region),
        cmocka_unit_test(the_last_at_a_barrier_is_whom_all_waited_for),
        cmocka_unit_test(
            a_part_is_awaited_at_barriers_and_the_last_one_at_the_end),
        cmocka_unit_test(a_region_is_in_the_function_around_it),
    };

    chance_seed(CHANCE_SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
