/* kernels.c - which kernels the devices' time went into, and what was copied
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/devices.h"
#include "merge/analysis/devices/kernelranks.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/quantile.h"
#include "merge/model/rankset.h"
#include "merge/model/table.h"
#include "schema/order.h"

#define COPY_KINDS (CK_KIND_COPY_MAP - CK_KIND_COPY_H2D + 1)
#define UNNAMED "(no name)"
#define NAMES_KNOWN 256

struct kernel {
    const char *name;
    uint64_t calls;
    uint64_t calls_in_run;
    ck_time_t busy;
    ck_time_t total;
    ck_time_t max;
    struct quantile lengths;
    uint8_t *ranks; /* a bit a rank of the definitions */
    bool is_communication;
};

struct kernels {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *names; /* kept text -> kernel */
    struct kernel *items;
    size_t count;
    size_t room;
    struct report_copy copies[COPY_KINDS];
    struct kernelranks *by_rank; /* of those that compute; NULL = none */
    /* Kernels by address of their name: kept texts stay where they are. */
    struct {
        const char *name; /* NULL = unused */
        uint32_t number;
    } known[NAMES_KNOWN];
};

struct kernels *
kernels_create(const struct defs *defs, struct region region, bool has_ranks)
{
    struct kernels *kernels = xcalloc(1, sizeof(*kernels));

    kernels->defs = defs;
    kernels->region = region;
    kernels->names = table_create();
    kernels->by_rank = has_ranks ? kernelranks_create(defs) : NULL;
    return kernels;
}

void kernels_destroy(struct kernels *kernels)
{
    if (kernels == NULL) {
        return;
    }
    for (size_t i = 0; i < kernels->count; i++) {
        quantile_fini(&kernels->items[i].lengths);
        free(kernels->items[i].ranks);
    }
    table_destroy(kernels->names);
    kernelranks_destroy(kernels->by_rank);
    free(kernels->items);
    free(kernels);
}

/* Number of the kernel with this (kept) name, or -1. */
static int64_t kernel_find(struct kernels *kernels, const char *name)
{
    struct table_key key = {(uint64_t)(uintptr_t)name, 0, 0};
    int64_t number = table_number(kernels->names, key);
    struct kernel *kernel;

    if ((size_t)number < kernels->count) {
        return number;
    }
    array_grow(&kernels->items, &kernels->room, kernels->count,
               sizeof(*kernel));
    kernel = &kernels->items[number];
    memset(kernel, 0, sizeof(*kernel));
    kernel->name = name == NULL ? UNNAMED : name;
    kernel->is_communication = devices_is_communication(kernel->name);
    quantile_init(&kernel->lengths);
    kernel->ranks = xcalloc(kernels->defs->ranks_count / 8 + 1, 1);
    kernels->count++;
    return number;
}

/* The same, without a search for a name that came lately. */
static int64_t kernel_number(struct kernels *kernels, const char *name)
{
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;
    int64_t number;

    if (name != NULL && kernels->known[at].name == name) {
        return kernels->known[at].number;
    }
    number = kernel_find(kernels, name);
    if (number >= 0) {
        kernels->known[at].name = name;
        kernels->known[at].number = (uint32_t)number;
    }
    return number;
}

static void kernel_take(struct kernels *kernels,
                        const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    const struct defs_device *device =
        defs_device(kernels->defs, event->process, record->device);
    uint32_t rank = defs_rank_index(kernels->defs, event->rank);
    struct region part = {event->start, event->end};
    struct kernel *kernel;
    int64_t number;
    bool is_call;

    number = kernel_number(
        kernels, defs_name(kernels->defs, event->process, record->e.name));
    kernel = &kernels->items[number];
    is_call = (record->e.flags & CK_FLAG_PART) == 0;
    kernel->calls_in_run += is_call;
    if (device == NULL ||
        !region_clip(kernels->region, &part.start, &part.end)) {
        return;
    }
    kernel->calls += is_call;
    kernel->total += part.end - part.start;
    if (record->dur > kernel->max) {
        kernel->max = record->dur;
    }
    if (rank != DEFS_NONE) {
        kernel->ranks[rank / 8] |= (uint8_t)(1 << rank % 8);
    }
    if (kernels->by_rank != NULL && rank != DEFS_NONE &&
        !kernel->is_communication) {
        kernelranks_add(kernels->by_rank, (size_t)number, rank,
                        part.end - part.start, is_call);
    }
    if (is_call) {
        quantile_add(&kernel->lengths, record->dur);
    }
}

