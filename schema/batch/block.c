/* block.c - some records of one class, coded column by column
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * First one pass finds the columns in which no record of the block differs
 * from what is expected: they cost nothing more. Most columns of most blocks
 * are of that kind.
 */
#include "schema/batch/block.h"

#include "schema/batch/numbers.h"
#include "schema/batch/wide.h"

/* Words of the longest fixed part. */
#define WORDS_MAX 12

/* The difference of two values of so many bytes, as a signed number. */
static inline int64_t difference(uint64_t a, uint64_t b, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;

    return (int64_t)((a - b) << shift) >> shift;
}

static inline uint64_t value_of(const uint8_t *row,
                                const struct field *f,
                                unsigned bytes,
                                enum field_code code)
{
    uint64_t value = field_load(row + f->offset, bytes);

    return code == FIELD_BACK
               ? field_back(
                     field_load(row + offsetof(struct ck_event, start), 8),
                     value)
               : value;
}

/* The differences in one column of a block; bytes and code are constants at
 * each call, so each is a loop of its own.
 */
static inline __attribute__((always_inline)) void
take_differences(const struct block *block,
                 const struct field *f,
                 unsigned bytes,
                 enum field_code code,
                 int64_t *differences)
{
    const struct field field = *f;
    const uint8_t *const *peer =
        code == FIELD_NEXT || field.offset < sizeof(struct ck_event)
            ? block->row
            : block->peer;
    const uint64_t step = code == FIELD_NEXT ? 1 : 0;
    const unsigned count = block->count;

    for (unsigned i = 0; i < count; i++) {
        differences[i] =
            difference(value_of(block->row[i + 1], &field, bytes, code),
                       value_of(peer[i], &field, bytes, code) + step, bytes);
    }
}

static int put_field(struct column *column,
                     const struct block *block,
                     const struct field *f,
                     bool is_next)
{
    int64_t d[BLOCK_ROWS];

    if (column_reserve(column, NUMBERS_BYTES(BLOCK_ROWS)) != 0) {
        return -1;
    }
    if (f->code == FIELD_BACK) {
        take_differences(block, f, 8, FIELD_BACK, d);
    } else if (is_next && f->bytes == 8) {
        take_differences(block, f, 8, FIELD_NEXT, d);
    } else if (is_next) {
        take_differences(block, f, 4, FIELD_NEXT, d);
    } else if (f->bytes == 8) {
        take_differences(block, f, 8, FIELD_SAME, d);
    } else if (f->bytes == 4) {
        take_differences(block, f, 4, FIELD_SAME, d);
    } else if (f->bytes == 2) {
        take_differences(block, f, 2, FIELD_SAME, d);
    } else {
        take_differences(block, f, 1, FIELD_SAME, d);
    }
    column->used = (size_t)(numbers_put(column->bytes + column->used,
                                        &column->run, d, block->count) -
                            column->bytes);
    return 0;
}

/* Does the field count up by one in all records of the block? */
static inline __attribute__((always_inline)) bool
is_counting(const struct block *block, size_t offset, unsigned bytes)
{
    uint64_t value = field_load(block->row[0] + offset, bytes);
    uint64_t wrong = 0;

    for (unsigned i = 1; i <= block->count; i++) {
        wrong |= field_load(block->row[i] + offset, bytes) ^ (value + i);
    }
    return wrong << (64 - 8 * bytes) == 0;
}

/* Two words at once: every processor has that. */
typedef uint64_t vector __attribute__((vector_size(16)));

/* As wide_changes(). Unit by unit, so that all bits stay in registers.
 */
static void
plain_changes(const struct block *block, uint64_t *changed, unsigned units)
{
    const unsigned count = block->count;
    uint64_t head = 0;

    for (unsigned u = 0; u < units; u++) {
        const size_t at = (size_t)u * CK_UNIT_BYTES;
        vector low = {0};
        vector high = {0};

        for (unsigned i = 0; i < count; i++) {
            const uint8_t *row = block->row[i + 1] + at;
            const uint8_t *peer = block->peer[i] + at;
            vector r[2];
            vector p[2];

            memcpy(r, row, sizeof(r));
            memcpy(p, peer, sizeof(p));
            low |= r[0] ^ p[0];
            high |= r[1] ^ p[1];
        }
        memcpy((uint8_t *)changed + at, &low, sizeof(low));
        memcpy((uint8_t *)changed + at + sizeof(low), &high, sizeof(high));
    }
    for (unsigned i = 0; i < count; i++) {
        head |= field_load(block->row[i + 1], 8) ^ field_load(block->row[i], 8);
    }
    changed[0] = head;
}

