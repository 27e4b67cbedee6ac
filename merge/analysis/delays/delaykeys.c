/* delaykeys.c - keys for what threads did that are equal on all ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/delays/delaykeys.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/callpaths.h"
#include "merge/analysis/history/evidence.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

#define KEYS_FIRST 2 /* behind DELAY_UNKNOWN and DELAY_REST */
#define OFFS (HISTORY_BLOCKED + 1)

/* A state by the numbers that the host has for its spans; 0 = none. */
struct numbers {
    uint32_t call, before, after, range;
    uint32_t off;
};

#define POINTER_BITS 48

#define QUICK 512 /* a power of two */

struct quick {
    struct numbers numbers;
    struct delay_deed deed; /* key 0 = empty */
};

/* What is known of an activity. */
struct own {
    uint32_t keys[OFFS]; /* DELAY_UNKNOWN = not asked yet */
    uint32_t common;     /* where one of them is known */
};

struct kept {
    uint32_t base;
    enum history_off off;
    bool is_between;
};

/* Where a sample was met. */
struct met {
    struct place place;
    uint32_t path;
    bool is_faulting;
    bool is_wait;
    const char *called; /* where it waits */
};

struct delaykeys {
    struct lookback *lookback; /* borrowed */
    struct table *keys;        /* common number of an activity, state */
    struct kept *kept;         /* by key - KEYS_FIRST */
    size_t count, room;
    struct own *deeds; /* by activity */
    size_t deeds_count, deeds_room;
    struct table *stacks;     /* process, stack, how it was met */
    struct delay_line *lines; /* by number of that */
    size_t stacks_count, stacks_room;
    struct table *texts;  /* function, file, line | faulting | wait | path */
    struct met *places;   /* by number of that */
    struct table *called; /* texts of what places called to wait */
    struct table *teams;  /* numbers of those that are of OpenMP runtimes */
    size_t places_count, places_room;
    struct quick quicks[QUICK];
};

struct delaykeys *delaykeys_create(struct lookback *lookback)
{
    struct delaykeys *keys = xcalloc(1, sizeof(*keys));

    keys->lookback = lookback;
    keys->keys = table_create();
    keys->stacks = table_create();
    keys->texts = table_create();
    keys->called = table_create();
    keys->teams = table_create();
    return keys;
}

void delaykeys_destroy(struct delaykeys *keys)
{
    if (keys == NULL) {
        return;
    }
    table_destroy(keys->keys);
    table_destroy(keys->stacks);
    table_destroy(keys->texts);
    table_destroy(keys->called);
    table_destroy(keys->teams);
    free(keys->kept);
    free(keys->deeds);
    free(keys->lines);
    free(keys->places);
    free(keys);
}

/* ---- states ------------------------------------------------------------- */

/* Of a computation only its range makes the key. */
static int64_t whole_common(struct delaykeys *keys,
                            const struct history_state *did,
                            int64_t own)
{
    struct history_state bare = {.is_known = true, .range = did->range};
    int64_t number;

    if (did->call != NULL) {
        return own;
    }
    number = lookback_activity(keys->lookback, &bare);
    return lookback_activity_common(keys->lookback, (uint32_t)number);
}

/* A key of an activity in that state. */
static int64_t key_make(struct delaykeys *keys,
                        const struct history_state *did,
                        enum history_off off,
                        int64_t common)
{
    int64_t whole = whole_common(keys, did, common);
    int64_t key = table_number_of(keys->keys, (uint64_t)whole, (uint64_t)off,
                                  did->call == NULL);

    if ((size_t)key == keys->count) {
        array_grow(&keys->kept, &keys->room, keys->count, sizeof(*keys->kept));
        keys->kept[keys->count++] =
            (struct kept){(uint32_t)whole, off, did->call == NULL};
    }
    return key + KEYS_FIRST;
}

static struct own *own_of(struct delaykeys *keys, int64_t activity)
{
    while (keys->deeds_count <= (size_t)activity) {
        array_grow(&keys->deeds, &keys->deeds_room, keys->deeds_count,
                   sizeof(*keys->deeds));
        keys->deeds[keys->deeds_count++] = (struct own){{DELAY_UNKNOWN}, 0};
    }
    return &keys->deeds[activity];
}

static void deed_find(struct delaykeys *keys,
                      const struct history_state *did,
                      enum history_off off,
                      struct delay_deed *deed)
{
    int64_t number = lookback_activity(keys->lookback, did);
    struct own *own = own_of(keys, number);

    if (own->keys[off] == DELAY_UNKNOWN) {
        int64_t common =
            lookback_activity_common(keys->lookback, (uint32_t)number);
        int64_t key = key_make(keys, did, off, common);

        own->keys[off] = (uint32_t)key;
        own->common = (uint32_t)common;
    }
    *deed = (struct delay_deed){own->keys[off], own->common, (uint32_t)number};
}

/* False: one of them has none, or what it did is known by numbers of the thread
 * alone. */
static inline bool number_of(const struct history_span *span, uint32_t *number)
{
    *number = span == NULL ? 0 : span->what;
    return span == NULL || *number != 0;
}

static inline bool numbers_of(const struct history_state *did,
                              struct numbers *numbers)
{
    return did->kernel == NULL && number_of(did->call, &numbers->call) &&
           number_of(did->before, &numbers->before) &&
           number_of(did->after, &numbers->after) &&
           number_of(did->range, &numbers->range) &&
           (numbers->call | numbers->before | numbers->after) != 0;
}

