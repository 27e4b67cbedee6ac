/* records.h - random records of every kind, for tests and fuzz seeds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_SCHEMA_RECORDS_H
#define CK_TESTS_SCHEMA_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schema/batch/field.h"
#include "schema/event.h"

struct records_random {
    uint64_t state;
};

/* Seed from CK_SEED, else from the clock; printed, so that it can be given. */
static inline struct records_random records_random_init(void)
{
    const char *text = getenv("CK_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0)
                                 : (uint64_t)time(NULL) * 2654435761u + 1;

    (void)printf("CK_SEED=%llu\n", (unsigned long long)seed);
    return (struct records_random){seed | 1};
}

static inline uint64_t records_next(struct records_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    uint64_t z = random->state;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t records_below(struct records_random *random,
                                     uint64_t limit)
{
    return records_next(random) % limit;
}

/* A value as fields have them: mostly zero or small, now and then anything. */
static inline uint64_t records_value(struct records_random *random)
{
    uint64_t bits = records_next(random);

    switch (bits % 8) {
    case 0:
    case 1:
    case 2:
        return 0;
    case 3:
    case 4:
        return bits >> 58;
    case 5:
        return 0 - (bits >> 60);
    case 6:
        return bits >> 32;
    default:
        return records_next(random);
    }
}

/* A kind that exists. */
static inline unsigned records_kind(struct records_random *random)
{
    for (;;) {
        unsigned kind = (unsigned)records_below(random, CK_KIND_LIMIT);

        if (ck_kind_class(kind) != CK_CLASS_NONE) {
            return kind;
        }
    }
}

/* Write one record of the kind; text bytes as many as given (text classes).
 * Returns its bytes. */
static inline size_t records_make(struct records_random *random,
                                  uint8_t *at,
                                  unsigned kind,
                                  uint32_t text_length)
{
    unsigned cls = ck_kind_class(kind);
    unsigned units = ck_class_units(cls);
    struct ck_event head = {.kind = (uint16_t)kind};

    if (field_is_text(cls)) {
        units = ck_text_units(text_length);
    }
    head.units = (uint8_t)units;
    head.flags = (uint8_t)(records_value(random) & 63);
    head.name = (uint32_t)records_below(random, 20);
    head.start = (int64_t)records_value(random);
    memset(at, 0, (size_t)units * CK_UNIT_BYTES);
    memcpy(at, &head, sizeof(head));
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        field_store(at + ck_fields[cls][c].offset, records_value(random),
                    ck_fields[cls][c].bytes);
    }
    if (field_is_text(cls)) {
        field_store(at + offsetof(struct ck_text, length), text_length, 4);
        for (uint32_t i = 0; i < text_length; i++) {
            at[sizeof(struct ck_text) + i] = (uint8_t)records_next(random);
        }
    }
    return (size_t)units * CK_UNIT_BYTES;
}

/* A random record of at most `room` bytes; returns its bytes, 0: no room. */
static inline size_t
records_any(struct records_random *random, uint8_t *at, size_t room)
{
    unsigned kind = records_kind(random);
    uint32_t length = (uint32_t)records_below(random, 90);
    unsigned cls = ck_kind_class(kind);
    size_t need = (size_t)(field_is_text(cls) ? ck_text_units(length)
                                              : ck_class_units(cls)) *
                  CK_UNIT_BYTES;

    return need > room ? 0 : records_make(random, at, kind, length);
}

#endif
