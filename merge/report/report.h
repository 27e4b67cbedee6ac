/* report.h - all results of a merge, for any output
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Analysis fills it, outputs read it. Times are integer nanoseconds. Texts
 * are borrowed from the definitions's and may hold any bytes: outputs escape
 * them. A count of 0 means "none"; a flag shows what was not measured.
 */
#ifndef CK_MERGE_REPORT_REPORT_H
#define CK_MERGE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/cause.h"
#include "merge/model/interval.h"
#include "merge/model/names.h"
#include "merge/report/reportclocks.h"
#include "merge/report/reportlaunch.h"
#include "merge/report/reportmemory.h"
#include "merge/report/reportrank.h"
#include "merge/report/reportsampled.h"
#include "merge/report/reportthreads.h"
#include "merge/report/reporttraffic.h"
#include "merge/report/reportwork.h"
#include "schema/time.h"

/* What is not known without a manifest. */
#define REPORT_MANIFEST_UNKNOWN                                                \
    "how the job ended, which agents took part and how many records each had " \
    "stored are not known: what was cut off at a file's end cannot be told"

enum report_region {
    REPORT_REGION_WHOLE,
    REPORT_REGION_MPI,   /* first return of MPI_Init .. last MPI_Finalize */
    REPORT_REGION_STEPS, /* first begin .. last end of the marked steps */
    REPORT_REGION_GIVEN, /* --from, --to */
    REPORT_REGION_RANGE, /* --region, maybe cut by the former */
    REPORT_REGION_KEPT,  /* what is left where the first part was discarded */
};

/* busy + idle = wall, and compute + comm + copy = busy, exactly. `unknown` is
 * the part of the idle time that may have been busy. */
struct report_device {
    uint32_t physical; /* number in the definitions */
    const char *name;
    const char *uuid;     /* "" = none */
    const int32_t *ranks; /* that used it; borrowed from the definitions */
    size_t ranks_count;
    ck_time_t wall;
    ck_time_t busy;      /* union of everything */
    ck_time_t compute;   /* union of kernels that are no communication */
    ck_time_t comm;      /* communication kernels, where no other kernel ran */
    ck_time_t comm_wait; /* of comm, until the last device had begun */
    ck_time_t comm_waited; /* the same, with what computed beside it */
    ck_time_t comm_caused; /* that others waited for this one */
    ck_time_t comm_hidden; /* may have been waited, but the clocks' error
                              hides it */
    ck_time_t copy;        /* copies, where no kernel ran */
    ck_time_t idle;
    ck_time_t unknown; /* of idle: records are missing, without times, or their
                          work never ended */
    ck_time_t core;    /* sum of all lengths */
    ck_time_t kernel_core;
    ck_time_t kernel_busy; /* union of all kernels */
    uint64_t kernels;
    uint64_t copies;
    uint64_t bad_times; /* operations without usable stamps: in no figure */
    uint64_t gaps;
    ck_time_t longest_gap;
    ck_time_t causes[CAUSES]; /* sum: idle */
    ck_time_t comm_all;       /* union of communication kernels */
    ck_time_t overlap;  /* part of it with a kernel that computes beside it */
    ck_time_t copy_all; /* union of copies */
    ck_time_t run_busy; /* in the whole run; the rest of it is idle */
    ck_time_t run_wall;
    const char *command; /* of the process that it belongs to; NULL = a device
                            of the machine */
    uint32_t pid;
    int32_t number; /* among those of the same name that one rank used, from
                       0; -1 = there is no other */
    ck_time_t run_first; /* first and last instant of work on it, in the run */
    ck_time_t run_last;
};

/* How long it usually takes from one collective of a rank to the next, or where
 * there are few from one call of MPI. */
struct report_usual {
    const char *of; /* "steps", "collectives", "calls of MPI"; NULL = not
                       known */
    ck_time_t median;
    ck_time_t longest;
    bool is_recent; /* only the latest ones were looked at */
};

/* Parts of the region's time (analysis/efficiency.h has the formulas). */
struct report_efficiency {
    uint32_t ranks; /* that called MPI: N; 0 = the first ones mean nothing */
    ck_time_t region;
    ck_time_t gone;   /* sum over ranks, behind their recorded ends */
    ck_time_t useful; /* sum over ranks, outside MPI */
    struct report_outside outside; /* the same in parts */
    ck_time_t startup; /* sum over ranks, before their return from MPI_Init */
    ck_time_t useful_max;
    ck_time_t ideal;      /* the region on a network that takes no time */
    ck_time_t unknown;    /* time in MPI that kept its length in that */
    ck_time_t device_api; /* sum over ranks */
    uint64_t sends, receives, matched;
    double parallel;
    double load_balance;
    double communication;
    double serialisation;
    double transfer;
    double offload;
    uint32_t devices; /* G; 0 = the rest means nothing */
    ck_time_t compute;
    ck_time_t compute_max;
    ck_time_t active_max;
    double device_parallel;
    double device_load_balance;
    double device_communication;
    double device_orchestration;
};

