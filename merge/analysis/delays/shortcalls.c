/* shortcalls.c - samples in calls of libc that were recorded because of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/shortcalls.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Calls are recorded from 10 us on. A sample with a copy of the stack takes 15
 * to 50 us on the machines where this was seen. */
#define SHORT_MAX (100 * CK_TIME_US)

struct shortcalls {
    struct table *numbers; /* thread, key */
    ck_time_t *passed;     /* by number: time that has no sample yet */
    size_t count, room;
};

struct shortcalls *shortcalls_create(void)
{
    struct shortcalls *calls = xcalloc(1, sizeof(*calls));

    calls->numbers = table_create();
    return calls;
}

void shortcalls_destroy(struct shortcalls *calls)
{
    if (calls == NULL) {
        return;
    }
    table_destroy(calls->numbers);
    free(calls->passed);
    free(calls);
}

bool shortcalls_is_one(const struct history_span *call)
{
    return call->kind == CK_KIND_POSIX && call->end - call->start <= SHORT_MAX;
}

static ck_time_t *
passed_of(struct shortcalls *calls, uint32_t thread, uint32_t key)
{
    int64_t number = table_number_of(calls->numbers, thread, key, 0);

    if ((size_t)number == calls->count) {
        array_grow(&calls->passed, &calls->room, calls->count,
                   sizeof(*calls->passed));
        calls->passed[calls->count++] = 0;
    }
    return &calls->passed[number];
}

void shortcalls_pass(struct shortcalls *calls,
                     uint32_t thread,
                     uint32_t key,
                     ck_time_t ns)
{
    *passed_of(calls, thread, key) += ns;
}

bool shortcalls_meet(struct shortcalls *calls,
                     uint32_t thread,
                     uint32_t key,
                     ck_time_t weight)
{
    ck_time_t *passed = passed_of(calls, thread, key);

    if (*passed * 2 < weight) {
        return true;
    }
    *passed -= weight;
    return false;
}
