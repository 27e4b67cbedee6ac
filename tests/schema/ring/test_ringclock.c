/* test_ringclock.c - RAW by the processor's counter: where it is, and where not
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The truth of a stamp is RAW itself, read before and behind it. The counter
 * and the clock are this machine's; faults of a counter are put into the slot's
 * line, which is all that a stamp is made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "schema/ring/ringclock.h"

/* A stamp is off by a reading's width, and by the two ends of it. */
#define OFF_MOST (CK_RINGCLOCK_WIDTH + 50)

static struct ck_ring_header header;
static struct ck_ring_slot slot;
static struct ck_ring ring;

/* Both clocks at one moment: the narrowest of some readings. */
static ck_time_t pair_read(int64_t *ticks)
{
    ck_time_t least = INT64_MAX, raw = 0;

    for (int i = 0; i < 100; i++) {
        ck_time_t before = ck_time_raw();
        int64_t between = ck_time_ticks();
        ck_time_t after = ck_time_raw();

        if (after - before < least) {
            least = after - before;
            raw = before + least / 2;
            *ticks = between;
        }
    }
    return raw;
}

static uint64_t scale_of_machine(void)
{
    int64_t ticks, later;
    ck_time_t raw = pair_read(&ticks);
    ck_time_t passed;

    while (ck_time_raw() - raw < 50 * CK_TIME_MS) {
    }
    passed = pair_read(&later) - raw;
    return (uint64_t)((double)passed / (double)(later - ticks) * 4294967296.0);
}

static int setup(void **state)
{
    static uint64_t scale;

    (void)state;
    scale = scale != 0 ? scale : scale_of_machine();
    memset(&header, 0, sizeof(header));
    memset(&slot, 0, sizeof(slot));
    header.counter_scale = scale;
    header.is_counter_one = 1;
    ring = (struct ck_ring){.header = &header, .clock = CK_CLOCK_RAW};
    return 0;
}

static ck_time_t now(void)
{
    return ck_ringclock_now(&ring, &slot);
}

/* How far a stamp is from what RAW was before and behind it. */
static ck_time_t stamp_off(void)
{
    ck_time_t before = ck_time_raw();
    ck_time_t stamp = now();
    ck_time_t after = ck_time_raw();

    return stamp < before ? before - stamp : stamp > after ? stamp - after : 0;
}

static void wait_ns(ck_time_t ns)
{
    ck_time_t begin = ck_time_raw();

    while (ck_time_raw() - begin < ns) {
    }
}

static void stamps_are_raw(void **state)
{
    ck_time_t most = 0, last = 0;
    int lines = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t from = slot.line.from;
        ck_time_t off = stamp_off();
        ck_time_t stamp = now();

        most = off > most ? off : most;
        assert_true(stamp >= last);
        last = stamp;
        lines += slot.line.from != from;
    }
    assert_in_range(most, 0, OFF_MOST);
    assert_true(lines > 5);
    assert_int_equal(slot.line.strays, 0);
    assert_true(slot.line.ticks != 0);
}

/* Most of them come without a reading: that is what it is for. */
static void a_span_has_one_reading(void **state)
{
    uint64_t from;
    int others = 0;

    (void)state;
    (void)now();
    from = slot.line.from;
    for (int i = 0; i < 1000; i++) {
        (void)now();
        others += slot.line.from != from;
        from = slot.line.from;
    }
    assert_true(others < 20);
}

/* The counter goes faster than the header has it, by a tenth of a percent: a
 * line is off by 1 us at its end, and each reading finds that, by more where
 * the thread had no CPU meanwhile. */
