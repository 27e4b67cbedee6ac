/* standwatch.h - when the collector looks where all threads are
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * When it is asked (`ckagg --where`), and by itself when a process that uses
 * MPI has recorded nothing for STANDWATCH_QUIET: so a job that hangs and is
 * killed has the stacks of its threads. One user, the collector's thread.
 */
#ifndef CK_AGENT_COLLECTOR_STANDWATCH_H
#define CK_AGENT_COLLECTOR_STANDWATCH_H

#include <stdint.h>

#include "agent/stream/selfstream.h"
#include "schema/time.h"

/* The next looks follow after four times as long each. */
#define STANDWATCH_QUIET (5 * CK_TIME_S)
#define STANDWATCH_GROWTH 4

struct processes;
struct sampler;
struct standwatch;
struct symbols;

/* All borrowed; `sampler` and `symbols` may be NULL. NULL with ENOMEM. */
struct standwatch *standwatch_create(const struct processes *processes,
                                     struct selfstream *selfstream,
                                     struct sampler *sampler,
                                     struct symbols *symbols);
void standwatch_destroy(struct standwatch *watch);

/* Look at all threads of all processes that record. */
void standwatch_look(struct standwatch *watch);
/* Look at those that have recorded nothing for long; to be called about each
 * second. */
void standwatch_step(struct standwatch *watch, ck_time_t now);
/* What could not be seen, as a note. */
void standwatch_notes(const struct standwatch *watch);

#endif
