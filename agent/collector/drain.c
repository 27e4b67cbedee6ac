/* drain.c - slots are read, cut into frames, freed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a slot holds was written by another program and is checked: a record
 * that is not well formed ends the use of what follows it (positions
 * cannot be found again), which is counted.
 */
#include "agent/collector/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/collector/losses.h"
#include "agent/collector/slotstacks.h"
#include "agent/collector/slotstate.h"
#include "agent/collector/pace.h"
#include "agent/stream/framing.h"
#include "agent/symbols/symbols.h"

#define OPEN_AGE (20 * CK_TIME_MS)

struct drain {
    struct ringfile *ring;           /* borrowed */
    struct framewriter *framewriter; /* borrowed */
    struct selfstream *selfstream;   /* borrowed */
    const struct clocksync *sync;    /* borrowed */
    struct symbols *symbols;         /* borrowed, may be NULL */
    uint64_t limit;
    struct losses losses;
    ck_time_t turn_at; /* of the last turn; 0 = none yet */
    ck_time_t period;  /* until the next, as decided then */
    struct pace pace;
    struct drain_strain strain;
    struct slotstate *slots;
    uint32_t *used; /* slots that a thread may have records in */
    uint32_t used_count;
    uint32_t claims;   /* header->claims when `used` was made */
    uint32_t images;   /* header->incarnations at the last turn */
    ck_time_t busy_at; /* a thread had a slot or came, or a program did */
    bool was_off;      /* recording had ended before this collector */
    bool is_checked;
};

struct drain *drain_create(struct ringfile *ring,
                           struct framewriter *framewriter,
                           struct selfstream *selfstream,
                           const struct clocksync *sync,
                           uint64_t limit)
{
    struct drain *drain = calloc(1, sizeof(*drain));
    uint32_t claims = atomic_load(&ring->header->claims);

    if (drain == NULL) {
        return NULL;
    }
    drain->slots = calloc(ring->plan.slots, sizeof(*drain->slots));
    drain->used = calloc(ring->plan.slots, sizeof(*drain->used));
    if (drain->slots == NULL || drain->used == NULL) {
        drain_destroy(drain);
        return NULL;
    }
    drain->claims = claims - 1;
    drain->was_off = atomic_load(&ring->header->is_off) != 0;
    drain->ring = ring;
    drain->framewriter = framewriter;
    drain->selfstream = selfstream;
    drain->sync = sync;
    drain->limit = limit;
    drain->losses = (struct losses){.selfstream = selfstream, .sync = sync};
    losses_inherit(&drain->losses, &ring->header->noslot_told);
    /* The heads of a ring that has not been used have no memory. */
    for (uint32_t i = 0; claims != 0 && i < ring->plan.slots; i++) {
        losses_inherit_slot(&drain->losses, &ck_ring_heads(ring->header)[i],
                            &drain->slots[i]);
    }
    drain->period = PACE_STEP;
    return drain;
}

void drain_destroy(struct drain *drain)
{
    if (drain != NULL) {
        free(drain->slots);
        free(drain->used);
        free(drain);
    }
}

void drain_symbols(struct drain *drain, struct symbols *symbols)
{
    drain->symbols = symbols;
}

/* Make a frame and note the call sites in it. As framewriter_put(). */
static int
cut_put(struct drain *drain, const struct framewriter_cut *cut, uint32_t *units)
{
    const uint64_t *sites;
    size_t count;

    if (framewriter_put(drain->framewriter, cut, units) != 0) {
        return -1;
    }
    count = ck_batch_sites(drain->framewriter->writer, &sites);
    for (size_t i = 0; drain->symbols != NULL && i < count; i++) {
        symbols_site(drain->symbols, cut->stream.incarnation, sites[i]);
    }
    if (drain->symbols != NULL &&
        atomic_load_explicit(&drain->ring->header->stacks,
                             memory_order_relaxed) > 0) {
        slotstacks_note(drain->symbols, cut->stream.incarnation, cut->records,
                        *units);
    }
    return 0;
}

/* A frame of what is whole before a broken record; if nothing is, all is
 * given up. Units taken. */
static uint64_t slot_cut_broken(struct drain *drain,
                                struct framewriter_cut *cut,
                                uint64_t units)
{
    uint64_t records;
    uint64_t whole = framing_measure(cut->records, units, &records);
    uint32_t taken;

    if (whole == 0) {
        drain->losses.broken += 1;
        return units;
    }
    cut->bytes = whole * CK_UNIT_BYTES;
    if (cut_put(drain, cut, &taken) == 0) {
        return taken;
    }
    if (errno == EBADMSG) {
        drain->losses.broken += records;
        return whole;
    }
    return 0;
}

