/* clockkernels.c - what collective kernels of devices show of clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clockkernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clocks/kernelshift.h"
#include "merge/model/kernelgroup.h"
#include "merge/model/memory.h"
#include "schema/order.h"

struct run {
    struct region part; /* on the clock of its rank's domain */
    uint32_t agent;     /* a profile's, where its rank has a run, too */
    uint32_t device;
    uint32_t number; /* in its group; 0 = not known */
};

/* Kernels of one name and process group: the first ones of each rank. */
struct row {
    const char *name;  /* kept */
    const char *group; /* kept; NULL = of all ranks, if it is known */
    bool is_known;     /* who meets */
    bool is_used;      /* they met, as far as is known */
    bool is_ordered;   /* numbered here, by when they end */
    bool is_doubtful;  /* nothing shows that the n-th are the same */
    uint32_t *first;   /* by rank: of what is ordered, the first one's number */
    bool *is_member;   /* by rank of the definitions */
    size_t members, any; /* how many are, and one of them */
    uint64_t *counts;    /* by rank of the definitions */
    struct run *runs;    /* EACH a rank */
};

struct clockkernels {
    const struct defs *defs; /* borrowed */
    const struct axis *axis; /* borrowed */
    bool is_partial;         /* recordings that may lack some: profiles */
    struct row rows[CLOCKKERNELS_NAMES];
    size_t count;
};

bool clockkernels_is_meeting(const char *name)
{
    static const char *const libraries[] = {"nccl", "rccl"};
    static const char *const kinds[] = {"AllReduce",     "AllGather",
                                        "ReduceScatter", "AllToAll",
                                        "AlltoAll",      "Barrier"};
    bool is_library = false;

    for (size_t i = 0; name != NULL && i < 2; i++) {
        is_library = is_library || strstr(name, libraries[i]) != NULL;
    }
    for (size_t i = 0; is_library && i < sizeof(kinds) / sizeof(kinds[0]);
         i++) {
        if (strstr(name, kinds[i]) != NULL) {
            return true;
        }
    }
    return false;
}

struct clockkernels *clockkernels_create(const struct defs *defs,
                                         const struct axis *axis)
{
    struct clockkernels *kernels = xcalloc(1, sizeof(*kernels));

    kernels->defs = defs;
    kernels->axis = axis;
    for (size_t i = 0; i < defs->agents_count; i++) {
        kernels->is_partial |= defs->agents[i].is_profile;
    }
    return kernels;
}

void clockkernels_destroy(struct clockkernels *kernels)
{
    if (kernels == NULL) {
        return;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        free(kernels->rows[i].is_member);
        free(kernels->rows[i].counts);
        free(kernels->rows[i].runs);
        free(kernels->rows[i].first);
    }
    free(kernels);
}

static void row_fill(const struct defs *defs, struct row *row)
{
    for (size_t i = 0; i < defs->ranks_count; i++) {
        if (kernelgroup_has(defs, row->group, defs->ranks[i].number)) {
            row->is_member[i] = true;
            row->members++;
            row->any = i;
        }
    }
}

/* The row of a name and group, a new one if there is room; *row NULL: there is
 * none. */
static void row_find(struct clockkernels *kernels,
                     const char *name,
                     const char *group,
                     struct row **found)
{
    size_t ranks = kernels->defs->ranks_count;
    struct row *row;

    for (size_t i = 0; i < kernels->count; i++) {
        row = &kernels->rows[i];
        if (row->name == name && row->group == group) {
            *found = row;
            return;
        }
    }
    *found = NULL;
    if (kernels->count == CLOCKKERNELS_NAMES) {
        return;
    }
    row = &kernels->rows[kernels->count++];
    row->name = name;
    row->group = group;
    row->is_known = kernelgroup_is_known(kernels->defs, group);
    row->is_member = xcalloc(ranks, sizeof(*row->is_member));
    row->counts = xcalloc(ranks, sizeof(*row->counts));
    row->runs = xcalloc(ranks * CLOCKKERNELS_EACH, sizeof(*row->runs));
    row->first = xcalloc(ranks, sizeof(*row->first));
    row_fill(kernels->defs, row);
    *found = row;
}

