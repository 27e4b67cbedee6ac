/* test_segment.c - frames in a file: torn, damaged, full
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/store/segment.h"
#include "tests/workdir.h"

struct fixture {
    char dir[WORKDIR_BYTES];
    char path[96];
    struct ck_err err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    if (workdir_make(f->dir) != 0) {
        return -1;
    }
    (void)snprintf(f->path, sizeof(f->path), "%s/seg.ck", f->dir);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    int rc = workdir_remove(f->dir);

    free(f);
    return rc;
}

/* A frame numbered by `first`, with a payload of its number. Returns bytes. */
static size_t make_frame(uint8_t *at, uint64_t first, uint32_t length)
{
    struct ck_frame_header header = {
        .first = first, .length = length, .raw = length};

    memset(at + sizeof(header), 0, length + 8);
    memset(at + sizeof(header), (int)(first & 0xff), length);
    ck_frame_seal(&header, at + sizeof(header));
    memcpy(at, &header, sizeof(header));
    return ck_frame_bytes(&header);
}

static void append(struct fixture *f, int from, int to, uint32_t length)
{
    struct ck_segment *segment = ck_segment_create(f->path, &f->err);
    uint8_t *frame = malloc(length + 128);

    assert_non_null(segment);
    for (int i = from; i < to; i++) {
        size_t bytes = make_frame(frame, (uint64_t)i, length);

        assert_int_equal(ck_segment_append(segment, frame, bytes), 0);
    }
    ck_segment_destroy(segment);
    free(frame);
}

/* Frames seen, their numbers in `seen`. */
static int walk(struct fixture *f,
                uint64_t *seen,
                int room,
                struct ck_segment_damage *damage)
{
    struct ck_segment_reader *reader =
        ck_segment_reader_create(f->path, &f->err);
    struct ck_frame_header header;
    const void *payload;
    int count = 0;

    assert_non_null(reader);
    while (ck_segment_next(reader, &header, &payload) == 1) {
        assert_int_equal((uintptr_t)payload % 8, 0);
        assert_true(count < room);
        seen[count++] = header.first;
    }
    *damage = ck_segment_damage(reader);
    ck_segment_reader_destroy(reader);
    return count;
}

