/* rustname.h - names of Rust as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_RUSTNAME_H
#define CK_MERGE_MODEL_RUSTNAME_H

#include <stdbool.h>
#include <stddef.h>

/* "_RINvC1a1fmE" -> "a::f::<u32>" (mangling v0, RFC 2603). False: it is no such
 * name, or longer than the room; `to` is of no use then. */
bool rustname_whole(char *to, size_t room, const char *name);
/* The same without arguments of types: "a::f". */
bool rustname_plain(char *to, size_t room, const char *name);

/* The same of the older mangling, whose names are C++'s with a hash behind them
 * and signs as "$LT$": "core::slice::sort::h0123456789abcdef" ->
 * "core::slice::sort". `plain` is changed, and becomes no longer; that of
 * another name stays. */
void rustname_older(char *plain);

/* The length of a mangled name without what LLVM wrote behind it where that is
 * behind such a hash: "_ZN1a17h0123456789abcdefE.llvm.12". Else all of it. */
size_t rustname_older_length(const char *name);

#endif
