/* claimwatch.h - the collector is woken when a thread gets a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * While no thread has a slot nothing can be lost, and a collector that looks a
 * hundred times a second whether one came costs more than all else it does: a
 * job of many short programs is such a one. So it dozes: who enters the ring
 * or claims a slot wakes it (ck_ring_wake()). A thread of its own waits for
 * that, for no system call waits for a word of memory and for descriptors.
 */
#ifndef CK_AGENT_COLLECTOR_CLAIMWATCH_H
#define CK_AGENT_COLLECTOR_CLAIMWATCH_H

#include <stdbool.h>

#include "schema/ring/ring.h"

struct claimwatch;

/* `header` is borrowed. One user, one thread. NULL with errno: without it the
 * collector does not doze. */
struct claimwatch *claimwatch_create(struct ck_ring_header *header);
void claimwatch_destroy(struct claimwatch *watch);

/* Readable once a thread or an image came; to be asked by poll(). */
int claimwatch_fd(const struct claimwatch *watch);

/* Begin to doze. False while the last doze has not been ended. Look afterwards
 * whether one came meanwhile: only who comes later wakes. */
bool claimwatch_doze(struct claimwatch *watch);
bool claimwatch_is_dozing(const struct claimwatch *watch);
/* The descriptor is readable: who comes need not wake any more. */
void claimwatch_rise(struct claimwatch *watch);

#endif
