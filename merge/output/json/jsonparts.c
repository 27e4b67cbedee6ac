/* jsonparts.c - what the files that write the report as JSON share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/jsonparts.h"

#include <stdio.h>

#include "merge/output/cxxname.h"

void json_time(struct ck_json *j,
               const char *name,
               ck_time_t time,
               const struct report *report)
{
    char key[64];

    (void)snprintf(key, sizeof(key), "%s_rel_ns", name);
    ck_json_int(j, key, time - report->whole.start);
}

void json_text(struct ck_json *j, const char *name, const char *text)
{
    if (text == NULL) {
        ck_json_null(j, name);
    } else {
        ck_json_string(j, name, text);
    }
}

void json_rank(struct ck_json *j, const char *name, int32_t rank)
{
    if (rank < 0) {
        ck_json_null(j, name);
    } else {
        ck_json_int(j, name, rank);
    }
}

void json_unsure(struct ck_json *j, const char *name, ck_time_t error)
{
    if (error > 0) {
        ck_json_int(j, name, error);
    }
}

void json_function(struct ck_json *j, const char *function)
{
    char plain[CXXNAME_MAX];

    json_text(j, "function", function);
    if (function != NULL && cxxname_plain(plain, sizeof(plain), function)) {
        ck_json_string(j, "function_plain", plain);
    }
}

void json_place(struct ck_json *j, const struct place *place)
{
    json_function(j, place->function);
    json_text(j, "file", place->file);
    ck_json_uint(j, "line", place->line);
}

void json_callers(struct ck_json *j, const struct report_callers *callers)
{
    if (callers->caller.function != NULL) {
        ck_json_object(j, "caller");
        json_function(j, callers->caller.function);
        json_text(j, "file", callers->caller.file);
        ck_json_end(j);
    }
    if (callers->called_from.function != NULL) {
        ck_json_object(j, "called_from");
        json_function(j, callers->called_from.function);
        json_text(j, "file", callers->called_from.file);
        ck_json_end(j);
    }
}

void json_sampled(struct ck_json *j,
                  const char *name,
                  const struct report_sampled *sampled)
{
    if (sampled->total == 0) {
        return;
    }
    ck_json_object(j, name);
    json_place(j, &sampled->place);
    ck_json_int(j, "ns", sampled->ns);
    ck_json_int(j, "of_ns", sampled->total);
    ck_json_end(j);
}

void json_idle(struct ck_json *j, const ck_time_t causes[CAUSES])
{
    ck_json_object(j, "idle");
    for (unsigned c = 0; c < CAUSES; c++) {
        if (causes[c] != 0) {
            ck_json_int(j, cause_name(c), causes[c]);
        }
    }
    ck_json_end(j);
}