/* Bits in which any record of the block differs from its predecessor: word 0
 * (kind, flags, name) from the record before, the others from the one of the
 * same context.
 */
static void
find_changes(const struct block *block, uint64_t *changed, unsigned units)
{
    if (wide_level() != WIDE_NONE) {
        wide_changes(block->row, block->peer, block->count, units, changed);
    } else {
        plain_changes(block, changed, units);
    }
    changed[1] = 1; /* start: always */
}

/* Would most records of the block cost nothing if the field was coded as
 * NEXT? The first block of a batch decides for the others. */
static bool is_mostly_counting(const struct block *block, const struct field *f)
{
    unsigned hits = 0;

    for (unsigned i = 0; i < block->count; i++) {
        uint64_t before = field_load(block->row[i] + f->offset, f->bytes);
        uint64_t value = field_load(block->row[i + 1] + f->offset, f->bytes);

        hits += difference(value, before + 1, f->bytes) == 0;
    }
    return hits > block->count / 2;
}

static uint32_t choose_next(const struct block *block, unsigned cls)
{
    uint32_t next = 0;

    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        const struct field *f = &ck_fields[cls][c];

        if (f->code == FIELD_NEXT && is_mostly_counting(block, f)) {
            next |= UINT32_C(1) << c;
        }
    }
    return next;
}

static bool is_expected(const struct block *block,
                        const struct field *f,
                        const uint64_t *changed,
                        bool is_next)
{
    if (f->code == FIELD_BACK) {
        return false;
    }
    if (is_next) {
        return f->bytes == 8 ? is_counting(block, f->offset, 8)
                             : is_counting(block, f->offset, 4);
    }
    return field_load((const uint8_t *)changed + f->offset, f->bytes) == 0;
}

static inline int put_or_count(struct block *block,
                               unsigned c,
                               const struct field *f,
                               const uint64_t *changed)
{
    struct column *column = &block->column[c];
    bool is_next = (block->next >> c & 1) != 0;

    if (is_expected(block, f, changed, is_next)) {
        column->run += block->count;
        return 0;
    }
    return put_field(column, block, f, is_next);
}

static const struct field head_fields[FIELD_FIRST] = {
    {2, FIELD_SAME, offsetof(struct ck_event, kind)},
    {1, FIELD_SAME, offsetof(struct ck_event, flags)},
    {4, FIELD_SAME, offsetof(struct ck_event, name)},
    {8, FIELD_SAME, offsetof(struct ck_event, start)},
};

/* Calls, messages, collectives and what teams do have their site at one place.
 */
#define SITE_WORD (offsetof(struct ck_call, site) / 8)
_Static_assert(offsetof(struct ck_call, site) ==
                       offsetof(struct ck_message, site) &&
                   offsetof(struct ck_call, site) ==
                       offsetof(struct ck_collective, site),
               "one place for the site");

static inline bool has_site(unsigned cls)
{
    return cls == CK_CLASS_CALL || cls == CK_CLASS_MESSAGE ||
           cls == CK_CLASS_COLLECTIVE || cls == CK_CLASS_TEAM ||
           cls == CK_CLASS_STACKED;
}

/* Sites that differ from that of the record before in the same context. */
static int put_sites(struct column *sites, const struct block *block)
{
    const size_t site = offsetof(struct ck_call, site);

    if (column_reserve(sites, block->count * sizeof(uint64_t)) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < block->count; i++) {
        uint64_t value = field_load(block->row[i + 1] + site, 8);

        if (value != 0 && value != field_load(block->peer[i] + site, 8)) {
            field_store(sites->bytes + sites->used, value, 8);
            sites->used += sizeof(value);
        }
    }
    return 0;
}

int block_flush(struct block *block, unsigned cls, struct column *sites)
{
    uint64_t changed[WORDS_MAX];

    if (block->count == 0) {
        return 0;
    }
    if (block->records == 0) {
        block->next = choose_next(block, cls);
    }
    find_changes(block, changed, ck_field_units[cls]);
    if (has_site(cls) && changed[SITE_WORD] != 0 &&
        put_sites(sites, block) != 0) {
        return -1;
    }
    for (unsigned c = 0; c < FIELD_FIRST; c++) {
        if (put_or_count(block, c, &head_fields[c], changed) != 0) {
            return -1;
        }
    }
    for (unsigned c = FIELD_FIRST; ck_fields[cls][c].bytes != 0; c++) {
        if (put_or_count(block, c, &ck_fields[cls][c], changed) != 0) {
            return -1;
        }
    }
    block->row[0] = block->row[block->count];
    block->records += block->count;
    block->count = 0;
    return 0;
}
