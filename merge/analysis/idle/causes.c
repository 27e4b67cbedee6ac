/* causes.c - the ledger's rows as the causes of the report
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waits for the same rank in calls from the same place are one cause, whichever
 * rank waited. Other causes are one where a rank did the same; before its first
 * work a device is idle for one cause. Time within the start of the rank that
 * caused it comes once, however long the run is, and goes behind what comes
 * again in each step.
 */
#include "merge/analysis/idle/causes.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/delays/delayreport.h"
#include "merge/analysis/delays/dominant.h"
#include "merge/analysis/history/lookback.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

/* Causes of less than an n-th of all time are not looked at for windows. */
#define WINDOW_WORTH 100

/* A row with its activity in words. */
struct item {
    const struct ledger_row *row;
    const struct report_activity *did;
};

/* Items that the report has in one row. */
struct group {
    const struct item *items;
    size_t count;
    ck_time_t ns;
    int32_t rank; /* the first one */
};

/* Items on their way into groups. */
struct grouping {
    const struct causes_from *from;
    const struct lookback *lookback;
    ck_time_t worth; /* of a window */
    struct item *items;
    const struct ledger_row **rows;     /* of a group */
    struct report_activity *activities; /* by number; the last one: none */
    bool *is_known;
    uint32_t *keys;     /* of a group's rows, each once */
    bool *is_key_taken; /* by key; false between uses */
    size_t keys_count;
    size_t none;     /* number of that last one */
    ck_time_t *sums; /* by activity or by index of a rank; zeros between uses */
};

static int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_texts(const char *left, const char *right)
{
    return strcmp(left == NULL ? "" : left, right == NULL ? "" : right);
}

static int compare_places(const struct place *a, const struct place *b)
{
    int order = compare_texts(a->file, b->file);

    if (order == 0) {
        order = compare_ints(a->line, b->line);
    }
    return order != 0 ? order : compare_texts(a->function, b->function);
}

static int compare_groups(const struct item *a, const struct item *b)
{
    int order = compare_ints(a->row->cause, b->row->cause);

    if (order == 0) {
        order = compare_ints(a->row->blamed, b->row->blamed);
    }
    if (order == 0) {
        order = compare_ints(a->row->is_start, b->row->is_start);
    }
    if (order != 0) {
        return order;
    }
    if (a->row->cause == CAUSE_DEP_REMOTE || a->row->cause == CAUSE_DEP_EVENT) {
        order = compare_ints(a->row->device, b->row->device);
        if (order == 0) {
            order = compare_ints(a->row->last, b->row->last);
        }
        if (order != 0) {
            return order;
        }
    }
    if (a->row->cause != CAUSE_MPI_WAIT) {
        order = compare_ints(a->row->rank, b->row->rank);
        return order != 0 || a->row->cause == CAUSE_STARTUP
                   ? order
                   : compare_texts(a->did->range, b->did->range);
    }
    order = compare_ints(a->row->wait, b->row->wait);
    if (order == 0) {
        order = compare_texts(a->did->call, b->did->call);
    }
    return order != 0 ? order : compare_places(&a->did->place, &b->did->place);
}

/* Within a group what the blamed rank did, then who waited. */
CK_ORDER(by_group,
         struct item,
         compare_groups(a, b) ?: CK_UP(row->blamed_did) ?: CK_UP(row->rank) ?:
         CK_UP(row->did))

CK_ORDER(by_length,
         struct report_cause,
         CK_DOWN(ns) ?: CK_UP(cause) ?: CK_UP(is_start) ?: CK_UP(rank))

CK_ORDER(by_recurrence,
         struct report_cause,
         CK_LESS(report_is_once(a), report_is_once(b)) ?: by_length(a, b))

/* Where the sum of a rank is; of none, behind those of all. */
static size_t rank_slot(const struct grouping *grouping, int32_t rank)
{
    const struct defs *defs = lookback_defs(grouping->lookback);
    uint32_t index = defs_rank_index(defs, rank);

    return index == DEFS_NONE ? defs->ranks_count : index;
}