/* Over the limit nothing is stored any more. Units passed over. */
static uint64_t slot_skip(struct drain *drain,
                          const struct slotstate *slotstate,
                          const uint8_t *at,
                          uint64_t units)
{
    uint64_t records;
    uint64_t whole = framing_measure(at, units, &records);
    ck_time_t since = slotstate->pending_since != 0 ? slotstate->pending_since
                                                    : drain->turn_at;

    losses_limit(&drain->losses, records, since);
    if (whole == 0) {
        drain->losses.broken += 1;
        return units;
    }
    atomic_store(&drain->ring->header->is_off, 1);
    return whole;
}

static bool is_over_limit(const struct drain *drain)
{
    return drain->limit != 0 &&
           drain->framewriter->outbox.head->stored >= drain->limit;
}

static uint64_t body_units(const struct drain *drain, uint32_t slot)
{
    return ringfile_body_bytes(drain->ring, slot) / CK_UNIT_BYTES;
}

/* One frame from a slot. Units taken; 0: nothing could be taken now. */
static uint64_t
slot_cut(struct drain *drain, uint32_t index, uint64_t tail, uint64_t units)
{
    struct slotstate *slotstate = &drain->slots[index];
    uint64_t mask = body_units(drain, index) - 1;
    const uint8_t *body = ringfile_body(drain->ring, index);
    struct framewriter_cut cut = {
        .stream = {.incarnation = slotstate->incarnation, .slot = index},
        .clock = drain->sync->clock,
        .pid = slotstate->pid,
        .first = tail,
        .bytes = units * CK_UNIT_BYTES,
    };
    uint32_t taken;

    if (body == NULL) {
        return 0;
    }
    cut.records = body + (tail & mask) * CK_UNIT_BYTES;
    slotstate_follow(slotstate, cut.records);
    cut.tid = slotstate->tid;
    if (is_over_limit(drain)) {
        return slot_skip(drain, slotstate, cut.records, units);
    }
    if (cut_put(drain, &cut, &taken) == 0) {
        return taken;
    }
    return errno == EBADMSG ? slot_cut_broken(drain, &cut, units) : 0;
}

/* Empty the slot as far as outbox and spool take it, but for a rest of fewer
 * units than `rest` behind the first frame. */
static void slot_empty(struct drain *drain,
                       uint32_t index,
                       struct ck_ring_slot *slot,
                       ck_time_t now,
                       uint64_t rest)
{
    struct slotstate *slotstate = &drain->slots[index];
    uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed);
    uint64_t least = 1;

    while (slotstate->head - tail >= least) {
        uint64_t taken = slot_cut(drain, index, tail, slotstate->head - tail);

        if (taken == 0) {
            return;
        }
        tail += taken;
        /* release: pairs with the acquire in ck_ring_make_room() */
        atomic_store_explicit(&slot->tail, tail, memory_order_release);
        least = rest > 1 ? rest : 1;
    }
    slotstate->pending_since = slotstate->head == tail ? 0 : now;
}

static void
slot_open_calls(struct drain *drain, uint32_t index, ck_time_t now, bool is_end)
{
    struct ck_ring_slot *slot = &ck_ring_heads(drain->ring->header)[index];
    struct slotstate *slotstate = &drain->slots[index];
    uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_acquire);
    /* Not the slot state's: older records may wait in the slot. */
    uint32_t tid = atomic_load(&slot->tid);

    for (uint32_t i = 0; i < depth && i < CK_RING_OPEN_MAX; i++) {
        struct ck_open open;
        uint32_t call;

        memset(&open, 0, sizeof(open));
        call = slotstate_open_call(&slot->open[i], &open);
        if (call == 0 || tid != atomic_load(&slot->tid) ||
            (!is_end &&
             (slotstate->open_told[i] == call ||
              now - clocksync_raw(drain->sync, open.e.start) < OPEN_AGE))) {
            continue;
        }
        slotstate->open_told[i] = call;
        open.e.kind = CK_KIND_OPEN;
        open.e.units = sizeof(open) / CK_UNIT_BYTES;
        open.e.flags = is_end ? CK_FLAG_CUT : 0;
        open.tid = tid;
        open.depth = i;
        open.incarnation = slotstate->incarnation;
        open.seen = ck_time_stamp(drain->sync->clock);
        if (drain->symbols != NULL) {
            symbols_site(drain->symbols, slotstate->incarnation, open.site);
        }
        (void)selfstream_put(drain->selfstream, &open.e);
    }
}

