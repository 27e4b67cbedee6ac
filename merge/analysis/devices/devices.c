/* devices.c - how long each device was busy, and how long idle
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device is a device of the machine: what several processes do on it is one
 * union. Three unions nest, C (kernels) within CN (with communication
 * kernels) within all (with copies), so
 *
 *     compute = |C|   comm = |CN| - |C|   copy = |all| - |CN|
 *     busy = |all|    busy + idle = region
 *
 * hold in whole nanoseconds. As long as nothing came that makes one differ from
 * the next (a communication kernel, a copy), they are equal, and the smaller
 * one serves as both; so does the union of all as that of the whole run where
 * the region is the whole run.
 */
#include "merge/analysis/devices/devices.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/busyrollup.h"
#include "merge/model/memory.h"

#define NAMES_KNOWN 64

struct device {
    struct interval_union compute;
    struct interval_union kernels; /* once there was a communication kernel */
    struct interval_union all;     /* once there was a copy */
    struct interval_union comm;
    struct interval_union copy;
    struct interval_union run; /* everything, where the run is not the region */
    bool has_comm;
    bool has_copy;
    ck_time_t first; /* start of the first operation */
    uint64_t copies;
    uint64_t bad_times;
};

/* A part of a device. */
struct part {
    struct interval_union kernels;
    struct interval_union all;
    uint64_t copies;
};

struct devices {
    const struct defs *defs; /* borrowed */
    struct device *items;    /* by physical device */
    struct part *parts;      /* by number of definitions->subs */
    struct busyrollup *levels;
    bool is_whole; /* the region is the run */
    /* The device looked up last. */
    uint32_t process;
    uint32_t number;
    struct device *last;
    struct part *last_part; /* NULL = it is no part */
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_communication;
    } known[NAMES_KNOWN];
};

