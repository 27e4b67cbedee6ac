/* disagree.c - ranks that called the collectives of a communicator differently
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/disagree.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/hang.h"
#include "merge/model/array.h"
#include "merge/model/kernelgroup.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"
#include "schema/store/run.h"

/* A rank that is short of a call for this long, and this many times the longest
 * time between two calls of one rank, does not come any more. */
#define SILENT_LEAST CK_TIME_S
#define SILENT_TIMES 10

/* What a collective was called with, by number: alike[]. */
struct alike {
    const char *name; /* kept */
    uint64_t bytes;
    uint32_t root; /* + 1, 0 = it has none */
};

/* A process in a communicator. */
struct member {
    uint32_t comm, process;
    int32_t rank;
    uint64_t last; /* number of its last call */
    ck_time_t last_time;
    uint32_t differs; /* its call of the row's number; 0 = as the first one's */
};

/* A call as the first rank made it; alike + 1, 0 = free. */
struct first {
    uint64_t number;
    uint32_t alike;
};

struct row {
    const char *name;  /* kept */
    uint64_t number;   /* that ranks disagree at; 0 = at none */
    ck_time_t longest; /* between two calls of one rank */
    ck_time_t last;    /* call of any */
    struct first firsts[DISAGREE_APART];
};

struct disagree {
    const struct defs *defs; /* borrowed */
    struct table *comms;     /* text of the communicator */
    struct table *parts;     /* communicator, process */
    struct table *kinds;     /* struct alike */
    struct row **rows;
    struct member *members;
    struct alike *alike;
    size_t rows_count, rows_room, members_count, members_room, alike_count,
        alike_room;
    uint64_t uncompared;
    ck_time_t end; /* of all events */
};

bool disagree_is_wanted(const struct defs *defs)
{
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct names *names = defs->processes[i].names;

        for (size_t id = 0; id < names_count(names); id++) {
            if (kernelgroup_is_communicator(names_get(names, (uint32_t)id))) {
                return true;
            }
        }
    }
    return false;
}

struct disagree *disagree_create(const struct defs *defs)
{
    struct disagree *disagree = xcalloc(1, sizeof(*disagree));

    disagree->defs = defs;
    disagree->end = INT64_MIN;
    disagree->comms = table_create();
    disagree->parts = table_create();
    disagree->kinds = table_create();
    return disagree;
}

void disagree_destroy(struct disagree *disagree)
{
    if (disagree == NULL) {
        return;
    }
    for (size_t i = 0; i < disagree->rows_count; i++) {
        free(disagree->rows[i]);
    }
    free(disagree->rows);
    free(disagree->members);
    free(disagree->alike);
    table_destroy(disagree->comms);
    table_destroy(disagree->parts);
    table_destroy(disagree->kinds);
    free(disagree);
}

/* ---- what is seen ------------------------------------------------------- */

static struct row *row_of(struct disagree *disagree, const char *name)
{
    int64_t number = table_number(
        disagree->comms, (struct table_key){(uint64_t)(uintptr_t)name, 0, 0});

    if ((size_t)number == disagree->rows_count) {
        struct row *row = xcalloc(1, sizeof(*row));

        array_grow(&disagree->rows, &disagree->rows_room, disagree->rows_count,
                   sizeof(struct row *));
        row->name = name;
        row->last = INT64_MIN;
        disagree->rows[disagree->rows_count++] = row;
    }
    return disagree->rows[number];
}

static struct member *member_of(struct disagree *disagree,
                                const struct row *row,
                                const struct timeline_event *event)
{
    uint64_t comm = (uint64_t)table_find(
        disagree->comms,
        (struct table_key){(uint64_t)(uintptr_t)row->name, 0, 0});
    int64_t number = table_number(disagree->parts,
                                  (struct table_key){comm, event->process, 0});

    if ((size_t)number == disagree->members_count) {
        array_grow(&disagree->members, &disagree->members_room,
                   disagree->members_count, sizeof(*disagree->members));
        disagree->members[disagree->members_count++] =
            (struct member){.comm = (uint32_t)comm,
                            .process = event->process,
                            .rank = event->rank,
                            .last_time = INT64_MIN};
    }
    return &disagree->members[number];
}

