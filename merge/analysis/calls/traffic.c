/* traffic.c - what ranks sent each other, and the sizes of their messages
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A flow is what a process does with one peer (a rank) in one communicator, or
 * with all of them in collectives. What follows from that, the pair of ranks
 * and the communicator's label, is looked up once: for each record there is but
 * a place in a small cache, and some additions.
 */
#include "merge/analysis/calls/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* No rank has it: the flow of collectives. */
#define PEER_ALL INT32_MIN

#define FLOWS_KNOWN 2048
/* Flows that are kept; the places of more are looked up each time. */
#define FLOWS_MAX ((size_t)1 << 18)
#define NO_PAIR UINT32_MAX

struct flow {
    uint32_t out; /* pair from the process to its peer, or NO_PAIR */
    uint32_t in;
    uint32_t sizes;
};

struct known {
    uint32_t process; /* DEFS_NONE = unused */
    uint32_t comm;
    int32_t peer;
    struct flow flow;
};

struct pair {
    struct report_messages sent;
    struct report_messages received;
    struct report_pair_waits waits;
};

struct traffic {
    const struct defs *defs; /* borrowed */
    bool is_by_host;
    uint32_t *groups; /* by index of a rank: itself, or its host */
    const char **hosts;
    size_t hosts_count;
    struct table *pair_keys; /* group + 1 of sender and receiver */
    struct pair *pairs;
    size_t pairs_count, pairs_room;
    struct report_messages left_out;
    struct table *wait_keys; /* by host: waiting rank, awaited one */
    struct report_rank_waits *waits;
    size_t waits_count, waits_room;
    ck_time_t waits_left_out;
    struct table *flow_keys;
    struct flow *flows;
    size_t flows_count, flows_room;
    struct table *size_keys; /* address of the label */
    struct table *comm_keys; /* label, communicator of the run */
    struct report_sizes *sizes;
    size_t sizes_count, sizes_room;
    struct known known[FLOWS_KNOWN];
};

/* ---- groups ------------------------------------------------------------- */

/* Number of a host; hosts without a name are one. */
static uint32_t history_number(struct traffic *traffic, const char *host)
{
    for (size_t i = 0; i < traffic->hosts_count; i++) {
        if (strcmp(traffic->hosts[i], host) == 0) {
            return (uint32_t)i;
        }
    }
    traffic->hosts[traffic->hosts_count++] = host;
    return (uint32_t)traffic->hosts_count - 1;
}

static void groups_fill(struct traffic *traffic)
{
    const struct defs *defs = traffic->defs;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        const char *host = defs->agents[defs->ranks[i].agent].host;

        traffic->groups[i] =
            traffic->is_by_host
                ? history_number(traffic, host == NULL ? "" : host)
                : (uint32_t)i;
    }
}

/* The rank in keys of pairs; 0 = not known. */
static uint64_t group_of(const struct traffic *traffic, int32_t rank)
{
    uint32_t index = defs_rank_index(traffic->defs, rank);

    return index == DEFS_NONE ? 0 : (uint64_t)traffic->groups[index] + 1;
}

struct traffic *traffic_create(const struct defs *defs)
{
    struct traffic *traffic = xcalloc(1, sizeof(*traffic));

    traffic->defs = defs;
    traffic->is_by_host = defs->ranks_count > TRAFFIC_RANKS_MAX;
    traffic->groups = xcalloc(defs->ranks_count + 1, sizeof(*traffic->groups));
    traffic->hosts = xcalloc(defs->ranks_count + 1, sizeof(*traffic->hosts));
    traffic->pair_keys = table_create();
    traffic->wait_keys = table_create();
    traffic->flow_keys = table_create();
    traffic->size_keys = table_create();
    traffic->comm_keys = table_create();
    groups_fill(traffic);
    for (size_t i = 0; i < FLOWS_KNOWN; i++) {
        traffic->known[i].process = DEFS_NONE;
    }
    return traffic;
}

void traffic_destroy(struct traffic *traffic)
{
    if (traffic == NULL) {
        return;
    }
    table_destroy(traffic->pair_keys);
    table_destroy(traffic->wait_keys);
    table_destroy(traffic->flow_keys);
    table_destroy(traffic->size_keys);
    table_destroy(traffic->comm_keys);
    free(traffic->groups);
    free(traffic->hosts);
    free(traffic->pairs);
    free(traffic->waits);
    free(traffic->flows);
    free(traffic->sizes);
    free(traffic);
}

/* ---- pairs -------------------------------------------------------------- */

