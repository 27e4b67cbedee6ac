/* wrongorder.c - waits for a message though another one had been sent before
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/wrongorder.h"

#include <stdlib.h>

#include "merge/model/memory.h"

struct late {
    ck_time_t sent;
    ck_time_t ns; /* 0 = none, or counted */
    struct ledger_row row;
};

struct thread {
    struct late *items; /* a ring of WRONGORDER_WAITS; NULL = none yet */
    size_t next;
    ck_time_t latest; /* no item was sent later */
};

struct wrongorder {
    size_t count;
    struct thread *threads;
};

struct wrongorder *wrongorder_create(size_t threads)
{
    struct wrongorder *wrongorder = xcalloc(1, sizeof(*wrongorder));

    wrongorder->count = threads;
    wrongorder->threads = xcalloc(threads + 1, sizeof(*wrongorder->threads));
    for (size_t i = 0; i < threads; i++) {
        wrongorder->threads[i].latest = INT64_MIN;
    }
    return wrongorder;
}

void wrongorder_destroy(struct wrongorder *wrongorder)
{
    if (wrongorder == NULL) {
        return;
    }
    for (size_t i = 0; i < wrongorder->count; i++) {
        free(wrongorder->threads[i].items);
    }
    free(wrongorder->threads);
    free(wrongorder);
}

void wrongorder_wait(struct wrongorder *wrongorder,
                     uint32_t number,
                     ck_time_t sent,
                     ck_time_t ns,
                     const struct ledger_row *row)
{
    struct thread *thread = &wrongorder->threads[number];

    if (thread->items == NULL) {
        thread->items = xcalloc(WRONGORDER_WAITS, sizeof(*thread->items));
    }
    thread->items[thread->next++ % WRONGORDER_WAITS] =
        (struct late){sent, ns, *row};
    thread->latest = sent > thread->latest ? sent : thread->latest;
}

void wrongorder_receive(struct wrongorder *wrongorder,
                        uint32_t number,
                        ck_time_t sent,
                        struct rows *rows)
{
    struct thread *thread = &wrongorder->threads[number];

    if (sent >= thread->latest) {
        return;
    }
    for (size_t i = 0; i < WRONGORDER_WAITS; i++) {
        struct late *late = &thread->items[i];

        if (late->ns > 0 && late->sent > sent) {
            struct ledger_row *row = rows_find(rows, &late->row);

            row->wrong += late->ns;
            late->ns = 0;
        }
    }
    /* Those that are left were not sent later. */
    thread->latest = sent;
}
