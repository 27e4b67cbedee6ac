/* clockreference.h - the aggregator's clock, and where it answers probes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a WELCOME: a session hands it on to what probes the clock.
 */
#ifndef CK_AGENT_LINK_CLOCKREFERENCE_H
#define CK_AGENT_LINK_CLOCKREFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/clock/domain.h"
#include "schema/endpoint.h"

struct clockreference {
    struct ck_domain domain; /* boot_id "": not known */
    int port;                /* 0 = it does not answer probes */
    uint64_t session;
};

/* Where it answers; all borrowed. */
struct clockreference_to {
    const struct ck_endpoint *endpoint;
    size_t url; /* of it */
    int port;
    const uint8_t *agent; /* 16 bytes: who we are */
};

#endif
