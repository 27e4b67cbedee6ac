/* test_drain.c - slots are read to the last committed record
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The writers are real processes on a real ring; what comes out is counted in
 * the frames of the outbox.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/clock/clocksync.h"
#include "agent/stream/framing.h"
#include "agent/collector/drain.h"
#include "agent/collector/pace.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"
#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

#define ROWS_BYTES ((size_t)4 << 20)

struct bench {
    char work[WORKDIR_BYTES];
    struct ringfile ring;
    struct spool *spool;
    struct framewriter framewriter;
    struct selfstream *selfstream;
    struct clocksync sync;
    struct drain *drain;
    _Atomic uint64_t *committed; /* shared with writers */
    uint8_t *rows;
    /* Counted by frames_take(): */
    uint64_t records;    /* of slots */
    uint64_t next_value; /* expected in the next mark */
    uint64_t disordered;
    struct ck_open open; /* last OPEN record */
    uint64_t opens;
    uint32_t tids[8]; /* of the first frames of slots */
    size_t tid_count;
    struct ck_counter lost; /* last LOST record */
    uint64_t losses;
};

static struct ringfile_wish bench_wish(const struct bench *bench)
{
    struct ringfile_wish wish = {
        .dir = bench->work,
        .plan = {.slots = 8, .slot_bytes = 1 << 20},
        .sharers = 1,
        .clock = CK_CLOCK_RAW,
        .agent = {1},
    };

    return wish;
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    struct ringfile_wish wish;

    assert_int_equal(workdir_make(bench->work), 0);
    wish = bench_wish(bench);
    assert_int_equal(ringfile_create(&bench->ring, &wish, NULL), 0);
    bench->spool = spool_create(bench->work, bench->work, wish.agent, 1 << 30);
    assert_int_equal(framewriter_init(&bench->framewriter, bench->ring.outbox,
                                      bench->ring.header->outbox_bytes,
                                      bench->spool, wish.agent),
                     0);
    bench->selfstream = selfstream_create(&bench->framewriter, CK_CLOCK_RAW, 1);
    clocksync_init(&bench->sync, CK_CLOCK_RAW);
    bench->drain = drain_create(&bench->ring, &bench->framewriter,
                                bench->selfstream, &bench->sync, 0);
    bench->committed = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench->rows = malloc(ROWS_BYTES);
    (void)setenv("CKAGENT_RING", bench->ring.path, 1);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    int rc;

    drain_destroy(bench->drain);
    selfstream_destroy(bench->selfstream);
    framewriter_fini(&bench->framewriter);
    spool_destroy(bench->spool);
    ringfile_unlink(&bench->ring);
    ringfile_fini(&bench->ring);
    (void)munmap(bench->committed, 4096);
    rc = workdir_remove(bench->work);
    free(bench->rows);
    free(bench);
    return rc;
}

static void
row_take(struct bench *bench, const struct ck_event *event, bool is_own)
{
    if (event->kind == CK_KIND_MARK) {
        const struct ck_mark *mark = (const struct ck_mark *)event;

        bench->disordered += (uint64_t)mark->value != bench->next_value;
        bench->next_value = (uint64_t)mark->value + 1;
    } else if (event->kind == CK_KIND_OPEN) {
        memcpy(&bench->open, event, sizeof(bench->open));
        bench->opens++;
    } else if (event->kind == CK_KIND_LOST) {
        memcpy(&bench->lost, event, sizeof(bench->lost));
        bench->losses++;
    }
    bench->records += !is_own;
}

/* Decode all frames of the outbox and free them. */
static void frames_take(struct bench *bench)
{
    const void *frame;
    size_t bytes;

    while ((frame = outbox_oldest(&bench->framewriter.outbox, &bytes)) !=
           NULL) {
        struct ck_frame_header header;
        struct ck_batch_info info;
        const uint8_t *at = bench->rows;

        assert_int_equal(ck_frame_check(frame, bytes, &header, NULL), bytes);
        assert_int_equal(
            ck_batch_decode((const uint8_t *)frame + sizeof(header),
                            header.length, &info, bench->rows, ROWS_BYTES,
                            NULL),
            0);
        if (header.stream.slot != CK_SLOT_COLLECTOR && bench->tid_count < 8) {
            bench->tids[bench->tid_count++] = info.tid;
        }
        for (uint32_t i = 0; i < info.records; i++) {
            const struct ck_event *event = (const struct ck_event *)at;

            row_take(bench, event, header.stream.slot == CK_SLOT_COLLECTOR);
            at += (size_t)event->units * CK_UNIT_BYTES;
        }
        outbox_pop(&bench->framewriter.outbox);
    }
    assert_true(spool_is_empty(bench->spool));
}

