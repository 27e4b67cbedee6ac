/* owner.h - whose run is in a directory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run directory is of one job. Agents and ckagg look before they write.
 */
#ifndef CK_SCHEMA_STORE_OWNER_H
#define CK_SCHEMA_STORE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

#define CK_OWNER_KEY_BYTES 256
#define CK_OWNER_ENDPOINT_BYTES 256

/* When a process or a run began, by two clocks; 0 = not known. */
struct ck_begin {
    int64_t realtime; /* ns since 1970 */
    int64_t boottime; /* ns since the boot: no one can set it, */
    char boot_id[40]; /* but of this boot alone; "" = not known */
};

struct ck_owner {
    char job_key[CK_OWNER_KEY_BYTES];       /* "" = not in the files */
    char endpoint[CK_OWNER_ENDPOINT_BYTES]; /* where the ckagg of a job that
                                               runs is asked; "" = not known */
    struct ck_begin started;                /* its first hello came */
    bool is_over; /* all of the job's agents have left, by ckagg's manifest */
    bool is_done; /* and it was merged */
};

/* By the manifest, else by the first identity in a segment or spool. True and
 * *owner when something of a run is there; false where there is no directory,
 * or nothing of a run in it. */
bool ck_owner_read(const char *dir, struct ck_owner *owner);

/* A run that is over and began before a launcher is an earlier one's, though
 * --job NAME, or a batch system that queues a job again, gave both one key.
 * Within one boot that is exact: a launcher begins before the agents that it
 * starts, whatever sets the clock. Else by the time of day: this long before by
 * the clocks of two machines, and by one, as starts of processes are known. */
#define CK_OWNER_EARLIER (2 * CK_TIME_S)
#define CK_OWNER_EARLIER_HERE (20 * CK_TIME_MS)

/* Is that run an earlier one's than this launcher? */
bool ck_owner_is_earlier(bool is_over,
                         const struct ck_begin *started,
                         const struct ck_begin *launcher,
                         bool is_one_clock);

#endif
