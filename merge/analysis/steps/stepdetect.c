/* stepdetect.c - steps of a program that marks none, from a collective that
 * repeats
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All ranks' collectives are kept in order: 16 bytes each, STEPDETECT_CALLS_MAX
 * at most. A place is tried by one pass over them. Of the first rank a hash of
 * what it called in each step is kept; the others are compared with that.
 */
#include "merge/analysis/steps/stepdetect.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/fnv.h"
#include "schema/order.h"

/* What the steps must cover of the region, if what is outside of them took
 * twice as long: by so much it differs from run to run. And a part of the
 * region that none may exceed. */
#define COVER_PERCENT 80
#define OUTSIDE_TIMES 2
#define LONGEST_PART 4
/* A place called in each n-th step, from that n on, is beside the work (output,
 * not a loop of some stages), if it adds no more than this to the time. */
#define EXTRA_EACH 10
#define EXTRA_PERCENT 20
/* In a stretch of STEPDETECT_MIN steps the shorter half has at least that part
 * of the time; else the place is called several times a step. */
#define SHORTER_PERCENT 20
/* A place called several times a step has its long times between two calls in
 * each n-th of them, n at most that, and of the long ones this part has another
 * one n calls later. What is uneven without that is so for another reason: a
 * machine that others load. */
#define PATTERN_MAX 12
#define PATTERN_PERCENT 80
/* A place that is called this often may be a loop around others. */
#define OUTER_MIN 3
/* Places that are tried, those called least often first. */
#define TRIES_MAX 64

/* One call of a site. */
struct call {
    ck_time_t end;
    uint32_t site;
    uint32_t rank; /* index in the definitions */
};

/* A function called from a place, whichever process it is in. */
struct site {
    const char *name;
    struct place place; /* function NULL = not known: it ends no step */
    uint32_t ranks;
    uint32_t least; /* calls of a rank */
    uint32_t most;
};

struct stepdetect {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct table *keys; /* name, file, line */
    struct site *sites;
    size_t sites_count, sites_room;
    struct call *calls;
    size_t calls_count, calls_room;
    size_t *lanes; /* by rank: its first call; one more */
    bool is_full;  /* calls were left out */
};

bool stepdetect_is_wanted(const struct defs *defs)
{
    uint64_t events = 0;
    size_t places = 0;

    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct stamps *steps = &defs->processes[i].steps;

        if (steps->first[0] != INT64_MAX || steps->first[1] != INT64_MAX) {
            return false;
        }
        /* A collective without a place does not count: see below. */
        places += defs->processes[i].names->spots_count;
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        events += defs->agents[i].events;
    }
    return places > 0 && events > 0 && events <= STEPDETECT_EVENTS_MAX;
}

struct stepdetect *stepdetect_create(const struct defs *defs,
                                     struct region region)
{
    struct stepdetect *stepdetect = xcalloc(1, sizeof(*stepdetect));

    stepdetect->defs = defs;
    stepdetect->region = region;
    stepdetect->keys = table_create();
    stepdetect->lanes =
        xcalloc(defs->ranks_count + 2, sizeof(*stepdetect->lanes));
    return stepdetect;
}

void stepdetect_destroy(struct stepdetect *stepdetect)
{
    if (stepdetect == NULL) {
        return;
    }
    table_destroy(stepdetect->keys);
    free(stepdetect->lanes);
    free(stepdetect->sites);
    free(stepdetect->calls);
    free(stepdetect);
}

