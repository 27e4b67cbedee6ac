/* matched.h - a message whose two ends are known to belong together
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MESSAGES_MATCHED_H
#define CK_MERGE_MESSAGES_MATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* A call of MPI's. */
struct match_call {
    uint32_t thread; /* in the definitions */
    uint32_t number; /* in its thread */
    uint32_t name;   /* of the process */
};

/* One end of a message: from the call that posted it to the one in which it
 * was complete; for blocking calls they are one. */
struct match_end {
    uint32_t process;
    struct match_call posted;
    ck_time_t post; /* enter of that call */
    bool is_done;
    struct match_call completed;
    ck_time_t done; /* return of that call */
    int64_t mark;   /* the caller's, of the posting call */
};

struct match {
    uint32_t comm;  /* in the run */
    int32_t source; /* ranks in it */
    int32_t destination;
    int32_t tag;
    uint64_t bytes;
    struct match_end send;
    struct match_end recv;
};

enum match_news {
    MATCH_COMPLETED, /* an end is complete: the one that is_done holds */
    MATCH_RECEIVED,  /* a receive is complete and its send known */
    MATCH_SENT,      /* a send is complete and its receive known */
    MATCH_PROBED,    /* `recv` is the probe that saw the message */
};
/* Is given each match as it is found. */
typedef void (*match_take_f)(void *state,
                             enum match_news news,
                             const struct match *match);

struct match_counts {
    uint64_t sends;
    uint64_t receives;
    uint64_t matched;
    uint64_t unfit; /* ends in channels whose parts do not fit */
};

#endif
