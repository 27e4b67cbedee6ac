/* spools.h - spools outside the run that its manifest names
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent whose aggregator had no room kept its data in a file of its own
 * host. It is read where it is, if that is here; else it is named.
 */
#ifndef CK_MERGE_INPUT_SPOOLS_H
#define CK_MERGE_INPUT_SPOOLS_H

#include "merge/input/manifest.h"
#include "schema/err.h"
#include "schema/store/run.h"

/* Add those that can be read to the files of the run. 0, or -1 with err. */
int spools_add(struct ck_run_files *files,
               const struct manifest *manifest,
               struct ck_err *err);

#endif
