/* clockkernels.c - what collective kernels of devices say about clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clockkernels.h"

#include <stdlib.h>
#include <string.h>

struct run {
    struct region part; /* on the clock of its rank's domain */
    uint32_t device;
};

/* Kernels of one name: the first ones of each rank. */
struct row {
    const char *name; /* kept */
    uint64_t *counts; /* by rank of the cast */
    struct run *runs; /* EACH a rank */
};

struct clockkernels {
    const struct cast *cast;   /* borrowed */
    const struct align *align; /* borrowed */
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

struct clockkernels *clockkernels_create(const struct cast *cast,
                                         const struct align *align)
{
    struct clockkernels *kernels = calloc(1, sizeof(*kernels));

    if (kernels != NULL) {
        kernels->cast = cast;
        kernels->align = align;
    }
    return kernels;
}

void clockkernels_destroy(struct clockkernels *kernels)
{
    if (kernels == NULL) {
        return;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        free(kernels->rows[i].counts);
        free(kernels->rows[i].runs);
    }
    free(kernels);
}

/* The row of a name; there is room. NULL with ENOMEM. */
static struct row *row_find(struct clockkernels *kernels, const char *name)
{
    size_t ranks = kernels->cast->ranks_count;
    struct row *row;

    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->rows[i].name == name) {
            return &kernels->rows[i];
        }
    }
    row = &kernels->rows[kernels->count];
    row->name = name;
    row->counts = calloc(ranks, sizeof(*row->counts));
    row->runs = calloc(ranks * CLOCKKERNELS_EACH, sizeof(*row->runs));
    kernels->count++;
    return row->counts == NULL || row->runs == NULL ? NULL : row;
}

static bool is_known(const struct clockkernels *kernels, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->rows[i].name == name) {
            return true;
        }
    }
    return kernels->count < CLOCKKERNELS_NAMES;
}

int clockkernels_take(void *state, const struct timeline_event *event)
{
    struct clockkernels *kernels = state;
    uint32_t rank = cast_rank_index(kernels->cast, event->rank);
    uint32_t agent = kernels->cast->processes[event->process].agent;
    const char *name;
    struct row *row;

    if (event->record->kind != CK_KIND_KERNEL || rank == CAST_NONE ||
        (event->record->flags & (CK_FLAG_BAD_TIME | CK_FLAG_PART)) != 0) {
        return 0;
    }
    name = cast_name(kernels->cast, event->process, event->record->name);
    if (!clockkernels_is_meeting(name) || !is_known(kernels, name)) {
        return 0;
    }
    row = row_find(kernels, name);
    if (row == NULL) {
        return -1;
    }
    if (row->counts[rank] < CLOCKKERNELS_EACH) {
        row->runs[(size_t)rank * CLOCKKERNELS_EACH + row->counts[rank]] =
            (struct run){{align_undo(kernels->align, agent, event->start),
                          align_undo(kernels->align, agent, event->end)},
                         ((const struct ck_kernel *)event->record)->device};
    }
    row->counts[rank]++;
    return 0;
}

static bool is_even(const struct clockkernels *kernels, const struct row *row)
{
    for (size_t i = 1; i < kernels->cast->ranks_count; i++) {
        if (row->counts[i] != row->counts[0]) {
            return false;
        }
    }
    return true;
}

static int row_meet(const struct clockkernels *kernels,
                    const struct clockdevices *devices,
                    const struct row *row,
                    struct clock_member *members,
                    struct clockedges *edges)
{
    const struct cast *cast = kernels->cast;

    for (uint64_t k = 0; k < row->counts[0] && k < CLOCKKERNELS_EACH; k++) {
        for (size_t i = 0; i < cast->ranks_count; i++) {
            const struct run *run = &row->runs[i * CLOCKKERNELS_EACH + k];

            members[i] = (struct clock_member){
                clockdevices_domain(devices, cast->ranks[i].agent, run->device),
                run->part.start, run->part.end - CLOCKEDGES_DELAY};
        }
        if (clockedges_meet(edges, members, cast->ranks_count,
                            CLOCK_SOURCE_KERNEL) != 0) {
            return -1;
        }
    }
    return 0;
}

int clockkernels_finish(const struct clockkernels *kernels,
                        const struct clockdevices *devices,
                        struct clockedges *edges)
{
    struct clock_member *members =
        calloc(kernels->cast->ranks_count + 1, sizeof(*members));
    int rc = members == NULL ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < kernels->count; i++) {
        if (is_even(kernels, &kernels->rows[i])) {
            rc = row_meet(kernels, devices, &kernels->rows[i], members, edges);
        }
    }
    free(members);
    return rc;
}

/* Some rank leaves the k-th before the last enters. */
static bool is_backwards(const struct clockkernels *kernels,
                         const struct row *row,
                         uint64_t k,
                         bool is_aligned)
{
    const struct cast *cast = kernels->cast;
    ck_time_t last = INT64_MIN;
    ck_time_t first = INT64_MAX;

    for (size_t i = 0; i < cast->ranks_count; i++) {
        const struct run *run = &row->runs[i * CLOCKKERNELS_EACH + k];
        struct region part = run->part;
        uint32_t agent = cast->ranks[i].agent;

        if (is_aligned) {
            part.start = align_device_time(kernels->align, agent, run->device,
                                           part.start);
            part.end =
                align_device_time(kernels->align, agent, run->device, part.end);
        }
        last = part.start > last ? part.start : last;
        first = part.end < first ? part.end : first;
    }
    return first < last;
}

void clockkernels_report(const struct clockkernels *kernels,
                         struct report *report)
{
    struct report_causality *causality = &report->causality;

    for (size_t i = 0; i < kernels->count; i++) {
        const struct row *row = &kernels->rows[i];

        for (uint64_t k = 0; is_even(kernels, row) && k < row->counts[0] &&
                             k < CLOCKKERNELS_EACH;
             k++) {
            causality->kernels++;
            causality->kernels_before += is_backwards(kernels, row, k, false);
            causality->kernels_after += is_backwards(kernels, row, k, true);
        }
    }
}
