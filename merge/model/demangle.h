/* demangle.h - names of C++ and Rust as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_DEMANGLE_H
#define CK_MERGE_MODEL_DEMANGLE_H

#include "merge/model/names.h"

/* The kept copy of a name; of a mangled one, the demangled name. */
const char *demangle(struct texts *texts, const char *bytes, size_t length);
/* The demangled name, the caller's to free; NULL where it is not mangled,
 * or with ENOMEM. */
char *demangle_name(const char *name);

#endif
