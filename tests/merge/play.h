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

#include "merge/align.h"
#include "merge/analysis/waitkind.h"
#include "merge/cast.h"
#include "merge/interval.h"

#define PLAY_RANKS 4
#define PLAY_COMMS 3 /* all ranks; a line of them; a directed graph */
#define EVENTS 1024
#define SPANS 512

union record {
    struct ck_event e;
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
    struct cast *cast;
    struct align *align;
    ck_time_t now[PLAY_RANKS];
    int64_t ideal[PLAY_RANKS];
    uint32_t call[PLAY_RANKS];
    uint64_t request;
    uint32_t seqs[PLAY_COMMS]; /* by number of the communicator - 1 */
};

/* The ranks, once a test; then a program of theirs with its events in order of
 * time. Failures end the test. */
void play_cast(struct world *world);
void play_world(struct world *world);

#endif
