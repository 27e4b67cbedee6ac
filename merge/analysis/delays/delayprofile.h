/* delayprofile.h - what each thread did between the points where ranks wait
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The time of a thread is cut at the enters of its MPI calls, where its waits
 * end, and where others stop waiting for it. What is between two cuts is an
 * item: either a wait, with what it cost and the ranks that caused it, or work,
 * as a short list of keys (delaykeys.h) with their time. The last items of each
 * thread are kept. The time of a thread is walked once, however many ask about
 * it.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYPROFILE_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYPROFILE_H

#include "merge/analysis/delays/delaykeys.h"

/* Items kept of all threads together, and of each at least and at most; keys
 * with their parts of one item. */
#define DELAY_ITEMS_ALL ((size_t)1 << 16)
#define DELAY_ITEMS_MIN ((size_t)1 << 6)
#define DELAY_ITEMS_MAX ((size_t)1 << 9)
#define DELAY_PARTS_MAX 128

/* Time of a key in one of its parts, or CPU time by a line that was sampled. */
struct delay_part {
    uint32_t key;
    uint32_t part; /* number of an activity equal on all ranks, or of a line */
    uint32_t did;  /* the activity; DELAY_NONE: a line, or not known */
    bool is_line;
    ck_time_t ns;
};

/* What a wait cost because of one thing (delaysource.h), in ns. */
struct delay_cost {
    uint32_t source;
    double ns;
};

struct delay_item {
    ck_time_t start;
    ck_time_t end;
    bool is_wait;
    uint32_t first; /* of its parts, or costs */
    uint32_t count;
};

struct delayprofile;
/* `lookback` and `keys` are borrowed; `limit` items of one thread, 0 = as
 * above. */
struct delayprofile *delayprofile_create(struct lookback *lookback,
                                         struct delaykeys *keys,
                                         size_t limit);
void delayprofile_destroy(struct delayprofile *profile);
/* Look at the thread from then on, unless that was begun before. */
void delayprofile_begin(struct delayprofile *profile,
                        uint32_t thread,
                        ck_time_t at);
/* Take what the thread did up to `at`, which no later event may change. Nothing
 * where that was taken. */
void delayprofile_extend(struct delayprofile *profile,
                         uint32_t thread,
                         ck_time_t at);
/* End the item there: what the thread did up to `at` no later event may change.
 * Nothing is walked over yet. */
void delayprofile_cut(struct delayprofile *profile,
                      uint32_t thread,
                      ck_time_t at);
/* Make the items up to the last cut. */
void delayprofile_settle(struct delayprofile *profile, uint32_t thread);
/* What the thread did before is not asked for any more; INT64_MAX = not begun.
 */
ck_time_t delayprofile_walked(const struct delayprofile *profile,
                              uint32_t thread);
/* Spans of a thread that are worth keeping until they are asked for. */
size_t delayprofile_spans(const struct delayprofile *profile);
/* The thread waited, from where it was cut last on. The costs are copied. */
void delayprofile_wait(struct delayprofile *profile,
                       uint32_t thread,
                       ck_time_t until,
                       const struct delay_cost *costs,
                       size_t count);
/* Up to where it was taken; INT64_MAX = not begun. */
ck_time_t delayprofile_cursor(const struct delayprofile *profile,
                              uint32_t thread);
/* Of what the thread did before, items were discarded: more than are kept;
 * INT64_MIN = none were. */
ck_time_t delayprofile_kept(const struct delayprofile *profile,
                            uint32_t thread);
/* Items in which threads did more than DELAY_PARTS_MAX things. */
uint64_t delayprofile_full(const struct delayprofile *profile);
/* Those kept, by time, and made (delayprofile_settle()); borrowed until the
 * next call that is not const. */
const struct delay_item *delayprofile_items(const struct delayprofile *profile,
                                            uint32_t thread,
                                            size_t *count);
const struct delay_part *delayprofile_parts(const struct delayprofile *profile,
                                            uint32_t thread,
                                            const struct delay_item *item);
const struct delay_cost *delayprofile_costs(const struct delayprofile *profile,
                                            uint32_t thread,
                                            const struct delay_item *item);

#endif