static void mark_write(struct ck_ring_writer *writer, uint64_t value)
{
    struct ck_mark *mark = ck_ring_begin(writer, CK_CLOCK_RAW, 1);

    if (mark != NULL) {
        *mark = (struct ck_mark){
            .e = {.kind = CK_KIND_MARK, .units = 1, .start = ck_time_raw()},
            .value = (int64_t)value};
        ck_ring_commit(writer, 1);
    }
}

static void
marks_write(struct ck_ring_writer *writer, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        mark_write(writer, first + i);
    }
}

static void writer_open(struct ck_ring *ring, struct ck_ring_writer *writer)
{
    if (ck_ring_attach(ring, CK_LIBRARY_ANNOTATE) != 0 ||
        ck_ring_writer_init(writer, ring) != 0) {
        _exit(1);
    }
}

static bool is_half_full(const struct ck_ring_writer *writer)
{
    return atomic_load(&writer->slot->head) - atomic_load(&writer->slot->tail) >
           writer->mask / 2;
}

/* A child that writes until it is killed and reports how far it has come. It
 * waits for a reader that is slower than itself. */
static pid_t writer_fork(struct bench *bench)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct timespec pause = {.tv_nsec = 20000};
        struct ck_ring_writer writer;
        struct ck_ring ring;

        writer_open(&ring, &writer);
        for (uint64_t value = 0;; value++) {
            mark_write(&writer, value);
            atomic_store(bench->committed, value + 1);
            if (value % 32 == 0) {
                do {
                    (void)nanosleep(&pause, NULL);
                } while (is_half_full(&writer));
            }
        }
    }
    return pid;
}

static void step(struct bench *bench, bool is_flush)
{
    (void)drain_step(bench->drain, ck_time_raw(), is_flush);
}

static void end_of_all(struct bench *bench)
{
    drain_find_dead(bench->drain, true);
    step(bench, true);
    drain_losses(bench->drain);
    assert_int_equal(selfstream_flush(bench->selfstream), 0);
    frames_take(bench);
}

