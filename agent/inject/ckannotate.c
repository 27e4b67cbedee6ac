/* ckannotate.c - the tracer's side of ck.h: marks, values, ranges, steps
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread's open ranges and steps are one stack, because they nest in time;
 * each becomes one record when it is closed. While it is open the collector
 * sees it among the thread's open calls.
 *
 * A name is looked up by its address first: a small cache a thread has the
 * text that was at that address, and the bytes there now are compared with it,
 * so a buffer with new content is a miss and never a wrong name.
 */
#include "agent/inject/annotatelink.h"
#include "agent/inject/ck.h"
#include "agent/inject/inject.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANNOTATE_DEPTH_MAX 64
#define ANNOTATE_CACHE 32 /* a power of two */
#define PAGE_BYTES_MIN 4096

/* A range or step that is open. */
struct annotate_open {
    int64_t start;
    int64_t value; /* depth of a range, number of a step */
    uint64_t site;
    uint32_t name;
    uint16_t kind;
    uint16_t is_recorded; /* 0: there was no writer at its begin */
    uint32_t token;       /* who ends it; 0 = the innermost is ended */
    uint32_t pad;
};

/* A text seen at an address. Copies beside each other: following the pointer
 * to the text costs as much as the rest of a mark.
 */
struct annotate_name {
    const char *pointer;
    uint64_t words[2]; /* first 16 bytes, zeros behind the text's end */
    uint64_t mask[2];
    uint64_t known;           /* as inject_text.known */
    uint64_t quick;           /* `known` where the words are the whole text */
    struct inject_text *text; /* never freed */
};

/* One a thread that has a slot. */
struct annotate_thread {
    uint32_t depth;       /* may exceed ANNOTATE_DEPTH_MAX, entries do not */
    uint32_t ranges;      /* of them, ranges */
    uint32_t inherited;   /* lowest entries that the parent of a fork opened */
    uint32_t incarnation; /* that the other entries belong to */
    uint32_t is_caching;  /* a name is being entered (signal re-entry) */
    struct annotate_open open[ANNOTATE_DEPTH_MAX];
    struct annotate_name names[ANNOTATE_CACHE];
};

/* Too large for each thread's static storage: a loader that audits has 1.5 KB
 * of that for all libraries. A thread has the block of its slot's number; the
 * thread that goes on after a fork has a copy of its parent's. */
static struct inject_room blocks = {.bytes = CK_RING_SLOTS_MAX *
                                             sizeof(struct annotate_thread)};
static INJECT_ROOM struct annotate_thread inherited_block;
static INJECT_NEAR __thread struct annotate_thread *annotate_mine;
static INJECT_NEAR __thread const struct ck_ring_slot *annotate_slot;

/* The thread's first annotation in this slot. */
static __attribute__((noinline)) struct annotate_thread *
self_find(const struct ck_ring_writer *writer)
{
    struct annotate_thread *self = annotate_mine;

    if (self == NULL) {
        self = (struct annotate_thread *)inject_room_of(&blocks) +
               (writer->slot - ck_ring_heads(inject_ring.header));
        memset(self, 0, sizeof(*self));
    }
    annotate_mine = self;
    /* A signal handler takes what has its slot as complete. */
    atomic_signal_fence(memory_order_seq_cst);
    annotate_slot = writer->slot;
    return self;
}

static inline struct annotate_thread *
self_of(const struct ck_ring_writer *writer)
{
    return __builtin_expect(annotate_slot == writer->slot, 1)
               ? annotate_mine
               : self_find(writer);
}

/* Without a writer: NULL where the thread has none, or has left its slot, which
 * may be another thread's by now. */
static inline struct annotate_thread *self_kept(void)
{
    return annotate_slot != NULL && inject_thread.slot == NULL ? NULL
                                                               : annotate_mine;
}

INJECT_START static void child_after_fork(void)
{
    if (annotate_mine != NULL) {
        memmove(&inherited_block, annotate_mine, sizeof(inherited_block));
        annotate_mine = &inherited_block;
        annotate_slot = NULL;
    }
}

