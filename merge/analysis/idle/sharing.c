/* sharing.c - an idle time of a device being shared out among its causes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/idle/sharing.h"

#include "merge/analysis/delays/rootcause.h"

/* The time of its cause. */
static void cause_add(struct books *books,
                      struct ledger_row *row,
                      uint32_t rank,
                      struct region part)
{
    if (row->key == ROWS_NO_KEY) {
        int64_t key = causekeys_find(books->keys, row);

        row->key = (uint32_t)key;
    }
    when_add(books->when, row->key, rank, part);
}

static void
row_add(struct books *books, const struct ledger_row *what, struct region part)
{
    uint32_t rank = defs_rank_index(books->defs, what->rank);
    struct books_sum *sum = &books->sums[what->device * CAUSES + what->cause];
    struct ledger_row *row = rows_again(books->rows, what, sum->last);

    row->ns += what->ns;
    row->ended += what->ended;
    row->count++;
    row->error += what->error;
    rows_example(row, (struct report_piece){part, what->rank, what->device});
    sum->ns += what->ns;
    if (books->see != NULL) {
        books->see(books->see_state, what, part);
    }
    if (books->when == NULL || rank == DEFS_NONE) {
        return;
    }
    steps_idle(books->steps, rank, part, what->cause);
    cause_add(books, row, rank, part);
}

/* What a piece of a wait cost. */
static void delay_add(const struct sharing *sharing,
                      const struct ledger_row *row)
{
    struct books *books = sharing->books;
    struct delaysums_group group = {.site = sharing->site,
                                    .blamed = row->blamed,
                                    .wait = row->wait,
                                    .is_start = row->is_start};

    if (books->delays != NULL && row->cause == CAUSE_MPI_WAIT) {
        delaysums_piece(books->delays, &group, row->ns);
    }
}

/* Does the row's time belong to the start of the rank that it is because of?
 * *until is cut to where that ends. */
static bool is_start(const struct books *books,
                     const struct ledger_row *row,
                     ck_time_t time,
                     ck_time_t *until)
{
    uint32_t rank = defs_rank_index(
        books->defs,
        row->blamed != DEFS_RANK_UNKNOWN ? row->blamed : row->rank);

    return books->steps != NULL && rank != DEFS_NONE &&
           steps_is_start(books->steps, rank, time, until);
}

/* But for what a loss or a tracer covers. */
void sharing_piece(struct sharing *sharing, struct region piece)
{
    struct books *books = sharing->books;

    if (piece.start >= piece.end ||
        !region_clip(sharing_region(sharing), &piece.start, &piece.end)) {
        return;
    }
    while (piece.start < piece.end) {
        struct ledger_row row = sharing->row;
        ck_time_t until = piece.end;
        enum cause cover =
            masked_at(lookback_shadow(books->lookback), piece.start, &until);

        if (cover != CAUSES) {
            row.cause = cover;
            row.did = row.blamed_did = DEFS_NONE;
            row.blamed = row.last = DEFS_RANK_UNKNOWN;
            row.wait = WAIT_NONE;
            row.error = 0;
        }
        row.is_start = is_start(books, &row, piece.start, &until);
        row.ns = until - piece.start;
        row.ended = sharing->has_ended && cover == CAUSES ? row.ns : 0;
        row_add(books, &row, (struct region){piece.start, until});
        delay_add(sharing, &row);
        sharing->row.error -= row.error;
        piece.start = until;
    }
}

void sharing_plain(struct sharing *sharing,
                   struct region piece,
                   enum cause cause,
                   uint32_t did)
{
    sharing->row.cause = cause;
    sharing->row.did = did;
    sharing->row.blamed_did = DEFS_NONE;
    sharing->row.blamed = sharing->row.last = DEFS_RANK_UNKNOWN;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    sharing_piece(sharing, piece);
}

/* What the rank at the end of the chain did meanwhile. */
static void blamed_take(void *state,
                        struct region piece,
                        const struct rootcause_origin *origin)
{
    struct sharing *sharing = state;
    const struct defs *defs = sharing->books->defs;
    int64_t number = DEFS_NONE;
    int32_t blamed;

    if (origin->did->is_known) {
        number = lookback_did(sharing->books->lookback, origin->thread, piece,
                              origin->did);
    }
    blamed = defs->processes[defs->threads[origin->thread].process].rank;
    sharing->row.error = blamed != sharing->row.blamed ? sharing->error : 0;
    sharing->row.blamed = blamed;
    sharing->row.blamed_did = (uint32_t)number;
    sharing->has_ended = origin->has_ended;
    sharing_piece(sharing, piece);
    sharing->has_ended = false;
}

