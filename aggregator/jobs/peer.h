/* peer.h - one agent's life as ckagg sees it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A peer is found by its agent id; a hello binds it to a connection (route).
 * It owns its store. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_JOBS_PEER_H
#define CK_AGGREGATOR_JOBS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregator/socket/route.h"
#include "aggregator/store/store.h"
#include "schema/frame.h"
#include "schema/time.h"

enum peer_state {
    PEER_KNOWN,  /* found in the run directory, no message yet */
    PEER_RUN,    /* sent HELLO */
    PEER_SILENT, /* no beat for a while: stopped, cut off, or gone */
    PEER_LEFT,   /* sent GOODBYE: nothing will follow */
    PEER_DEAD,   /* silent and its process is gone */
    PEER_STATES
};

enum peer_event {
    PEER_HELLO,
    PEER_HEARD, /* any good message */
    PEER_QUIET, /* nothing for the beat time-out */
    PEER_GOODBYE,
    PEER_GONE, /* its process does not exist, or it is away too long */
    PEER_EVENTS
};

enum peer_verdict {
    PEER_STORED,
    PEER_STORED_BEFORE,
    PEER_FOREIGN, /* another agent's frame, or in ckagg's own stream */
    PEER_FULL,    /* no room on the disk; errno. It has to send again */
    PEER_REFUSED, /* not storable: errno (too many streams) */
};

/* How long until a peer is silent, or lost. */
struct peer_limits {
    ck_time_t beat;   /* silence that makes PEER_SILENT */
    ck_time_t remote; /* silence that makes a peer of another host dead */
};

/* What a peer reported of itself. Texts are cut at their size. */
struct peer_facts {
    int64_t rank; /* -1 = none */
    int64_t size; /* of its world; 0 = not known */
    int64_t pid;
    int64_t uid; /* -1 = not known */
    char host[65];
    char boot_id[40];
    char command[256];
    uint64_t events; /* of its last beat or goodbye */
    uint64_t lost;
    uint64_t cpu_ns;
    uint64_t spool_bytes;
    char spool_path[1024]; /* where it left what found no room here */
    int64_t status;        /* wait status of its target */
    bool has_status;
};

struct peer;

/* The store is taken. NULL with ENOMEM (the store is not). A store that has
 * frames already makes a PEER_KNOWN (PEER_LEFT when the exit is in it). */
struct peer *peer_create(const uint8_t agent[16], struct store *store);
void peer_destroy(struct peer *peer);

const char *peer_state_name(enum peer_state state);
/* The state that follows; a pure table. */
enum peer_state peer_next(enum peer_state state, enum peer_event event);

/* Identity lines of a hello. */
void peer_hello(struct peer *peer,
                const struct route *route,
                const char *lines,
                size_t length,
                ck_time_t now);
/* Counters of a beat or a goodbye. */
void peer_count(struct peer *peer, const char *lines, size_t length);
void peer_heard(struct peer *peer, ck_time_t now);
void peer_goodbye(struct peer *peer, ck_time_t now);
/* Look whether it is silent or gone. True when the state changed. */
bool peer_judge(struct peer *peer,
                const struct peer_limits *limits,
                ck_time_t now);
/* Store a verified frame. */
enum peer_verdict peer_frame(struct peer *peer,
                             const struct ck_frame_header *header,
                             const void *frame);
/* True since a frame met a full disk, until the next hello. */
bool peer_is_full(const struct peer *peer);
/* Its GOODBYE came, and it keeps what is not stored. */
bool peer_is_kept(const struct peer *peer);
/* Bytes stored since the last acknowledgement was taken. */
uint64_t peer_bytes_due(const struct peer *peer);
/* An acknowledgement is owed for something. */
bool peer_is_due(const struct peer *peer);
/* Take the acknowledgements due, or all positions; how many. */
size_t peer_acks_due(struct peer *peer, struct ck_ack *acks, size_t room);
size_t peer_acks_all(const struct peer *peer, struct ck_ack *acks, size_t room);
/* They could not be sent. */
void peer_acks_failed(struct peer *peer);

/* All borrowed. */
const uint8_t *peer_agent(const struct peer *peer);
enum peer_state peer_state(const struct peer *peer);
/* True while something may still come. */
bool peer_is_active(const struct peer *peer);
const struct peer_facts *peer_facts(const struct peer *peer);
const struct route *peer_route(const struct peer *peer); /* NULL: no hello */
void peer_unroute(struct peer *peer);
struct store *peer_store(struct peer *peer);
ck_time_t peer_last_heard(const struct peer *peer);
ck_time_t peer_last_left(const struct peer *peer);

#endif
