/* jsonlevels.c - busy time of queues, ranks, hosts and the job as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

#include "merge/model/defs.h"

static const char *const level_names[REPORT_LEVELS] = {
    [REPORT_LEVEL_JOB] = "job",
    [REPORT_LEVEL_HOST] = "host",
    [REPORT_LEVEL_RANK] = "rank",
    [REPORT_LEVEL_QUEUE] = "queue",
};

static void put_level(struct ck_json *j, const struct report_level *level)
{
    ck_json_object(j, NULL);
    ck_json_string(j, "of", level_names[level->kind]);
    json_text(j, "host", level->host);
    json_rank(j, "rank", level->rank);
    if (level->kind == REPORT_LEVEL_QUEUE) {
        ck_json_uint(j, "pid", level->pid);
        json_text(j, "device", level->device);
        json_text(j, "queue", level->queue);
        ck_json_uint(j, "queue_id", level->queue_id);
    }
    ck_json_uint(j, "operations", level->operations);
    ck_json_int(j, "busy_ns", level->busy);
    ck_json_int(j, "core_ns", level->core);
    if (level->kind == REPORT_LEVEL_HOST) {
        json_idle(j, level->causes);
    }
    ck_json_end(j);
}

void json_levels(struct ck_json *j, const struct report *report)
{
    ck_json_array(j, "busy_of");
    for (size_t i = 0; i < report->levels_count; i++) {
        put_level(j, &report->levels[i]);
    }
    ck_json_end(j);
    ck_json_uint(j, "busy_of_left_out", report->levels_left_out);
}
