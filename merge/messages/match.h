/* match.h - which send each receive got
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * By MPI's rules: of the messages with one communicator, source, destination
 * and tag the n-th sent is the n-th received, receives counted in the order
 * in which they were posted. A receive from any source or with any tag counts
 * once it is complete and says what it got; later ones that might have got the
 * same wait for it. The order of events between processes does not matter, so
 * clocks need not be aligned.
 *
 * No claim is made for a channel whose parts do not fit (other sizes, received
 * before sent on one clock, a canceled receive after its match), nor for a
 * process from which records are missing: those are counted.
 */
#ifndef CK_MERGE_MESSAGES_MATCH_H
#define CK_MERGE_MESSAGES_MATCH_H

#include "merge/model/cast.h"
#include "merge/timeline/timeline.h"

/* Ends of messages that are not over, and channels: of more none is kept. */
#define MATCH_POSTS_MAX ((uint32_t)1 << 17)
#define MATCH_CHANNELS_MAX ((size_t)1 << 20)

/* A call of MPI's. */
struct match_call {
    uint32_t thread; /* in the cast */
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
/* 0, or -1: match_take() ends with it. */
typedef int (*match_take_f)(void *state,
                            enum match_news news,
                            const struct match *match);

struct matcher;
/* Cast borrowed. NULL with ENOMEM. */
struct matcher *
matcher_create(const struct cast *cast, match_take_f take, void *state);
void matcher_destroy(struct matcher *matcher);
/* The next event, of any kind; each process's in its own order. `mark` goes
 * into the ends that it posts. 0, or -1 with ENOMEM or what `take` said. */
int matcher_take(struct matcher *matcher,
                 const struct timeline_event *event,
                 int64_t mark);

struct match_counts {
    uint64_t sends;
    uint64_t receives;
    uint64_t matched;
    uint64_t unfit; /* ends in channels whose parts do not fit */
};
struct match_counts matcher_counts(const struct matcher *matcher);

/* The number in the run of a process's communicator and the process's rank in
 * it; false when its members are not known. MPI_COMM_WORLD needs no record. */
bool match_place(const struct cast *cast,
                 const struct timeline_event *event,
                 uint32_t id,
                 uint32_t *comm,
                 int32_t *rank);
struct cast_comm;
/* The same, of a communicator that was looked up (NULL = not described). */
bool match_place_in(const struct cast_comm *comm,
                    const struct timeline_event *event,
                    uint32_t id,
                    uint32_t *number,
                    int32_t *rank);

#endif
