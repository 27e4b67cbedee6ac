/* scalenejoin.c - device results added to a profile of scalene, line by line
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The profile is read once for its lines and samples, and a second time to be
 * copied, member by member, with what is added in its place: lines that
 * scalene did not see come between their neighbours.
 */
#include "merge/scalenejoin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/json/scalene.h"
#include "merge/output/outputfile.h"
#include "merge/profiles/piped.h"
#include "merge/profiles/scaleneprofile.h"
#include "schema/json.h"

struct scalenejoin {
    const char *path;   /* what it is called; borrowed */
    const char *file;   /* where it is read, more than once */
    struct piped *kept; /* what came from a pipe; NULL = a file was named */
    struct scaleneprofile profile;
    int32_t rank;       /* whose profile it is */
    bool has_overlap;   /* samples can be placed */
    ck_time_t epoch;    /* date of the axis's zero; may well be 0 */
    size_t next;        /* sample that has not been placed */
    ck_time_t frontier; /* the device is busy until then */
    char **reals;       /* of report->lines, by index */
    size_t reals_count;
};

struct scalenejoin *scalenejoin_create(const char *path, struct ck_err *err)
{
    struct scalenejoin *join = xcalloc(1, sizeof(*join));

    join->path = join->file = path;
    join->rank = DEFS_RANK_UNKNOWN;
    join->frontier = INT64_MIN;
    if (piped_is(path)) {
        join->kept = piped_keep(path, err);
        join->path = piped_name(path);
        join->file = join->kept == NULL ? NULL : piped_file(join->kept);
    }
    if (join->file == NULL ||
        scaleneprofile_read(&join->profile, join->file, join->path, err) != 0) {
        scalenejoin_destroy(join);
        return NULL;
    }
    return join;
}

void scalenejoin_destroy(struct scalenejoin *join)
{
    if (join == NULL) {
        return;
    }
    for (size_t i = 0; i < join->reals_count; i++) {
        free(join->reals[i]);
    }
    free(join->reals);
    scaleneprofile_fini(&join->profile);
    piped_destroy(join->kept);
    free(join);
}

void scalenejoin_aim(struct scalenejoin *join,
                     const struct defs *defs,
                     const struct align *align,
                     bool has_dates)
{
    join->epoch = align_realtime(align);
    join->has_overlap = has_dates && join->profile.has_times;
    if (defs->ranks_count > 0) {
        join->rank = defs->ranks[0].number;
    }
}

int scalenejoin_take(void *state, const struct timeline_event *event)
{
    struct scalenejoin *join = state;
    struct scaleneprofile *profile = &join->profile;

    if (!join->has_overlap || event->rank != join->rank ||
        !timeline_is_device(event) || event->record->kind >= CK_KIND_COPY_H2D) {
        return 0;
    }
    while (join->next < profile->samples_count) {
        struct scalene_sample *sample = &profile->samples[join->next];
        ck_time_t time = sample->time - join->epoch;

        if (time >= event->start) {
            break;
        }
        sample->is_inside = time < join->frontier;
        join->next++;
    }
    if (event->end > join->frontier) {
        join->frontier = event->end;
    }
    return 0;
}

int scalenejoin_report(struct scalenejoin *join, struct report *report)
{
    struct scaleneprofile *profile = &join->profile;
    struct report_scalene *row = &report->scalene;

    for (; join->has_overlap && join->next < profile->samples_count;
         join->next++) {
        struct scalene_sample *sample = &profile->samples[join->next];

        sample->is_inside = sample->time - join->epoch < join->frontier;
    }
    scaleneprofile_count(profile);
    join->reals = xcalloc(report->lines_count + 1, sizeof(*join->reals));
    for (size_t i = 0; i < report->lines_count; i++) {
        const char *file = report->lines[i].file;

        join->reals[i] =
            scaleneprofile_real(profile->entry, file == NULL ? "" : file);
        join->reals_count = i + 1;
        if (join->reals[i] == NULL) {
            return -1;
        }
    }
    row->path = join->path;
    row->rank = join->rank;
    row->files = profile->files_count;
    row->lines = profile->lines_count;
    row->samples = profile->samples_count;
    row->has_overlap = join->has_overlap;
    for (size_t i = 0; i < profile->lines_count; i++) {
        row->inside += profile->lines[i].inside;
    }
    return 0;
}

/* The report's name of a file of the profile, NULL = it has none. */
static const char *file_match(const struct scalenejoin *join,
                              const struct report *report,
                              const struct scalene_file *file)
{
    for (size_t i = 0; i < join->reals_count; i++) {
        if (report->lines[i].file != NULL &&
            strcmp(join->reals[i], file->real) == 0) {
            return report->lines[i].file;
        }
    }
    return NULL;
}