/* Time of a thread; total 0 = nothing was seen. */
struct report_running {
    ck_time_t total;
    ck_time_t preempted; /* ready to run, without a CPU */
    ck_time_t blocked;   /* in the kernel, between calls */
    uint64_t majors;     /* of one that was mostly blocked: the rank's page
                            faults that read, in the region ... */
    struct place majors_place; /* ... in the function with the most, */
    struct report_callers majors_callers;
    uint64_t majors_there;
};

/* Who held a lock that was waited for, and what it did meanwhile. */
struct report_holder {
    uint32_t tid;     /* 0 = not known */
    const char *name; /* of the thread, NULL = not known */
    const char *call; /* NULL = it computed */
    struct place place;
};

/* What a thread did: in a call, or between two. NULL = none, not known. */
struct report_activity {
    const char *call; /* NULL = between calls */
    struct place place;
    const char *range; /* innermost */
    const char *before;
    struct place before_place;
    const char *after;
    struct place after_place;
    struct report_running running;
    struct report_sampled sampled; /* where it computed */
    struct report_holder holder;   /* of the lock */
    const char *path;              /* of the file; of several the longest */
    bool is_kernel_queued;         /* it did not run yet */
    const char *kernel;            /* that the call waited for, on its device */
    struct place kernel_place;     /* where it was launched */
};

/* Delays listed of a cause. */
#define REPORT_DELAYS_MAX 8

/* Waiting of others because a rank did something for longer than they. */
struct report_delay {
    int32_t rank;
    enum cause kind;
    ck_time_t ns;
    struct report_activity did;
};

/* What made ranks late (analysis/delay.h). Items, others and unexplained add up
 * to the waiting that it is about. */
struct report_delays {
    int32_t rank;      /* that most is because of, or unknown */
    enum cause kind;   /* of what that one did, CAUSES = unknown */
    ck_time_t kind_ns; /* in things of that kind */
    ck_time_t ns;      /* of those, in: */
    struct report_activity did;
    ck_time_t rank_ns;           /* in all that that one did */
    struct report_delay largest; /* of that, of whatever kind */
    struct report_delay *items;  /* the largest, of any rank */
    size_t count;
    ck_time_t others;
    ck_time_t unexplained;
};

/* How often the analysis of delays reached a bound of what it keeps: then what
 * it found is less exact. */
struct report_delay_limits {
    uint64_t history;   /* waits: older items of one of both threads are gone */
    uint64_t syncs;     /* waits: no common instant is among those kept */
    uint64_t costs;     /* waits: the smallest of many costs were left out, and
                           were more than 1 % of it */
    ck_time_t costs_ns; /* all that was left out so */
    ck_time_t waited_ns; /* of all waits that were looked at */
    uint64_t holders;    /* locks: what the holder did was not kept */
    uint64_t parts;      /* intervals: the rest of many things is one */
    uint64_t pairs;      /* costs: unexplained, as too many were kept */
    uint64_t places;     /* causes: later code places of them were left out */
};

/* Kernels that CUDA calls launched, and what is known of their work. */
struct report_launches {
    uint64_t calls;      /* that launched a kernel or a graph of them */
    uint64_t unrecorded; /* behind the last one of their process whose work was
                            recorded */
    ck_time_t first;     /* the first of these; 0 = none */
    uint32_t processes;  /* of these */
    uint32_t blind;      /* of these processes, those without any work */
    uint64_t unseen;     /* launches of these */
    uint64_t kernels;    /* recorded, of any API */
    uint64_t untimed;    /* of these, without usable times */
};

/* Time of a cause in one activity. */
struct report_part {
    struct report_activity did;
    ck_time_t ns;
};

/* Activities that a startup is shown with. */
#define REPORT_PARTS 4

