/* help.c - --help from the table of options
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/help.h"

#include <string.h>
#include <unistd.h>

#include "launch/log.h"

enum {
    HELP_COLUMN = 26, /* where the text of an option begins */
    HELP_COLUMNS_MIN = 48,
    HELP_COLUMNS_MAX = 100,
};

static const struct ck_cli_option standard_options[] = {
    {CK_CLI_FLAG, "help", 'h', NULL, NULL, NULL, "Show this text"},
    {CK_CLI_FLAG, "version", 0, NULL, NULL, NULL,
     "Show the version, the commit and what it was built with"},
    {CK_CLI_FLAG, NULL, 0, NULL, NULL, NULL, NULL},
};

static const char *type_name(enum ck_cli_type type)
{
    switch (type) {
    case CK_CLI_FLAG:
        return "flag";
    case CK_CLI_TEXT:
        return "text";
    case CK_CLI_LIST:
        return "list";
    case CK_CLI_INT:
        return "int";
    case CK_CLI_BYTES:
        return "bytes";
    case CK_CLI_DURATION:
        return "duration";
    case CK_CLI_BYTES_OR:
        return "bytes";
    case CK_CLI_CHOICE:
        return "choice";
    case CK_CLI_HEADING:
        break;
    }
    return "heading";
}

/* Columns that UTF-8 text takes (one a character, as our texts are). */
static int text_columns(const char *text, size_t bytes)
{
    int columns = 0;

    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* Print words, broken before `width`; lines but the first start at `indent`;
 * the cursor is at `column` now. */
static void
print_wrapped(FILE *out, const char *text, int column, int indent, int width)
{
    bool is_first = true;

    while (*text != '\0') {
        size_t bytes = strcspn(text, " \n");
        int columns = text_columns(text, bytes);

        if (!is_first && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, bytes, out);
        column += columns;
        is_first = false;
        text += bytes;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

static void
print_option(FILE *out, const struct ck_cli_option *option, int width)
{
    int column = fprintf(out, option->letter != 0 ? "  -%c, " : "      ",
                         option->letter);
    const char *argument = option->argument;

    if (option->type == CK_CLI_CHOICE && argument == NULL) {
        argument = option->values;
    }
    column += fprintf(out, "--%s", option->name);
    if (option->type == CK_CLI_BYTES_OR) {
        column += fprintf(out, "[=%s]", argument);
    } else if (option->type != CK_CLI_FLAG) {
        column += fprintf(out, " %s", argument != NULL ? argument : "VALUE");
    }
    if (column + 2 > HELP_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - column, "");
    print_wrapped(out, option->help != NULL ? option->help : "", HELP_COLUMN,
                  HELP_COLUMN, width);
}

static void
print_table(FILE *out, const struct ck_cli_option *options, int width)
{
    for (; options->name != NULL; options++) {
        if (options->type == CK_CLI_HEADING) {
            fprintf(out, "\n%s:\n", options->name);
        } else {
            print_option(out, options, width);
        }
    }
}

static bool has_type(const struct ck_cli_option *options, enum ck_cli_type type)
{
    for (; options->name != NULL; options++) {
        if (options->type == type) {
            return true;
        }
    }
    return false;
}

/* How quantities are written, for a program that takes some. */
static void
print_units(FILE *out, const struct ck_cli_option *options, int width)
{
    bool has_bytes =
        has_type(options, CK_CLI_BYTES) || has_type(options, CK_CLI_BYTES_OR);
    bool has_time = has_type(options, CK_CLI_DURATION);

    if (has_bytes || has_time) {
        fputc('\n', out);
    }
    if (has_bytes) {
        print_wrapped(out,
                      "SIZE is in bytes, or with K, M, G or T (powers of "
                      "1024): 64K, 1.5G.",
                      0, 0, width);
    }
    if (has_time) {
        print_wrapped(out,
                      "TIME is in seconds, or with ns, us, ms, s, m, h or d: "
                      "20ms, 1.5m.",
                      0, 0, width);
    }
}

static void print_examples(FILE *out, const char *examples)
{
    fputs("\nExamples:\n", out);
    while (*examples != '\0') {
        size_t bytes = strcspn(examples, "\n");

        fprintf(out, "%s%.*s\n", examples[0] == ' ' ? "" : "  ", (int)bytes,
                examples);
        examples += bytes + (examples[bytes] == '\n');
    }
}

void help_print(const struct ck_cli *cli, FILE *out)
{
    int width = ck_terminal_columns(fileno(out));

    if (width < HELP_COLUMNS_MIN) {
        width = HELP_COLUMNS_MIN;
    }
    if (width > HELP_COLUMNS_MAX) {
        width = HELP_COLUMNS_MAX;
    }
    fprintf(out, "Usage: %s %s\n\n", cli->program, cli->usage);
    if (cli->summary != NULL) {
        print_wrapped(out, cli->summary, 0, 0, width);
    }
    if (cli->options->type != CK_CLI_HEADING) {
        fputs("\nOptions:\n", out);
    }
    print_table(out, cli->options, width);
    fputc('\n', out);
    print_table(out, standard_options, width);
    print_units(out, cli->options, width);
    if (cli->examples != NULL) {
        print_examples(out, cli->examples);
    }
}

static void print_option_lines(FILE *out, const struct ck_cli_option *options)
{
    for (; options->name != NULL; options++) {
        const char *argument =
            options->values != NULL ? options->values : options->argument;

        if (options->type != CK_CLI_HEADING) {
            fprintf(out, "--%s\t%s\t%s\n", options->name,
                    type_name(options->type), argument != NULL ? argument : "");
        }
    }
}

void help_print_options(const struct ck_cli *cli, FILE *out)
{
    print_option_lines(out, cli->options);
    print_option_lines(out, standard_options);
}