/* Give an ended slot back if it is empty. Held while it is looked at: a thread
 * might take it, record and end meanwhile. The counters go on from where they
 * are.
 */
static void
slot_free(struct drain *drain, uint32_t index, struct ck_ring_slot *slot)
{
    uint32_t ended = CK_SLOT_ENDED;

    if (!atomic_compare_exchange_strong(&slot->state, &ended,
                                        CK_SLOT_CLAIMED)) {
        return;
    }
    if (atomic_load_explicit(&slot->head, memory_order_acquire) !=
        atomic_load_explicit(&slot->tail, memory_order_relaxed)) {
        atomic_store(&slot->state, CK_SLOT_ENDED);
        return;
    }
    if (atomic_load(&slot->depth) > 0) {
        /* The thread ended inside a call. */
        slot_open_calls(drain, index, 0, true);
    }
    losses_slot(&drain->losses, slot, &drain->slots[index]);
    drain->slots[index].incarnation = 0;
    atomic_store(&slot->state, CK_SLOT_FREE);
    atomic_fetch_add(&drain->ring->header->offers, 1);
}

/* Take what is due; fill->pending becomes what is left in the slot. */
static void slot_take(struct drain *drain,
                      uint32_t index,
                      ck_time_t now,
                      struct framing_fill *fill,
                      bool is_flush)
{
    struct ck_ring_slot *slot = &ck_ring_heads(drain->ring->header)[index];
    struct slotstate *slotstate = &drain->slots[index];
    uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed);

    fill->pending = slotstate->head - tail;
    if (fill->pending > fill->size) {
        /* Not a ring any more: a stray write has hit it. */
        drain->losses.broken++;
        atomic_store_explicit(&slot->tail, slotstate->head,
                              memory_order_release);
        fill->pending = 0;
    }
    if (fill->pending == 0) {
        return;
    }
    if (fill->pending > drain->strain.fullest) {
        drain->strain.fullest = fill->pending;
    }
    if (slotstate->pending_since == 0) {
        slotstate->pending_since = now;
    }
    fill->age = now - slotstate->pending_since;
    if (is_flush || framing_is_due(fill, drain->period)) {
        slot_empty(drain, index, slot, now,
                   is_flush ? 0 : framing_rest(fill->size));
        fill->pending = slotstate->head -
                        atomic_load_explicit(&slot->tail, memory_order_relaxed);
    }
}

/* One slot's turn: what is left in it, and its rate. Nothing of a slot that is
 * not in use. */
static struct framing_fill
slot_step(struct drain *drain, uint32_t index, ck_time_t now, bool is_flush)
{
    struct ck_ring_slot *slot = &ck_ring_heads(drain->ring->header)[index];
    struct slotstate *slotstate = &drain->slots[index];
    struct framing_fill fill = {.size = body_units(drain, index)};
    /* acquire: pairs with the release in slot_claim() */
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    uint64_t before;

    if (state != CK_SLOT_LIVE && state != CK_SLOT_ENDED) {
        return fill;
    }
    /* The first record of another thread of the image does so. */
    if (slotstate->incarnation != slot->incarnation) {
        slotstate_fill(slotstate, drain->ring->header, slot);
    }
    before = slotstate->head;
    /* acquire: pairs with the release in ck_ring_commit() */
    slotstate->head = atomic_load_explicit(&slot->head, memory_order_acquire);
    fill.rate = (slotstate->head - before) * CK_TIME_S /
                (uint64_t)(now - drain->turn_at);
    slot_take(drain, index, now, &fill, is_flush || state == CK_SLOT_ENDED);
    if (state == CK_SLOT_ENDED) {
        slot_free(drain, index, slot);
    }
    return fill;
}

/* Has a thread got a slot, or a program begun, since the last turn? */
static bool is_called(const struct drain *drain)
{
    const struct ck_ring_header *header = drain->ring->header;

    return atomic_load_explicit(&header->claims, memory_order_relaxed) !=
               drain->claims ||
           atomic_load_explicit(&header->incarnations, memory_order_relaxed) !=
               drain->images;
}

/* Look at all slots only after a thread got one: an idle turn costs what is in
 * use. */