static void a_killed_writer_loses_nothing_that_it_committed(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_slot *slot = ck_ring_heads(bench->ring.header);
    const char *seed = getenv("CK_SEED");
    siginfo_t info;
    unsigned random = seed != NULL ? (unsigned)atoi(seed) : (unsigned)getpid();

    print_message("CK_SEED=%u\n", random);
    for (int i = 0; i < 20; i++) {
        struct timespec pause = {.tv_nsec = rand_r(&random) % 8000000};
        uint64_t before = bench->records;
        uint64_t committed;
        pid_t pid;

        atomic_store(bench->committed, 0);
        bench->next_value = 0;
        pid = writer_fork(bench);
        for (int turn = 0; turn < 10 || atomic_load(bench->committed) == 0;
             turn++) {
            step(bench, false);
            frames_take(bench);
            (void)usleep(300);
        }
        step(bench, false);
        (void)nanosleep(&pause, NULL);
        (void)kill(pid, SIGKILL);
        /* Its slot does not wait for its parent, nor for another turn. */
        (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
        committed = atomic_load(bench->committed);
        drain_find_dead(bench->drain, false);
        assert_int_equal(atomic_load(&slot->state), CK_SLOT_FREE);
        (void)waitpid(pid, NULL, 0);
        frames_take(bench);
        drain_losses(bench->drain);
        (void)selfstream_flush(bench->selfstream);
        frames_take(bench);
        /* It may have been killed between the commit and the count. */
        assert_in_range(bench->records - before + (uint64_t)bench->lost.value,
                        committed, committed + 1);
        assert_int_equal(bench->losses, 0);
        assert_int_equal(bench->disordered, 0);
    }
}

static void a_full_slot_is_counted_and_reported_once(void **state)
{
    struct bench *bench = *state;
    uint64_t units = bench->ring.header->slot_bytes / CK_UNIT_BYTES;
    struct ck_ring_writer writer;
    struct ck_ring ring;

    writer_open(&ring, &writer);
    marks_write(&writer, 0, units + 100);
    step(bench, true);
    drain_losses(bench->drain);
    drain_losses(bench->drain);
    assert_int_equal(selfstream_flush(bench->selfstream), 0);
    frames_take(bench);
    assert_int_equal(bench->records, units);
    assert_int_equal(bench->losses, 1);
    assert_int_equal(bench->lost.value, 100);
    assert_int_equal(bench->lost.reason, CK_LOST_RING);
    assert_true(bench->lost.e.start > 0 && bench->lost.enabled >= 0);
    assert_int_equal(drain_lost(bench->drain), 100);
    ck_ring_writer_fini(&writer, &ring);
}

static void few_records_wait_for_more_until_they_are_a_second_old(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;
    ck_time_t now = ck_time_raw();

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    (void)drain_step(bench->drain, now, false);
    (void)drain_step(bench->drain, now + 999 * CK_TIME_MS, false);
    assert_true(outbox_is_empty(&bench->framewriter.outbox));
    (void)drain_step(bench->drain, now + 1000 * CK_TIME_MS, false);
    assert_false(outbox_is_empty(&bench->framewriter.outbox));
    ck_ring_writer_fini(&writer, &ring);
}

static void
what_fills_a_frame_waits_until_it_is_a_tenth_of_a_second_old(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;
    ck_time_t now = ck_time_raw();

    writer_open(&ring, &writer);
    marks_write(&writer, 0, 1024);
    (void)drain_step(bench->drain, now, false);
    (void)drain_step(bench->drain, now + 99 * CK_TIME_MS, false);
    assert_true(outbox_is_empty(&bench->framewriter.outbox));
    (void)drain_step(bench->drain, now + 100 * CK_TIME_MS, false);
    assert_false(outbox_is_empty(&bench->framewriter.outbox));
    ck_ring_writer_fini(&writer, &ring);
}

static void few_records_behind_a_frame_wait_for_the_next(void **state)
{
    struct bench *bench = *state;
    uint64_t count =
        CK_FRAME_RECORDS_MAX - 1 +
        framing_rest(bench->ring.header->slot_bytes / CK_UNIT_BYTES);
    struct ck_ring_writer writer;
    struct ck_ring ring;
    ck_time_t now = ck_time_raw();

    writer_open(&ring, &writer);
    marks_write(&writer, 0, count);
    (void)drain_step(bench->drain, now, false);
    frames_take(bench);
    assert_int_equal(bench->records, CK_FRAME_RECORDS_MAX);
    /* They are as old as the turn that left them. */
    (void)drain_step(bench->drain, now + 99 * CK_TIME_MS, false);
    assert_true(outbox_is_empty(&bench->framewriter.outbox));
    (void)drain_step(bench->drain, now + 100 * CK_TIME_MS, false);
    frames_take(bench);
    assert_int_equal(bench->records, count);
    marks_write(&writer, count, count);
    step(bench, true);
    frames_take(bench);
    assert_int_equal(bench->records, 2 * count);
    ck_ring_writer_fini(&writer, &ring);
}

static void a_slot_that_fills_fast_is_looked_at_sooner(void **state)
{
    struct bench *bench = *state;
    uint64_t wanted = bench->ring.header->slot_bytes / CK_UNIT_BYTES / 4;
    struct ck_ring_writer writer;
    struct ck_ring ring;
    ck_time_t now = ck_time_raw();

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    (void)drain_step(bench->drain, now, false);
    /* A quarter of a frame in 2 ms: the rest takes longer than 4 ms, and the
     * program has not recorded for long. */
    for (uint64_t i = 1; i < wanted / 4; i++) {
        mark_write(&writer, i);
    }
    now += 2 * CK_TIME_MS;
    assert_int_equal(drain_step(bench->drain, now, false), PACE_STEP);
    /* Half in the next 2 ms: the last quarter takes one more. */
    for (uint64_t i = wanted / 4; i < wanted * 3 / 4 - 8; i++) {
        mark_write(&writer, i);
    }
    now += 2 * CK_TIME_MS;
    assert_in_range(drain_step(bench->drain, now, false), FRAMING_PERIOD_MIN,
                    FRAMING_PERIOD_MIN * 11 / 10);
    assert_true(outbox_is_empty(&bench->framewriter.outbox));
    for (uint64_t i = wanted * 3 / 4 - 8; i < wanted; i++) {
        mark_write(&writer, i);
    }
    (void)drain_step(bench->drain, now + CK_TIME_MS, false);
    frames_take(bench);
    assert_int_equal(bench->records, wanted);
    assert_int_equal(bench->disordered, 0);
    ck_ring_writer_fini(&writer, &ring);
}

static void a_broken_record_costs_what_follows_it(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;

    writer_open(&ring, &writer);
    marks_write(&writer, 0, 100);
    writer.body[50 * CK_UNIT_BYTES + offsetof(struct ck_event, units)] = 0;
    step(bench, true);
    drain_losses(bench->drain);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->records, 50);
    assert_int_equal(bench->disordered, 0);
    assert_int_equal(bench->losses, 1);
    assert_int_equal(bench->lost.reason, CK_LOST_RING);
    mark_write(&writer, 50);
    step(bench, true);
    frames_take(bench);
    assert_int_equal(bench->records, 51);
    ck_ring_writer_fini(&writer, &ring);
}

