/* lockplaces.c - where threads wait for locks, and what holders do meanwhile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/lockplaces.h"

#include <stdlib.h>

#include "merge/analysis/threads/team.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Calls that holders are remembered in, of all locks. */
#define CALLS_MAX 65536

/* Waits for a lock at one place. */
struct site {
    uint32_t lock;
    const char *what;
    struct place place;
    uint64_t count;
    ck_time_t ns;
};

/* A call that holders of a lock were in while others waited. */
struct deed {
    uint32_t lock;
    const char *call;
    struct place place;
    ck_time_t ns;
};

struct user {
    ck_time_t waited;
    ck_time_t most; /* at one place: */
    uint32_t site;
};

struct lockplaces {
    const struct defs *defs; /* borrowed */
    struct table *site_keys; /* lock, name, site */
    struct site *sites;
    size_t sites_count, sites_room;
    struct table *deed_keys; /* lock, name, site */
    struct deed *deeds;
    size_t deeds_count, deeds_room;
    struct table *own_keys; /* thread, site */
    ck_time_t *owns;
    size_t owns_count, owns_room;
    struct user *users; /* by thread */
};

struct lockplaces *lockplaces_create(const struct defs *defs)
{
    struct lockplaces *places = xcalloc(1, sizeof(*places));

    places->defs = defs;
    places->site_keys = table_create();
    places->deed_keys = table_create();
    places->own_keys = table_create();
    places->users = xcalloc(defs->threads_count + 1, sizeof(*places->users));
    return places;
}

void lockplaces_destroy(struct lockplaces *places)
{
    if (places != NULL) {
        table_destroy(places->site_keys);
        table_destroy(places->deed_keys);
        table_destroy(places->own_keys);
        free(places->sites);
        free(places->deeds);
        free(places->owns);
        free(places->users);
        free(places);
    }
}

static uint32_t site_find(struct lockplaces *places,
                          const struct lockplaces_call *call)
{
    size_t number = (size_t)table_number_of(places->site_keys, call->lock,
                                            call->name, call->site);

    if (number == places->sites_count) {
        array_grow(&places->sites, &places->sites_room, number,
                   sizeof(*places->sites));
        places->sites[places->sites_count++] = (struct site){
            .lock = call->lock,
            .what = defs_name(places->defs, call->process, call->name),
            .place = team_place(places->defs, call->process, call->site, NULL)};
    }
    return (uint32_t)number;
}

static void
own_add(struct lockplaces *places, uint32_t thread, uint32_t site, ck_time_t ns)
{
    struct user *user = &places->users[thread];
    size_t number = (size_t)table_number_of(places->own_keys, thread, site, 0);

    if (number == places->owns_count) {
        array_grow(&places->owns, &places->owns_room, number,
                   sizeof(*places->owns));
        places->owns[places->owns_count++] = 0;
    }
    places->owns[number] += ns;
    user->waited += ns;
    if (places->owns[number] > user->most) {
        user->most = places->owns[number];
        user->site = site;
    }
}

void lockplaces_waited(struct lockplaces *places,
                       const struct lockplaces_call *call,
                       uint32_t thread,
                       ck_time_t ns)
{
    uint32_t site = site_find(places, call);

    if (ns > 0) {
        places->sites[site].count++;
        places->sites[site].ns += ns;
        own_add(places, thread, site, ns);
    }
}

void lockplaces_held(struct lockplaces *places,
                     const struct lockplaces_call *call,
                     ck_time_t ns)
{
    struct table_key key = {call->lock, call->name, call->site};
    size_t number;

    if (places->deeds_count == CALLS_MAX &&
        !table_has(places->deed_keys, key)) {
        return;
    }
    number = (size_t)table_number(places->deed_keys, key);
    if (number == places->deeds_count) {
        array_grow(&places->deeds, &places->deeds_room, number,
                   sizeof(*places->deeds));
        places->deeds[places->deeds_count++] = (struct deed){
            .lock = call->lock,
            .call = defs_name(places->defs, call->process, call->name),
            .place = defs_place(places->defs, call->process, call->site)};
    }
    places->deeds[number].ns += ns;
}

void lockplaces_fill(const struct lockplaces *places,
                     uint32_t lock,
                     struct report_lock *row)
{
    ck_time_t most = -1;

    for (size_t i = 0; i < places->sites_count; i++) {
        const struct site *site = &places->sites[i];

        row->places += site->lock == lock && site->count > 0;
        if (site->lock == lock && site->ns > most) {
            most = site->ns;
            row->what = site->what;
            row->place = site->place;
        }
    }
    for (size_t i = 0; i < places->deeds_count; i++) {
        const struct deed *deed = &places->deeds[i];

        if (deed->lock == lock && deed->ns > row->call_ns) {
            row->call = deed->call;
            row->call_place = deed->place;
            row->call_ns = deed->ns;
        }
    }
}

ck_time_t lockplaces_thread(const struct lockplaces *places,
                            uint32_t thread,
                            const char **what,
                            struct place *place,
                            ck_time_t *most)
{
    const struct user *user = &places->users[thread];

    *what = NULL;
    *most = user->most;
    if (user->most > 0) {
        *what = places->sites[user->site].what;
        *place = places->sites[user->site].place;
    }
    return user->waited;
}
