/* calibration.h - the offset of each clock domain, with its bound
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Domains probed the reference clock (the ckagg's domain, named by
 * reference_boot_id and reference_timens among an agent's identity or exit
 * lines). Their probes give a band each (schema/clockband.h). The axis is the
 * reference's RAW when domain 0 can be put on it, else domain 0's, and then
 * no other domain is calibrated.
 */
#ifndef CK_MERGE_CALIBRATION_H
#define CK_MERGE_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/cast.h"
#include "schema/clockband.h"
#include "schema/event.h"
#include "schema/time.h"

enum calibration_method {
    CALIBRATION_NONE,
    CALIBRATION_SAME,   /* it is the axis's clock: exactly 0 */
    CALIBRATION_PROBES, /* against the reference */
};

struct calibration;
/* NULL with ENOMEM. */
struct calibration *calibration_create(void);
void calibration_destroy(struct calibration *calibration);

/* A CLOCK_PROBE that an agent stored. 0, or -1 with ENOMEM. */
int calibration_probe(struct calibration *calibration,
                      uint32_t agent,
                      const struct ck_clock_fact *fact);
/* Once the cast is closed: solve. `cast` is read only now. 0, or -1 with
 * ENOMEM. */
int calibration_close(struct calibration *calibration, const struct cast *cast);

/* What to add to a domain's RAW at that time; 0 for an unknown domain. */
ck_time_t calibration_offset(const struct calibration *calibration,
                             uint32_t domain,
                             ck_time_t raw);
/* How wrong it may be. 0, or -1 when the domain is not calibrated. */
int calibration_bound(const struct calibration *calibration,
                      uint32_t domain,
                      ck_time_t raw,
                      ck_time_t *bound);

struct calibration_domain {
    enum calibration_method method;
    ck_time_t offset; /* in the middle of its probes */
    uint64_t lost;    /* probes without an answer */
    struct ck_clockband_summary band;
};
struct calibration_domain
calibration_domain(const struct calibration *calibration, uint32_t domain);
/* The index-th fault of a domain, borrowed; NULL beyond the last. */
const struct ck_clock_fault *calibration_fault(
    const struct calibration *calibration, uint32_t domain, size_t index);
/* The name of a method, for people and for JSON. */
const char *calibration_name(enum calibration_method method);
/* 'A' below 1 us, 'B' 10 us, 'C' 100 us, else 'D'. */
char calibration_grade(ck_time_t bound);

#endif