int stepdetect_take(void *consumer, const struct timeline_event *event)
{
    struct stepdetect *stepdetect = consumer;
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    uint32_t rank = defs_rank_index(stepdetect->defs, event->rank);
    struct table_key key;
    struct site site;
    int64_t number;

    if (event->record->kind != CK_KIND_COLLECTIVE || rank == DEFS_NONE ||
        stepdetect->is_full) {
        return 0;
    }
    if (stepdetect->calls_count == STEPDETECT_CALLS_MAX) {
        stepdetect->is_full = true;
        return 0;
    }
    site = (struct site){
        .name = defs_name(stepdetect->defs, event->process, record->e.name),
        .place = defs_place(stepdetect->defs, event->process, record->site)};
    if (site.place.function == NULL) {
        /* Addresses of different processes are not comparable. */
        site.place = (struct place){NULL, NULL, 0};
    }
    /* Kept texts: equal ones are one pointer. */
    key = (struct table_key){(uint64_t)(uintptr_t)site.name,
                             (uint64_t)(uintptr_t)(site.place.file != NULL
                                                       ? site.place.file
                                                       : site.place.function),
                             site.place.line};
    number = table_number(stepdetect->keys, key);
    array_grow(&stepdetect->sites, &stepdetect->sites_room,
               stepdetect->sites_count, sizeof(site));
    array_grow(&stepdetect->calls, &stepdetect->calls_room,
               stepdetect->calls_count, sizeof(*stepdetect->calls));
    if ((size_t)number == stepdetect->sites_count) {
        stepdetect->sites[stepdetect->sites_count++] = site;
    }
    stepdetect->calls[stepdetect->calls_count++] =
        (struct call){event->end, (uint32_t)number, rank};
    return 0;
}

/* Each rank's calls behind those of the one before, in their order. */
static void lanes_make(struct stepdetect *stepdetect)
{
    size_t ranks = stepdetect->defs->ranks_count;
    struct call *sorted =
        xmalloc((stepdetect->calls_count + 1) * sizeof(*sorted));
    size_t *next = stepdetect->lanes + 1;

    for (size_t i = 0; i < stepdetect->calls_count; i++) {
        stepdetect->lanes[stepdetect->calls[i].rank + 2]++;
    }
    for (size_t i = 2; i < ranks + 2; i++) {
        stepdetect->lanes[i] += stepdetect->lanes[i - 1];
    }
    for (size_t i = 0; i < stepdetect->calls_count; i++) {
        sorted[next[stepdetect->calls[i].rank]++] = stepdetect->calls[i];
    }
    free(stepdetect->calls);
    stepdetect->calls = sorted;
}

/* How often each rank calls from each site. */
static void sites_count(struct stepdetect *stepdetect)
{
    uint32_t *counts = xcalloc(stepdetect->sites_count + 1, sizeof(*counts));

    for (size_t rank = 0; rank < stepdetect->defs->ranks_count; rank++) {
        for (size_t i = stepdetect->lanes[rank];
             i < stepdetect->lanes[rank + 1]; i++) {
            counts[stepdetect->calls[i].site]++;
        }
        for (size_t i = 0; i < stepdetect->sites_count; i++) {
            struct site *site = &stepdetect->sites[i];

            if (counts[i] > 0) {
                site->least = site->ranks == 0 || counts[i] < site->least
                                  ? counts[i]
                                  : site->least;
                site->most = counts[i] > site->most ? counts[i] : site->most;
                site->ranks++;
                counts[i] = 0;
            }
        }
    }
    free(counts);
}

/* ---- the steps of a site ------------------------------------------------ */

/* What each rank did in each step. */
struct trial {
    const struct stepdetect *stepdetect;
    uint32_t site;
    uint64_t *hashes; /* of the first rank's steps */
    bool is_first;
};

/* Does a rank's step of that number belong to a rhythm? */
static bool step_holds(const struct trial *trial,
                       struct region part,
                       uint32_t number,
                       uint64_t hash)
{
    if (trial->is_first) {
        trial->hashes[number] = hash;
    }
    return trial->hashes[number] == hash &&
           region_length(part) <=
               region_length(trial->stepdetect->region) / LONGEST_PART;
}

static bool is_covered(const struct stepdetect *stepdetect, ck_time_t covered)
{
    ck_time_t outside = region_length(stepdetect->region) - covered;

    return covered / COVER_PERCENT >= (covered + outside * OUTSIDE_TIMES) / 100;
}

