/* csv.c - the tables of the report as files for spreadsheets and scripts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/csv/csv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/output/csv/csvfile.h"

static void put_place(struct csvfile *csv, const struct place *place)
{
    csvfile_text(csv, place->function);
    csvfile_text(csv, place->file);
    csvfile_int(csv, place->line);
}

static void put_ranks(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        csvfile_int(csv, rank->number);
        csvfile_text(csv, rank->host);
        csvfile_int(csv, rank->useful);
        csvfile_int(csv, rank->mpi);
        csvfile_int(csv, rank->waited);
        csvfile_int(csv, rank->caused);
        csvfile_int(csv, rank->device_api);
        csvfile_int(csv, (int64_t)rank->steps);
        csvfile_int(csv, rank->step_median);
        csvfile_int(csv, rank->step_max);
        csvfile_int(csv, (int64_t)rank->events);
        csvfile_int(csv, (int64_t)rank->lost);
        csvfile_row(csv);
    }
}

static void put_devices(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        csvfile_int(csv, (int64_t)i);
        csvfile_text(csv, device->name);
        csvfile_rank(csv, device->ranks_count > 0 ? device->ranks[0] : -1);
        csvfile_int(csv, device->wall);
        csvfile_int(csv, device->busy);
        csvfile_int(csv, device->compute);
        csvfile_int(csv, device->comm);
        csvfile_int(csv, device->copy);
        csvfile_int(csv, device->idle);
        csvfile_int(csv, (int64_t)device->kernels);
        csvfile_int(csv, (int64_t)device->copies);
        csvfile_int(csv, (int64_t)device->gaps);
        csvfile_int(csv, device->longest_gap);
        csvfile_row(csv);
    }
}

static void
ledger_row(struct csvfile *csv, size_t device, const char *cause, ck_time_t ns)
{
    csvfile_int(csv, (int64_t)device);
    csvfile_text(csv, cause);
    csvfile_int(csv, ns);
    csvfile_row(csv);
}

static void put_ledger(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];

        ledger_row(csv, i, "compute", device->compute);
        ledger_row(csv, i, "comm_transfer", device->comm - device->comm_wait);
        ledger_row(csv, i, "comm_wait", device->comm_wait);
        ledger_row(csv, i, "copy_only", device->copy);
        for (int cause = 0; cause < CAUSES; cause++) {
            ledger_row(csv, i, cause_name(cause), device->causes[cause]);
        }
    }
}

static void put_cause(struct csvfile *csv, const struct report_cause *cause)
{
    const struct report_activity *did = &cause->did;
    bool is_sampled = did->call == NULL && did->sampled.ns > 0;

    csvfile_text(csv, cause_name(cause->cause));
    csvfile_text(csv, cause->wait);
    csvfile_rank(csv, cause->rank);
    csvfile_int(csv, cause->ranks);
    csvfile_int(csv, cause->ns);
    csvfile_int(csv, cause->error);
    csvfile_int(csv, (int64_t)cause->count);
    csvfile_int(csv, cause->is_start);
    csvfile_rank(csv, cause->blamed);
    csvfile_text(csv, did->call);
    put_place(csv, is_sampled ? &did->sampled.place : &did->place);
    csvfile_row(csv);
}

static void put_causes(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->causes_count; i++) {
        put_cause(csv, &report->causes[i]);
    }
}

static void put_waits(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->waits_count; i++) {
        put_cause(csv, &report->waits[i]);
    }
}

static void put_steps(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->table.count; i++) {
        const struct report_step *step = &report->table.items[i];

        csvfile_int(csv, step->number);
        csvfile_int(csv, step->start - report->whole.start);
        csvfile_int(csv, step->end - report->whole.start);
        csvfile_int(csv, step->ranks);
        csvfile_int(csv, step->shortest);
        csvfile_int(csv, step->longest);
        csvfile_rank(csv, step->longest_rank);
        csvfile_int(csv, step->waited);
        csvfile_rank(csv, step->worst);
        csvfile_int(csv, step->is_outlier);
        csvfile_row(csv);
    }
}

/* All ranks of all steps, where they are kept. */
static void put_step_ranks(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->table.count; i++) {
        const struct report_step *step = &report->table.items[i];

        for (size_t k = 0; step->lengths != NULL && k < report->table.ranks &&
                           k < report->ranks_count;
             k++) {
            if (step->lengths[k] >= 0) {
                csvfile_int(csv, step->number);
                csvfile_int(csv, report->ranks[k].number);
                csvfile_int(csv, step->lengths[k]);
                csvfile_row(csv);
            }
        }
    }
}

