/* keep.h - how much of a run is kept: the value of --keep
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_LAUNCH_KEEP_H
#define CK_LAUNCH_KEEP_H

#include <stdint.h>

#include "schema/err.h"

/* Less would be all facts and no events. */
#define CK_KEEP_BYTES_MIN ((uint64_t)1 << 20)
#define CK_KEEP_NS_MIN ((int64_t)1000000000)

/* Both 0: everything. */
struct ck_keep {
    uint64_t bytes; /* of the run */
    int64_t time;   /* ns of each rank */
};

/* "8M", "2GiB" or "60s", "5min"; "5m" might be both and is refused. 0, or -1
 * with err. */
int ck_keep_parse(const char *text, struct ck_keep *keep, struct ck_err *err);

#endif
