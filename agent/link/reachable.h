/* reachable.h - which of several tcp addresses can be reached
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ZeroMQ connects lazily and in silence, so an address is tried by a plain
 * connect first. Nothing waits: all are tried at once.
 */
#ifndef CK_AGENT_LINK_REACHABLE_H
#define CK_AGENT_LINK_REACHABLE_H

#include <stdbool.h>

#include "schema/endpoint.h"
#include "schema/time.h"

#define REACHABLE_LIMIT (300 * CK_TIME_MS)

struct reachable {
    int fds[CK_ENDPOINT_URLS]; /* -1 = not tried, or failed */
    ck_time_t until;
    bool is_running;
};

/* Begin with every numeric tcp URL of the endpoint. Returns how many. */
int reachable_start(struct reachable *reachable,
                    const struct ck_endpoint *endpoint,
                    ck_time_t now);
/* Index of a URL that answered; -1 not yet; -2 none did in time. */
int reachable_step(struct reachable *reachable, ck_time_t now);
void reachable_stop(struct reachable *reachable);

#endif
