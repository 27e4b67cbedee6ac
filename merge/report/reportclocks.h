/* reportclocks.h - what a merge found out about clocks, for any output
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of report.h.
 */
#ifndef CK_MERGE_REPORT_REPORTCLOCKS_H
#define CK_MERGE_REPORT_REPORTCLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/clockfinding.h"
#include "merge/model/interval.h"
#include "schema/clock/clockband.h"
#include "schema/time.h"

/* Parts of the region: each clock has a bound for each. */
#define REPORT_BOUNDS 64

struct report_domain {
    const char *host; /* "" = not known */
    int32_t rank;     /* the lowest; unknown = none */
    uint32_t ranks;
    uint32_t machines; /* of its agents */
    uint32_t believed; /* of them: no probe was compared */
    uint64_t checked;  /* probes that agree with its being one clock */
    bool is_clone;     /* it has the boot id of another one's clock */
    bool is_calibrated;
    bool has_place;
    bool lacks_pairs;
    ck_time_t bound; /* of its map of ticks */
    ck_time_t doubt; /* two of its own times may be off by it: its counter
                        jumped; 0 = exact */
    size_t pairs;
    bool is_bounded;              /* by facts; else what follows is 0 */
    bool is_probed;               /* some facts are probes */
    const char *method;           /* static text */
    const char *why;              /* not calibrated; static text or NULL */
    uint64_t used[CLOCK_SOURCES]; /* facts that bound it */
    uint64_t refuted;             /* left out: they contradict the others */
    ck_time_t offset;             /* of the reference: added to its times */
    int64_t drift_ppb;
    int64_t wander_ppb; /* assumed of its rate, about a trend */
    int64_t hidden_ppb; /* more for the bound, as its facts are vague */
    ck_time_t rtt_min;  /* -1 = none */
    const char *way;    /* "UDP" ...: of its last probes; NULL = not known */
    bool has_stamps;    /* the kernel stamped them, both ways */
    uint64_t probes;
    uint64_t lost;
    uint64_t dropped;       /* bad ones, left out */
    ck_time_t bound_median; /* of its times on the axis, over the region */
    ck_time_t bound_max;
    /* The largest in each of equal parts of the region, -1 = not known there;
     * all 0 where it is not calibrated. */
    ck_time_t bounds[REPORT_BOUNDS];
    char grade; /* A B C D by bound_max */
    const struct ck_clock_fault **faults;
    struct region *faults_at; /* from, to on the axis */
    size_t faults_count;
    struct clockwatch_event *watched; /* of the host's other clocks */
    struct region *watched_at;        /* as faults_at */
    size_t watched_count;
};

/* Whether profiles are taken as one clock, by their dates. */
struct report_dates {
    bool is_believed;
    bool is_refuted;
    uint64_t kernels; /* collective kernels that they were compared with */
    ck_time_t worst;  /* how long before the last enters a rank leaves; 0 */
    ck_time_t error;  /* of a believed date, by where the kernels end */
    /* Kernels without a known group that contradict dates, and by how much:
     * dates that are off, or several groups. */
    uint64_t apart;
    ck_time_t apart_worst;
    uint64_t ordered; /* collective kernels: who met shows by when they end */
};

/* What launches and synchronisations show of a device's clock. */
struct report_device_clock {
    uint32_t agent;
    int32_t rank; /* unknown where the agent has several */
    uint32_t device;
    uint64_t launches;         /* facts */
    uint64_t launches_refuted; /* work began before its launch */
    uint64_t syncs;
    uint64_t syncs_refuted; /* it was over after what waited for it */
    uint64_t suspects;      /* records whose stamps are nonsense */
    ck_time_t worst;        /* by how much a fact was refuted */
    bool is_apart;          /* taken to be a clock of its own */
    bool is_placed;
    ck_time_t offset; /* of its host's clock, at half its time */
    ck_time_t bound;  /* CK_CLOCK_NONE = not known */
};

/* Messages and collectives between clock domains that run backwards in time:
 * as the clocks were recorded, and as they are aligned. */
struct report_causality {
    uint64_t messages; /* matched */
    uint64_t messages_before;
    uint64_t messages_after;
    uint64_t collectives;
    uint64_t collectives_before;
    uint64_t collectives_after;
    uint64_t unmatched; /* ends of messages that were not looked at */
    uint64_t kernels;   /* collectives of devices */
    uint64_t kernels_before;
    uint64_t kernels_after;
};

/* Clock probes that came to ckagg while the job ran; the dropped ones were
 * of no agent, or not as they should be. */
struct report_probes {
    bool is_said;
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign; /* of no session */
    uint64_t untagged;
    uint64_t replayed;
};

/* Two domains, one against the other, over the region. */
struct report_clock_pair {
    uint32_t a, b;
    ck_time_t bound_median;
    ck_time_t bound_max;
    bool is_sum; /* of what is known of each: they were not solved together */
};

#endif
