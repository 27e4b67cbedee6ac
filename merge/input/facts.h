/* facts.h - what the records of a stream have of those who take part
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_INPUT_FACTS_H
#define CK_MERGE_INPUT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/model/clocktaker.h"
#include "schema/event.h"

/* Where a record was found. */
struct facts_source {
    uint32_t agent;
    uint32_t process;
    bool is_ticks; /* the batch's clock */
};

/* Enter one record into definitions and clocks; those that only have a time are
 * not for it (survey.h). */
void facts_read(struct defs *defs,
                const struct clocktaker *clocks,
                const struct facts_source *source,
                const struct ck_event *event);

/* Enter a device that a process used, whether or not its record is there. */
void facts_device(struct defs *defs,
                  const struct facts_source *source,
                  uint32_t number);

#endif
