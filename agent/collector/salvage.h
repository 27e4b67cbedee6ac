/* salvage.h - records left in the ring file of an agent that was killed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where front and collector both died, slots and outbox still hold what the
 * program had committed. It goes to the spool file of that agent, where
 * ckmerge finds it.
 */
#ifndef CK_AGENT_COLLECTOR_SALVAGE_H
#define CK_AGENT_COLLECTOR_SALVAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/time.h"

enum salvage_state {
    SALVAGE_DONE,   /* nothing of it is left behind */
    SALVAGE_BUSY,   /* its agent lives, or another salvage works on it */
    SALVAGE_LIVES,  /* its program still runs, without its agent */
    SALVAGE_OTHER,  /* it belongs to another run directory than was asked */
    SALVAGE_FAILED, /* disk full, damaged, ...: the file stays */
    SALVAGE_LOST,   /* a part of it was cut off: it is removed unread */
};

struct salvage {
    uint64_t records;     /* that were moved */
    uint32_t rank;        /* ~0u = not known */
    bool is_foreign;      /* SALVAGE_FAILED: its run is not known; another
                             user's, another version's, or no ring at all */
    pid_t program;        /* SALVAGE_LIVES: one of its processes */
    char spool[PATH_MAX]; /* where they are now, "" = there were none */
    char why[256];        /* SALVAGE_FAILED */
};

/* Empty one ring file and remove it. With `dir` (an absolute path) only when
 * its run is there. */
enum salvage_state
salvage_ring(const char *path, const char *dir, struct salvage *found);

/* Called for each ring file that is not busy. */
typedef void salvage_say(const char *path,
                         enum salvage_state state,
                         const struct salvage *found,
                         void *context);

/* A ring file that takes longer is left: its disk does not answer. */
#define SALVAGE_RING_LIMIT (60 * CK_TIME_S)

/* All ring files of this user; begins none after `until` (RAW ns, 0 = no
 * limit), and gives each one `limit`. */
void salvage_all(const char *dir,
                 ck_time_t until,
                 ck_time_t limit,
                 salvage_say *say,
                 void *context);

#endif
