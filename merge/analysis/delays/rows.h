/* rows.h - time by cause: who waited, who is blamed, what they did
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * With N ranks up to N times N pairs of ranks wait for each other. Beyond a
 * bound, waits for the same rank in calls from the same place share a row,
 * whichever rank waited: sums stay exact, and so does which ranks waited.
 * Beyond twice the bound it is not kept whom they waited for directly.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_ROWS_H
#define CK_MERGE_ANALYSIS_DELAYS_ROWS_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"

/* Rows with a pair of ranks each. */
#define ROWS_MAX ((size_t)1 << 16)
#define ROWS_NO_KEY UINT32_MAX
/* Rows that rows_again() looks at. */
#define ROWS_LAST 2

/* Pieces of a row that are kept, chosen at random, so that one of usual length
 * can be shown. */
#define ROWS_SAMPLE 16
/* Of so many rows: of a job with more pairs of ranks its first ones. */
#define ROWS_SAMPLED ((size_t)1024)
struct rows_sample {
    uint64_t count; /* pieces that there were */
    uint32_t kept;
    uint32_t room;
    uint32_t last; /* place of the latest one; ROWS_SAMPLE = not kept */
    struct report_piece pieces[];
};

/* What few rows have, so that the others are small. */
struct rows_more {
    uint8_t *ranks; /* several ranks': a bit each, by index in the definitions;
                       NULL = one rank's */
    struct rows_sample *sample; /* of the pieces; NULL = none was shown */
};

/* Time of a device with one cause, from one activity to one blamed one. */
struct ledger_row {
    uint32_t key;    /* of its cause (causekeys.h); ROWS_NO_KEY = not asked yet,
                        the caller's to set */
    uint32_t device; /* physical; the first of several */
    enum cause cause;
    int32_t rank; /* of the launching thread, or the device's first; the lowest
                     of several */
    enum wait_kind wait;
    int32_t last;   /* rank waited for; DEFS_RANK_UNKNOWN = none */
    int32_t blamed; /* the one that, through others maybe, that one waited
                       for */
    uint32_t did;   /* activities; DEFS_NONE = none */
    uint32_t blamed_did;
    bool is_start;   /* the rank blamed, else the launching one, had not ended
                        its first step, and the run has LEDGER_STEPS_MIN */
    bool is_sampled; /* some of its pieces are kept */
    ck_time_t ns;
    ck_time_t ended; /* of ns, behind the end of the rank that is blamed */
    uint64_t count;
    ck_time_t error;      /* of ns, by comparing clocks; of a wait once for each
                             rank that is blamed for some of it */
    ck_time_t wrong;      /* of waits for a late sender: messages that had been
                             sent before were received later (wrongorder.h) */
    struct region latest; /* the piece that was added last, with those that it
                             goes on from */
    struct report_piece longest; /* of these; empty = none was shown */
    struct rows_more *more; /* NULL = it is one rank's, and no piece is kept */
};

static inline bool rows_has_ranks(const struct ledger_row *row)
{
    return row->more != NULL && row->more->ranks != NULL;
}

static inline const struct rows_sample *
rows_sample_of(const struct ledger_row *row)
{
    return row->more == NULL ? NULL : row->more->sample;
}

/* One more piece, or the latest one grown. */
void rows_sample(struct ledger_row *row,
                 struct report_piece piece,
                 bool is_grown);

/* Remember a piece of its time, so that there are examples of it. */
static inline void rows_example(struct ledger_row *row,
                                struct report_piece piece)
{
    bool is_grown = piece.part.start == row->latest.end &&
                    row->latest.start < piece.part.start;

    if (is_grown) {
        piece.part.start = row->latest.start;
    }
    row->latest = piece.part;
    rows_sample(row, piece, is_grown);
    if (region_length(piece.part) > region_length(row->longest.part)) {
        row->longest = piece;
    }
}

/* Whether the report has the row's device. */
typedef bool (*rows_shown_f)(const struct defs *defs, uint32_t device);

struct rows;
/* Borrowed; limit 0 = ROWS_MAX. */
struct rows *rows_create(const struct defs *defs,
                         struct lookback *lookback,
                         rows_shown_f is_shown,
                         size_t limit);
void rows_destroy(struct rows *rows);
/* The row for such time, made when there is none; ns, count and error are the
 * caller's to add to. Valid until the next call. */
struct ledger_row *rows_find(struct rows *rows, const struct ledger_row *what);
/* The same, looking first at those found last for what is often alike (their
 * places + 1; at first 0). */
struct ledger_row *rows_again(struct rows *rows,
                              const struct ledger_row *what,
                              uint32_t last[ROWS_LAST]);
struct ledger_row *rows_all(const struct rows *rows, size_t *count);
/* A piece of median length, of those that were kept of each row, which
 * represent as many as there were; an empty one where none was shown. */
struct report_piece rows_typical(const struct ledger_row *const *rows,
                                 size_t count);
/* How many different ranks the rows are of. */
uint32_t rows_ranks(const struct defs *defs,
                    const struct ledger_row *const *rows,
                    size_t count);

#endif
