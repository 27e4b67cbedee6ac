/* order.h - orders of items: comparators, and searches in sorted ones
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     CK_ORDER(by_start, struct span, CK_UP(start) ?: CK_DOWN(id))
 *     qsort(spans, count, sizeof(*spans), by_start);
 *
 * The order is an expression of `a` and `b`, two items; below 0 where `a` comes
 * first. `x ?: y` is y where x finds them equal.
 */
#ifndef CK_SCHEMA_ORDER_H
#define CK_SCHEMA_ORDER_H

#include <stddef.h>

/* Of two values: the smaller first. */
#define CK_LESS(one, other) (((one) > (other)) - ((one) < (other)))
/* By a member, the smallest or the largest first. */
#define CK_UP(member) CK_LESS(a->member, b->member)
#define CK_DOWN(member) CK_LESS(b->member, a->member)

/* A comparator of items of that type, and one of pointers to them. */
#define CK_ORDER(name, type, order)                                            \
    static int name(const void *ck_one, const void *ck_other)                  \
    {                                                                          \
        const type *a = ck_one, *b = ck_other;                                 \
                                                                               \
        return order;                                                          \
    }
#define CK_ORDER_POINTERS(name, type, order)                                   \
    static int name(const void *ck_one, const void *ck_other)                  \
    {                                                                          \
        const type *a = *(const type *const *)ck_one;                          \
        const type *b = *(const type *const *)ck_other;                        \
                                                                               \
        return order;                                                          \
    }

/* A search: how many of the sorted items come before the first one that does
 * not fit the condition, of an item `a` and the `key`.
 *
 *     CK_BEFORE(spans_before, struct span, ck_time_t, a->start < key)
 */
#define CK_BEFORE(name, type, key_type, condition)                             \
    static size_t name(const type *ck_items, size_t ck_count, key_type key)    \
    {                                                                          \
        size_t low = 0, high = ck_count;                                       \
                                                                               \
        while (low < high) {                                                   \
            size_t middle = low + (high - low) / 2;                            \
            const type *a = &ck_items[middle];                                 \
                                                                               \
            if (condition) {                                                   \
                low = middle + 1;                                              \
            } else {                                                           \
                high = middle;                                                 \
            }                                                                  \
        }                                                                      \
        return low;                                                            \
    }

#endif