/* Steps, or a part of the run, in which a thing took most of its time. */
struct report_window {
    bool has_steps;                /* else only the times mean anything */
    int64_t first_step, last_step; /* numbers */
    uint64_t of_steps;             /* that there are */
    ck_time_t start, end;
    double share; /* of all its time */
};
#define REPORT_WINDOWS_MAX 3
struct report_windows {
    struct report_window items[REPORT_WINDOWS_MAX]; /* in order */
    size_t count;                                   /* 0 = none */
    bool has_event; /* else, most of it was at once: */
    struct report_window event;
    struct region median; /* the step, or the part of the run, by whose end half
                             of its time had passed; empty = not known */
    double outside; /* part of its time that is in no step, where there are
                       steps */
};

/* A part of the run in which a cause can be looked at. */
struct report_piece {
    struct region part; /* empty = none is known */
    int32_t rank;       /* whose device was idle then, or who waited */
    uint32_t device;    /* physical, that was idle; DEFS_NONE = none */
};

/* Idle time of devices that has one cause. */
struct report_cause {
    enum cause cause;
    const char *wait; /* which wait state, NULL = none */
    int32_t rank;     /* whose device was idle; of several the first */
    uint32_t ranks;   /* how many */
    bool is_start;    /* before the end of the first step of the rank that it
                         is because of */
    ck_time_t ns;
    uint64_t count;             /* pieces of time */
    ck_time_t wrong_order;      /* of late senders' ns: what had been sent
                                   before was received later */
    ck_time_t error;            /* ns may be off by it; 0 = one clock */
    ck_time_t did_ns;           /* of ns, in which it did: */
    struct report_activity did; /* the launching thread; of dep_event the call
                                   that set the event, of dep_remote the kernel
                                   that was waited for */
    struct report_part parts[REPORT_PARTS]; /* of startup: the longest */
    size_t parts_count;
    uint32_t
        device; /* of dep_*: the one that was idle, number in the definitions */
    uint32_t awaited; /* of dep_remote: the one it waited for, if known */
    int32_t last;     /* rank that most of it was waited for, or unknown */
    int32_t blamed;   /* the one that that one waited for itself, and so on */
    ck_time_t ended;  /* of ns, behind the end of that rank */
    struct report_delays delays; /* why it came late */
    enum cause seen_kind;   /* what it did meanwhile most, CAUSES = unknown */
    ck_time_t seen_kind_ns; /* of ns, in things of that kind */
    ck_time_t seen_ns;      /* of those, in: */
    struct report_activity seen;
    struct report_windows windows;
    struct report_piece example; /* the longest; empty = none is known */
    struct report_piece typical; /* of median length; as the example */
};

/* It comes but once in a run, however long that is. */
static inline bool report_is_once(const struct report_cause *cause)
{
    return cause->is_start || cause->cause == CAUSE_STARTUP ||
           cause->cause == CAUSE_END_OF_WORK ||
           cause->cause == CAUSE_UNFINISHED;
}

/* A step of the run: those of its ranks that have one number. */
struct report_step {
    int64_t number;
    ck_time_t start; /* first begin .. last end */
    ck_time_t end;
    ck_time_t shortest; /* of its ranks */
    ck_time_t longest;
    int32_t longest_rank;
    uint32_t ranks;
    uint64_t launches;
    uint64_t syncs;
    uint64_t copies;
    uint64_t collectives;
    ck_time_t causes[CAUSES]; /* idle time of its ranks' devices */
    ck_time_t waited;         /* of its ranks in MPI, for each other */
    ck_time_t waited_error;   /* may be off by it; 0 = one clock */
    int32_t worst;            /* rank that most of it was because of */
    ck_time_t worst_ns;
    bool is_outlier;
    const ck_time_t *lengths; /* by rank of the definitions, -1 = none; NULL =
                                 not kept; borrowed */
};
struct report_steps {
    struct report_step *items; /* by start */
    size_t count;
    size_t ranks;       /* lengths of a step */
    ck_time_t median;   /* of their longest ranks */
    const char *rhythm; /* collective that ends them; NULL = they are marked */
    struct place rhythm_place;
    uint32_t outliers;
};

/* The steps with most of a thing's time. */
struct report_slow {
    uint32_t steps; /* 0 = not known */
    double share;   /* of all its time */
    ck_time_t median;
};

/* A rank that others waited for. */
struct report_straggler {
    int32_t rank;
    ck_time_t caused;
    ck_time_t error;   /* caused may be off by it; 0 = one clock */
    ck_time_t ended;   /* of caused, behind the rank's end */
    uint32_t steps;    /* in which it caused most waiting */
    uint32_t of_steps; /* in which any rank waited */
    ck_time_t step_median;
    struct report_delays delays; /* why it came late */
    struct report_windows windows;
    struct report_slow slow;
};