/* Number of a pair of groups, NO_PAIR where there are too many. */
static void
pair_find(struct traffic *traffic, uint64_t from, uint64_t to, uint32_t *pair)
{
    struct table_key key = {from, to, 0};
    int64_t number;

    *pair = NO_PAIR;
    if (traffic->pairs_count == TRAFFIC_PAIRS_MAX &&
        !table_has(traffic->pair_keys, key)) {
        return;
    }
    number = table_number(traffic->pair_keys, key);
    if ((size_t)number == traffic->pairs_count) {
        array_grow(&traffic->pairs, &traffic->pairs_room, traffic->pairs_count,
                   sizeof(*traffic->pairs));
        memset(&traffic->pairs[traffic->pairs_count++], 0,
               sizeof(*traffic->pairs));
    }
    *pair = (uint32_t)number;
}

/* ---- labels ------------------------------------------------------------- */

/* Room for the sizes of a label. */
static void
sizes_find(struct traffic *traffic, const char *label, uint32_t *sizes)
{
    struct table_key key = {(uint64_t)(uintptr_t)label, 0, 0};
    int64_t number;

    if (traffic->sizes_count >= TRAFFIC_SIZES_MAX - 1 &&
        !table_has(traffic->size_keys, key)) {
        key.a = 0; /* all others */
        label = NULL;
    }
    number = table_number(traffic->size_keys, key);
    if ((size_t)number == traffic->sizes_count) {
        array_grow(&traffic->sizes, &traffic->sizes_room, traffic->sizes_count,
                   sizeof(*traffic->sizes));
        memset(&traffic->sizes[number], 0, sizeof(*traffic->sizes));
        traffic->sizes[traffic->sizes_count++].comm = label;
    }
    *sizes = (uint32_t)number;
}

/* The sizes that a process's communicator belongs to. */
static void comm_sizes(struct traffic *traffic,
                       uint32_t process,
                       uint32_t id,
                       uint32_t *sizes)
{
    const struct defs_comm *comm = comm_find(traffic->defs, process, id);
    const char *label = comm_label(traffic->defs, process, id);
    size_t known = table_count(traffic->comm_keys);
    struct table_key key;

    sizes_find(traffic, label, sizes);
    if (id == COMM_WORLD && traffic->sizes[*sizes].comm != NULL) {
        traffic->sizes[*sizes].comms = 1;
        return;
    }
    if (comm == NULL || comm->global == DEFS_NONE || known >= FLOWS_MAX) {
        return;
    }
    key = (struct table_key){*sizes, comm->global, 0};
    table_number(traffic->comm_keys, key);
    traffic->sizes[*sizes].comms += table_count(traffic->comm_keys) > known;
}

/* ---- flows -------------------------------------------------------------- */

/* Look up where a flow is counted. */
static void flow_make(struct traffic *traffic,
                      const struct timeline_event *event,
                      uint32_t id,
                      int32_t peer,
                      struct flow *flow)
{
    uint64_t own, other;

    flow->out = flow->in = NO_PAIR;
    comm_sizes(traffic, event->process, id, &flow->sizes);
    if (peer == PEER_ALL) {
        return;
    }
    own = group_of(traffic, event->rank);
    other =
        group_of(traffic, comm_member(traffic->defs, event->process, id, peer));
    pair_find(traffic, own, other, &flow->out);
    pair_find(traffic, other, own, &flow->in);
}

/* The flow, kept if there is room. */
static void flow_look(struct traffic *traffic,
                      const struct timeline_event *event,
                      uint32_t id,
                      int32_t peer,
                      struct flow *flow)
{
    struct table_key key = {event->process, id, (uint32_t)peer};
    int64_t number;

    if (traffic->flows_count == FLOWS_MAX &&
        !table_has(traffic->flow_keys, key)) {
        flow_make(traffic, event, id, peer, flow);
        return;
    }
    number = table_number(traffic->flow_keys, key);
    if ((size_t)number == traffic->flows_count) {
        array_grow(&traffic->flows, &traffic->flows_room, traffic->flows_count,
                   sizeof(*flow));
        flow_make(traffic, event, id, peer,
                  &traffic->flows[traffic->flows_count]);
        traffic->flows_count++;
    }
    *flow = traffic->flows[number];
}

/* The same, without a search for one that came lately. */
static inline const struct flow *flow_find(struct traffic *traffic,
                                           const struct timeline_event *event,
                                           uint32_t id,
                                           int32_t peer)
{
    uint32_t hash = event->process * 0x9e3779b1u ^
                    (uint32_t)peer * 0x85ebca6bu ^ id * 0xc2b2ae35u;
    struct known *known = &traffic->known[hash >> 21];

    if (known->process != event->process || known->comm != id ||
        known->peer != peer) {
        struct flow flow;

        flow_look(traffic, event, id, peer, &flow);
        *known = (struct known){event->process, id, peer, flow};
    }
    return &known->flow;
}

