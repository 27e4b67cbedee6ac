/* reportrank.h - of each rank: its end, its sums, and its open calls
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part of report.h.
 */
#ifndef CK_MERGE_REPORT_REPORTRANK_H
#define CK_MERGE_REPORT_REPORTRANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "merge/report/reportsampled.h"
#include "schema/time.h"

/* How a rank ended. */
enum report_end {
    REPORT_END_UNKNOWN, /* no record of it: lost, or still running */
    REPORT_END_EXITED,
    REPORT_END_SIGNAL,
    REPORT_END_PROFILE, /* it comes from a profile, which has no end */
    REPORT_END_MISSING, /* announced by the size, not in the run */
    REPORT_END_KILLED,  /* with its ckagent: all was drained, but its status
                           is not known */
    REPORT_END_SHARED,  /* before its ckagent, which has other ranks, too: all
                           was drained, but only how their launcher ended is
                           known */
};

/* Why nothing is known of a rank from some time on. */
enum report_dark {
    REPORT_DARK_NOT,
    REPORT_DARK_END,   /* its end was not recorded */
    REPORT_DARK_CUT,   /* its last records are missing */
    REPORT_DARK_LIMIT, /* --limit was reached */
    REPORT_DARK_OPEN,  /* its last records may be missing */
};

/* What a thread outside MPI was. */
enum report_outside_state {
    REPORT_OUTSIDE_CPU,
    REPORT_OUTSIDE_READY,  /* without a CPU */
    REPORT_OUTSIDE_DEVICE, /* in a call of a device's API */
    REPORT_OUTSIDE_IO,     /* in such calls of libc: */
    REPORT_OUTSIDE_LOCK,
    REPORT_OUTSIDE_SLEEP,
    REPORT_OUTSIDE_BLOCKED, /* in the kernel, and no call shows for what */
    REPORT_OUTSIDE_UNKNOWN,
    REPORT_OUTSIDE_STATES
};
struct report_outside {
    ck_time_t ns[REPORT_OUTSIDE_STATES];
};

/* The processes of a rank from one start by its launcher (torchrun) to the
 * next. Only the first ones are kept. */
#define REPORT_INCARNATIONS 9
struct report_incarnation {
    int32_t number;  /* 0 = the first start */
    ck_time_t start; /* of the first process to record, on the axis */
    ck_time_t end;   /* 0 = not known */
    uint32_t domain; /* whose clock both are of */
    ck_time_t error; /* of both beside those of other clocks; -1 = not known */
};

struct report_rank {
    int32_t number;
    const char *host;
    enum report_end end;
    int code;           /* exit status or signal; killed: the signal that
                           ckagent was sent before, 0 = none */
    int asked;          /* signal that asked it to end before it did; 0 = none
                           that its ckagent saw */
    bool is_orphan;     /* its ckagent was killed, and it went on */
    bool is_dumped;     /* the signal that ended it had the kernel dump it */
    uint32_t stops;     /* by SIGSTOP or the like; 0 = none that is known */
    ck_time_t stopped;  /* for so long in all */
    ck_time_t end_time; /* on the axis; 0 = not known */
    enum report_dark dark;
    ck_time_t dark_since; /* on the axis; INT64_MIN = it has no record */
    bool is_unfinalized;  /* it began MPI and ended by itself without
                             MPI_Finalize */
    const char *open;     /* call it never left, NULL = none known */
    struct place open_place;
    bool is_open_api;  /* it is one of MPI or of a device */
    ck_time_t open_ns; /* how long it was in it */
    const char *last;  /* last call of those that it left; NULL = not
                          known, or the rank ended well */
    struct place last_place;
    ck_time_t last_end;
    struct report_sampled after; /* its first thread, behind that call */
    ck_time_t mpi;               /* union of MPI calls over its threads */
    ck_time_t mpi_core;          /* their sum */
    uint64_t mpi_calls;
    ck_time_t gone;   /* of the region, behind its recorded end: not its time */
    ck_time_t useful; /* outside MPI; of ranks that called it */
    ck_time_t mpi_by_others;       /* its first thread waited, and others of
                                      its threads were in MPI: not useful */
    struct report_outside outside; /* sum: useful, or of a rank that called no
                                      MPI the region */
    ck_time_t startup;      /* of the region, before its return from MPI_Init */
    ck_time_t device_api;   /* union of calls of a device's API */
    ck_time_t waited;       /* for other ranks */
    ck_time_t waited_data;  /* of that, outside of MPI */
    ck_time_t waited_below; /* within the clock error: for no rank */
    bool is_shared;         /* several of its processes used MPI at one time */
    ck_time_t waited_unknown; /* in calls of MPI that may or may not have
                                 waited */
    uint64_t waits;
    ck_time_t caused;       /* that other ranks waited because of it */
    ck_time_t waited_error; /* may be off by it; 0 = one clock */
    ck_time_t caused_error;
    uint64_t steps;
    ck_time_t step_median;
    ck_time_t step_max;
    bool is_median_exact;
    uint64_t events;
    uint64_t lost; /* at least, or all of them: */
    bool is_lost_exact;
    uint64_t gaps; /* in its streams */
    /* Its ckagent has other ranks, too, and lost and gaps are those of all of
     * them; NULL = it has its ckagent for itself. Borrowed. */
    const struct report_launcher *launcher;
    uint64_t bytes;
    bool is_claimed_twice;
    struct report_incarnation incarnations[REPORT_INCARNATIONS]; /* by time */
    size_t incarnations_count; /* 0 = it was not started again */
};

