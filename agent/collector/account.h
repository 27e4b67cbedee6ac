/* account.h - what a collector reports of its work: beat, end, notes, goodbye
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_COLLECTOR_ACCOUNT_H
#define CK_AGENT_COLLECTOR_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/clock/clockprobe.h"
#include "agent/collector/drain.h"
#include "agent/collector/targetstate.h"
#include "agent/collector/processes.h"
#include "agent/process/agentconfig.h"
#include "agent/stream/framewriter.h"
#include "agent/stream/selfstream.h"

/* A time without a collector that is recorded. */
#define ACCOUNT_AWAY_LEAST (CK_TIME_S / 2)

/* Where the figures come from; all borrowed. */
struct account {
    const struct agent_config *config;
    struct framewriter *framewriter;
    struct spool *spool;
    const struct drain *drain;
    const struct processes *processes;
    const struct clockprobe *clock;
    struct selfstream *selfstream;
    const struct targetstate *targetstate;
    ck_time_t alive; /* as the ring's header, which the target can write to */
};

/* Lines of a BEAT and of a GOODBYE (docs/protocol.md). */
void account_beat(const struct account *account, char *text, size_t room);
void account_goodbye(const struct account *account, char *text, size_t room);

/* The first frame of all, which opens every spool file as well; or a note that
 * another collector was before. */
void account_begin(const struct account *account);
/* The IDENTITY record. */
void account_identity(const struct account *account);
/* We run. Records how long no collector did while the target ran, neither this
 * one nor one before it. */
void account_alive(struct account *account, ck_time_t now);
/* The EXIT record. */
void account_exit(const struct account *account);

/* Notes on what could not be recorded. */
void account_notes(const struct account *account);

#endif