_Static_assert(FLOWS_KNOWN == 1 << (32 - 21), "as many as the hash has");

static inline void messages_add(struct report_messages *messages,
                                uint64_t bytes)
{
    messages->count++;
    messages->bytes += bytes;
}

void traffic_sent(struct traffic *traffic,
                  const struct timeline_event *event,
                  const struct ck_message *message)
{
    const struct flow *flow =
        flow_find(traffic, event, message->comm, message->peer);
    struct report_sizes *sizes;

    sizes = &traffic->sizes[flow->sizes];
    messages_add(flow->out == NO_PAIR ? &traffic->left_out
                                      : &traffic->pairs[flow->out].sent,
                 message->bytes);
    messages_add(&sizes->bins[report_bin(message->bytes)], message->bytes);
}

void traffic_received(struct traffic *traffic,
                      const struct timeline_event *event,
                      const struct ck_message *message)
{
    const struct flow *flow =
        flow_find(traffic, event, message->comm, message->peer);

    if (flow->in != NO_PAIR) {
        messages_add(&traffic->pairs[flow->in].received, message->bytes);
    }
}

void traffic_collective(struct traffic *traffic,
                        const struct timeline_event *event,
                        const struct ck_collective *collective)
{
    const struct flow *flow =
        flow_find(traffic, event, collective->comm, PEER_ALL);
    struct report_collectives *bin;
    uint64_t larger = collective->bytes_out > collective->bytes_in
                          ? collective->bytes_out
                          : collective->bytes_in;

    bin = &traffic->sizes[flow->sizes].collective_bins[report_bin(larger)];
    bin->count++;
    bin->out += collective->bytes_out;
    bin->in += collective->bytes_in;
}

/* Of a pair, which time a wait of that kind is. */
static ck_time_t *wait_of(struct report_pair_waits *waits, enum wait_kind kind)
{
    switch (kind) {
    case WAIT_LATE_RECEIVER:
        return &waits->receiver;
    case WAIT_LATE_SENDER:
    case WAIT_LATE_DATA:
        return &waits->sender;
    default:
        return &waits->collective;
    }
}

/* The same by rank, where pairs are of hosts. */
static void rank_wait(struct traffic *traffic,
                      int32_t waiting,
                      int32_t awaited,
                      ck_time_t ns,
                      uint64_t count)
{
    struct table_key key = {(uint32_t)waiting, (uint32_t)awaited, 0};
    int64_t number;

    if (traffic->waits_count == TRAFFIC_PAIRS_MAX &&
        !table_has(traffic->wait_keys, key)) {
        traffic->waits_left_out += ns;
        return;
    }
    number = table_number(traffic->wait_keys, key);
    if ((size_t)number == traffic->waits_count) {
        array_grow(&traffic->waits, &traffic->waits_room, traffic->waits_count,
                   sizeof(*traffic->waits));
        traffic->waits[traffic->waits_count++] =
            (struct report_rank_waits){.rank = waiting, .awaited = awaited};
    }
    traffic->waits[number].ns += ns;
    traffic->waits[number].count += count;
}

void traffic_wait(struct traffic *traffic,
                  enum wait_kind kind,
                  int32_t waiting,
                  int32_t awaited,
                  ck_time_t ns,
                  uint64_t count)
{
    uint64_t from = group_of(traffic, awaited);
    uint64_t to = group_of(traffic, waiting);
    uint32_t all, pair;

    if (traffic->is_by_host) {
        rank_wait(traffic, waiting, awaited, ns, count);
    }
    pair_find(traffic, from, to, &all);
    if (all != NO_PAIR) {
        traffic->pairs[all].waits.all += ns;
        traffic->pairs[all].waits.count += count;
    }
    /* Who waits for a receiver is the one that messages come from. */
    pair = all;
    if (kind == WAIT_LATE_RECEIVER) {
        pair_find(traffic, to, from, &pair);
    }
    if (pair != NO_PAIR) {
        *wait_of(&traffic->pairs[pair].waits, kind) += ns;
    }
}

