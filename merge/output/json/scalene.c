/* scalene.c - device results in the form of a scalene profile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/json/scalene.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/json/jsonreport.h"
#include "merge/output/outputfile.h"

/* Members of a line that the viewer reads, for lines without CPU samples. */
static const char *const zeros[] = {
    "n_cpu_percent_python",
    "n_cpu_percent_c",
    "n_sys_percent",
    "n_core_utilization",
    "n_peak_mb",
    "n_avg_mb",
    "n_growth_mb",
    "n_python_fraction",
    "n_copy_mb_s",
    "n_copy_mb",
    "n_gpu_percent",
    "n_gpu_peak_memory_mb",
    "n_gpu_avg_memory_mb",
    "n_usage_fraction",
    "n_malloc_mb",
    "n_mallocs",
    "n_async_await_percent",
    "n_async_concurrency_mean",
    "n_async_concurrency_peak",
};

static const char *name_of(const char *kernel)
{
    return kernel == NULL ? "(no name)" : kernel;
}

static double ms(ck_time_t ns)
{
    return (double)ns / 1e6;
}

static double percent(ck_time_t part, ck_time_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static bool is_file(const struct report_line *row, const char *file)
{
    return row->file == file ||
           (row->file != NULL && file != NULL && strcmp(row->file, file) == 0);
}

struct scalene_cell
scalene_sum(const struct report *report, const char *file, uint32_t line)
{
    struct scalene_cell cell = {0, 0, 0};

    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *row = &report->lines[i];

        if (is_file(row, file) && row->line == line) {
            cell.busy += row->busy;
            cell.host += row->host;
            cell.calls += row->calls;
        }
    }
    return cell;
}

struct scalene_cell scalene_total(const struct report *report)
{
    struct scalene_cell cell = {0, 0, 0};

    for (size_t i = 0; i < report->lines_count; i++) {
        cell.busy += report->lines[i].busy;
        cell.host += report->lines[i].host;
        cell.calls += report->lines[i].calls;
    }
    return cell;
}

void scalene_put_cell(struct ck_json *json,
                      const struct scalene_cell *cell,
                      const struct scalene_cell *total,
                      double ranks)
{
    ck_json_double(json, "nc_time_ms", ms(cell->busy) / ranks);
    ck_json_double(json, "nc_percent", percent(cell->busy, total->busy));
    ck_json_uint(json, "nc_execute_count", cell->calls);
    ck_json_double(json, "nrt_time_ms", ms(cell->host) / ranks);
    ck_json_double(json, "nrt_percent", percent(cell->host, total->host));
    if (cell->host > 0) {
        ck_json_double(json, "nc_nrt_ratio",
                       (double)cell->busy / (double)cell->host);
    }
}

static void put_defaults(struct ck_json *json, uint32_t line)
{
    ck_json_uint(json, "lineno", line);
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        ck_json_int(json, zeros[i], 0);
    }
    ck_json_array(json, "memory_samples");
    ck_json_end(json);
    ck_json_array(json, "cpu_samples_list");
    ck_json_end(json);
    ck_json_array(json, "async_task_names");
    ck_json_end(json);
    ck_json_bool(json, "is_coroutine", false);
    ck_json_uint(json, "start_region_line", line);
    ck_json_uint(json, "end_region_line", line);
    ck_json_uint(json, "start_outermost_loop", line);
    ck_json_uint(json, "end_outermost_loop", line);
    ck_json_uint(json, "start_function_line", 0);
    ck_json_uint(json, "end_function_line", 0);
}

/* The kernels launched from a line, as its text: the source is not read. */
static void put_kernels(struct ck_json *json,
                        const struct report *report,
                        const char *file,
                        uint32_t line)
{
    char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *row = &report->lines[i];

        if (is_file(row, file) && row->line == line &&
            used < sizeof(text) - 1) {
            int n = snprintf(text + used, sizeof(text) - used, "%s%s",
                             used > 0 ? ", " : "", name_of(row->kernel));

            used += n > 0 ? (size_t)n : 0;
        }
    }
    ck_json_string(json, "line", text);
}

void scalene_put_line(struct ck_json *json,
                      const struct report *report,
                      const char *file,
                      uint32_t line,
                      double ranks)
{
    struct scalene_cell total = scalene_total(report);
    struct scalene_cell cell = scalene_sum(report, file, line);

    ck_json_object(json, NULL);
    put_kernels(json, report, file, line);
    put_defaults(json, line);
    scalene_put_cell(json, &cell, &total, ranks);
    ck_json_end(json);
}

/* The rows of a file by kernel, in the order of their first one. */
struct kernels {
    struct table *numbers; /* by name: equal texts are one */
    struct kernel_row {
        const struct report_line *first;
        struct scalene_cell cell;
    } * rows;
};

static void kernels_sum(struct kernels *kernels,
                        const struct report *report,
                        const char *file)
{
    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *row = &report->lines[i];
        size_t known = table_count(kernels->numbers);
        struct kernel_row *sum;
        int64_t number;

        if (!is_file(row, file)) {
            continue;
        }
        number = table_number_of(kernels->numbers,
                                 (uint64_t)(uintptr_t)row->kernel, 0, 0);
        sum = &kernels->rows[number];
        if ((size_t)number == known) {
            sum->first = row;
        }
        sum->cell.busy += row->busy;
        sum->cell.host += row->host;
        sum->cell.calls += row->calls;
    }
}

