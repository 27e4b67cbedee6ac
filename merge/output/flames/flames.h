/* flames.h - where time went, as stacks over time: what flame graphs show
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of the region of the report:
 *   cpu     samples: rank, thread, functions from the outermost one on
 *   offcpu  threads off the CPU: rank, thread, calls, why
 *   device  kernels and copies, their lengths added up: rank, line that
 *           launched it, name
 *   idle    of devices: rank, cause, what its host did, the rank it waited for,
 *           what that one did
 */
#ifndef CK_MERGE_OUTPUT_FLAMES_FLAMES_H
#define CK_MERGE_OUTPUT_FLAMES_FLAMES_H

#include "merge/analysis/delays/rows.h"
#include "merge/analysis/devices/copyplaces.h"
#include "merge/analysis/devices/lines.h"
#include "merge/output/flames/flamecells.h"
#include "merge/timeline/timeline.h"

/* All borrowed, until the flames are destroyed. `lines` and `copies` take an
 * event before. */
struct flames_of {
    const struct defs *defs;
    const struct lookback *lookback;
    const struct lines *lines;
    struct region region;
    int64_t realtime; /* of the axis's zero; 0 = not known */
};

struct flames;
struct flames *flames_create(const struct flames_of *of);
void flames_destroy(struct flames *flames);
/* A timeline_take_f, for records of these classes. */
#define FLAMES_CLASSES                                                         \
    (1u << CK_CLASS_SAMPLE | 1u << CK_CLASS_MARK | 1u << CK_CLASS_CALL |       \
     1u << CK_CLASS_MESSAGE | 1u << CK_CLASS_COLLECTIVE |                      \
     1u << CK_CLASS_KERNEL | 1u << CK_CLASS_COPY)
int flames_take(void *flames, const struct timeline_event *event);
/* The site that launched the copy which comes next. */
void flames_site(struct flames *flames, uint64_t site);
/* A piece of a device's idle time: as in its row of the ledger. */
struct flames_gap {
    enum cause cause;
    enum wait_kind wait;
    int32_t rank;
    int32_t blamed;
    uint32_t did; /* activities */
    uint32_t blamed_did;
};
void flames_idle(struct flames *flames,
                 const struct flames_gap *gap,
                 struct region part);
/* Find the functions of samples, once all events were taken. */
void flames_finish(struct flames *flames);

const struct flamecells *flames_cells(const struct flames *flames);
/* Gives a path's frames, from the outermost one on: texts that are valid until
 * the next call. */
typedef void (*flames_frame_f)(void *state, const char *frame);
/* 0, or what `f` returned that was not 0. */
void flames_frames(const struct flames *flames,
                   enum flame_kind kind,
                   size_t path,
                   flames_frame_f f,
                   void *state);

#endif
