/* activity.c - numbers for what threads did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/activity.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

#define NO_PLACE 0 /* numbers of places are from 1 on */

struct kept {
    enum cause cause;
    enum cause device;
    uint32_t call;   /* the activity without its kernel */
    uint32_t common; /* DEFS_NONE = not asked for */
    uint32_t site;   /* the same */
};

/* What is known of a span by the host's number of it. An activity in a call, or
 * between two, is at that of the call, or of the next one: with very many
 * ranks each look into a table would miss the cache. */
struct what {
    uint32_t place;  /* NO_PLACE = not asked yet */
    uint32_t range;  /* of the last activity in this call. */
    uint32_t number; /* + 1; 0 = none */
    uint32_t before; /* of the last one that this call ended. */
    uint32_t between_range;
    uint32_t between; /* number + 1; 0 = none */
};

struct activities {
    const struct defs *defs; /* borrowed */
    struct table *places;    /* process | kind, name, site */
    struct what *whats;      /* by the host's number */
    size_t whats_count, whats_room;
    struct table *keys;    /* owner | range, call | before, kernel | after */
    struct table *texts;   /* of places: name, file, function and line */
    struct table *commons; /* as keys, of numbers of texts */
    struct kept *kept;     /* by activity */
    size_t count, room;
};

struct activities *activities_create(const struct defs *defs)
{
    struct activities *activities = xcalloc(1, sizeof(*activities));

    activities->defs = defs;
    activities->places = table_create();
    activities->keys = table_create();
    activities->texts = table_create();
    activities->commons = table_create();
    return activities;
}

void activities_destroy(struct activities *activities)
{
    if (activities == NULL) {
        return;
    }
    table_destroy(activities->places);
    table_destroy(activities->keys);
    table_destroy(activities->texts);
    table_destroy(activities->commons);
    free(activities->whats);
    free(activities->kept);
    free(activities);
}

/* Keep the number of a place by the host's of a span. */
static void
what_keep(struct activities *activities, uint32_t what, uint32_t number)
{
    while (activities->whats_count <= what) {
        array_grow(&activities->whats, &activities->whats_room,
                   activities->whats_count, sizeof(*activities->whats));
        activities->whats[activities->whats_count++] =
            (struct what){.place = NO_PLACE};
    }
    activities->whats[what].place = number;
}

/* A number of (process, name, site); NO_PLACE for no span. */
static int64_t place_number(struct activities *activities,
                            const struct history_span *span)
{
    int64_t number;

    if (span == NULL) {
        return NO_PLACE;
    }
    if (span->what < activities->whats_count &&
        activities->whats[span->what].place != NO_PLACE) {
        return activities->whats[span->what].place;
    }
    number = table_number(
        activities->places,
        (struct table_key){(uint64_t)span->process << 16 | span->kind,
                           span->name, span->site});
    if (span->what != 0) {
        what_keep(activities, span->what, (uint32_t)number + 1);
    }
    return number + 1;
}

/* The owner where neither a call nor a range shows one: then the thread + 1,
 * else 0. Ranks of one program would share what was seen of each. */
static uint64_t owner_of(const struct history_state *did)
{
    return did->range == NULL && did->call == NULL && did->before == NULL &&
                   did->after == NULL
               ? (uint64_t)did->thread + 1
               : 0;
}

static enum cause cause_of(const struct activities *activities,
                           const struct history_span *call)
{
    return call == NULL ? CAUSE_HOST_COMPUTE
                        : cause_of_call(call->kind,
                                        defs_name(activities->defs,
                                                  call->process, call->name));
}

/* One more activity. */
static void activity_keep(struct activities *activities,
                          const struct kept *activity)
{
    array_grow(&activities->kept, &activities->room, activities->count,
               sizeof(*activities->kept));
    activities->kept[activities->count++] = *activity;
}

