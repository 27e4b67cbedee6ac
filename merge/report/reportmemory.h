/* reportmemory.h - what is reported of memory and page faults
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_REPORT_REPORTMEMORY_H
#define CK_MERGE_REPORT_REPORTMEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "schema/time.h"

/* Who called a function that is named as a reason. */
struct report_callers {
    struct place caller;      /* the user's outermost function that explains it;
                                 without a name = none but itself */
    struct place called_from; /* the user's that calls that one; without a
                                 name = none but the program's main one */
};

/* Page faults of a thread in a function, in the region: sampled, so about so
 * many. */
struct report_fault {
    int32_t rank;
    uint32_t tid;
    const char *thread; /* its name, NULL = not known */
    struct place place; /* the line with the most */
    struct report_callers callers;
    uint64_t minor;
    uint64_t major;
};

/* A function's of all ranks. */
struct report_fault_place {
    struct place place;
    struct report_callers callers; /* of the rank with the most */
    uint64_t minor;
    uint64_t major;
    ck_time_t faulting; /* CPU time of samples there that handled page faults */
    uint32_t ranks;
    int32_t rank; /* with the most */
    uint64_t rank_faults;
};

/* Resident bytes at one time. */
struct report_resident {
    ck_time_t time;
    int64_t bytes;
};

/* How what is resident went on through the region, its first quarter left out.
 */
struct report_growth {
    bool is_steady; /* it grew all the time */
    double per_second;
    double per_step; /* 0 = there are no steps */
    uint64_t steps;
    int64_t bytes; /* in all */
    double r2;     /* how well a line fits, 0 .. 1 */
};

/* Of a rank, in the whole run. */
struct report_memory {
    int32_t rank;
    struct report_resident *points; /* none = it was not looked at */
    size_t points_count;
    struct report_resident first, last, peak;
    bool has_peak_step;
    int64_t peak_step; /* in which it was reached */
    int64_t huge;      /* most in huge pages at once; -1 = not known */
    int64_t swapped;   /* most on disk */
    int64_t minor;     /* faults, as the kernel counted; -1 = not known */
    int64_t major;
    uint64_t minor_sampled; /* of the region, by samples */
    uint64_t major_sampled;
    ck_time_t faulting; /* CPU time that handled page faults, in the region, */
    ck_time_t sampled;  /* of that much */
    struct report_growth growth;
};

/* Bytes that were asked of the allocator, by samples, so about so many; errors
 * are standard deviations. */
struct report_held {
    uint64_t bytes; /* in all */
    uint64_t bytes_error;
    uint64_t peak; /* at the peak of each process */
    uint64_t peak_error;
    uint64_t last;   /* not given back at the end */
    uint64_t blocks; /* in all */
    uint64_t samples;
};

/* A function's of all ranks, in the whole run. */
struct report_allocation {
    struct place place; /* the line with the most */
    struct report_callers callers;
    struct report_held held;
    uint32_t ranks;
    int32_t rank; /* with the most at the peaks of its processes */
    uint64_t rank_peak;
};

struct report_allocation_rank {
    int32_t rank;
    uint32_t processes; /* of it, that had such memory */
    uint32_t process;   /* the one that had the most at once */
    uint32_t device;    /* number in that; 0 = of several, or no device's */
    const char *device_name; /* NULL = none */
    struct report_held held;
    ck_time_t peak_at; /* of that process */
};

struct report_allocations {
    uint64_t mean; /* one in so many bytes is sampled; 0 = nothing was */
    struct report_allocation *places; /* most at the peak first */
    size_t places_count;
    struct report_allocation_rank *ranks; /* by rank */
    size_t ranks_count;
};

#endif
