/* waitstates.c - how long ranks waited in MPI, for whom, and why
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/waitstates.h"

#include <stdlib.h>

#include "merge/analysis/delays/rootcause.h"
#include "merge/analysis/waits/wrongorder.h"
#include "merge/model/cause.h"
#include "merge/model/memory.h"

struct waitstates {
    const struct defs *defs;   /* borrowed */
    struct lookback *lookback; /* borrowed */
    struct steps *steps;       /* borrowed; NULL = not asked for */
    struct when *when;         /* borrowed; NULL = not asked for */
    struct region region;
    struct waitstates_rank *ranks; /* by index in the definitions */
    uint32_t *firsts; /* in MPI, by index too; DEFS_NONE = none as yet */
    struct rows *rows;
    struct wrongorder *order;
    const struct delay *delay; /* borrowed; NULL = not asked for */
    struct delaysums *delays;
    uint64_t waits;       /* looked at so far */
    waitstates_see_f see; /* NULL = not asked for */
    void *see_state;
};

/* Its rows' devices are ranks. */
static bool is_shown(const struct defs *defs, uint32_t device)
{
    return device < defs->ranks_count && defs->ranks[device].is_wanted;
}

struct waitstates *waitstates_create(const struct defs *defs,
                                     struct lookback *lookback,
                                     struct steps *steps,
                                     struct region region)
{
    struct waitstates *waitstates = xcalloc(1, sizeof(*waitstates));

    waitstates->defs = defs;
    waitstates->lookback = lookback;
    waitstates->steps = steps;
    waitstates->region = region;
    waitstates->rows = rows_create(defs, lookback, is_shown, 0);
    waitstates->order = wrongorder_create(defs->threads_count);
    waitstates->ranks =
        xcalloc(defs->ranks_count + 1, sizeof(*waitstates->ranks));
    waitstates->firsts =
        xcalloc(defs->ranks_count + 1, sizeof(*waitstates->firsts));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        waitstates->firsts[i] = DEFS_NONE;
    }
    return waitstates;
}

void waitstates_destroy(struct waitstates *waitstates)
{
    if (waitstates == NULL) {
        return;
    }
    rows_destroy(waitstates->rows);
    wrongorder_destroy(waitstates->order);
    delaysums_destroy(waitstates->delays);
    free(waitstates->ranks);
    free(waitstates->firsts);
    free(waitstates);
}

void waitstates_delay(struct waitstates *waitstates, const struct delay *delay)
{
    waitstates->delays = delaysums_create();
    waitstates->delay = delay;
}

struct delaysums *waitstates_delays(const struct waitstates *waitstates)
{
    return waitstates->delays;
}

void waitstates_watch(struct waitstates *waitstates, struct when *when)
{
    waitstates->when = when;
}

/* One wait on its way into the rows. */
struct standing {
    struct waitstates *waitstates;
    const struct wait *wait;
    uint32_t thread;       /* that waits */
    struct delay_of delay; /* what it cost */
    uint32_t site;         /* of the call that is waited in */
    struct ledger_row row;
    struct ledger_row first; /* that it is in, where is_counted */
    bool is_counted;         /* in some row */
    bool has_ended;          /* the rank that is blamed for the piece */
};

static uint32_t rank_of(const struct waitstates *waitstates, uint32_t thread)
{
    const struct defs *defs = waitstates->defs;

    return defs_rank_index(defs,
                           defs->processes[defs->threads[thread].process].rank);
}

void waitstates_enter(struct waitstates *waitstates, uint32_t thread)
{
    uint32_t index = rank_of(waitstates, thread);

    if (index != DEFS_NONE && waitstates->firsts[index] == DEFS_NONE) {
        waitstates->firsts[index] = thread;
    }
}