static void put_kernels(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->kernels_count; i++) {
        const struct report_kernel *kernel = &report->kernels[i];

        csvfile_text(csv, kernel->name);
        csvfile_int(csv, (int64_t)kernel->calls);
        csvfile_int(csv, kernel->busy);
        csvfile_int(csv, kernel->total);
        csvfile_int(csv, kernel->median);
        csvfile_int(csv, kernel->max);
        csvfile_int(csv, kernel->ranks);
        csvfile_row(csv);
    }
}

static void put_copies(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->copy_places_count; i++) {
        const struct report_copy_place *copy = &report->copy_places[i];

        csvfile_text(csv, copy->name);
        put_place(csv, &copy->place);
        csvfile_int(csv, (int64_t)copy->calls);
        csvfile_int(csv, (int64_t)copy->bytes);
        csvfile_int(csv, copy->total);
        csvfile_row(csv);
    }
}

static void put_lines(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->lines_count; i++) {
        const struct report_line *line = &report->lines[i];

        csvfile_text(csv, line->file);
        csvfile_int(csv, line->line);
        csvfile_text(csv, line->kernel);
        csvfile_int(csv, line->busy);
        csvfile_int(csv, line->core);
        csvfile_int(csv, line->host);
        csvfile_int(csv, (int64_t)line->calls);
        csvfile_row(csv);
    }
}

static void put_calls(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->calls_count; i++) {
        const struct report_call *call = &report->calls[i];

        csvfile_text(csv, call->name);
        csvfile_text(csv, call->kind);
        put_place(csv, &call->place);
        csvfile_int(csv, (int64_t)call->calls);
        csvfile_int(csv, (int64_t)call->bytes);
        csvfile_int(csv, call->total);
        csvfile_int(csv, call->max);
        csvfile_int(csv, call->ranks);
        csvfile_row(csv);
    }
}

static void put_hot(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->hot_count; i++) {
        const struct report_hot *hot = &report->hot[i];

        put_place(csv, &hot->place);
        csvfile_int(csv, hot->ns);
        csvfile_int(csv, hot->line_ns);
        csvfile_int(csv, hot->ranks);
        csvfile_rank(csv, hot->rank);
        csvfile_row(csv);
    }
}

static void put_ranges(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->ranges_count; i++) {
        const struct report_range *range = &report->ranges[i];

        csvfile_text(csv, range->name);
        csvfile_int(csv, (int64_t)range->calls);
        csvfile_int(csv, range->total);
        csvfile_int(csv, range->median);
        csvfile_int(csv, range->max);
        csvfile_int(csv, range->ranks);
        csvfile_int(csv, range->idle);
        csvfile_row(csv);
    }
}

static void put_pairs(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->traffic.pairs_count; i++) {
        const struct report_pair *pair = &report->traffic.pairs[i];

        csvfile_rank(csv, pair->from);
        csvfile_rank(csv, pair->to);
        csvfile_text(csv, pair->from_host);
        csvfile_text(csv, pair->to_host);
        csvfile_int(csv, (int64_t)pair->sent.count);
        csvfile_int(csv, (int64_t)pair->sent.bytes);
        csvfile_int(csv, pair->waits.all);
        csvfile_int(csv, (int64_t)pair->waits.count);
        csvfile_int(csv, pair->waits.receiver);
        csvfile_row(csv);
    }
}

