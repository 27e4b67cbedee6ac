/* calibrationprobe.h - a clock probe as an agent stored it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_CLOCKS_CALIBRATIONPROBE_H
#define CK_MERGE_CLOCKS_CALIBRATIONPROBE_H

#include <stdint.h>

#include "schema/clock/clockband.h"

/* A CLOCK_PROBE, and whose it is. */
struct calibration_probe {
    uint32_t agent;
    struct ck_clock_probe stamps;
};

#endif
