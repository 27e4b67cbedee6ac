/* clockbatch.h - many stamped datagrams with one system call
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What came is taken at once, answers go at once, and the stamps of what went
 * are read at once. Used by the thread of clockserve.c alone.
 */
#ifndef CK_AGGREGATOR_CLOCK_CLOCKBATCH_H
#define CK_AGGREGATOR_CLOCK_CLOCKBATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "schema/clock/probe.h"

/* Datagrams taken or sent at once. */
#define CLOCKBATCH_MAX 64

/* A datagram that came. */
struct clockbatch_item {
    const uint8_t *bytes;
    size_t length;    /* more than CK_PROBE_BYTES: it was cut */
    int64_t realtime; /* the kernel's stamp, 0 = none */
};

/* When something that was sent left. */
struct clockbatch_stamp {
    uint32_t number; /* as the socket counts what it sends */
    int64_t realtime;
};

struct clockbatch;

/* NULL with ENOMEM. */
struct clockbatch *clockbatch_create(void);
void clockbatch_destroy(struct clockbatch *batch);

/* Take what has come, without waiting, in place of what was taken before; how
 * many. */
size_t clockbatch_receive(struct clockbatch *batch, int fd);
struct clockbatch_item clockbatch_item(struct clockbatch *batch, size_t index);

/* Copy an answer to the item into a datagram of its own; the place of that. */
size_t clockbatch_put(struct clockbatch *batch,
                      size_t index,
                      const uint8_t answer[CK_PROBE_BYTES]);
/* Copy one more into that datagram. 0, or -1: it is full. */
int clockbatch_add(struct clockbatch *batch,
                   size_t place,
                   const uint8_t answer[CK_PROBE_BYTES]);
size_t clockbatch_answers(const struct clockbatch *batch);
/* Send the answers from the first-th on: how many went, at least one; 0: the
 * first-th could not be sent. */
size_t clockbatch_send(struct clockbatch *batch, int fd, size_t first);
/* Forget the answers. */
void clockbatch_clear(struct clockbatch *batch);

/* The next stamps; how many. */
size_t clockbatch_stamps(int fd,
                         struct clockbatch_stamp stamps[CLOCKBATCH_MAX]);

#endif
