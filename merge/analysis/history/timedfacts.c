/* timedfacts.c - timed facts about threads, as far back as a client asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/timedfacts.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

struct list {
    struct timedfacts_fact *facts;
    size_t count, room;
};

struct timedfacts {
    size_t threads;
    size_t limit; /* facts of a thread */
    struct list *lists;
};

struct timedfacts *timedfacts_create(size_t threads)
{
    struct timedfacts *timedfacts = xcalloc(1, sizeof(*timedfacts));

    timedfacts->threads = threads;
    timedfacts->limit = TIMEDFACTS_ALL / (threads + 1);
    if (timedfacts->limit > TIMEDFACTS_MAX) {
        timedfacts->limit = TIMEDFACTS_MAX;
    } else if (timedfacts->limit < TIMEDFACTS_MIN) {
        timedfacts->limit = TIMEDFACTS_MIN;
    }
    timedfacts->lists = xcalloc(threads + 1, sizeof(*timedfacts->lists));
    return timedfacts;
}

void timedfacts_destroy(struct timedfacts *timedfacts)
{
    if (timedfacts == NULL) {
        return;
    }
    for (size_t i = 0; i < timedfacts->threads; i++) {
        free(timedfacts->lists[i].facts);
    }
    free(timedfacts->lists);
    free(timedfacts);
}

/* Let facts go that ended by then; half of them when that is not enough. */
static void list_trim(struct list *list, size_t limit, ck_time_t horizon)
{
    size_t first = 0;

    if (list->count == 0) {
        return;
    }
    while (first < list->count && list->facts[first].end <= horizon) {
        first++;
    }
    if (list->count - first >= limit) {
        first += (list->count - first) / 2;
    }
    list->count -= first;
    memmove(list->facts, list->facts + first,
            list->count * sizeof(*list->facts));
}

bool timedfacts_has_room(const struct timedfacts *timedfacts, uint32_t thread)
{
    return timedfacts->lists[thread].count < timedfacts->lists[thread].room;
}

void timedfacts_add(struct timedfacts *timedfacts,
                    uint32_t thread,
                    const struct timedfacts_fact *fact,
                    ck_time_t horizon)
{
    struct list *list = &timedfacts->lists[thread];

    if (list->count == list->room) {
        list_trim(list, timedfacts->limit, horizon);
    }
    array_grow(&list->facts, &list->room, list->count, sizeof(*list->facts));
    list->facts[list->count++] = *fact;
}

CK_BEFORE(facts_before, struct timedfacts_fact, ck_time_t, a->start < key)

const struct timedfacts_fact *
timedfacts_from(const struct timedfacts *timedfacts,
                uint32_t thread,
                ck_time_t time,
                size_t *count)
{
    const struct list *list = &timedfacts->lists[thread];
    size_t low = facts_before(list->facts, list->count, time);

    if (low > 0 && list->facts[low - 1].end > time) {
        low--;
    }
    *count = list->count - low;
    return *count > 0 ? list->facts + low : NULL;
}
