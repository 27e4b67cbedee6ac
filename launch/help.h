/* help.h - what a program prints about its options (used by cli.c)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_HELP_H
#define CK_LAUNCH_HELP_H

#include <stdio.h>

#include "launch/option.h"

/* --help, wrapped to the terminal. */
void help_print(const struct ck_cli *cli, FILE *out);
/* --print-options: a line an option, tab-separated: --name, type, and the
 * values of a choice or the name of the argument. For completion and lint. */
void help_print_options(const struct ck_cli *cli, FILE *out);

#endif
