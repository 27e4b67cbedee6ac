/* test_owner.c - whose run is in a directory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/frame.h"
#include "schema/store/owner.h"
#include "schema/store/run.h"
#include "schema/store/segment.h"
#include "tests/frames.h"
#include "tests/workdir.h"

static const uint8_t agent[16] = "0123456789abcde";

static void manifest_put(const char *text)
{
    assert_int_equal(
        ck_run_replace(work, CK_RUN_MANIFEST, text, strlen(text), NULL), 0);
}

/* Append a frame of the collector with one text record. */
static void
text_append(struct ck_segment *segment, enum ck_kind kind, const char *lines)
{
    struct ck_batch_writer *writer = ck_batch_writer_create();
    uint64_t rows[512];
    uint64_t frame[1024];
    struct ck_frame_header *header = (void *)frame;
    size_t bytes = text_put(rows, kind, 0, lines);

    *header = (struct ck_frame_header){.stream = {.slot = CK_SLOT_COLLECTOR}};
    memcpy(header->agent, agent, sizeof(agent));
    bytes =
        frame_close(header, writer,
                    (struct ck_batch_info){.clock = CK_CLOCK_RAW}, rows, bytes);
    assert_int_not_equal(bytes, 0);
    assert_int_equal(ck_segment_append(segment, frame, bytes), 0);
    ck_batch_writer_destroy(writer);
}

static void segment_put(bool is_spool, const char *lines)
{
    char path[PATH_MAX];
    struct ck_segment *segment;

    assert_int_equal(ck_run_segment_path(path, work, agent, is_spool), 0);
    segment = ck_segment_create(path, NULL);
    assert_non_null(segment);
    text_append(segment, CK_KIND_NOTE, "something else first");
    text_append(segment, CK_KIND_IDENTITY, lines);
    ck_segment_destroy(segment);
}

static void what_holds_no_run_has_no_owner(void **state)
{
    struct ck_owner owner = {.job_key = "untouched"};
    char path[128];

    (void)state;
    assert_false(ck_owner_read(work, &owner));
    (void)snprintf(path, sizeof(path), "%s/none", work);
    assert_false(ck_owner_read(path, &owner));
    (void)snprintf(path, sizeof(path), "%s/notes.txt", work);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(ck_owner_read(work, &owner));
}

static void a_manifest_has_key_start_and_end(void **state)
{
    struct ck_owner owner;

    (void)state;
    manifest_put("{\n  \"version\": 1,\n  \"job_key\": \"a \\\"b\\\\c\",\n"
                 "  \"state\": \"run\",\n  \"started_realtime\": 77,\n"
                 "  \"agents\": [ {\"state\": \"done\"} ]\n}\n");
    assert_true(ck_owner_read(work, &owner));
    assert_string_equal(owner.job_key, "a \"b\\c");
    assert_int_equal(owner.started.realtime, 77);
    assert_int_equal(owner.started.boottime, 0);
    assert_string_equal(owner.started.boot_id, "");
    assert_false(owner.is_over);
    manifest_put("{\n  \"job_key\": \"k\",\n  \"state\": \"merge\",\n"
                 "  \"started_boottime\": 5,\n  \"boot_id\": \"b\",\n"
                 "  \"agents\": [ {\"boot_id\": \"c\"} ]\n}\n");
    assert_true(ck_owner_read(work, &owner));
    assert_int_equal(owner.started.boottime, 5);
    assert_string_equal(owner.started.boot_id, "b");
    assert_true(owner.is_over);
    assert_false(owner.is_done);
    manifest_put("{\n  \"job_key\": \"k\",\n  \"state\": \"done\"\n}\n");
    assert_true(ck_owner_read(work, &owner));
    assert_string_equal(owner.job_key, "k");
    assert_int_equal(owner.started.realtime, 0);
    assert_true(owner.is_over);
    assert_true(owner.is_done);
}

static void without_a_manifest_a_segment_or_spool_has_them(void **state)
{
    struct ck_owner owner;

    (void)state;
    for (int is_spool = 0; is_spool < 2; is_spool++) {
        char path[PATH_MAX];

        segment_put(is_spool, "job=1\njob_key=the-key\nstart_realtime=55\n");
        assert_true(ck_owner_read(work, &owner));
        assert_string_equal(owner.job_key, "the-key");
        assert_int_equal(owner.started.realtime, 55);
        (void)ck_run_segment_path(path, work, agent, is_spool);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_manifest_without_a_key_leaves_it_to_the_segments(void **state)
{
    struct ck_owner owner;

    (void)state;
    manifest_put("{\n  \"job_key\": \"\",\n  \"state\": \"run\"\n}\n");
    assert_true(ck_owner_read(work, &owner));
    assert_string_equal(owner.job_key, "");
    segment_put(false, "job_key=k\n");
    assert_true(ck_owner_read(work, &owner));
    assert_string_equal(owner.job_key, "k");
}

static void files_without_an_owner_are_still_a_run(void **state)
{
    struct ck_owner owner;
    char path[PATH_MAX];
    FILE *file;

    (void)state;
    assert_int_equal(ck_run_segment_path(path, work, agent, false), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite("no frame at all", 1, 15, file), 15);
    assert_int_equal(fclose(file), 0);
    assert_true(ck_owner_read(work, &owner));
    assert_string_equal(owner.job_key, "");
}

int main(void)
{
#define CASE(name) WORKDIR_CASE(name, workdir_setup)
    const struct CMUnitTest tests[] = {
        CASE(what_holds_no_run_has_no_owner),
        CASE(a_manifest_has_key_start_and_end),
        CASE(without_a_manifest_a_segment_or_spool_has_them),
        CASE(a_manifest_without_a_key_leaves_it_to_the_segments),
        CASE(files_without_an_owner_are_still_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
