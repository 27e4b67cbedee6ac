/* lockserial.h - when a lock lets no more than one of its threads run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many threads use a lock at a time is known only at the end: those of a
 * pool use it all the time, others come and go. A thread is there from the
 * first to the last time that it was seen: in a call, or by a sample, as one
 * that computes is. So the number of waiters is kept over time. Of a process
 * without samples, and beyond LOCKSERIAL_PIECES, all threads count as there all
 * the time.
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_LOCKSERIAL_H
#define CK_MERGE_ANALYSIS_THREADS_LOCKSERIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/model/interval.h"

/* Pieces of time that are kept, of all locks. */
#define LOCKSERIAL_PIECES ((size_t)1 << 18)

struct lockserial;
/* Borrowed. */
struct lockserial *lockserial_create(const struct defs *defs);
void lockserial_destroy(struct lockserial *serial);
/* The thread was there in that part; by a sample or not. */
void lockserial_seen(struct lockserial *serial,
                     uint32_t thread,
                     struct region part,
                     bool is_sample);
/* So many threads waited for the lock in that part, behind those given for it
 * before. */
void lockserial_waited(struct lockserial *serial,
                       uint32_t lock,
                       struct region part,
                       uint32_t waiters);
/* That thread uses the lock, once for each. */
void lockserial_user(struct lockserial *serial, uint32_t lock, uint32_t thread);
/* Once all was given. */
void lockserial_close(struct lockserial *serial);

struct lockserial_sum {
    uint32_t at_once; /* threads that used it at a time, at most */
    ck_time_t serial; /* all that used it then waited but one at most */
};
/* Behind that; false: the lock's pieces were not kept. */
bool lockserial_find(const struct lockserial *serial,
                     uint32_t lock,
                     struct lockserial_sum *sum);

#endif
