/* hang.c - where the ranks of a run were that did not end well
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/hang.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/unmatched.h"
#include "merge/messages/match.h"
#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/quantile.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* MPI_COMM_WORLD's number in every process. */
#define WORLD 1

/* A collective that a rank did not leave. */
struct standing {
    uint32_t comm; /* in the run */
    uint32_t seq;
    uint32_t id; /* of the communicator in the process */
    uint32_t process;
    int32_t rank;
    uint32_t name;
    uint64_t site;
    int32_t root;
};

/* From one call of a rank to its next. */
struct usual {
    ck_time_t *lasts; /* by rank of the definitions: return of the last one */
    struct quantile intervals;
    ck_time_t longest;
};

#define FINALIZE "MPI_Finalize"
/* So few intervals do not show what is usual. */
#define USUAL_MIN 12
/* A shorter call that is open is no hang. */
#define ODD_LEAST CK_TIME_S

/* The call of a rank that ended last. */
struct last {
    ck_time_t end;
    uint32_t process;
    uint32_t name;
    uint64_t site;
    bool is_known;
};

struct hang {
    const struct defs *defs; /* borrowed */
    struct unmatched *awaited;
    struct last *lasts; /* by rank of the definitions */
    struct usual collectives;
    struct usual calls; /* of MPI */
    ck_time_t open;     /* the longest of the calls that were not left */
    struct table *keys; /* process, id of a communicator */
    uint32_t *seqs;     /* by number of the key: the latest one */
    size_t seqs_count, seqs_room;
    struct standing *standings;
    size_t count, room;
};

bool hang_is_wanted(const struct defs *defs)
{
    for (size_t i = 0; i < defs->ranks_count; i++) {
        const struct defs_agent *agent = &defs->agents[defs->ranks[i].agent];

        if (!agent->is_profile && !defs_ended_well(agent)) {
            return true;
        }
    }
    return false;
}

struct hang *hang_create(const struct defs *defs)
{
    struct hang *hang = xcalloc(1, sizeof(*hang));

    hang->defs = defs;
    hang->keys = table_create();
    hang->awaited = unmatched_create(defs);
    hang->lasts = xcalloc(defs->ranks_count + 1, sizeof(*hang->lasts));
    quantile_init(&hang->collectives.intervals);
    quantile_init(&hang->calls.intervals);
    hang->collectives.lasts =
        xcalloc(defs->ranks_count + 1, sizeof(*hang->collectives.lasts));
    hang->calls.lasts =
        xcalloc(defs->ranks_count + 1, sizeof(*hang->calls.lasts));
    return hang;
}

static void usual_fini(struct usual *usual)
{
    quantile_fini(&usual->intervals);
    free(usual->lasts);
}

void hang_destroy(struct hang *hang)
{
    if (hang == NULL) {
        return;
    }
    table_destroy(hang->keys);
    unmatched_destroy(hang->awaited);
    free(hang->lasts);
    usual_fini(&hang->collectives);
    usual_fini(&hang->calls);
    free(hang->seqs);
    free(hang->standings);
    free(hang);
}

/* ---- what is seen ------------------------------------------------------- */

/* Of MPI or of a device's API; no transfer of a persistent request. */
static bool is_call(const struct ck_event *record)
{
    switch (record->kind) {
    case CK_KIND_MPI_CALL:
    case CK_KIND_API_OPENCL:
    case CK_KIND_API_CUDA_RUNTIME:
    case CK_KIND_API_CUDA_DRIVER:
    case CK_KIND_API_NEURON:
    case CK_KIND_SEND:
    case CK_KIND_RECV:
    case CK_KIND_PROBE:
    case CK_KIND_SENDRECV:
    case CK_KIND_COLLECTIVE:
    case CK_KIND_ICOLLECTIVE:
        return !ck_event_is_persistent(record);
    default:
        return false;
    }
}

static bool is_mpi(const struct ck_event *record)
{
    return is_call(record) &&
           (record->kind == CK_KIND_MPI_CALL ||
            ck_kind_class(record->kind) == CK_CLASS_MESSAGE ||
            ck_kind_class(record->kind) == CK_CLASS_COLLECTIVE);
}