/* A piece within a call behind its wait: up to the end of the doubt about
 * another one, and after that. */
static void transfer_add(struct sharing *sharing,
                         struct region piece,
                         const struct wait *wait)
{
    ck_time_t until = wait->doubt > 0 ? wait->until + wait->doubt : INT64_MIN;
    uint32_t did = sharing->row.did;
    struct region doubt = piece;

    if (until > piece.start) {
        doubt.end = until < piece.end ? until : piece.end;
        piece.start = doubt.end;
        sharing_plain(sharing, doubt, CAUSE_MPI_CALL, did);
    }
    sharing_plain(sharing, piece, CAUSE_MPI_TRANSFER, did);
}

/* A piece within a call whose awaited rank is known: before and
 * after that one came. */
static void wait_add(struct sharing *sharing,
                     struct region piece,
                     const struct history_span *call,
                     const struct wait *wait)
{
    struct books *books = sharing->books;
    const struct defs *defs = books->defs;
    struct region before = piece;
    uint32_t did = sharing->row.did;

    if (wait->until > piece.start) {
        before.end = wait->until < piece.end ? wait->until : piece.end;
        if (wait->until - call->start <= wait->error) {
            sharing_plain(sharing, before, CAUSE_BELOW_CLOCK, did);
        } else {
            struct region whole = {call->start, before.end};
            int64_t site = lookback_activity_site(books->lookback, did);

            sharing->site = (uint32_t)site;
            if (books->delay != NULL) {
                sharing->delay =
                    delay_find(books->delay, sharing->thread, whole);
            }
            sharing->row.cause = CAUSE_MPI_WAIT;
            sharing->row.wait = wait->kind;
            sharing->error = wait->error;
            sharing->row.blamed = DEFS_RANK_UNKNOWN;
            sharing->row.last =
                defs->processes[defs->threads[wait->thread].process].rank;
            rootcause_follow(books->lookback, wait->thread, before, blamed_take,
                             sharing);
            if (books->delays != NULL) {
                delaysums_share(books->delays, defs, books->delay,
                                &sharing->delay);
            }
        }
        piece.start = before.end;
    }
    transfer_add(sharing, piece, wait);
}

void sharing_host(void *state,
                  struct region piece,
                  const struct history_state *did)
{
    struct sharing *sharing = state;
    struct books *books = sharing->books;
    struct wait wait;
    int64_t number;

    if (piece.start < sharing->begin) {
        struct region early = piece;

        early.end = early.end < sharing->begin ? early.end : sharing->begin;
        sharing_plain(sharing, early, CAUSE_STARTUP, DEFS_NONE);
        piece.start = early.end;
        if (piece.start == piece.end) {
            return;
        }
    }
    if (!did->is_known) {
        sharing_plain(sharing, piece, CAUSE_UNATTRIBUTED, DEFS_NONE);
        return;
    }
    number = lookback_did(books->lookback, sharing->thread, piece, did);
    if (did->call != NULL &&
        lookback_wait(books->lookback, sharing->thread, did->call, &wait)) {
        sharing->row.did = (uint32_t)number;
        wait_add(sharing, piece, did->call, &wait);
        return;
    }
    sharing_plain(sharing, piece,
                  lookback_cause(books->lookback, did, (uint32_t)number),
                  (uint32_t)number);
}

void sharing_tail(void *state,
                  struct region piece,
                  const struct history_state *did)
{
    struct sharing *sharing = state;
    struct books *books = sharing->books;
    struct region none = {sharing->from, piece.start};
    struct wait wait;
    int64_t number;

    if (!did->is_known || did->call == NULL ||
        !lookback_wait(books->lookback, sharing->thread, did->call, &wait) ||
        wait.until <= piece.start) {
        return;
    }
    sharing_plain(sharing, none, CAUSE_END_OF_WORK, DEFS_NONE);
    piece.end = wait.until < piece.end ? wait.until : piece.end;
    sharing->from = piece.end;
    number = lookback_did(books->lookback, sharing->thread, piece, did);
    sharing->row.did = (uint32_t)number;
    wait_add(sharing, piece, did->call, &wait);
}
