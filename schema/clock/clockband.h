/* clockband.h - the offset of a clock with a bound that holds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Probes between a local clock c and the reference clock T confine the offset
 * theta(c) = T - c from both sides; between probes theta moves no faster than
 * a stated rate. The set of offsets that no probe refutes is a band; its
 * middle is the estimate, its half width the bound. When the band is empty
 * the facts contradict the hypothesis, and the fault is found and named.
 *
 *   forward message  theta(a1) <= r2 - a1 - delay_min + error
 *   backward message theta(a4) >= r3 - a4 + delay_min - error
 *
 * Source: Halpern, Megiddo, Munshi, "Optimal precision in the presence of
 * uncertainty" (1985); Attiya, Herzberg, Rajsbaum (1996). docs/clock.md.
 *
 * The interval of one probe holds at its instant whatever the clock does. The
 * band is narrower, since it carries limits from other probes: it holds, at
 * the probes too, if the clock keeps to a rate about its trend. That rate is
 * twice what the data do not refute, and more for vague probes; they cannot
 * prove it.
 * Times are ns.
 */
#ifndef CK_SCHEMA_CLOCK_CLOCKBAND_H
#define CK_SCHEMA_CLOCK_CLOCKBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* One exchange. Stamps that are missing are 0. */
struct ck_clock_probe {
    ck_time_t a1;             /* sent, local clock */
    ck_time_t r2;             /* received, reference clock */
    ck_time_t r3;             /* answered, reference clock */
    ck_time_t a4;             /* answer received, local clock */
    ck_time_t error_forward;  /* a1 and r2 together may be wrong by it */
    ck_time_t error_backward; /* r3 and a4 */
};

/* The wander about a trend that is assumed at least: 1 ppm. */
#define CK_CLOCK_WANDER_PPB 1000

/* Zeros mean the defaults. */
struct ck_clockband_options {
    ck_time_t delay_min;    /* least one-way delay that is sure (0) */
    int64_t rate_ppb;       /* least wander about the trend (1000 = 1 ppm) */
    int64_t rate_blind_ppb; /* without a trend (100000 = 100 ppm) */
};

enum ck_clock_fault_kind {
    CK_CLOCK_FAULT_STEP = 1,  /* the clock jumped between two probes */
    CK_CLOCK_FAULT_RATE = 2,  /* it ran faster or slower than the hypothesis */
    CK_CLOCK_FAULT_PROBE = 3, /* one probe contradicts all others: left out */
};

struct ck_clock_fault {
    enum ck_clock_fault_kind kind;
    ck_time_t from;   /* local clock: last good, */
    ck_time_t to;     /* first after */
    ck_time_t step;   /* change of theta (STEP), excess (PROBE), 0 (RATE) */
    ck_time_t bound;  /* of step */
    int64_t rate_ppb; /* needed (RATE) */
};

/* theta at one local time. */
struct ck_clock_offset {
    ck_time_t offset; /* add to the local time */
    ck_time_t bound;  /* |truth - offset| <= bound */
};

struct ck_clockband_summary {
    uint64_t probes;
    uint64_t dropped;       /* bad probes left out */
    ck_time_t rtt_min;      /* of probes with all four stamps; -1 = none */
    int64_t drift_ppb;      /* slope of the trend over all */
    int64_t wander_ppb;     /* about it, that the band was solved with */
    int64_t hidden_ppb;     /* more for the bound: the most, for vague probes */
    ck_time_t bound_median; /* over the probes' instants */
    ck_time_t bound_max;
    ck_time_t from; /* local times that probes cover */
    ck_time_t to;
    size_t faults;
};

struct ck_clockband;

/* NULL with ENOMEM. options may be NULL. */
struct ck_clockband *
ck_clockband_create(const struct ck_clockband_options *options);
void ck_clockband_destroy(struct ck_clockband *band);

/* Add a probe, in any order of time; copied. 0, or -1 with errno: EINVAL it
 * gives no constraint or runs backwards, ENOMEM. */
int ck_clockband_add(struct ck_clockband *band,
                     const struct ck_clock_probe *probe);
/* Compute the band from all probes so far; may be called again after more.
 * 0, or -1 with errno: ENODATA no side is bounded, ENOMEM. */
int ck_clockband_solve(struct ck_clockband *band);

/* theta at a local time, also outside of the probes. 0, or -1 with ENODATA
 * before a successful solve. O(log probes). */
int ck_clockband_at(const struct ck_clockband *band,
                    ck_time_t local,
                    struct ck_clock_offset *offset);
void ck_clockband_summarise(const struct ck_clockband *band,
                            struct ck_clockband_summary *summary);
/* An instant at which both sides are bounded, and what holds from there to the
 * next such. */
struct ck_clockband_knot {
    ck_time_t at;
    struct ck_clock_offset theta;
    int64_t rate_ppb; /* theta leaves the trend no faster */
    bool is_last;     /* the clock jumped before the next, or may have */
};
/* The first such knot from *index on, which becomes the index behind it; false:
 * there is none. */
bool ck_clockband_knot(const struct ck_clockband *band,
                       size_t *index,
                       struct ck_clockband_knot *knot);
/* 'A' below 1 us, 'B' 10 us, 'C' 100 us, else 'D'. */
char ck_clock_grade(ck_time_t bound);
/* The index-th fault in order of time, borrowed; NULL beyond the last. */
const struct ck_clock_fault *ck_clockband_fault(const struct ck_clockband *band,
                                                size_t index);

#endif
