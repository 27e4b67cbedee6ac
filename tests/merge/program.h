/* program.h - ckmerge as a program, and its outputs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_MERGE_PROGRAM_H
#define CK_TESTS_MERGE_PROGRAM_H

/* Run `ckmerge ARGS` in dir and keep both its outputs in *text,
 * which is freed before; its status. A failure to run ends the test. */
int program_merge(char **text, const char *dir, const char *format, ...);

#endif
