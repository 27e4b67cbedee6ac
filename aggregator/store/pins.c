/* pins.c - which stored frames of one agent show what is now
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each frame has a pin as long as something holds it. Of stacks there are
 * many, and those of the looks alone are wanted: they hold their frame, but it
 * is written only where a look names them.
 */
#include "aggregator/store/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/framerows.h"
#include "aggregator/store/keytable.h"
#include "schema/store/frameindex.h"

#define OF(class) ((uint32_t)1 << CK_CLASS_##class)
/* Classes of definitions. */
#define FACTS (OF(TEXT) | OF(MODULE) | OF(OPEN))
/* Threads, calls and stacks of one agent that are followed. */
#define KEYS_MAX 131072
/* Places where reading may begin: so far from each other, so many. */
#define ANCHOR_BYTES ((uint64_t)64 << 10)
#define ANCHORS 512

struct pin {
    struct pin *before; /* in the segment */
    struct pin *after;
    struct tail *tail;
    struct ck_frameindex_row row;
    uint32_t held;   /* by how much, but for stacks */
    uint32_t stacks; /* that are in it */
    bool is_wanted;  /* for one of them; while an index is written */
};

/* A stream. */
struct tail {
    struct ck_stream name;
    uint32_t number;
    uint64_t next;   /* behind its farthest frame */
    uint64_t frames; /* stored */
    struct pin *last;
    struct pin *recent[CK_RECENT_MOST]; /* a circle */
    struct pin *clocks[CK_RECENT_CLOCKS];
    uint64_t clocks_count;
    uint32_t skipped; /* classes of frames without a pin */
    uint32_t unwritten;
};

struct pins {
    struct pin *first;
    struct pin *last;
    struct tail **tails;
    size_t tails_count;
    size_t tails_room;
    struct keytable *names;     /* of streams: their tails */
    struct keytable *opens;     /* the last look at a depth of a thread */
    struct keytable *standings; /* the last look at a thread; value = stack */
    struct keytable *stacks;    /* by number */
    uint64_t anchors[ANCHORS];  /* a circle */
    uint64_t anchors_count;
    bool is_short; /* of memory: nothing is known any more */
};

struct pins *pins_create(void)
{
    struct pins *pins = calloc(1, sizeof(*pins));

    if (!pins || !(pins->names = keytable_create()) ||
        !(pins->opens = keytable_create()) ||
        !(pins->standings = keytable_create()) ||
        !(pins->stacks = keytable_create())) {
        pins_destroy(pins);
        return NULL;
    }
    return pins;
}

/* Forget all. */
static void pins_clear(struct pins *pins)
{
    struct pin *after;

    for (struct pin *pin = pins->first; pin; pin = after) {
        after = pin->after;
        free(pin);
    }
    for (size_t i = 0; i < pins->tails_count; i++) {
        free(pins->tails[i]);
    }
    free(pins->tails);
    keytable_destroy(pins->names);
    keytable_destroy(pins->opens);
    keytable_destroy(pins->standings);
    keytable_destroy(pins->stacks);
}

void pins_destroy(struct pins *pins)
{
    int saved = errno;

    if (pins) {
        pins_clear(pins);
        free(pins);
    }
    errno = saved;
}

/* Go on without pins. */
static void pins_give_up(struct pins *pins)
{
    pins_clear(pins);
    *pins = (struct pins){.is_short = true};
}

/* ---- what holds a pin -------------------------------------------------- */

static void pin_look(struct pins *pins, struct pin *pin)
{
    if (pin->held > 0 || pin->stacks > 0) {
        return;
    }
    *(pin->before ? &pin->before->after : &pins->first) = pin->after;
    *(pin->after ? &pin->after->before : &pins->last) = pin->before;
    pin->tail->skipped |= pin->row.classes;
    free(pin);
}

static void pin_release(struct pins *pins, struct pin *pin)
{
    if (pin) {
        pin->held--;
        pin_look(pins, pin);
    }
}

/* Held by this place in place of what it held. */
static void place_take(struct pins *pins, struct pin **place, struct pin *pin)
{
    struct pin *older = *place;

    pin->held++;
    *place = pin;
    pin_release(pins, older);
}

/* NULL: there is no room. */
static struct keytable_entry *entry_make(struct keytable *table, uint64_t key)
{
    return keytable_count(table) < KEYS_MAX ? keytable_make(table, key) : NULL;
}

/* The same of an entry of a table. NULL: there is no room. */
static struct keytable_entry *entry_take(struct pins *pins,
                                         struct keytable *table,
                                         uint64_t key,
                                         struct pin *pin)
{
    struct keytable_entry *entry = entry_make(table, key);

    if (entry) {
        struct pin *held = entry->of;

        place_take(pins, &held, pin);
        entry->of = held;
    }
    return entry;
}

