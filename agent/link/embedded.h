/* embedded.h - the ckagg that an agent starts for its job
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whoever holds the job's lock file may start one; the lock passes to ckagg,
 * so it is held as long as that ckagg lives, whatever becomes of us.
 */
#ifndef CK_AGENT_LINK_EMBEDDED_H
#define CK_AGENT_LINK_EMBEDDED_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agent/process/agentconfig.h"
#include "schema/endpoint.h"
#include "schema/err.h"
#include "schema/store/owner.h"

/* Files of the meeting point of a job on this host. */
struct embedded_place {
    char socket[108]; /* sun_path is that long */
    char lock[128];
    struct ck_err moved; /* why it is not where others look first; "" = is */
};

#define EMBEDDED_DIR 96
/* The directory of all meeting points of this user on this host, made (0700,
 * owner checked; where another user has taken its name, a private one that all
 * agents of this user find). 0, or -1 with err. */
int embedded_dir(char dir[EMBEDDED_DIR], struct ck_err *err);
/* That directory made, names filled in. 0, or -1 with err. */
int embedded_place_find(struct embedded_place *place,
                        const struct identity *identity,
                        struct ck_err *err);

#define EMBEDDED_PAGES 512

struct embedded {
    pid_t pid; /* 0 = none started by us */
    int ready; /* its stdout; -1 = none */
    size_t used;
    char line[CK_ENDPOINT_TEXT_BYTES + PATH_MAX]; /* of its stdout so far */
    /* With --http: where the job is shown, or why it is not; "" = not known */
    char pages[EMBEDDED_PAGES];
    char nopages[EMBEDDED_PAGES];
};

/* For a job on more than this host it listens on TCP, too. 1 started, 0 another
 * process has the lock, -1 with err. */
int embedded_start(struct embedded *embedded,
                   const struct agent_config *config,
                   const struct embedded_place *place,
                   struct ck_err *err);

/* When the job's ckagg of this host was started, as its lock has it. False: it
 * has nothing. */
bool embedded_begin(const struct embedded_place *place, struct ck_begin *begin);

/* Look for the ready line: 1 and `endpoint` (text without "ckagg ready" and
 * without run=) when it has come, else 0; -1: it ended, with its own reason in
 * err when it gave one ("" else). */
int embedded_ready(struct embedded *embedded,
                   char endpoint[CK_ENDPOINT_TEXT_BYTES],
                   struct ck_err *err);

/* Should the job's ckagg of this host be stopped (the program may do that), it
 * is woken, whichever process started it. */
void embedded_wake(const struct embedded *embedded,
                   const struct embedded_place *place);

#endif