static void a_wrong_rate_is_found(void **state)
{
    ck_time_t most = 0, last = 0;

    (void)state;
    header.counter_scale += header.counter_scale / 1000;
    for (int i = 0; i < 40; i++) {
        ck_time_t began = ck_time_raw();

        while (ck_time_raw() - began < CK_RINGCLOCK_SPAN) {
            ck_time_t off = stamp_off();
            ck_time_t stamp = now();

            most = off > most ? off : most;
            assert_true(stamp >= last);
            last = stamp;
        }
    }
    assert_int_equal(slot.line.strays, CK_RINGCLOCK_STRAYS);
    assert_in_range(slot.line.stray_ns, 700, 120000);
    assert_in_range(most, 500, 2000);
    assert_int_equal(slot.line.ticks, 0); /* RAW from then on */
    assert_int_equal(stamp_off(), 0);
}

/* The counter jumped ahead by 50 ms: found at the next reading. Stamps stay
 * where they are until RAW has come there. */
static void a_jump_ahead_ends_with_the_span(void **state)
{
    ck_time_t stamp, last;

    (void)state;
    (void)now();
    slot.line.base += 50 * CK_TIME_MS;
    last = now();
    wait_ns(CK_RINGCLOCK_SPAN);
    stamp = now();
    assert_true(stamp >= last);
    assert_int_equal(slot.line.strays, 1);
    assert_in_range(slot.line.stray_ns, 48 * CK_TIME_MS, 51 * CK_TIME_MS);
    assert_int_equal(now(), stamp);
    wait_ns(55 * CK_TIME_MS);
    assert_true(now() > stamp);
    assert_in_range(stamp_off(), 0, OFF_MOST);
    assert_int_equal(slot.line.strays, 1);
}

static void a_jump_back_ends_with_the_span(void **state)
{
    ck_time_t last;

    (void)state;
    last = now();
    slot.line.base -= 300 * CK_TIME_US;
    wait_ns(CK_RINGCLOCK_SPAN);
    assert_true(now() >= last);
    assert_in_range(stamp_off(), 0, OFF_MOST);
    assert_int_equal(slot.line.strays, 1);
}

/* A thread that rests looks at no old line. */
static void a_rest_is_no_stray(void **state)
{
    struct timespec rest = {.tv_nsec = 150000000};

    (void)state;
    (void)now();
    slot.line.base -= 2 * CK_TIME_US; /* as after hours, at 1 ppb */
    (void)nanosleep(&rest, NULL);
    assert_in_range(stamp_off(), 0, OFF_MOST);
    assert_int_equal(slot.line.strays, 0);
}

static void what_is_not_known_is_read(void **state)
{
    (void)state;
    header.counter_scale = 0;
    assert_int_equal(stamp_off(), 0);
    assert_int_equal(slot.line.ticks, 0);
    assert_true(ck_ringclock_now(&ring, NULL) > 0);
}

/* A line by such a rate would hold for minutes. */
static void an_overwritten_rate_is_not_used(void **state)
{
    (void)state;
    header.counter_scale = 1;
    assert_int_equal(stamp_off(), 0);
    assert_int_equal(slot.line.ticks, 0);
    header.counter_scale = UINT64_MAX;
    assert_int_equal(stamp_off(), 0);
    assert_int_equal(slot.line.ticks, 0);
}

/* Where CPUs differ, or it is not known yet, and no rseq shows them. */
static void without_a_cpu_it_is_read(void **state)
{
    (void)state;
    header.is_counter_one = 0;
    assert_int_equal(stamp_off(), 0);
    assert_int_equal(slot.line.ticks, 0);
}

static void a_withdrawn_rate_is_not_used(void **state)
{
    ck_time_t stamp = now();

    (void)state;
    header.counter_scale = 0;
    wait_ns(CK_RINGCLOCK_SPAN);
    assert_true(now() >= stamp);
    assert_int_equal(slot.line.ticks, 0);
    assert_int_equal(stamp_off(), 0);
}

/* A wild write: no stamp is a second ahead for ever. */
static void an_overwritten_floor_passes(void **state)
{
    (void)state;
    (void)now();
    slot.line.ticks = 0;
    slot.line.floor = INT64_MAX / 2;
    assert_in_range(stamp_off(), 0, OFF_MOST);
}

