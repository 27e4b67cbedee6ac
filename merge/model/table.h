/* table.h - numbers for keys, in order of first sight
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_TABLE_H
#define CK_MERGE_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_key {
    uint64_t a, b, c;
};

struct table;
struct table *table_create(void);
void table_destroy(struct table *table);
/* Room for so many keys at once. */
void table_reserve(struct table *table, size_t count);
/* As table_number(), whose key goes in registers: a key in memory would be
 * written and read again for each record. */
int64_t
table_number_of(struct table *table, uint64_t a, uint64_t b, uint64_t c);
/* Number of the key (0, 1, 2 ...), given at first sight. */
static inline int64_t table_number(struct table *table, struct table_key key)
{
    return table_number_of(table, key.a, key.b, key.c);
}
/* Number of the key; -1 = it has none. */
int64_t table_find(const struct table *table, struct table_key key);
static inline bool table_has(const struct table *table, struct table_key key)
{
    return table_find(table, key) >= 0;
}
size_t table_count(const struct table *table);
struct table_key table_key(const struct table *table, size_t number);

#endif
