/* rankset.h - a set of ranks as a person reads and writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * "1,3", "0-3,7": as --ranks takes it. Two neighbours are two numbers, three
 * or more are a run.
 */
#ifndef CK_MERGE_MODEL_RANKSET_H
#define CK_MERGE_MODEL_RANKSET_H

#include <stddef.h>
#include <stdint.h>

/* Ranks of a text that is cut short end with that. */
#define RANKSET_MORE ",.."

struct rankset_run {
    int32_t first;
    int32_t last;
};

/* The run at ranks[at] of an ascending list, in *run; where the next one is,
 * the count behind the last. */
size_t rankset_run(const int32_t *ranks,
                   size_t count,
                   size_t at,
                   struct rankset_run *run);
/* Append "4-7" or "4"; how many bytes that took. */
size_t rankset_put(const struct rankset_run *run, char *to, size_t room);
/* The whole set, in memory of the caller's. */
char *rankset_text(const int32_t *ranks, size_t count);
/* How much of a text of rankset_text() fits in so many columns, with
 * RANKSET_MORE behind it where that is not all: whole runs, at least one. */
size_t rankset_fit(const char *text, size_t columns);

#endif
