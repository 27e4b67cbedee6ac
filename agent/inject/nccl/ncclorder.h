/* ncclorder.h - the number of a kernel among the collectives of a communicator
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From version 5 on NCCL reports each call of a group of calls, then the
 * launches that it needs for them. Collectives are counted, which all ranks
 * call in one order; messages are not, and neither is what is captured into a
 * CUDA graph, for ranks may capture it any number of times. Of a group with
 * messages only the first launch is known to have collectives: NCCL puts these
 * before the messages. Calls of one communicator come one after the other, from
 * any thread; its launches may be on another one.
 */
#ifndef CK_AGENT_INJECT_NCCL_NCCLORDER_H
#define CK_AGENT_INJECT_NCCL_NCCLORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Launches behind one collective call that have numbers of their own. */
#define ORDER_LAUNCHES 64

struct order {
    _Atomic uint64_t collectives; /* so far */
    _Atomic uint64_t group;       /* of calls, that the last one was of */
    _Atomic uint32_t launches;    /* since the last call */
    _Atomic uint32_t has;         /* what the group's calls are: ncclorder.c */
};

/* This thread begins a group of calls, of whatever communicators. */
void order_group(void);
/* The collective's number from 1; 0 = it is captured, and not counted. */
uint64_t order_collective(struct order *order, bool is_captured);
void order_message(struct order *order);
/* A number that grows with each launch of a collective and is the same on all
 * ranks; 0 = not known, or it has messages alone. */
uint64_t order_launch(struct order *order);

#endif
