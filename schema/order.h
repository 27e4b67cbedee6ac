/* order.h - comparators for qsort() and bsearch(), by what they compare
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

#endif