static void last_take(struct hang *hang, const struct timeline_event *event)
{
    uint32_t index = defs_rank_index(hang->defs, event->rank);
    struct last *last;

    if (index == DEFS_NONE) {
        return;
    }
    last = &hang->lasts[index];
    if (!last->is_known || event->end >= last->end) {
        last->is_known = true;
        last->end = event->end;
        last->process = event->process;
        last->name = event->record->name;
        /* The site is at the same place in all three classes. */
        last->site = ((const struct ck_call *)event->record)->site;
    }
}

static void usual_take(struct hang *hang,
                       struct usual *usual,
                       const struct timeline_event *event)
{
    uint32_t index = defs_rank_index(hang->defs, event->rank);
    ck_time_t interval;

    if (index == DEFS_NONE) {
        return;
    }
    interval = usual->lasts[index] == 0 ? -1 : event->end - usual->lasts[index];
    usual->lasts[index] = event->end;
    if (interval < 0) {
        return;
    }
    usual->longest = interval > usual->longest ? interval : usual->longest;
    quantile_add(&usual->intervals, interval);
}

static void seq_take(struct hang *hang,
                     uint32_t process,
                     const struct ck_collective *record)
{
    struct table_key key = {process, record->comm, 0};
    int64_t number = table_number(hang->keys, key);

    if ((size_t)number == hang->seqs_count) {
        array_grow(&hang->seqs, &hang->seqs_room, hang->seqs_count,
                   sizeof(*hang->seqs));
        hang->seqs[hang->seqs_count++] = 0;
    }
    if (record->seq > hang->seqs[number]) {
        hang->seqs[number] = record->seq;
    }
}

static void standing_take(struct hang *hang, const struct timeline_event *event)
{
    const struct ck_collective *record =
        (const struct ck_collective *)event->record;
    struct standing standing = {
        .seq = record->seq,
        .id = record->comm,
        .process = event->process,
        .rank = event->rank,
        .name = record->e.name,
        .site = record->site,
        .root = record->root,
    };
    int32_t member;

    if (record->seq == 0 || !match_place(hang->defs, event, record->comm,
                                         &standing.comm, &member)) {
        return;
    }
    array_grow(&hang->standings, &hang->room, hang->count, sizeof(standing));
    hang->standings[hang->count++] = standing;
}

int hang_take(void *consumer, const struct timeline_event *event)
{
    struct hang *hang = consumer;
    bool is_cut = (event->record->flags & CK_FLAG_CUT) != 0;
    bool is_collective = event->record->kind == CK_KIND_COLLECTIVE ||
                         event->record->kind == CK_KIND_ICOLLECTIVE;

    unmatched_take(hang->awaited, event);
    if (is_cut && event->end - event->start > hang->open) {
        hang->open = event->end - event->start;
    }
    if (is_cut && event->record->kind == CK_KIND_COLLECTIVE) {
        standing_take(hang, event);
        return 0;
    }
    if (is_cut) {
        return 0;
    }
    if (is_call(event->record)) {
        last_take(hang, event);
    }
    if (is_mpi(event->record)) {
        usual_take(hang, &hang->calls, event);
    }
    if (event->record->kind == CK_KIND_COLLECTIVE) {
        usual_take(hang, &hang->collectives, event);
    }
    if (is_collective) {
        seq_take(hang, event->process,
                 (const struct ck_collective *)event->record);
    }
    return 0;
}

/* ---- what is reported --------------------------------------------------- */

/* All of one collective together, ranks ascending. */
CK_ORDER(by_collective,
         struct standing,
         CK_UP(comm) ?: CK_UP(seq) ?: CK_UP(rank))

CK_ORDER(by_waiting, struct report_impasse, CK_DOWN(waited) ?: CK_UP(number))

/* True when the process has a record of that collective or of a later one. */
static bool
has_come(const struct hang *hang, uint32_t process, uint32_t id, uint32_t seq)
{
    struct table_key key = {process, id, 0};

    /* Records may still come: a question gives no number to a key. */
    return table_has(hang->keys, key) &&
           hang->seqs[table_number(hang->keys, key)] >= seq;
}

/* True when the process has any collective on it. */
static bool is_known(const struct hang *hang, uint32_t process, uint32_t id)
{
    return has_come(hang, process, id, 0);
}

/* The process's communicator with that number in the run; 0 = it has none. */
static uint32_t
comm_of(const struct hang *hang, uint32_t process, uint32_t comm)
{
    const struct defs_process *owner = &hang->defs->processes[process];

    for (size_t i = 0; i < owner->comms_count; i++) {
        if (owner->comms[i].global == comm) {
            return owner->comms[i].id;
        }
    }
    return is_known(hang, process, WORLD) && owner->comms_count == 0 ? WORLD
                                                                     : 0;
}