/* The same of all of a rank's steps, and are they enough of the region? */
static bool lane_holds(const struct trial *trial, size_t rank)
{
    const struct stepdetect *stepdetect = trial->stepdetect;
    ck_time_t covered = 0, begin = 0;
    uint32_t calls = 0, steps = 0;
    uint64_t hash = CK_FNV_START;

    for (size_t i = stepdetect->lanes[rank];
         i < stepdetect->lanes[rank + 1] &&
         calls < stepdetect->sites[trial->site].least;
         i++) {
        const struct call *call = &stepdetect->calls[i];
        struct region part = {begin, call->end};
        struct region inside = part;

        hash = (hash ^ (uintptr_t)stepdetect->sites[call->site].name) *
               CK_FNV_PRIME;
        if (call->site != trial->site) {
            continue;
        }
        if (calls > 0 &&
            region_clip(stepdetect->region, &inside.start, &inside.end)) {
            if (!step_holds(trial, part, calls - 1, hash)) {
                return false;
            }
            covered += region_length(inside);
            steps++;
        }
        calls++;
        begin = call->end;
        hash = CK_FNV_START;
    }
    return steps >= STEPDETECT_MIN && is_covered(stepdetect, covered);
}

CK_ORDER(by_time, ck_time_t, CK_LESS(*a, *b))

/* Are the steps of one stretch of comparable lengths? Puts them in order. */
static bool is_even(ck_time_t lengths[STEPDETECT_MIN])
{
    ck_time_t shorter = 0, all = 0;

    qsort(lengths, STEPDETECT_MIN, sizeof(*lengths), by_time);
    for (size_t i = 0; i < STEPDETECT_MIN; i++) {
        shorter += i < STEPDETECT_MIN / 2 ? lengths[i] : 0;
        all += lengths[i];
    }
    return shorter >= all / 100 * SHORTER_PERCENT;
}

/* The times between two calls of the first rank. How many. */
static size_t lengths_fill(const struct stepdetect *stepdetect,
                           uint32_t site,
                           ck_time_t *lengths)
{
    ck_time_t begin = 0;
    size_t count = 0;
    bool has_begin = false;

    for (size_t i = 0; i < stepdetect->lanes[1]; i++) {
        const struct call *call = &stepdetect->calls[i];

        if (call->site != site) {
            continue;
        }
        if (has_begin) {
            lengths[count++] = call->end - begin;
        }
        has_begin = true;
        begin = call->end;
    }
    return count;
}

/* Are most stretches even? */
static bool is_mostly_even(const ck_time_t *lengths, size_t count)
{
    ck_time_t stretch[STEPDETECT_MIN];
    size_t even = 0, stretches = count / STEPDETECT_MIN;

    for (size_t i = 0; i < stretches; i++) {
        memcpy(stretch, lengths + i * STEPDETECT_MIN, sizeof(stretch));
        even += is_even(stretch);
    }
    return even * 2 > stretches;
}

/* Do the long ones, those above the mean, return after so many? */
static bool has_pattern(const ck_time_t *lengths, size_t count)
{
    ck_time_t sum = 0, mean;

    for (size_t i = 0; i < count; i++) {
        sum += lengths[i];
    }
    mean = count > 0 ? sum / (ck_time_t)count : 0;
    for (size_t each = 2; each <= PATTERN_MAX; each++) {
        size_t found = 0, all = 0;

        for (size_t i = 0; i + each < count; i++) {
            if (lengths[i] > mean) {
                all++;
                found += lengths[i + each] > mean;
            }
        }
        if (all > 0 && found * 100 >= all * PATTERN_PERCENT) {
            return true;
        }
    }
    return false;
}

/* What a place is to the steps. */
enum fit {
    FIT_NONE,
    FIT_UNEVEN, /* all but that its times are too uneven, without a pattern: it
                   ends no steps, but may be what others are beside of */
    FIT_STEPS,
};

static enum fit lengths_fit(const struct stepdetect *stepdetect,
                            uint32_t site,
                            ck_time_t *lengths)
{
    size_t count = lengths_fill(stepdetect, site, lengths);

    if (is_mostly_even(lengths, count)) {
        return FIT_STEPS;
    }
    return has_pattern(lengths, count) ? FIT_NONE : FIT_UNEVEN;
}

