/* defs.h - who takes part in a run: agents, ranks, processes, threads, devices
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filled by input, read by every later room. Arrays grow while a run is read
 * and are fixed afterwards; things refer to each other by index. Texts are kept
 * in definitions.texts.
 */
#ifndef CK_MERGE_MODEL_DEFS_H
#define CK_MERGE_MODEL_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "schema/event.h"
#include "schema/frame.h"
#include "schema/time.h"

#define DEFS_NONE UINT32_MAX
#define DEFS_RANK_UNKNOWN (-1)
#define DEFS_REASONS 16 /* enum ck_lost */

/* First and last of some stamps, apart by clock: [0] RAW, [1] ticks. */
struct stamps {
    int64_t first[2];
    int64_t last[2];
};

static inline void stamps_init(struct stamps *stamps)
{
    stamps->first[0] = stamps->first[1] = INT64_MAX;
    stamps->last[0] = stamps->last[1] = INT64_MIN;
}

static inline void
stamps_add(struct stamps *stamps, bool is_ticks, int64_t first, int64_t last)
{
    if (first < stamps->first[is_ticks]) {
        stamps->first[is_ticks] = first;
    }
    if (last > stamps->last[is_ticks]) {
        stamps->last[is_ticks] = last;
    }
}

static inline bool stamps_has(const struct stamps *stamps)
{
    return stamps->first[0] <= stamps->last[0] ||
           stamps->first[1] <= stamps->last[1];
}

/* One rank of the job. */
struct defs_rank {
    int32_t number;
    uint32_t agent;
    bool is_claimed_twice; /* several agents claim to be this rank */
    bool has_both;         /* an agent of a run (`agent`), and a profile */
    bool is_wanted;        /* to be looked at (--ranks) */
};

/* Time in which no collector ran. */
struct defs_away {
    int64_t start;  /* RAW */
    int64_t length; /* 0 = to the end */
};

/* A running total that a collector stored. */
struct defs_counter {
    uint32_t name;
    uint32_t tid; /* 0 = the whole process tree */
    int64_t value;
    int64_t enabled;
    int64_t running;
};

/* Running totals of a thread's calls of one function of libc. */
struct defs_libc {
    uint32_t name;
    uint32_t tid; /* 0 = threads that ended without a record of their own */
    uint64_t calls;
    ck_time_t ns;
    uint64_t bytes;
};

/* A call that was entered and, so far as is stored, never left. */
struct defs_open {
    struct ck_open open;
    int64_t start; /* as recorded, on the clock of its batch */
    bool is_ticks;
    bool is_completed;
};

/* A stack that samples met; its frames have names in its process. */
struct defs_stack {
    uint64_t *frames; /* return addresses, innermost first */
    uint32_t count;   /* of these, whose places are asked for by findings */
    uint32_t depth;   /* of these, kept */
    uint32_t kernel;  /* frames in the kernel, innermost first, behind those */
};
/* Frames that are kept of a stack at most. */
#define DEFS_STACK_DEPTH 128
/* An agent gives its stacks' numbers in ranges and uses few of each: those
 * of one page are kept together. */
#define DEFS_STACKS_MAX 131072
#define DEFS_STACKS_PAGE 256

/* Where a thread was, as its collector saw it last. */
struct defs_standing {
    uint32_t incarnation;
    uint32_t tid;
    uint32_t stack;    /* number; 0 = none */
    int64_t at;        /* RAW */
    const char *lines; /* a kept text: key=value */
};

/* What ckagg discarded of an agent on request (--keep). */
struct defs_discarded {
    uint64_t segments; /* 0 = nothing */
    uint64_t records;
    uint64_t bytes;
    uint64_t units;      /* of frames that are gone entirely */
    struct stamps until; /* all that ended later is there */
};

