/* collective.h - who came last to a collective call, and who waited for it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Collectives are matched by communicator and number. With E_i the time that
 * member i entered (a non-blocking one: posted it), a rank waits until
 *
 *     all to all      max E_j
 *     one to all      E_root, if it is not the root
 *     all to one      max E_j of the others, if it is the root
 *     scan            max E_j of the ranks up to its own
 *     neighbourhood   max E_j of the ranks that it receives from
 *
 * provided that it receives something (a barrier, or the making of a
 * communicator: always).
 */
#ifndef CK_MERGE_MESSAGES_COLLECTIVE_H
#define CK_MERGE_MESSAGES_COLLECTIVE_H

#include "merge/timeline/timeline.h"

/* Calls of one communicator that are kept; older ones are forgotten. */
#define COLLECTIVE_WINDOW 1024

enum collective_role {
    COLLECTIVE_OTHER, /* not known to wait for any rank */
    COLLECTIVE_BARRIER,
    COLLECTIVE_ALL,
    COLLECTIVE_FROM_ROOT,
    COLLECTIVE_TO_ROOT,
    COLLECTIVE_SCAN,
    COLLECTIVE_NEIGHBOUR,
    COLLECTIVE_FILE, /* a barrier, unless a rank left before all had come */
};
/* Of a function, in any of its forms: blocking, I..., ..._init, ..._c. */
enum collective_role collective_role(const char *function);

/* A rank's part in a collective. */
struct collective_call {
    uint32_t comm; /* within `collective`; DEFS_NONE = not known */
    uint32_t seq;
    int32_t rank; /* in the communicator */
    enum collective_role role;
    bool is_waiting; /* its rank may have to wait for others */
    bool is_root;
    const char *sources;   /* of a neighbourhood: "0-3,8"; NULL = not known */
    ck_time_t enter, exit; /* of a blocking one */
    bool is_heavy; /* what it gives may have to wait until others take it */
};

/* Until when a call had to wait, and for whom. */
struct collective_wait {
    ck_time_t until; /* <= enter: did not wait */
    uint32_t thread; /* that came last, in the definitions; DEFS_NONE */
    int64_t mark;    /* largest of those of the ranks it waits for */
};

/* All parts of one blocking collective, once the last has come. */
struct collective_part {
    uint32_t process;
    uint32_t thread; /* DEFS_NONE = none */
    ck_time_t enter;
    ck_time_t exit;
    int64_t mark;
    bool is_root;
    bool sends; /* something */
    bool receives;
};
struct collective_meeting {
    enum collective_role role;
    bool is_sparse; /* some may exchange nothing with each other */
    bool has_bytes; /* no rank sent or received nothing */
    uint32_t size;
    const struct collective_part *parts; /* by rank in the communicator */
};
/* 0, or -1: collective_enter() ends with it. */
typedef void (*collective_meet_f)(void *state,
                                  const struct collective_meeting *meeting);

struct collective;
/* Definitions borrowed. `meet` may be NULL. */
struct collective *
collective_create(const struct defs *defs, collective_meet_f meet, void *state);
void collective_destroy(struct collective *collective);
/* Enter a COLLECTIVE or ICOLLECTIVE record; `mark` is kept for its rank. */
void collective_enter(struct collective *collective,
                      const struct timeline_event *event,
                      int64_t mark,
                      struct collective_call *call);
/* False when not all that it takes is known: a member's call is not recorded,
 * or the merge has not come to it. */
bool collective_wait(const struct collective *collective,
                     const struct collective_call *call,
                     struct collective_wait *wait);

#endif
