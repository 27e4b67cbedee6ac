/* test_cli.c - options from a table
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/cli.h"

static struct {
    bool is_strict;
    bool has_report;
    const char *dir;
    const char *output;
    struct ck_cli_list listen;
    int64_t ranks;
    int64_t limit;
    int64_t period;
    int64_t every;
} got;

static const struct ck_cli_option options[] = {
    {CK_CLI_HEADING, "Recording", 0, NULL, NULL, NULL, NULL},
    {CK_CLI_FLAG, "strict", 's', NULL, &got.is_strict, NULL, "refuse to run"},
    {CK_CLI_FLAG, "report", 0, NULL, &got.has_report, NULL, "show a report"},
    {CK_CLI_TEXT, "dir", 'd', "DIR", &got.dir, NULL,
     "where the run directory is made; the working directory unless another "
     "is named here or in CKAGENT_DIR"},
    {CK_CLI_CHOICE, "output", 'o', NULL, &got.output, "text|json|chrome",
     "format"},
    {CK_CLI_LIST, "listen", 'l', "URL", &got.listen, NULL, "where to listen"},
    {CK_CLI_INT, "ranks", 'n', "N", &got.ranks, NULL, "ranks"},
    {CK_CLI_BYTES, "limit", 0, "SIZE", &got.limit, NULL, "bound of the store"},
    {CK_CLI_DURATION, "period", 0, "TIME", &got.period, NULL, "how often"},
    {CK_CLI_BYTES_OR, "every", 0, "SIZE", &got.every, "512K", "how many"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct ck_cli cli = {
    .program = "cktest",
    .usage = "[OPTION]... RUN",
    .summary = "Does nothing, but says how.",
    .examples = "cktest --dir /tmp RUN   do nothing there\n",
    .options = options,
};

static const struct ck_cli command_cli = {
    .program = "cktest",
    .usage = "[OPTION]... [--] COMMAND",
    .options = options,
    .stops_at_operand = true,
};

enum { WORDS_MAX = 16 };

/* A vector as main() gets it, parsed. */
struct parsed {
    char **argv; /* of words of parse(), until its next call */
    int argc;
    struct ck_err err;
    enum ck_cli_result result;
};

static struct parsed parse(const struct ck_cli *table, const char *first, ...)
{
    static char name[] = "cktest";
    static char *words[WORDS_MAX + 1];
    struct parsed p = {.argv = words, .argc = 1};
    const char *word = first;
    va_list rest;

    memset(words, 0, sizeof(words));
    words[0] = name;
    va_start(rest, first);
    while (word != NULL) {
        assert_true(p.argc < WORDS_MAX);
        words[p.argc++] = (char *)(uintptr_t)word;
        word = va_arg(rest, const char *);
    }
    va_end(rest);
    p.result = ck_cli_parse(table, &p.argc, &p.argv, &p.err);
    return p;
}

static int forget(void **state)
{
    (void)state;
    free(got.listen.items);
    memset(&got, 0, sizeof(got));
    return 0;
}

static void each_type_takes_its_value_attached_or_apart(void **state)
{
    struct parsed p =
        parse(&cli, "--dir=/a", "--output", "json", "-n4", "-s", "--limit",
              "64K", "--period=20ms", "--listen", "a", "-l", "b", NULL);

    (void)state;
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_int_equal(p.argc, 0);
    assert_string_equal(got.dir, "/a");
    assert_string_equal(got.output, "json");
    assert_int_equal(got.ranks, 4);
    assert_true(got.is_strict);
    assert_int_equal(got.limit, 65536);
    assert_int_equal(got.period, 20000000);
    assert_int_equal(got.listen.count, 2);
    assert_string_equal(got.listen.items[0], "a");
    assert_string_equal(got.listen.items[1], "b");
    assert_null(got.listen.items[2]);
}

static void a_size_may_be_left_out_where_there_is_a_usual_one(void **state)
{
    struct parsed p = parse(&cli, "--every", "64K", NULL);

    (void)state;
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_int_equal(got.every, 512 << 10);
    assert_int_equal(p.argc, 1); /* it is an operand */
    p = parse(&cli, "--every=64K", NULL);
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_int_equal(got.every, 64 << 10);
    assert_int_equal(p.argc, 0);
    assert_int_equal(parse(&cli, "--every=x", NULL).result, CK_CLI_WRONG);
}

static void operands_keep_their_order_between_options(void **state)
{
    struct parsed p =
        parse(&cli, "one", "--strict", "two", "-", "--", "--three", NULL);

    (void)state;
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_int_equal(p.argc, 4);
    assert_string_equal(p.argv[0], "one");
    assert_string_equal(p.argv[1], "two");
    assert_string_equal(p.argv[2], "-");
    assert_string_equal(p.argv[3], "--three");
    assert_null(p.argv[4]);
}