/* True when the profile has the file of the report's row. */
static bool is_in_profile(const struct scalenejoin *join, size_t row)
{
    for (size_t i = 0; i < join->profile.files_count; i++) {
        if (strcmp(join->profile.files[i].real, join->reals[row]) == 0) {
            return true;
        }
    }
    return false;
}

/* A copy under way. */
struct copy {
    const struct scalenejoin *join;
    const struct report *report;
    struct json *from;
    struct ck_json *to;
    double ranks; /* times are divided by: the profile is of one rank */
    size_t file;  /* of the profile, that comes next */
    size_t line;
};

/* Copy the value that the last token began. */
static void value_copy(struct copy *copy, const char *name)
{
    const struct json_token *token = json_last(copy->from);
    char text[JSON_TEXT_MAX + 1];
    int64_t number;
    double value;

    switch (token->type) {
    case JSON_STRING:
        memcpy(text, token->text, token->length);
        text[token->length] = '\0';
        ck_json_bytes(copy->to, name, text, token->length);
        return;
    case JSON_NUMBER:
        if (json_int(token, &number)) {
            ck_json_int(copy->to, name, number);
        } else if (json_double(token, &value)) {
            ck_json_double(copy->to, name, value);
        } else {
            ck_json_null(copy->to, name);
        }
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        ck_json_bool(copy->to, name, token->type == JSON_TRUE);
        return;
    case JSON_ARRAY:
        ck_json_array(copy->to, name);
        while (json_next(copy->from)->type > JSON_END &&
               json_last(copy->from)->type != JSON_ARRAY_END) {
            value_copy(copy, NULL);
        }
        ck_json_end(copy->to);
        return;
    case JSON_OBJECT:
        ck_json_object(copy->to, name);
        while (json_next(copy->from)->type == JSON_NAME) {
            char member[256];
            size_t length = json_last(copy->from)->length;

            length = length < sizeof(member) ? length : sizeof(member) - 1;
            memcpy(member, json_last(copy->from)->text, length);
            member[length] = '\0';
            (void)json_next(copy->from);
            value_copy(copy, member);
        }
        ck_json_end(copy->to);
        return;
    default:
        ck_json_null(copy->to, name);
    }
}

/* Names that are ours: an earlier join's are replaced. */
static bool is_ours(const struct json_token *name)
{
    static const char *const ours[] = {
        "nc_time_ms",
        "nc_percent",
        "nc_execute_count",
        "nrt_time_ms",
        "nrt_percent",
        "nc_nrt_ratio",
        "cpu_samples_nc_overlap_percent",
        "neuron_total_nc_time_ms",
        "neuron_total_time_ms",
        "neuron_nc_event_count",
        "neuron_event_count",
        "ck",
    };

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (json_is(name, ours[i])) {
            return true;
        }
    }
    return false;
}

/* Copy a member, whose name was the last token, unless it is ours. */
static void member_copy(struct copy *copy)
{
    const struct json_token *token = json_last(copy->from);
    char name[4096];
    size_t length =
        token->length < sizeof(name) ? token->length : sizeof(name) - 1;

    if (is_ours(token)) {
        (void)json_skip(copy->from);
        return;
    }
    memcpy(name, token->text, length);
    name[length] = '\0';
    (void)json_next(copy->from);
    value_copy(copy, name);
}

/* A line of the profile, whose JSON_OBJECT was the last token. */
static void line_copy(struct copy *copy, const char *file)
{
    const struct scalene_line *line = &copy->join->profile.lines[copy->line++];
    struct scalene_cell total = scalene_total(copy->report);
    struct scalene_cell cell = {0, 0, 0};

    ck_json_object(copy->to, NULL);
    while (json_next(copy->from)->type == JSON_NAME) {
        member_copy(copy);
    }
    if (file != NULL && line->number > 0) {
        cell = scalene_sum(copy->report, file, line->number);
    }
    if (cell.calls > 0) {
        scalene_put_cell(copy->to, &cell, &total, copy->ranks);
    }
    if (copy->join->has_overlap && line->samples > 0) {
        ck_json_double(copy->to, "cpu_samples_nc_overlap_percent",
                       100.0 * line->inside / line->samples);
    }
    ck_json_end(copy->to);
}

/* The next line with device time after `line` that scalene has not, and before
 * `limit`; 0 = none. */
static uint32_t line_missing(const struct copy *copy,
                             const struct scalene_file *of,
                             const char *file,
                             uint32_t line,
                             uint32_t limit)
{
    const struct scaleneprofile *profile = &copy->join->profile;
    uint32_t best = 0;

    for (size_t i = 0; i < copy->report->lines_count; i++) {
        const struct report_line *row = &copy->report->lines[i];
        bool is_there = row->file != file || row->line <= line ||
                        row->line >= limit || (best != 0 && row->line >= best);

        for (size_t k = of->first; !is_there && k < of->first + of->count;
             k++) {
            is_there = profile->lines[k].number == row->line;
        }
        best = is_there ? best : row->line;
    }
    return best;
}

