/* failures.c - device work that failed, and calls that were refused
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * By what it was, its error, and the place in the program.
 */
#include "merge/analysis/history/failures.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

struct failures {
    const struct defs *defs; /* borrowed */
    struct table *keys;      /* process << 1 | is call, name << 32 | error,
                                site */
    uint64_t *counts;
    size_t count, room;
};

struct failures *failures_create(const struct defs *defs)
{
    struct failures *failures = xcalloc(1, sizeof(*failures));

    failures->defs = defs;
    failures->keys = table_create();
    return failures;
}

void failures_destroy(struct failures *failures)
{
    if (failures == NULL) {
        return;
    }
    table_destroy(failures->keys);
    free(failures->counts);
    free(failures);
}

/* Minus the error, 0 = not known. */
static uint32_t error_of(const struct ck_event *record)
{
    switch (ck_kind_class(record->kind)) {
    case CK_CLASS_CALL:
        return (uint32_t)((const struct ck_call *)record)->arg;
    case CK_CLASS_KERNEL:
        return (uint32_t)((const struct ck_kernel *)record)->correlation;
    default:
        return (uint32_t)((const struct ck_copy *)record)->correlation;
    }
}

void failures_add(struct failures *failures,
                  const struct timeline_event *event,
                  uint64_t site)
{
    const struct ck_event *record = event->record;
    bool is_call = ck_kind_class(record->kind) == CK_CLASS_CALL;
    int64_t number = table_number(
        failures->keys,
        (struct table_key){(uint64_t)event->process << 1 | is_call,
                           (uint64_t)record->name << 32 | error_of(record),
                           site});

    array_grow(&failures->counts, &failures->room, failures->count,
               sizeof(*failures->counts));
    if ((size_t)number == failures->count) {
        failures->counts[failures->count++] = 0;
    }
    failures->counts[number]++;
}

CK_ORDER(by_count, struct report_failure, CK_UP(is_call) ?: CK_DOWN(count))

/* The row's number among the different ones. Kept texts: equal ones are one
 * pointer. */
static int64_t row_number(struct table *places,
                          struct table *rows,
                          const struct report_failure *row)
{
    int64_t place =
        table_number_of(places, (uintptr_t)row->place.file, row->place.line,
                        (uintptr_t)row->place.function);

    return table_number_of(rows, (uintptr_t)row->name,
                           (uint64_t)(uint32_t)row->error << 1 | row->is_call,
                           (uint64_t)place);
}

static void rows_fill(const struct failures *failures,
                      struct table *places,
                      struct table *rows,
                      struct report *report)
{
    report->failures = xcalloc(failures->count + 1, sizeof(*report->failures));
    for (size_t i = 0; i < failures->count; i++) {
        struct table_key key = table_key(failures->keys, i);
        uint32_t process = (uint32_t)(key.a >> 1);
        struct report_failure row = {
            .name = defs_name(failures->defs, process, (uint32_t)(key.b >> 32)),
            .is_call = (key.a & 1) != 0,
            .error = (int32_t)(0u - (uint32_t)key.b),
            .place = defs_place(failures->defs, process, key.c)};
        int64_t at;

        if (!defs_is_wanted(failures->defs,
                            failures->defs->processes[process].rank)) {
            continue;
        }
        at = row_number(places, rows, &row);
        if ((size_t)at == report->failures_count) {
            report->failures[report->failures_count++] = row;
        }
        report->failures[at].count += failures->counts[i];
    }
    qsort(report->failures, report->failures_count, sizeof(*report->failures),
          by_count);
}

void failures_report(const struct failures *failures, struct report *report)
{
    struct table *places = table_create();
    struct table *rows = table_create();

    rows_fill(failures, places, rows, report);
    table_destroy(places);
    table_destroy(rows);
}
