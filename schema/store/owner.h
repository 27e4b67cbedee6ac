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

struct ck_owner {
    char job_key[CK_OWNER_KEY_BYTES];       /* "" = not in the files */
    char endpoint[CK_OWNER_ENDPOINT_BYTES]; /* where the ckagg of a job that
                                               runs is asked; "" = not known */
    int64_t started; /* ns since 1970 of the first hello, 0 = not known */
    bool is_done;    /* the job has ended and was merged, by ckagg's manifest */
};

/* By the manifest, else by the first identity in a segment or spool. True and
 * *owner when something of a run is there; false where there is no directory,
 * or nothing of a run in it. */
bool ck_owner_read(const char *dir, struct ck_owner *owner);

/* A run that began this long before a launcher is an earlier one's, though
 * --job NAME, or a batch system that queues a job again, gave both one key: by
 * the clocks of two machines, and by one clock, as starts of processes are
 * known. */
#define CK_OWNER_EARLIER (2 * CK_TIME_S)
#define CK_OWNER_EARLIER_HERE (20 * CK_TIME_MS)

/* Is a run with this end and first hello an earlier one's than a launcher that
 * began then, ns since 1970? 0 = not known. */
static inline bool ck_owner_is_earlier(bool is_done,
                                       int64_t started,
                                       int64_t launcher_start,
                                       bool is_one_clock)
{
    return is_done && started > 0 && launcher_start > 0 &&
           started < launcher_start - (is_one_clock ? CK_OWNER_EARLIER_HERE
                                                    : CK_OWNER_EARLIER);
}

#endif
