/* clocklack.h - why a clock is not calibrated
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_CLOCKS_CLOCKLACK_H
#define CK_MERGE_CLOCKS_CLOCKLACK_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/defs.h"

/* What its agents report of how the clock was probed. */
enum clocklack {
    CLOCKLACK_COMMON, /* a profile: nothing can be probed */
    CLOCKLACK_REFERENCE,
    CLOCKLACK_PROBES,
    CLOCKLACK_ANSWERS,
    CLOCKLACK_FACTS, /* probes there are: not used, or the axis has none */
};

enum clocklack clocklack_find(const struct defs *defs, uint32_t domain);
/* For people and for JSON, static. */
const char *clocklack_text(enum clocklack lack);

#endif
