/* reportthreads.h - what the threads of ranks did, and what they waited for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part of report.h.
 */
#ifndef CK_MERGE_REPORT_REPORTTHREADS_H
#define CK_MERGE_REPORT_REPORTTHREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "merge/report/reportsampled.h"
#include "schema/time.h"

/* What the time of a team's thread within a region was spent in. */
enum report_team_state {
    REPORT_TEAM_WORK,
    REPORT_TEAM_FORK,      /* before the thread began */
    REPORT_TEAM_IMBALANCE, /* at the end, until the last one came */
    REPORT_TEAM_JOIN,      /* from then on */
    REPORT_TEAM_BARRIER,   /* within the region */
    REPORT_TEAM_LOCK,      /* of any kind */
    REPORT_TEAM_AWAIT,     /* for explicit tasks */
    REPORT_TEAM_MPI,
    REPORT_TEAM_UNKNOWN, /* no record of the thread */
    REPORT_TEAM_STATES
};

/* The word that outputs have for a state: "work" ... Static text. */
const char *report_team_word(enum report_team_state state);

/* A thread that others waited for. */
struct report_last {
    int32_t rank;
    uint32_t thread;  /* its number in the team */
    uint64_t count;   /* times that it was the last one */
    uint64_t of;      /* of so many of its rank */
    ck_time_t caused; /* that others of its team waited so */
};

/* A parallel region of the program, by its line. */
struct report_team_region {
    struct place place;
    const char *runtime;
    uint32_t level; /* regions that it is nested in */
    uint32_t ranks;
    uint32_t threads;                     /* of its largest team */
    uint64_t count;                       /* times that it was run */
    ck_time_t wall;                       /* of the threads that began it */
    ck_time_t states[REPORT_TEAM_STATES]; /* of all its threads */
    struct report_last last;              /* whom most was waited for */
    struct report_sampled did; /* last threads, while others waited */
    ck_time_t awaited; /* of other ranks, in MPI, while threads of this region's
                          teams waited for their last one */
};

/* A barrier, lock or wait for tasks within regions, by its line. */
struct report_team_wait {
    struct place place;
    const char *what; /* "barrier", "critical" ... */
    enum report_team_state state;
    uint32_t ranks;
    uint64_t count;
    ck_time_t ns;
    ck_time_t longest;
    ck_time_t worked;        /* of ns, by samples: in tasks without a record */
    struct report_last last; /* of barriers */
    struct report_sampled did; /* threads that others waited for */
};

/* One rank's threads in OpenMP; all in thread-time, and
 * threads x outside = work + serial + states but work, exactly. */
struct report_team_rank {
    int32_t rank;
    uint32_t threads;   /* of its largest team */
    uint64_t regions;   /* outermost ones */
    ck_time_t outside;  /* of the region, outside MPI but for calls within
                           parallel regions; of one thread */
    ck_time_t parallel; /* in outermost regions, of one thread */
    ck_time_t useful;
    ck_time_t serial; /* the others, while one was outside of regions */
    ck_time_t idle;   /* threads that smaller teams left out */
    ck_time_t states[REPORT_TEAM_STATES];
    struct report_sampled serial_did; /* the first thread meanwhile */
    bool is_several; /* several of its threads began teams at a time: no part of
                        the sums below */
};

/* Of all ranks with teams. mpi x openmp = parallel, where
 *     parallel = useful / time      mpi = outside / time
 *     openmp = useful / outside
 */
struct report_hybrid {
    uint32_t ranks;    /* 0 = the rest means nothing */
    uint32_t threads;  /* of all of them */
    ck_time_t time;    /* threads x region */
    ck_time_t outside; /* threads x time outside MPI */
    ck_time_t useful;
    ck_time_t serial;
    ck_time_t idle;
    ck_time_t states[REPORT_TEAM_STATES];
    double parallel;
    double mpi;
    double openmp;
};

/* A lock that threads waited for. */
struct report_lock {
    const char *what;   /* "pthread_mutex_lock", "critical" ... */
    struct place place; /* where most was waited for it */
    uint64_t address;   /* in the process with the most */
    uint32_t places;
    int32_t rank; /* with the most */
    uint32_t ranks;
    uint32_t threads; /* of that rank, that waited for it or held it, */
    uint32_t at_once; /* and at one time, at most */
    uint64_t count;
    ck_time_t ns;     /* that threads waited for it */
    ck_time_t wall;   /* in which some thread of that rank did */
    ck_time_t serial; /* ... in which all of those there did but at most one */
    struct report_sampled did; /* holders, while others waited */
    const char *call;          /* that holders were in longest; NULL = none */
    struct place call_place;
    ck_time_t call_ns;
};

/* One thread of a rank; or all that were in nested regions alone and had one
 * number there: runtimes make new ones for each of these. */
struct report_thread {
    int32_t rank;
    uint32_t tid;   /* of the first */
    uint32_t count; /* of threads */
    const char *name;
    uint32_t number;     /* in its teams; UINT32_MAX = in none */
    ck_time_t cpu;       /* by samples */
    ck_time_t ready;     /* without a CPU */
    ck_time_t blocked;   /* in the kernel */
    ck_time_t work;      /* in regions */
    ck_time_t team_wait; /* in regions, for other threads of the team */
    ck_time_t lock_wait; /* of any kind */
    const char *what;    /* that it waited for longest; NULL = nothing */
    struct place place;
    ck_time_t what_ns;
};

struct report_threads {
    struct report_hybrid hybrid;
    struct report_team_rank *ranks; /* by rank */
    size_t ranks_count;
    struct report_team_region *regions; /* most lost first */
    size_t regions_count;
    struct report_team_wait *waits; /* longest first */
    size_t waits_count;
    struct report_lock *locks; /* most serial first */
    size_t locks_count;
    struct report_thread *threads; /* by rank, as they are in the run */
    size_t threads_count;
    uint64_t astray;      /* records without their region */
    uint64_t short_waits; /* for locks, counted alone */
    uint64_t tasks;
    uint64_t nested;    /* regions within others */
    uint64_t left_out;  /* locks, beyond what is kept */
    const char *silent; /* a runtime that a rank loaded, without a region;
                           NULL = none */
    uint32_t silent_ranks;
};

#endif
