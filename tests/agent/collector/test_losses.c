/* test_losses.c - a loss is recorded once, whoever takes over
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/collector/losses.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/spool.h"

#define OUTBOX_BYTES ((size_t)1 << 20)

/* What outlives a collector, and one of them. */
struct bench {
    void *memory;
    struct spool *spool;
    struct framewriter framewriter;
    struct clocksync sync;
    struct ck_ring_slot slot;
    uint64_t noslot_told;
    struct selfstream *selfstream;
    struct losses losses;
    struct slotstate slotstate;
};

static void collector_begin(struct bench *bench)
{
    bench->selfstream = selfstream_create(&bench->framewriter, CK_CLOCK_RAW, 1);
    bench->losses =
        (struct losses){.selfstream = bench->selfstream, .sync = &bench->sync};
    bench->slotstate = (struct slotstate){0};
    losses_inherit(&bench->losses, &bench->noslot_told);
    losses_inherit_slot(&bench->losses, &bench->slot, &bench->slotstate);
}

static void collector_renew(struct bench *bench)
{
    selfstream_destroy(bench->selfstream);
    collector_begin(bench);
}

static int setup(void **state)
{
    static const uint8_t agent[16] = {1};
    struct bench *bench = calloc(1, sizeof(*bench));

    assert_non_null(bench);
    bench->memory = calloc(1, OUTBOX_BYTES);
    bench->spool = spool_create("/nowhere", "/nowhere", agent, 1);
    assert_int_equal(framewriter_init(&bench->framewriter, bench->memory,
                                      OUTBOX_BYTES, bench->spool, agent),
                     0);
    clocksync_init(&bench->sync, CK_CLOCK_RAW);
    collector_begin(bench);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    selfstream_destroy(bench->selfstream);
    framewriter_fini(&bench->framewriter);
    spool_destroy(bench->spool);
    free(bench->memory);
    free(bench);
    return 0;
}

/* Threads lost so many in all: 100 in the slot, the rest without one. */
static void losses_tell(struct bench *bench, uint64_t noslot)
{
    atomic_store(&bench->slot.dropped, 90);
    atomic_store(&bench->slot.reentered, 10);
    losses_slot(&bench->losses, &bench->slot, &bench->slotstate);
    losses_record(&bench->losses, noslot);
}

static void what_is_in_a_frame_is_not_reported_again(void **state)
{
    struct bench *bench = *state;

    losses_tell(bench, 7);
    assert_true(losses_frame(&bench->losses));
    losses_framed_slot(&bench->slot, &bench->slotstate);
    collector_renew(bench);
    assert_int_equal(losses_all(&bench->losses), 107);
    losses_tell(bench, 7);
    assert_int_equal(selfstream_oldest(bench->selfstream), 0);
    assert_int_equal(losses_all(&bench->losses), 107);
    /* Only what came meanwhile. */
    losses_tell(bench, 9);
    assert_int_not_equal(selfstream_oldest(bench->selfstream), 0);
    assert_int_equal(losses_all(&bench->losses), 109);
}

static void what_died_with_a_collector_is_reported_again(void **state)
{
    struct bench *bench = *state;

    losses_tell(bench, 7);
    collector_renew(bench);
    assert_int_equal(losses_all(&bench->losses), 0);
    losses_tell(bench, 7);
    assert_int_not_equal(selfstream_oldest(bench->selfstream), 0);
    assert_int_equal(losses_all(&bench->losses), 107);
}

static void nothing_new_needs_no_frame(void **state)
{
    struct bench *bench = *state;

    assert_false(losses_frame(&bench->losses));
    losses_tell(bench, 0);
    assert_true(losses_frame(&bench->losses));
    assert_false(losses_frame(&bench->losses));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_in_a_frame_is_not_reported_again),
        CASE(what_died_with_a_collector_is_reported_again),
        CASE(nothing_new_needs_no_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
