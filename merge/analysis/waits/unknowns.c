/* unknowns.c - calls of MPI that may or may not have waited: it is not known
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/unknowns.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* Calls from one address of a process. */
struct spent {
    ck_time_t ns;
    uint64_t count;
};

/* Places of calls that came lately. */
#define KNOWN 256

struct known {
    uint64_t site;
    uint32_t process;
    uint32_t name;
    uint32_t number; /* and 1; 0 = unused */
};

struct unknowns {
    const struct defs *defs; /* borrowed */
    struct region region;
    ck_time_t *ranks;   /* by rank of the definitions */
    struct table *keys; /* process, name, site -> spent */
    struct spent *spent;
    struct known known[KNOWN];
    size_t spent_room;
};

struct unknowns *unknowns_create(const struct defs *defs, struct region region)
{
    struct unknowns *unknowns = xcalloc(1, sizeof(*unknowns));

    unknowns->defs = defs;
    unknowns->region = region;
    unknowns->keys = table_create();
    unknowns->ranks = xcalloc(defs->ranks_count + 1, sizeof(*unknowns->ranks));
    return unknowns;
}

void unknowns_destroy(struct unknowns *unknowns)
{
    if (unknowns == NULL) {
        return;
    }
    table_destroy(unknowns->keys);
    free(unknowns->ranks);
    free(unknowns->spent);
    free(unknowns);
}

/* The sum of the call's place. */
static struct spent *spent_of(struct unknowns *unknowns,
                              const struct history_span *call)
{
    size_t at = (call->site >> 2 ^ call->name * 7 ^ call->process * 13) % KNOWN;
    struct known *known = &unknowns->known[at];
    size_t count = table_count(unknowns->keys);
    int64_t number;

    if (known->number != 0 && known->site == call->site &&
        known->process == call->process && known->name == call->name) {
        return &unknowns->spent[known->number - 1];
    }
    array_grow(&unknowns->spent, &unknowns->spent_room, count,
               sizeof(*unknowns->spent));
    number =
        table_number_of(unknowns->keys, call->process, call->name, call->site);
    if ((size_t)number == count) {
        unknowns->spent[number] = (struct spent){0, 0};
    }
    *known = (struct known){call->site, call->process, call->name,
                            (uint32_t)number + 1};
    return &unknowns->spent[number];
}

void unknowns_add(struct unknowns *unknowns,
                  const struct history_span *call,
                  struct region part)
{
    const struct defs_process *process =
        &unknowns->defs->processes[call->process];
    uint32_t index = defs_rank_index(unknowns->defs, process->rank);
    struct spent *spent;

    part.start = part.start < process->begin ? process->begin : part.start;
    if (index == DEFS_NONE || part.start >= part.end ||
        !region_clip(unknowns->region, &part.start, &part.end)) {
        return;
    }
    unknowns->ranks[index] += region_length(part);
    spent = spent_of(unknowns, call);
    spent->ns += region_length(part);
    spent->count++;
}

ck_time_t unknowns_rank(const struct unknowns *unknowns, uint32_t index)
{
    return unknowns->ranks[index];
}

static int text_order(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

CK_ORDER(by_place,
         struct report_unknown_wait,
         text_order(a->call, b->call) ?:
         text_order(a->place.file, b->place.file) ?: CK_UP(place.line) ?:
         text_order(a->place.function, b->place.function))

CK_ORDER(by_length, struct report_unknown_wait, CK_DOWN(ns) ?: by_place(a, b))

/* Equal places of several processes become one row. Returns how many. */
static size_t rows_join(struct report_unknown_wait *rows, size_t count)
{
    size_t kept = 0;

    qsort(rows, count, sizeof(*rows), by_place);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_place(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].ns += rows[i].ns;
            rows[kept - 1].count += rows[i].count;
        } else {
            rows[kept++] = rows[i];
        }
    }
    qsort(rows, kept, sizeof(*rows), by_length);
    return kept;
}

void unknowns_report(const struct unknowns *unknowns, struct report *report)
{
    const struct defs *defs = unknowns->defs;
    size_t count = 0;
    struct report_unknown_wait *rows =
        xcalloc(table_count(unknowns->keys) + 1, sizeof(*rows));

    for (size_t i = 0; i < table_count(unknowns->keys); i++) {
        struct table_key key = table_key(unknowns->keys, i);
        uint32_t process = (uint32_t)key.a;

        if (defs_is_wanted(defs, defs->processes[process].rank)) {
            rows[count++] = (struct report_unknown_wait){
                defs_name(defs, process, (uint32_t)key.b),
                defs_place(defs, process, key.c), unknowns->spent[i].ns,
                unknowns->spent[i].count};
        }
    }
    report->unknown_waits = rows;
    report->unknown_waits_count = rows_join(rows, count);
}
