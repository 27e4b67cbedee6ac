/* peer.c - one agent's life as ckagg sees it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/jobs/peer.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "schema/clock/domain.h"
#include "schema/ring/ring.h"
#include "schema/store/run.h"

struct peer {
    uint8_t agent[16];
    enum peer_state state;
    struct route route;
    bool has_route;
    bool is_full;
    bool is_kept;
    bool is_due;
    bool is_local; /* its pid means something here */
    uint64_t bytes_due;
    ck_time_t last_heard;
    ck_time_t last_left;
    struct store *store;
    struct peer_facts facts;
};

/* Rows: state; columns: HELLO HEARD QUIET GOODBYE GONE. A goodbye holds
 * until the next hello, whatever is late; only a silent peer can be dead.
 */
static const enum peer_state table[PEER_STATES][PEER_EVENTS] = {
    [PEER_KNOWN] = {PEER_RUN, PEER_KNOWN, PEER_KNOWN, PEER_LEFT, PEER_DEAD},
    [PEER_RUN] = {PEER_RUN, PEER_RUN, PEER_SILENT, PEER_LEFT, PEER_RUN},
    [PEER_SILENT] = {PEER_RUN, PEER_RUN, PEER_SILENT, PEER_LEFT, PEER_DEAD},
    [PEER_LEFT] = {PEER_RUN, PEER_LEFT, PEER_LEFT, PEER_LEFT, PEER_LEFT},
    [PEER_DEAD] = {PEER_RUN, PEER_RUN, PEER_DEAD, PEER_LEFT, PEER_DEAD},
};

static const char *const state_names[PEER_STATES] = {
    [PEER_KNOWN] = "known", [PEER_RUN] = "run",   [PEER_SILENT] = "silent",
    [PEER_LEFT] = "left",   [PEER_DEAD] = "dead",
};

const char *peer_state_name(enum peer_state state)
{
    return (unsigned)state < PEER_STATES ? state_names[state] : "?";
}

enum peer_state peer_next(enum peer_state state, enum peer_event event)
{
    return table[state][event];
}

static bool peer_take(struct peer *peer, enum peer_event event, ck_time_t now)
{
    enum peer_state next = peer_next(peer->state, event);
    bool is_changed = next != peer->state;

    peer->state = next;
    if (is_changed && (next == PEER_LEFT || next == PEER_DEAD)) {
        peer->last_left = now;
    }
    return is_changed;
}

static int64_t
lines_number(const char *lines, size_t length, const char *key, int64_t other)
{
    char text[32];
    char *end;
    long long value;

    if (!ck_lines_get(lines, length, key, text, sizeof(text)) || !text[0]) {
        return other;
    }
    errno = 0;
    value = strtoll(text, &end, 10);
    return *end || errno ? other : value;
}

/* Text for people and files: control characters out, cut at room. */
static void lines_text(
    const char *lines, size_t length, const char *key, char *text, size_t room)
{
    if (!ck_lines_get(lines, length, key, text, room)) {
        text[0] = '\0';
    }
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
}

static void peer_identify(struct peer *peer, const char *lines, size_t length)
{
    struct peer_facts *facts = &peer->facts;
    int64_t space;

    facts->rank = lines_number(lines, length, "rank", -1);
    facts->size = lines_number(lines, length, "size", 0);
    facts->pid = lines_number(lines, length, "pid", 0);
    facts->uid = lines_number(lines, length, "uid", -1);
    lines_text(lines, length, "host", facts->host, sizeof(facts->host));
    lines_text(lines, length, "boot_id", facts->boot_id,
               sizeof(facts->boot_id));
    lines_text(lines, length, "command", facts->command,
               sizeof(facts->command));
    /* In a container of this machine pids are others. */
    space = lines_number(lines, length, "pid_space", 0);
    peer->is_local = ck_domain_is_here(facts->boot_id) &&
                     (space == 0 || space == (int64_t)ck_ring_pid_space());
}

struct peer *peer_create(const uint8_t agent[16], struct store *store)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    const char *lines = store_identity(store);

    if (!peer) {
        return NULL;
    }
    memcpy(peer->agent, agent, sizeof(peer->agent));
    peer->facts.rank = -1;
    peer->store = store;
    peer->last_heard = ck_time_raw();
    peer_identify(peer, lines, strlen(lines));
    if (store_has_exit(store)) {
        peer->state = PEER_LEFT;
        peer->last_left = peer->last_heard;
    }
    return peer;
}

void peer_destroy(struct peer *peer)
{
    int saved = errno;

    if (peer) {
        store_destroy(peer->store);
        free(peer);
    }
    errno = saved;
}

void peer_hello(struct peer *peer,
                const struct route *route,
                const char *lines,
                size_t length,
                ck_time_t now)
{
    peer_identify(peer, lines, length);
    peer->route = *route;
    peer->has_route = true;
    peer->is_full = false;
    peer->is_kept = false;
    peer->facts.spool_path[0] = '\0';
    peer->last_heard = now;
    (void)peer_take(peer, PEER_HELLO, now);
}