/* A rank that was started again: only its last process counts. */
static bool
is_superseded(const struct hang *hang, uint32_t process, uint32_t comm)
{
    const struct defs *defs = hang->defs;

    for (uint32_t p = process + 1; p < defs->processes_count; p++) {
        if (defs->processes[p].rank == defs->processes[process].rank &&
            comm_of(hang, p, comm) != 0) {
            return true;
        }
    }
    return false;
}

CK_ORDER(by_rank, int32_t, CK_LESS(*a, *b))

static void rank_add(struct report_impasse *row, int32_t rank, size_t *count)
{
    row->ranks[row->waited + row->died + row->absent + row->left] = rank;
    (*count)++;
}

/* Members that are not in it: not yet, or no more. */
static void others_add(const struct hang *hang,
                       const struct standing *first,
                       size_t count,
                       struct report_impasse *row,
                       bool is_left)
{
    const struct defs *defs = hang->defs;
    size_t added;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        uint32_t id = comm_of(hang, p, first->comm);
        bool is_standing = false;

        for (size_t i = 0; i < count; i++) {
            is_standing = is_standing || first[i].process == p;
        }
        if (id == 0 || is_standing ||
            has_come(hang, p, id, first->seq) != is_left ||
            is_superseded(hang, p, first->comm)) {
            continue;
        }
        rank_add(row, defs->processes[p].rank,
                 is_left ? &row->left : &row->absent);
        for (size_t i = 0; !is_left && i < DEFS_REASONS; i++) {
            row->is_sure = row->is_sure &&
                           defs->agents[defs->processes[p].agent].lost[i] == 0;
        }
    }
    added = is_left ? row->left : row->absent;
    qsort(row->ranks + row->waited + row->died + row->absent + row->left -
              added,
          added, sizeof(*row->ranks), by_rank);
}

/* The process is in that collective, too, and never left it. */
static bool is_standing(const struct hang *hang,
                        uint32_t process,
                        uint32_t id,
                        uint32_t seq)
{
    for (size_t i = 0; i < hang->count; i++) {
        const struct standing *standing = &hang->standings[i];

        if (standing->process == process && standing->id == id &&
            standing->seq >= seq) {
            return true;
        }
    }
    return false;
}

/* Is it unknown how far the process came on the communicator of a collective
 * that another one is in? */
static bool is_unread(const struct hang *hang,
                      const struct standing *standing,
                      uint32_t process)
{
    uint32_t id = comm_of(hang, process, standing->comm);

    if (!defs_is_partial(hang->defs, process,
                         (uint32_t)1 << CK_CLASS_COLLECTIVE) ||
        process == standing->process) {
        return false;
    }
    return id == 0 ? hang->defs->processes[process].comms_count == 0
                   : !is_known(hang, process, id) &&
                         !is_standing(hang, process, id, standing->seq);
}

/* What a rank's intervals are known from; NULL = there are too few. */
static struct usual *intervals_of(struct hang *hang)
{
    if (hang->collectives.intervals.count >= USUAL_MIN) {
        return &hang->collectives;
    }
    return hang->calls.intervals.count >= USUAL_MIN ? &hang->calls : NULL;
}

static bool has_partial(const struct defs *defs)
{
    for (uint32_t p = 0; p < defs->processes_count; p++) {
        if (defs_is_partial(defs, p, UINT32_MAX)) {
            return true;
        }
    }
    return false;
}

/* Longer than any interval that was read: whether the job had such ones before
 * makes it a hang or none. */
static bool is_odd(struct hang *hang)
{
    const struct usual *usual = intervals_of(hang);

    return hang->open >= ODD_LEAST &&
           (usual == NULL || hang->open > usual->longest);
}

bool hang_is_doubtful(struct hang *hang)
{
    bool is_doubtful = has_partial(hang->defs) &&
                       (is_odd(hang) || unmatched_is_doubtful(hang->awaited));

    for (size_t i = 0; i < hang->count && !is_doubtful; i++) {
        for (uint32_t p = 0; p < hang->defs->processes_count; p++) {
            is_doubtful =
                is_doubtful || is_unread(hang, &hang->standings[i], p);
        }
    }
    return is_doubtful;
}

