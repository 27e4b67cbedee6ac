/* framing.c - how much of a slot makes a frame, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stream/framing.h"

#include "schema/event.h"
#include "schema/frame.h"

/* So many units are worth a turn, or a quarter of the slot where that is less:
 * two frames of the smallest records. A core that slept is slow at first. */
#define FRAMING_UNITS (2 * CK_FRAME_RECORDS_MAX)
#define FRAMING_AGE (100 * CK_TIME_MS)
/* Fewer units than these wait longer. They are as safe in the slot as in the
 * outbox. */
#define FRAMING_UNITS_FEW 1024
#define FRAMING_AGE_FEW CK_TIME_S

uint64_t framing_measure(const uint8_t *at, uint64_t units, uint64_t *records)
{
    uint64_t taken = 0;

    *records = 0;
    while (taken < units && *records < CK_FRAME_RECORDS_MAX) {
        const struct ck_event *event = (const struct ck_event *)at;
        unsigned length = event->units;

        if (length == 0 || taken + length > units) {
            break;
        }
        taken += length;
        at += (size_t)length * CK_UNIT_BYTES;
        ++*records;
    }
    return taken;
}

static uint64_t units_wanted(uint64_t size)
{
    return size / 4 < FRAMING_UNITS ? size / 4 : FRAMING_UNITS;
}

static uint64_t units_in(const struct framing_fill *fill, ck_time_t time)
{
    return fill->rate * (uint64_t)time / CK_TIME_S;
}

bool framing_is_due(const struct framing_fill *fill, ck_time_t period)
{
    return fill->pending + units_in(fill, FRAMING_PERIOD_MIN) >=
               units_wanted(fill->size) ||
           fill->pending + units_in(fill, period) >= fill->size / 2 ||
           fill->age >= (fill->pending < FRAMING_UNITS_FEW ? FRAMING_AGE_FEW
                                                           : FRAMING_AGE);
}

uint64_t framing_rest(uint64_t size)
{
    return units_wanted(size) / 4;
}

ck_time_t framing_wait(const struct framing_fill *fill, ck_time_t limit)
{
    uint64_t left;

    if (fill->pending >= units_wanted(fill->size)) {
        return FRAMING_PERIOD_MIN;
    }
    left = units_wanted(fill->size) - fill->pending;
    return units_in(fill, limit) <= left
               ? limit
               : (ck_time_t)(left * CK_TIME_S / fill->rate);
}