/* ---- records ------------------------------------------------------------ */

static uint64_t open_key(const struct ck_open *open, uint32_t depth)
{
    return keytable_key(CK_KIND_OPEN, open->incarnation, open->tid, depth);
}

/* A look at a depth replaces what was open there and deeper. */
static bool
open_take(struct pins *pins, const struct ck_open *open, struct pin *pin)
{
    struct keytable_entry *entry;

    for (uint32_t depth = open->depth + 1;
         depth != 0 &&
         (entry = keytable_find(pins->opens, open_key(open, depth))) &&
         entry->of;
         depth++) {
        pin_release(pins, entry->of);
        entry->of = NULL;
    }
    return entry_take(pins, pins->opens, open_key(open, open->depth), pin);
}

static bool
standing_take(struct pins *pins, const struct ck_text *text, struct pin *pin)
{
    struct keytable_entry *entry = entry_take(
        pins, pins->standings,
        keytable_key(CK_KIND_STANDING, text->e.name, text->object, 0), pin);

    if (entry) {
        entry->value = text->extra;
    }
    return entry != NULL;
}

static bool
stack_take(struct pins *pins, const struct ck_text *text, struct pin *pin)
{
    struct keytable_entry *entry = entry_make(
        pins->stacks, keytable_key(CK_KIND_STACK, text->e.name, 0, 0));
    struct pin *older;

    if (!entry) {
        return false;
    }
    older = entry->of;
    pin->stacks++;
    entry->of = pin;
    if (older) {
        older->stacks--;
        pin_look(pins, older);
    }
    return true;
}

/* True when it is a definition, which stays. */
static bool
row_take(struct pins *pins, const struct ck_event *row, struct pin *pin)
{
    const struct ck_text *text = (const void *)row;
    bool is_taken = true;

    switch (row->kind) {
    case CK_KIND_OPEN:
        is_taken = open_take(pins, (const void *)row, pin);
        break;
    case CK_KIND_STANDING:
        is_taken = standing_take(pins, text, pin);
        break;
    case CK_KIND_STACK:
        is_taken = stack_take(pins, text, pin);
        break;
    default:
        return true;
    }
    pins->is_short |= !is_taken;
    return false;
}

/* What the frame has of definitions, and of looks, which only the collector
 * records. */
static void facts_take(struct pins *pins,
                       const struct ck_frame_header *header,
                       const void *payload,
                       struct pin *pin)
{
    bool is_lasting = header->classes == 0 || (header->classes & OF(MODULE)) ||
                      header->stream.slot != CK_SLOT_COLLECTOR;
    bool has_lasting = false;
    const struct ck_event *row;
    struct framerows rows;

    if (header->classes != 0 && !(header->classes & FACTS)) {
        return;
    }
    if (!is_lasting) {
        is_lasting = framerows_read(&rows, header, payload, FACTS) != 0;
        while (!is_lasting && (row = framerows_next(&rows))) {
            has_lasting |= row_take(pins, row, pin);
        }
        framerows_free(&rows);
    }
    pin->held += is_lasting || has_lasting;
}

/* ---- frames ------------------------------------------------------------- */

/* NULL: no memory. */
static struct tail *tail_get(struct pins *pins, struct ck_stream name)
{
    struct keytable_entry *entry = keytable_make(
        pins->names, keytable_key(name.incarnation, name.slot, 0, 0));
    struct tail *tail = entry ? entry->of : NULL;
    struct tail **tails = pins->tails;

    if (tail || !entry) {
        return tail;
    }
    if (pins->tails_count == pins->tails_room) {
        size_t room = pins->tails_room ? pins->tails_room * 2 : 8;

        tails = realloc(pins->tails, room * sizeof(struct tail *));
        if (!tails) {
            return NULL;
        }
        pins->tails = tails;
        pins->tails_room = room;
    }
    tail = calloc(1, sizeof(*tail));
    if (tail) {
        tail->name = name;
        tail->number = (uint32_t)pins->tails_count;
        entry->of = tail;
        tails[pins->tails_count++] = tail;
    }
    return tail;
}

/* A pin behind all others; NULL: no memory. */
static struct pin *pin_add(struct pins *pins,
                           struct tail *tail,
                           const struct ck_frame_header *header,
                           uint64_t offset)
{
    struct pin *pin = calloc(1, sizeof(*pin));

    if (!pin) {
        return NULL;
    }
    pin->tail = tail;
    pin->row = (struct ck_frameindex_row){
        .offset = offset,
        .first = header->first,
        .units = header->units,
        .records = header->records,
        .length = header->length,
        .classes = header->classes,
        .stream = tail->number,
        .is_joined = tail->frames > 0 && header->first == tail->next};
    pin->before = pins->last;
    *(pins->last ? &pins->last->after : &pins->first) = pin;
    pins->last = pin;
    return pin;
}