/* ---- report ------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    const struct report_pair *left = a;
    const struct report_pair *right = b;
    uint64_t more = left->sent.bytes > left->received.bytes
                        ? left->sent.bytes
                        : left->received.bytes;
    uint64_t less = right->sent.bytes > right->received.bytes
                        ? right->sent.bytes
                        : right->received.bytes;

    if (more != less) {
        return more < less ? 1 : -1;
    }
    if (left->waits.all != right->waits.all) {
        return left->waits.all < right->waits.all ? 1 : -1;
    }
    if (left->from != right->from) {
        return left->from < right->from ? -1 : 1;
    }
    return (left->to > right->to) - (left->to < right->to);
}

/* The rank or ranks of a key of pairs. */
static void group_name(const struct traffic *traffic,
                       uint64_t group,
                       int32_t *rank,
                       const char **host)
{
    *rank = DEFS_RANK_UNKNOWN;
    *host = NULL;
    if (group > 0 && traffic->is_by_host) {
        *host = traffic->hosts[group - 1];
    } else if (group > 0) {
        *rank = traffic->defs->ranks[group - 1].number;
    }
}

static void pairs_report(const struct traffic *traffic,
                         struct report_traffic *report)
{
    for (size_t i = 0; i < traffic->pairs_count; i++) {
        const struct pair *pair = &traffic->pairs[i];
        struct table_key key = table_key(traffic->pair_keys, i);
        struct report_pair *row = &report->pairs[report->pairs_count];

        if (pair->sent.count + pair->received.count + pair->waits.count == 0 &&
            pair->waits.all + pair->waits.receiver == 0) {
            continue;
        }
        *row = (struct report_pair){.sent = pair->sent,
                                    .received = pair->received,
                                    .waits = pair->waits};
        group_name(traffic, key.a, &row->from, &row->from_host);
        group_name(traffic, key.b, &row->to, &row->to_host);
        report->pairs_count++;
        report->sent.count += pair->sent.count;
        report->sent.bytes += pair->sent.bytes;
        report->received.count += pair->received.count;
        report->received.bytes += pair->received.bytes;
    }
    report->sent.count += traffic->left_out.count;
    report->sent.bytes += traffic->left_out.bytes;
    report->left_out = traffic->left_out;
    qsort(report->pairs, report->pairs_count, sizeof(*report->pairs), by_bytes);
}

static int by_size(const void *a, const void *b)
{
    const struct report_sizes *left = a;
    const struct report_sizes *right = b;
    uint64_t more =
        left->all.bytes + left->collectives.out + left->collectives.in;
    uint64_t less =
        right->all.bytes + right->collectives.out + right->collectives.in;

    if (more != less) {
        return more < less ? 1 : -1;
    }
    return strcmp(left->comm == NULL ? "" : left->comm,
                  right->comm == NULL ? "" : right->comm);
}

static void sizes_report(const struct traffic *traffic,
                         struct report_traffic *report)
{
    for (size_t i = 0; i < traffic->sizes_count; i++) {
        struct report_sizes *row = &report->sizes[i];

        *row = traffic->sizes[i];
        for (unsigned k = 0; k < REPORT_BINS; k++) {
            row->all.count += row->bins[k].count;
            row->all.bytes += row->bins[k].bytes;
            row->collectives.count += row->collective_bins[k].count;
            row->collectives.out += row->collective_bins[k].out;
            row->collectives.in += row->collective_bins[k].in;
        }
    }
    report->sizes_count = traffic->sizes_count;
    qsort(report->sizes, report->sizes_count, sizeof(*report->sizes), by_size);
}

CK_ORDER(by_wait,
         struct report_rank_waits,
         CK_DOWN(ns) ?: CK_UP(rank) ?: CK_UP(awaited))

/* The longest ones. */
static void waits_report(const struct traffic *traffic,
                         struct report_traffic *report)
{
    report->waits_left_out = traffic->waits_left_out;
    if (traffic->waits_count > 0) {
        memcpy(report->waits, traffic->waits,
               traffic->waits_count * sizeof(*report->waits));
        qsort(report->waits, traffic->waits_count, sizeof(*report->waits),
              by_wait);
    }
    report->waits_count = traffic->waits_count < TRAFFIC_WAITS_MAX
                              ? traffic->waits_count
                              : TRAFFIC_WAITS_MAX;
    for (size_t i = report->waits_count; i < traffic->waits_count; i++) {
        report->waits_left_out += report->waits[i].ns;
    }
}

void traffic_report(const struct traffic *traffic, struct report *report)
{
    struct report_traffic *row = &report->traffic;

    row->is_by_host = traffic->is_by_host;
    row->pairs = xcalloc(traffic->pairs_count + 1, sizeof(*row->pairs));
    row->sizes = xcalloc(traffic->sizes_count + 1, sizeof(*row->sizes));
    row->waits = xcalloc(traffic->waits_count + 1, sizeof(*row->waits));
    pairs_report(traffic, row);
    waits_report(traffic, row);
    sizes_report(traffic, row);
}
