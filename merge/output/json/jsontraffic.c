/* jsontraffic.c - what ranks sent each other, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static void put_messages(struct ck_json *j,
                         const char *name,
                         const struct report_messages *messages)
{
    ck_json_object(j, name);
    ck_json_uint(j, "messages", messages->count);
    ck_json_uint(j, "bytes", messages->bytes);
    ck_json_end(j);
}

static void put_extent(struct ck_json *j, const struct report_extent *sizes)
{
    if (sizes->count > 0) {
        ck_json_uint(j, "min_bytes", sizes->min);
        ck_json_uint(j, "max_bytes", sizes->max);
    }
}

static void put_sized(struct ck_json *j,
                      const char *name,
                      const struct report_messages *messages,
                      const struct report_extent *sizes)
{
    ck_json_object(j, name);
    ck_json_uint(j, "messages", messages->count);
    ck_json_uint(j, "bytes", messages->bytes);
    put_extent(j, sizes);
    ck_json_end(j);
}

/* The members, without the object's begin and end. */
static void put_collectives(struct ck_json *j,
                            const struct report_collectives *collectives)
{
    ck_json_uint(j, "calls", collectives->count);
    ck_json_uint(j, "bytes_out", collectives->out);
    ck_json_uint(j, "bytes_in", collectives->in);
}

void json_moved(struct ck_json *j, const struct report_moved *moved)
{
    if (moved->sent.count > 0) {
        put_sized(j, "sent", &moved->sent, &moved->sent_sizes);
    }
    if (moved->received.count > 0) {
        put_sized(j, "received", &moved->received, &moved->received_sizes);
    }
    if (moved->collectives.count > 0) {
        ck_json_object(j, "collective");
        put_collectives(j, &moved->collectives);
        put_extent(j, &moved->collective_sizes);
        ck_json_end(j);
    }
}

static void
put_pair(struct ck_json *j, const struct report_pair *pair, bool is_by_host)
{
    ck_json_object(j, NULL);
    if (is_by_host) {
        json_text(j, "from_host", pair->from_host);
        json_text(j, "to_host", pair->to_host);
    } else {
        json_rank(j, "from", pair->from);
        json_rank(j, "to", pair->to);
    }
    put_messages(j, "sent", &pair->sent);
    put_messages(j, "received", &pair->received);
    ck_json_int(j, "waited_ns", pair->waits.all);
    ck_json_uint(j, "waits", pair->waits.count);
    ck_json_int(j, "late_sender_ns", pair->waits.sender);
    ck_json_int(j, "late_receiver_ns", pair->waits.receiver);
    ck_json_int(j, "collective_ns", pair->waits.collective);
    ck_json_end(j);
}

/* Smallest and largest size of a bin. */
static void put_edges(struct ck_json *j, unsigned bin)
{
    uint64_t from = bin == 0 ? 0 : (uint64_t)1 << (bin - 1);

    ck_json_uint(j, "from_bytes", from);
    ck_json_uint(j, "to_bytes", bin == 0 ? 0 : from + (from - 1));
}

static void put_sizes(struct ck_json *j, const struct report_sizes *sizes)
{
    ck_json_object(j, NULL);
    json_text(j, "comm", sizes->comm);
    ck_json_uint(j, "comms", sizes->comms);
    ck_json_uint(j, "messages", sizes->all.count);
    ck_json_uint(j, "bytes", sizes->all.bytes);
    ck_json_array(j, "bins");
    for (unsigned i = 0; i < REPORT_BINS; i++) {
        if (sizes->bins[i].count > 0) {
            ck_json_object(j, NULL);
            put_edges(j, i);
            ck_json_uint(j, "messages", sizes->bins[i].count);
            ck_json_uint(j, "bytes", sizes->bins[i].bytes);
            ck_json_end(j);
        }
    }
    ck_json_end(j);
    ck_json_object(j, "collective");
    put_collectives(j, &sizes->collectives);
    ck_json_array(j, "bins");
    for (unsigned i = 0; i < REPORT_BINS; i++) {
        if (sizes->collective_bins[i].count > 0) {
            ck_json_object(j, NULL);
            put_edges(j, i);
            put_collectives(j, &sizes->collective_bins[i]);
            ck_json_end(j);
        }
    }
    ck_json_end(j);
    ck_json_end(j);
    ck_json_end(j);
}

static void put_rank_waits(struct ck_json *j,
                           const struct report_traffic *traffic)
{
    ck_json_array(j, "rank_waits");
    for (size_t i = 0; i < traffic->waits_count; i++) {
        ck_json_object(j, NULL);
        json_rank(j, "rank", traffic->waits[i].rank);
        json_rank(j, "awaited_rank", traffic->waits[i].awaited);
        ck_json_int(j, "waited_ns", traffic->waits[i].ns);
        ck_json_uint(j, "waits", traffic->waits[i].count);
        ck_json_end(j);
    }
    ck_json_end(j);
    ck_json_int(j, "rank_waits_left_out_ns", traffic->waits_left_out);
}

void json_traffic(struct ck_json *j, const struct report *report)
{
    const struct report_traffic *traffic = &report->traffic;

    ck_json_object(j, "traffic");
    ck_json_string(j, "by", traffic->is_by_host ? "host" : "rank");
    put_messages(j, "sent", &traffic->sent);
    put_messages(j, "received", &traffic->received);
    put_messages(j, "left_out", &traffic->left_out);
    ck_json_array(j, "pairs");
    for (size_t i = 0; i < traffic->pairs_count; i++) {
        put_pair(j, &traffic->pairs[i], traffic->is_by_host);
    }
    ck_json_end(j);
    if (traffic->is_by_host) {
        put_rank_waits(j, traffic);
    }
    ck_json_array(j, "sizes");
    for (size_t i = 0; i < traffic->sizes_count; i++) {
        put_sizes(j, &traffic->sizes[i]);
    }
    ck_json_end(j);
    ck_json_end(j);
}
