/* test_spool.c - frames on disk while the aggregator is away
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/stream/spool.h"
#include "schema/frame.h"
#include "schema/store/segment.h"
#include "tests/workdir.h"

static const uint8_t agent[16] = {7};
static char run[96];
static char fallback[96];

static int setup(void **state)
{
    if (workdir_setup(state) != 0) {
        return -1;
    }
    (void)snprintf(run, sizeof(run), "%s/run", work);
    (void)snprintf(fallback, sizeof(fallback), "%s/else", work);
    return 0;
}

struct frame {
    struct ck_frame_header header;
    uint8_t payload[64];
};

static struct frame frame_of(uint64_t first)
{
    struct frame frame = {
        .header = {.stream = {.incarnation = 1, .slot = 2},
                   .first = first,
                   .units = 10,
                   .records = 10,
                   .length = 64,
                   .raw = 64},
    };

    memset(frame.payload, (int)first, sizeof(frame.payload));
    memcpy(frame.header.agent, agent, sizeof(agent));
    ck_frame_seal(&frame.header, frame.payload);
    return frame;
}

static int frame_append(struct spool *spool, uint64_t first)
{
    struct frame frame = frame_of(first);

    return spool_append(spool, &frame, sizeof(frame));
}

static uint64_t sent_first(struct spool *spool)
{
    size_t bytes;
    const struct ck_frame_header *header = spool_unsent(spool, &bytes);

    assert_non_null(header);
    assert_int_equal(bytes, sizeof(struct frame));
    return header->first;
}

static size_t ack(struct spool *spool, uint64_t next)
{
    struct ck_ack one = {.stream = {.incarnation = 1, .slot = 2}, .next = next};

    return spool_ack(spool, &one, 1);
}

static void no_file_is_made_before_it_is_needed(void **state)
{
    struct spool *spool = spool_create(run, fallback, agent, 1 << 20);

    (void)state;
    assert_true(spool_is_empty(spool));
    assert_null(spool_path(spool));
    spool_destroy(spool);
    assert_int_not_equal(access(run, F_OK), 0);
}

static void frames_are_sent_in_order_and_the_file_goes_when_acked(void **state)
{
    struct spool *spool = spool_create(run, fallback, agent, 1 << 20);
    char path[4096];
    size_t bytes;

    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(frame_append(spool, i * 10), 0);
    }
    strcpy(path, spool_path(spool));
    assert_int_equal(strncmp(path, run, strlen(run)), 0);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(sent_first(spool), i * 10);
        spool_sent(spool);
    }
    assert_null(spool_unsent(spool, &bytes));
    assert_int_equal(ack(spool, 30), 3);
    assert_false(spool_is_empty(spool));
    /* One more while some are under way. */
    assert_int_equal(frame_append(spool, 50), 0);
    assert_int_equal(sent_first(spool), 50);
    spool_sent(spool);
    assert_int_equal(ack(spool, 60), 3);
    assert_true(spool_is_empty(spool));
    assert_int_not_equal(access(path, F_OK), 0);
    spool_destroy(spool);
}

static void a_rewind_sends_what_was_not_acknowledged_again(void **state)
{
    struct spool *spool = spool_create(run, fallback, agent, 1 << 20);

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(frame_append(spool, i * 10), 0);
        assert_int_equal(sent_first(spool), i * 10);
        spool_sent(spool);
    }
    assert_int_equal(ack(spool, 10), 1);
    spool_rewind(spool);
    assert_int_equal(sent_first(spool), 10);
    spool_destroy(spool);
}

static void the_limit_refuses_and_changes_nothing(void **state)
{
    struct spool *spool =
        spool_create(run, fallback, agent, 2 * sizeof(struct frame));

    (void)state;
    assert_int_equal(frame_append(spool, 0), 0);
    assert_int_equal(frame_append(spool, 10), 0);
    assert_int_equal(frame_append(spool, 20), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(spool_bytes(spool), 2 * sizeof(struct frame));
    spool_destroy(spool);
}

static void the_fallback_is_used_and_the_identity_comes_first(void **state)
{
    struct frame identity = frame_of(770);
    struct spool *spool =
        spool_create("/proc/nowhere/run", fallback, agent, 1 << 20);
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;

    (void)state;
    assert_int_equal(spool_identity(spool, &identity, sizeof(identity)), 0);
    assert_int_equal(frame_append(spool, 0), 0);
    assert_int_equal(strncmp(spool_path(spool), fallback, strlen(fallback)), 0);
    reader = ck_segment_reader_create(spool_path(spool), NULL);
    assert_non_null(reader);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(header.first, 770);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(header.first, 0);
    ck_segment_reader_destroy(reader);
    spool_destroy(spool);
}

static void directories_above_the_run_are_made(void **state)
{
    char deep[128];
    struct spool *spool;

    (void)state;
    (void)snprintf(deep, sizeof(deep), "%s/a/b/run", work);
    spool = spool_create(deep, fallback, agent, 1 << 20);
    assert_int_equal(frame_append(spool, 0), 0);
    assert_int_equal(strncmp(spool_path(spool), deep, strlen(deep)), 0);
    spool_destroy(spool);
}

static void a_later_collector_goes_on_with_the_file(void **state)
{
    struct spool *spool = spool_create(run, fallback, agent, 1 << 20);
    char path[4096];

    (void)state;
    assert_int_equal(frame_append(spool, 0), 0);
    assert_int_equal(frame_append(spool, 10), 0);
    strcpy(path, spool_path(spool));
    spool_destroy(spool);
    spool = spool_create(run, fallback, agent, 1 << 20);
    assert_int_equal(spool_resume(spool, path), 0);
    assert_int_equal(frame_append(spool, 20), 0);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(sent_first(spool), i * 10);
        spool_sent(spool);
    }
    assert_int_equal(ack(spool, 30), 3);
    assert_true(spool_is_empty(spool));
    spool_destroy(spool);
}

static void the_error_of_the_file_is_named(void **state)
{
    struct rlimit none = {64, RLIM_INFINITY};
    struct rlimit before;
    struct spool *spool = spool_create(run, "", agent, 1 << 20);

    (void)state;
    assert_int_equal(frame_append(spool, 0), 0);
    assert_int_equal(spool_error(spool), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(frame_append(spool, 10), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(spool_error(spool), EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(frame_append(spool, 10), 0);
    spool_destroy(spool);
    spool = spool_create(run, "", agent, 8);
    assert_int_equal(frame_append(spool, 0), -1);
    assert_int_equal(spool_error(spool), 0); /* its own limit */
    spool_destroy(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORKDIR_CASE(no_file_is_made_before_it_is_needed, setup),
        WORKDIR_CASE(frames_are_sent_in_order_and_the_file_goes_when_acked,
                     setup),
        WORKDIR_CASE(a_rewind_sends_what_was_not_acknowledged_again, setup),
        WORKDIR_CASE(the_limit_refuses_and_changes_nothing, setup),
        WORKDIR_CASE(the_fallback_is_used_and_the_identity_comes_first, setup),
        WORKDIR_CASE(directories_above_the_run_are_made, setup),
        WORKDIR_CASE(a_later_collector_goes_on_with_the_file, setup),
        WORKDIR_CASE(the_error_of_the_file_is_named, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