int clockkernels_take(void *state, const struct timeline_event *event)
{
    struct clockkernels *kernels = state;
    const struct ck_kernel *kernel = (const struct ck_kernel *)event->record;
    uint32_t rank = defs_rank_index(kernels->defs, event->rank);
    uint32_t agent = kernels->defs->processes[event->process].agent;
    const char *name;
    struct row *row;

    if (event->record->kind != CK_KIND_KERNEL || rank == DEFS_NONE ||
        (event->record->flags & (CK_FLAG_BAD_TIME | CK_FLAG_PART)) != 0) {
        return 0;
    }
    name = defs_name(kernels->defs, event->process, event->record->name);
    if (!clockkernels_is_meeting(name)) {
        return 0;
    }
    row_find(kernels, name,
             kernelgroup_of(kernels->defs, event->process, kernel), &row);
    if (row == NULL) {
        return 0;
    }
    if (row->counts[rank] < CLOCKKERNELS_EACH) {
        row->runs[(size_t)rank * CLOCKKERNELS_EACH + row->counts[rank]] =
            (struct run){{axis_undo(kernels->axis, agent, event->start),
                          axis_undo(kernels->axis, agent, event->end)},
                         agent,
                         kernel->device,
                         kernelgroup_number(kernel)};
    }
    row->counts[rank]++;
    return 0;
}

static uint64_t kept_of(const struct row *row, size_t rank)
{
    uint64_t count = row->counts[rank];

    return count < CLOCKKERNELS_EACH ? count : CLOCKKERNELS_EACH;
}

/* Do all members give the numbers of all their kernels, in order? */
static bool is_numbered(const struct clockkernels *kernels,
                        const struct row *row)
{
    for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
        const struct run *runs = &row->runs[i * CLOCKKERNELS_EACH];
        uint32_t before = 0;

        for (uint64_t k = 0; row->is_member[i] && k < kept_of(row, i); k++) {
            if (runs[k].number <= before) {
                return false;
            }
            before = runs[k].number;
        }
    }
    return true;
}

/* The lowest number that all members may have from `at` on (by rank), which is
 * moved there; 0 = one has no more. */
static uint32_t number_next(const struct clockkernels *kernels,
                            const struct row *row,
                            uint64_t *at)
{
    uint32_t wanted = 1;
    bool is_moved = true;

    while (is_moved) {
        is_moved = false;
        for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
            const struct run *runs = &row->runs[i * CLOCKKERNELS_EACH];

            while (row->is_member[i] && at[i] < kept_of(row, i) &&
                   runs[at[i]].number < wanted) {
                at[i]++;
            }
            if (row->is_member[i] && at[i] == kept_of(row, i)) {
                return 0;
            }
            if (row->is_member[i] && runs[at[i]].number > wanted) {
                wanted = runs[at[i]].number;
                is_moved = true;
            }
        }
    }
    return wanted;
}

/* Where kernels have their numbers, those that all members have are left: then
 * the n-th are the same wherever a profile begins, and whatever one lacks. */
static void row_pair(const struct clockkernels *kernels, struct row *row)
{
    size_t ranks = kernels->defs->ranks_count;
    uint64_t *at, count = 0;

    if (row->members == 0 || !is_numbered(kernels, row)) {
        return;
    }
    at = xcalloc(ranks, sizeof(*at));
    while (number_next(kernels, row, at) != 0) {
        for (size_t i = 0; i < ranks; i++) {
            struct run *runs = &row->runs[i * CLOCKKERNELS_EACH];

            if (row->is_member[i]) {
                runs[count] = runs[at[i]++];
            }
        }
        count++;
    }
    for (size_t i = 0; i < ranks; i++) {
        row->counts[i] = row->is_member[i] ? count : row->counts[i];
    }
    free(at);
}

/* All of the group have equally many, and no other rank has any. */
static bool is_even(const struct clockkernels *kernels, const struct row *row)
{
    for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
        if (row->counts[i] != (row->is_member[i] ? row->counts[row->any] : 0)) {
            return false;
        }
    }
    return row->members > 1;
}

/* How many each has that are looked at. */
static uint64_t row_calls(const struct row *row)
{
    return kept_of(row, row->any);
}

/* What the k-th kernel's end is later than that of the rank `any`, each on its
 * own clock. */
static ck_time_t end_after(const struct row *row, size_t rank, uint64_t k)
{
    return row->runs[rank * CLOCKKERNELS_EACH + k].part.end -
           row->runs[row->any * CLOCKKERNELS_EACH + k].part.end;
}

/* Do they end together again and again, by clocks that are off by what they
 * are? Kernels of several groups do not, unless these go in step. */
