/* sharing.h - an idle time of a device being shared out among its causes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each piece of it goes into the rows, and into the sums of the device, by one
 * cause; what a loss or a tracer covers of it has that cause.
 */
#ifndef CK_MERGE_ANALYSIS_IDLE_SHARING_H
#define CK_MERGE_ANALYSIS_IDLE_SHARING_H

#include "merge/analysis/delays/delaysums.h"
#include "merge/analysis/delays/rows.h"
#include "merge/analysis/history/lookback.h"
#include "merge/analysis/idle/causekeys.h"
#include "merge/analysis/steps/when.h"
#include "merge/model/defs.h"

/* The time of a device with a cause. */
struct books_sum {
    ck_time_t ns;
    uint32_t last[ROWS_LAST]; /* rows that were added to last */
};

/* Is shown each piece of idle time, in order of time for a device. */
typedef void (*sharing_see_f)(void *state,
                              const struct ledger_row *row,
                              struct region part);

/* Where it goes. */
struct books {
    const struct defs *defs;   /* borrowed */
    struct lookback *lookback; /* borrowed */
    struct when *when;         /* by cause; borrowed, NULL = not asked for */
    struct causekeys *keys;
    struct steps *steps; /* of that */
    struct region region;
    struct rows *rows;
    struct books_sum *sums;    /* device * CAUSES + cause */
    const struct delay *delay; /* borrowed; NULL = not asked for */
    struct delaysums *delays;  /* NULL = the same */
    sharing_see_f see;         /* NULL = not asked for */
    void *see_state;
};

/* An idle time being shared out. */
struct sharing {
    struct books *books; /* borrowed */
    uint32_t device;
    uint32_t process;      /* of h */
    uint32_t thread;       /* h, that launched; HISTORY_NONE */
    ck_time_t begin;       /* until when h's rank is in its startup; 0 */
    ck_time_t from;        /* sharing_tail: what is behind is not entered */
    ck_time_t error;       /* of the wait, for each rank that is blamed */
    struct ledger_row row; /* what the next pieces are */
    bool has_ended;        /* the rank that is blamed for them */
    struct delay_of delay; /* what the wait cost */
    uint32_t site;         /* of the call that is waited in */
};

/* The part of the region in which the device was recorded. */
static inline struct region sharing_region(const struct sharing *sharing)
{
    struct region region = sharing->books->region;

    defs_window(sharing->books->defs, sharing->device, &region.start,
                &region.end);
    return region;
}

/* Enter a piece that has that cause, because of an activity of h (DEFS_NONE =
 * none). */
void sharing_plain(struct sharing *sharing,
                   struct region piece,
                   enum cause cause,
                   uint32_t did);
/* Enter a piece with sharing->row as it is. */
void sharing_piece(struct sharing *sharing, struct region piece);
/* history_take_f: enter a piece by what h did in it. */
void sharing_host(void *state,
                  struct region piece,
                  const struct history_state *did);
/* The same behind the last operation, sharing->from its start: only where h
 * waits for other ranks, which may have had more work for it. The rest, of
 * which there is no work, is entered up to sharing->from.
 */
void sharing_tail(void *state,
                  struct region piece,
                  const struct history_state *did);

#endif
