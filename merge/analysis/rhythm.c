/* rhythm.c - steps of a program that marks none, from a collective that repeats
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/rhythm.h"

#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/table.h"

/* A place counts if it covers that part of what the widest one covers. */
#define COVER_PERCENT 80
#define OFTEN 10

/* One call of a site. */
struct call {
    uint32_t site;
    uint32_t rank; /* index in the cast */
    struct region part;
};

/* A function called from a place, whichever process it is in. */
struct site {
    const char *name;
    struct place place;
    ck_time_t first;
    ck_time_t last;
    uint32_t calls;
    uint32_t ranks;
    uint32_t each; /* calls of each rank; 0 = they differ */
};

struct rhythm {
    const struct cast *cast; /* borrowed */
    struct region region;
    struct table *keys; /* name, file, line */
    struct site *sites;
    size_t sites_count, sites_room;
    struct call *calls;
    size_t calls_count, calls_room;
};

bool rhythm_is_wanted(const struct cast *cast)
{
    uint64_t events = 0;
    size_t places = 0;

    for (size_t i = 0; i < cast->processes_count; i++) {
        const struct stamps *steps = &cast->processes[i].steps;

        if (steps->first[0] != INT64_MAX || steps->first[1] != INT64_MAX) {
            return false;
        }
        /* A collective without a place does not count: see below. */
        places += cast->processes[i].names->spots_count;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        events += cast->agents[i].events;
    }
    return places > 0 && events > 0 && events <= RHYTHM_EVENTS_MAX;
}

struct rhythm *rhythm_create(const struct cast *cast, struct region region)
{
    struct rhythm *rhythm = calloc(1, sizeof(*rhythm));

    if (rhythm == NULL) {
        return NULL;
    }
    rhythm->cast = cast;
    rhythm->region = region;
    rhythm->keys = table_create();
    if (rhythm->keys == NULL) {
        free(rhythm);
        return NULL;
    }
    return rhythm;
}

void rhythm_destroy(struct rhythm *rhythm)
{
    if (rhythm == NULL) {
        return;
    }
    table_destroy(rhythm->keys);
    free(rhythm->sites);
    free(rhythm->calls);
    free(rhythm);
}

int rhythm_take(void *consumer, const struct timeline_event *event)
{
    struct rhythm *rhythm = consumer;
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    uint32_t rank = cast_rank_index(rhythm->cast, event->rank);
    struct region part = {event->start, event->end};
    struct table_key key;
    struct site site;
    int64_t number;

    if (event->record->kind != CK_KIND_COLLECTIVE || rank == CAST_NONE ||
        rhythm->calls_count == RHYTHM_CALLS_MAX ||
        !region_clip(rhythm->region, &part.start, &part.end)) {
        return 0;
    }
    site = (struct site){
        .name = cast_name(rhythm->cast, event->process, record->e.name),
        .place = cast_place(rhythm->cast, event->process, record->site),
        .first = event->start};
    if (site.name == NULL || site.place.function == NULL) {
        return 0; /* addresses of different processes are not comparable */
    }
    /* Kept texts: equal ones are one pointer. */
    key = (struct table_key){(uint64_t)(uintptr_t)site.name,
                             (uint64_t)(uintptr_t)site.place.file,
                             site.place.line};
    number = table_number(rhythm->keys, key);
    if (number < 0 ||
        array_grow(&rhythm->sites, &rhythm->sites_room, rhythm->sites_count,
                   sizeof(site)) != 0 ||
        array_grow(&rhythm->calls, &rhythm->calls_room, rhythm->calls_count,
                   sizeof(*rhythm->calls)) != 0) {
        return -1;
    }
    if ((size_t)number == rhythm->sites_count) {
        rhythm->sites[rhythm->sites_count++] = site;
    }
    rhythm->sites[number].last = event->end;
    rhythm->calls[rhythm->calls_count++] =
        (struct call){(uint32_t)number, rank, {event->start, event->end}};
    return 0;
}

static int by_site(const void *a, const void *b)
{
    const struct call *left = a;
    const struct call *right = b;

    if (left->site != right->site) {
        return left->site < right->site ? -1 : 1;
    }
    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    return (left->part.start > right->part.start) -
           (left->part.start < right->part.start);
}

/* How often each rank calls from each site; the calls are in order. Returns
 * how many ranks call any collective. */
static uint32_t sites_count(struct rhythm *rhythm)
{
    uint32_t most = 0;

    for (size_t first = 0, last; first < rhythm->calls_count; first = last) {
        struct site *site = &rhythm->sites[rhythm->calls[first].site];
        uint32_t each;

        for (last = first + 1;
             last < rhythm->calls_count &&
             rhythm->calls[last].site == rhythm->calls[first].site &&
             rhythm->calls[last].rank == rhythm->calls[first].rank;) {
            last++;
        }
        each = (uint32_t)(last - first);
        site->each = site->ranks == 0 || site->each == each ? each : 0;
        site->ranks++;
        most = site->ranks > most ? site->ranks : most;
    }
    return most;
}

/* The place to take, CAST_NONE = none fits. */
static uint32_t site_choose(const struct rhythm *rhythm, uint32_t ranks)
{
    ck_time_t widest = 0;
    uint32_t best = CAST_NONE;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < rhythm->sites_count; i++) {
            const struct site *site = &rhythm->sites[i];
            ck_time_t cover = site->last - site->first;
            uint32_t old = best == CAST_NONE ? 0 : rhythm->sites[best].each;

            if (site->ranks != ranks || site->each < RHYTHM_MIN) {
                continue;
            }
            if (pass == 0) {
                widest = cover > widest ? cover : widest;
            } else if (cover / COVER_PERCENT >= widest / 100 &&
                       (best == CAST_NONE ||
                        (site->each >= OFTEN ? old < OFTEN || site->each < old
                                             : site->each > old))) {
                best = i;
            }
        }
    }
    return best;
}

int rhythm_report(struct rhythm *rhythm,
                  struct steps *steps,
                  struct report *report)
{
    uint32_t best;
    int64_t number = 0;

    if (rhythm->calls_count > 0) {
        qsort(rhythm->calls, rhythm->calls_count, sizeof(*rhythm->calls),
              by_site);
    }
    best = site_choose(rhythm, sites_count(rhythm));
    if (best == CAST_NONE) {
        return 0;
    }
    report->table.rhythm = rhythm->sites[best].name;
    report->table.rhythm_place = rhythm->sites[best].place;
    for (size_t i = 1; i < rhythm->calls_count; i++) {
        const struct call *call = &rhythm->calls[i];
        struct region part = {call[-1].part.end, call->part.end};

        if (call->site != best || call[-1].site != best ||
            call[-1].rank != call->rank) {
            number = 0;
            continue;
        }
        number++;
        if (part.start < part.end &&
            steps_add(steps, call->rank, part, number) != 0) {
            return -1;
        }
    }
    return 0;
}