struct defs_agent {
    uint8_t id[16];
    char hex[33];
    bool has_identity;
    const char *identity; /* key=value lines; "" */
    uint32_t pid;         /* of the program it started; 0 = not known */
    int32_t rank;
    int32_t size; /* of the world, 0 = not known */
    const char *host;
    const char *job;
    const char *command;
    uint32_t domain;   /* clock domain */
    int64_t start_raw; /* 0 = not known */
    int64_t start_realtime;
    bool is_profile;  /* no agent, but a foreign profile that was read */
    bool is_cut;      /* ... to a place before its end */
    bool is_unclosed; /* ... to its end, which may not be its true one */
    bool is_alone;    /* nothing started it as a rank of a job */
    bool has_symbols; /* it named call sites */
    bool has_exit;
    bool is_exit_known; /* else the collector did not see the end */
    bool is_gone;       /* none of its processes lives, by who cleaned up */
    int status;         /* wait status */
    const char *exit;
    int64_t exit_time; /* RAW of its host; 0 = not known */
    struct defs_counter *counters;
    size_t counters_count, counters_room;
    struct defs_open *opens;
    size_t opens_count, opens_room;
    struct defs_stack **stacks; /* pages by number - 1; NULL = no stack */
    uint32_t stacks_last;       /* the greatest number; 0 = no stack */
    struct defs_standing *standings;
    size_t standings_count, standings_room;
    uint64_t lost[DEFS_REASONS];
    int64_t limit_at; /* RAW when --limit was reached, 0 = not */
    struct defs_away *aways;
    size_t aways_count, aways_room;
    bool is_tail_lost; /* records behind the last ones are missing */
    uint64_t bytes;    /* of its frames, as stored */
    uint64_t events;   /* records stored that are no text and no clock fact */
    uint64_t frames;
    uint64_t unknown; /* records of a kind that this ckmerge does not know */
    uint64_t gaps;    /* places where units are missing from its streams */
    uint64_t gap_units;
    uint64_t gap_records; /* in them at least, beyond what it reports as lost
                             itself; all of them when that is exact */
    uint64_t gap_about;   /* as many at a guess, by their size */
    bool is_gap_exact;
    uint64_t elsewhere;    /* records in a spool that is not here, or lost as
                              only that one shows */
    bool is_end_unknown;   /* its total was never reported */
    uint64_t gone;         /* of these, that were stored by the manifest */
    uint64_t stored;       /* records in the frames of its segment */
    uint64_t undecoded;    /* of these, in frames that do not decode */
    bool has_spool;        /* some of its frames are in a spool */
    bool has_overlap;      /* some units are there twice */
    bool is_told;          /* the manifest has its segment. */
    uint64_t told;         /* records that were stored */
    uint64_t told_missing; /* units between them that never came */
    uint64_t units;        /* that are there, of all streams */
    uint64_t records;      /* in those */
    uint64_t records_late; /* of these, in its own frames from its EXIT on */
    struct defs_discarded discarded;
};

struct defs_queue {
    uint32_t id;
    uint32_t device;
    const char *name;
    bool is_in_order; /* as it reported */
};

/* A file that a process had mapped. */
struct defs_module {
    bool is_own;      /* ck's, loaded into the program */
    bool is_team;     /* an OpenMP runtime: its threads wait for each other */
    const char *path; /* kept texts */
    const char *build_id;
    uint64_t bias;
    uint64_t start;
    uint64_t end;
};

/* A communicator as one process numbers it. */
struct defs_comm {
    uint32_t id;
    uint32_t parent; /* id in the same process, 0 = none */
    uint32_t number; /* of its creation from the parent */
    int32_t size;
    int32_t rank; /* of this process in it */
    const char
        *birth; /* how and of whom it was made; NULL = a part is missing */
    const char *name; /* given by the program, NULL = none */
    uint32_t global;  /* number in the run, DEFS_NONE = not known */
    /* Of a topology: "0-3,8", the ranks that this process receives from. NULL =
     * has none, or not all are known. */
    const char *sources;
};

/* A device as one process numbers it. */
struct defs_device {
    uint32_t number;
    const char *name;
    const char *uuid;  /* "" = none: the device is the process's own */
    uint32_t parent;   /* number of the device that it is a part of; 0 = none */
    uint32_t physical; /* the whole device, where it is a part of one */
    uint32_t sub;      /* in definitions.subs; DEFS_NONE = it is no part */
};

