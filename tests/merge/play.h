/* play.h - random MPI programs that know for whom their ranks wait
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Played operation by operation: each knows when its calls are entered and
 * left, for whom they wait and until when, and when they would be over on a
 * network that takes no time.
 */
#ifndef CK_TESTS_MERGE_PLAY_H
#define CK_TESTS_MERGE_PLAY_H

#include "merge/clocks/align.h"
#include "merge/messages/waitkind.h"
#include "merge/model/defs.h"
#include "merge/model/interval.h"

#define PLAY_RANKS 4
#define PLAY_COMMS 3 /* all ranks; a line of them; a directed graph */
#define EVENTS 1024
#define SPANS 512

/* Functions of libc that play_deeds() calls, by number. */
#define PLAY_DEEDS 3
#define PLAY_SITES 2 /* places that each is called from: 1 and 2 */

union record {
    struct ck_event e;
    struct ck_mark mark;
    struct ck_call call;
    struct ck_message message;
    struct ck_collective collective;
};

struct event {
    union record record;
    ck_time_t end;
    int rank;
    size_t order;
};

/* A rank that waits, as the program knows it. */
struct truth {
    int rank;
    ck_time_t start, until;
    int whom;
    enum wait_kind kind;
};

struct world {
    struct event events[EVENTS];
    size_t count;
    struct truth truths[SPANS];
    size_t truths_count;
    struct region region;
    struct defs *defs;
    struct align *align;
    ck_time_t now[PLAY_RANKS];
    int64_t ideal[PLAY_RANKS];
    uint32_t call[PLAY_RANKS];
    uint64_t request;
    uint32_t seqs[PLAY_COMMS]; /* by number of the communicator - 1 */
};

/* What a rank does at one instant, beside waiting. */
struct play_deed {
    const char *call; /* NULL = it computes */
    uint64_t site;    /* of a function of libc; 0 */
    bool is_preempted;
};

/* The ranks, once a test; then a program of theirs with its events in order of
 * time. Failures end the test. */
void play_cast(struct world *world);
void play_world(struct world *world);
/* Fill the time between the program's MPI calls with calls of libc and times
 * without a CPU. */
void play_deeds(struct world *world);
struct play_deed play_deed(const struct world *world, int rank, ck_time_t t);

#endif
