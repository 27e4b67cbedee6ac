/* order.h - waits for a message though another one had been sent before
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A receive that waited for a late sender is in the wrong order when the thread
 * later receives a message that had been sent earlier: taken first, there would
 * have been something to do. The last waits of each thread are remembered.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_ORDER_H
#define CK_MERGE_ANALYSIS_WAITS_ORDER_H

#include "merge/analysis/delays/rows.h"

/* Late senders of a thread that are remembered. */
#define ORDER_WAITS 100

struct order;
/* NULL with ENOMEM. */
struct order *order_create(size_t threads);
void order_destroy(struct order *order);
/* The thread has waited so long for a message sent at `sent`; the time is in
 * that row. 0, or -1 with ENOMEM. */
int order_wait(struct order *order,
               uint32_t thread,
               ck_time_t sent,
               ck_time_t ns,
               const struct ledger_row *row);
/* The thread has received a message sent at `sent`: its waits for later ones
 * are added to `wrong` of their rows. 0, or -1 with ENOMEM. */
int order_receive(struct order *order,
                  uint32_t thread,
                  ck_time_t sent,
                  struct rows *rows);

#endif