static void used_find(struct drain *drain)
{
    struct ck_ring_header *header = drain->ring->header;
    struct ck_ring_slot *heads = ck_ring_heads(header);
    /* acquire: pairs with the release in slot_claim() */
    uint32_t claims =
        atomic_load_explicit(&header->claims, memory_order_acquire);

    if (claims == drain->claims) {
        return;
    }
    drain->claims = claims;
    pace_upset(&drain->pace);
    drain->used_count = 0;
    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        if (atomic_load_explicit(&heads[i].state, memory_order_relaxed) !=
            CK_SLOT_FREE) {
            drain->used[drain->used_count++] = i;
        }
    }
}

/* The clock of the turns: it never stops between two of them. */
static void elapsed_note(struct drain *drain, ck_time_t now)
{
    ck_time_t elapsed = now - drain->turn_at;

    if (drain->turn_at != 0 && drain->used_count > 0 &&
        elapsed > drain->strain.longest) {
        drain->strain.longest = elapsed;
    }
    if (elapsed <= 0) {
        drain->turn_at = now - 1;
    }
}

ck_time_t drain_step(struct drain *drain, ck_time_t now, bool is_flush)
{
    struct ck_ring_slot *heads = ck_ring_heads(drain->ring->header);
    ck_time_t period = PACE_STEP;
    uint64_t size = drain->ring->plan.slot_bytes / CK_UNIT_BYTES;
    uint64_t flow = 0;
    uint32_t kept = 0;
    ck_time_t most;

    elapsed_note(drain, now);
    if (is_called(drain) || drain->used_count > 0) {
        drain->busy_at = now;
    }
    drain->images = atomic_load(&drain->ring->header->incarnations);
    used_find(drain);
    for (uint32_t i = 0; i < drain->used_count; i++) {
        uint32_t index = drain->used[i];
        struct framing_fill fill = slot_step(drain, index, now, is_flush);
        ck_time_t wait = framing_wait(&fill, period);
        /* As if it were a large one. */
        uint64_t rate = fill.rate * (size / fill.size);

        period = wait < period ? wait : period;
        flow = rate > flow ? rate : flow;
        if (atomic_load_explicit(&heads[index].state, memory_order_relaxed) !=
            CK_SLOT_FREE) {
            drain->used[kept++] = index;
        }
    }
    drain->used_count = kept;
    most = pace_look(&drain->pace, flow, size, now);
    period = period < PACE_STEP ? period : most;
    drain->period = period > FRAMING_PERIOD_MIN ? period : FRAMING_PERIOD_MIN;
    drain->turn_at = now;
    return drain->period;
}

/* An eighth of what may be written is not read: with what the fastest thread
 * writes until the next look it is less than the whole. A slot without all its
 * memory is then given the rest. */
static bool is_filling(struct ck_ring_slot *slot, uint64_t size)
{
    uint64_t tail = atomic_load_explicit(&slot->tail, memory_order_relaxed);
    uint64_t backed = atomic_load_explicit(&slot->backed, memory_order_relaxed);
    uint64_t used =
        atomic_load_explicit(&slot->head, memory_order_relaxed) - tail;

    return used >= (backed == CK_RING_BACKED_ALL ? size : backed - tail) / 8;
}

bool drain_glance(const struct drain *drain)
{
    struct ck_ring_slot *heads = ck_ring_heads(drain->ring->header);

    if (is_called(drain)) {
        return true;
    }
    for (uint32_t i = 0; i < drain->used_count; i++) {
        if (is_filling(&heads[drain->used[i]],
                       body_units(drain, drain->used[i]))) {
            return true;
        }
    }
    return false;
}

ck_time_t drain_look(const struct drain *drain)
{
    const struct ringfile *ring = drain->ring;

    if (drain->used_count == 0 &&
        drain->turn_at - drain->busy_at >= PACE_QUIET) {
        return PACE_DOZE;
    }
    return ring->narrow > 0
               ? PACE_STEP
               : pace_glance(ring->plan.slot_bytes / CK_UNIT_BYTES);
}

ck_time_t drain_relieve(struct drain *drain)
{
    ck_time_t now = ck_time_raw();

    return now - drain->turn_at >= drain->period || drain_glance(drain)
               ? drain_step(drain, now, false)
               : drain->period;
}

struct drain_strain drain_strain(const struct drain *drain)
{
    return drain->strain;
}