/* Whether the first 16 bytes at `name` are those of the text, compared as words
 * that may reach beyond the end of the program's string, never into another
 * page (name_is_near_end). */
__attribute__((no_sanitize("address"))) static inline bool
words_are(const struct annotate_name *cached, const char *name)
{
    uint64_t now[2];

    memcpy(now, name, sizeof(now));
    return (((now[0] & cached->mask[0]) ^ cached->words[0]) |
            ((now[1] & cached->mask[1]) ^ cached->words[1])) == 0;
}

/* Of its page. */
static bool name_is_near_end(const char *name)
{
    return ((uintptr_t)name & (PAGE_BYTES_MIN - 1)) >
           PAGE_BYTES_MIN - 2 * sizeof(uint64_t);
}

static void name_cache(struct annotate_thread *self,
                       struct annotate_name *cached,
                       struct inject_text *text,
                       const char *name)
{
    if (self->is_caching) {
        return; /* a signal handler amidst the lines below */
    }
    self->is_caching = 1;
    cached->quick = cached->known = 0;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(cached->words, text->text, sizeof(cached->words));
    memcpy(cached->mask, text->mask, sizeof(cached->mask));
    cached->words[0] &= cached->mask[0];
    cached->words[1] &= cached->mask[1];
    cached->text = text;
    cached->pointer = name;
    atomic_signal_fence(memory_order_seq_cst);
    cached->known = atomic_load_explicit(&text->known, memory_order_relaxed);
    /* A 16th byte that is not zero: the text may be longer. */
    if (cached->words[1] >> 56 == 0 && !name_is_near_end(name)) {
        cached->quick = cached->known;
    }
    self->is_caching = 0;
}

static __attribute__((noinline)) uint32_t
name_find(struct annotate_thread *self,
          struct annotate_name *cached,
          const char *name)
{
    struct inject_text *text;
    uint32_t id;

    if (name == NULL) {
        return 0;
    }
    if (cached->pointer == name &&
        (uint32_t)(cached->known >> 32) == inject_ring.incarnation &&
        strcmp(cached->text->text, name) == 0) {
        return (uint32_t)cached->known;
    }
    text = inject_text_find(name);
    if (text == NULL) {
        return 0;
    }
    id = inject_text_number(text);
    name_cache(self, cached, text, name);
    return id;
}

/* No name is NULL with `quick` set. */
static inline uint32_t name_id(struct annotate_thread *self, const char *name)
{
    uintptr_t hash = (uintptr_t)name ^ ((uintptr_t)name >> 5);
    struct annotate_name *cached = &self->names[hash % ANNOTATE_CACHE];

    if (__builtin_expect(cached->pointer == name, 1) &&
        __builtin_expect(
            (uint32_t)(cached->quick >> 32) == inject_ring.incarnation, 1) &&
        __builtin_expect(words_are(cached, name), 1)) {
        return (uint32_t)cached->quick;
    }
    return name_find(self, cached, name);
}

/* Stored field by field into the ring: a struct built first and copied in
 * wider words would wait for its own stores.
 */
static inline void point_put(enum ck_kind kind, const char *name, int64_t value)
{
    struct ck_ring_writer *writer = inject_writer();
    struct ck_mark *record;
    int64_t start;
    uint32_t id;

    if (writer == NULL) {
        return;
    }
    start = inject_now();
    id = name_id(self_of(writer), name);
    record = ck_ring_begin(writer, inject_ring.clock, 1);
    if (__builtin_expect(record != NULL, 1)) {
        record->e.kind = (uint16_t)kind;
        record->e.units = 1;
        record->e.flags = 0;
        record->e.name = id;
        record->e.start = start;
        record->dur = 0;
        record->value = value;
        ck_ring_commit(writer, 1);
    }
}

