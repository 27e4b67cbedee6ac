/* pendings.h - MPI calls that were not looked at yet, by end and by thread
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_PENDINGS_H
#define CK_MERGE_ANALYSIS_WAITS_PENDINGS_H

#include "merge/analysis/waits/initfinalize.h"

struct pending {
    uint32_t thread;
    struct history_span call;
    bool is_instant; /* it only posts or looks */
    bool is_poll;    /* it only looks */
    bool is_cut;     /* never left */
    bool is_replayed;
    bool is_closed; /* looked at */
    enum edge edge;
};

struct pendings;
/* For so many threads. */
struct pendings *pendings_create(size_t threads);
void pendings_destroy(struct pendings *pendings);
/* One more call, copied. Borrowed until the next one is added, as all that
 * follow. */
struct pending *pendings_add(struct pendings *pendings,
                             const struct pending *pending);
/* The one that ends first, of those that end together the one added first;
 * NULL = there is none. */
struct pending *pendings_first(const struct pendings *pendings);
/* When it ends; INT64_MAX. */
ck_time_t pendings_due(const struct pendings *pendings);
/* Let it go. */
void pendings_pop(struct pendings *pendings);
/* Those of a thread, in the same order; NULL = no more. */
struct pending *pendings_of(const struct pendings *pendings, uint32_t thread);
struct pending *pendings_next(const struct pendings *pendings,
                              const struct pending *pending);
/* The earliest start of all, `now` when that is earlier. */
ck_time_t pendings_horizon(const struct pendings *pendings, ck_time_t now);

#endif
