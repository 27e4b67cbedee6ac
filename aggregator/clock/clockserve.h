/* clockserve.h - answers clock probes: a thread of ckagg of its own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One UDP socket, stamped by the kernel in both directions, and a TCP socket
 * at the same port for where datagrams do not pass. The thread shares with the
 * loop only the sessions (which have a lock) and counters of their own.
 */
#ifndef CK_AGGREGATOR_CLOCK_CLOCKSERVE_H
#define CK_AGGREGATOR_CLOCK_CLOCKSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/clock/clocksession.h"
#include "aggregator/clock/clocksockets.h"
#include "schema/clock/domain.h"
#include "schema/err.h"

/* TCP connections at once; the one that is silent for longest gives way. */
#define CLOCKSERVE_STREAMS 256

struct clockserve;

/* Start the thread; signals must be blocked. NULL with err. */
struct clockserve *clockserve_create(const struct clocksockets_options *options,
                                     struct ck_err *err);
/* End it and wait for it. */
void clockserve_destroy(struct clockserve *serve);

int clockserve_port(const struct clockserve *serve);
/* The clock that answers; borrowed. */
const struct ck_domain *clockserve_domain(const struct clockserve *serve);
/* Borrowed. */
struct clocksessions *clockserve_sessions(const struct clockserve *serve);
/* Are packets stamped by the kernel? */
bool clockserve_is_stamped(const struct clockserve *serve);

#endif
