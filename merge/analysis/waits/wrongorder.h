/* wrongorder.h - waits for a message though another one had been sent before
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A receive that waited for a late sender is in the wrong order when the thread
 * later receives a message that had been sent earlier: taken first, there would
 * have been something to do. The last waits of each thread are remembered.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_WRONGORDER_H
#define CK_MERGE_ANALYSIS_WAITS_WRONGORDER_H

#include "merge/analysis/delays/rows.h"

/* Late senders of a thread that are remembered. */
#define WRONGORDER_WAITS 100

struct wrongorder;
struct wrongorder *wrongorder_create(size_t threads);
void wrongorder_destroy(struct wrongorder *wrongorder);
/* The thread has waited so long for a message sent at `sent`; the time is in
 * that row. */
void wrongorder_wait(struct wrongorder *wrongorder,
                     uint32_t thread,
                     ck_time_t sent,
                     ck_time_t ns,
                     const struct ledger_row *row);
/* The thread has received a message sent at `sent`: its waits for later ones
 * are added to `wrong` of their rows. */
void wrongorder_receive(struct wrongorder *wrongorder,
                        uint32_t thread,
                        ck_time_t sent,
                        struct rows *rows);

#endif
