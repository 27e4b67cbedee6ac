/* order.c - waits for a message though another one had been sent before
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/order.h"

#include <stdlib.h>

struct late {
    ck_time_t sent;
    ck_time_t ns; /* 0 = none, or counted */
    struct ledger_row row;
};

struct thread {
    struct late *items; /* a ring of ORDER_WAITS; NULL = none yet */
    size_t next;
    ck_time_t latest; /* no item was sent later */
};

struct order {
    size_t count;
    struct thread *threads;
};

struct order *order_create(size_t threads)
{
    struct order *order = calloc(1, sizeof(*order));

    if (order == NULL) {
        return NULL;
    }
    order->count = threads;
    order->threads = calloc(threads + 1, sizeof(*order->threads));
    if (order->threads == NULL) {
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < threads; i++) {
        order->threads[i].latest = INT64_MIN;
    }
    return order;
}

void order_destroy(struct order *order)
{
    if (order == NULL) {
        return;
    }
    for (size_t i = 0; i < order->count; i++) {
        free(order->threads[i].items);
    }
    free(order->threads);
    free(order);
}

int order_wait(struct order *order,
               uint32_t number,
               ck_time_t sent,
               ck_time_t ns,
               const struct ledger_row *row)
{
    struct thread *thread = &order->threads[number];

    if (thread->items == NULL) {
        thread->items = calloc(ORDER_WAITS, sizeof(*thread->items));
        if (thread->items == NULL) {
            return -1;
        }
    }
    thread->items[thread->next++ % ORDER_WAITS] = (struct late){sent, ns, *row};
    thread->latest = sent > thread->latest ? sent : thread->latest;
    return 0;
}

int order_receive(struct order *order,
                  uint32_t number,
                  ck_time_t sent,
                  struct rows *rows)
{
    struct thread *thread = &order->threads[number];

    if (sent >= thread->latest) {
        return 0;
    }
    for (size_t i = 0; i < ORDER_WAITS; i++) {
        struct late *late = &thread->items[i];

        if (late->ns > 0 && late->sent > sent) {
            struct ledger_row *row = rows_find(rows, &late->row);

            if (row == NULL) {
                return -1;
            }
            row->wrong += late->ns;
            late->ns = 0;
        }
    }
    /* Those that are left were not sent later. */
    thread->latest = sent;
    return 0;
}