/* What devices' busy time is added up by, from the whole to its parts. */
enum report_level_kind {
    REPORT_LEVEL_JOB,
    REPORT_LEVEL_HOST,
    REPORT_LEVEL_RANK,
    REPORT_LEVEL_QUEUE,
    REPORT_LEVELS
};

/* Busy time of all that it gave devices to do. */
struct report_level {
    enum report_level_kind kind;
    const char *host; /* not of the job */
    int32_t rank;     /* of a rank or a queue, or unknown */
    uint32_t pid;     /* of a queue: its process */
    const char *device;
    const char *queue; /* NULL = it has no name */
    uint32_t queue_id;
    size_t order; /* of first work */
    uint64_t operations;
    ck_time_t busy; /* union */
    ck_time_t core; /* sum */
    /* Of a host: idle time of its devices by cause, added up. */
    ck_time_t causes[CAUSES];
};

struct report_range {
    const char *name;
    uint64_t calls;
    ck_time_t total; /* within the region */
    ck_time_t median;
    ck_time_t max;
    bool is_median_exact;
    uint32_t ranks;
    ck_time_t wall;        /* in which some rank was in it */
    ck_time_t device_wall; /* ... of a device: added up over the devices */
    ck_time_t device_busy; /* of it */
    bool is_device_known;  /* else there were too many pairs to count */
    ck_time_t idle; /* of devices whose launching thread was in it, innermost */
    ck_time_t causes[CAUSES]; /* sum: idle */
};

struct report_kernel {
    const char *name;
    uint64_t calls;        /* that touch the region */
    uint64_t calls_in_run; /* all */
    ck_time_t busy;        /* its share of the devices' kernel unions */
    ck_time_t total;       /* sum of lengths within the region */
    ck_time_t median;
    ck_time_t max;
    bool is_median_exact;
    int32_t rank_first;
    int32_t rank_last;
    uint32_t ranks;
    const char *rank_list; /* "0-3,7"; "" = none */
};

/* A kernel whose calls took longer on one rank than on the others. */
struct report_uneven_kernel {
    const char *name; /* NULL = there is none */
    int32_t rank;
    uint64_t calls;        /* of that rank */
    ck_time_t mean;        /* of these */
    ck_time_t others_mean; /* the median of the other ranks' means */
    ck_time_t excess;      /* what its calls took beyond that */
    ck_time_t rank_total;  /* of all its kernels */
    uint32_t ranks;        /* that called it */
};

/* One input of a kernel-only merge. */
struct report_input {
    const char *path;
    const char *kind;       /* run, segment, chrome, nkipy */
    int32_t rank;           /* of a foreign profile, else unknown */
    bool is_rank_assumed;   /* it is in no place */
    const char *complaint;  /* the first thing in it that could not be read, as
                               a sentence; NULL = all could */
    ck_time_t wall;         /* of its recording */
    uint64_t operations;    /* on devices */
    uint64_t by_id;         /* launch found by its id */
    uint64_t by_order;      /* ... by its place in the order alone */
    uint64_t unused;        /* events that ck has no use for */
    ck_time_t device_clock; /* sum of lengths by the device's own clock */
    uint64_t executed;      /* nkipy: calls of kernels that ran */
    uint64_t submits;       /* nkipy: nrt_execute; 0 = none recorded */
    ck_time_t submit;       /* how long they took */
};

/* The profile of scalene that the results are joined with. */
struct report_scalene {
    const char *path; /* NULL = none */
    int32_t rank;     /* whose device its samples are compared with */
    uint64_t files;
    uint64_t lines;
    uint64_t samples;
    uint64_t inside; /* of them, while a kernel ran */
    bool has_overlap;
};

/* Device work by the line that launched it. */
struct report_line {
    const char *file; /* NULL = not known */
    uint32_t line;
    const char *kernel;
    ck_time_t busy;    /* share of the devices' kernel unions */
    ck_time_t core;    /* sum of lengths */
    ck_time_t host;    /* in the launching calls */
    uint64_t calls;    /* of the kernel */
    uint64_t launches; /* of them, those whose launching call was found */
};

struct report_copy {
    const char *name; /* h2d ... */
    uint64_t calls;
    uint64_t calls_in_run;
    uint64_t bytes;
    ck_time_t total;
};