/* What it was called with, + 1. */
static uint32_t alike_of(struct disagree *disagree,
                         const char *name,
                         const struct ck_call *call)
{
    struct table_key key = {(uint64_t)(uintptr_t)name, call->bytes,
                            call->object};
    int64_t number = table_number(disagree->kinds, key);

    if ((size_t)number == disagree->alike_count) {
        array_grow(&disagree->alike, &disagree->alike_room,
                   disagree->alike_count, sizeof(*disagree->alike));
        disagree->alike[disagree->alike_count++] =
            (struct alike){name, call->bytes, call->object};
    }
    return (uint32_t)number + 1;
}

/* Ranks differ at that number, the lowest so far. */
static void row_found(struct disagree *disagree,
                      struct row *row,
                      const struct member *by,
                      uint64_t number)
{
    if (row->number != number) {
        for (size_t i = 0; i < disagree->members_count; i++) {
            if (disagree->members[i].comm == by->comm) {
                disagree->members[i].differs = 0;
            }
        }
    }
    row->number = number;
}

/* Calls behind the first that differs are of no interest: a rank that left one
 * out differs in all that follow. */
static void call_compare(struct disagree *disagree,
                         struct row *row,
                         struct member *member,
                         uint64_t number,
                         uint32_t alike)
{
    struct first *first = &row->firsts[number % DISAGREE_APART];

    if (row->number != 0 && number > row->number) {
        return;
    }
    if (first->alike == 0 || first->number < number) {
        *first = (struct first){number, alike};
    } else if (first->number > number) {
        disagree->uncompared++;
    } else if (first->alike != alike) {
        row_found(disagree, row, member, number);
        member->differs = alike;
    }
}

static void member_calls(struct row *row,
                         struct member *member,
                         uint64_t number,
                         ck_time_t time)
{
    if (member->last_time != INT64_MIN &&
        time - member->last_time > row->longest) {
        row->longest = time - member->last_time;
    }
    member->last_time = time;
    member->last = number > member->last ? number : member->last;
    row->last = time > row->last ? time : row->last;
}

int disagree_take(void *consumer, const struct timeline_event *event)
{
    struct disagree *disagree = consumer;
    const struct ck_call *call = (const struct ck_call *)event->record;
    const char *comm, *name;
    struct member *member;
    struct row *row;
    uint32_t alike;

    disagree->end = event->end > disagree->end ? event->end : disagree->end;
    if (event->record->kind != CK_KIND_NCCL_CALL || call->arg == 0) {
        return 0;
    }
    comm = defs_name(disagree->defs, event->process, (uint32_t)call->extra);
    name = defs_name(disagree->defs, event->process, call->e.name);
    if (!kernelgroup_is_communicator(comm) || name == NULL) {
        return 0;
    }
    row = row_of(disagree, comm);
    member = member_of(disagree, row, event);
    alike = alike_of(disagree, name, call);
    call_compare(disagree, row, member, call->arg, alike);
    member_calls(row, member, call->arg, event->start);
    return 0;
}

/* ---- what is reported --------------------------------------------------- */

CK_ORDER(by_rank, int32_t, CK_LESS(*a, *b))

/* The last number that any has called. */
static uint64_t last_of(const struct disagree *disagree, size_t comm)
{
    uint64_t last = 0;

    for (size_t i = 0; i < disagree->members_count; i++) {
        const struct member *member = &disagree->members[i];

        if (member->comm == comm && member->last > last) {
            last = member->last;
        }
    }
    return last;
}

static bool has_lost(const struct defs *defs, uint32_t process)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[process].agent];
    uint64_t lost = 0;

    for (size_t i = 0; i < DEFS_REASONS; i++) {
        lost += agent->lost[i];
    }
    return lost > 0;
}

/* No rank calls any more, and some are short of the last call: not for a loss
 * of records. */
static bool is_short(const struct disagree *disagree,
                     size_t comm,
                     uint64_t number,
                     ck_time_t end)
{
    const struct row *row = disagree->rows[comm];
    ck_time_t silent = end - row->last;
    bool has_short = false;

    if (silent < SILENT_LEAST || silent < SILENT_TIMES * row->longest ||
        !hang_is_wanted(disagree->defs)) {
        return false;
    }
    for (size_t i = 0; i < disagree->members_count; i++) {
        const struct member *member = &disagree->members[i];

        if (member->comm == comm && member->last < number) {
            has_short = true;
            if (has_lost(disagree->defs, member->process)) {
                return false;
            }
        }
    }
    return has_short;
}

/* What a member did at the number; 0 = it did not call it. */
static uint32_t
did_of(const struct row *row, const struct member *member, uint64_t number)
{
    if (member->last < number) {
        return 0;
    }
    return member->differs != 0 ? member->differs
                                : row->firsts[number % DISAGREE_APART].alike;
}

