/* job.h - one job: its run directory, its peers, when it ends
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Used from the loop only.
 */
#ifndef CK_AGGREGATOR_JOBS_JOB_H
#define CK_AGGREGATOR_JOBS_JOB_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregator/jobs/peer.h"
#include "launch/keep.h"
#include "schema/err.h"
#include "schema/store/owner.h"
#include "schema/time.h"

#define JOB_KEY_BYTES 256
#define JOB_NAME_BYTES 65
/* Agents of one job; a hello of one more is refused. */
#define JOB_PEERS_MAX 65536
/* Largest world that is believed. */
#define JOB_SIZE_MAX 1048576
/* Clients that wait for one report. */
#define JOB_WAITERS_MAX 64

/* Ranks that never sent HELLO are waited for until both are over: so long
 * after the last GOODBYE, and so long after the first HELLO. */
#define JOB_LAST_LEFT_GRACE (2 * CK_TIME_S)
#define JOB_FIRST_HELLO_GRACE (10 * CK_TIME_S)
/* A job without any HELLO. */
#define JOB_NOBODY_LIMIT (60 * CK_TIME_S)

enum job_state {
    JOB_RUN,   /* peers come, send, leave */
    JOB_ENDED, /* to be merged */
    JOB_MERGE, /* ckmerge is at work */
    JOB_DONE,  /* merged, or the merge failed */
};

/* Why a job has ended. */
enum job_end {
    JOB_END_NOT,
    JOB_END_COMPLETE, /* all ranks of the world came and left */
    JOB_END_DEAD,     /* all came, and some died or were cut off */
    JOB_END_MISSING,  /* all that came left; others never came */
    JOB_END_NOBODY,   /* no agent came at all */
    JOB_END_TIMEOUT,  /* no message for --job-timeout */
    JOB_END_STOPPED,  /* a client asked for the end */
};

/* What the decision needs. */
struct job_census {
    size_t peers;  /* that sent HELLO, or are known from the directory */
    size_t active; /* of them, not left and not dead */
    size_t ranks;  /* different ranks among them */
    size_t dead;   /* of the peers: nothing of their end came */
    int64_t size;  /* of the world; 0 = not announced */
    ck_time_t opened;
    ck_time_t first_hello;
    ck_time_t last_left;
    ck_time_t last_heard;
    bool is_stopped; /* a client wants the end */
    bool is_hurried; /* ckagg is to end: no new agent is waited for */
};

/* Of an address without keys. */
#define JOB_ENDPOINT_BYTES 256

struct job_limits {
    struct peer_limits peer;
    ck_time_t silence; /* --job-timeout; 0 = none */
};

struct job_options {
    const char *key;  /* "" = the first hello's */
    const char *name; /* for people */
    const char *dir;
    uint32_t number; /* in addresses of its pages */
    int64_t size;    /* agents to expect; 0 = as each HELLO has it */
    struct ck_keep keep;
};

/* Clock probes that came to ckagg while the job ran, of whatever job: the job
 * of a probe that was not answered is not known. */
struct job_probes {
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign;
    uint64_t untagged;
    uint64_t replayed;
};

/* What is shown of a job; borrowed from it. */
struct job_facts {
    char key[JOB_KEY_BYTES];
    char name[JOB_NAME_BYTES];
    char dir[PATH_MAX];
    uint32_t number; /* of this ckagg's jobs, in their order: none twice */
    char endpoint[JOB_ENDPOINT_BYTES]; /* where its ckagg is asked; "" = only by
                                          those who know */
    enum job_state state;
    enum job_end end;
    int64_t size;
    uint64_t refused; /* messages of its peers */
    ck_time_t opened;
    struct ck_begin started; /* its first hello came */
    int merge_exit;          /* -1 = not merged */
    struct job_probes probes;
    struct ck_keep keep; /* the newest of the run */
};

struct job_totals {
    size_t peers;
    size_t active;
    size_t ranks;
    size_t dead;
    uint64_t frames;
    uint64_t records;
    uint64_t bytes;
    uint64_t old;
    uint64_t missing;
    uint64_t lost; /* as the agents report */
    uint64_t discarded_records;
    uint64_t discarded_bytes;
};

struct job;

/* Why the job ends now, or JOB_END_NOT: a pure function. */
enum job_end job_decide(const struct job_census *census,
                        const struct job_limits *limits,
                        ck_time_t now);
const char *job_state_name(enum job_state state);
const char *job_end_name(enum job_end end);
/* `from` as a file name's part: letters, digits, '.', '-', '_'. */
void job_name_clean(const char *from, char name[JOB_NAME_BYTES]);

/* Keep a report that its disk may not have taken; copied, NULL = none. */
void job_keep_report(struct job *job, const char *text);
const char *job_report(const struct job *job);

/* Make or reopen the run directory. NULL with err. */
struct job *job_create(const struct job_options *options, struct ck_err *err);
void job_destroy(struct job *job);

/* The peer of this agent, made when it is new (segment and all). NULL with
 * err. Borrowed. */
struct peer *
job_peer(struct job *job, const uint8_t agent[16], struct ck_err *err);
/* A HELLO was taken: the key, name and size in it. */
void job_hello(struct job *job,
               const char *key,
               const char *name,
               const struct peer_facts *facts,
               ck_time_t now);
size_t job_peers(const struct job *job);
struct peer *job_peer_at(const struct job *job, size_t i); /* borrowed */
/* Has every agent that came left, or died? */
bool job_is_deserted(const struct job *job);
/* Have all ranks of the world come, and left again? Or the job has ended. */
bool job_is_over(const struct job *job);

/* Judge peers, then the job. Moves JOB_RUN to JOB_ENDED; returns true then. */
bool job_judge(struct job *job, const struct job_limits *limits, ck_time_t now);
/* End it at the next look. */
void job_stop(struct job *job);
/* End it as soon as no peer is active. */
void job_hurry(struct job *job);
void job_set_state(struct job *job, enum job_state state);
/* What ckagg has counted so far; again and again while the job runs. `before`:
 * the last time, when a new job was not there yet. */
void job_note_probes(struct job *job,
                     const struct job_probes *before,
                     const struct job_probes *now);
void job_set_merge_exit(struct job *job, int code);
void job_count_refused(struct job *job);

/* Remember a client that waits for the report. -1 when too many do. */
int job_wait_add(struct job *job, const struct route *route);
/* Take one out: false when there is none. */
bool job_wait_take(struct job *job, struct route *route);

const struct job_facts *job_facts(const struct job *job);
struct job_totals job_totals(const struct job *job);
/* Where the job's ckagg is asked; copied. */
void job_listens(struct job *job, const char *url);
/* Something changed that the manifest has (manifest_save()). */
void job_touch(struct job *job);
bool job_is_touched(const struct job *job);
void job_is_saved(struct job *job);
/* fdatasync all segments. 0, or -1 with errno of the first failure. */
int job_sync(struct job *job);

#endif
