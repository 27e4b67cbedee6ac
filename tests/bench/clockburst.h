/* clockburst.h - one burst of clock probes, as an agent sends it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The sending side for benchmarks, over the agent's own clocklink: volleys of
 * probes, the kernel's stamps of them, and their answers. Nothing here waits.
 */
#ifndef CK_TESTS_BENCH_CLOCKBURST_H
#define CK_TESTS_BENCH_CLOCKBURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/clock/clockprobe.h"
#include "schema/clock/clockband.h"

struct clockburst {
    struct clocklink *link; /* borrowed */
    const uint8_t *key;     /* borrowed */
    uint64_t session;
    uint64_t number; /* of the last probe, of all bursts */
    uint64_t first;  /* of this burst */
    unsigned sent;
    unsigned answered;
    struct ck_clock_probe probes[CLOCKPROBE_BURST];
};

void clockburst_begin(struct clockburst *burst);
/* The next volley. 0, or -1 with errno. */
int clockburst_send(struct clockburst *burst);
/* Take what came. False when the link is of no use any more. */
bool clockburst_take(struct clockburst *burst);
/* The offset by the whole burst, at its tightest. 0, or -1: none. */
int clockburst_offset(const struct clockburst *burst,
                      struct ck_clock_offset *offset);

#endif