static void write_at(struct fixture *f, off_t at, const void *bytes, size_t n)
{
    int fd = open(f->path, O_WRONLY | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    assert_int_equal(close(fd), 0);
}

static void what_was_appended_is_read(void **state)
{
    struct ck_segment_damage damage;
    uint64_t seen[64];

    append(*state, 0, 10, 100);
    append(*state, 10, 20, 3);
    assert_int_equal(walk(*state, seen, 64, &damage), 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(seen[i], i);
    }
    assert_int_equal(damage.places, 0);
    assert_false(damage.is_tail);
}

static void a_new_file_is_private(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    append(f, 0, 1, 8);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_torn_tail_is_cut_at_the_last_whole_frame(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_damage damage;
    uint64_t seen[8];
    struct stat st;
    off_t whole;

    append(f, 0, 3, 50);
    assert_int_equal(stat(f->path, &st), 0);
    whole = st.st_size / 3;
    for (off_t cut = 0; cut < whole; cut++) {
        assert_int_equal(truncate(f->path, 2 * whole + cut), 0);
        assert_int_equal(walk(f, seen, 8, &damage), 2);
        assert_int_equal(damage.bytes, cut);
        assert_int_equal(damage.is_tail, cut > 0);
        append(f, 2, 3, 50);
        assert_int_equal(walk(f, seen, 8, &damage), 3);
        assert_int_equal(damage.places, 0);
    }
}

static void a_damaged_frame_is_skipped_and_counted(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_damage damage;
    uint64_t seen[8];
    struct stat st;
    off_t whole;

    append(f, 0, 5, 50);
    assert_int_equal(stat(f->path, &st), 0);
    whole = st.st_size / 5;
    for (off_t at = 0; at < whole - 6; at++) { /* the rest is padding */
        uint8_t old, bad;
        int fd = open(f->path, O_RDWR);

        assert_int_equal(pread(fd, &old, 1, 2 * whole + at), 1);
        bad = old ^ 0x10;
        write_at(f, 2 * whole + at, &bad, 1);
        assert_int_equal(walk(f, seen, 8, &damage), 4);
        assert_int_equal(seen[2], 3);
        assert_int_equal(damage.places, 1);
        assert_int_equal(damage.bytes, whole);
        assert_int_equal(damage.first_offset, 2 * whole);
        assert_false(damage.is_tail);
        write_at(f, 2 * whole + at, &old, 1);
        assert_int_equal(close(fd), 0);
    }
}

static void a_frame_behind_inserted_bytes_is_found(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_damage damage;
    uint8_t frame[256];
    uint64_t seen[4];
    size_t bytes = make_frame(frame, 7, 100);

    append(f, 0, 1, 40);
    write_at(f, 104, "junk!", 5);
    write_at(f, 109, frame, bytes);
    assert_int_equal(walk(f, seen, 4, &damage), 2);
    assert_int_equal(seen[1], 7);
    assert_int_equal(damage.bytes, 5);
}

static void a_file_larger_than_the_window_is_walked(void **state)
{
    struct ck_segment_damage damage;
    uint64_t seen[32];

    append(*state, 0, 12, (uint32_t)5 << 20);
    assert_int_equal(walk(*state, seen, 32, &damage), 12);
    assert_int_equal(damage.places, 0);
}

/* Headers seen, their numbers in `seen`. */
static int skim(struct fixture *f, uint64_t *seen, int room)
{
    struct ck_segment_reader *reader =
        ck_segment_reader_create(f->path, &f->err);
    struct ck_segment_ahead *ahead = ck_segment_ahead_create();
    struct ck_frame_header header;
    int count = 0;

    assert_non_null(reader);
    assert_non_null(ahead);
    ck_segment_reader_share(reader, ahead);
    while (ck_segment_skim(reader, &header) == 1) {
        assert_true(count < room);
        seen[count++] = header.first;
    }
    ck_segment_reader_destroy(reader);
    ck_segment_ahead_destroy(ahead);
    return count;
}

static void headers_are_read_without_their_payloads(void **state)
{
    struct fixture *f = *state;
    uint64_t seen[32];

    append(f, 0, 3, 100);
    append(f, 3, 12, (uint32_t)5 << 20);
    write_at(f, 168 + 64 + 9, "bad", 3); /* in the payload of frame 1 */
    assert_int_equal(skim(f, seen, 32), 12);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(seen[i], i);
    }
}

/* One reader alone, and two by turns with memory between them, have the same
 * frames, in each place and of each size. */
static void readers_that_share_memory_read_their_own_file(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_reader *readers[3];
    struct ck_segment_ahead *ahead = ck_segment_ahead_create();
    struct ck_frame_header header, expected;
    const void *payload, *same;

    append(f, 0, 40, 3000);
    append(f, 40, 60, 100);
    append(f, 60, 64, (uint32_t)70 << 10);
    append(f, 64, 80, 20000);
    assert_non_null(ahead);
    for (int r = 0; r < 3; r++) {
        readers[r] = ck_segment_reader_create(f->path, &f->err);
        assert_non_null(readers[r]);
        ck_segment_reader_share(readers[r], r == 0 ? NULL : ahead);
    }
    for (int i = 0; i < 80; i++) {
        assert_int_equal(ck_segment_next(readers[0], &expected, &same), 1);
        for (int r = 1; r < 3; r++) {
            assert_int_equal(ck_segment_next(readers[r], &header, &payload), 1);
            assert_memory_equal(&header, &expected, sizeof(header));
            assert_memory_equal(payload, same, header.length);
            assert_int_equal((uintptr_t)payload % 8, 0);
        }
    }
    append(f, 80, 81, 500); /* it grows */
    for (int r = 0; r < 3; r++) {
        assert_int_equal(ck_segment_next(readers[r], &header, &payload), 1);
        assert_int_equal(header.first, 80);
        assert_int_equal(ck_segment_next(readers[r], &header, &payload), 0);
        ck_segment_reader_destroy(readers[r]);
    }
    ck_segment_ahead_destroy(ahead);
}

static void a_header_that_is_damaged_or_cut_off_is_not_believed(void **state)
{
    struct fixture *f = *state;
    uint64_t seen[8];

    append(f, 0, 5, 100);
    write_at(f, 168, "bad", 3); /* the magic of frame 1 */
    assert_int_equal(truncate(f->path, 5 * 168 - 1), 0);
    assert_int_equal(skim(f, seen, 8), 3);
    assert_int_equal(seen[0], 0);
    assert_int_equal(seen[1], 2);
    assert_int_equal(seen[2], 3);
}

/* Who may write to the file can make it as long as the file system permits. */
static void a_hole_of_terabytes_is_not_read(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    uint8_t frame[256];
    size_t bytes = make_frame(frame, 3, 64);
    int fd;

    append(f, 0, 3, 64);
    fd = open(f->path, O_RDWR);
    assert_true(fd >= 0);
    if (pwrite(fd, frame, bytes, (off_t)2 << 40) != (ssize_t)bytes ||
        ftruncate(fd, (off_t)4 << 40) != 0) {
        (void)close(fd);
        print_message("no file of 4 TiB can be made here\n");
        skip();
    }
    (void)close(fd);
    reader = ck_segment_reader_create(f->path, &f->err);
    assert_non_null(reader);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
        assert_int_equal(header.first, i);
    }
    assert_int_equal(ck_segment_next(reader, &header, &payload), 0);
    assert_true(ck_segment_damage(reader).bytes > (uint64_t)3 << 40);
    ck_segment_reader_destroy(reader);
}

static void a_reader_sees_a_file_grow_and_seeks_back(void **state)
{
    struct fixture *f = *state;
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    uint64_t second;

    append(f, 0, 2, 10);
    reader = ck_segment_reader_create(f->path, &f->err);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    second = ck_segment_offset(reader);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 0);
    append(f, 2, 3, 10);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(header.first, 2);
    assert_int_equal(ck_segment_seek(reader, second), 0);
    assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
    assert_int_equal(header.first, 1);
    assert_int_equal(ck_segment_seek(reader, 1 << 20), -1);
    ck_segment_reader_destroy(reader);
}