static inline void record_put(struct ck_ring_writer *writer,
                              const struct annotate_open *entry,
                              int64_t end)
{
    struct ck_mark *record = ck_ring_begin(writer, inject_ring.clock, 1);

    if (__builtin_expect(record != NULL, 1)) {
        record->e.kind = entry->kind;
        record->e.units = 1;
        record->e.flags = 0;
        record->e.name = entry->name;
        record->e.start = entry->start;
        record->dur = end - entry->start;
        record->value = entry->value;
        ck_ring_commit(writer, 1);
    }
}

static void annotate_mark(const char *name, int64_t value)
{
    point_put(CK_KIND_MARK, name, value);
}

static void annotate_value(const char *name, int64_t value)
{
    point_put(CK_KIND_VALUE, name, value);
}

/* After a fork the child still has the parent's open entries. */
static inline void self_check(struct annotate_thread *self)
{
    if (__builtin_expect(self->incarnation != inject_ring.incarnation, 0)) {
        if (self->incarnation != 0) {
            self->inherited = self->depth;
        }
        self->incarnation = inject_ring.incarnation;
    }
}

static void entry_show(struct ck_ring_writer *writer,
                       const struct annotate_open *entry)
{
    struct ck_ring_open open = {
        .start = entry->start,
        .site = entry->site,
        .name = entry->name,
        .kind = entry->kind,
    };

    (void)ck_ring_open(writer, &open);
}

static inline void entry_push(enum ck_kind kind,
                              const char *name,
                              int64_t value,
                              uint32_t token,
                              void *site)
{
    struct ck_ring_writer *writer = inject_writer();
    struct annotate_thread *self =
        writer == NULL ? self_kept() : self_of(writer);
    struct annotate_open *entry;
    uint32_t depth;

    if (self == NULL) {
        return;
    }
    if (writer != NULL) {
        self_check(self);
    }
    /* Taken before it is filled: a signal handler uses the next one. */
    depth = self->depth++;
    atomic_signal_fence(memory_order_seq_cst);
    self->ranges += kind == CK_KIND_RANGE;
    if (depth >= ANNOTATE_DEPTH_MAX) {
        return;
    }
    entry = &self->open[depth];
    entry->kind = (uint16_t)kind;
    entry->is_recorded = writer != NULL;
    entry->token = token;
    if (writer == NULL) {
        return;
    }
    entry->name = name_id(self, name);
    entry->value = value;
    entry->site = (uint64_t)(uintptr_t)site;
    entry->start = inject_now();
    entry_show(writer, entry);
}

static void annotate_range_push(const char *name)
{
    const struct annotate_thread *self = self_kept();

    entry_push(CK_KIND_RANGE, name, self == NULL ? 0 : self->ranges, 0,
               __builtin_return_address(0));
}

static void annotate_step_begin(int64_t number)
{
    entry_push(CK_KIND_STEP, "step", number, 0, __builtin_return_address(0));
}

/* Close the entry at `at` in what the collector sees: those above it, left
 * open by a program that does not nest, are shown again.
 */
static void entry_hide(struct ck_ring_writer *writer,
                       struct annotate_thread *self,
                       uint32_t at,
                       uint32_t top)
{
    for (uint32_t i = at; i < top; i++) {
        if (self->open[i].is_recorded && i >= self->inherited) {
            ck_ring_close(writer);
        }
    }
    for (uint32_t i = at + 1; i < top; i++) {
        if (self->open[i].is_recorded && i >= self->inherited) {
            entry_show(writer, &self->open[i]);
        }
    }
}

/* Take the entry out of the stack, and record it. */
static inline void entry_close(struct annotate_thread *self, uint32_t at)
{
    struct annotate_open entry = self->open[at];
    /* Without a record at its end it was counted at its begin. */
    struct ck_ring_writer *writer = entry.is_recorded ? inject_writer() : NULL;
    uint32_t top = self->depth;
    int64_t end = 0;

    if (writer != NULL) {
        self_check(self);
        end = inject_now();
        entry_hide(writer, self, at, top);
    }
    if (at + 1 < top) {
        memmove(&self->open[at], &self->open[at + 1],
                (top - at - 1) * sizeof(entry));
    }
    atomic_signal_fence(memory_order_seq_cst);
    self->depth = top - 1;
    self->ranges -= entry.kind == CK_KIND_RANGE;
    if (at < self->inherited) {
        self->inherited--;
        return; /* the parent records it */
    }
    if (writer != NULL) {
        record_put(writer, &entry, end);
    }
}

