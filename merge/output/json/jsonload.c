/* jsonload.c - why threads that were ready had no CPU, of the report as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

void json_load(struct ck_json *j, const struct report *report)
{
    static const char *const verdicts[] = {
        [REPORT_LOAD_UNKNOWN] = "unknown", [REPORT_LOAD_NONE] = "none",
        [REPORT_LOAD_OWN] = "own_threads", [REPORT_LOAD_QUOTA] = "quota",
        [REPORT_LOAD_OTHERS] = "others",   [REPORT_LOAD_UNCLEAR] = "unclear",
    };
    static const char *const limits[] = {
        [REPORT_LIMIT_HOST] = "host",
        [REPORT_LIMIT_AFFINITY] = "affinity",
        [REPORT_LIMIT_QUOTA] = "quota",
    };
    const struct report_load *load = &report->load;

    ck_json_object(j, "load");
    ck_json_string(j, "verdict", verdicts[load->verdict]);
    if (load->verdict != REPORT_LOAD_UNKNOWN) {
        json_text(j, "host", load->host);
        ck_json_uint(j, "ranks", load->ranks);
        ck_json_int(j, "window_ns", load->window);
        ck_json_double(j, "cpus", load->cpus);
        ck_json_string(j, "limited_by", limits[load->limit]);
        ck_json_double(j, "online_cpus", load->online);
        ck_json_double(j, "ready_threads", load->ready);
        ck_json_double(j, "own_cpus", load->own);
        ck_json_double(j, "other_cpus", load->others);
        ck_json_double(j, "other_cpus_error", load->others_error);
        ck_json_int(j, "waited_ns", load->waited);
        ck_json_double(j, "quota_cpus", load->quota);
        ck_json_int(j, "quota_periods", load->periods);
        ck_json_int(j, "throttled_periods", load->throttled_periods);
        ck_json_int(j, "throttled_ns", load->throttled);
    }
    ck_json_end(j);
}