struct defs_process {
    uint32_t agent;
    uint32_t incarnation; /* 0 = the collector */
    uint32_t pid;
    int32_t rank; /* its own if it has one, else its agent's, or unknown */
    int32_t size; /* of the world that its own rank is of */
    bool has_identity;
    int32_t restart; /* how often torchrun had started its ranks again by then,
                        as it counts */
    uint32_t worker; /* pid of the process of its rank from which it comes;
                        0 = not known */
    int64_t worker_ticks;   /* start of that one, since boot */
    uint32_t worker_parent; /* pid of what started that one */
    int64_t started;        /* RAW of its host; 0 = not known */
    int64_t ended;          /* the same: it was seen to have ended */
    const char *command;
    struct names *names;
    struct stamps steps;    /* marked steps: begin, end */
    struct stamps init;     /* MPI_Init: enter, return */
    struct stamps finalize; /* MPI_Finalize: enter, return */
    struct stamps whole;    /* everything */
    ck_time_t begin;  /* of its part of the region, on the axis: until then
                         it is in its startup; 0 = with the region */
    uint32_t skipped; /* defs_is_partial() */
    uint64_t bytes;   /* of its frames that were decoded */
    uint64_t events;  /* in them, as an agent's */
    struct defs_device *devices;
    size_t devices_count, devices_room;
    struct defs_queue *queues;
    size_t queues_count, queues_room;
    struct defs_libc *libc;
    size_t libc_count, libc_room;
    uint32_t spawned; /* processes of worlds of their own that it started as
                         the first rank of MPI_Comm_spawn */
    const char *spawned_command; /* of the last ones; NULL = not known here */
    struct defs_comm *comms;     /* by id */
    size_t comms_count, comms_room;
    struct defs_module *modules; /* as they showed up */
    size_t modules_count, modules_room;
};

struct defs_thread {
    uint32_t process;
    uint32_t tid;
    const char *name; /* NULL = not known */
};

/* A device of a machine, maybe used by several processes. */
struct defs_physical {
    const char *name;
    const char *uuid;
    uint32_t process; /* the first that used it */
    uint32_t number;
    int32_t *ranks; /* that used it, ascending */
    size_t ranks_count, ranks_room;
    bool has_window; /* only profiles know of it: on the axis, the time in */
    ck_time_t from;  /* which they were recorded */
    ck_time_t to;
};

/* A part of a device, made by a process for itself. */
struct defs_sub {
    const char *name;
    uint32_t physical;
    uint32_t process;
    uint32_t number;
};

/* Processes whose clocks are one: a boot and a time namespace. */
struct defs_domain {
    const char *boot_id;
    const char *timens;
    const char *host;
    uint32_t machines; /* of its agents; each has probes, or is believed */
    uint32_t believed; /* of them: nothing was found that could contradict */
    uint64_t checked;  /* probes that agree with its being one clock */
    bool is_clone;     /* it has the name of another one's clock */
};

struct defs_note {
    const char *text;
    uint64_t count;
};

/* An agent whose segment the run has no more. */
struct defs_absent {
    char hex[33];
    int32_t rank;
    uint64_t records; /* that were in it */
};

/* What an agent kept itself because its aggregator had no room, and is not
 * here. */
struct defs_spool {
    int32_t rank; /* -1 = none */
    const char *host;
    const char *path; /* "" = no disk took it: it is gone */
    uint64_t records; /* in it */
    uint64_t lost;    /* beside these */
};

struct defs {
    struct texts *texts;
    uint32_t comms; /* communicators of the run */
    struct defs_agent *agents;
    size_t agents_count, agents_room;
    struct defs_process *processes;
    size_t processes_count, processes_room;
    struct defs_thread *threads;
    size_t threads_count, threads_room;
    struct defs_physical *physicals;
    size_t physicals_count, physicals_room;
    struct defs_sub *subs;
    size_t subs_count, subs_room;
    struct defs_rank *ranks; /* ascending by number */
    size_t ranks_count, ranks_room;
    bool is_size_said; /* some agent knew the size of the world */
    bool is_filtered;  /* only wanted ranks are looked at */
    struct defs_domain *domains;
    size_t domains_count, domains_room;
    struct defs_note *notes;
    size_t notes_count, notes_room;
    struct defs_absent *absents;
    size_t absents_count, absents_room;
    struct defs_spool *spools;
    size_t spools_count, spools_room;
};

struct defs *defs_create(void);
void defs_destroy(struct defs *defs);

/* Index of the agent, process or thread, made at first sight. */
uint32_t defs_agent_find(struct defs *defs, const uint8_t id[16]);
uint32_t
defs_process_find(struct defs *defs, uint32_t agent, uint32_t incarnation);
uint32_t defs_thread_find(struct defs *defs, uint32_t process, uint32_t tid);
/* The stack of that number of an agent, of no frames where it is new; NULL: no
 * stack has such a number. Its frames are malloc'ed and the definitions'. */
struct defs_stack *defs_stack_enter(struct defs_agent *agent, uint32_t number);
/* The same, where it is known; else NULL. */
static inline const struct defs_stack *
defs_stack_find(const struct defs_agent *agent, uint32_t number)
{
    const struct defs_stack *page =
        number == 0 || number > agent->stacks_last
            ? NULL
            : agent->stacks[(number - 1) / DEFS_STACKS_PAGE];

    return page == NULL ? NULL : &page[(number - 1) % DEFS_STACKS_PAGE];
}

