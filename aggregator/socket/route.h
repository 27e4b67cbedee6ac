/* route.h - where a message came from: a socket and a ZeroMQ identity
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * `struct routes` finds the peer of a route. Used from the loop only.
 */
#ifndef CK_AGGREGATOR_SOCKET_ROUTE_H
#define CK_AGGREGATOR_SOCKET_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTE_ID_MAX 255

struct route {
    uint8_t socket; /* number of the socket in agg */
    uint8_t length;
    uint8_t id[ROUTE_ID_MAX];
};

struct job;
struct peer;
struct routes;

/* Who is at the other end; both borrowed. */
struct route_end {
    struct job *job;
    struct peer *peer;
};

bool route_equal(const struct route *a, const struct route *b);

/* NULL with ENOMEM. */
struct routes *routes_create(void);
void routes_destroy(struct routes *routes);
/* Bind the route. 0, or -1 with ENOMEM. */
int routes_put(struct routes *routes,
               const struct route *route,
               struct route_end end);
/* Both NULL: not known. */
struct route_end routes_get(const struct routes *routes,
                            const struct route *route);
void routes_remove(struct routes *routes, const struct route *route);

#endif