static bool is_alike(const struct clockkernels *kernels, const struct row *row)
{
    const struct run *any = &row->runs[row->any * CLOCKKERNELS_EACH];
    uint64_t calls = row_calls(row), loose = 0;

    for (uint64_t k = 1; k < calls; k++) {
        ck_time_t over = any[k].part.end - any[k - 1].part.end;
        bool is_loose = false;

        for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
            is_loose =
                is_loose ||
                (row->is_member[i] &&
                 !kernelshift_is_close(
                     end_after(row, i, k) - end_after(row, i, k - 1), over));
        }
        loose += is_loose;
    }
    return loose <= calls / KERNELSHIFT_LOOSE;
}

/* When a rank's kernels end, of one device; false: of several, or one has no
 * length. */
static bool ends_of(const struct row *row, size_t rank, ck_time_t *ends)
{
    const struct run *runs = &row->runs[rank * CLOCKKERNELS_EACH];

    for (uint64_t k = 0; k < kept_of(row, rank); k++) {
        if (runs[k].number != 0 || runs[k].device != runs[0].device ||
            runs[k].agent != runs[0].agent ||
            runs[k].part.start >= runs[k].part.end ||
            (k > 0 && runs[k].part.end < ends[k - 1])) {
            return false;
        }
        ends[k] = runs[k].part.end;
    }
    return true;
}

/* By how many each rank's kernels are behind those of `any`, from when they
 * end; false: that does not show. */
static bool row_shifts(const struct clockkernels *kernels,
                       const struct row *row,
                       ck_time_t *ends,
                       int *shifts)
{
    ck_time_t *others = ends + CLOCKKERNELS_EACH;

    if (!ends_of(row, row->any, ends)) {
        return false;
    }
    for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
        struct kernelshift_ends a = {ends, kept_of(row, row->any)};
        struct kernelshift_ends b = {others, kept_of(row, i)};

        shifts[i] = 0;
        if (row->is_member[i] && i != row->any &&
            (!ends_of(row, i, others) || !kernelshift_find(a, b, &shifts[i]))) {
            return false;
        }
    }
    return true;
}

/* Number the kernels so that those that met have equal numbers. */
static void
row_number(const struct clockkernels *kernels, struct row *row, int *shifts)
{
    int most = 0;

    for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
        most = shifts[i] > most ? shifts[i] : most;
    }
    for (size_t i = 0; i < kernels->defs->ranks_count; i++) {
        struct run *runs = &row->runs[i * CLOCKKERNELS_EACH];

        row->first[i] = (uint32_t)(most - shifts[i] + 1);
        for (uint64_t k = 0; row->is_member[i] && k < kept_of(row, i); k++) {
            runs[k].number = row->first[i] + (uint32_t)k;
        }
    }
    row->is_ordered = true;
}

/* Of a group whose profiles may begin or end at different kernels, and do not
 * number them. */
static void row_order(const struct clockkernels *kernels, struct row *row)
{
    ck_time_t *ends;
    int *shifts;

    if (!kernels->is_partial || !row->is_known || row->members < 2 ||
        is_numbered(kernels, row) ||
        (is_even(kernels, row) && is_alike(kernels, row))) {
        return;
    }
    row->is_doubtful = true;
    ends = xcalloc((size_t)2 * CLOCKKERNELS_EACH, sizeof(*ends));
    shifts = xcalloc(kernels->defs->ranks_count, sizeof(*shifts));
    if (row_shifts(kernels, row, ends, shifts)) {
        row_number(kernels, row, shifts);
        row->is_doubtful = false;
    }
    free(ends);
    free(shifts);
}

static void rows_pair(struct clockkernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++) {
        row_order(kernels, &kernels->rows[i]);
        row_pair(kernels, &kernels->rows[i]);
    }
}

static void row_meet(const struct clockkernels *kernels,
                     const struct clockdevices *devices,
                     const struct row *row,
                     struct clock_member *members,
                     struct clockedges *edges)
{
    const struct defs *defs = kernels->defs;

    for (uint64_t k = 0; k < row_calls(row); k++) {
        size_t count = 0;

        for (size_t i = 0; i < defs->ranks_count; i++) {
            const struct run *run = &row->runs[i * CLOCKKERNELS_EACH + k];

            if (row->is_member[i]) {
                members[count++] = (struct clock_member){
                    clockdevices_domain(devices, run->agent, run->device),
                    run->part.start, run->part.end - CLOCKEDGES_DELAY};
            }
        }
        clockedges_meet(edges, members, count, CLOCK_SOURCE_KERNEL);
    }
}

