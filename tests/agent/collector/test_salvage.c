/* test_salvage.c - what a killed agent left in its ring file is moved to disk
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/collector/leftovers.h"
#include "agent/collector/salvage.h"
#include "agent/ring/outbox.h"
#include "agent/ring/ringfile.h"
#include "schema/batch/wire.h"
#include "schema/ring/ringdir.h"
#include "schema/store/segment.h"
#include "tests/workdir.h"

#define MARKS 5000

/* A ring with MARKS marks of a thread that is gone, held by no agent.
 * Its writer is a child, so that no process of the table lives. */
static void ring_leave(char path[256], const char *dir)
{
    static uint8_t number;
    struct ringfile_wish wish = {
        .dir = work, .sharers = 1, .clock = CK_CLOCK_RAW, .rank = 3};
    struct ringfile file;
    struct outbox outbox;
    struct ck_err err;
    int status;
    pid_t pid;

    wish.agent[0] = ++number;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    assert_int_equal(
        outbox_init(&outbox, file.outbox, file.header->outbox_bytes), 0);
    outbox_keep_dir(&outbox, dir);
    strcpy(path, file.path);
    pid = fork();
    if (pid == 0) {
        struct ck_ring ring;
        struct ck_ring_writer writer;

        (void)setenv("CKAGENT_RING", path, 1);
        if (ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE) != 0 ||
            ck_ring_writer_init(&writer, &ring) != 0) {
            _exit(1);
        }
        for (int i = 0; i < MARKS; i++) {
            struct ck_mark *mark = ck_ring_begin(&writer, CK_CLOCK_RAW, 1);

            *mark = (struct ck_mark){
                .e = {.kind = CK_KIND_MARK, .units = 1, .start = 1000 + i},
                .value = i};
            ck_ring_commit(&writer, 1);
        }
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    ringfile_fini(&file);
}

/* Records of kind MARK in a segment file. */
static unsigned marks_in(const char *path)
{
    struct ck_err err;
    struct ck_segment_reader *reader = ck_segment_reader_create(path, &err);
    struct ck_frame_header header;
    const void *payload;
    unsigned records = 0;

    assert_non_null(reader);
    while (ck_segment_next(reader, &header, &payload) == 1) {
        if (header.stream.slot != CK_SLOT_COLLECTOR) {
            records += header.records;
        }
    }
    ck_segment_reader_destroy(reader);
    return records;
}

static void all_of_it_is_moved_and_the_file_removed(void **state)
{
    struct salvage found;
    char path[256];
    char dir[96];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/run", work);
    ring_leave(path, dir);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
    assert_int_equal(found.records, MARKS);
    assert_int_equal(found.rank, 3);
    assert_non_null(strstr(found.spool, dir));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(marks_in(found.spool), MARKS);
}

/* Its collector had found it empty and given it back; then it was killed, and
 * the thread went on. */
static void a_slot_that_was_given_back_is_emptied(void **state)
{
    struct ringfile file;
    struct salvage found;
    char path[256];
    char dir[96];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/back", work);
    ring_leave(path, dir);
    assert_int_equal(ringfile_adopt(&file, path), 0);
    atomic_store(&ck_ring_heads(file.header)[0].state, CK_SLOT_FREE);
    ringfile_fini(&file);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
    assert_int_equal(found.records, MARKS);
    assert_int_equal(marks_in(found.spool), MARKS);
    assert_int_equal(access(path, F_OK), -1);
}

/* Is it recorded there that none of its processes lives? */
static bool is_gone_in(const char *path)
{
    struct ck_err err;
    struct ck_segment_reader *reader = ck_segment_reader_create(path, &err);
    struct ck_frame_header header;
    const void *payload;
    bool is_gone = false;

    assert_non_null(reader);
    while (ck_segment_next(reader, &header, &payload) == 1) {
        is_gone =
            is_gone || memmem(payload, header.length, "ended=", 6) != NULL;
    }
    ck_segment_reader_destroy(reader);
    return is_gone;
}

/* What was in it had all arrived. A run that was removed stays so. */
static void of_an_empty_ring_it_is_kept_that_its_agent_is_gone(void **state)
{
    (void)state;
    for (int has_run = 0; has_run < 2; has_run++) {
        struct ringfile file;
        struct salvage found;
        struct ck_ring_slot *slot;
        char path[256];
        char dir[96];

        (void)snprintf(dir, sizeof(dir), "%s/gone%d", work, has_run);
        assert_int_equal(has_run == 0 || mkdir(dir, 0700) == 0, true);
        ring_leave(path, dir);
        assert_int_equal(ringfile_adopt(&file, path), 0);
        slot = &ck_ring_heads(file.header)[0];
        atomic_store(&slot->tail, atomic_load(&slot->head));
        ringfile_fini(&file);
        assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
        assert_int_equal(found.records, 0);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(has_run == 1 && is_gone_in(found.spool), has_run);
        assert_int_equal(access(dir, F_OK), has_run - 1);
    }
}

