/* clockdevices.h - what launches and synchronisations show of devices' clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device's records are on its host's clock, by its tracer's claim. That can
 * be refuted: a kernel does not begin before it is launched, and a
 * synchronisation does not return before what was launched before it has
 * ended. Where several facts refute it, and both kinds are there, the device
 * is set apart: its clock is one of its own, tied to its host's by these facts
 * and solved with all others. Else its tracer is believed.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKDEVICES_H
#define CK_MERGE_CLOCKS_CLOCKDEVICES_H

#include "merge/clocks/clockedges.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"
#include "merge/timeline/timeline.h"

struct clockdevices;
/* Borrowed. */
struct clockdevices *clockdevices_create(const struct defs *defs,
                                         const struct axis *axis,
                                         struct clockedges *edges);
void clockdevices_destroy(struct clockdevices *devices);
/* A timeline_take_f, of calls, kernels and copies. */
int clockdevices_take(void *devices, const struct timeline_event *event);
/* Hand over what is left, and set devices apart. */
void clockdevices_finish(struct clockdevices *devices);
/* The domain whose clock a device has: its host's, or one of its own. */
uint32_t clockdevices_domain(const struct clockdevices *devices,
                             uint32_t agent,
                             uint32_t number);
/* Into report->device_clocks, once all is settled. */
void clockdevices_report(const struct clockdevices *devices,
                         struct report *report);

#endif