bool devices_is_communication(const char *kernel)
{
    /* Libraries; symmetric memory of PyTorch, where some names are a
     * function's alone; the all-reduces that inference servers bring along. */
    static const char *const parts[] = {"ncclDevKernel",
                                        "ncclKernel",
                                        "ncclSym",
                                        "rccl",
                                        "gloo:",
                                        "c10d::",
                                        "nvshmem",
                                        "mscclpp",
                                        "deep_ep",
                                        "symmetric_memory",
                                        "multimem_",
                                        "one_shot_all_reduce",
                                        "two_shot_all_reduce",
                                        "oneShotAllReduce",
                                        "twoShotAllReduce",
                                        "cross_device_reduce",
                                        "allreduce_prototype",
                                        "allreduce_fusion"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (kernel != NULL && strstr(kernel, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

struct devices *devices_create(const struct defs *defs,
                               struct region region,
                               struct region whole)
{
    struct devices *devices = xcalloc(1, sizeof(*devices));

    devices->defs = defs;
    devices->is_whole = region.start == whole.start && region.end == whole.end;
    devices->items =
        xcalloc(defs->physicals_count + 1, sizeof(*devices->items));
    devices->parts = xcalloc(defs->subs_count + 1, sizeof(*devices->parts));
    devices->levels = busyrollup_create(defs, region);
    for (uint32_t i = 0; i < defs->physicals_count; i++) {
        struct region part = device_region(defs, i, region);

        interval_union_init(&devices->items[i].compute, part);
        interval_union_init(&devices->items[i].kernels, part);
        interval_union_init(&devices->items[i].all, part);
        interval_union_init(&devices->items[i].comm, part);
        interval_union_init(&devices->items[i].copy, part);
        interval_union_init(&devices->items[i].run,
                            device_region(defs, i, whole));
    }
    for (size_t i = 0; i < defs->subs_count; i++) {
        struct region part =
            device_region(defs, defs->subs[i].physical, region);

        interval_union_init(&devices->parts[i].kernels, part);
        interval_union_init(&devices->parts[i].all, part);
    }
    return devices;
}

void devices_destroy(struct devices *devices)
{
    if (devices == NULL) {
        return;
    }
    free(devices->items);
    free(devices->parts);
    busyrollup_destroy(devices->levels);
    free(devices);
}

static struct device *
device_find(struct devices *devices, uint32_t process, uint32_t number)
{
    const struct defs_device *device;

    if (devices->last != NULL && devices->process == process &&
        devices->number == number) {
        return devices->last;
    }
    device = defs_device(devices->defs, process, number);
    if (device == NULL) {
        return NULL;
    }
    devices->process = process;
    devices->number = number;
    devices->last = &devices->items[device->physical];
    devices->last_part =
        device->sub == DEFS_NONE ? NULL : &devices->parts[device->sub];
    return devices->last;
}

static bool is_communication(struct devices *devices, const char *name)
{
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;

    if (devices->known[at].name != name) {
        devices->known[at].name = name;
        devices->known[at].is_communication = devices_is_communication(name);
    }
    return devices->known[at].is_communication;
}

static const struct interval_union *kernels_of(const struct device *device)
{
    return device->has_comm ? &device->kernels : &device->compute;
}

static const struct interval_union *all_of(const struct device *device)
{
    return device->has_copy ? &device->all : kernels_of(device);
}

static const struct interval_union *run_of(const struct devices *devices,
                                           const struct device *device)
{
    return devices->is_whole ? all_of(device) : &device->run;
}

static void copy_add(struct device *device, struct region part)
{
    uint64_t count;

    if (!device->has_copy) {
        device->all = *kernels_of(device);
        device->has_copy = true;
    }
    count = device->all.count;
    interval_union_add(&device->copy, part.start, part.end);
    interval_union_add(&device->all, part.start, part.end);
    device->copies += device->all.count - count;
}

static void part_add(struct part *part, struct region time, bool is_copy)
{
    interval_union_add(&part->all, time.start, time.end);
    if (is_copy) {
        part->copies++;
    } else {
        interval_union_add(&part->kernels, time.start, time.end);
    }
}

static void
kernel_add(struct device *device, struct region part, bool is_communication)
{
    if (is_communication && !device->has_comm) {
        device->kernels = device->compute;
        device->has_comm = true;
    }
    if (device->has_copy) {
        interval_union_add(&device->all, part.start, part.end);
    }
    if (device->has_comm) {
        interval_union_add(&device->kernels, part.start, part.end);
    }
    interval_union_add(is_communication ? &device->comm : &device->compute,
                       part.start, part.end);
}

int devices_take(void *consumer, const struct timeline_event *event)
{
    struct devices *devices = consumer;
    bool is_copy = event->record->kind >= CK_KIND_COPY_H2D;
    struct region part = {event->start, event->end};
    struct device *device;

    if (!timeline_is_device(event)) {
        return 0;
    }
    device = device_find(
        devices, event->process,
        is_copy ? ((const struct ck_copy *)event->record)->device
                : ((const struct ck_kernel *)event->record)->device);
    if (device == NULL) {
        return 0; /* facts enter every device that a record names */
    }
    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        device->bad_times++;
        return 0;
    }
    if (run_of(devices, device)->count == 0) {
        device->first = event->start;
    }
    if (!devices->is_whole) {
        interval_union_add(&device->run, event->start, event->end);
    }
    if (busyrollup_take(devices->levels, event) != 0) {
        return -1;
    }
    if (devices->last_part != NULL) {
        part_add(devices->last_part, part, is_copy);
    }
    if (is_copy) {
        copy_add(device, part);
    } else {
        kernel_add(
            device, part,
            is_communication(devices, defs_name(devices->defs, event->process,
                                                event->record->name)));
    }
    return 0;
}

/* A device without a UUID is its process's own: which one that is. */
static void owner_report(const struct defs *defs,
                         const struct defs_physical *physical,
                         struct report_device *row)
{
    const struct defs_process *owner = &defs->processes[physical->process];

    if (physical->uuid[0] == '\0') {
        row->command = owner->command[0] != '\0'
                           ? owner->command
                           : defs->agents[owner->agent].command;
        row->pid = owner->pid;
    }
}

static void device_report(const struct devices *devices,
                          const struct device *device,
                          const struct defs_physical *physical,
                          struct report_device *row)
{
    const struct interval_union *kernels = kernels_of(device);
    const struct interval_union *all = all_of(device);
    const struct interval_union *run = run_of(devices, device);

    memset(row, 0, sizeof(*row));
    row->name = physical->name;
    row->uuid = physical->uuid;
    row->ranks = physical->ranks;
    row->ranks_count = physical->ranks_count;
    row->wall = region_length(all->region);
    row->busy = interval_union_length(all);
    row->compute = interval_union_length(&device->compute);
    row->kernel_busy = interval_union_length(kernels);
    row->comm = row->kernel_busy - row->compute;
    row->copy = row->busy - row->kernel_busy;
    row->comm_all = interval_union_length(&device->comm);
    row->overlap = row->comm_all - row->comm;
    row->copy_all = interval_union_length(&device->copy);
    row->run_busy = interval_union_length(run);
    row->run_wall = region_length(run->region);
    row->run_first = device->first;
    row->run_last = run->to;
    row->idle = interval_union_idle(all);
    row->core = all->core;
    row->kernel_core = kernels->core;
    row->kernels = kernels->count;
    row->copies = device->copies;
    row->bad_times = device->bad_times;
    row->gaps = interval_union_gaps(all);
    row->longest_gap = interval_union_longest_gap(all);
}

static void all_add(struct report_device *all, const struct report_device *row)
{
    all->wall += row->wall;
    all->busy += row->busy;
    all->compute += row->compute;
    all->comm += row->comm;
    all->copy += row->copy;
    all->comm_all += row->comm_all;
    all->overlap += row->overlap;
    all->copy_all += row->copy_all;
    all->run_busy += row->run_busy;
    all->run_wall += row->run_wall;
    all->idle += row->idle;
    all->core += row->core;
    all->kernel_core += row->kernel_core;
    all->kernel_busy += row->kernel_busy;
    all->kernels += row->kernels;
    all->copies += row->copies;
    all->bad_times += row->bad_times;
    all->gaps += row->gaps;
    if (row->longest_gap > all->longest_gap) {
        all->longest_gap = row->longest_gap;
    }
}

static int by_ranks(const void *a, const void *b)
{
    const struct report_device *left = a;
    const struct report_device *right = b;
    int32_t first = left->ranks_count > 0 ? left->ranks[0] : -1;
    int32_t second = right->ranks_count > 0 ? right->ranks[0] : -1;

    if (first != second) {
        return first < second ? -1 : 1;
    }
    if (left->pid != right->pid && left->run_first != right->run_first) {
        return left->run_first < right->run_first ? -1 : 1;
    }
    return (left->physical > right->physical) -
           (left->physical < right->physical);
}

/* Devices of one name that a rank used are numbered. */
static void numbers_report(struct report *report)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        struct report_device *row = &report->devices[i];
        int32_t before = 0, others = 0;

        for (size_t k = 0; k < report->devices_count; k++) {
            const struct report_device *other = &report->devices[k];
            bool is_same =
                k != i && other->ranks_count > 0 && row->ranks_count > 0 &&
                other->ranks[0] == row->ranks[0] && other->pid == row->pid &&
                strcmp(other->name, row->name) == 0;

            others += is_same;
            before += is_same && k < i;
        }
        row->number = others > 0 ? before : -1;
    }
}

/* Parts of the devices that are shown. */
static void subs_report(const struct devices *devices, struct report *report)
{
    const struct defs *defs = devices->defs;

    report->subs = xcalloc(defs->subs_count + 1, sizeof(*report->subs));
    for (size_t i = 0; i < defs->subs_count; i++) {
        const struct defs_sub *sub = &defs->subs[i];
        const struct part *part = &devices->parts[i];
        struct report_sub *row = &report->subs[report->subs_count];

        if (!defs_is_wanted(defs, defs->processes[sub->process].rank)) {
            continue;
        }
        *row = (struct report_sub){
            .physical = sub->physical,
            .name = sub->name,
            .pid = defs->processes[sub->process].pid,
            .wall = region_length(part->all.region),
            .busy = interval_union_length(&part->all),
            .compute = interval_union_length(&part->kernels),
            .kernels = part->kernels.count,
            .copies = part->copies,
        };
        row->copy = row->busy - row->compute;
        for (size_t k = 0; k < report->subs_count; k++) {
            row->index += report->subs[k].physical == row->physical;
        }
        report->subs_count++;
    }
}

void devices_report(const struct devices *devices, struct report *report)
{
    size_t count = devices->defs->physicals_count;

    report->devices = xcalloc(count + 1, sizeof(*report->devices));
    memset(&report->all, 0, sizeof(report->all));
    report->is_ledger_closed = true;
    for (size_t i = 0; i < count; i++) {
        struct report_device *row = &report->devices[report->devices_count];
        const struct device *device = &devices->items[i];

        device_report(devices, device, &devices->defs->physicals[i], row);
        owner_report(devices->defs, &devices->defs->physicals[i], row);
        row->physical = (uint32_t)i;
        if (row->busy + row->idle != row->wall) {
            report->is_ledger_closed = false;
        }
        if (all_of(device)->count + device->bad_times == 0 &&
            devices->defs->physicals[i].name[0] == '\0') {
            continue; /* it has no name and is not used here */
        }
        if (!defs_is_device_wanted(devices->defs, (uint32_t)i)) {
            continue;
        }
        all_add(&report->all, row);
        report->devices_count++;
    }
    qsort(report->devices, report->devices_count, sizeof(*report->devices),
          by_ranks);
    numbers_report(report);
    subs_report(devices, report);
    busyrollup_report(devices->levels, report);
}