static void another_runs_ring_stays(void **state)
{
    struct salvage found;
    char path[256];
    char dir[96];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/mine", work);
    ring_leave(path, dir);
    assert_int_equal(salvage_ring(path, "/somewhere/else", &found),
                     SALVAGE_OTHER);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(salvage_ring(path, dir, &found), SALVAGE_DONE);
    assert_int_equal(marks_in(found.spool), MARKS);
}

static void a_living_programs_ring_stays(void **state)
{
    struct ringfile_wish wish = {
        .dir = work, .sharers = 1, .clock = CK_CLOCK_RAW, .agent = {0xee}};
    struct ringfile file;
    struct ck_ring ring;
    struct salvage found;
    struct ck_err err;
    char path[256];

    (void)state;
    assert_int_equal(ringfile_create(&file, &wish, &err), 0);
    strcpy(path, file.path);
    (void)setenv("CKAGENT_RING", path, 1);
    assert_int_equal(ck_ring_attach(&ring, CK_LIBRARY_ANNOTATE), 0);
    ringfile_fini(&file);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_LIVES);
    assert_int_equal(found.program, getpid());
    assert_int_equal(access(path, F_OK), 0);
    (void)unlink(path);
}

/* The numbers of its dead processes were given to others meanwhile. */
static void reused_process_numbers_keep_no_ring(void **state)
{
    struct ringfile file;
    struct salvage found;
    char path[256];
    char dir[96];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/reused", work);
    ring_leave(path, dir);
    assert_int_equal(ringfile_adopt(&file, path), 0);
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        struct ck_ring_process *entry = &ck_ring_processes(file.header)[i];

        if (atomic_load(&entry->key) != 0) {
            entry->pid = (uint32_t)getppid();
        }
    }
    file.header->owner_pid = (uint32_t)getpid();
    ringfile_fini(&file);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
    assert_int_equal(found.records, MARKS);
    assert_int_equal(access(path, F_OK), -1);
}

/* A disk that is full: a limit on the size of files. */
static void what_finds_no_room_stays_in_the_file(void **state)
{
    struct rlimit full = {64, RLIM_INFINITY};
    struct rlimit before;
    struct salvage found;
    char path[256];
    char dir[96];

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%s/full", work);
    ring_leave(path, dir);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_FAILED);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(found.why[0] != '\0');
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
    assert_int_equal(marks_in(found.spool), MARKS);
}

static void what_is_no_ring_is_named_and_stays(void **state)
{
    struct salvage found;
    char path[128];
    FILE *file;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/0123456789abcdef.ring", work);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("no ring", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_FAILED);
    assert_non_null(strstr(found.why, "not a ring"));
}

static void count_say(const char *path,
                      enum salvage_state state,
                      const struct salvage *found,
                      void *context)
{
    (void)path;
    (void)found;
    assert_int_equal(state, SALVAGE_DONE);
    ++*(int *)context;
}