static void a_held_frame_stays_while_the_reader_goes_on(void **state)
{
    static const uint32_t lengths[] = {10, 100000};
    struct fixture *f = *state;
    struct ck_segment_held held[4] = {{.payload = NULL}};
    struct ck_segment_reader *reader;
    struct ck_frame_header header;
    const void *payload;
    uint64_t at[4];

    append(f, 0, 2, lengths[0]);
    append(f, 2, 4, lengths[1]);
    reader = ck_segment_reader_create(f->path, &f->err);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ck_segment_next(reader, &header, &payload), 1);
        at[i] = ck_segment_offset(reader);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ck_segment_hold(reader, at[i], &held[i]), 0);
    }
    assert_int_equal(ck_segment_hold(reader, at[1] + 8, &held[0]), -1);
    ck_segment_reader_destroy(reader);
    for (int i = 0; i < 4; i++) {
        const uint8_t *bytes = held[i].payload;

        assert_int_equal(held[i].header.first, i);
        assert_int_equal((uintptr_t)bytes % 8, 0);
        assert_int_equal(bytes[0], i);
        assert_int_equal(bytes[lengths[i / 2] - 1], i);
        ck_segment_release(&held[i]);
        assert_null(held[i].payload);
        ck_segment_release(&held[i]);
    }
}

static void a_full_disk_leaves_the_segment_as_it_was(void **state)
{
    struct fixture *f = *state;
    struct rlimit old, small = {1000, RLIM_INFINITY};
    struct ck_segment_damage damage;
    struct ck_segment *segment;
    uint64_t seen[64];
    uint8_t frame[1024];
    struct stat st;
    int stored = 0;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    (void)signal(SIGXFSZ, SIG_IGN);
    segment = ck_segment_create(f->path, &f->err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (ck_segment_append(segment, frame,
                             make_frame(frame, (uint64_t)stored, 90)) == 0) {
        stored++;
        assert_true(stored < 20);
    }
    assert_int_equal(errno, EFBIG);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal((uint64_t)st.st_size, ck_segment_bytes(segment));
    assert_int_equal(ck_segment_append(segment, frame,
                                       make_frame(frame, (uint64_t)stored, 90)),
                     0);
    assert_int_equal(ck_segment_sync(segment), 0);
    ck_segment_destroy(segment);
    assert_int_equal(walk(f, seen, 64, &damage), stored + 1);
    assert_int_equal(damage.places, 0);
}

static void a_foreign_file_is_refused_and_kept(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    write_at(f, 0, "my diary, do not cut", 20);
    assert_null(ck_segment_create(f->path, &f->err));
    assert_non_null(strstr(f->err.text, "is no segment file"));
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_size, 20);
}

static void what_cannot_be_opened_is_reported(void **state)
{
    struct fixture *f = *state;

    assert_null(ck_segment_reader_create("/nonexistent/x.ck", &f->err));
    assert_string_equal(f->err.text, "cannot open /nonexistent/x.ck: No such "
                                     "file or directory");
    assert_null(ck_segment_reader_create(f->dir, &f->err));
    assert_null(ck_segment_create(f->dir, &f->err));
}

static void half_a_frame_is_not_appended(void **state)
{
    struct fixture *f = *state;
    struct ck_segment *segment = ck_segment_create(f->path, &f->err);
    uint8_t frame[256];
    size_t bytes = make_frame(frame, 1, 30);

    assert_int_equal(ck_segment_append(segment, frame, bytes - 1), -1);
    assert_int_equal(ck_segment_append(segment, frame, 8), -1);
    assert_int_equal(ck_segment_bytes(segment), 0);
    ck_segment_destroy(segment);
}

static void a_fifo_is_refused_and_not_waited_for(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_null(ck_segment_reader_create(f->path, &f->err));
    assert_non_null(strstr(f->err.text, "not a regular file"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_was_appended_is_read),
        CASE(a_held_frame_stays_while_the_reader_goes_on),
        CASE(a_fifo_is_refused_and_not_waited_for),
        CASE(a_new_file_is_private),
        CASE(a_torn_tail_is_cut_at_the_last_whole_frame),
        CASE(a_damaged_frame_is_skipped_and_counted),
        CASE(a_frame_behind_inserted_bytes_is_found),
        CASE(a_file_larger_than_the_window_is_walked),
        CASE(headers_are_read_without_their_payloads),
        CASE(readers_that_share_memory_read_their_own_file),
        CASE(a_header_that_is_damaged_or_cut_off_is_not_believed),
        CASE(a_hole_of_terabytes_is_not_read),
        CASE(a_reader_sees_a_file_grow_and_seeks_back),
        CASE(a_full_disk_leaves_the_segment_as_it_was),
        CASE(a_foreign_file_is_refused_and_kept),
        CASE(what_cannot_be_opened_is_reported),
        CASE(half_a_frame_is_not_appended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