static void
a_long_open_call_is_told_once_and_again_as_cut_at_the_end(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_open call = {
        .start = ck_time_raw(), .site = 0x1234, .name = 9, .kind = 16};
    struct ck_ring_writer writer;
    struct ck_ring ring;
    uint32_t number;

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    number = ck_ring_open(&writer, &call);
    step(bench, true);
    drain_open_calls(bench->drain, call.start + 19 * CK_TIME_MS, false);
    drain_open_calls(bench->drain, call.start + 21 * CK_TIME_MS, false);
    drain_open_calls(bench->drain, call.start + 99 * CK_TIME_MS, false);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->opens, 1);
    assert_int_equal(bench->open.call, number);
    assert_int_equal(bench->open.e.start, call.start);
    assert_int_equal(bench->open.e.name, 9);
    assert_int_equal(bench->open.site, 0x1234);
    assert_int_equal(bench->open.incarnation, ring.incarnation);
    assert_int_equal(bench->open.e.flags, 0);
    end_of_all(bench);
    assert_int_equal(bench->opens, 2);
    assert_int_equal(bench->open.e.flags, CK_FLAG_CUT);
    ck_ring_writer_fini(&writer, &ring);
}

static void *thread_writes(void *argument)
{
    struct ck_ring *ring = argument;
    struct ck_ring_writer writer;

    if (ck_ring_writer_init(&writer, ring) == 0) {
        uint64_t tid = atomic_load(&writer.slot->tid);
        struct ck_text text = {.e = {.kind = CK_KIND_THREAD}, .object = tid};

        if (!writer.slot->is_told) { /* as agent/inject does */
            (void)ck_ring_text(&writer, ring, text, "", 0);
        }
        mark_write(&writer, 1);
        mark_write(&writer, 2);
        ck_ring_writer_fini(&writer, ring);
        return (void *)(uintptr_t)tid;
    }
    return NULL;
}

/* A thread that ends leaves its slot to the next before it is read. */
static void threads_of_one_slot_get_frames_of_their_own(void **state)
{
    struct bench *bench = *state;
    struct ck_ring ring;
    void *tids[3];

    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE), 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, thread_writes, &ring),
                         0);
        assert_int_equal(pthread_join(thread, &tids[i]), 0);
        assert_non_null(tids[i]);
    }
    step(bench, false);
    frames_take(bench);
    assert_int_equal(bench->records, 3 * 3);
    assert_int_equal(bench->tid_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bench->tids[i], (uintptr_t)tids[i]);
    }
    assert_int_equal(atomic_load(&ck_ring_heads(bench->ring.header)[0].state),
                     CK_SLOT_FREE);
}

/* As pthread_exit() in a handler does. */
static void a_call_that_its_thread_never_left_is_recorded_as_cut(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_open call = {.start = ck_time_raw(), .site = 7, .kind = 16};
    struct ck_ring_writer writer;
    struct ck_ring ring;

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    (void)ck_ring_open(&writer, &call);
    ck_ring_writer_fini(&writer, &ring);
    step(bench, false);
    step(bench, false);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->opens, 1);
    assert_int_equal(bench->open.site, 7);
    assert_int_equal(bench->open.e.flags, CK_FLAG_CUT);
}

static void overwritten_memory_is_counted_and_the_slot_goes_on(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    mark_write(&writer, 1);
    memset(writer.body + CK_UNIT_BYTES, 0, CK_UNIT_BYTES); /* units = 0 */
    step(bench, true);
    mark_write(&writer, 1);
    step(bench, true);
    drain_losses(bench->drain);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->records, 2);
    assert_int_equal(bench->disordered, 0);
    assert_int_equal(bench->losses, 1);
    ck_ring_writer_fini(&writer, &ring);
}