static bool is_fact(const struct clockkernels *kernels,
                    const struct row *row,
                    enum clockkernels_assume assume)
{
    return is_even(kernels, row) &&
           ((row->is_known && !row->is_doubtful) ||
            assume == CLOCKKERNELS_ALL ||
            (assume == CLOCKKERNELS_ALIKE && is_alike(kernels, row)));
}

void clockkernels_finish(struct clockkernels *kernels,
                         enum clockkernels_assume assume,
                         const struct clockdevices *devices,
                         struct clockedges *edges)
{
    struct clock_member *members =
        xcalloc(kernels->defs->ranks_count + 1, sizeof(*members));

    rows_pair(kernels);
    for (size_t i = 0; i < kernels->count; i++) {
        struct row *row = &kernels->rows[i];

        row->is_used = is_fact(kernels, row, assume);
        if (row->is_used) {
            row_meet(kernels, devices, row, members, edges);
        }
    }
    free(members);
}

/* Some rank leaves the k-th before the last enters. */
static bool is_backwards(const struct clockkernels *kernels,
                         const struct row *row,
                         uint64_t k,
                         bool is_aligned)
{
    const struct defs *defs = kernels->defs;
    ck_time_t last = INT64_MIN;
    ck_time_t first = INT64_MAX;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        const struct run *run = &row->runs[i * CLOCKKERNELS_EACH + k];
        struct region part = run->part;

        if (!row->is_member[i]) {
            continue;
        }
        if (is_aligned) {
            part.start = axis_device_time(kernels->axis, run->agent,
                                          run->device, part.start);
            part.end = axis_device_time(kernels->axis, run->agent, run->device,
                                        part.end);
        }
        last = part.start > last ? part.start : last;
        first = part.end < first ? part.end : first;
    }
    return first < last;
}

static const struct row *row_known(const struct clockkernels *kernels,
                                   const char *name,
                                   const char *group)
{
    for (size_t i = 0; kernels != NULL && i < kernels->count; i++) {
        const struct row *row = &kernels->rows[i];

        if (row->name == name && row->group == group) {
            return row;
        }
    }
    return NULL;
}

uint32_t clockkernels_first(const struct clockkernels *kernels,
                            const char *name,
                            const char *group,
                            size_t rank)
{
    const struct row *row = row_known(kernels, name, group);

    return row != NULL && row->is_ordered && row->is_member[rank]
               ? row->first[rank]
               : 0;
}

bool clockkernels_is_partial(const struct clockkernels *kernels)
{
    return kernels != NULL && kernels->is_partial;
}

bool clockkernels_is_doubtful(const struct clockkernels *kernels,
                              const char *name,
                              const char *group)
{
    const struct row *row = row_known(kernels, name, group);

    return row != NULL && row->is_doubtful && !row->is_used;
}

void clockkernels_report(const struct clockkernels *kernels,
                         struct report *report)
{
    struct report_causality *causality = &report->causality;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct row *row = &kernels->rows[i];

        report->clock_dates.ordered +=
            row->is_used && row->is_ordered ? row_calls(row) : 0;
        for (uint64_t k = 0; row->is_used && k < row_calls(row); k++) {
            causality->kernels++;
            causality->kernels_before += is_backwards(kernels, row, k, false);
            causality->kernels_after += is_backwards(kernels, row, k, true);
        }
    }
}

/* ---- dates --------------------------------------------------------------- */

/* Stretches of a name's kernels, each with an own median: what chance does to
 * single ends it hides, and what a clock does it shows. */
#define STRETCH 10
#define STRETCHES 8
/* Standard errors of a median that are added to it. */
#define DEVIATIONS 5

CK_ORDER(by_time, ck_time_t, CK_LESS(*a, *b))

/* Sorts them. */
static ck_time_t median(ck_time_t *times, size_t count)
{
    qsort(times, count, sizeof(*times), by_time);
    return times[(count - 1) / 2] +
           (times[count / 2] - times[(count - 1) / 2]) / 2;
}

/* Of the k-th kernel: each rank's end less the median of all, into offs (by
 * rank, `stride` apart); how long before the last enters the first leaves. */
