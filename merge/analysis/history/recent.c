/* recent.c - timed facts about threads, as far back as somebody asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/recent.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"

struct list {
    struct recent_fact *facts;
    size_t count, room;
};

struct recent {
    size_t threads;
    size_t limit; /* facts of a thread */
    struct list *lists;
};

struct recent *recent_create(size_t threads)
{
    struct recent *recent = calloc(1, sizeof(*recent));

    if (recent == NULL) {
        return NULL;
    }
    recent->threads = threads;
    recent->limit = RECENT_ALL / (threads + 1);
    if (recent->limit > RECENT_MAX) {
        recent->limit = RECENT_MAX;
    } else if (recent->limit < RECENT_MIN) {
        recent->limit = RECENT_MIN;
    }
    recent->lists = calloc(threads + 1, sizeof(*recent->lists));
    if (recent->lists == NULL) {
        free(recent);
        return NULL;
    }
    return recent;
}

void recent_destroy(struct recent *recent)
{
    if (recent == NULL) {
        return;
    }
    for (size_t i = 0; i < recent->threads; i++) {
        free(recent->lists[i].facts);
    }
    free(recent->lists);
    free(recent);
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

bool recent_has_room(const struct recent *recent, uint32_t thread)
{
    return recent->lists[thread].count < recent->lists[thread].room;
}

int recent_add(struct recent *recent,
               uint32_t thread,
               const struct recent_fact *fact,
               ck_time_t horizon)
{
    struct list *list = &recent->lists[thread];

    if (list->count == list->room) {
        list_trim(list, recent->limit, horizon);
    }
    if (array_grow(&list->facts, &list->room, list->count,
                   sizeof(*list->facts)) != 0) {
        return -1;
    }
    list->facts[list->count++] = *fact;
    return 0;
}

const struct recent_fact *recent_from(const struct recent *recent,
                                      uint32_t thread,
                                      ck_time_t time,
                                      size_t *count)
{
    const struct list *list = &recent->lists[thread];
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->facts[middle].start < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 0 && list->facts[low - 1].end > time) {
        low--;
    }
    *count = list->count - low;
    return *count > 0 ? list->facts + low : NULL;
}