/* The rank that most of a group's time was waited for directly. */
static int32_t
last_find(struct grouping *grouping, const struct item *items, size_t count)
{
    int32_t best = DEFS_RANK_UNKNOWN;
    ck_time_t most = 0;

    for (size_t i = 0; i < count; i++) {
        grouping->sums[rank_slot(grouping, items[i].row->last)] +=
            items[i].row->ns;
    }
    for (size_t i = 0; i < count; i++) {
        ck_time_t *sum =
            &grouping->sums[rank_slot(grouping, items[i].row->last)];

        if (*sum > most && items[i].row->last != DEFS_RANK_UNKNOWN) {
            most = *sum;
            best = items[i].row->last;
        }
        *sum = 0;
    }
    return best;
}

/* How many ranks are in a group, and the first of them. */
static void ranks_count(struct grouping *grouping,
                        const struct item *items,
                        size_t count,
                        struct report_cause *cause)
{
    for (size_t i = 0; i < count; i++) {
        grouping->rows[i] = items[i].row;
    }
    cause->ranks =
        rows_ranks(lookback_defs(grouping->lookback), grouping->rows, count);
}

static void typical_find(struct grouping *grouping,
                         const struct item *items,
                         size_t count,
                         struct report_cause *cause)
{
    for (size_t i = 0; i < count; i++) {
        grouping->rows[i] = items[i].row;
    }
    cause->typical = rows_typical(grouping->rows, count);
}

/* What the launching threads did for the largest part of a group. */
static void did_find(struct grouping *grouping,
                     const struct item *items,
                     size_t count,
                     struct report_cause *cause)
{
    cause->did_ns = -1;
    for (size_t i = 0; i < count; i++) {
        grouping->sums[items[i].did - grouping->activities] += items[i].row->ns;
    }
    for (size_t i = 0; i < count; i++) {
        ck_time_t *sum = &grouping->sums[items[i].did - grouping->activities];

        if (*sum > cause->did_ns) {
            cause->did_ns = *sum;
            cause->did = *items[i].did;
        }
        *sum = 0;
    }
}

/* Calls from one place are one thing, whatever the address. */
static bool is_same_call(const struct report_activity *a,
                         const struct report_activity *b)
{
    return a->call != NULL && b->call != NULL &&
           strcmp(a->call, b->call) == 0 && a->range == b->range &&
           (a->place.file != NULL || a->place.function != NULL) &&
           compare_places(&a->place, &b->place) == 0;
}

/* What took longest of a group, at most REPORT_PARTS things. */
static void parts_find(struct grouping *grouping,
                       const struct item *items,
                       size_t count,
                       struct report_cause *cause)
{
    const struct report_activity *none = &grouping->activities[grouping->none];

    for (size_t i = 0; i < count; i++) {
        grouping->sums[items[i].did - grouping->activities] += items[i].row->ns;
    }
    for (cause->parts_count = 0; cause->parts_count < REPORT_PARTS;
         cause->parts_count++) {
        const struct report_activity *best = NULL;
        ck_time_t most = 0;

        for (size_t i = 0; i < count; i++) {
            ck_time_t sum = grouping->sums[items[i].did - grouping->activities];

            if (sum > most && items[i].did != none) {
                most = sum;
                best = items[i].did;
            }
        }
        if (best == NULL) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            ck_time_t *sum =
                &grouping->sums[items[i].did - grouping->activities];

            if (items[i].did != best && is_same_call(items[i].did, best)) {
                most += *sum;
                *sum = 0;
            }
        }
        grouping->sums[best - grouping->activities] = 0;
        cause->parts[cause->parts_count] = (struct report_part){*best, most};
    }
    for (size_t i = 0; i < count; i++) {
        grouping->sums[items[i].did - grouping->activities] = 0;
    }
}

/* What the blamed rank did meanwhile for the largest part. */
static void seen_find(const struct lookback *lookback,
                      const struct item *items,
                      size_t count,
                      struct report_cause *cause)
{
    struct dominant_part *parts = xmalloc(count * sizeof(*parts));
    struct dominant most;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (items[i].row->blamed_did != DEFS_NONE) {
            parts[used++] = dominant_part(lookback, items[i].row->blamed_did,
                                          items[i].row->ns);
        }
    }
    most = dominant_find(lookback, parts, used);
    free(parts);
    cause->seen_kind = most.kind;
    cause->seen_kind_ns = most.kind_ns;
    cause->seen_ns = most.ns;
    if (most.did != DEFS_NONE) {
        cause->seen = lookback_activity_report(lookback, most.did);
    }
}

