/* devicetotal.c - how much memory of a device is in use, over time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/devicetotal.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

struct devicetotal {
    const struct defs *defs; /* borrowed */
    struct table *keys;      /* process, device */
    int64_t *bytes;
    size_t count, room;
};

struct devicetotal *devicetotal_create(const struct defs *defs)
{
    struct devicetotal *total = xcalloc(1, sizeof(*total));

    total->defs = defs;
    total->keys = table_create();
    return total;
}

void devicetotal_destroy(struct devicetotal *total)
{
    if (total != NULL) {
        table_destroy(total->keys);
        free(total->bytes);
        free(total);
    }
}

static const char *device_name(const struct defs_process *process,
                               uint32_t number)
{
    for (size_t i = 0; i < process->devices_count; i++) {
        if (process->devices[i].number == number &&
            process->devices[i].name != NULL) {
            return process->devices[i].name;
        }
    }
    return "several devices";
}

/* What no longer fits is left out. */
static void bytes_add(int64_t *bytes, int64_t more)
{
    int64_t sum;

    if (!__builtin_add_overflow(*bytes, more, &sum)) {
        *bytes = sum;
    }
}

bool devicetotal_take(struct devicetotal *total,
                      const struct timeline_event *event,
                      struct devicetotal_now *now)
{
    const struct ck_stacked *record = (const struct ck_stacked *)event->record;
    bool is_more = record->e.kind == CK_KIND_DEVICE_ALLOCATED;
    size_t number;

    if ((!is_more && record->e.kind != CK_KIND_DEVICE_FREED) ||
        record->bytes > CK_BLOCK_BYTES_MAX) {
        return false;
    }
    number =
        (size_t)table_number_of(total->keys, event->process, record->mean, 0);
    if (number == total->count) {
        array_grow(&total->bytes, &total->room, total->count,
                   sizeof(*total->bytes));
        total->bytes[total->count++] = 0;
    }
    bytes_add(&total->bytes[number],
              is_more ? (int64_t)record->bytes : -(int64_t)record->bytes);
    now->number = (uint32_t)number;
    now->bytes = total->bytes[number];
    (void)snprintf(
        now->name, sizeof(now->name), "memory of %.280s",
        device_name(&total->defs->processes[event->process], record->mean));
    return true;
}
