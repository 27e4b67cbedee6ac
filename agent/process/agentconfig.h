/* agentconfig.h - what an agent was asked to do, and what it has for that
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_AGENTCONFIG_H
#define CK_AGENT_PROCESS_AGENTCONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process/identity.h"
#include "schema/frame.h"

struct counters;
struct ringfile;
struct sampler;

/* Filled in by ckagent and the front, before the collector is forked; all
 * borrowed. */
struct agent_config {
    const struct identity *identity;
    struct ringfile *ring;     /* NULL: nothing is recorded here */
    struct counters *counters; /* NULL = none */
    const char *counters_why;  /* why there are none, or NULL */
    struct sampler *sampler;   /* NULL = none */
    const char *sampler_why;   /* why there is none, or NULL */
    const char *aggregator;    /* endpoint text, or NULL */
    const char *dir;           /* run directory */
    const char *fallback;      /* for the spool */
    int claim;                 /* of `dir` (claim.h), -1 = none */
    const char *keep;          /* how much of the run, NULL = everything */
    const char *obstacle;      /* why no library can be loaded, or NULL */
    char *const *env;          /* the agent's own */
    uint64_t limit;            /* bytes stored, 0 = none */
    uint64_t spool_limit;
    enum ck_pack pack;
    pid_t target;
    int channel;
    int recorded;     /* ranks that will send HELLO, 0 = unknown */
    const char *http; /* for pages of the running job, NULL = none */
    bool is_pageless; /* no report.html at the job's end */
    bool is_pack_given;
    bool is_dir_given; /* it may be shared between hosts */
    bool is_insecure;
    bool is_verbose;
    bool is_reporter; /* this rank's agent gets and shows the report */
    bool is_closer;   /* ... or waits, unseen, until the run is final */
    bool is_leader;   /* so it does if it has to start the job's ckagg */
    bool is_counted;  /* programs may have RAW from the counter */
    bool is_strict;   /* the front may hold the target for the aggregator */
    bool is_speaker;  /* logs what is true for all ranks (of its host) */
    bool is_begun;    /* the target runs: FRONTPIPE_BEGUN was sent before */
};

#endif