/* Why the blamed rank came late. */
static void delays_find(const struct causes_from *from,
                        const struct item *items,
                        size_t count,
                        struct report_cause *cause)
{
    cause->delays.kind = CAUSES;
    cause->delays.rank = DEFS_RANK_UNKNOWN;
    if (from->delays == NULL || cause->cause != CAUSE_MPI_WAIT) {
        return;
    }
    delaysums_begin(from->delays);
    for (size_t i = 0; i < count; i++) {
        const struct ledger_row *row = items[i].row;
        struct delaysums_group group = {.blamed = row->blamed,
                                        .wait = row->wait,
                                        .is_start = row->is_start};
        int64_t site = row->did == DEFS_NONE
                           ? 0
                           : lookback_activity_site(from->lookback, row->did);

        group.site = (uint32_t)site;
        delaysums_gather(from->delays, &group);
    }
    if (from->is_of_waits) {
        cause->count = delaysums_waits(from->delays);
    }
    delayreport_fill(from->lookback, from->delay, from->delays, &cause->delays);
}

/* The steps in which a group has most of its time. */
static void windows_find(struct grouping *grouping,
                         const struct item *items,
                         size_t count,
                         struct report_cause *cause)
{
    const struct when *when = grouping->from->when;
    size_t keys = 0;

    if (when == NULL || cause->ns < grouping->worth || report_is_once(cause)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t key = items[i].row->key;

        if (key != ROWS_NO_KEY && !grouping->is_key_taken[key]) {
            grouping->is_key_taken[key] = true;
            grouping->keys[keys++] = key;
        }
    }
    for (size_t i = 0; i < keys; i++) {
        grouping->is_key_taken[grouping->keys[i]] = false;
    }
    when_windows(when, grouping->keys, keys, &cause->windows);
}

/* The longest piece; of those of one length the first one. */
static void example_find(const struct ledger_row *row,
                         struct report_cause *cause)
{
    const struct report_piece *piece = &row->longest;
    ck_time_t more =
        region_length(piece->part) - region_length(cause->example.part);

    if (more > 0 ||
        (more == 0 && piece->part.start < cause->example.part.start)) {
        cause->example = *piece;
    }
}

static void group_report(struct grouping *grouping,
                         const struct group *group,
                         struct report_cause *cause)
{
    const struct item *items = group->items;
    size_t count = group->count;

    cause->cause = items[0].row->cause;
    cause->blamed = items[0].row->blamed;
    cause->is_start = items[0].row->is_start;
    cause->ns = group->ns;
    cause->rank = group->rank;
    if (cause->cause == CAUSE_MPI_WAIT) {
        cause->wait = wait_kind_name(items[0].row->wait);
        cause->last = last_find(grouping, items, count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ledger_row *row = items[i].row;

        cause->count += row->count;
        cause->error += row->error;
        cause->ended += row->ended;
        cause->wrong_order += row->wrong;
        example_find(row, cause);
    }
    did_find(grouping, items, count, cause);
    if (cause->cause == CAUSE_STARTUP) {
        parts_find(grouping, items, count, cause);
    }
    if (cause->cause == CAUSE_DEP_REMOTE || cause->cause == CAUSE_DEP_EVENT) {
        cause->device = items[0].row->device;
        cause->awaited = (uint32_t)items[0].row->last;
    }
    ranks_count(grouping, items, count, cause);
    typical_find(grouping, items, count, cause);
    delays_find(grouping->from, items, count, cause);
    windows_find(grouping, items, count, cause);
    seen_find(grouping->lookback, items, count, cause);
    if (cause->cause == CAUSE_DEP_EVENT) {
        /* No rank was to come: what the setter did until then is all of it. */
        cause->delays.rank = cause->blamed;
        cause->delays.kind = cause->seen_kind;
        cause->delays.kind_ns = cause->seen_kind_ns;
        cause->delays.ns = cause->seen_ns;
        cause->delays.did = cause->seen;
    }
}

static struct group group_of(const struct item *items, size_t count)
{
    struct group group = {items, count, 0, items[0].row->rank};