/* The same function and root, as far as they are known. */
static bool is_alike(const struct defs *defs,
                     const struct standing *a,
                     const struct standing *b)
{
    const char *left = defs_name(defs, a->process, a->name);
    const char *right = defs_name(defs, b->process, b->name);

    if (left == NULL || right == NULL) {
        return true;
    }
    return strcmp(left, right) == 0 && a->root == b->root;
}

/* How many of them are in the same call as the i-th. */
static size_t alike_count(const struct defs *defs,
                          const struct standing *first,
                          size_t count,
                          size_t i)
{
    size_t alike = 0;

    for (size_t j = 0; j < count; j++) {
        alike += is_alike(defs, &first[i], &first[j]);
    }
    return alike;
}

/* The one whose call most of them are in; the first if there are several. */
static const struct standing *
usual_find(const struct defs *defs, const struct standing *first, size_t count)
{
    size_t best = 0, most = 0;

    for (size_t i = 0; i < count && most < count; i++) {
        size_t alike = alike_count(defs, first, count, i);

        if (alike > most) {
            most = alike;
            best = i;
        }
    }
    return &first[best];
}

/* Those that are in another call than `usual`. */
static void others_fill(const struct defs *defs,
                        const struct standing *first,
                        size_t count,
                        const struct standing *usual,
                        struct report_impasse *row)
{
    row->root = row->other_root = usual->root;
    row->others = xcalloc(count, sizeof(*row->others));
    for (size_t i = 0; i < count; i++) {
        if (is_alike(defs, usual, &first[i])) {
            continue;
        }
        if (row->others_count == 0) {
            row->other_call = defs_name(defs, first[i].process, first[i].name);
            row->other_place =
                defs_place(defs, first[i].process, first[i].site);
            row->other_root = first[i].root;
        }
        row->others[row->others_count++] = first[i].rank;
    }
}

/* One collective with `count` ranks in it. */
static void row_fill(const struct hang *hang,
                     const struct standing *first,
                     size_t count,
                     const struct report *report,
                     struct report_impasse *row)
{
    const struct defs *defs = hang->defs;
    const struct defs_comm *comm = comm_find(defs, first->process, first->id);
    const struct standing *usual = usual_find(defs, first, count);

    memset(row, 0, sizeof(*row));
    others_fill(defs, first, count, usual, row);
    row->ranks =
        xcalloc(count + defs->processes_count + 1, sizeof(*row->ranks));
    row->call = defs_name(defs, usual->process, usual->name);
    row->call = row->call == NULL ? "a collective" : row->call;
    row->place = defs_place(defs, usual->process, usual->site);
    row->size = comm != NULL ? comm->size : defs_size(defs);
    row->comm = comm != NULL ? comm->name : NULL;
    if (row->comm == NULL && first->id == WORLD) {
        row->comm = "MPI_COMM_WORLD";
    }
    row->number = first->seq;
    row->is_sure = true;
    for (size_t i = 0; i < count; i++) {
        if (!report_has_died(report, first[i].rank)) {
            rank_add(row, first[i].rank, &row->waited);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (report_has_died(report, first[i].rank)) {
            rank_add(row, first[i].rank, &row->died);
        }
    }
    others_add(hang, first, count, row, false);
    others_add(hang, first, count, row, true);
}

/* No record of the process's agent is known to be lost. */
static bool is_all_there(const struct defs *defs, uint32_t process)
{
    const struct defs_agent *agent =
        &defs->agents[defs->processes[process].agent];

    for (size_t i = 0; i < DEFS_REASONS; i++) {
        if (agent->lost[i] > 0) {
            return false;
        }
    }
    return agent->gap_records == 0;
}

bool hang_is_absent(const struct hang *hang,
                    uint32_t process,
                    const struct ck_collective *record,
                    uint32_t other)
{
    const struct defs_comm *comm = comm_find(hang->defs, process, record->comm);
    uint32_t global = comm != NULL ? comm->global : DEFS_NONE;
    uint32_t id;

    if (global != DEFS_NONE) {
        id = comm_of(hang, other, global);
    } else if (record->comm == WORLD) {
        id = WORLD;
    } else {
        id = 0;
    }

    return record->seq != 0 && id != 0 && other != process &&
           hang->defs->processes[other].rank >= 0 &&
           !is_standing(hang, other, id, record->seq) &&
           !has_come(hang, other, id, record->seq) &&
           is_all_there(hang->defs, other) &&
           (global == DEFS_NONE || !is_superseded(hang, other, global));
}

int32_t hang_peer(const struct hang *hang,
                  uint32_t process,
                  const struct ck_message *record)
{
    return unmatched_peer(hang->awaited, process, record);
}

ck_time_t hang_last(const struct hang *hang, int32_t rank)
{
    uint32_t index = defs_rank_index(hang->defs, rank);

    return index != DEFS_NONE && hang->lasts[index].is_known
               ? hang->lasts[index].end
               : 0;
}

/* With status 0, the rank or, where it has one, its launcher. */
static bool is_well(const struct report_rank *row)
{
    return row->launcher != NULL
               ? report_launched_well(row->launcher)
               : row->end == REPORT_END_EXITED && row->code == 0;
}

static void lasts_report(const struct hang *hang, struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        struct report_rank *row = &report->ranks[i];
        uint32_t index = defs_rank_index(hang->defs, row->number);
        const struct last *last;

        if (index == DEFS_NONE || !hang->lasts[index].is_known ||
            is_well(row)) {
            continue;
        }
        last = &hang->lasts[index];
        row->last = defs_name(hang->defs, last->process, last->name);
        row->last_place = defs_place(hang->defs, last->process, last->site);
        row->last_end = last->end;
    }
}

