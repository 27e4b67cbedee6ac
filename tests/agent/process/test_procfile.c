/* test_procfile.c - files of /proc: read whole, to the room, and taken apart
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_file_is_read_whole_and_ends_with_a_nul(void **state)
{
    char text[4096];
    int64_t fields[PROCFILE_STAT];
    ssize_t length =
        procfile_read(text, sizeof(text), "/proc/%d/stat", (int)getpid());

    (void)state;
    assert_true(length > 0);
    assert_int_equal(strlen(text), length);
    assert_int_equal(procfile_stat(text, fields), 0);
    assert_int_equal(fields[4], getppid());
    assert_true(fields[22] > 0);
}

/* The kernel hands over maps a page at a time. */
static void what_comes_in_pieces_is_read_to_the_room(void **state)
{
    char all[1 << 16], cut[64];
    ssize_t length = procfile_read(all, sizeof(all), "/proc/self/maps");

    (void)state;
    assert_true(length > 0);
    assert_int_equal(all[length - 1], '\n');
    assert_int_equal(procfile_read(cut, sizeof(cut), "/proc/self/maps"),
                     sizeof(cut) - 1);
    assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

static void words_end_with_their_nul_or_with_the_file(void **state)
{
    char **words = procfile_words("/proc/self/cmdline");
    FILE *file = fopen("words", "w");

    (void)state;
    assert_non_null(words);
    assert_non_null(strstr(words[0], "test_agent_procfile"));
    assert_null(words[1]);
    free(words);
    assert_non_null(file);
    assert_int_equal(fwrite("a=1\0\0b", 1, 6, file), 6);
    assert_int_equal(fclose(file), 0);
    words = procfile_words("%s", "words");
    assert_non_null(words);
    assert_string_equal(words[0], "a=1");
    assert_string_equal(words[1], "");
    assert_string_equal(words[2], "b");
    assert_null(words[3]);
    free(words);
    assert_int_equal(unlink("words"), 0);
    assert_null(procfile_words("words"));
}

static void what_is_not_there_leaves_no_text_and_its_reason(void **state)
{
    char text[16] = "before";

    (void)state;
    errno = 0;
    assert_int_equal(procfile_read(text, sizeof(text), "/proc/self/%s", "no"),
                     -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(text, "");
    strcpy(text, "before");
    assert_int_equal(procfile_take(text, sizeof(text),
                                   open("/proc/no", O_RDONLY | O_CLOEXEC)),
                     -1);
    assert_string_equal(text, "");
}

static void a_number_is_found_behind_its_key(void **state)
{
    static const char text[] = "Name:\ta\nVmHWM:\t  12 kB\nVmSwap:\t0 kB\n";

    (void)state;
    assert_int_equal(procfile_number(text, "\nVmHWM:", -1), 12);
    assert_int_equal(procfile_number(text, "\nVmSwap:", -1), 0);
    assert_int_equal(procfile_number(text, "\nVmRSS:", -1), -1);
}

static void a_name_with_parentheses_hides_no_field(void **state)
{
    char text[] = "7 (a) b) 9 (c) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "
                  "20 21 22 23";
    int64_t fields[PROCFILE_STAT];

    (void)state;
    assert_int_equal(procfile_stat(text, fields), 0);
    for (int i = 4; i < PROCFILE_STAT; i++) {
        assert_int_equal(fields[i], i);
    }
    /* One that is cut before its last field has none. */
    for (size_t length = strcspn(text, "R"); length < strlen(text) - 5;
         length++) {
        char cut[sizeof(text)];

        memcpy(cut, text, length);
        cut[length] = '\0';
        assert_int_equal(procfile_stat(cut, fields), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole_and_ends_with_a_nul),
        cmocka_unit_test(what_comes_in_pieces_is_read_to_the_room),
        cmocka_unit_test(words_end_with_their_nul_or_with_the_file),
        cmocka_unit_test(what_is_not_there_leaves_no_text_and_its_reason),
        cmocka_unit_test(a_number_is_found_behind_its_key),
        cmocka_unit_test(a_name_with_parentheses_hides_no_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