/* What was written laps ago would come once more. */
static void
a_position_that_cannot_be_is_counted_and_nothing_is_read(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;

    writer_open(&ring, &writer);
    for (uint64_t first = 0; first < 40000; first += 10000) {
        marks_write(&writer, first, 10000);
        step(bench, true);
        frames_take(bench);
    }
    assert_int_equal(bench->records, 40000);
    (void)atomic_fetch_add(&writer.slot->head, 2 * (writer.mask + 1));
    step(bench, true);
    frames_take(bench);
    assert_int_equal(bench->records, 40000);
    drain_losses(bench->drain);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->losses, 1);
    assert_int_equal(bench->lost.reason, CK_LOST_RING);
    mark_write(&writer, 40000);
    step(bench, true);
    frames_take(bench);
    assert_int_equal(bench->records, 40001);
    assert_int_equal(bench->disordered, 0);
    ck_ring_writer_fini(&writer, &ring);
}

static void beyond_the_limit_records_are_counted_not_stored(void **state)
{
    struct bench *bench = *state;
    struct ck_ring_writer writer;
    struct ck_ring ring;
    ck_time_t before, between;

    drain_destroy(bench->drain);
    bench->drain = drain_create(&bench->ring, &bench->framewriter,
                                bench->selfstream, &bench->sync, 1);
    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    step(bench, true);
    before = ck_time_raw();
    mark_write(&writer, 1);
    mark_write(&writer, 2);
    step(bench, true);
    between = ck_time_raw();
    drain_losses(bench->drain);
    (void)selfstream_flush(bench->selfstream);
    frames_take(bench);
    assert_int_equal(bench->records, 1);
    assert_int_equal(bench->lost.value, 2);
    assert_int_equal(bench->lost.reason, CK_LOST_LIMIT);
    /* From when nothing was kept, until now. */
    assert_in_range(bench->lost.e.start, before, between);
    assert_in_range(bench->lost.e.start + bench->lost.enabled, between,
                    ck_time_raw());
    assert_int_equal(atomic_load(&bench->ring.header->is_off), 1);
    ck_ring_writer_fini(&writer, &ring);
}

/* Each look stops a program of a script that records nothing. */
static void without_a_slot_in_use_looks_are_rare(void **state)
{
    struct bench *bench = *state;
    struct ck_ring ring;
    struct ck_ring_writer writer;
    ck_time_t now = ck_time_raw();

    (void)drain_step(bench->drain, now, false);
    assert_int_equal(drain_look(bench->drain), PACE_STEP);
    (void)drain_step(bench->drain, now + PACE_QUIET - 1, false);
    assert_int_equal(drain_look(bench->drain), PACE_STEP);
    (void)drain_step(bench->drain, now + PACE_QUIET, false);
    assert_int_equal(drain_look(bench->drain), PACE_DOZE);
    assert_false(drain_glance(bench->drain));

    writer_open(&ring, &writer);
    mark_write(&writer, 0);
    assert_true(drain_glance(bench->drain));
    now += 2 * PACE_QUIET;
    (void)drain_step(bench->drain, now, false);
    assert_int_equal(drain_look(bench->drain), PACE_STEP);
    /* It has a slot still, however long it records nothing. */
    now += 10 * PACE_QUIET;
    (void)drain_step(bench->drain, now, false);
    assert_int_equal(drain_look(bench->drain), PACE_STEP);

    ck_ring_writer_fini(&writer, &ring);
    now += PACE_QUIET;
    (void)drain_step(bench->drain, now, true);
    (void)drain_step(bench->drain, now + 2 * PACE_QUIET, true);
    assert_int_equal(drain_look(bench->drain), PACE_DOZE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_killed_writer_loses_nothing_that_it_committed),
        CASE(a_full_slot_is_counted_and_reported_once),
        CASE(few_records_wait_for_more_until_they_are_a_second_old),
        CASE(what_fills_a_frame_waits_until_it_is_a_tenth_of_a_second_old),
        CASE(a_long_open_call_is_told_once_and_again_as_cut_at_the_end),
        CASE(threads_of_one_slot_get_frames_of_their_own),
        CASE(a_call_that_its_thread_never_left_is_recorded_as_cut),
        CASE(overwritten_memory_is_counted_and_the_slot_goes_on),
        CASE(few_records_behind_a_frame_wait_for_the_next),
        CASE(a_slot_that_fills_fast_is_looked_at_sooner),
        CASE(a_broken_record_costs_what_follows_it),
        CASE(a_position_that_cannot_be_is_counted_and_nothing_is_read),
        CASE(beyond_the_limit_records_are_counted_not_stored),
        CASE(without_a_slot_in_use_looks_are_rare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
