/* scene.h - what the host threads did lately, and for whom they waited
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes every event once for all analyses that look back: calls and ranges of
 * threads (host.h), times that a loss or a tracer covers (shadow.h), who
 * waited for whom (waits.h). It keeps what began after the horizon, the
 * earliest time that one of its clients still asks about.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_SCENE_H
#define CK_MERGE_ANALYSIS_HISTORY_SCENE_H

#include "merge/analysis/history/commands.h"
#include "merge/analysis/history/host.h"
#include "merge/analysis/history/shadow.h"
#include "merge/analysis/history/sockets.h"
#include "merge/analysis/history/waits.h"
#include "merge/analysis/history/work.h"
#include "merge/report/report.h"

#define SCENE_CLIENTS_MAX 4
/* Holders of locks that are followed, each held up by the next. */
#define SCENE_HOLDERS_MAX 4

struct scene;
/* Borrowed; eager_bytes as in waits.h. NULL with ENOMEM. */
struct scene *scene_create(const struct cast *cast,
                           const struct align *align,
                           uint64_t eager_bytes);
void scene_destroy(struct scene *scene);
/* For a client that asks about each thread from another time on: `f` takes what
 * it still wants of the thread, if need be, and says from when on. At most one.
 * `spans` are kept of the thread: few may stay for later; SIZE_MAX: nothing
 * may. `f` returns 0, or -1 with ENOMEM. */
typedef int (*scene_thread_f)(void *client,
                              uint32_t thread,
                              size_t spans,
                              ck_time_t *from);
void scene_thread_client(struct scene *scene, scene_thread_f f, void *client);
/* Until when others of the process wait for a lock of the thread, as far as is
 * known by now; INT64_MIN = never. */
ck_time_t scene_held(const struct scene *scene, uint32_t thread);
/* `f` says from when on the client asks. At most SCENE_CLIENTS_MAX. */
void scene_client(struct scene *scene, waits_horizon_f f, const void *client);
/* The next event; `mark` belongs to its call. 0, or -1 with ENOMEM. */
int scene_take(struct scene *scene,
               const struct timeline_event *event,
               int64_t mark);

const struct cast *scene_cast(const struct scene *scene);
const struct host *scene_host(const struct scene *scene);
const struct work *scene_work(const struct scene *scene);
const struct commands *scene_commands(const struct scene *scene);
struct shadow *scene_shadow(struct scene *scene);
/* Once all was taken: launches of which no record came are a loss. 0, or -1
 * with ENOMEM. */
int scene_close(struct scene *scene);
/* Behind that. */
struct report_launches scene_launches(const struct scene *scene);
struct match_counts scene_counts(const struct scene *scene);
struct waits *scene_waits(const struct scene *scene);
/* For whom the thread waited in a call of its (waits_find()). */
static inline bool scene_wait(const struct scene *scene,
                              uint32_t thread,
                              const struct host_span *call,
                              struct wait *wait)
{
    return waits_find(scene_waits(scene), thread, call, wait);
}
/* The stretch of waiting for data that the last event ended, NULL = none. */
const struct sockets_stretch *scene_stretch(const struct scene *scene);
/* A process's first thread; HOST_NONE = nothing of it was recorded. */
uint32_t scene_main(const struct scene *scene, uint32_t process);
/* For whose data a process's first thread, in a call of libc, waited at `time`
 * (sockets.h). False when that is not known, or was nobody's; either holds
 * until wait->until. */
bool scene_data_wait(const struct scene *scene,
                     uint32_t thread,
                     const struct host_span *call,
                     ck_time_t time,
                     struct wait *wait);
/* As waits_error(). */
bool scene_error(const struct scene *scene,
                 uint32_t thread,
                 ck_time_t start,
                 struct wait *wait);
/* Number of what a thread did, and what it counts as; -1 with ENOMEM. */
int64_t scene_activity(struct scene *scene, const struct host_state *did);
/* The same, and what was seen of the thread in that part of it (samples, the
 * holder of a lock, a file) counts for the activity. */
int64_t scene_did(struct scene *scene,
                  uint32_t thread,
                  struct region part,
                  const struct host_state *did);
/* What a thread's state, which is that activity, counts as: between calls it
 * may be off the CPU. */
enum cause scene_cause(const struct scene *scene,
                       const struct host_state *did,
                       uint32_t number);
enum cause scene_activity_cause(const struct scene *scene, uint32_t number);
/* Name of its innermost range, NULL = none. */
const char *scene_activity_range(const struct scene *scene, uint32_t number);
/* What its kernel did (activity_device()). */
enum cause scene_activity_device(const struct scene *scene, uint32_t number);
/* As activity_common() and activity_site(). */
int64_t scene_activity_common(struct scene *scene, uint32_t number);
int64_t scene_activity_site(struct scene *scene, uint32_t number);
/* The same activity without a kernel. */
uint32_t scene_activity_call(const struct scene *scene, uint32_t number);
struct report_activity scene_activity_report(const struct scene *scene,
                                             uint32_t number);

#endif
