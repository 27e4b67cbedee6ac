/* demangle.h - names of C++ kernels as their source has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_DEMANGLE_H
#define CK_MERGE_MODEL_DEMANGLE_H

#include "merge/model/names.h"

/* The kept copy of a name; of a mangled C++ one, what it stands for. NULL with
 * ENOMEM. */
const char *demangle(struct texts *texts, const char *bytes, size_t length);

#endif
