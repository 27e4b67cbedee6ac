/* shortcalls.h - samples in calls of libc that were recorded because of them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call of libc is recorded when it takes long enough, and a sample makes the
 * call that it meets longer by some ten microseconds. So of many calls that are
 * too short those are recorded that were sampled, and their samples are of all
 * of them: of the computation between recorded calls. Of calls that are
 * recorded without that, too, as many samples are expected as their time makes;
 * these are the calls' own.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_SHORTCALLS_H
#define CK_MERGE_ANALYSIS_DELAYS_SHORTCALLS_H

#include "merge/analysis/history/history.h"

struct shortcalls;
struct shortcalls *shortcalls_create(void);
void shortcalls_destroy(struct shortcalls *calls);
/* May a sample have made it as long as it is? */
bool shortcalls_is_one(const struct history_span *call);
/* Such a call of the thread was met by no sample for so long; `key` is that of
 * what it is. */
void shortcalls_pass(struct shortcalls *calls,
                     uint32_t thread,
                     uint32_t key,
                     ck_time_t ns);
/* One was met by a sample: is this of calls that were not recorded? */
bool shortcalls_meet(struct shortcalls *calls,
                     uint32_t thread,
                     uint32_t key,
                     ck_time_t weight);

#endif