void peer_count(struct peer *peer, const char *lines, size_t length)
{
    struct peer_facts *facts = &peer->facts;
    int64_t status = lines_number(lines, length, "status", -1);

    facts->events =
        (uint64_t)lines_number(lines, length, "events", (int64_t)facts->events);
    facts->lost =
        (uint64_t)lines_number(lines, length, "lost", (int64_t)facts->lost);
    facts->cpu_ns =
        (uint64_t)lines_number(lines, length, "cpu_ns", (int64_t)facts->cpu_ns);
    facts->spool_bytes = (uint64_t)lines_number(lines, length, "spool",
                                                (int64_t)facts->spool_bytes);
    if (ck_lines_get(lines, length, "spool_path", facts->spool_path,
                     sizeof(facts->spool_path))) {
        lines_text(lines, length, "spool_path", facts->spool_path,
                   sizeof(facts->spool_path));
        peer->is_kept = true;
    }
    if (status >= 0) {
        facts->status = status;
        facts->has_status = true;
    }
}

void peer_heard(struct peer *peer, ck_time_t now)
{
    peer->last_heard = now;
    (void)peer_take(peer, PEER_HEARD, now);
}

void peer_goodbye(struct peer *peer, ck_time_t now)
{
    peer->last_heard = now;
    (void)peer_take(peer, PEER_GOODBYE, now);
}

bool peer_judge(struct peer *peer,
                const struct peer_limits *limits,
                ck_time_t now)
{
    ck_time_t silence = now - peer->last_heard;
    bool is_changed;

    if (!peer_is_active(peer) || silence < limits->beat) {
        return false;
    }
    is_changed = peer_take(peer, PEER_QUIET, now);
    /* A stopped process is silent, but there. */
    if (peer->is_local && peer->facts.pid > 0 && peer->facts.pid <= INT32_MAX) {
        if (kill((pid_t)peer->facts.pid, 0) != 0 && errno == ESRCH) {
            is_changed |= peer_take(peer, PEER_GONE, now);
        }
    } else if (silence >= limits->remote) {
        is_changed |= peer_take(peer, PEER_GONE, now);
    }
    return is_changed;
}

enum peer_verdict peer_frame(struct peer *peer,
                             const struct ck_frame_header *header,
                             const void *frame)
{
    if (memcmp(header->agent, peer->agent, sizeof(peer->agent)) != 0) {
        return PEER_FOREIGN;
    }
    if (header->stream.slot == CK_SLOT_AGGREGATOR) {
        return PEER_FOREIGN;
    }
    if (peer->is_full) {
        /* A later frame must not be stored in front of one dropped. */
        errno = ENOSPC;
        return PEER_FULL;
    }
    switch (store_append(peer->store, header, frame)) {
    case STORE_DONE:
        peer->bytes_due += ck_frame_bytes(header);
        peer->is_due = true;
        return PEER_STORED;
    case STORE_OLD:
        peer->is_due = true;
        return PEER_STORED_BEFORE;
    case STORE_FAILED:
        break;
    }
    if (errno == ENOBUFS) {
        return PEER_REFUSED;
    }
    peer->is_full = true;
    return PEER_FULL;
}

bool peer_is_full(const struct peer *peer)
{
    return peer->is_full;
}

bool peer_is_kept(const struct peer *peer)
{
    return peer->is_kept;
}

uint64_t peer_bytes_due(const struct peer *peer)
{
    return peer->bytes_due;
}

bool peer_is_due(const struct peer *peer)
{
    return peer->is_due;
}

size_t peer_acks_due(struct peer *peer, struct ck_ack *acks, size_t room)
{
    peer->bytes_due = 0;
    peer->is_due = false;
    return positions_acks_due(store_positions(peer->store), acks, room);
}

size_t peer_acks_all(const struct peer *peer, struct ck_ack *acks, size_t room)
{
    return positions_acks(store_positions(peer->store), acks, room);
}

void peer_acks_failed(struct peer *peer)
{
    peer->is_due = true;
    positions_due_again(store_positions(peer->store));
}

const uint8_t *peer_agent(const struct peer *peer)
{
    return peer->agent;
}

enum peer_state peer_state(const struct peer *peer)
{
    return peer->state;
}

bool peer_is_active(const struct peer *peer)
{
    return peer->state != PEER_LEFT && peer->state != PEER_DEAD;
}

const struct peer_facts *peer_facts(const struct peer *peer)
{
    return &peer->facts;
}

const struct route *peer_route(const struct peer *peer)
{
    return peer->has_route ? &peer->route : NULL;
}

void peer_unroute(struct peer *peer)
{
    peer->has_route = false;
}

struct store *peer_store(struct peer *peer)
{
    return peer->store;
}

ck_time_t peer_last_heard(const struct peer *peer)
{
    return peer->last_heard;
}

ck_time_t peer_last_left(const struct peer *peer)
{
    return peer->last_left;
}
