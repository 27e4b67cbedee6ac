/* store.h - what is stored of one agent: its segments, its positions
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One a peer, in the run directory of its job. Opening segments that are
 * there already rebuilds the positions from its frames, so that a ckagg that
 * was killed goes on where it was. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_STORE_STORE_H
#define CK_AGGREGATOR_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregator/store/positions.h"
#include "aggregator/store/thin.h"
#include "launch/keep.h"
#include "schema/err.h"
#include "schema/frame.h"

/* Longest identity text kept. */
#define STORE_IDENTITY_BYTES 8192

struct store;

/* Figures of a store. */
struct store_facts {
    uint64_t frames;  /* stored */
    uint64_t records; /* in them */
    uint64_t bytes;   /* of the segments */
    uint64_t segments;
    uint64_t old;         /* frames that were stored already, dropped */
    uint64_t failed;      /* frames that could not be written */
    uint64_t missing;     /* units between frames that never came */
    uint64_t undiscarded; /* times that a segment could not be discarded */
    struct thin_note discarded;
};

enum store_result {
    STORE_FAILED = -1, /* errno; nothing was written */
    STORE_DONE = 0,
    STORE_OLD = 1, /* all of it was stored before */
};

/* Open or make the agent's segments in `dir`. NULL with errno and err. */
struct store *
store_create(const char *dir, const uint8_t agent[16], struct ck_err *err);
void store_destroy(struct store *store);

/* Keep the newest so much of this agent, from now on. */
void store_keep(struct store *store, const struct ck_keep *keep);
/* Append a verified frame of this agent as it is. */
enum store_result store_append(struct store *store,
                               const struct ck_frame_header *header,
                               const void *frame);
/* Identity lines found in the segments when they were opened; "" if none.
 * Borrowed. */
const char *store_identity(const struct store *store);
/* True when the segment, as it was opened, ends with the target's exit. */
bool store_has_exit(const struct store *store);

struct store_facts store_facts(const struct store *store);
struct positions *store_positions(struct store *store); /* borrowed */
/* Write the agent's part of an index of frames (frameindex.h), by which a
 * question may read the last `most` bytes whole. False where there is none: of
 * what is kept only in part all is read. */
bool store_index(struct store *store, uint64_t most, FILE *file);
/* Write what the system holds back to the disk. 0 or -1 with errno. */
int store_sync(struct store *store);

#endif