static void row_add(struct standing *standing, struct region piece)
{
    struct waitstates *waitstates = standing->waitstates;
    struct ledger_row *row = rows_find(waitstates->rows, &standing->row);

    row->ns += region_length(piece);
    row->ended += standing->has_ended ? region_length(piece) : 0;
    rows_example(row,
                 (struct report_piece){piece, standing->row.rank, DEFS_NONE});
    row->count += !standing->is_counted;
    row->error += standing->row.error;
    standing->row.error = 0;
    standing->first = standing->is_counted ? standing->first : standing->row;
    standing->is_counted = true;
}

/* What a piece that one rank is blamed for cost. */
static void delay_add(const struct standing *standing, ck_time_t ns)
{
    struct delaysums_group group = {.site = standing->site,
                                    .blamed = standing->row.blamed,
                                    .wait = standing->row.wait};

    if (!(standing->waitstates->delays == NULL)) {
        delaysums_piece(standing->waitstates->delays, &group, ns);
    }
}

static void blamed_take(void *state,
                        struct region piece,
                        const struct rootcause_origin *origin)
{
    struct standing *standing = state;
    struct waitstates *waitstates = standing->waitstates;
    const struct defs *defs = waitstates->defs;
    uint32_t index = rank_of(waitstates, origin->thread);
    int64_t number = DEFS_NONE;

    if (origin->did->is_known) {
        number = lookback_did(waitstates->lookback, origin->thread, piece,
                              origin->did);
    }
    if (index != DEFS_NONE) {
        struct waitstates_rank *rank = &waitstates->ranks[index];

        rank->caused += region_length(piece);
        rank->ended += origin->has_ended ? region_length(piece) : 0;
        if (rank->serial != waitstates->waits) {
            rank->serial = waitstates->waits;
            rank->caused_error += standing->wait->error;
            standing->row.error = standing->wait->error;
        }
    }
    if (waitstates->steps != NULL) {
        steps_wait(waitstates->steps, standing->row.device, piece, index);
    }
    if (waitstates->when != NULL && index != DEFS_NONE) {
        when_add(waitstates->when, index, standing->row.device, piece);
    }
    standing->row.blamed =
        defs->processes[defs->threads[origin->thread].process].rank;
    standing->row.blamed_did = (uint32_t)number;
    standing->has_ended = origin->has_ended;
    delay_add(standing, region_length(piece));
    row_add(standing, piece);
}

/* Does that thread do nothing but wait for others of its process? */
static bool is_awaiting_threads(const struct waitstates *waitstates,
                                const struct history_state *did)
{
    const struct history_span *call = did->call;

    if (!did->is_known) {
        return true;
    }
    if (call == NULL) {
        return did->off == HISTORY_BLOCKED;
    }
    return cause_of_call(call->kind, defs_name(waitstates->defs, call->process,
                                               call->name)) == CAUSE_LOCK;
}

/* What the waiting thread was in, for the place of the call. */
static void
piece_take(void *state, struct region piece, const struct history_state *did)
{
    struct standing *standing = state;
    struct waitstates *waitstates = standing->waitstates;
    const struct wait *wait = standing->wait;
    int64_t number = DEFS_NONE, site = 0;

    if (did->is_known) {
        number = lookback_activity(waitstates->lookback, did);
        site = lookback_activity_site(waitstates->lookback, (uint32_t)number);
    }
    standing->row.did = (uint32_t)number;
    standing->site = (uint32_t)site;
    if (standing->row.cause == CAUSE_BELOW_CLOCK) {
        waitstates->ranks[standing->row.device].below += region_length(piece);
        standing->row.blamed = DEFS_RANK_UNKNOWN;
        standing->row.blamed_did = DEFS_NONE;
        row_add(standing, piece);
        return;
    }
    waitstates->ranks[standing->row.device].waited += region_length(piece);
    if (wait->kind == WAIT_LATE_DATA) {
        waitstates->ranks[standing->row.device].data += region_length(piece);
    }
    rootcause_follow(waitstates->lookback, wait->thread, piece, blamed_take,
                     standing);
}

