/* worksum.h - sums of a device's work by name, for the SQLite file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_WORKSUM_H
#define CK_MERGE_OUTPUT_SQLITE_WORKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Ids of the file's rows. */
struct worksum_key {
    int64_t device;
    int64_t rank;
    int64_t kind;
    int64_t name;
};

struct worksum_row {
    struct worksum_key key;
    uint64_t pieces;
    ck_time_t total;
    ck_time_t alone; /* not covered by earlier pieces of that name and kind on
                        that device, of whichever rank: the sum of the ranks is
                        the union */
    ck_time_t longest;
};

struct worksum;

struct worksum *worksum_create(void);
void worksum_destroy(struct worksum *sums);
/* A piece of work; they come in the order of their starts. */
void worksum_add(struct worksum *sums,
                 const struct worksum_key *key,
                 ck_time_t start,
                 ck_time_t end);
/* Borrowed, until the next call. */
const struct worksum_row *worksum_rows(const struct worksum *sums,
                                       size_t *count);

#endif