struct report_call {
    const char *name;
    const char *kind;   /* mpi, opencl ... */
    struct place place; /* of the call site; empty = not known */
    uint64_t site;      /* of one process, where the place is not known */
    bool is_own;        /* of libc, and the MPI library made it */
    uint64_t calls;
    uint64_t calls_in_run;
    uint64_t bytes;
    struct report_moved moved; /* of MPI's messages and collectives */
    ck_time_t total;
    ck_time_t max;
    uint32_t ranks;
    uint32_t function; /* its place among the report's functions */
};

/* All calls of one function, from wherever. */
struct report_function {
    const char *name;
    const char *kind;
    uint64_t calls;
    uint64_t calls_in_run;
    struct report_moved moved;
    ck_time_t total;
    ck_time_t max;
    uint32_t ranks;
    uint32_t places; /* with calls in the region */
};

/* CPU time of samples, in the region. */
/* Stacks of samples that were unwound, in the whole run, by how that ended. */
struct report_stacks {
    uint64_t count;
    uint64_t whole;    /* up to the outermost function */
    uint64_t cut;      /* at the end of what was copied */
    uint64_t unknown;  /* in code that has no rules */
    uint64_t wrong;    /* at what cannot be a frame */
    uint64_t deep;     /* at the most frames that are kept */
    uint64_t pointers; /* of all these: in parts by frame pointers */
    uint64_t uncopied; /* samples that came without a stack */
    uint64_t frames;   /* of all of them */
    uint64_t deepest;
    uint64_t unread;      /* files of code that could not be read */
    uint64_t bytes;       /* copied of a stack at most; 0 = none was */
    uint64_t bytes_least; /* ... on the rank with the smallest rings */
    uint64_t waits;       /* that were long enough for a stack, */
    uint64_t wait_stacks; /* and that have one */
};

struct report_samples {
    ck_time_t total;      /* 0 = none, or no right to sample */
    ck_time_t mpi;        /* of it in calls of MPI */
    ck_time_t device_api; /* ... of a device's API */
    ck_time_t own;        /* of it outside such calls, in ck's libraries */
    uint64_t count;       /* samples that is */
    /* Records in the kernel's rings, of the whole run and of all programs in
     * the rings. Those of samples: with mappings, forks and execs. */
    uint64_t records;
    uint64_t records_lost;
    uint64_t switches;
    uint64_t switches_lost;
    struct report_stacks stacks;
};

/* A function of the program that samples met outside such calls. */
struct report_hot {
    struct place place; /* its line with the most */
    bool is_file;       /* the function is not known: a file without symbols */
    const char *range;  /* the innermost one with the most, NULL = none */
    const char *after;  /* the call left last, with the most; NULL = none */
    struct place after_place;
    /* The outermost function of the user's in which (with what it called)
     * little else was sampled; without a name = there is none but itself. */
    struct place caller;
    ck_time_t ns;
    ck_time_t line_ns;
    uint32_t ranks;
    int32_t rank; /* the one with the most */
    ck_time_t rank_ns;
};

/* The file that most samples met without a function's name; found on this host
 * in that very build, it is known which package has its symbols. */
struct report_unnamed {
    const char *file; /* as its hot spot names it; NULL = none */
    const char *path;
    const char *build_id;
    char package[128]; /* Debian's that has the file; "" = not known */
    bool has_rpm;      /* else: the host keeps RPM's database */
};

/* A function of the user's with what it called, by the same samples. */
struct report_caller {
    struct place place; /* without a line */
    ck_time_t total;    /* in it, or in what it called */
    ck_time_t self;     /* of that, in itself */
    struct place leaf; /* the line of another function with the most below it */
    ck_time_t leaf_ns; /* 0 = there is none */
};

/* Calls of one function of libc, in the whole run. */
struct report_libc {
    const char *name;
    const char *group; /* io, lock, sleep */
    uint64_t calls;
    uint64_t bytes;
    ck_time_t total; /* of calls that were timed: not of a free lock */
    bool is_least; /* a process that was killed did not record its last ones */
    uint32_t threads;
    uint32_t ranks;
    uint32_t program_ranks;         /* of threads but the MPI library's */
    const struct report_call *call; /* the program's place that it took longest
                                       at; NULL = none known */
    /* Of that, of threads that the MPI library made for itself. */
    uint64_t own_calls;
    uint64_t own_bytes;
    ck_time_t own_total;
    uint32_t own_threads;
};

