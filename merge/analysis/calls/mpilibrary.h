/* mpilibrary.h - what is code of the MPI library, and of what it brings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_MPILIBRARY_H
#define CK_MERGE_ANALYSIS_CALLS_MPILIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/defs.h"

/* True where the call site is in the MPI library, its plug-ins, or a library
 * that it uses for starting and the network. */
bool mpilibrary_has(const struct defs *defs, uint32_t process, uint64_t site);

#endif