/* Texts of the process's ids; NULL = not recorded. */
static inline const char *
defs_name(const struct defs *defs, uint32_t process, uint32_t id)
{
    return names_get(defs->processes[process].names, id);
}
struct place
defs_place(const struct defs *defs, uint32_t process, uint64_t address);
/* The path of the file that an address is in; NULL = not known. */
const char *
defs_file(const struct defs *defs, uint32_t process, uint64_t address);
/* Does that code belong to ck itself? */
bool defs_is_own(const struct defs *defs, uint32_t process, uint64_t address);
/* To an OpenMP runtime? */
bool defs_is_team(const struct defs *defs, uint32_t process, uint64_t address);
/* Were frames of the process with records of these classes (1 << class) left
 * out of what was read? Then what it has of them is not all. */
static inline bool
defs_is_partial(const struct defs *defs, uint32_t process, uint32_t classes)
{
    return (defs->processes[process].skipped & classes) != 0;
}
/* NULL = not recorded. */
static inline const struct defs_device *
defs_device(const struct defs *defs, uint32_t process, uint32_t number)
{
    const struct defs_process *owner = &defs->processes[process];

    for (size_t i = 0; i < owner->devices_count; i++) {
        if (owner->devices[i].number == number) {
            return &owner->devices[i];
        }
    }
    return NULL;
}
/* NULL = not recorded. */
const struct defs_queue *
defs_queue(const struct defs *defs, uint32_t process, uint32_t id);
/* The next one where ranks are missing: not for callers. */
uint32_t defs_rank_search(const struct defs *defs, int32_t number);
/* Index in definitions->ranks of a rank's number, DEFS_NONE = not in the run.
 */
static inline uint32_t defs_rank_index(const struct defs *defs, int32_t number)
{
    return number >= 0 && (size_t)number < defs->ranks_count &&
                   defs->ranks[number].number == number
               ? (uint32_t)number /* all ranks are there */
               : defs_rank_search(defs, number);
}

/* False for what is not of a wanted rank. */
static inline bool defs_is_wanted(const struct defs *defs, int32_t number)
{
    uint32_t index;

    if (!defs->is_filtered) {
        return true;
    }
    index = defs_rank_index(defs, number);
    return index != DEFS_NONE && defs->ranks[index].is_wanted;
}

/* The part of [*start, *end) in which the device was recorded. */
static inline void defs_window(const struct defs *defs,
                               uint32_t physical,
                               ck_time_t *start,
                               ck_time_t *end)
{
    const struct defs_physical *device = &defs->physicals[physical];

    if (device->has_window) {
        *start = device->from > *start ? device->from : *start;
        *start = *start < *end ? *start : *end;
        *end = device->to < *end ? device->to : *end;
        *end = *end > *start ? *end : *start;
    }
}

/* False for a device that no wanted rank used. */
bool defs_is_device_wanted(const struct defs *defs, uint32_t physical);

/* Once everything was read: ranks, devices of machines, clock domains. Makes a
 * device for each process that used one without recording which. Communicators
 * come next (comm_close()). */
void defs_close(struct defs *defs);
/* Add a domain for a clock that turned out to be another one than its name
 * has it, the number-th of that name. Its number. */
uint32_t defs_domain_clone(struct defs *defs, uint32_t domain, uint32_t number);
/* True when the beginning of some rank was discarded: calls that are counted
 * from their first have no number then. */
static inline bool defs_has_discarded(const struct defs *defs)
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].discarded.segments > 0) {
            return true;
        }
    }
    return false;
}
/* Both, or UINT64_MAX: counts of a damaged record do not wrap to a small sum.
 */
static inline uint64_t defs_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
/* Records that the agent counted as lost, of all reasons. */
uint64_t defs_lost(const struct defs_agent *agent);
/* A number of the collector's EXIT record; `none` where it has no such. */
int64_t
defs_exit_number(const struct defs_agent *agent, const char *key, int64_t none);
/* True when the program that the agent ran is known to have ended with status
 * 0: what its threads were still in then is of no interest. */
static inline bool defs_ended_well(const struct defs_agent *agent)
{
    return agent->has_exit && agent->is_exit_known && agent->status == 0;
}
/* Size of the world: the largest recorded, at least the ranks there are. */
int32_t defs_size(const struct defs *defs);
/* Remember a sentence for the report; equal ones are counted, those that begin
 * with a number and are equal behind it added up. */
void defs_note(struct defs *defs, const char *text, size_t length);

#endif
