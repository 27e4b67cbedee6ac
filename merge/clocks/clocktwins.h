/* clocktwins.h - clocks that have one name and are two
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cloned machines may have one boot id. Their probes of the reference
 * shows whether they have one clock as well.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKTWINS_H
#define CK_MERGE_CLOCKS_CLOCKTWINS_H

#include "merge/clocks/calibration.h"
#include "merge/model/defs.h"

/* Give each machine of a domain whose probes contradict those of the others a
 * domain of its own, and count in the domains what was compared. Between
 * defs_close() and align_close(). */
void clocktwins_split(struct defs *defs, const struct calibration *calibration);

#endif
