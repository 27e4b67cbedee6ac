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

#include "launch/option.h"
#include "schema/err.h"

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
 * err begins with the name of the variable. */
enum ck_cli_result ck_cli_parse_variable(const struct ck_cli *cli,
                                         const char *name,
                                         struct ck_err *err);

/* Lines that --version prints after its first (ck_build_facts); borrowed, ends
 * with NULL. */
void ck_cli_facts(const char *const *lines);

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
