/* jsonpeers.c - which process waited for which, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

static void put_process(struct ck_json *j,
                        const char *name,
                        const struct report_process *process)
{
    ck_json_object(j, name);
    ck_json_uint(j, "pid", process->pid);
    json_text(j, "command", process->command);
    ck_json_end(j);
}

static void put_peer(struct ck_json *j, const struct report_peer *peer)
{
    ck_json_object(j, NULL);
    put_process(j, "waiter", &peer->waiter);
    put_process(j, "awaited", &peer->awaited);
    ck_json_string(j, "over", peer->over);
    ck_json_string(j, "until", peer->is_write ? "read" : "written");
    ck_json_int(j, "ns", peer->ns);
    ck_json_uint(j, "count", peer->count);
    json_text(j, "call", peer->call);
    json_place(j, &peer->place);
    if (peer->did != NULL) {
        ck_json_object(j, "awaited_was_in");
        json_text(j, "call", peer->did);
        json_place(j, &peer->did_place);
        ck_json_int(j, "ns", peer->did_ns);
        ck_json_end(j);
    }
    ck_json_int(j, "awaited_between_calls_ns", peer->between);
    ck_json_end(j);
}

void json_peers(struct ck_json *j, const struct report *report)
{
    if (!report->has_ranks && report->shown.pid != 0) {
        ck_json_uint(j, "programs", report->programs);
        put_process(j, "rank_0_shows", &report->shown);
    }
    ck_json_array(j, "process_waits");
    for (size_t i = 0; i < report->peers_count; i++) {
        put_peer(j, &report->peers[i]);
    }
    ck_json_end(j);
    ck_json_int(j, "process_waits_left_out_ns", report->peers_left_out);
}
