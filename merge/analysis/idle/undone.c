/* undone.c - device work that never ended, or failed, for the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/undone.h"

#include <stdlib.h>

#include "merge/analysis/history/failures.h"
#include "merge/model/memory.h"

static const struct report_device *device_of(const struct report *report,
                                             uint32_t physical)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        if (report->devices[i].physical == physical) {
            return &report->devices[i];
        }
    }
    return NULL;
}

static struct report_undone row_of(const struct defs *defs,
                                   const struct commands_undone *undone,
                                   const struct report_device *device)
{
    const struct defs_process *process = &defs->processes[undone->process];
    struct report_undone row = {
        .name = defs_name(defs, undone->process, undone->command.name),
        .place = defs_place(defs, undone->process, undone->command.site),
        .device = device == NULL ? NULL : device->name,
        .device_number = device == NULL ? -1 : device->number,
        .rank = process->rank,
        .pid = process->pid,
        .since = undone->command.enter,
        .count = undone->count,
        .is_waiting = undone->awaited.tid != 0,
    };

    if (row.is_waiting) {
        row.awaited =
            undone->awaited.name == 0
                ? NULL
                : defs_name(defs, undone->process, undone->awaited.name);
        row.awaited_place =
            defs_place(defs, undone->process, undone->awaited.site);
    }
    return row;
}

void undone_report(const struct defs *defs,
                   const struct commands *commands,
                   struct report *report)
{
    size_t count;
    struct commands_undone *undone = commands_undone(commands, &count);

    report->undone = xcalloc(count + 1, sizeof(*report->undone));
    for (size_t i = 0; i < count; i++) {
        if (defs_is_wanted(defs, defs->processes[undone[i].process].rank)) {
            report->undone[report->undone_count++] =
                row_of(defs, &undone[i], device_of(report, undone[i].physical));
        }
    }
    free(undone);
    failures_report(commands_failures(commands), report);
}
