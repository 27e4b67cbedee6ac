/* busyrollup.c - how long queues, ranks, hosts and the job kept a device busy
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/busyrollup.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

#define QUEUES_KNOWN 64
#define NO_ROW UINT32_MAX

/* A queue, rank or host, or the job. */
struct row {
    enum report_level_kind kind;
    uint32_t process; /* the first that gave it work */
    uint32_t device;  /* of a queue: its number, and the queue's */
    uint32_t queue;
    struct interval_union busy;
};

/* Where operations of a queue count. */
struct target {
    bool is_known;
    uint32_t process, device, queue;
    uint32_t rows[REPORT_LEVELS];
};

struct busyrollup {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *keys; /* kind, what it is */
    struct row *rows;
    size_t count, room;
    uint64_t left_out;
    struct target known[QUEUES_KNOWN];
};

struct busyrollup *busyrollup_create(const struct defs *defs,
                                     struct region region)
{
    struct busyrollup *busyrollup = xcalloc(1, sizeof(*busyrollup));

    busyrollup->defs = defs;
    busyrollup->region = region;
    busyrollup->keys = table_create();
    return busyrollup;
}

void busyrollup_destroy(struct busyrollup *busyrollup)
{
    if (busyrollup == NULL) {
        return;
    }
    table_destroy(busyrollup->keys);
    free(busyrollup->rows);
    free(busyrollup);
}

static const char *host_of(const struct busyrollup *busyrollup,
                           uint32_t process)
{
    const struct defs *defs = busyrollup->defs;

    return defs->agents[defs->processes[process].agent].host;
}

/* The key of a row among those of the kind. */
static struct table_key key_of(const struct busyrollup *busyrollup,
                               enum report_level_kind kind,
                               const struct target *target)
{
    struct table_key key = {(uint64_t)kind, 0, 0};

    switch (kind) {
    case REPORT_LEVEL_QUEUE:
        key.b = target->process;
        key.c = (uint64_t)target->device << 32 | target->queue;
        break;
    case REPORT_LEVEL_RANK:
        key.b = (uint64_t)busyrollup->defs->processes[target->process].rank;
        break;
    case REPORT_LEVEL_HOST:
        /* Kept texts: equal ones are one pointer. */
        key.b = (uint64_t)(uintptr_t)host_of(busyrollup, target->process);
        break;
    default:
        break;
    }
    return key;
}

/* The job and hosts are of the devices that are shown, ranks and queues of the
 * ranks that are. */
static bool is_shown(const struct busyrollup *busyrollup,
                     enum report_level_kind kind,
                     const struct target *target)
{
    const struct defs *defs = busyrollup->defs;
    const struct defs_device *device =
        defs_device(defs, target->process, target->device);

    if (!defs->is_filtered) {
        return true;
    }
    return kind < REPORT_LEVEL_RANK
               ? device != NULL && defs_is_device_wanted(defs, device->physical)
               : defs_is_wanted(defs, defs->processes[target->process].rank);
}

/* *number NO_ROW where there are too many, or it is not shown. */
static void row_find(struct busyrollup *busyrollup,
                     enum report_level_kind kind,
                     const struct target *target,
                     uint32_t *number)
{
    struct table_key key = key_of(busyrollup, kind, target);
    struct row *row;
    int64_t found;

    *number = NO_ROW;
    if (!is_shown(busyrollup, kind, target) ||
        (kind == REPORT_LEVEL_RANK &&
         busyrollup->defs->processes[target->process].rank ==
             DEFS_RANK_UNKNOWN)) {
        return;
    }
    if (busyrollup->count == BUSYROLLUP_MAX &&
        !table_has(busyrollup->keys, key)) {
        busyrollup->left_out++;
        return;
    }
    found = table_number(busyrollup->keys, key);
    array_grow(&busyrollup->rows, &busyrollup->room, busyrollup->count,
               sizeof(*busyrollup->rows));
    if ((size_t)found == busyrollup->count) {
        row = &busyrollup->rows[busyrollup->count++];
        *row = (struct row){.kind = kind,
                            .process = target->process,
                            .device = target->device,
                            .queue = target->queue};
        interval_union_init(&row->busy, busyrollup->region);
    }
    *number = (uint32_t)found;
}

static const struct target *target_find(struct busyrollup *busyrollup,
                                        uint32_t process,
                                        uint32_t device,
                                        uint32_t queue)
{
    struct target *target =
        &busyrollup->known[(process * 7 + device * 3 + queue) % QUEUES_KNOWN];

    if (target->is_known && target->process == process &&
        target->device == device && target->queue == queue) {
        return target;
    }
    *target =
        (struct target){.process = process, .device = device, .queue = queue};
    for (unsigned kind = 0; kind < REPORT_LEVELS; kind++) {
        row_find(busyrollup, (enum report_level_kind)kind, target,
                 &target->rows[kind]);
    }
    target->is_known = true;
    return target;
}

int busyrollup_take(struct busyrollup *busyrollup,
                    const struct timeline_event *event)
{
    bool is_copy = event->record->kind >= CK_KIND_COPY_H2D;
    const struct ck_kernel *kernel = (const struct ck_kernel *)event->record;
    const struct ck_copy *copy = (const struct ck_copy *)event->record;
    const struct target *target = target_find(
        busyrollup, event->process, is_copy ? copy->device : kernel->device,
        is_copy ? copy->queue : kernel->queue);

    if (target == NULL) {
        return -1;
    }
    for (unsigned kind = 0; kind < REPORT_LEVELS; kind++) {
        if (target->rows[kind] != NO_ROW) {
            interval_union_add(&busyrollup->rows[target->rows[kind]].busy,
                               event->start, event->end);
        }
    }
    return 0;
}

/* The job first, then hosts, ranks and queues, by rank. */
CK_ORDER(by_level,
         struct report_level,
         CK_UP(kind) ?: CK_UP(rank) ?: CK_UP(order))

static void row_report(const struct busyrollup *busyrollup,
                       const struct row *row,
                       struct report_level *level)
{
    const struct defs *defs = busyrollup->defs;
    const struct defs_process *process = &defs->processes[row->process];

    level->rank = DEFS_RANK_UNKNOWN;
    if (row->kind >= REPORT_LEVEL_HOST) {
        level->host = host_of(busyrollup, row->process);
    }
    if (row->kind >= REPORT_LEVEL_RANK) {
        level->rank = process->rank;
    }
    if (row->kind == REPORT_LEVEL_QUEUE) {
        const struct defs_device *device =
            defs_device(defs, row->process, row->device);
        const struct defs_queue *queue =
            defs_queue(defs, row->process, row->queue);

        level->pid = process->pid;
        level->device = device == NULL ? NULL : device->name;
        level->queue = queue == NULL ? NULL : queue->name;
        level->queue_id = row->queue;
    }
    level->operations = row->busy.count;
    level->busy = interval_union_length(&row->busy);
    level->core = row->busy.core;
}

void busyrollup_report(const struct busyrollup *busyrollup,
                       struct report *report)
{
    report->levels = xcalloc(busyrollup->count + 1, sizeof(*report->levels));
    for (size_t i = 0; i < busyrollup->count; i++) {
        struct report_level *level = &report->levels[report->levels_count];

        if (busyrollup->rows[i].busy.count == 0) {
            continue; /* all outside of the region */
        }
        level->kind = busyrollup->rows[i].kind;
        level->order = i;
        row_report(busyrollup, &busyrollup->rows[i], level);
        report->levels_count++;
    }
    qsort(report->levels, report->levels_count, sizeof(*report->levels),
          by_level);
    report->levels_left_out = busyrollup->left_out;
}