static ck_time_t ends_compare(const struct clockkernels *kernels,
                              const struct row *row,
                              uint64_t k,
                              ck_time_t *ends,
                              ck_time_t *offs)
{
    const struct defs *defs = kernels->defs;
    size_t stride = CLOCKKERNELS_EACH, count = 0;
    ck_time_t last = INT64_MIN, first = INT64_MAX, middle;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        const struct run *run = &row->runs[i * CLOCKKERNELS_EACH + k];
        ck_time_t start, end;

        if (!row->is_member[i]) {
            continue;
        }
        start = axis_device_time(kernels->axis, run->agent, run->device,
                                 run->part.start);
        end = axis_device_time(kernels->axis, run->agent, run->device,
                               run->part.end);
        ends[count++] = end;
        offs[i * stride + k] = end;
        last = start > last ? start : last;
        first = end < first ? end : first;
    }
    middle = median(ends, count);
    for (size_t i = 0; i < defs->ranks_count; i++) {
        offs[i * stride + k] -= middle;
    }
    return last - first;
}

/* How far the median of these may be from the true one: as of a normal
 * distribution, which has 1.35 deviations between the quartiles. They are
 * sorted. */
static ck_time_t median_error(const ck_time_t *times, size_t count)
{
    ck_time_t spread = times[(count - 1) - count / 4] - times[count / 4];

    return (ck_time_t)(DEVIATIONS * 1.2533 / 1.349 * (double)spread /
                       sqrt((double)count));
}

/* The largest median of a stretch, and half of what it changes from one to the
 * next, as it does within each. */
static ck_time_t off_of(ck_time_t *offs, size_t count)
{
    size_t stretches =
        count / STRETCH < STRETCHES ? count / STRETCH : STRETCHES;
    ck_time_t most = 0, drift = 0, before = 0;

    stretches += stretches == 0;
    for (size_t i = 0; i < stretches; i++) {
        size_t from = count * i / stretches;
        size_t length = count * (i + 1) / stretches - from;
        ck_time_t off = median(&offs[from], length);
        ck_time_t far = llabs(off) + median_error(&offs[from], length);

        most = far > most ? far : most;
        if (i > 0 && llabs(off - before) > drift) {
            drift = llabs(off - before);
        }
        before = off;
    }
    return most + drift / 2;
}

static void row_dates(const struct clockkernels *kernels,
                      struct row *row,
                      struct clockkernels_dates *dates,
                      ck_time_t *room,
                      ck_time_t *errors)
{
    size_t ranks = kernels->defs->ranks_count;
    ck_time_t *offs = room + ranks;
    uint64_t count = row_calls(row);
    ck_time_t worst = 0;

    for (uint64_t k = 0; k < count; k++) {
        ck_time_t before = ends_compare(kernels, row, k, room, offs);

        worst = before > worst ? before : worst;
    }
    if (!row->is_known && worst > CLOCKKERNELS_STAMPS) {
        dates->apart += count;
        dates->apart_worst =
            worst > dates->apart_worst ? worst : dates->apart_worst;
        return;
    }
    if (!row->is_known && !is_alike(kernels, row)) {
        return; /* of several groups: that agrees with dates by chance */
    }
    if (row->is_doubtful && worst > CLOCKKERNELS_STAMPS) {
        return; /* profiles that begin at different ones, or clocks are off */
    }
    row->is_doubtful = false;
    row->is_used = true;
    dates->worst = worst > dates->worst ? worst : dates->worst;
    dates->kernels += count;
    for (size_t i = 0; count > 0 && i < ranks; i++) {
        ck_time_t off =
            row->is_member[i] ? off_of(&offs[i * CLOCKKERNELS_EACH], count) : 0;

        errors[i] = off > errors[i] ? off : errors[i];
    }
}

void clockkernels_dates(struct clockkernels *kernels,
                        struct clockkernels_dates *dates,
                        ck_time_t *errors)
{
    size_t ranks = kernels->defs->ranks_count;
    ck_time_t *room =
        xcalloc(ranks * (CLOCKKERNELS_EACH + 1) + 1, sizeof(*room));

    rows_pair(kernels);
    *dates = (struct clockkernels_dates){0};
    memset(errors, 0, ranks * sizeof(*errors));
    for (size_t i = 0; i < kernels->count; i++) {
        if (is_even(kernels, &kernels->rows[i])) {
            row_dates(kernels, &kernels->rows[i], dates, room, errors);
        }
    }
    for (size_t i = 0; i < ranks; i++) {
        errors[i] += dates->worst;
    }
    dates->is_refuted = dates->worst > CLOCKKERNELS_STAMPS;
    free(room);
}
