/* probe.h - which of several tcp addresses can be reached
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ZeroMQ connects lazily and in silence, so an address is tried by a plain
 * connect first. Nothing waits: all are tried at once.
 */
#ifndef CK_AGENT_LINK_PROBE_H
#define CK_AGENT_LINK_PROBE_H

#include <stdbool.h>

#include "schema/endpoint.h"
#include "schema/time.h"

#define PROBE_LIMIT (300 * CK_TIME_MS)

struct probe {
    int fds[CK_ENDPOINT_URLS]; /* -1 = not tried, or failed */
    ck_time_t until;
    bool is_running;
};

/* Begin with every numeric tcp URL of the endpoint. Returns how many. */
int probe_start(struct probe *probe,
                const struct ck_endpoint *endpoint,
                ck_time_t now);
/* Index of a URL that answered; -1 not yet; -2 none did in time. */
int probe_step(struct probe *probe, ck_time_t now);
void probe_stop(struct probe *probe);

#endif
