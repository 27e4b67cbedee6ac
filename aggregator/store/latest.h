/* latest.h - which of the facts are replaced by later ones
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All rows are seen once, in order, then asked for in the same order. Running
 * totals and open calls: the last one of each counter, or of each depth of a
 * thread, holds. Of clock facts the later half does. All others stay.
 */
#ifndef CK_AGGREGATOR_STORE_LATEST_H
#define CK_AGGREGATOR_STORE_LATEST_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/event.h"

struct latest;

/* NULL with ENOMEM. */
struct latest *latest_create(void);
void latest_destroy(struct latest *latest);

/* A row of a stream of this incarnation. 0, or -1 with ENOMEM. */
int latest_see(struct latest *latest,
               uint32_t incarnation,
               const struct ck_event *row);
/* Does the next one stay? All were seen before. */
bool latest_stays(struct latest *latest,
                  uint32_t incarnation,
                  const struct ck_event *row);

#endif