/* Killed at its start, by this version or by an older one. */
static void what_never_became_a_ring_is_removed_in_silence(void **state)
{
    static const char *const names[] = {"0011223344556677.ring.new",
                                        "0011223344556677.ring"};
    const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char path[CK_RING_DIR_BYTES + 64];
    int said = 0;

    (void)state;
    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    ck_ring_dirs(dirs);
    (void)mkdir(dirs[1], 0700);
    for (size_t i = 0; i < 2; i++) {
        int fd;

        (void)snprintf(path, sizeof(path), "%s/%s", dirs[1], names[i]);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        assert_int_equal(futimens(fd, long_ago), 0);
        assert_int_equal(flock(fd, LOCK_SH), 0);
        salvage_all(NULL, ck_time_raw() + CK_TIME_S, SALVAGE_RING_LIMIT,
                    count_say, &said);
        assert_int_equal(access(path, F_OK), 0); /* its maker lives */
        (void)close(fd);
        salvage_all(NULL, ck_time_raw() + CK_TIME_S, SALVAGE_RING_LIMIT,
                    count_say, &said);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(said, 0);
    assert_int_equal(rmdir(dirs[1]), 0);
}

/* By a program that wrote to what is not its own. */
static void a_ring_that_was_cut_is_removed_and_reported_once(void **state)
{
    static const off_t sizes[] = {4096, 100000, 9000000};
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char path[256], moved[512], run[96];
    char line[LEFTOVERS_LINE];

    (void)state;
    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    ck_ring_dirs(dirs);
    (void)snprintf(run, sizeof(run), "%s/cut", work);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct leftovers leftovers = {.moved = 0};

        (void)mkdir(dirs[1], 0700);
        ring_leave(path, run);
        (void)snprintf(moved, sizeof(moved), "%s%s", dirs[1],
                       strrchr(path, '/'));
        assert_int_equal(rename(path, moved), 0);
        assert_int_equal(truncate(moved, sizes[i]), 0);
        salvage_all(run, 0, SALVAGE_RING_LIMIT, leftovers_add, &leftovers);
        assert_int_equal(leftovers.lost, 0); /* perhaps of another run */
        assert_int_equal(access(moved, F_OK), 0);
        for (unsigned again = 0; again < 2; again++) {
            leftovers = (struct leftovers){.moved = 0};
            salvage_all(NULL, 0, SALVAGE_RING_LIMIT, leftovers_add, &leftovers);
            assert_int_equal(leftovers.lost, again == 0);
            assert_int_equal(leftovers.failed, 0);
            leftovers_line(&leftovers, line);
            assert_int_equal(strstr(line, "is lost") != NULL, again == 0);
        }
        assert_int_equal(access(moved, F_OK), -1);
    }
    assert_int_equal(rmdir(dirs[1]), 0);
}

static void a_ring_that_was_made_longer_is_moved_whole(void **state)
{
    static const off_t sizes[] = {16 << 20, (off_t)1 << 40};
    struct salvage found;
    char path[256], run[96];
    struct stat st;

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/longer", work);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        ring_leave(path, run);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, st.st_size + sizes[i]), 0);
        assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
        assert_int_equal(found.records, MARKS);
        assert_int_equal(marks_in(found.spool), MARKS);
        assert_int_equal(access(path, F_OK), -1);
    }
}

/* Hundreds of agents of a host begin together. */
static void who_finds_another_looking_does_not_look(void **state)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char path[256], moved[512], run[96];
    int said = 0;
    int fd;

    (void)state;
    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    ck_ring_dirs(dirs);
    assert_int_equal(mkdir(dirs[1], 0700), 0);
    (void)snprintf(run, sizeof(run), "%s/swept", work);
    ring_leave(path, run);
    (void)snprintf(moved, sizeof(moved), "%s%s", dirs[1], strrchr(path, '/'));
    assert_int_equal(rename(path, moved), 0);
    fd = open(dirs[1], O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    salvage_all(run, ck_time_raw() + CK_TIME_S, SALVAGE_RING_LIMIT, count_say,
                &said);
    assert_int_equal(said, 0);
    assert_int_equal(access(moved, F_OK), 0);
    (void)close(fd);
    salvage_all(run, ck_time_raw() + CK_TIME_S, SALVAGE_RING_LIMIT, count_say,
                &said);
    assert_int_equal(said, 1);
    assert_int_equal(access(moved, F_OK), -1);
}

static void who_is_asked_to_clean_looks_in_any_case(void **state)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char path[256], moved[512], run[96];
    int said = 0;
    int fd;

    (void)state;
    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    ck_ring_dirs(dirs);
    (void)snprintf(run, sizeof(run), "%s/cleaned", work);
    ring_leave(path, run);
    (void)snprintf(moved, sizeof(moved), "%s%s", dirs[1], strrchr(path, '/'));
    assert_int_equal(rename(path, moved), 0);
    fd = open(dirs[1], O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, count_say, &said);
    assert_int_equal(said, 1);
    (void)close(fd);
}

static void reason_say(const char *path,
                       enum salvage_state state,
                       const struct salvage *found,
                       void *context)
{
    (void)path;
    assert_int_equal(state, SALVAGE_FAILED);
    (void)snprintf(context, sizeof(found->why), "%s", found->why);
}

/* Where salvage_all() looks. */
static void ring_leave_in_place(char moved[512], const char *run)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    char path[256];

    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    ck_ring_dirs(dirs);
    (void)mkdir(dirs[1], 0700);
    ring_leave(path, run);
    (void)snprintf(moved, 512, "%s%s", dirs[1], strrchr(path, '/'));
    assert_int_equal(rename(path, moved), 0);
}

static void stay(int signal)
{
    (void)signal;
    for (;;) {
        (void)pause();
    }
}