static int64_t number_find(struct activities *activities,
                           const struct history_state *did)
{
    int64_t range = place_number(activities, did->range);
    int64_t call = place_number(activities, did->call);
    int64_t before = place_number(activities, did->before);
    int64_t after = place_number(activities, did->after);
    int64_t kernel = place_number(activities, did->kernel);
    struct history_state bare = *did;
    struct kept kept;
    int64_t number, own;

    bare.kernel = NULL;
    own = did->kernel == NULL ? 0 : number_find(activities, &bare);
    number = table_number(
        activities->keys,
        (struct table_key){owner_of(did) << 32 | (uint64_t)range,
                           (uint64_t)call << 32 | (uint64_t)before,
                           (uint64_t)kernel << 32 | (uint64_t)after});
    if ((size_t)number < activities->count) {
        return number;
    }
    kept.common = kept.site = DEFS_NONE;
    kept.cause = cause_of(activities, did->call);
    if (did->kernel == NULL) {
        kept.device = CAUSES;
    } else if (did->kernel->kind == CK_KIND_KERNEL) {
        kept.device = CAUSE_KERNEL;
    } else {
        kept.device = CAUSE_KERNEL_GAP;
    }
    kept.call = (uint32_t)(did->kernel == NULL ? number : own);
    activity_keep(activities, &kept);
    return number;
}

/* The host's number of a span that has one; 0 = there is no span. False: there
 * is one without a number. */
static inline bool what_of(const struct history_span *span, uint32_t *what)
{
    *what = span == NULL ? 0 : span->what;
    return span == NULL || *what != 0;
}

int64_t activity_number(struct activities *activities,
                        const struct history_state *did)
{
    const struct history_span *last =
        did->call != NULL ? did->call : did->after;
    uint32_t range, before;
    struct what *what;
    int64_t number;

    if (last == NULL || did->kernel != NULL || last->what == 0 ||
        last->what >= activities->whats_count || !what_of(did->range, &range) ||
        !what_of(did->before, &before) ||
        (did->call != NULL && (did->before != NULL || did->after != NULL))) {
        return number_find(activities, did);
    }
    what = &activities->whats[last->what];
    if (did->call != NULL ? what->number != 0 && what->range == range
                          : what->between != 0 && what->before == before &&
                                what->between_range == range) {
        return (did->call != NULL ? what->number : what->between) - 1;
    }
    number = number_find(activities, did);
    what = &activities->whats[last->what];
    if (did->call != NULL) {
        what->range = range;
        what->number = (uint32_t)number + 1;
    } else {
        what->before = before;
        what->between_range = range;
        what->between = (uint32_t)number + 1;
    }
    return number;
}

enum cause activity_cause(const struct activities *activities, uint32_t number)
{
    return activities->kept[number].cause;
}

enum cause activity_device(const struct activities *activities, uint32_t number)
{
    return activities->kept[number].device;
}

uint32_t activity_call(const struct activities *activities, uint32_t number)
{
    return activities->kept[number].call;
}

/* Name and place of a numbered place; none for NO_PLACE. */
static const char *place_text(const struct activities *activities,
                              uint64_t number,
                              struct place *place)
{
    struct table_key key;
    const char *name;

    *place = (struct place){NULL, NULL, 0};
    if (number == NO_PLACE) {
        return NULL;
    }
    key = table_key(activities->places, (size_t)number - 1);
    *place = defs_place(activities->defs, (uint32_t)(key.a >> 16), key.c);
    name =
        defs_name(activities->defs, (uint32_t)(key.a >> 16), (uint32_t)key.b);
    return name == NULL ? "(no name)" : name;
}

const char *activity_range(const struct activities *activities, uint32_t number)
{
    struct table_key key = table_key(activities->keys, number);
    struct place unused;

    return place_text(activities, key.a & UINT32_MAX, &unused);
}

/* The place in its module of a site that is otherwise unknown. */
static uint64_t site_offset(const struct defs *defs,
                            const struct table_key *key)
{
    const struct defs_process *process =
        &defs->processes[(uint32_t)(key->a >> 16)];

    for (size_t i = process->modules_count; i-- > 0;) {
        const struct defs_module *module = &process->modules[i];

        if (module->start < key->c && key->c <= module->end) {
            return key->c - module->start;
        }
    }
    return key->c;
}