static void put_counters(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->counters_count; i++) {
        const struct report_counter *counter = &report->counters[i];

        csvfile_text(csv, counter->name);
        csvfile_double(csv, counter->value);
        csvfile_double(csv, counter->share);
        csvfile_int(csv, counter->ranks);
        csvfile_row(csv);
    }
}

static void put_callers(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->callers_count; i++) {
        const struct report_caller *caller = &report->callers[i];

        csvfile_text(csv, caller->place.function);
        csvfile_text(csv, caller->place.file);
        csvfile_int(csv, caller->total);
        csvfile_int(csv, caller->self);
        put_place(csv, &caller->leaf);
        csvfile_int(csv, caller->leaf_ns);
        csvfile_row(csv);
    }
}

static void put_regions(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->threads.regions_count; i++) {
        const struct report_team_region *row = &report->threads.regions[i];

        put_place(csv, &row->place);
        csvfile_text(csv, row->runtime);
        csvfile_int(csv, row->level);
        csvfile_int(csv, row->threads);
        csvfile_int(csv, (int64_t)row->count);
        csvfile_int(csv, row->wall);
        for (int s = 0; s < REPORT_TEAM_STATES; s++) {
            csvfile_int(csv, row->states[s]);
        }
        csvfile_rank(csv, row->last.rank);
        csvfile_int(csv, row->last.thread);
        csvfile_int(csv, (int64_t)row->last.count);
        csvfile_row(csv);
    }
}

static void put_locks(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->threads.locks_count; i++) {
        const struct report_lock *row = &report->threads.locks[i];

        csvfile_text(csv, row->what);
        put_place(csv, &row->place);
        csvfile_rank(csv, row->rank);
        csvfile_int(csv, row->threads);
        csvfile_int(csv, (int64_t)row->count);
        csvfile_int(csv, row->ns);
        csvfile_int(csv, row->wall);
        csvfile_int(csv, row->serial);
        csvfile_row(csv);
    }
}

static void put_threads(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->threads.threads_count; i++) {
        const struct report_thread *row = &report->threads.threads[i];

        csvfile_rank(csv, row->rank);
        csvfile_int(csv, row->tid);
        csvfile_text(csv, row->name);
        csvfile_int(csv, row->cpu);
        csvfile_int(csv, row->ready);
        csvfile_int(csv, row->blocked);
        csvfile_int(csv, row->work);
        csvfile_int(csv, row->team_wait);
        csvfile_int(csv, row->lock_wait);
        csvfile_row(csv);
    }
}

static void put_memory(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->memory_count; i++) {
        const struct report_memory *row = &report->memory[i];

        csvfile_int(csv, row->rank);
        csvfile_int(csv, row->first.bytes);
        csvfile_int(csv, row->peak.bytes);
        csvfile_int(csv, row->last.bytes);
        csvfile_int(csv, row->peak.time - report->whole.start);
        csvfile_int(csv, row->minor);
        csvfile_int(csv, row->major);
        csvfile_int(csv, row->faulting);
        csvfile_int(csv, row->sampled);
        csvfile_int(csv, row->growth.is_steady ? row->growth.bytes : 0);
        csvfile_row(csv);
    }
}

static void put_faults(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->faults_count; i++) {
        const struct report_fault *row = &report->faults[i];

        csvfile_int(csv, row->rank);
        csvfile_int(csv, row->tid);
        put_place(csv, &row->place);
        csvfile_text(csv, row->callers.caller.function);
        csvfile_int(csv, (int64_t)row->minor);
        csvfile_int(csv, (int64_t)row->major);
        csvfile_row(csv);
    }
}

static void put_allocations(struct csvfile *csv, const struct report *report)
{
    for (size_t i = 0; i < report->allocations.places_count; i++) {
        const struct report_allocation *row = &report->allocations.places[i];

        put_place(csv, &row->place);
        csvfile_text(csv, row->callers.caller.function);
        csvfile_int(csv, (int64_t)row->held.bytes);
        csvfile_int(csv, (int64_t)row->held.bytes_error);
        csvfile_int(csv, (int64_t)row->held.peak);
        csvfile_int(csv, (int64_t)row->held.peak_error);
        csvfile_int(csv, (int64_t)row->held.last);
        csvfile_int(csv, (int64_t)row->held.blocks);
        csvfile_int(csv, row->ranks);
        csvfile_rank(csv, row->rank);
        csvfile_row(csv);
    }
}