/* Lines that scalene did not see, up to the next one that it did. */
static uint32_t lines_add(struct copy *copy,
                          const struct scalene_file *of,
                          const char *file,
                          uint32_t line,
                          uint32_t limit)
{
    uint32_t next;

    while (file != NULL &&
           (next = line_missing(copy, of, file, line, limit)) != 0) {
        scalene_put_line(copy->to, copy->report, file, next, copy->ranks);
        line = next;
    }
    return line;
}

static void
lines_copy(struct copy *copy, const struct scalene_file *of, const char *file)
{
    uint32_t last = 0;

    ck_json_array(copy->to, "lines");
    if (json_next(copy->from)->type == JSON_ARRAY) {
        while (json_next(copy->from)->type == JSON_OBJECT) {
            uint32_t number = copy->join->profile.lines[copy->line].number;

            last = lines_add(copy, of, file, last, number);
            line_copy(copy, file);
        }
    } else {
        (void)json_skip(copy->from);
    }
    (void)lines_add(copy, of, file, last, UINT32_MAX);
    ck_json_end(copy->to);
}

static void functions_copy(struct copy *copy, const char *file)
{
    ck_json_array(copy->to, "functions");
    if (json_next(copy->from)->type == JSON_ARRAY) {
        while (json_next(copy->from)->type > JSON_END &&
               json_last(copy->from)->type != JSON_ARRAY_END) {
            value_copy(copy, NULL);
        }
    } else {
        (void)json_skip(copy->from);
    }
    if (file != NULL) {
        scalene_put_functions(copy->to, copy->report, file, copy->ranks);
    }
    ck_json_end(copy->to);
}

/* A file, whose JSON_OBJECT was the last token. */
static void file_copy(struct copy *copy)
{
    const struct scalene_file *of = &copy->join->profile.files[copy->file++];
    const char *file = file_match(copy->join, copy->report, of);

    ck_json_object(copy->to, of->name);
    while (json_next(copy->from)->type == JSON_NAME) {
        const struct json_token *token = json_last(copy->from);

        if (json_is(token, "lines")) {
            lines_copy(copy, of, file);
        } else if (json_is(token, "functions")) {
            functions_copy(copy, file);
        } else {
            member_copy(copy);
        }
    }
    ck_json_end(copy->to);
}

/* True at the first row of a file. */
static bool is_first(const struct report *report, size_t row)
{
    for (size_t i = 0; i < row; i++) {
        if (report->lines[i].file == report->lines[row].file) {
            return false;
        }
    }
    return true;
}

static void files_copy(struct copy *copy)
{
    ck_json_object(copy->to, "files");
    if (json_next(copy->from)->type == JSON_OBJECT) {
        while (json_next(copy->from)->type == JSON_NAME) {
            if (json_next(copy->from)->type == JSON_OBJECT) {
                file_copy(copy);
            } else {
                (void)json_skip(copy->from);
                copy->file++;
            }
        }
    }
    for (size_t i = 0; i < copy->report->lines_count; i++) {
        if (is_first(copy->report, i) && !is_in_profile(copy->join, i)) {
            scalene_put_file(copy->to, copy->report,
                             copy->report->lines[i].file, copy->ranks);
        }
    }
    ck_json_end(copy->to);
}

static void profile_copy(struct copy *copy)
{
    ck_json_object(copy->to, NULL);
    (void)json_next(copy->from);
    while (json_next(copy->from)->type == JSON_NAME) {
        if (json_is(json_last(copy->from), "files")) {
            files_copy(copy);
        } else {
            member_copy(copy);
        }
    }
    scalene_put_totals(copy->to, copy->report, copy->ranks);
    ck_json_end(copy->to);
}

int scalenejoin_write(const struct scalenejoin *join,
                      const struct report *report,
                      const char *path,
                      struct ck_err *err)
{
    struct scalenetext *text = scalenetext_open(join->file, err);
    struct copy copy = {.join = join, .report = report};
    struct outputfile target;
    FILE *file;
    int rc = -1;

    if (text == NULL || outputfile_open(&target, path, 0666, err) != 0) {
        scalenetext_close(text);
        return -1;
    }
    file = outputfile_stream(&target);
    copy.from = scalenetext_json(text);
    copy.to = file == NULL ? NULL : ck_json_create(file, false);
    copy.ranks = report_ranks(report) > 1 ? report_ranks(report) : 1;
    if (copy.to != NULL) {
        profile_copy(&copy);
        rc = ck_json_finish(copy.to);
    }
    if (file != NULL && fclose(file) != 0) {
        rc = -1;
    }
    rc = outputfile_close(&target, rc == 0, err);
    ck_json_destroy(copy.to);
    scalenetext_close(text);
    return rc;
}