/* What the rank's first thread in MPI did while another one waited. */
static void
first_take(void *state, struct region piece, const struct history_state *did)
{
    struct standing *standing = state;
    struct waitstates *waitstates = standing->waitstates;

    if (is_awaiting_threads(waitstates, did)) {
        history_walk(lookback_history(waitstates->lookback), standing->thread,
                     piece, piece_take, standing);
    }
}

static void wait_walk(struct standing *standing, struct region part)
{
    struct waitstates *waitstates = standing->waitstates;
    const struct defs_thread *threads = waitstates->defs->threads;
    uint32_t first = waitstates->firsts[standing->row.device];
    bool is_other = first != DEFS_NONE && first != standing->thread &&
                    threads[first].process == threads[standing->thread].process;

    history_walk(lookback_history(waitstates->lookback),
                 is_other ? first : standing->thread, part,
                 is_other ? first_take : piece_take, standing);
}

void waitstates_see(struct waitstates *waitstates,
                    waitstates_see_f f,
                    void *state)
{
    waitstates->see = f;
    waitstates->see_state = state;
}

static void wait_show(const struct waitstates *waitstates,
                      const struct waitstates_seen *seen)
{
    if (waitstates->see != NULL) {
        waitstates->see(waitstates->see_state, seen);
    }
}

/* A wait that is its rank's. */
static void wait_count(const struct standing *standing)
{
    struct waitstates_rank *rank =
        &standing->waitstates->ranks[standing->row.device];

    if (standing->is_counted) {
        rank->waits++;
        rank->waited_error +=
            standing->row.cause == CAUSE_MPI_WAIT ? standing->wait->error : 0;
    }
}

void waitstates_add(struct waitstates *waitstates,
                    uint32_t thread,
                    struct region call,
                    const struct wait *wait)
{
    const struct defs *defs = waitstates->defs;
    const struct defs_process *process =
        &defs->processes[defs->threads[thread].process];
    struct region part = call;
    struct standing standing = {.waitstates = waitstates,
                                .wait = wait,
                                .thread = thread,
                                .row = {.device = rank_of(waitstates, thread),
                                        .wait = wait->kind,
                                        .rank = process->rank}};
    bool is_below;

    if (wait->kind == WAIT_LATE_SENDER && wait->thread != DEFS_NONE) {
        wrongorder_receive(waitstates->order, thread, wait->until,
                           waitstates->rows);
    }
    part.end = wait->until < part.end ? wait->until : part.end;
    if (!is_shown(defs, standing.row.device) || wait->thread == DEFS_NONE ||
        part.start >= part.end) {
        return;
    }
    is_below = wait->until - call.start <= wait->error;
    wait_show(waitstates,
              &(struct waitstates_seen){thread, part, wait, is_below});
    if (!region_clip(waitstates->region, &part.start, &part.end)) {
        return;
    }
    standing.row.cause = is_below ? CAUSE_BELOW_CLOCK : CAUSE_MPI_WAIT;
    standing.row.last =
        is_below ? DEFS_RANK_UNKNOWN
                 : defs->processes[defs->threads[wait->thread].process].rank;
    if (waitstates->delay != NULL) {
        standing.delay = delay_find(waitstates->delay, thread, part);
    }
    waitstates->waits++;
    if (standing.row.cause == CAUSE_MPI_WAIT && waitstates->steps != NULL) {
        steps_unsure(waitstates->steps, standing.row.device, part, wait->error);
    }
    wait_walk(&standing, part);
    wait_count(&standing);
    if (waitstates->delays != NULL) {
        delaysums_share(waitstates->delays, defs, waitstates->delay,
                        &standing.delay);
    }
    if (wait->kind == WAIT_LATE_SENDER && standing.is_counted) {
        wrongorder_wait(waitstates->order, thread, wait->until,
                        region_length(part), &standing.first);
    }
}

const struct ledger_row *waitstates_rows(const struct waitstates *waitstates,
                                         size_t *count)
{
    return rows_all(waitstates->rows, count);
}

const struct waitstates_rank *
waitstates_rank(const struct waitstates *waitstates, uint32_t index)
{
    return &waitstates->ranks[index];
}