/* Why threads that were ready to run had no CPU. */
enum report_load_verdict {
    REPORT_LOAD_UNKNOWN, /* not recorded */
    REPORT_LOAD_NONE,    /* next to none waited */
    REPORT_LOAD_OWN,     /* the job has more of them than CPUs */
    REPORT_LOAD_QUOTA,   /* a cgroup's quota was used up */
    REPORT_LOAD_OTHERS,  /* other programs had the CPUs */
    REPORT_LOAD_UNCLEAR, /* none of these explains it */
};

/* What narrows the CPUs that a job may use. */
enum report_load_limit {
    REPORT_LIMIT_HOST,
    REPORT_LIMIT_AFFINITY,
    REPORT_LIMIT_QUOTA,
};

/* Of the ranks that share the CPUs on which threads waited longest, in the
 * whole run. Times of CPUs are added up over them. */
struct report_load {
    enum report_load_verdict verdict;
    enum report_load_limit limit;
    const char *host;
    uint32_t ranks;
    ck_time_t window;    /* that was looked at */
    double cpus;         /* allowed: of affinity, or of a quota */
    double online;       /* of the host */
    double ready;        /* threads that wanted a CPU while any waited */
    double own;          /* CPUs that the job used */
    double others;       /* ... and programs that are neither it nor ck */
    double others_error; /* +-, a bound */
    double quota;        /* CPUs, 0 = none */
    ck_time_t waited;    /* of threads, ready to run */
    int64_t periods;     /* of the quota */
    int64_t throttled_periods;
    ck_time_t throttled; /* added up over CPUs */
};

/* A process of several without ranks. */
struct report_process {
    uint32_t pid;
    const char *command;
};

/* Waits of one process for another one, at one place. */
struct report_peer {
    struct report_process waiter, awaited;
    const char *over; /* "pipe", "tcp" */
    bool is_write;    /* until the other one had read; else until it wrote */
    ck_time_t ns;
    uint64_t count;
    const char *call; /* that waited */
    struct place place;
    /* What the first thread of the awaited one did meanwhile: the call that it
     * was in for longest, NULL = in none; and between calls of libc. */
    const char *did;
    struct place did_place;
    ck_time_t did_ns;
    ck_time_t between;
};

struct report_counter {
    const char *name;
    double value;       /* scaled up where it was multiplexed */
    double share;       /* of the time that it really counted, 0..1 */
    uint32_t ranks;     /* that have it */
    bool is_of_threads; /* as they were last looked at; else of all processes
                           that there were */
};

struct report_rate {
    const char *name;
    double value;
};

struct report_loss {
    const char *reason;
    const char *cure; /* what to try; NULL = nothing known */
    uint64_t records; /* at least, or all of them: */
    bool is_exact;
    uint64_t about; /* at a guess; 0 = there is none */
};

/* A file of an agent that is not here; texts borrowed from the definitions. */
struct report_spool {
    int32_t rank; /* -1 = none */
    const char *host;
    const char *path; /* "" = there is none: no disk took it */
    uint64_t records; /* in it, or that would be */
    uint64_t lost;    /* beside these */
};

/* Time in which a rank had no collector. */
struct report_away {
    int32_t rank;
    struct region part; /* on the axis; ends with INT64_MAX: with the rank */
};

struct report_note {
    const char *text;
    uint64_t count;
};

/* What is left of a run whose beginning was discarded (--keep). */
struct report_kept {
    uint64_t records; /* that were discarded; 0 = none */
    uint64_t bytes;
    uint32_t ranks;  /* of these */
    ck_time_t whole; /* how long the run was with them */
};

/* Calls of MPI from one place that may or may not have waited. */
struct report_unknown_wait {
    const char *call;
    struct place place;
    ck_time_t ns; /* of the region, that ranks were in them */
    uint64_t count;
};

/* What some of the ranks ran, where not all ran the same. */
struct report_program {
    const char *program;
    int32_t *ranks;
    size_t ranks_count;
};

struct report {
    const char *run;  /* directory as given */
    const char *name; /* its last part */
    const char *job;
    const char *command; /* as it was given */
    const char *program; /* what that started, or the same */
    /* Empty where all ranks ran one program; by their first ranks. */
    struct report_program *programs_of_ranks;
    size_t programs_of_ranks_count;
    const char *version;
    int32_t size; /* ranks announced */
    uint32_t present;
    bool has_ranks; /* it was started as ranks, or used MPI; else rank 0 is but
                       the program */
    bool is_filtered; /* ranks[] are those that were asked for */
    bool is_running;  /* the job had not ended when its run was read */
    uint32_t hosts;   /* 0 = some rank's is not known */
    int64_t realtime; /* of the axis's zero; 0 = not known */
    struct region whole;
    struct region region;
    enum report_region region_kind;
    const char *region_range; /* with REGION_RANGE: as asked for */
    struct report_kept kept;
    int64_t step_first, step_last; /* numbers, with REGION_STEPS */
    uint64_t steps;                /* of the rank that made most */

