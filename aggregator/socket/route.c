/* route.c - where a message came from: a socket and a ZeroMQ identity
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A table of chains by hash (FNV-1a), doubled when it is full.
 */
#include "aggregator/socket/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/fnv.h"

#define ROUTES_CHAINS 256

struct route_entry {
    struct route_entry *after;
    uint64_t hash;
    struct route_end end;
    struct route route;
};

struct routes {
    struct route_entry **chains;
    size_t chains_count; /* a power of two */
    size_t count;
};

bool route_equal(const struct route *a, const struct route *b)
{
    return a->socket == b->socket && a->length == b->length &&
           memcmp(a->id, b->id, a->length) == 0;
}

static uint64_t route_hash(const struct route *route)
{
    return ck_fnv(CK_FNV_START ^ route->socket, route->id, route->length);
}

struct routes *routes_create(void)
{
    struct routes *routes = calloc(1, sizeof(*routes));

    if (!routes) {
        return NULL;
    }
    routes->chains_count = ROUTES_CHAINS;
    routes->chains = calloc(routes->chains_count, sizeof(struct route_entry *));
    if (!routes->chains) {
        free(routes);
        return NULL;
    }
    return routes;
}

void routes_destroy(struct routes *routes)
{
    int saved = errno;

    if (!routes) {
        return;
    }
    for (size_t i = 0; i < routes->chains_count; i++) {
        while (routes->chains[i]) {
            struct route_entry *entry = routes->chains[i];

            routes->chains[i] = entry->after;
            free(entry);
        }
    }
    free(routes->chains);
    free(routes);
    errno = saved;
}

/* The link that points to the route's entry, or to the chain's end. */
static struct route_entry **routes_find(const struct routes *routes,
                                        const struct route *route,
                                        uint64_t hash)
{
    struct route_entry **link =
        &routes->chains[hash & (routes->chains_count - 1)];

    while (*link &&
           ((*link)->hash != hash || !route_equal(&(*link)->route, route))) {
        link = &(*link)->after;
    }
    return link;
}

/* More chains; without memory the old ones only get longer. */
static void routes_widen(struct routes *routes)
{
    size_t wider = routes->chains_count * 2;
    struct route_entry **chains = calloc(wider, sizeof(struct route_entry *));

    if (!chains) {
        return;
    }
    for (size_t i = 0; i < routes->chains_count; i++) {
        while (routes->chains[i]) {
            struct route_entry *entry = routes->chains[i];

            routes->chains[i] = entry->after;
            entry->after = chains[entry->hash & (wider - 1)];
            chains[entry->hash & (wider - 1)] = entry;
        }
    }
    free(routes->chains);
    routes->chains = chains;
    routes->chains_count = wider;
}

int routes_put(struct routes *routes,
               const struct route *route,
               struct route_end end)
{
    uint64_t hash = route_hash(route);
    struct route_entry **link = routes_find(routes, route, hash);

    if (!*link) {
        struct route_entry *entry = calloc(1, sizeof(*entry));

        if (!entry) {
            return -1;
        }
        entry->hash = hash;
        entry->route = *route;
        *link = entry;
        routes->count++;
    }
    (*link)->end = end;
    if (routes->count > routes->chains_count) {
        routes_widen(routes);
    }
    return 0;
}

struct route_end routes_get(const struct routes *routes,
                            const struct route *route)
{
    struct route_entry *entry = *routes_find(routes, route, route_hash(route));

    return entry ? entry->end : (struct route_end){NULL, NULL};
}

void routes_remove(struct routes *routes, const struct route *route)
{
    struct route_entry **link = routes_find(routes, route, route_hash(route));
    struct route_entry *entry = *link;

    if (entry) {
        *link = entry->after;
        free(entry);
        routes->count--;
    }
}
