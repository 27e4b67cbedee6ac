/* test_run.c - names in a run directory, files replaced whole, lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "schema/store/run.h"
#include "tests/workdir.h"

static void agent_ids_go_both_ways(void **state)
{
    uint8_t agent[16] = {0, 1, 0xfe, 0xff}, back[16];
    char hex[CK_AGENT_HEX];

    (void)state;
    ck_run_agent_hex(agent, hex);
    assert_string_equal(hex, "0001feff000000000000000000000000");
    assert_int_equal(ck_run_agent_parse(hex, back), 0);
    assert_memory_equal(agent, back, 16);
    assert_int_equal(ck_run_agent_parse("12", back), -1);
    hex[5] = 'G';
    assert_int_equal(ck_run_agent_parse(hex, back), -1);
}

static void touch(const char *name)
{
    char path[PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", work, name);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static void segments_and_spools_are_listed_by_name(void **state)
{
    uint8_t agent[16] = {9};
    struct ck_run_files files;
    char path[PATH_MAX];

    (void)state;
    touch("spool-09000000000000000000000000000000.ck");
    touch("seg-09000000000000000000000000000000.ck");
    touch("seg-0900000000000000000000000000000.ck"); /* a digit short */
    touch("manifest.json");
    touch("seg-09000000000000000000000000000000.ck.tmp");
    assert_int_equal(ck_run_files(work, &files, NULL), 0);
    assert_int_equal(files.count, 2);
    assert_int_equal(ck_run_segment_path(path, work, agent, false), 0);
    assert_string_equal(files.paths[0], path);
    assert_int_equal(ck_run_segment_path(path, work, agent, true), 0);
    assert_string_equal(files.paths[1], path);
    ck_run_files_free(&files);
    assert_int_equal(files.count, 0);
}

static void a_missing_directory_is_reported(void **state)
{
    struct ck_run_files files = {NULL, 77};
    struct ck_err err;

    (void)state;
    assert_int_equal(ck_run_files("/nonexistent/run", &files, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.text,
                        "cannot open run directory "
                        "/nonexistent/run: No such file or directory");
    assert_int_equal(files.count, 77);
}

static void a_run_directory_is_private_and_may_exist(void **state)
{
    char path[128];
    struct ck_err err;
    struct stat st;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/run", work);
    assert_int_equal(ck_run_create(path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(ck_run_create(path, &err), 0);
    touch("file");
    (void)snprintf(path, sizeof(path), "%s/file", work);
    assert_int_equal(ck_run_create(path, &err), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(ck_run_create("/nonexistent/a/b", &err), -1);
    assert_int_equal(errno, ENOENT);
}

static void a_file_is_replaced_whole(void **state)
{
    struct ck_run_files files;
    char path[128], text[32] = {0};
    struct ck_err err;
    FILE *file;

    (void)state;
    assert_int_equal(ck_run_replace(work, "m.json", "long text", 9, &err), 0);
    assert_int_equal(ck_run_replace(work, "m.json", "new", 3, &err), 0);
    (void)snprintf(path, sizeof(path), "%s/m.json", work);
    file = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof(text), file), 3);
    (void)fclose(file);
    assert_string_equal(text, "new");
    assert_int_equal(ck_run_files(work, &files, &err), 0);
    assert_int_equal(files.count, 0);
    ck_run_files_free(&files);
    assert_int_equal(ck_run_replace("/nonexistent", "m.json", "x", 1, &err),
                     -1);
    assert_int_equal(errno, ENOENT);
}

/* The file that is written first has a name that can be known. */
static void what_is_planted_for_the_new_file_is_not_opened(void **state)
{
    char other[128], planted[128];
    struct stat st;

    (void)state;
    touch("other");
    (void)snprintf(other, sizeof(other), "%s/other", work);
    (void)snprintf(planted, sizeof(planted), "%s/.m.json.%ld", work,
                   (long)getpid());
    assert_int_equal(link(other, planted), 0);
    assert_int_equal(ck_run_replace(work, "m.json", "text", 4, NULL), 0);
    assert_int_equal(mkfifo(planted, 0600), 0);
    assert_int_equal(ck_run_replace(work, "m.json", "text", 4, NULL), 0);
    assert_int_equal(symlink(other, planted), 0);
    assert_int_equal(ck_run_replace(work, "m.json", "text", 4, NULL), 0);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(unlink(other), 0);
}

static void room_that_is_not_there_leaves_no_file(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/.m.json.spare", work);
    assert_int_equal(ck_run_spare(work, "m.json", (size_t)1 << 60), -1);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(ck_run_spare(work, "m.json", 4096), 0);
    /* What was reserved once stays. */
    assert_int_equal(ck_run_spare(work, "m.json", (size_t)1 << 60), -1);
    assert_int_equal(access(path, F_OK), 0);
}

static void lines_are_put_and_got(void **state)
{
    char lines[64], value[8];
    struct ck_lines put = ck_lines_in(lines, sizeof(lines));
    size_t used;

    (void)state;
    ck_lines_put(&put, "rank", "3");
    ck_lines_put(&put, "cmd", "a\nb=\tc");
    ck_lines_put_number(&put, "low", INT64_MIN);
    assert_false(put.is_cut);
    used = put.used;
    assert_int_equal(strlen(lines), used);
    assert_true(ck_lines_get(lines, used, "rank", value, sizeof(value)));
    assert_string_equal(value, "3");
    assert_true(ck_lines_get(lines, used, "cmd", value, sizeof(value)));
    assert_string_equal(value, "a?b=?c");
    assert_true(ck_lines_get(lines, used, "low", value, sizeof(value)));
    assert_string_equal(value, "-922337"); /* cut to the room */
    assert_false(ck_lines_get(lines, used, "ran", value, sizeof(value)));
    assert_false(ck_lines_get(lines, used, "b", value, sizeof(value)));
    assert_true(ck_lines_get("last=x", 6, "last", value, sizeof(value)));
    assert_string_equal(value, "x");
}

static void what_does_not_fit_is_not_begun(void **state)
{
    char text[9] = "xxxxxxxx";
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    (void)state;
    ck_lines_put(&lines, "key", "12345");
    assert_true(lines.is_cut);
    assert_int_equal(lines.used, 0);
    assert_string_equal(text, "");
    lines.is_cut = false;
    ck_lines_put(&lines, "key", "123");
    assert_false(lines.is_cut);
    assert_int_equal(lines.used, 8);
    ck_lines_put(&lines, "", "");
    assert_true(lines.is_cut);
    assert_string_equal(text, "key=123\n");
}

#define CASE(name) WORKDIR_CASE(name, workdir_setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(agent_ids_go_both_ways),
        CASE(segments_and_spools_are_listed_by_name),
        CASE(a_missing_directory_is_reported),
        CASE(a_run_directory_is_private_and_may_exist),
        CASE(a_file_is_replaced_whole),
        CASE(what_is_planted_for_the_new_file_is_not_opened),
        CASE(room_that_is_not_there_leaves_no_file),
        CASE(lines_are_put_and_got),
        CASE(what_does_not_fit_is_not_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