static void an_overwritten_line_passes(void **state)
{
    (void)state;
    memset(&slot.line, 0xff, sizeof(slot.line));
    (void)now();
    memset(&slot.line, 0xa5, sizeof(slot.line));
    (void)now();
    slot.line.strays = 0;
    slot.line.misses = 0;
    wait_ns(CK_RINGCLOCK_SPAN);
    (void)now();
    (void)now();
    assert_in_range(stamp_off(), 0, OFF_MOST);
}

/* As glibc has it; the tests' own process is registered. */
static void rseq_find(void)
{
    extern const ptrdiff_t __rseq_offset __attribute__((weak));

    if (&__rseq_offset != NULL) {
        ring.rseq = __rseq_offset;
    }
}

static void a_line_is_of_its_cpu(void **state)
{
    cpu_set_t all, one;
    uint32_t cpu;

    (void)state;
    rseq_find();
    header.is_counter_one = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (ring.rseq == 0 || (int32_t)ck_ringclock_cpu(ring.rseq) < 0 ||
        CPU_COUNT(&all) < 2) {
        skip();
    }
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET((size_t)i, &all)) {
            continue;
        }
        CPU_ZERO(&one);
        CPU_SET((size_t)i, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        assert_in_range(stamp_off(), 0, OFF_MOST);
        wait_ns(CK_TIME_US);
        assert_in_range(stamp_off(), 0, OFF_MOST);
        cpu = slot.line.cpu;
        assert_int_equal(cpu, i);
        /* As if this CPU's counter were an hour ahead: no other sees it. */
        slot.line.base += 3600 * CK_TIME_S;
    }
    /* And as if it were 0.1 s ahead, and behind: no stamp waits for it. */
    for (int i = 0; i < 4; i++) {
        uint64_t ticks;

        wait_ns(CK_TIME_US);
        (void)now();
        assert_true(slot.line.ticks != 0);
        ticks = (uint64_t)(0.1e9 / (double)slot.line.scale * 0x1p32);

        slot.line.cpu = slot.line.cpu == 0;
        slot.line.from += i % 2 == 0 ? ticks : -ticks;
        slot.line.base += (i % 2 == 0 ? -1 : 1) * 100 * CK_TIME_MS;
        assert_in_range(stamp_off(), 0, OFF_MOST);
    }
    assert_int_equal(slot.line.strays, 0);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static ck_time_t handled;

static void handler(int number)
{
    (void)number;
    handled = now();
}

static void handlers_may_stamp(void **state)
{
    struct sigaction action = {.sa_handler = handler};
    struct itimerval often = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    ck_time_t last = 0;

    (void)state;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 300000; i++) {
        ck_time_t before = ck_time_raw();
        ck_time_t stamp = now();

        assert_true(stamp >= last && stamp >= before - OFF_MOST &&
                    stamp <= ck_time_raw() + OFF_MOST);
        last = stamp;
    }
    (void)setitimer(ITIMER_REAL, &none, NULL);
    assert_true(handled != 0);
    assert_int_equal(slot.line.strays, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stamps_are_raw, setup),
        cmocka_unit_test_setup(a_span_has_one_reading, setup),
        cmocka_unit_test_setup(a_wrong_rate_is_found, setup),
        cmocka_unit_test_setup(a_jump_ahead_ends_with_the_span, setup),
        cmocka_unit_test_setup(a_jump_back_ends_with_the_span, setup),
        cmocka_unit_test_setup(a_rest_is_no_stray, setup),
        cmocka_unit_test_setup(what_is_not_known_is_read, setup),
        cmocka_unit_test_setup(an_overwritten_rate_is_not_used, setup),
        cmocka_unit_test_setup(without_a_cpu_it_is_read, setup),
        cmocka_unit_test_setup(a_withdrawn_rate_is_not_used, setup),
        cmocka_unit_test_setup(an_overwritten_floor_passes, setup),
        cmocka_unit_test_setup(an_overwritten_line_passes, setup),
        cmocka_unit_test_setup(a_line_is_of_its_cpu, setup),
        cmocka_unit_test_setup(handlers_may_stamp, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
