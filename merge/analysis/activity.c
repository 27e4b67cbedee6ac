/* activity.c - numbers for what threads did
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/activity.h"

#include <stdlib.h>

#include "merge/array.h"
#include "merge/table.h"

#define NO_PLACE 0 /* numbers of places are from 1 on */

struct kept {
    enum cause cause;
    enum cause device;
    uint32_t call; /* the activity without its kernel */
};

struct activities {
    const struct cast *cast; /* borrowed */
    struct table *places;    /* process | kind, name, site */
    struct table *keys;      /* owner | range, call | before, kernel | after */
    struct kept *kept;       /* by activity */
    size_t count, room;
};

struct activities *activities_create(const struct cast *cast)
{
    struct activities *activities = calloc(1, sizeof(*activities));

    if (activities == NULL) {
        return NULL;
    }
    activities->cast = cast;
    activities->places = table_create();
    activities->keys = table_create();
    if (activities->places == NULL || activities->keys == NULL) {
        activities_destroy(activities);
        return NULL;
    }
    return activities;
}

void activities_destroy(struct activities *activities)
{
    if (activities == NULL) {
        return;
    }
    table_destroy(activities->places);
    table_destroy(activities->keys);
    free(activities->kept);
    free(activities);
}

/* A number of (process, name, site); NO_PLACE for no span, -1 with ENOMEM. */
static int64_t place_number(struct activities *activities,
                            const struct host_span *span)
{
    int64_t number;

    if (span == NULL) {
        return NO_PLACE;
    }
    number = table_number(
        activities->places,
        (struct table_key){(uint64_t)span->process << 16 | span->kind,
                           span->name, span->site});
    return number < 0 ? -1 : number + 1;
}

/* Whose it is where no call and no range says so: then the thread + 1, else 0.
 * Ranks of one program would share what was seen of each. */
static uint64_t owner_of(const struct host_state *did)
{
    return did->range == NULL && did->call == NULL && did->before == NULL &&
                   did->after == NULL
               ? (uint64_t)did->thread + 1
               : 0;
}

static enum cause cause_of(const struct activities *activities,
                           const struct host_span *call)
{
    return call == NULL ? CAUSE_HOST_COMPUTE
                        : cause_of_call(call->kind,
                                        cast_name(activities->cast,
                                                  call->process, call->name));
}

/* One more activity. 0, or -1 with ENOMEM. */
static int activity_keep(struct activities *activities,
                         const struct kept *activity)
{
    if (array_grow(&activities->kept, &activities->room, activities->count,
                   sizeof(*activities->kept)) != 0) {
        return -1;
    }
    activities->kept[activities->count++] = *activity;
    return 0;
}

int64_t activity_number(struct activities *activities,
                        const struct host_state *did)
{
    int64_t range = place_number(activities, did->range);
    int64_t call = place_number(activities, did->call);
    int64_t before = place_number(activities, did->before);
    int64_t after = place_number(activities, did->after);
    int64_t kernel = place_number(activities, did->kernel);
    struct host_state bare = *did;
    struct kept kept;
    int64_t number, own;

    if (range < 0 || call < 0 || before < 0 || after < 0 || kernel < 0) {
        return -1;
    }
    bare.kernel = NULL;
    own = did->kernel == NULL ? 0 : activity_number(activities, &bare);
    number = table_number(
        activities->keys,
        (struct table_key){owner_of(did) << 32 | (uint64_t)range,
                           (uint64_t)call << 32 | (uint64_t)before,
                           (uint64_t)kernel << 32 | (uint64_t)after});
    if (own < 0 || number < 0 || (size_t)number < activities->count) {
        return own < 0 ? -1 : number;
    }
    kept.cause = cause_of(activities, did->call);
    kept.device = did->kernel == NULL                   ? CAUSES
                  : did->kernel->kind == CK_KIND_KERNEL ? CAUSE_KERNEL
                                                        : CAUSE_KERNEL_GAP;
    kept.call = (uint32_t)(did->kernel == NULL ? number : own);
    return activity_keep(activities, &kept) != 0 ? -1 : number;
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
    *place = cast_place(activities->cast, (uint32_t)(key.a >> 16), key.c);
    name =
        cast_name(activities->cast, (uint32_t)(key.a >> 16), (uint32_t)key.b);
    return name == NULL ? "(no name)" : name;
}

const char *activity_range(const struct activities *activities, uint32_t number)
{
    struct table_key key = table_key(activities->keys, number);
    struct place unused;

    return place_text(activities, key.a & UINT32_MAX, &unused);
}

/* What the calls and ranges say. */
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
    const struct cast_thread *thread = &activities->cast->threads[item->a];
    struct report_holder holder = {.tid = thread->tid, .name = thread->name};

    if (item->b != CAST_NONE) {
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
        report.path = cast_name(activities->cast, top.a, top.b);
    }
    return report;
}
