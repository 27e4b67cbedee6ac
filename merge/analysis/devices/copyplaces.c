/* copyplaces.c - what was copied, by direction and the line that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The site is that of the launching call, as long as that is known.
 */
#include "merge/analysis/devices/copyplaces.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

struct sums {
    uint64_t calls;
    uint64_t bytes;
    ck_time_t total;
};

struct copyplaces {
    const struct defs *defs;         /* borrowed */
    const struct lookback *lookback; /* borrowed */
    struct region region;
    struct table *keys; /* process, kind, site */
    struct sums *sums;
    size_t count, room;
    uint64_t site; /* of the copy taken last */
};

struct copyplaces *copyplaces_create(const struct defs *defs,
                                     const struct lookback *lookback,
                                     struct region region)
{
    struct copyplaces *places = xcalloc(1, sizeof(*places));

    places->defs = defs;
    places->lookback = lookback;
    places->region = region;
    places->keys = table_create();
    return places;
}

void copyplaces_destroy(struct copyplaces *places)
{
    if (places == NULL) {
        return;
    }
    table_destroy(places->keys);
    free(places->sums);
    free(places);
}

static uint64_t site_of(const struct copyplaces *places,
                        const struct timeline_event *event,
                        const struct ck_copy *copy)
{
    const struct history *host = lookback_history(places->lookback);
    uint64_t site = commands_site(lookback_commands(places->lookback),
                                  event->process, copy->tid, copy->call);
    const struct history_span *call = NULL;
    uint32_t thread;

    if (site != 0) {
        return site;
    }
    thread = history_thread(host, event->process, copy->tid);
    if (thread != HISTORY_NONE) {
        call = history_call_span(host, thread, copy->call);
    }
    return call == NULL ? 0 : call->site;
}

int copyplaces_take(void *state, const struct timeline_event *event)
{
    struct copyplaces *places = state;
    const struct ck_copy *copy = (const struct ck_copy *)event->record;
    ck_time_t start = event->start, end = event->end;
    struct sums *sums;
    int64_t number;

    places->site = 0;
    if ((copy->e.flags & CK_FLAG_BAD_TIME) != 0 ||
        !region_clip(places->region, &start, &end)) {
        return 0;
    }
    places->site = site_of(places, event, copy);
    number = table_number(
        places->keys,
        (struct table_key){event->process, copy->e.kind, places->site});
    array_grow(&places->sums, &places->room, places->count,
               sizeof(*places->sums));
    sums = &places->sums[number];
    if ((size_t)number == places->count) {
        places->count++;
        *sums = (struct sums){0};
    }
    sums->calls++;
    sums->bytes += copy->bytes;
    sums->total += end - start;
    return 0;
}

uint64_t copyplaces_site(const struct copyplaces *places)
{
    return places->site;
}

CK_ORDER(by_total, struct report_copy_place, CK_DOWN(total) ?: CK_DOWN(bytes))

/* Add the copies of one process to those of all. */
static void place_join(const struct copyplaces *places,
                       size_t number,
                       struct table *texts,
                       struct report *report)
{
    struct table_key key = table_key(places->keys, number);
    struct report_copy_place row = {
        .name = ck_kind_name((unsigned)key.b),
        .place = defs_place(places->defs, (uint32_t)key.a, key.c)};
    /* Kept texts: equal ones are one pointer. */
    int64_t at = table_number_of(texts, (uintptr_t)row.place.function,
                                 (uintptr_t)row.place.file,
                                 (uint64_t)row.place.line << 16 | key.b);

    if ((size_t)at == report->copy_places_count) {
        report->copy_places[report->copy_places_count++] = row;
    }
    report->copy_places[at].calls += places->sums[number].calls;
    report->copy_places[at].bytes += places->sums[number].bytes;
    report->copy_places[at].total += places->sums[number].total;
}

void copyplaces_report(const struct copyplaces *places, struct report *report)
{
    struct table *texts = table_create();

    report->copy_places =
        xcalloc(places->count + 1, sizeof(*report->copy_places));
    for (size_t i = 0; i < places->count; i++) {
        place_join(places, i, texts, report);
    }
    table_destroy(texts);
    qsort(report->copy_places, report->copy_places_count,
          sizeof(*report->copy_places), by_total);
}
