/* callsum.h - sums of calls by thread, name and place, for the SQLite file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_SQLITE_CALLSUM_H
#define CK_MERGE_OUTPUT_SQLITE_CALLSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

/* Ids of the file's rows. */
struct callsum_key {
    uint32_t thread;
    uint32_t kind;
    int64_t name;
    int64_t site;
};

struct callsum_row {
    struct callsum_key key;
    uint64_t calls;
    ck_time_t total;
    ck_time_t outermost; /* of calls that were made in no other call */
    ck_time_t longest;
    int64_t bytes;
};

struct callsum;

struct callsum *callsum_create(void);
void callsum_destroy(struct callsum *sums);
void callsum_add(struct callsum *sums,
                 const struct callsum_key *key,
                 ck_time_t length,
                 bool is_outermost,
                 int64_t bytes);
/* Borrowed, until the next call. */
const struct callsum_row *callsum_rows(const struct callsum *sums,
                                       size_t *count);

#endif
