/* mechanism.h - has an aggregator keys?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of two ZeroMQ peers that do not both have keys, the one that closes first
 * leaves the other without the reason. A plain connection reads the other's
 * greeting before it sends its own, and closes last: so both sides know.
 */
#ifndef CK_AGENT_LINK_MECHANISM_H
#define CK_AGENT_LINK_MECHANISM_H

#include <stdbool.h>

enum mechanism_match {
    MECHANISM_UNKNOWN = -1, /* no answer, or it is no ZeroMQ */
    MECHANISM_OTHER,        /* one side has keys and the other has none */
    MECHANISM_SAME,
};

/* Ask at tcp://HOST:PORT. Waits for at most half a second each for a connection
 * to an address of it, for the answer, and for the other's close. */
enum mechanism_match mechanism_ask(const char *url, bool has_keys);

#endif
