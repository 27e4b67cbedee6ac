/* option.h - a table of options
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What parsing (cli.h) and help (help.h) are made from.
 */
#ifndef CK_LAUNCH_OPTION_H
#define CK_LAUNCH_OPTION_H

#include <stdbool.h>
#include <stdint.h>

enum ck_cli_type {
    CK_CLI_FLAG,     /* bool: present = true; --no-NAME = false */
    CK_CLI_TEXT,     /* const char *: borrowed from argv */
    CK_CLI_LIST,     /* struct ck_cli_list: may be given several times */
    CK_CLI_INT,      /* int64_t: decimal */
    CK_CLI_BYTES,    /* int64_t: 64K, 8M, 1GiB */
    CK_CLI_BYTES_OR, /* the same, only as --name=64K; --name alone: `values` */
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

#endif