static void a_command_keeps_its_own_options(void **state)
{
    struct parsed p =
        parse(&command_cli, "--strict", "sh", "-c", "--report", "--", NULL);

    (void)state;
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_int_equal(p.argc, 4);
    assert_string_equal(p.argv[0], "sh");
    assert_string_equal(p.argv[3], "--");
    assert_true(got.is_strict);
    assert_false(got.has_report);
}

static void a_flag_is_taken_back_by_no(void **state)
{
    struct parsed p;

    (void)state;
    got.has_report = true;
    p = parse(&cli, "--no-report", NULL);
    assert_int_equal(p.result, CK_CLI_RUN);
    assert_false(got.has_report);
}

static void a_wrong_line_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *words[2];
        const char *reason;
    } cases[] = {
        {{"--lisen", NULL}, "unknown option --lisen: is --listen meant?"},
        {{"--peri", "1"}, "unknown option --peri: is --period meant?"},
        {{"--frobnicate", NULL},
         "unknown option --frobnicate (see cktest --help)"},
        {{"-x", NULL}, "unknown option -x (see cktest --help)"},
        {{"--dir", NULL}, "option --dir needs a value: DIR"},
        {{"--ranks", "four"}, "option --ranks: 'four' is not a whole number"},
        {{"--ranks", "4x"}, "option --ranks: '4x' is not a whole number"},
        {{"--ranks=", NULL}, "option --ranks: '' is not a whole number"},
        {{"--ranks", "99999999999999999999"},
         "option --ranks: '99999999999999999999' is not a whole number"},
        {{"--limit", "-1"},
         "option --limit: '-1' is not a size like 64K, 8M or 1G"},
        {{"--period", "5 parsecs"},
         "option --period: '5 parsecs' is not a time like 20ms, 5s or 1m"},
        {{"--output", "xml"},
         "option --output: 'xml' is not one of text|json|chrome"},
        {{"--output", "tex"},
         "option --output: 'tex' is not one of text|json|chrome"},
        {{"--strict=yes", NULL}, "option --strict=yes takes no value"},
        {{"--no-dir", NULL},
         "--no-dir: only an option without a value has a --no- form"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed p =
            parse(&cli, cases[i].words[0], cases[i].words[1], NULL);

        assert_int_equal(p.result, CK_CLI_WRONG);
        assert_string_equal(p.err.text, cases[i].reason);
    }
}

static void sizes_are_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"0", 0},
        {"512", 512},
        {"64K", 65536},
        {"64kb", 65536},
        {"8M", 8388608},
        {"8MiB", 8388608},
        {"1.5G", 1610612736},
        {"2T", 2199023255552},
    };
    static const char *const wrong[] = {"",    "-1",  "K",    "1X",       "1 K",
                                        "nan", "inf", "0x10", "99999999T"};
    int64_t bytes = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ck_cli_bytes(cases[i].text, &bytes), 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
    bytes = 7;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(ck_cli_bytes(wrong[i], &bytes), -1);
        assert_int_equal(bytes, 7);
    }
}

static void a_bare_duration_is_seconds(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"2", 2000000000},     {"20ms", 20000000}, {"1.5us", 1500},
        {"250ns", 250},        {"3s", 3000000000}, {"1m", 60000000000},
        {"2h", 7200000000000},
    };
    int64_t ns = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ck_cli_duration(cases[i].text, &ns), 0);
        assert_int_equal(ns, cases[i].ns);
    }
    assert_int_equal(ck_cli_duration("soon", &ns), -1);
}

static void text_of_a_variable_is_split_as_a_shell_does(void **state)
{
    struct ck_err err;

    (void)state;
    assert_int_equal(
        ck_cli_parse_text(&cli, " --dir 'a b'\\ \"c\\\"d\"  -n 3\n", &err),
        CK_CLI_RUN);
    assert_string_equal(got.dir, "a b c\"d");
    assert_int_equal(got.ranks, 3);
    assert_int_equal(ck_cli_parse_text(&cli, "", &err), CK_CLI_RUN);
}

static void text_of_a_variable_is_refused_with_its_reason(void **state)
{
    struct ck_err err;

    (void)state;
    assert_int_equal(ck_cli_parse_text(&cli, "--dir 'a", &err), CK_CLI_WRONG);
    assert_string_equal(err.text, "a quote is not closed in: --dir 'a");
    assert_int_equal(ck_cli_parse_text(&cli, "-s RUN", &err), CK_CLI_WRONG);
    assert_string_equal(err.text, "only options are allowed here, not 'RUN'");
}