    struct report_rank *ranks;
    size_t ranks_count;
    struct report_launcher *launchers; /* by their first rank */
    size_t launchers_count;
    struct report_impasse *impasses; /* most waiting ranks first */
    size_t impasses_count;
    struct report_disagreement *disagreements; /* the longest stuck first */
    size_t disagreements_count;
    uint64_t disagreements_uncompared; /* calls, ranks were too far apart */
    struct report_usual usual;         /* where some rank did not end well */
    struct report_awaited *awaited;    /* those for the dead first */
    size_t awaited_count;
    struct report_standing *standings; /* by rank, process and thread */
    size_t standings_count;
    struct report_standing *deaths; /* threads at their end; the same order */
    size_t deaths_count;
    struct report_device *devices;
    size_t devices_count;
    struct report_sub *subs; /* by device, in the order of their making */
    size_t subs_count;
    struct report_undone *undone; /* earliest first */
    size_t undone_count;
    struct report_failure *failures; /* work first */
    size_t failures_count;
    struct report_copy_place *copy_places; /* longest first */
    size_t copy_places_count;
    struct report_device all;   /* sums over devices, also of wall */
    ck_time_t comm_hidden_most; /* of one call of a collective kernel */
    /* In those before which nothing had compared the clocks, on all devices. */
    ck_time_t comm_hidden_first;
    /* Collective kernels without a known group, and without any claim. */
    uint64_t comm_ungrouped;
    uint64_t comm_alike; /* those that end together: some is claimed */
    ck_time_t comm_ungrouped_time; /* of them on all devices: no wait in them is
                                      longer */
    /* Those of a known group that not all of its ranks have. */
    uint64_t comm_uneven;
    ck_time_t comm_uneven_time; /* of them on all devices */
    struct report_efficiency efficiency;
    struct report_load load;
    struct report_cause *causes; /* longest first, then the start's */
    size_t causes_count;
    struct report_cause *waits; /* of hosts in MPI, longest first */
    size_t waits_count;
    struct report_cause *edges; /* the same in MPI_Init and MPI_Finalize, of the
                                   whole run */
    size_t edges_count;
    struct report_unknown_wait *unknown_waits; /* longest first */
    size_t unknown_waits_count;
    struct report_steps table;
    struct report_delays delays;       /* what all waiting cost */
    struct report_delay_limits limits; /* of that */
    struct report_launches launches;
    uint32_t spawned; /* processes that MPI_Comm_spawn started, in worlds of
                         their own */
    const char *spawned_command; /* that some of them run; NULL = not known */
    struct report_straggler *stragglers; /* worst first */
    size_t stragglers_count;
    struct report_level *levels; /* the job, hosts, ranks, queues */
    size_t levels_count;
    uint64_t levels_left_out;    /* of operations, in no row of theirs */
    struct report_range *ranges; /* longest first */
    size_t ranges_count;
    struct report_kernel *kernels;
    size_t kernels_count;
    struct report_input *inputs; /* of a kernel-only merge */
    size_t inputs_count;
    struct report_scalene scalene;
    bool has_dates; /* the inputs' clocks could be put together by date */
    struct report_line *lines; /* most busy first */
    size_t lines_count;
    struct report_copy *copies;
    size_t copies_count;
    struct report_call *calls; /* longest total first */
    size_t calls_count;
    struct report_function *functions; /* longest total first */
    size_t functions_count;
    struct report_traffic traffic;
    struct report_threads threads;
    struct report_libc *libc; /* longest first */
    size_t libc_count;
    struct report_peer *peers; /* longest first */
    size_t peers_count;
    ck_time_t peers_left_out;
    struct report_process shown; /* whose first thread rank 0 is, where there
                                    are no ranks */
    uint32_t programs; /* processes that recorded, where there are no ranks */
    struct report_samples samples;
    struct report_hot *hot; /* hottest first */
    size_t hot_count;
    struct report_unnamed unnamed;
    struct report_caller *callers; /* hottest first */
    size_t callers_count;
    struct report_blocked *blocked; /* most time first */
    size_t blocked_count;
    struct report_blocked_sums blocked_sums;
    struct report_launch_stacks launch_stacks;
    struct report_fault *faults; /* most first */
    size_t faults_count;
    struct report_fault_place *fault_places; /* most first */
    size_t fault_places_count;
    struct report_allocations allocations;
    struct report_allocations device_memory;
    struct report_memory *memory; /* by rank */
    size_t memory_count;
    struct report_counter *counters;
    size_t counters_count;
    struct report_rate *rates;
    size_t rates_count;

