/* launches.h - which thread made the launch with a given correlation id
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two bytes an id in a sparse file without a name: as long as ids ascend it
 * grows as the profile does, on disk and not in memory.
 */
#ifndef CK_MERGE_PROFILES_LAUNCHES_H
#define CK_MERGE_PROFILES_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"

/* Larger ids are not known to it. */
#define LAUNCHES_MAX ((uint64_t)1 << 31)

struct launches;
/* `dir` is where the file is made. NULL with err. */
struct launches *launches_create(const char *dir, struct ck_err *err);
void launches_destroy(struct launches *launches);
/* thread < UINT16_MAX. The last one said holds. */
void launches_set(struct launches *launches, uint64_t id, unsigned thread);
bool launches_get(const struct launches *launches,
                  uint64_t id,
                  unsigned *thread);

#endif