static void a_variable_is_read_as_text_and_named_when_it_is_wrong(void **state)
{
    struct ck_err err = {.text = "untouched"};

    (void)state;
    unsetenv("CK_TEST_CLI");
    assert_int_equal(ck_cli_parse_variable(&cli, "CK_TEST_CLI", &err),
                     CK_CLI_RUN);
    setenv("CK_TEST_CLI", "-n 7", 1);
    assert_int_equal(ck_cli_parse_variable(&cli, "CK_TEST_CLI", &err),
                     CK_CLI_RUN);
    assert_int_equal(got.ranks, 7);
    assert_string_equal(err.text, "untouched");
    setenv("CK_TEST_CLI", "-s RUN", 1);
    assert_int_equal(ck_cli_parse_variable(&cli, "CK_TEST_CLI", &err),
                     CK_CLI_WRONG);
    assert_string_equal(
        err.text, "CK_TEST_CLI: only options are allowed here, not 'RUN'");
    unsetenv("CK_TEST_CLI");
}

/* What the parser prints on stdout for one word. */
static void print_of(const char *word, char *text, size_t room)
{
    FILE *file = tmpfile();
    int saved = dup(STDOUT_FILENO);
    struct parsed p;
    size_t length;

    assert_non_null(file);
    fflush(stdout);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    p = parse(&cli, word, NULL);
    fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    rewind(file);
    length = fread(text, 1, room - 1, file);
    text[length] = '\0';
    fclose(file);
    assert_int_equal(p.result, CK_CLI_DONE);
}

static void help_shows_every_option_and_wraps(void **state)
{
    char text[8192];

    (void)state;
    print_of("--help", text, sizeof(text));
    assert_non_null(strstr(text, "Usage: cktest [OPTION]... RUN\n"));
    assert_non_null(strstr(text, "\nRecording:\n"));
    for (const struct ck_cli_option *o = options; o->name != NULL; o++) {
        assert_non_null(strstr(text, o->name));
    }
    assert_non_null(strstr(text, "--output text|json|chrome"));
    assert_non_null(strstr(text, "\nExamples:\n  cktest --dir /tmp RUN"));
    assert_non_null(strstr(text, "-h, --help"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 100);
    }
}

static void version_names_the_program(void **state)
{
    char text[256];

    (void)state;
    print_of("--version", text, sizeof(text));
    assert_string_equal(text, "cktest " CK_VERSION "\n");
    assert_string_equal(ck_version(), CK_VERSION);
}

static void what_it_was_built_from_follows_the_version(void **state)
{
    static const char *const facts[] = {"commit 1234", "built for a machine",
                                        NULL};
    char text[256];

    (void)state;
    ck_cli_facts(facts);
    print_of("--version", text, sizeof(text));
    ck_cli_facts(NULL);
    assert_string_equal(text, "cktest " CK_VERSION
                              "\ncommit 1234\nbuilt for a machine\n");
}

static void options_are_listed_for_completion(void **state)
{
    char text[4096];

    (void)state;
    print_of("--print-options", text, sizeof(text));
    assert_non_null(strstr(text, "--strict\tflag\t\n"));
    assert_non_null(strstr(text, "--dir\ttext\tDIR\n"));
    assert_non_null(strstr(text, "--output\tchoice\ttext|json|chrome\n"));
    assert_non_null(strstr(text, "--help\tflag\t\n"));
    assert_null(strstr(text, "Recording"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_type_takes_its_value_attached_or_apart,
                                  forget),
        cmocka_unit_test_teardown(
            a_size_may_be_left_out_where_there_is_a_usual_one, forget),
        cmocka_unit_test_teardown(operands_keep_their_order_between_options,
                                  forget),
        cmocka_unit_test_teardown(a_command_keeps_its_own_options, forget),
        cmocka_unit_test_teardown(a_flag_is_taken_back_by_no, forget),
        cmocka_unit_test_teardown(a_wrong_line_is_refused_with_its_reason,
                                  forget),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(a_bare_duration_is_seconds),
        cmocka_unit_test_teardown(text_of_a_variable_is_split_as_a_shell_does,
                                  forget),
        cmocka_unit_test_teardown(text_of_a_variable_is_refused_with_its_reason,
                                  forget),
        cmocka_unit_test_teardown(
            a_variable_is_read_as_text_and_named_when_it_is_wrong, forget),
        cmocka_unit_test(help_shows_every_option_and_wraps),
        cmocka_unit_test(version_names_the_program),
        cmocka_unit_test(what_it_was_built_from_follows_the_version),
        cmocka_unit_test(options_are_listed_for_completion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
