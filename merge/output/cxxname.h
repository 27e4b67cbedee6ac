/* cxxname.h - names of C++ and Rust as a person reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_CXXNAME_H
#define CK_MERGE_OUTPUT_CXXNAME_H

#include <stddef.h>

/* Room for any name that a reader sees whole. */
#define CXXNAME_MAX 4096

/* "_ZN2at6native3addILi4EEEvPf" -> "at::native::add<...>": names and scopes,
 * without template arguments and parameters. The same of Rust. False: it is no
 * such name, or one that is not understood; `to` is then of no use. */
int cxxname_plain(char *to, size_t room, const char *text);

#endif