    uint64_t events; /* stored */
    uint64_t lost;   /* at least, or all of them: */
    bool is_lost_exact;
    uint64_t lost_about;       /* with the guesses */
    struct report_away *aways; /* by start */
    size_t aways_count;
    struct report_loss *losses;
    size_t losses_count;
    struct report_spool *spools; /* that are not here */
    size_t spools_count;
    uint64_t gaps; /* in streams, with how many units */
    uint64_t gap_units;
    uint64_t damage_places;
    uint64_t damage_bytes;
    uint64_t damage_tails;
    const char *damage_first;
    const char *manifest; /* what is wrong with it; NULL = nothing */
    uint64_t gone;        /* records that were stored and are there no more */
    uint64_t unknown;     /* records of kinds that this version does not know */
    struct report_domain *domains;
    size_t domains_count;
    struct report_causality causality;
    struct report_dates clock_dates;
    const struct clocksolve_fault **conflicts; /* between clock facts */
    size_t conflicts_count;
    struct report_probes probes;
    struct report_device_clock *device_clocks;
    size_t device_clocks_count;
    struct report_clock_pair *clock_pairs; /* of all, if they are few */
    size_t clock_pairs_count;
    struct report_clock_pair clock_worst; /* pair of domains with ranks */
    struct report_note *notes;
    size_t notes_count;
    ck_time_t own_cpu; /* ck's collectors, as they reported at the end */
    uint32_t own_cpu_ranks;
    uint64_t bytes;
    bool is_ledger_closed;
    struct report_uneven_kernel uneven_kernel;
};

/* So much of a CPU that other programs use is worth a word. */
#define REPORT_WORTH_OTHERS 0.1
/* True when other programs used CPUs of the job's, more than is worth a word
 * and more than the error. */
static inline bool report_has_others(const struct report_load *load)
{
    return load->others > REPORT_WORTH_OTHERS + load->others_error;
}

/* True when a part of the run was chosen, or is all that was kept: what is of
 * the whole run must be called so. */
static inline bool report_is_part(const struct report *report)
{
    return report->region_kind == REPORT_REGION_GIVEN ||
           report->region_kind == REPORT_REGION_RANGE ||
           report->region_kind == REPORT_REGION_KEPT;
}

/* True when the region is what the run consists of but its edges: calls and
 * their counts are then of the whole run. */
static inline bool report_is_run(const struct report *report)
{
    return report->region_kind == REPORT_REGION_WHOLE ||
           report->region_kind == REPORT_REGION_MPI;
}
/* "step", "rate" or "probe". */
const char *report_fault_name(enum ck_clock_fault_kind kind);
/* "probe", "message", "collective" or "device work". */
const char *report_source_name(enum clock_source source);
/* Ranks that the report is about, of those that are there. */
uint32_t report_ranks(const struct report *report);
/* Is it known of most time in MPI whether it was spent in waiting? Else that of
 * the rest decides how communication splits up. */
bool report_knows_transfer(const struct report *report);
/* Is the report about that rank? */
bool report_is_chosen(const struct report *report, int32_t number);
/* With status 0, and seen by its ckagent. */
bool report_launched_well(const struct report_launcher *launcher);
/* By Open MPI, which ends a rank whose mpirun is gone with a status of its own:
 * the lowest 8 bits of PMIX_ERR_LOST_CONNECTION (pmix_common.h). */
bool report_lost_launcher(const struct report_rank *rank);
/* By a signal of a person or a launcher that wants the end, whether the rank
 * died of it or ended with a status; or because its launcher was gone. */
bool report_was_asked(const struct report_rank *rank);
/* Of itself: by a status or another signal. */
bool report_died(const struct report_rank *rank);
/* The same of the rank with that number. A launcher kills the others of a rank
 * that died: these did not die of themselves. */
bool report_has_died(const struct report *report, int32_t number);
/* Frees the arrays; the texts are the definitions's. */
void report_fini(struct report *report);
/* True when the rank is there, is one, and its end is recorded, however. */
bool report_has_end(const struct report_rank *rank);
/* True when all announced ranks are so, and nothing stored is missing; records
 * that were counted as lost may be. */
bool report_is_complete(const struct report *report);

#endif
