/* launchcalls.c - calls that may have launched device work, until it comes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/launchcalls.h"

#include <stdlib.h>

#include "merge/model/memory.h"

struct launchcalls {
    struct launchcall *items; /* NULL = there was none yet */
};

struct launchcalls *launchcalls_create(void)
{
    return xcalloc(1, sizeof(struct launchcalls));
}

void launchcalls_destroy(struct launchcalls *calls)
{
    if (calls != NULL) {
        free(calls->items);
        free(calls);
    }
}

/* Neighbours in number are neighbours here. */
static size_t place_of(uint32_t process, uint32_t tid, uint32_t call)
{
    uint64_t hash = ((uint64_t)process << 32 | tid) * 0x9e3779b97f4a7c15u;

    return ((size_t)(hash >> 40) + call) % LAUNCHCALLS;
}

void launchcalls_take(struct launchcalls *calls,
                      const struct timeline_event *event,
                      uint32_t tid)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct launchcall *item;

    if (ck_kind_class(event->record->kind) != CK_CLASS_CALL ||
        record->call == 0) {
        return;
    }
    if (calls->items == NULL) {
        calls->items = xcalloc(LAUNCHCALLS, sizeof(*calls->items));
    }
    item = &calls->items[place_of(event->process, tid, record->call)];
    if (item->call == record->call && item->process == event->process &&
        item->tid == tid) {
        return; /* a call within the call, of the same number */
    }
    *item = (struct launchcall){event->start, record->site, event->process,
                                tid,          record->call, event->thread};
}

const struct launchcall *launchcalls_find(const struct launchcalls *calls,
                                          uint32_t process,
                                          uint32_t tid,
                                          uint32_t call)
{
    const struct launchcall *item =
        calls->items == NULL ? NULL
                             : &calls->items[place_of(process, tid, call)];

    return item == NULL || call == 0 || item->call != call ||
                   item->process != process || item->tid != tid
               ? NULL
               : item;
}
