/* reportsampled.h - where samples met threads
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part of report.h.
 */
#ifndef CK_MERGE_REPORT_REPORTSAMPLED_H
#define CK_MERGE_REPORT_REPORTSAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "merge/report/reportmemory.h"
#include "schema/time.h"

/* Where samples met a thread. */
struct report_sampled {
    ck_time_t total;    /* CPU time of all samples; 0 = none */
    ck_time_t ns;       /* of it in the function: */
    struct place place; /* its line with the most samples */
    struct report_callers callers;
    ck_time_t faulting; /* of ns, in the kernel without a system call: handling
                           page faults */
    uint64_t minor, major; /* page faults of the rank in the function, in the
                              region; 0 = not known */
    bool is_others;        /* of the process's other threads: this one waited */
    bool has_processes;    /* these may be of other processes of the rank */
    bool is_waits;         /* no samples: times of waiting in the kernel, by the
                              stacks of where the thread left the CPU */
    const char *called;    /* of these: what the place called; NULL = nothing */
};

/* Where threads left the CPU to wait in the kernel, by function: longer waits
 * only, in the region. */
struct report_blocked {
    struct place place; /* the line with the most time */
    struct report_callers callers;
    uint64_t waits;
    ck_time_t ns;
    ck_time_t longest;
    uint32_t threads;
    uint32_t ranks;
    int32_t rank; /* with the most */
    ck_time_t rank_ns;
    bool is_users; /* below a function of the program's own */
};

struct report_blocked_sums {
    ck_time_t blocked; /* all times of waiting in the kernel */
    ck_time_t ns;      /* of it, with a stack */
    uint64_t waits;    /* with one */
};

#endif