int kernels_take(void *consumer, const struct timeline_event *event)
{
    struct kernels *kernels = consumer;
    const struct ck_event *record = event->record;
    ck_time_t start = event->start;
    ck_time_t end = event->end;
    struct report_copy *copy;

    if (!timeline_is_device(event) || (record->flags & CK_FLAG_BAD_TIME) != 0) {
        return 0;
    }
    if (record->kind < CK_KIND_COPY_H2D) {
        kernel_take(kernels, event);
        return 0;
    }
    copy = &kernels->copies[record->kind - CK_KIND_COPY_H2D];
    copy->calls_in_run++;
    if (region_clip(kernels->region, &start, &end)) {
        copy->calls++;
        copy->bytes += ((const struct ck_copy *)record)->bytes;
        copy->total += end - start;
    }
    return 0;
}

CK_ORDER(by_busy,
         struct report_kernel,
         CK_DOWN(busy) ?: strcmp(a->name, b->name))

/* The ranks that ran it; `numbers` has room for all. */
static void ranks_report(const struct defs *defs,
                         const struct kernel *kernel,
                         int32_t *numbers,
                         struct report_kernel *row)
{
    char *text;

    row->ranks = 0;
    for (size_t i = 0; i < defs->ranks_count; i++) {
        if ((kernel->ranks[i / 8] & (1 << i % 8)) != 0) {
            numbers[row->ranks++] = defs->ranks[i].number;
        }
    }
    row->rank_first = row->ranks > 0 ? numbers[0] : DEFS_RANK_UNKNOWN;
    row->rank_last =
        row->ranks > 0 ? numbers[row->ranks - 1] : DEFS_RANK_UNKNOWN;
    text = rankset_text(numbers, row->ranks);
    row->rank_list = texts_keep(defs->texts, text, strlen(text));
    free(text);
}

static void kernel_report(const struct defs *defs,
                          struct kernel *kernel,
                          int32_t *numbers,
                          struct report_kernel *row)
{
    row->name = kernel->name;
    row->calls = kernel->calls;
    row->calls_in_run = kernel->calls_in_run;
    row->busy = kernel->busy;
    row->total = kernel->total;
    row->max = kernel->max;
    row->median = quantile_at(&kernel->lengths, 0.5);
    row->is_median_exact = quantile_is_exact(&kernel->lengths);
    ranks_report(defs, kernel, numbers, row);
}

static void rows_report(struct kernels *kernels, struct report *report)
{
    int32_t *numbers =
        xcalloc(kernels->defs->ranks_count + 1, sizeof(*numbers));

    for (size_t i = 0; i < kernels->count; i++) {
        kernel_report(kernels->defs, &kernels->items[i], numbers,
                      &report->kernels[report->kernels_count++]);
    }
    free(numbers);
}

/* What a kernel's lines were busy, it was. */
static void busy_add(struct kernels *kernels, const struct report *report)
{
    for (size_t i = 0; i < report->lines_count; i++) {
        int64_t number = kernel_number(kernels, report->lines[i].kernel);

        kernels->items[number].busy += report->lines[i].busy;
    }
}

static void uneven_report(const struct kernels *kernels,
                          struct report_uneven_kernel *row)
{
    int64_t number = kernelranks_worst(kernels->by_rank, row);

    row->name = number < 0 ? NULL : kernels->items[number].name;
}

void kernels_report(struct kernels *kernels, struct report *report)
{
    static const char *const names[COPY_KINDS] = {"h2d", "d2h",  "d2d",
                                                  "h2h", "fill", "map"};

    busy_add(kernels, report);
    report->kernels = xcalloc(kernels->count + 1, sizeof(*report->kernels));
    report->copies = xcalloc(COPY_KINDS, sizeof(*report->copies));
    rows_report(kernels, report);
    if (kernels->by_rank != NULL) {
        uneven_report(kernels, &report->uneven_kernel);
    }
    qsort(report->kernels, report->kernels_count, sizeof(*report->kernels),
          by_busy);
    for (size_t i = 0; i < COPY_KINDS; i++) {
        if (kernels->copies[i].calls_in_run > 0) {
            struct report_copy *row = &report->copies[report->copies_count++];

            *row = kernels->copies[i];
            row->name = names[i];
        }
    }
}