/* The program that a ckagent of several ranks ran (mpirun, torchrun). */
struct report_launcher {
    int32_t *ranks; /* below it, ascending */
    size_t ranks_count;
    enum report_end end;
    int code; /* as a rank's */
    int asked;
    bool is_orphan;
    bool is_dumped;
    uint32_t stops;
    ck_time_t stopped;
    ck_time_t end_time; /* on the axis; 0 = not known */
};

/* A collective that ranks entered and never left. */
struct report_impasse {
    const char *call;
    struct place place; /* of the first that waited */
    const char *comm;   /* NULL = it has no name */
    int32_t size;       /* members */
    uint32_t number;    /* among the communicator's collectives, from 1 */
    int32_t *ranks;     /* each kind ascending, one after the other: */
    size_t waited;      /* were in it */
    size_t died;        /* in it, of themselves */
    size_t absent;      /* never entered it */
    size_t left;        /* were through it */
    bool is_sure;       /* no record of those that are absent was lost */
    /* Of those that waited, some that are in another call, or in one of another
     * root, in place of this collective: */
    int32_t *others; /* ascending; NULL = none */
    size_t others_count;
    const char *other_call;
    struct place other_place;
    int32_t root, other_root; /* of the calls; below 0 = none, not known */
};

/* Where a thread was when its collector looked last. */
struct report_standing {
    int32_t rank; /* -1 = none */
    uint32_t process;
    uint32_t tid;
    bool is_first;        /* thread of its process */
    char state;           /* as /proc has it: R S D T t */
    const char *name;     /* of the thread; kept texts; "" */
    const char *call;     /* the system call that it waited in; "" = none */
    const char *file;     /* that this was about; "" = none */
    const char *how;      /* "whole", "part", "sampled", "call", "refused",
                             "none" */
    ck_time_t age;        /* of a sampled stack */
    ck_time_t at;         /* on the axis */
    uint64_t lock;        /* address; 0 = waits for no lock */
    uint32_t owner;       /* thread that holds it */
    struct place *frames; /* innermost first, without ck's own */
    bool *is_users;       /* of each: in a file that no package installs */
    size_t frames_count;
    int signal;       /* that ended the thread; 0 = it was alive */
    bool is_cause;    /* the others were killed because of it */
    bool is_program;  /* of the process that ckagent started, not of another
                         one of the rank's */
    uint64_t address; /* that it accessed, where that is known */
    bool has_address;
};

/* What some ranks did at a collective of NCCL. */
struct report_disagreement_part {
    const char *call; /* with its type; NULL = they did not call it */
    uint64_t bytes;
    int64_t root; /* in the communicator; -1 = it has none */
    int32_t *ranks;
    size_t ranks_count;
};
#define REPORT_DISAGREEMENT_PARTS 8

/* The first collective of a communicator that ranks called differently. */
struct report_disagreement {
    char comm[20];    /* its hash, as NCCL prints it */
    int32_t size;     /* members; 0 = not known */
    uint64_t number;  /* among its collectives, from 1 */
    bool is_missing;  /* all that called it did so alike, and some did not */
    ck_time_t silent; /* from the communicator's last call to the run's end */
    struct report_disagreement_part parts[REPORT_DISAGREEMENT_PARTS];
    size_t parts_count;
};

/* A message that ranks waited for and that never came, or never went. */
struct report_awaited {
    const char *call;
    struct place place; /* of the first that waited */
    const char *comm;   /* NULL = it has no name */
    int32_t tag;        /* -1 = any */
    int32_t peer;       /* rank that it was to come from; -1 = any */
    bool is_send;       /* to go to */
    bool has_died;      /* that rank, of itself */
    int32_t *ranks;     /* that waited, ascending */
    size_t ranks_count;
};

#endif
