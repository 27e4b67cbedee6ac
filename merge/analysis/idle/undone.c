/* undone.c - device work that never ended, or failed, for the report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/undone.h"

#include <stdlib.h>

#include "merge/analysis/history/failures.h"

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

static struct report_undone row_of(const struct cast *cast,
                                   const struct commands_undone *undone,
                                   const struct report_device *device)
{
    const struct cast_process *process = &cast->processes[undone->process];
    struct report_undone row = {
        .name = cast_name(cast, undone->process, undone->command.name),
        .place = cast_place(cast, undone->process, undone->command.site),
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
                : cast_name(cast, undone->process, undone->awaited.name);
        row.awaited_place =
            cast_place(cast, undone->process, undone->awaited.site);
    }
    return row;
}

int undone_report(const struct cast *cast,
                  const struct commands *commands,
                  struct report *report)
{
    size_t count;
    struct commands_undone *undone = commands_undone(commands, &count);

    report->undone = calloc(count + 1, sizeof(*report->undone));
    if (undone == NULL || report->undone == NULL) {
        free(undone);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (cast_is_wanted(cast, cast->processes[undone[i].process].rank)) {
            report->undone[report->undone_count++] =
                row_of(cast, &undone[i], device_of(report, undone[i].physical));
        }
    }
    free(undone);
    return failures_report(commands_failures(commands), report);
}