    for (size_t i = 0; i < count; i++) {
        const struct ledger_row *row = items[i].row;

        group.ns += row->ns;
        group.rank = row->rank < group.rank ? row->rank : group.rank;
    }
    return group;
}

CK_ORDER(by_time,
         struct group,
         CK_DOWN(ns) ?: CK_UP(items[0].row->cause) ?:
         CK_UP(items[0].row->is_start) ?: CK_UP(rank))

/* Groups of the items, which are in order, the longest first. */
static struct group *
groups_find(const struct item *items, size_t items_count, size_t *count)
{
    size_t room = 1;
    struct group *groups = xcalloc(room, sizeof(*groups));

    *count = 0;
    for (size_t first = 0, last; first < items_count; first = last) {
        for (last = first + 1;
             last < items_count &&
             compare_groups(&items[first], &items[last]) == 0;) {
            last++;
        }
        array_grow(&groups, &room, *count, sizeof(*groups));
        groups[(*count)++] = group_of(&items[first], last - first);
    }
    qsort(groups, *count, sizeof(*groups), by_time);
    return groups;
}

/* All that is known of the groups that are listed. */
static struct report_cause *
groups_fill(struct grouping *grouping, size_t items_count, size_t *count)
{
    struct group *groups = groups_find(grouping->items, items_count, count);
    struct report_cause *causes;

    *count = *count > CAUSES_LISTED_MAX ? CAUSES_LISTED_MAX : *count;
    causes = xcalloc(*count + 1, sizeof(*causes));
    for (size_t i = 0; i < *count; i++) {
        group_report(grouping, &groups[i], &causes[i]);
    }
    free(groups);
    qsort(causes, *count, sizeof(*causes), by_recurrence);
    return causes;
}

static void grouping_fini(struct grouping *grouping)
{
    free(grouping->items);
    free(grouping->rows);
    free(grouping->activities);
    free(grouping->is_known);
    free(grouping->keys);
    free(grouping->is_key_taken);
    free(grouping->sums);
}

static void grouping_init(struct grouping *grouping,
                          const struct ledger_row *rows,
                          size_t count)
{
    size_t ranks = lookback_defs(grouping->lookback)->ranks_count;

    for (size_t i = 0; i < count; i++) {
        grouping->worth += rows[i].ns;
        if (rows[i].did != DEFS_NONE && rows[i].did >= grouping->none) {
            grouping->none = (size_t)rows[i].did + 1;
        }
        if (rows[i].key != ROWS_NO_KEY && rows[i].key >= grouping->keys_count) {
            grouping->keys_count = (size_t)rows[i].key + 1;
        }
    }
    grouping->worth /= WINDOW_WORTH;
    grouping->items = xcalloc(count + 1, sizeof(*grouping->items));
    grouping->keys = xcalloc(count + 1, sizeof(*grouping->keys));
    grouping->is_key_taken =
        xcalloc(grouping->keys_count + 1, sizeof(*grouping->is_key_taken));
    grouping->rows = xcalloc(count + 1, sizeof(*grouping->rows));
    grouping->activities =
        xcalloc(grouping->none + 1, sizeof(*grouping->activities));
    grouping->is_known =
        xcalloc(grouping->none + 1, sizeof(*grouping->is_known));
    grouping->sums =
        xcalloc(grouping->none + ranks + 1, sizeof(*grouping->sums));
}

static void item_fill(struct grouping *grouping,
                      struct item *item,
                      const struct ledger_row *row)
{
    size_t did = row->did == DEFS_NONE ? grouping->none : row->did;

    item->row = row;
    item->did = &grouping->activities[did];
    if (did != grouping->none && !grouping->is_known[did]) {
        grouping->activities[did] =
            lookback_activity_report(grouping->lookback, row->did);
        grouping->is_known[did] = true;
    }
}

struct report_cause *causes_group(const struct causes_from *from,
                                  const struct ledger_row *rows,
                                  size_t rows_count,
                                  size_t *count)
{
    struct grouping grouping = {.from = from, .lookback = from->lookback};
    struct report_cause *causes;

    grouping_init(&grouping, rows, rows_count);
    for (size_t i = 0; i < rows_count; i++) {
        item_fill(&grouping, &grouping.items[i], &rows[i]);
    }
    qsort(grouping.items, rows_count, sizeof(*grouping.items), by_group);
    causes = groups_fill(&grouping, rows_count, count);
    grouping_fini(&grouping);
    return causes;
}

/* Which devices the report has, by their number in the definitions; the
 * caller's to free. */
static bool *reported_find(const struct defs *defs, const struct report *report)
{
    bool *is_reported =
        xcalloc(defs->physicals_count + 1, sizeof(*is_reported));

    for (size_t i = 0; i < report->devices_count; i++) {
        is_reported[report->devices[i].physical] = true;
    }
    return is_reported;
}

/* The idle time of a row goes to the range that its launching thread was in. */
static void range_close(const struct lookback *lookback,
                        const struct ledger_row *row,
                        struct report *report)
{
    const char *name = row->did == DEFS_NONE
                           ? NULL
                           : lookback_activity_range(lookback, row->did);

