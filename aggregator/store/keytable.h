/* keytable.h - a number and a pointer by key
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A key is made of up to four numbers; two of different ones are taken to be
 * different. Entries stay until the table goes.
 */
#ifndef CK_AGGREGATOR_STORE_KEYTABLE_H
#define CK_AGGREGATOR_STORE_KEYTABLE_H

#include <stddef.h>
#include <stdint.h>

struct keytable;

struct keytable_entry {
    uint64_t key; /* 0 = free */
    uint64_t value;
    void *of;
};

uint64_t keytable_key(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* NULL with ENOMEM. */
struct keytable *keytable_create(void);
void keytable_destroy(struct keytable *table);

/* The entry of a key, NULL = there is none. Borrowed until another is made. */
struct keytable_entry *keytable_find(struct keytable *table, uint64_t key);
/* The same, made of zeros at its first use. NULL with ENOMEM. */
struct keytable_entry *keytable_make(struct keytable *table, uint64_t key);
size_t keytable_count(const struct keytable *table);
/* Entries by place, from 0 on; some are free. NULL behind the last one. */
struct keytable_entry *keytable_at(struct keytable *table, size_t place);

#endif
