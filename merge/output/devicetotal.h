/* devicetotal.h - how much memory of a device is in use, over time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_DEVICETOTAL_H
#define CK_MERGE_OUTPUT_DEVICETOTAL_H

#include "merge/model/defs.h"
#include "merge/timeline/timeline.h"

#define DEVICETOTAL_NAME 300

struct devicetotal;
struct devicetotal *devicetotal_create(const struct defs *defs); /* borrowed */
void devicetotal_destroy(struct devicetotal *total);

/* A process's memory on a device from now on. */
struct devicetotal_now {
    uint32_t number; /* of that process and device, from 0 */
    int64_t bytes;
    char name[DEVICETOTAL_NAME]; /* "memory of GPU" */
};
/* Of a record of the class STACKED; false: it changes nothing. */
bool devicetotal_take(struct devicetotal *total,
                      const struct timeline_event *event,
                      struct devicetotal_now *now);

#endif