/* Its part of the report, a new one for another call. NULL: there are too many.
 */
static struct report_disagreement_part *
part_of(const struct disagree *disagree,
        struct report_disagreement *found,
        uint32_t did)
{
    const struct alike *alike = did == 0 ? NULL : &disagree->alike[did - 1];
    struct report_disagreement_part *part;

    for (size_t i = 0; i < found->parts_count; i++) {
        part = &found->parts[i];
        if (alike == NULL
                ? part->call == NULL
                : part->call == alike->name && part->bytes == alike->bytes &&
                      part->root + 1 == (int64_t)alike->root) {
            return part;
        }
    }
    if (found->parts_count == REPORT_DISAGREEMENT_PARTS) {
        return NULL;
    }
    part = &found->parts[found->parts_count++];
    memset(part, 0, sizeof(*part));
    part->root = -1;
    if (alike != NULL) {
        part->call = alike->name;
        part->bytes = alike->bytes;
        part->root = (int64_t)alike->root - 1;
    }
    return part;
}

static void rank_add(struct report_disagreement_part *part, int32_t rank)
{
    int32_t *more =
        xrealloc(part->ranks, (part->ranks_count + 1) * sizeof(*more));

    part->ranks = more;
    part->ranks[part->ranks_count++] = rank;
}

/* Most ranks first, those that did not call last. */
CK_ORDER(by_ranks,
         struct report_disagreement_part,
         CK_LESS(a->call == NULL, b->call == NULL) ?: CK_DOWN(ranks_count) ?:
         CK_UP(ranks[0]))

static void found_fill(const struct disagree *disagree,
                       size_t comm,
                       struct report_disagreement *found)
{
    const struct row *row = disagree->rows[comm];
    uint64_t number = found->number;

    for (size_t i = 0; i < disagree->members_count; i++) {
        const struct member *member = &disagree->members[i];
        struct report_disagreement_part *part =
            member->comm != comm
                ? NULL
                : part_of(disagree, found, did_of(row, member, number));

        if (part != NULL) {
            rank_add(part, member->rank);
        }
    }
    for (size_t i = 0; i < found->parts_count; i++) {
        qsort(found->parts[i].ranks, found->parts[i].ranks_count,
              sizeof(*found->parts[i].ranks), by_rank);
    }
    qsort(found->parts, found->parts_count, sizeof(*found->parts), by_ranks);
}

static void name_read(const char *group, struct report_disagreement *found)
{
    char size[32] = "";

    (void)ck_lines_get(group, strlen(group), "communicator", found->comm,
                       sizeof(found->comm));
    (void)ck_lines_get(group, strlen(group), "size", size, sizeof(size));
    found->size = (int32_t)strtol(size, NULL, 10);
}

/* Where no rank called for the longest time first: others follow from it. */
CK_ORDER(by_silence,
         struct report_disagreement,
         CK_DOWN(silent) ?: strcmp(a->comm, b->comm))

/* Of the run: the last event, or a rank's end. */
static ck_time_t end_of(const struct disagree *disagree,
                        const struct report *report)
{
    ck_time_t end = disagree->end;

    for (size_t i = 0; i < report->ranks_count; i++) {
        ck_time_t last = report->ranks[i].end_time;

        end = last != 0 && last > end ? last : end;
    }
    return end;
}

void disagree_report(const struct disagree *disagree, struct report *report)
{
    ck_time_t end = end_of(disagree, report);

    report->disagreements =
        xcalloc(disagree->rows_count + 1, sizeof(*report->disagreements));
    report->disagreements_uncompared = disagree->uncompared;
    for (size_t i = 0; i < disagree->rows_count; i++) {
        uint64_t number = disagree->rows[i]->number;
        struct report_disagreement *found =
            &report->disagreements[report->disagreements_count];

        if (number == 0) {
            number = last_of(disagree, i);
            found->is_missing = is_short(disagree, i, number, end);
        }
        if (disagree->rows[i]->number == 0 && !found->is_missing) {
            continue;
        }
        report->disagreements_count++;
        found->number = number;
        found->silent = end - disagree->rows[i]->last;
        name_read(disagree->rows[i]->name, found);
        found_fill(disagree, i, found);
    }
    qsort(report->disagreements, report->disagreements_count,
          sizeof(*report->disagreements), by_silence);
}