/* One for which there was no room. */
static void entry_lose(struct annotate_thread *self, enum ck_kind kind)
{
    struct ck_ring_writer *writer = inject_writer();

    self->depth--;
    self->ranges -= kind == CK_KIND_RANGE;
    if (writer != NULL) {
        ck_ring_count_lost(writer->slot, inject_ring.clock, 1);
    }
}

/* Close the innermost open entry of the kind. */
static inline void entry_pop(enum ck_kind kind)
{
    struct annotate_thread *self = self_kept();
    uint32_t at = self == NULL ? 0 : self->depth;

    if (at > ANNOTATE_DEPTH_MAX) {
        entry_lose(self, kind);
        return;
    }
    while (at > 0 &&
           (self->open[at - 1].kind != kind || self->open[at - 1].token != 0)) {
        at--;
    }
    if (at > 0) {
        entry_close(self, at - 1);
    }
}

static void annotate_range_pop(void)
{
    entry_pop(CK_KIND_RANGE);
}

static void annotate_step_end(void)
{
    entry_pop(CK_KIND_STEP);
}

static void
link_begin(enum ck_kind kind, const char *name, int64_t number, uint32_t token)
{
    const struct annotate_thread *self = self_kept();

    if (kind == CK_KIND_RANGE) {
        number = self == NULL ? 0 : self->ranges;
    }
    entry_push(kind, name, number, token, __builtin_return_address(0));
}

/* One that is kept, below others for which there is no room: of those one is
 * from now on a range that is not recorded. */
static void deep_close(struct annotate_thread *self, uint32_t at)
{
    uint32_t depth = self->depth;

    self->depth = ANNOTATE_DEPTH_MAX;
    entry_close(self, at);
    self->open[ANNOTATE_DEPTH_MAX - 1] =
        (struct annotate_open){.kind = CK_KIND_RANGE};
    self->depth = depth - 1;
}

static void link_end(uint32_t token)
{
    struct annotate_thread *self = self_kept();
    uint32_t at = self == NULL ? 0 : self->depth;
    bool has_more = at > ANNOTATE_DEPTH_MAX;

    at = has_more ? ANNOTATE_DEPTH_MAX : at;
    while (at > 0 && self->open[at - 1].token != token) {
        at--;
    }
    if (at > 0 && has_more) {
        deep_close(self, at - 1);
    } else if (at > 0) {
        entry_close(self, at - 1);
    } else if (has_more) {
        entry_lose(self, CK_KIND_RANGE);
    }
}

static struct ck_api annotate_api = {
    .version = CK_H_VERSION,
    .mark = annotate_mark,
    .value = annotate_value,
    .range_push = annotate_range_push,
    .range_pop = annotate_range_pop,
    .step_begin = annotate_step_begin,
    .step_end = annotate_step_end,
};

__attribute__((visibility("default"))) annotate_link_f ck_annotate_link;

const struct annotate_link *ck_annotate_link(void)
{
    static const struct annotate_link link = {link_begin, link_end};

    return &link;
}

__attribute__((constructor)) static void annotate_load(void)
{
    inject_room_add(&blocks);
    inject_load(CK_LIBRARY_ANNOTATE);
    (void)inject_at_fork(NULL, child_after_fork);
}

__attribute__((visibility("default"))) const struct ck_api *
ck_api_get(uint32_t version);

const struct ck_api *ck_api_get(uint32_t version)
{
    const char *path = getenv(CK_RING_ENV);

    if (version == 0 || version > CK_H_VERSION) {
        return NULL;
    }
    annotate_api.is_on = path != NULL && path[0] == '/';
    return &annotate_api;
}