/* Where the frame is in its stream. */
static void tail_take(struct pins *pins, struct tail *tail, struct pin *pin)
{
    const struct ck_frameindex_row *row = &pin->row;

    pin->held += tail->frames < CK_RECENT_FIRST;
    if (tail->frames > 0 && !row->is_joined) {
        pin->held++;
        tail->last->held++;
    }
    place_take(pins, &tail->recent[tail->frames++ % CK_RECENT_MOST], pin);
    if (tail->name.slot == CK_SLOT_COLLECTOR && row->classes & OF(CLOCK)) {
        place_take(pins, &tail->clocks[tail->clocks_count++ % CK_RECENT_CLOCKS],
                   pin);
    }
    if (!tail->last || row->first + row->units >= tail->next) {
        tail->next = row->first + row->units;
        place_take(pins, &tail->last, pin);
    }
}

/* The last one that was kept; 0 = the begin of the segment. */
static uint64_t anchor_last(const struct pins *pins)
{
    return pins->anchors_count == 0
               ? 0
               : pins->anchors[(pins->anchors_count - 1) % ANCHORS];
}

void pins_take(struct pins *pins,
               const struct ck_frame_header *header,
               const void *payload,
               uint64_t offset)
{
    struct tail *tail = pins->is_short ? NULL : tail_get(pins, header->stream);
    struct pin *pin = tail ? pin_add(pins, tail, header, offset) : NULL;

    if (pin) {
        pin->held++; /* until it is looked at */
        tail_take(pins, tail, pin);
        facts_take(pins, header, payload, pin);
        pin_release(pins, pin);
        if (offset - anchor_last(pins) >= ANCHOR_BYTES) {
            pins->anchors[pins->anchors_count++ % ANCHORS] = offset;
        }
    }
    if (!pin || pins->is_short) {
        pins_give_up(pins);
    }
}

/* ---- writing ------------------------------------------------------------ */

/* Where the last `most` bytes begin, or some frames behind that. */
static uint64_t tail_find(const struct pins *pins, uint64_t end, uint64_t most)
{
    uint64_t kept =
        pins->anchors_count < ANCHORS ? pins->anchors_count : ANCHORS;
    uint64_t at = end;

    if (end <= most) {
        return 0;
    }
    for (uint64_t i = 0; i < kept; i++) {
        uint64_t anchor = pins->anchors[i];

        if (anchor < at && end - anchor <= most) {
            at = anchor;
        }
    }
    return at;
}

/* Stacks of the last looks. */
static void stacks_want(struct pins *pins)
{
    const struct keytable_entry *look;

    for (struct pin *pin = pins->first; pin; pin = pin->after) {
        pin->is_wanted = false;
    }
    for (size_t i = 0; (look = keytable_at(pins->standings, i)); i++) {
        struct keytable_entry *stack = keytable_find(
            pins->stacks, keytable_key(CK_KIND_STACK, look->value, 0, 0));

        if (look->of && stack && stack->of) {
            ((struct pin *)stack->of)->is_wanted = true;
        }
    }
}

/* Behind stacks_want(). */
static bool is_written(const struct pin *pin)
{
    return pin->held > 0 || pin->is_wanted;
}

/* How many rows there will be; what their streams have besides. */
static uint32_t rows_count(struct pins *pins)
{
    uint32_t count = 0;

    for (size_t i = 0; i < pins->tails_count; i++) {
        pins->tails[i]->unwritten = pins->tails[i]->skipped;
    }
    for (const struct pin *pin = pins->first; pin; pin = pin->after) {
        if (is_written(pin)) {
            count++;
        } else {
            pin->tail->unwritten |= pin->row.classes;
        }
    }
    return count;
}

bool pins_write(struct pins *pins,
                const uint8_t agent[16],
                uint64_t end,
                uint64_t most,
                FILE *file)
{
    struct ck_frameindex_file head = {.end = end};

    if (pins->is_short) {
        return false;
    }
    stacks_want(pins);
    memcpy(head.agent, agent, sizeof(head.agent));
    head.tail = tail_find(pins, end, most);
    head.streams = (uint32_t)pins->tails_count;
    head.rows = rows_count(pins);
    (void)fwrite(&head, sizeof(head), 1, file);
    for (size_t i = 0; i < pins->tails_count; i++) {
        const struct ck_frameindex_stream stream = {
            .name = pins->tails[i]->name, .skipped = pins->tails[i]->unwritten};

        (void)fwrite(&stream, sizeof(stream), 1, file);
    }
    for (const struct pin *pin = pins->first; pin; pin = pin->after) {
        if (is_written(pin)) {
            (void)fwrite(&pin->row, sizeof(pin->row), 1, file);
        }
    }
    return true;
}