/* As where a disk does not answer: the reader stays in its write. */
static void who_takes_too_long_is_ended_and_the_file_stays(void **state)
{
    struct rlimit full = {64, RLIM_INFINITY};
    char why[sizeof(((struct salvage *)NULL)->why)] = "";
    struct rlimit before;
    char moved[512], run[96];
    int said = 0;

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/staying", work);
    ring_leave_in_place(moved, run);
    (void)signal(SIGXFSZ, stay);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    salvage_all(run, 0, 100 * CK_TIME_MS, reason_say, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_string_equal(why, "it was not moved within 0.1 s");
    assert_int_equal(access(moved, F_OK), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, count_say, &said);
    assert_int_equal(said, 1);
    assert_int_equal(access(moved, F_OK), -1);
}

/* As a file that is shortened meanwhile does with a SIGBUS: here the disk's
 * limit, with a SIGXFSZ. */
static void what_kills_its_reader_kills_no_other_process(void **state)
{
    struct rlimit full = {64, RLIM_INFINITY};
    char why[sizeof(((struct salvage *)NULL)->why)] = "";
    struct rlimit before;
    char moved[512], run[96];

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/killing", work);
    ring_leave_in_place(moved, run);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, reason_say, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(why, "changed while it was read"));
    assert_int_equal(unlink(moved), 0);
}

static void a_place_that_others_may_write_to_is_not_looked_at(void **state)
{
    char moved[512], run[96];
    char *slash;
    int said = 0;

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/open", work);
    ring_leave_in_place(moved, run);
    slash = strrchr(moved, '/');
    *slash = '\0';
    assert_int_equal(chmod(moved, 0777), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, count_say, &said);
    assert_int_equal(said, 0);
    assert_int_equal(chmod(moved, 0700), 0);
    *slash = '/';
    assert_int_equal(access(moved, F_OK), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, count_say, &said);
    assert_int_equal(said, 1);
}

static void a_file_that_others_may_write_to_is_not_read(void **state)
{
    char why[sizeof(((struct salvage *)NULL)->why)] = "";
    char moved[512], run[96];

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/loose", work);
    ring_leave_in_place(moved, run);
    assert_int_equal(chmod(moved, 0666), 0);
    salvage_all(run, 0, SALVAGE_RING_LIMIT, reason_say, why);
    assert_non_null(strstr(why, "not this user's alone"));
    assert_int_equal(access(run, F_OK), -1);
    assert_int_equal(unlink(moved), 0);
}

/* Any user may write there: it is no run directory that we made. */
static void a_run_directory_of_others_is_not_written_to(void **state)
{
    struct salvage found;
    char path[256], run[96];

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/everybodys", work);
    assert_int_equal(setenv("TMPDIR", work, 1), 0);
    assert_int_equal(setenv("CK_TEST_RINGS", work, 1), 0);
    assert_int_equal(mkdir(run, 0700), 0);
    assert_int_equal(chmod(run, 0777), 0);
    ring_leave(path, run);
    assert_int_equal(salvage_ring(path, NULL, &found), SALVAGE_DONE);
    assert_non_null(strstr(found.spool, "/ck-recovered-"));
    assert_int_equal(marks_in(found.spool), MARKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_moved_and_the_file_removed),
        cmocka_unit_test(a_slot_that_was_given_back_is_emptied),
        cmocka_unit_test(of_an_empty_ring_it_is_kept_that_its_agent_is_gone),
        cmocka_unit_test(another_runs_ring_stays),
        cmocka_unit_test(reused_process_numbers_keep_no_ring),
        cmocka_unit_test(a_living_programs_ring_stays),
        cmocka_unit_test(what_finds_no_room_stays_in_the_file),
        cmocka_unit_test(what_is_no_ring_is_named_and_stays),
        cmocka_unit_test(what_never_became_a_ring_is_removed_in_silence),
        cmocka_unit_test(a_ring_that_was_cut_is_removed_and_reported_once),
        cmocka_unit_test(a_ring_that_was_made_longer_is_moved_whole),
        cmocka_unit_test(who_finds_another_looking_does_not_look),
        cmocka_unit_test(who_is_asked_to_clean_looks_in_any_case),
        cmocka_unit_test(who_takes_too_long_is_ended_and_the_file_stays),
        cmocka_unit_test(what_kills_its_reader_kills_no_other_process),
        cmocka_unit_test(a_place_that_others_may_write_to_is_not_looked_at),
        cmocka_unit_test(a_file_that_others_may_write_to_is_not_read),
        cmocka_unit_test(a_run_directory_of_others_is_not_written_to),
    };

    return cmocka_run_group_tests(tests, workdir_setup, workdir_teardown);
}
