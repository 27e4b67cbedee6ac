/* chromeclocks.h - how well the clocks are known, in a Chrome trace
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where there are several clocks, each that is calibrated has a counter: how
 * far from the axis its times may be, at most, in ns. One that is not
 * calibrated has none, since no bound exists for it.
 */
#ifndef CK_MERGE_OUTPUT_CHROME_CHROMECLOCKS_H
#define CK_MERGE_OUTPUT_CHROME_CHROMECLOCKS_H

#include "merge/clocks/align.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/output/chrome/chromewriter.h"

/* The counters over a part of the run, once the clocks are placed for good. */
void chromeclocks_put(struct chromewriter *writer,
                      const struct defs *defs,
                      const struct align *align,
                      struct region part);
/* Each clock and whether it is calibrated: a member of otherData that is not
 * the first. */
void chromeclocks_list(struct chromewriter *writer,
                       const struct defs *defs,
                       const struct align *align);

#endif