#define CAUSE_COLUMNS_OF                                                       \
    "cause wait rank ranks ns error_ns count at_start blamed_rank call "       \
    "function file line"

static const struct {
    const char *name;
    const char *columns;
    void (*put)(struct csvfile *csv, const struct report *report);
} tables[] = {
    {"ranks",
     "rank host useful_ns mpi_ns waited_ns caused_ns device_api_ns steps "
     "step_median_ns step_max_ns events lost",
     put_ranks},
    {"devices",
     "device name rank wall_ns busy_ns compute_ns comm_ns copy_ns idle_ns "
     "kernels copies gaps longest_gap_ns",
     put_devices},
    {"ledger", "device row ns", put_ledger},
    {"causes", CAUSE_COLUMNS_OF, put_causes},
    {"waits", CAUSE_COLUMNS_OF, put_waits},
    {"steps",
     "number start_rel_ns end_rel_ns ranks shortest_ns longest_ns "
     "longest_rank waited_ns worst_rank outlier",
     put_steps},
    {"step_ranks", "number rank ns", put_step_ranks},
    {"kernels", "name calls busy_ns total_ns median_ns max_ns ranks",
     put_kernels},
    {"copies", "name function file line calls bytes total_ns", put_copies},
    {"lines", "file line kernel busy_ns core_ns launch_ns calls", put_lines},
    {"calls", "name kind function file line calls bytes total_ns max_ns ranks",
     put_calls},
    {"hot_spots", "function file line ns line_ns ranks rank", put_hot},
    {"hot_callers",
     "function file total_ns self_ns leaf_function leaf_file leaf_line leaf_ns",
     put_callers},
    {"openmp_regions",
     "function file line runtime level threads count wall_ns work_ns fork_ns "
     "imbalance_ns join_ns barrier_ns lock_ns tasks_ns mpi_ns unknown_ns "
     "last_rank last_thread last_count",
     put_regions},
    {"lock_waits",
     "call function file line rank threads count ns wall_ns serial_ns",
     put_locks},
    {"threads",
     "rank tid name cpu_ns ready_ns blocked_ns region_work_ns team_wait_ns "
     "lock_wait_ns",
     put_threads},
    {"memory",
     "rank first_bytes peak_bytes last_bytes peak_rel_ns minor_faults "
     "major_faults faulting_ns sampled_ns growth_bytes",
     put_memory},
    {"page_faults", "rank tid function file line caller minor major",
     put_faults},
    {"allocations",
     "function file line caller bytes bytes_error peak_bytes peak_bytes_error "
     "last_bytes blocks ranks rank",
     put_allocations},
    {"ranges", "name calls total_ns median_ns max_ns ranks idle_ns",
     put_ranges},
    {"pairs",
     "from to from_host to_host messages bytes waited_ns waits "
     "late_receiver_ns",
     put_pairs},
    {"counters", "name value share_counted ranks", put_counters},
};

int output_csv(const struct report *report, const char *dir, struct ck_err *err)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return ck_err_set(err, "cannot make the directory %s: %s", dir,
                          strerror(errno));
    }
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        struct csvfile csv;

        if (csvfile_open(&csv, dir, tables[i].name, tables[i].columns, err) !=
            0) {
            return -1;
        }
        tables[i].put(&csv, report);
        if (csvfile_close(&csv, err) != 0) {
            return -1;
        }
    }
    return 0;
}

struct csv_table csv_table(size_t number)
{
    return number < sizeof(tables) / sizeof(tables[0])
               ? (struct csv_table){tables[number].name, tables[number].columns}
               : (struct csv_table){NULL, NULL};
}