/* What the site is. */
static void
site_fit(const struct stepdetect *stepdetect, uint32_t index, enum fit *fit)
{
    const struct site *site = &stepdetect->sites[index];
    struct trial trial = {stepdetect, index, NULL, true};
    ck_time_t *lengths;
    bool holds = true;

    *fit = FIT_NONE;
    /* Where a run was cut short, some ranks are one call ahead. */
    if (site->place.function == NULL || site->least <= STEPDETECT_MIN ||
        site->ranks != stepdetect->defs->ranks_count ||
        site->most - site->least > 1) {
        return;
    }
    trial.hashes = xcalloc(site->least, sizeof(*trial.hashes));
    for (size_t rank = 0; rank < stepdetect->defs->ranks_count && holds;
         rank++) {
        holds = lane_holds(&trial, rank);
        trial.is_first = false;
    }
    free(trial.hashes);
    if (!holds) {
        return;
    }
    lengths = xmalloc(((size_t)site->most + 1) * sizeof(*lengths));
    *fit = lengths_fit(stepdetect, index, lengths);
    free(lengths);
}

/* ---- of several sites --------------------------------------------------- */

static ck_time_t median(ck_time_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_time);
    return count == 0 ? 0 : values[(count - 1) / 2];
}

/* The first rank's steps that one site ends, by whether another is called. */
struct mixture {
    ck_time_t *with;
    ck_time_t *without;
    size_t with_count;
    size_t without_count;
    uint32_t between;  /* calls of the one between two of the other */
    bool is_irregular; /* they differ; the last ones may */
};

static void mixture_fill(const struct stepdetect *stepdetect,
                         uint32_t rare,
                         uint32_t often,
                         struct mixture *mixture)
{
    uint32_t calls = 0, last = 0, rares = 0;
    ck_time_t begin = 0;
    bool has_begin = false, has_rare = false;

    for (size_t i = 0; i < stepdetect->lanes[1]; i++) {
        const struct call *call = &stepdetect->calls[i];

        if (call->site == rare) {
            mixture->is_irregular |= rares > 2 && last != mixture->between;
            mixture->between = rares == 2 ? last : mixture->between;
            last = calls;
            calls = 0;
            rares++;
            has_rare = true;
        } else if (call->site == often) {
            if (has_begin && has_rare) {
                mixture->with[mixture->with_count++] = call->end - begin;
            } else if (has_begin) {
                mixture->without[mixture->without_count++] = call->end - begin;
            }
            has_begin = true;
            has_rare = false;
            begin = call->end;
            calls++;
        }
    }
}

/* What a place has to do with the steps that another one ends. */
enum relation {
    RELATION_NONE,
    RELATION_EXTRA, /* it is beside the work of each n-th step, as output */
    RELATION_OUTER, /* a loop around them, with work of its own */
};

static void relation_find(const struct stepdetect *stepdetect,
                          uint32_t rare,
                          uint32_t often,
                          enum relation *relation)
{
    uint32_t most = stepdetect->sites[often].most;
    ck_time_t *room = xmalloc(((size_t)most * 2 + 1) * sizeof(*room));
    struct mixture mixture = {.with = room, .without = room + most};
    ck_time_t more;

    *relation = RELATION_NONE;
    mixture_fill(stepdetect, rare, often, &mixture);
    more = median(mixture.with, mixture.with_count) -
           median(mixture.without, mixture.without_count);
    free(room);
    if (more * (ck_time_t)mixture.with_count / EXTRA_PERCENT >=
        region_length(stepdetect->region) / 100) {
        *relation = RELATION_OUTER;
    } else if (!mixture.is_irregular && mixture.between >= EXTRA_EACH) {
        *relation = RELATION_EXTRA;
    }
}

/* Is the site in a loop within another site's, that all ranks call from, too?
 * 1. */
static bool is_inner(const struct stepdetect *stepdetect, uint32_t often)
{
    size_t tried = 0;

    for (uint32_t rare = 0; rare < stepdetect->sites_count && tried < TRIES_MAX;
         rare++) {
        const struct site *site = &stepdetect->sites[rare];
        enum relation relation;

        if (site->ranks != stepdetect->defs->ranks_count ||
            site->least < OUTER_MIN ||
            site->least > stepdetect->sites[often].least / 2) {
            continue;
        }
        tried++;
        relation_find(stepdetect, rare, often, &relation);
        if (relation == RELATION_OUTER) {
            return true;
        }
    }
    return false;
}

