/* test_lookup.c - questions about addresses of this very program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/lookup.h"
#include "agent/symbols/symboltable.h"

/* This program, as a module. */
struct self {
    char path[4096];
    uint64_t bias;
    char build_id[SYMBOLTABLE_ID_BYTES];
};

static struct self self;

__attribute__((noinline)) static int site_of_the_test(void)
{
    return getpid() != 0;
}

static int setup(void **state)
{
    ssize_t length = readlink("/proc/self/exe", self.path, 4095);
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t start = 0;
    char *line = NULL;
    size_t room = 0;

    (void)state;
    assert_true(length > 0);
    assert_non_null(maps);
    /* A sanitizer's mappings may be before the program's. */
    while (start == 0 && getline(&line, &room, maps) > 0) {
        if (strstr(line, self.path) != NULL) {
            start = strtoull(line, NULL, 16);
        }
    }
    free(line);
    (void)fclose(maps);
    assert_int_equal(symboltable_identify(self.path, start, 0, false,
                                          &self.bias, self.build_id),
                     0);
    return self.build_id[0] == '\0';
}

/* The answers to these lines; the caller's to free. */
static char *ask(const char *questions)
{
    FILE *in = fmemopen((void *)(uintptr_t)questions, strlen(questions), "r");
    char *answers = NULL;
    size_t length;
    FILE *out = open_memstream(&answers, &length);

    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(lookup_run(in, out), 0);
    (void)fclose(in);
    (void)fclose(out);
    return answers;
}

static char *ask_as(const char *before, const char *build_id)
{
    char line[8192];

    (void)snprintf(line, sizeof(line), "%s%" PRIx64 " %" PRIx64 " %s %s\n",
                   before, (uint64_t)(uintptr_t)site_of_the_test + 4, self.bias,
                   build_id, self.path);
    return ask(line);
}

static char *ask_of(const char *build_id)
{
    return ask_as("", build_id);
}

static void a_call_has_function_file_and_line(void **state)
{
    char *answer = ask_of(self.build_id);

    (void)state;
    assert_true(site_of_the_test());
    assert_non_null(strstr(answer, "\tsite_of_the_test\t"));
    assert_non_null(strstr(answer, "test_lookup.c\n"));
    assert_true(strtol(answer, NULL, 10) > 20);
    free(answer);
}

static void a_frame_has_the_line_of_a_file_with_lines(void **state)
{
    char *call = ask_of(self.build_id);
    char *frame = ask_as("@", self.build_id);

    (void)state;
    assert_string_equal(frame, call);
    free(call);
    free(frame);
}

static void another_file_at_the_path_is_not_believed(void **state)
{
    char *answer = ask_of("00112233");

    (void)state;
    assert_memory_equal(answer, "0\t", 2);
    assert_non_null(strstr(answer, "test_agent_lookup+0x"));
    assert_null(strstr(answer, "site_of_the_test"));
    free(answer);
}

static void what_is_no_question_has_an_empty_answer(void **state)
{
    char *answer = ask("nonsense\n\n1 2 3\n1 2 ab relative\n");

    (void)state;
    assert_string_equal(answer, "0\t\t\n0\t\t\n0\t\t\n0\t\t\n");
    free(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_function_file_and_line),
        cmocka_unit_test(a_frame_has_the_line_of_a_file_with_lines),
        cmocka_unit_test(another_file_at_the_path_is_not_believed),
        cmocka_unit_test(what_is_no_question_has_an_empty_answer),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