void drain_open_calls(struct drain *drain, ck_time_t now, bool is_end)
{
    struct ck_ring_slot *heads = ck_ring_heads(drain->ring->header);

    for (uint32_t i = 0; i < drain->used_count; i++) {
        uint32_t index = drain->used[i];

        if (atomic_load_explicit(&heads[index].state, memory_order_acquire) ==
                CK_SLOT_LIVE &&
            drain->slots[index].incarnation != 0) {
            slot_open_calls(drain, index, now, is_end);
        }
    }
}

void drain_open_again(struct drain *drain, ck_time_t now)
{
    for (uint32_t i = 0; i < drain->used_count; i++) {
        struct slotstate *slotstate = &drain->slots[drain->used[i]];

        memset(slotstate->open_told, 0, sizeof(slotstate->open_told));
    }
    drain_open_calls(drain, now, false);
}

static void slot_find_dead(struct drain *drain, uint32_t index, bool is_end)
{
    struct ck_ring_slot *slot = &ck_ring_heads(drain->ring->header)[index];
    uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

    if (is_end && (state == CK_SLOT_UNBACKED || state > CK_SLOT_ENDED)) {
        /* No state of a slot with memory: the target wrote there. */
        drain->losses.broken++;
        atomic_store(&slot->state, CK_SLOT_ENDED);
        (void)slot_step(drain, index, drain->turn_at + 1, true);
        return;
    }
    if (drain->slots[index].incarnation == 0 ||
        (state != CK_SLOT_LIVE && state != CK_SLOT_CLAIMED)) {
        return;
    }
    if (is_end || (state == CK_SLOT_LIVE &&
                   slotstate_is_dead(&drain->slots[index], slot))) {
        /* The calls that a dead thread was in stay to be recorded. */
        slot_open_calls(drain, index, 0, true);
        atomic_store(&slot->depth, 0);
        if (atomic_compare_exchange_strong(&slot->state, &state,
                                           CK_SLOT_ENDED)) {
            (void)slot_step(drain, index, drain->turn_at + 1, true);
        }
    }
}

void drain_find_dead(struct drain *drain, bool is_end)
{
    if (is_end) {
        drain->claims--; /* look at all of them once more */
    }
    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        slot_find_dead(drain, i, is_end);
    }
}

void drain_check(struct drain *drain)
{
    bool is_off = drain->was_off || drain->losses.limit_at != 0;

    if (!drain->is_checked && ringfile_is_overwritten(drain->ring, is_off)) {
        drain->losses.broken++;
    }
    drain->is_checked = true;
}

void drain_losses(struct drain *drain)
{
    struct ck_ring_header *header = drain->ring->header;
    struct ck_ring_slot *heads = ck_ring_heads(header);

    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        losses_slot(&drain->losses, &heads[i], &drain->slots[i]);
    }
    drain->losses.broken += drain->framewriter->outbox.broken;
    drain->framewriter->outbox.broken = 0;
    losses_record(&drain->losses, atomic_load(&header->noslot));
    if (!losses_frame(&drain->losses)) {
        return;
    }
    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        losses_framed_slot(&heads[i], &drain->slots[i]);
    }
}

bool drain_is_empty(const struct drain *drain)
{
    struct ck_ring_slot *heads = ck_ring_heads(drain->ring->header);

    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        if (atomic_load_explicit(&heads[i].head, memory_order_acquire) !=
            atomic_load_explicit(&heads[i].tail, memory_order_relaxed)) {
            return false;
        }
    }
    return true;
}

void drain_give_up(struct drain *drain)
{
    struct ck_ring_slot *heads = ck_ring_heads(drain->ring->header);

    for (uint32_t i = 0; i < drain->ring->backed; i++) {
        uint64_t mask = body_units(drain, i) - 1;
        const uint8_t *body = ringfile_body(drain->ring, i);
        uint64_t head = atomic_load(&heads[i].head);
        uint64_t tail = atomic_load(&heads[i].tail);

        while (body != NULL && head - tail <= mask + 1 && tail != head) {
            uint64_t records;
            uint64_t whole = framing_measure(
                body + (tail & mask) * CK_UNIT_BYTES, head - tail, &records);

            drain->losses.spool += records;
            tail = whole == 0 ? head : tail + whole;
        }
        if (head - tail > mask + 1) {
            drain->losses.broken++; /* a stray write has hit it */
        }
        atomic_store(&heads[i].tail, head);
    }
}

void drain_add_lost(struct drain *drain, uint64_t records)
{
    drain->losses.spool += records;
}

uint64_t drain_lost(const struct drain *drain)
{
    return losses_all(&drain->losses);
}