/* Is the site called in each n-th step of one of the others, beside its work?
 * 1. */
static bool is_extra(const struct stepdetect *stepdetect,
                     uint32_t rare,
                     const uint32_t *others,
                     int count)
{
    for (int i = 0; i < count; i++) {
        enum relation relation;

        relation_find(stepdetect, rare, others[i], &relation);
        if (relation == RELATION_EXTRA) {
            return true;
        }
    }
    return false;
}

CK_ORDER_POINTERS(by_calls, struct site, CK_UP(least) ?: CK_LESS(a, b))

/* Sites that are something to steps, those called least often first. */
struct candidates {
    uint32_t sites[TRIES_MAX];
    enum fit fits[TRIES_MAX];
    int count;
};

static void candidates_find(const struct stepdetect *stepdetect,
                            struct candidates *found)
{
    const struct site **order =
        xmalloc((stepdetect->sites_count + 1) * sizeof(const struct site *));

    found->count = 0;
    for (size_t i = 0; i < stepdetect->sites_count; i++) {
        order[i] = &stepdetect->sites[i];
    }
    qsort(order, stepdetect->sites_count, sizeof(const struct site *),
          by_calls);
    for (size_t i = 0, tried = 0;
         i < stepdetect->sites_count && tried < TRIES_MAX; i++) {
        uint32_t site = (uint32_t)(order[i] - stepdetect->sites);
        enum fit fit;

        site_fit(stepdetect, site, &fit);
        tried += order[i]->least > STEPDETECT_MIN;
        if (fit != FIT_NONE) {
            found->sites[found->count] = site;
            found->fits[found->count++] = fit;
        }
    }
    free(order);
}

/* The site to take, DEFS_NONE = none fits. */
static void site_choose(const struct stepdetect *stepdetect, uint32_t *best)
{
    struct candidates found;

    *best = DEFS_NONE;
    candidates_find(stepdetect, &found);
    for (int i = 0; i < found.count && *best == DEFS_NONE; i++) {
        if (found.fits[i] == FIT_STEPS &&
            !is_extra(stepdetect, found.sites[i], &found.sites[i + 1],
                      found.count - i - 1) &&
            !is_inner(stepdetect, found.sites[i])) {
            *best = found.sites[i];
        }
    }
}

/* The steps of a rank that are in the region at least in part. */
static void lane_report(const struct stepdetect *stepdetect,
                        uint32_t site,
                        uint32_t rank,
                        struct steps *steps)
{
    uint32_t calls = 0;
    ck_time_t begin = 0;

    for (size_t i = stepdetect->lanes[rank];
         i < stepdetect->lanes[rank + 1] &&
         calls < stepdetect->sites[site].least;
         i++) {
        struct region part = {begin, stepdetect->calls[i].end};
        struct region inside = part;

        if (stepdetect->calls[i].site != site) {
            continue;
        }
        if (calls > 0 && part.start < part.end &&
            region_clip(stepdetect->region, &inside.start, &inside.end)) {
            steps_add(steps, rank, part, calls);
        }
        calls++;
        begin = part.end;
    }
}

void stepdetect_report(struct stepdetect *stepdetect,
                       struct steps *steps,
                       struct report *report)
{
    uint32_t best;

    if (stepdetect->is_full || stepdetect->calls_count == 0) {
        return;
    }
    lanes_make(stepdetect);
    sites_count(stepdetect);
    site_choose(stepdetect, &best);
    if (best == DEFS_NONE) {
        return;
    }
    report->table.rhythm = stepdetect->sites[best].name;
    report->table.rhythm_place = stepdetect->sites[best].place;
    for (uint32_t rank = 0; rank < stepdetect->defs->ranks_count; rank++) {
        if (stepdetect->defs->ranks[rank].is_wanted) {
            lane_report(stepdetect, best, rank, steps);
        }
    }
}