/* In MPI_Finalize, or never there though it began MPI. */
static bool is_in_finalize(const struct report_rank *row)
{
    return row->open != NULL && strcmp(row->open, FINALIZE) == 0;
}

static bool is_not_final(const struct defs *defs, int32_t rank)
{
    bool is_begun = false;

    for (size_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (process->rank == rank && stamps_has(&process->finalize)) {
            return false;
        }
        is_begun =
            is_begun || (process->rank == rank && stamps_has(&process->init));
    }
    return is_begun;
}

/* MPI_Finalize is one like a collective of all, without a number. */
static void finalize_report(const struct hang *hang, struct report *report)
{
    struct report_impasse *row = &report->impasses[report->impasses_count];

    *row = (struct report_impasse){
        .call = FINALIZE, .is_sure = true, .root = -1, .other_root = -1};
    row->ranks = xcalloc(report->ranks_count + 1, sizeof(*row->ranks));
    row->size = defs_size(hang->defs);
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (is_in_finalize(&report->ranks[i])) {
            row->place = report->ranks[i].open_place;
            rank_add(row, report->ranks[i].number, &row->waited);
        }
    }
    for (size_t i = 0; row->waited > 0 && i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (!is_in_finalize(rank) && is_not_final(hang->defs, rank->number)) {
            rank_add(row, rank->number, &row->absent);
            row->is_sure = row->is_sure && rank->lost == 0 && rank->gaps == 0;
        }
    }
    if (row->absent == 0) {
        free(row->ranks);
        return;
    }
    report->impasses_count++;
}

static void usual_report(struct hang *hang, struct report *report)
{
    struct usual *usual = intervals_of(hang);

    report->usual = (struct report_usual){.of = NULL};
    if (usual == NULL) {
        return;
    }
    report->usual.of =
        usual == &hang->collectives ? "collectives" : "calls of MPI";
    report->usual.is_recent = has_partial(hang->defs);
    report->usual.median = quantile_at(&usual->intervals, 0.5);
    report->usual.longest = usual->longest;
}

void hang_report(struct hang *hang, struct report *report)
{
    struct standing *items = hang->standings;
    size_t end;

    lasts_report(hang, report);
    usual_report(hang, report);
    unmatched_report(hang->awaited, report);
    report->impasses = xcalloc(hang->count + 2, sizeof(*report->impasses));
    if (hang->count > 0) {
        qsort(items, hang->count, sizeof(*items), by_collective);
    }
    for (size_t at = 0; at < hang->count; at = end) {
        struct report_impasse *row = &report->impasses[report->impasses_count];

        end = at + 1;
        while (end < hang->count && items[end].comm == items[at].comm &&
               items[end].seq == items[at].seq) {
            end++;
        }
        row_fill(hang, &items[at], end - at, report, row);
        report->impasses_count++;
    }
    finalize_report(hang, report);
    if (report->impasses_count > 0) {
        qsort(report->impasses, report->impasses_count,
              sizeof(*report->impasses), by_waiting);
    }
}

_Static_assert(offsetof(struct ck_message, site) ==
                       offsetof(struct ck_call, site) &&
                   offsetof(struct ck_collective, site) ==
                       offsetof(struct ck_call, site),
               "one place for the site");