static inline size_t numbers_hash(const struct numbers *numbers)
{
    uint64_t spans = (uint64_t)numbers->call << 32 | numbers->after;
    uint64_t others = (uint64_t)numbers->before << 32 | numbers->range;
    uint64_t hash =
        (spans * 0x9e3779b97f4a7c15U ^ others) * 0xbf58476d1ce4e5b9U;

    return (size_t)((hash >> 50) + numbers->off) % QUICK;
}

void delaykeys_deed(struct delaykeys *keys,
                    const struct history_state *did,
                    enum history_off off,
                    struct delay_deed *deed)
{
    struct numbers numbers = {.off = (uint32_t)off};
    struct quick *quick;

    if (!did->is_known) {
        *deed = (struct delay_deed){DELAY_UNKNOWN, 0, DELAY_NONE};
        return;
    }
    if (!numbers_of(did, &numbers)) {
        deed_find(keys, did, off, deed);
        return;
    }
    quick = &keys->quicks[numbers_hash(&numbers)];
    if (quick->deed.key == DELAY_UNKNOWN ||
        quick->numbers.call != numbers.call ||
        quick->numbers.before != numbers.before ||
        quick->numbers.after != numbers.after ||
        quick->numbers.range != numbers.range ||
        quick->numbers.off != numbers.off) {
        deed_find(keys, did, off, deed);
        *quick = (struct quick){numbers, *deed};
        return;
    }
    *deed = quick->deed;
}

bool delaykeys_is_between(const struct delaykeys *keys, uint32_t key)
{
    return key >= KEYS_FIRST && keys->kept[key - KEYS_FIRST].is_between;
}

enum history_off delaykeys_off(const struct delaykeys *keys, uint32_t key)
{
    return key < KEYS_FIRST ? HISTORY_ON : keys->kept[key - KEYS_FIRST].off;
}

uint32_t delaykeys_base(const struct delaykeys *keys, uint32_t key)
{
    return keys->kept[key - KEYS_FIRST].base;
}

/* ---- lines -------------------------------------------------------------- */

/* Number of a place by its texts. */
static int64_t place_number(struct delaykeys *keys, const struct met *met)
{
    /* Kept texts: equal ones are one pointer, whose upper bits are free. */
    int64_t called =
        table_number_of(keys->called, (uintptr_t)met->called, 0, 0);
    int64_t number = table_number_of(
        keys->texts,
        (uintptr_t)met->place.function ^ (uint64_t)called << POINTER_BITS,
        (uintptr_t)met->place.file,
        (uint64_t)met->place.line | (uint64_t)met->is_faulting << 32 |
            (uint64_t)met->is_wait << 33 | (uint64_t)met->path << 34);

    if ((size_t)number < keys->places_count) {
        return number;
    }
    array_grow(&keys->places, &keys->places_room, keys->places_count,
               sizeof(*keys->places));
    keys->places[keys->places_count++] = *met;
    return number;
}

static void line_find(struct delaykeys *keys,
                      uint32_t process,
                      const struct history_sample *sample,
                      struct delay_line *line)
{
    const struct defs *defs = lookback_defs(keys->lookback);
    struct evidence_item item = {
        .kind = EVIDENCE_SAMPLE, .a = process, .b = sample->stack};
    struct met met = {.is_faulting = sample->is_faulting,
                      .is_wait = sample->is_wait};
    int64_t number;

    *line = (struct delay_line){.number = DELAY_NONE};
    if (evidence_is_own(defs, &item)) {
        return;
    }
    line->is_team = evidence_is_team(defs, &item);
    met.place = evidence_place(defs, &item);
    if (met.place.function == NULL) {
        return;
    }
    met.called = met.is_wait ? evidence_called(defs, &item) : NULL;
    met.path = callpaths_number(lookback_paths(keys->lookback), process,
                                sample->stack);
    number = place_number(keys, &met);
    line->number = (uint32_t)number;
    if (line->is_team) {
        table_number_of(keys->teams, line->number, 0, 0);
    }
}

void delaykeys_line(struct delaykeys *keys,
                    uint32_t process,
                    const struct history_sample *sample,
                    struct delay_line *line)
{
    int64_t number =
        table_number_of(keys->stacks, process, sample->stack,
                        (uint64_t)sample->is_faulting | sample->is_wait << 1);
    struct delay_line found;

    if ((size_t)number == keys->stacks_count) {
        array_grow(&keys->lines, &keys->stacks_room, keys->stacks_count,
                   sizeof(*keys->lines));
        line_find(keys, process, sample, &found);
        keys->lines[keys->stacks_count++] = found;
    }
    *line = keys->lines[number];
}

struct place delaykeys_place(const struct delaykeys *keys, uint32_t line)
{
    return keys->places[line].place;
}

uint32_t delaykeys_path(const struct delaykeys *keys, uint32_t line)
{
    return keys->places[line].path;
}

bool delaykeys_is_faulting(const struct delaykeys *keys, uint32_t line)
{
    return keys->places[line].is_faulting;
}

bool delaykeys_is_wait(const struct delaykeys *keys, uint32_t line)
{
    return keys->places[line].is_wait;
}

const char *delaykeys_called(const struct delaykeys *keys, uint32_t line)
{
    return keys->places[line].called;
}

const struct callpaths *delaykeys_paths(const struct delaykeys *keys)
{
    return lookback_paths(keys->lookback);
}

bool delaykeys_is_team(const struct delaykeys *keys, uint32_t line)
{
    return table_find(keys->teams, (struct table_key){line, 0, 0}) >= 0;
}
