/* cli.h - options from a table, help that teaches
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program describes its options once, in a table; parsing, --help,
 * --version and the completion script come from it.
 */
#ifndef CK_LAUNCH_CLI_H
#define CK_LAUNCH_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"

enum ck_cli_type {
    CK_CLI_FLAG,     /* bool: present = true; --no-NAME = false */
    CK_CLI_TEXT,     /* const char *: borrowed from argv */
    CK_CLI_LIST,     /* struct ck_cli_list: may be given several times */
    CK_CLI_INT,      /* int64_t: decimal */
    CK_CLI_BYTES,    /* int64_t: 64K, 8M, 1GiB */
    CK_CLI_DURATION, /* int64_t ns: 20ms, 5s, 1m; a bare number is seconds */
    CK_CLI_CHOICE,   /* const char *: one of `values`, "a|b|c" */
    CK_CLI_HEADING,  /* no option: a title line in --help */
};

struct ck_cli_list {
    const char **items; /* allocated by the parser; NULL-terminated */
    int count;
};

struct ck_cli_option {
    enum ck_cli_type type;
    const char *name;     /* long name without dashes; heading: the title */
    char letter;          /* short option, 0 = none */
    const char *argument; /* as shown in help: "DIR" */
    void *value;          /* where it goes; holds the default before */
    const char *values;   /* CHOICE: "text|json"; of others what completion
                             proposes, NULL = nothing known */
    const char *help;     /* what, and the default; wrapped by help */
};

struct ck_cli {
    const char *program;                 /* "ckmerge" */
    const char *usage;                   /* "[OPTION]... RUN" */
    const char *summary;                 /* one or two sentences */
    const char *examples;                /* lines shown at the end of --help */
    const struct ck_cli_option *options; /* ends with name == NULL and type
                                            FLAG */
    bool stops_at_operand; /* first operand ends the options (a command
                              follows, `--` optional) */
};

enum ck_cli_result {
    CK_CLI_RUN = 0,   /* go on; operands in argc/argv */
    CK_CLI_DONE = 1,  /* --help or --version was printed: exit 0 */
    CK_CLI_WRONG = 2, /* misuse; err has the line */
};

/* Parse argv in place: *argc / *argv become the operands. An unknown option
 * names the nearest known one. --help and --version print to stdout.
 */
enum ck_cli_result ck_cli_parse(const struct ck_cli *cli,
                                int *argc,
                                char ***argv,
                                struct ck_err *err);
/* Parse `NAME_OPTIONS`-like text (split as a shell does words, quotes
 * understood) before argv: the same table. */
enum ck_cli_result ck_cli_parse_text(const struct ck_cli *cli,
                                     const char *text,
                                     struct ck_err *err);

/* Free the words of all such texts; values that were taken from them are gone.
 */
void ck_cli_forget(void);

/* The same of a variable of the environment; unset and empty are no options.
 * The name of the variable begins what err says. */
enum ck_cli_result ck_cli_parse_variable(const struct ck_cli *cli,
                                         const char *name,
                                         struct ck_err *err);

/* "64K", "1.5G", "512" -> bytes; "20ms", "2s" -> ns. 0 or -1. */
int ck_cli_bytes(const char *text, int64_t *bytes);
int ck_cli_duration(const char *text, int64_t *ns);

/* Version text of all programs: "0.1.0". */
const char *ck_version(void);

/* Exit codes of all programs but ckagent (docs/architecture.md). */
enum ck_exit {
    CK_EXIT_DONE = 0,
    CK_EXIT_FAILED = 1,
    CK_EXIT_MISUSE = 2,
    CK_EXIT_PARTIAL = 3,
    CK_EXIT_GATE = 4,
    CK_EXIT_GATE_UNKNOWN = 5,
    CK_EXIT_AGENT_FAILED = 125,
    CK_EXIT_NOT_EXECUTABLE = 126,
    CK_EXIT_NOT_FOUND = 127,
};

#endif
