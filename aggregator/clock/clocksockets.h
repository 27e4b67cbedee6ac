/* clocksockets.h - the sockets that clock probes come to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A UDP socket that the kernel stamps in both directions, and a TCP socket at
 * the same port. Used by clockserve.c alone.
 */
#ifndef CK_AGGREGATOR_CLOCK_CLOCKSOCKETS_H
#define CK_AGGREGATOR_CLOCK_CLOCKSOCKETS_H

#include <stdbool.h>

#include "schema/err.h"

struct clocksockets_options {
    int port;     /* 0 = any free one */
    bool is_wide; /* all addresses, else loopback only */
};

struct clocksockets {
    int udp;
    int tcp; /* -1 = none */
    int port;
    bool is_stamped;
};

/* 0, or -1 with err; what was opened is the caller's to close. */
int clocksockets_open(struct clocksockets *sockets,
                      const struct clocksockets_options *options,
                      struct ck_err *err);

#endif