/* A number of a place's texts; NO_PLACE for no place, Kept texts are one
 * pointer where they are equal. */
static int64_t text_number(struct activities *activities, uint64_t number)
{
    struct place place;
    const char *name = place_text(activities, number, &place);
    uint64_t where = (uintptr_t)place.function;
    int64_t found;

    if (number == NO_PLACE) {
        return NO_PLACE;
    }
    if (place.function == NULL && place.file == NULL) {
        struct table_key key =
            table_key(activities->places, (size_t)number - 1);

        where = site_offset(activities->defs, &key);
    }
    found =
        table_number(activities->texts, (struct table_key){
                                            (uintptr_t)name,
                                            (uintptr_t)place.file,
                                            where ^ (uint64_t)place.line << 48,
                                        });
    return found + 1;
}

int64_t activity_common(struct activities *activities, uint32_t number)
{
    struct kept *kept = &activities->kept[number];
    struct table_key key;
    int64_t range, call, before, kernel, after, common;

    if (kept->common != DEFS_NONE) {
        return kept->common;
    }
    key = table_key(activities->keys, number);
    range = text_number(activities, key.a & UINT32_MAX);
    call = text_number(activities, key.b >> 32);
    before = text_number(activities, key.b & UINT32_MAX);
    kernel = text_number(activities, key.c >> 32);
    after = text_number(activities, key.c & UINT32_MAX);
    common = table_number(
        activities->commons,
        (struct table_key){(uint64_t)range << 2 |
                               (uint64_t)(kept->device == CAUSE_KERNEL_GAP),
                           (uint64_t)call << 32 | (uint64_t)before,
                           (uint64_t)kernel << 32 | (uint64_t)after});
    kept->common = (uint32_t)common;
    return common;
}

int64_t activity_site(struct activities *activities, uint32_t number)
{
    struct kept *kept = &activities->kept[number];
    int64_t site = kept->site;

    if (kept->site == DEFS_NONE) {
        site = text_number(activities,
                           table_key(activities->keys, number).b >> 32);
        kept->site = (uint32_t)site;
    }
    return site;
}

/* What the calls and ranges show. */
static struct report_activity plain_report(const struct activities *activities,
                                           uint32_t number)
{
    struct table_key key = table_key(activities->keys, number);
    struct report_activity report = {.call = NULL};
    struct place unused;

    report.range = place_text(activities, key.a & UINT32_MAX, &unused);
    report.call = place_text(activities, key.b >> 32, &report.place);
    report.before =
        place_text(activities, key.b & UINT32_MAX, &report.before_place);
    report.after =
        place_text(activities, key.c & UINT32_MAX, &report.after_place);
    report.kernel = place_text(activities, key.c >> 32, &report.kernel_place);
    return report;
}

static struct report_holder holder_report(const struct activities *activities,
                                          const struct evidence *evidence,
                                          const struct evidence_item *item)
{
    const struct defs_thread *thread = &activities->defs->threads[item->a];
    struct report_holder holder = {.tid = thread->tid, .name = thread->name};

    if (item->b != DEFS_NONE) {
        struct report_activity did = plain_report(activities, item->b);

        holder.call = did.call;
        holder.place = did.call != NULL
                           ? did.place
                           : evidence_sampled(evidence, item->b).place;
    }
    return holder;
}

struct report_activity activity_report(const struct activities *activities,
                                       const struct evidence *evidence,
                                       uint32_t number)
{
    struct report_activity report = plain_report(activities, number);
    struct evidence_item top;

    report.is_kernel_queued =
        activities->kept[number].device == CAUSE_KERNEL_GAP;
    report.running = evidence_running(evidence, number);
    report.sampled = evidence_sampled(evidence, number);
    if (evidence_top(evidence, number, EVIDENCE_HOLDER, &top)) {
        report.holder = holder_report(activities, evidence, &top);
    }
    if (evidence_top(evidence, number, EVIDENCE_PATH, &top)) {
        report.path = defs_name(activities->defs, top.a, top.b);
    }
    return report;
}
