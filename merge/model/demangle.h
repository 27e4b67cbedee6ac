/* demangle.h - names of C++ as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_DEMANGLE_H
#define CK_MERGE_MODEL_DEMANGLE_H

#include "merge/model/names.h"

/* The kept copy of a name; of a mangled C++ one, what it stands for. */
const char *demangle(struct texts *texts, const char *bytes, size_t length);
/* What a mangled name stands for, the caller's to free; NULL where it is none,
 * or with ENOMEM. */
char *demangle_name(const char *name);

#endif