    for (size_t i = 0; name != NULL && i < report->ranges_count; i++) {
        struct report_range *range = &report->ranges[i];

        if (strcmp(range->name, name) == 0) {
            range->idle += row->ns;
            range->causes[row->cause] += row->ns;
            return;
        }
    }
}

static void devices_close(const struct ledger *ledger, struct report *report)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        struct report_device *device = &report->devices[i];
        ck_time_t sum = 0;

        for (unsigned c = 0; c < CAUSES; c++) {
            device->causes[c] = ledger_time(ledger, device->physical, c);
            report->all.causes[c] += device->causes[c];
            sum += device->causes[c];
        }
        device->unknown =
            device->causes[CAUSE_LOST_DATA] + device->causes[CAUSE_UNFINISHED];
        report->all.unknown += device->unknown;
        if (sum != device->idle) {
            report->is_ledger_closed = false;
        }
    }
}

static void causes_add(ck_time_t to[CAUSES], const ck_time_t from[CAUSES])
{
    for (unsigned c = 0; c < CAUSES; c++) {
        to[c] += from[c];
    }
}

static const char *host_of(const struct report *report, int32_t rank)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].number == rank) {
            return report->ranks[i].host;
        }
    }
    return NULL;
}

/* Devices' idle time once more by the host that their first rank is on, of
 * those that are shown. */
static void hosts_close(struct report *report)
{
    for (size_t d = 0; d < report->devices_count; d++) {
        const struct report_device *device = &report->devices[d];
        const char *host = NULL;

        for (size_t i = 0; host == NULL && i < device->ranks_count; i++) {
            host = host_of(report, device->ranks[i]);
        }
        for (size_t i = 0; host != NULL && i < report->levels_count &&
                           report->levels[i].kind <= REPORT_LEVEL_HOST;
             i++) {
            struct report_level *level = &report->levels[i];

            if (level->kind == REPORT_LEVEL_HOST && level->host != NULL &&
                strcmp(level->host, host) == 0) {
                causes_add(level->causes, device->causes);
            }
        }
    }
}

void causes_report(struct ledger *ledger,
                   const struct causes_from *from,
                   struct report *report)
{
    bool *is_reported;
    struct ledger_row *kept;
    const struct ledger_row *rows;
    size_t count, used = 0;

    ledger_finish(ledger);
    is_reported = reported_find(lookback_defs(from->lookback), report);
    rows = ledger_rows(ledger, &count);
    kept = xcalloc(count + 1, sizeof(*kept));
    for (size_t i = 0; i < count; i++) {
        if (is_reported[rows[i].device]) {
            kept[used++] = rows[i];
            range_close(from->lookback, &rows[i], report);
        }
    }
    free(is_reported);
    devices_close(ledger, report);
    hosts_close(report);
    report->causes = causes_group(from, kept, used, &report->causes_count);
    free(kept);
}
