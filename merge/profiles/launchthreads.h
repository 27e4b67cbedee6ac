/* launchthreads.h - which thread made the launch with a given correlation id
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two bytes an id in a sparse file without a name: as long as ids ascend it
 * grows as the profile does, on disk and not in memory.
 */
#ifndef CK_MERGE_PROFILES_LAUNCHTHREADS_H
#define CK_MERGE_PROFILES_LAUNCHTHREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/err.h"

/* Larger ids are not known to it. */
#define LAUNCHTHREADS_MAX ((uint64_t)1 << 31)

struct launchthreads;
/* `dir` is where the file is made. NULL with err. */
struct launchthreads *launchthreads_create(const char *dir, struct ck_err *err);
void launchthreads_destroy(struct launchthreads *launchthreads);
/* thread < UINT16_MAX. The last one set holds. */
void launchthreads_set(struct launchthreads *launchthreads,
                       uint64_t id,
                       unsigned thread);
bool launchthreads_get(const struct launchthreads *launchthreads,
                       uint64_t id,
                       unsigned *thread);

#endif