void scalene_put_functions(struct ck_json *json,
                           const struct report *report,
                           const char *file,
                           double ranks)
{
    struct scalene_cell total = scalene_total(report);
    struct kernels kernels = {table_create(), xcalloc(report->lines_count + 1,
                                                      sizeof(*kernels.rows))};

    kernels_sum(&kernels, report, file);
    for (size_t i = 0; i < table_count(kernels.numbers); i++) {
        const struct kernel_row *row = &kernels.rows[i];

        ck_json_object(json, NULL);
        ck_json_string(json, "line", name_of(row->first->kernel));
        put_defaults(json, row->first->line);
        scalene_put_cell(json, &row->cell, &total, ranks);
        ck_json_end(json);
    }
    table_destroy(kernels.numbers);
    free(kernels.rows);
}

/* The next line of the file after `line`, 0 = none. */
static uint32_t
line_after(const struct report *report, const char *file, uint32_t line)
{
    uint32_t next = 0;

    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *row = &report->lines[i];

        if (is_file(row, file) && row->line > line &&
            (next == 0 || row->line < next)) {
            next = row->line;
        }
    }
    return next;
}

/* Where no line is known each kernel gets one, in order of its time. */
static void
put_unplaced(struct ck_json *json, const struct report *report, double ranks)
{
    struct scalene_cell total = scalene_total(report);
    uint32_t number = 0;

    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *row = &report->lines[i];
        struct scalene_cell cell = {row->busy, row->host, row->calls};

        if (row->file != NULL) {
            continue;
        }
        ck_json_object(json, NULL);
        ck_json_string(json, "line", name_of(row->kernel));
        put_defaults(json, ++number);
        scalene_put_cell(json, &cell, &total, ranks);
        ck_json_end(json);
    }
}

void scalene_put_file(struct ck_json *json,
                      const struct report *report,
                      const char *file,
                      double ranks)
{
    ck_json_object(json, file == NULL ? SCALENE_NO_FILE : file);
    /* The viewer hides files of no percentage: all of the device's time. */
    ck_json_double(json, "percent_cpu_time", 0.0);
    ck_json_array(json, "imports");
    ck_json_end(json);
    ck_json_object(json, "leaks");
    ck_json_end(json);
    ck_json_array(json, "functions");
    scalene_put_functions(json, report, file, ranks);
    ck_json_end(json);
    ck_json_array(json, "lines");
    if (file == NULL) {
        put_unplaced(json, report, ranks);
    }
    for (uint32_t line = file == NULL ? 0 : line_after(report, file, 0);
         line != 0; line = line_after(report, file, line)) {
        scalene_put_line(json, report, file, line, ranks);
    }
    ck_json_end(json);
    ck_json_end(json);
}

static uint64_t launches_of(const struct report *report)
{
    uint64_t launches = 0;

    for (size_t i = 0; i < report->lines_count; i++) {
        launches += report->lines[i].launches;
    }
    return launches;
}

void scalene_put_totals(struct ck_json *json,
                        const struct report *report,
                        double ranks)
{
    struct scalene_cell total = scalene_total(report);

    ck_json_double(json, "neuron_total_nc_time_ms", ms(total.busy) / ranks);
    ck_json_double(json, "neuron_total_time_ms", ms(total.host) / ranks);
    ck_json_uint(json, "neuron_nc_event_count", total.calls);
    ck_json_uint(json, "neuron_event_count", launches_of(report));
    output_json_put(json, "ck", report);
}

/* True at the first row of the file. */
static bool is_first_file(const struct report *report, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (is_file(&report->lines[i], report->lines[index].file)) {
            return false;
        }
    }
    return true;
}

static void put_profile(struct ck_json *json, const struct report *report)
{
    double seconds = (double)region_length(report->region) / 1e9;
    uint32_t ranks = report_ranks(report);

    ck_json_object(json, NULL);
    /* Sums over ranks must not be longer than the whole. */
    ck_json_double(json, "elapsed_time_sec", seconds * (ranks > 1 ? ranks : 1));
    ck_json_string(json, "program", report->name);
    ck_json_array(json, "args");
    ck_json_end(json);
    ck_json_string(json, "filename", report->name);
    ck_json_string(json, "entrypoint_dir", "");
    ck_json_bool(json, "gpu", false);
    ck_json_string(json, "gpu_device", "");
    ck_json_bool(json, "memory", false);
    ck_json_bool(json, "async_profile", false);
    ck_json_int(json, "max_footprint_mb", 0);
    ck_json_int(json, "max_footprint_python_fraction", 0);
    ck_json_string(json, "max_footprint_fname", "");
    ck_json_int(json, "max_footprint_lineno", 0);
    ck_json_int(json, "native_allocations_mb", 0);
    ck_json_int(json, "alloc_samples", 0);
    ck_json_array(json, "samples");
    ck_json_end(json);
    ck_json_array(json, "stacks");
    ck_json_end(json);
    ck_json_double(json, "growth_rate", 0.0);
    ck_json_double(json, "start_time_absolute",
                   ((double)report->realtime + (double)report->region.start) /
                       1e9);
    ck_json_double(json, "start_time_perf", 0.0);
    ck_json_object(json, "files");
    for (size_t i = 0; i < report->lines_count; i++) {
        if (is_first_file(report, i)) {
            scalene_put_file(json, report, report->lines[i].file, 1.0);
        }
    }
    ck_json_end(json);
    scalene_put_totals(json, report, 1.0);
    ck_json_end(json);
}

int scalene_write(const struct report *report,
                  const char *path,
                  struct ck_err *err)
{
    struct outputfile target;
    FILE *file;
    struct ck_json *json;
    int rc = -1;

    if (outputfile_open(&target, path, 0666, err) != 0) {
        return -1;
    }
    file = outputfile_stream(&target);
    json = file == NULL ? NULL : ck_json_create(file, false);
    if (json != NULL) {
        put_profile(json, report);
        rc = ck_json_finish(json);
        ck_json_destroy(json);
    }
    if (file != NULL && fclose(file) != 0) {
        rc = -1;
    }
    return outputfile_close(&target, rc == 0, err);
}
