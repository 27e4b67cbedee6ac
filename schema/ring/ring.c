/* ring.c - claim, map and leave a slot of an agent's ring
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside the target: libc only, no output, errno of the program is the
 * caller's care. Everything here is the slow path, taken once a process or a
 * thread; recording itself is inline in ring.h.
 */
#include "schema/ring/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Units that a slot must have left to be taken over: some marks, or some
 * calls. */
#define ROOM_LEAST 1024

#define PAGE_BYTES CK_RING_PAGE_BYTES
#define READY_BYTES ((uint64_t)64 << 10)
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which older headers lack */

static uint32_t thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static void slot_end(struct ck_ring_header *header, struct ck_ring_slot *slot)
{
    uint32_t live = CK_SLOT_LIVE;

    if (atomic_compare_exchange_strong(&slot->state, &live, CK_SLOT_ENDED)) {
        atomic_fetch_add(&header->offers, 1);
    }
}

/* Only the thread itself looks for its tid, so find-then-claim is no race. */
static struct ck_ring_slot *
slot_find(const struct ck_ring *ring, uint32_t incarnation, uint32_t tid)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    for (uint32_t i = 0; i < ring->layout.slots; i++) {
        struct ck_ring_slot *slot = &heads[i];
        uint32_t state =
            atomic_load_explicit(&slot->state, memory_order_acquire);

        if (state == CK_SLOT_UNBACKED) {
            break; /* slots are backed in order */
        }
        if (state != CK_SLOT_LIVE || atomic_load(&slot->tid) != tid) {
            continue;
        }
        if (slot->incarnation == incarnation) {
            return slot;
        }
        /* An image that exec has replaced in this very thread. */
        if (slot->incarnation != 0) {
            slot_end(ring->header, slot);
        }
    }
    return NULL;
}

bool ck_ring_has_room(struct ck_ring_slot *slot, uint64_t mask, unsigned units)
{
    uint64_t size = mask + 1;
    /* acquire: both pair with the collector's release */
    uint64_t seen = atomic_load_explicit(&slot->tail, memory_order_acquire);
    uint64_t backed = atomic_load_explicit(&slot->backed, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);

    if (backed != CK_RING_BACKED_ALL && backed > size) {
        return false; /* overwritten */
    }
    if (backed != CK_RING_BACKED_ALL && backed - seen < size) {
        seen = backed - size; /* may be before 0: positions are modular */
    }
    slot->tail_seen = seen;
    return head + units - seen <= size;
}

static uint64_t body_bytes(const struct ck_ring *ring,
                           const struct ck_ring_slot *slot)
{
    return ck_ring_body_bytes(&ring->layout,
                              (uint32_t)(slot - ck_ring_heads(ring->header)));
}

/* As in struct ck_ring_writer. */
static uint64_t body_mask(const struct ck_ring *ring,
                          const struct ck_ring_slot *slot)
{
    return body_bytes(ring, slot) / CK_UNIT_BYTES - 1;
}

/* What a claim looks for. */
struct claim {
    uint32_t incarnation;
    bool is_picky; /* all memory is there and half of it is empty */
};

/* The slot, if it is of that state, to this thread alone for a moment. A slot
 * that ended is taken from a thread of the same image only, and while there
 * is some room; what its thread was in, the collector has to record first.
 */
static bool slot_win(struct ck_ring_slot *slot,
                     uint64_t mask,
                     uint32_t state,
                     const struct claim *claim)
{
    uint64_t room =
        claim->is_picky || mask < 2 * ROOM_LEAST ? mask / 2 : ROOM_LEAST;
    uint32_t expected = state;

    if (!atomic_compare_exchange_strong(&slot->state, &expected,
                                        CK_SLOT_CLAIMED)) {
        return false;
    }
    if (state == CK_SLOT_FREE ||
        (slot->incarnation == claim->incarnation &&
         atomic_load(&slot->depth) == 0 &&
         ck_ring_has_room(slot, mask, (unsigned)room))) {
        return true;
    }
    atomic_store(&slot->state, CK_SLOT_ENDED);
    return false;
}

/* The first slot that this thread can win. Its state before, or
 * CK_SLOT_UNBACKED. */
static uint32_t slot_search(const struct ck_ring *ring,
                            const struct claim *claim,
                            struct ck_ring_slot **found)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    for (uint32_t i = 0; i < ring->layout.slots; i++) {
        struct ck_ring_slot *slot = &heads[i];
        uint32_t state =
            atomic_load_explicit(&slot->state, memory_order_acquire);
        bool is_whole = atomic_load(&slot->backed) == CK_RING_BACKED_ALL;

        if (state == CK_SLOT_UNBACKED) {
            break;
        }
        if ((state == CK_SLOT_FREE || state == CK_SLOT_ENDED) &&
            (is_whole || !claim->is_picky) &&
            slot_win(slot, body_mask(ring, slot), state, claim)) {
            *found = slot;
            return state;
        }
    }
    return CK_SLOT_UNBACKED;
}

/* A slot for this thread. Its state before, or CK_SLOT_UNBACKED. */
static uint32_t slot_claim(const struct ck_ring *ring,
                           uint32_t incarnation,
                           uint32_t tid,
                           struct ck_ring_slot **found)
{
    struct claim claim = {
        .incarnation = incarnation,
        .is_picky = true,
    };
    uint32_t before = slot_search(ring, &claim, found);
    struct ck_ring_slot *slot;

    if (before == CK_SLOT_UNBACKED) {
        claim.is_picky = false;
        before = slot_search(ring, &claim, found);
    }
    if (before == CK_SLOT_UNBACKED) {
        errno = EAGAIN;
        return before;
    }
    slot = *found;
    atomic_store(&slot->tid, tid);
    slot->incarnation = incarnation;
    slot->is_busy = 0;
    slot->is_told = 0;
    slot->line.ticks = 0;
    slot->line.floor = 0;
    slot->line.misses = 0;
    if (before == CK_SLOT_FREE) {
        slot->calls = 0; /* else unique among all that wait to be read */
    }
    (void)ck_ring_has_room(slot, body_mask(ring, slot), 0);
    slot->body = 0;
    atomic_store(&slot->users, 0);
    atomic_store(&slot->depth, 0);
    /* release: pairs with the acquire loads of state */
    atomic_store_explicit(&slot->state, CK_SLOT_LIVE, memory_order_release);
    /* release: pairs with the acquire in drain_step() */
    atomic_fetch_add_explicit(&ring->header->claims, 1, memory_order_release);
    return before;
}

/* Map the same pages once more: an old size of 0 does that. Not by mremap():
 * UCX puts its own in its place, which loses the fifth argument. 0 or -1. */
static int half_copy(uint8_t *from, uint64_t bytes, uint8_t *to)
{
    return syscall(SYS_mremap, from, (uint64_t)0, bytes,
                   (unsigned long)(MREMAP_MAYMOVE | MREMAP_FIXED),
                   to) == (long)(uintptr_t)to
               ? 0
               : -1;
}

/* The address of one page of the bodies, from which the kernel maps all of them
 * where they are needed, without the file: a program may close what it does not
 * know, change its root or its user. All at once would be 1 GiB of its address
 * space, which it may have limited. Made from the mapping of the header by the
 * first thread that records, for most programs have none: what is between them
 * in the file is mapped for a moment. NULL with errno. */
static uint8_t *bodies_anchor(struct ck_ring *ring)
{
    uint64_t before = ring->layout.slot_offset;
    uint8_t *anchor = atomic_load(&ring->bodies);
    uint8_t *none = NULL;
    long all;

    if (anchor != NULL) {
        return anchor;
    }
    all = syscall(SYS_mremap, ring->header, (uint64_t)0, before + PAGE_BYTES,
                  (unsigned long)MREMAP_MAYMOVE, 0);
    if (all == -1) {
        return NULL;
    }
    (void)munmap((void *)all, before);
    anchor = (uint8_t *)all + before;
    (void)mprotect(anchor, PAGE_BYTES, PROT_NONE);
    if (!atomic_compare_exchange_strong(&ring->bodies, &none, anchor)) {
        (void)munmap(anchor, PAGE_BYTES);
        return none;
    }
    return anchor;
}

/* Both halves at `base`, which is reserved. All bodies up to this one are
 * mapped for a moment: from their first page, an old size of 0 gives what
 * follows it in the file, too. */
static int
halves_copy(uint8_t *base, struct ck_ring *ring, uint64_t index, uint64_t bytes)
{
    uint64_t before = index * ring->layout.slot_bytes;
    uint8_t *anchor = bodies_anchor(ring);
    long all = anchor == NULL
                   ? -1
                   : syscall(SYS_mremap, anchor, (uint64_t)0, before + bytes,
                             (unsigned long)MREMAP_MAYMOVE, 0);
    uint8_t *from = (uint8_t *)all + before;
    int rc = -1;

    if (all == -1) {
        return -1;
    }
    if (half_copy(from, bytes, base) == 0 &&
        half_copy(from, bytes, base + bytes) == 0) {
        rc = mprotect(base, 2 * bytes, PROT_READ | PROT_WRITE);
    }
    (void)munmap((void *)all, before + bytes);
    return rc;
}

/* The same from the file. */
static int halves_map(uint8_t *base,
                      const struct ck_ring *ring,
                      uint64_t index,
                      uint64_t bytes)
{
    off_t offset =
        (off_t)(ring->layout.slot_offset + index * ring->layout.slot_bytes);
    int flags = MAP_SHARED | MAP_FIXED;
    int prot = PROT_READ | PROT_WRITE;
    int fd = open(ring->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int rc = 0;

    if (fd < 0) {
        return -1;
    }
    if (mmap(base, bytes, prot, flags, fd, offset) == MAP_FAILED ||
        mmap(base + bytes, bytes, prot, flags, fd, offset) == MAP_FAILED) {
        rc = -1;
    }
    (void)close(fd);
    return rc;
}

/* Fill the page tables where the slot is written next: a recording would meet
 * a fault each 128 records otherwise. The first thread of a program gets all
 * of them, others and forked children, which may be short-lived and many, the
 * next few. No page without memory behind it is touched. A kernel before 5.14
 * does without. */
static void body_ready(uint8_t *base,
                       const struct ck_ring *ring,
                       const struct ck_ring_slot *slot)
{
    uint64_t bytes = body_bytes(ring, slot);
    uint64_t backed = atomic_load(&slot->backed);
    uint64_t from = atomic_load(&slot->head) * CK_UNIT_BYTES & (bytes - 1);
    uint64_t to;

    from &= ~(PAGE_BYTES - 1);
    to = from + READY_BYTES;
    if (backed == CK_RING_BACKED_ALL) {
        backed = bytes / CK_UNIT_BYTES;
        if (!ring->is_child && atomic_load(&slot->tid) == (uint32_t)getpid()) {
            from = 0;
            to = bytes;
        }
    }
    if (backed > bytes / CK_UNIT_BYTES) {
        return; /* overwritten */
    }
    if (to > backed * CK_UNIT_BYTES) {
        to = backed * CK_UNIT_BYTES & ~(PAGE_BYTES - 1);
    }
    if (to > from) {
        (void)madvise(base + from, to - from, POPULATE_WRITE);
    }
}

/* Map the body twice in a row: reserve the addresses, then fix both. */
static uint8_t *body_map(struct ck_ring *ring, const struct ck_ring_slot *slot)
{
    uint64_t bytes = body_bytes(ring, slot);
    uint64_t index = (uint64_t)(slot - ck_ring_heads(ring->header));
    uint8_t *base =
        mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED) {
        return NULL;
    }
    if (halves_copy(base, ring, index, bytes) != 0 &&
        halves_map(base, ring, index, bytes) != 0) {
        int saved = errno;

        (void)munmap(base, 2 * bytes);
        errno = saved;
        return NULL;
    }
    body_ready(base, ring, slot);
    return base;
}

/* An address in shared memory is believed only with the seal of this image: its
 * random bytes, which no wild write hits. */
static uint64_t body_seal(const struct ck_ring_slot *slot, uint64_t body)
{
    const uint8_t *random = (const uint8_t *)getauxval(AT_RANDOM);
    uint64_t seal = body ^ atomic_load(&slot->tid);

    for (int i = 0; random != NULL && i < CK_RING_IMAGE_BYTES; i++) {
        seal = (seal ^ random[i]) * 0x9e3779b97f4a7c15ull;
    }
    return seal;
}

/* The slot's body as another library of this image has mapped it, else mapped
 * now. NULL with errno. */
static uint8_t *body_take(struct ck_ring *ring, struct ck_ring_slot *slot)
{
    uint64_t body = slot->body;

    if (body == 0 || slot->body_seal != body_seal(slot, body)) {
        body = (uintptr_t)body_map(ring, slot);
        slot->body_seal = body_seal(slot, body);
        slot->body = body;
    }
    return (uint8_t *)(uintptr_t)body;
}

/* The records of another thread may be right before: record whose these are.
 * The slot was won with half of its room left. */
static void thread_say(struct ck_ring_writer *writer, struct ck_ring *ring)
{
    struct ck_text text = {.e = {.kind = CK_KIND_THREAD},
                           .object = atomic_load(&writer->slot->tid)};
    char name[17] = "";

    (void)prctl(PR_GET_NAME, name);
    (void)ck_ring_text(writer, ring, text, name, strlen(name));
    writer->slot->is_told = 1;
}

int ck_ring_writer_init(struct ck_ring_writer *writer, struct ck_ring *ring)
{
    struct ck_ring_writer made = {.slot = NULL};
    uint32_t incarnation = atomic_load(&ring->incarnation);
    uint32_t tid = thread_id();
    uint32_t before = CK_SLOT_LIVE;

    made.slot = slot_find(ring, incarnation, tid);
    if (made.slot == NULL) {
        before = slot_claim(ring, incarnation, tid, &made.slot);
    }
    if (before == CK_SLOT_UNBACKED) {
        return -1;
    }
    made.mask = body_mask(ring, made.slot);
    made.body = body_take(ring, made.slot);
    if (made.body == NULL) {
        if (before != CK_SLOT_LIVE) {
            atomic_store(&made.slot->state, CK_SLOT_ENDED);
        }
        return -1;
    }
    if (before == CK_SLOT_ENDED) {
        thread_say(&made, ring);
    }
    atomic_fetch_add(&made.slot->users, 1);
    writer->body = made.body;
    writer->mask = made.mask;
    /* A signal handler takes a writer with a slot as complete. */
    atomic_signal_fence(memory_order_seq_cst);
    writer->slot = made.slot;
    return 0;
}

void ck_ring_writer_fini(struct ck_ring_writer *writer, struct ck_ring *ring)
{
    struct ck_ring_slot *slot = writer->slot;
    uint8_t *body = writer->body;

    if (slot == NULL) {
        return;
    }
    writer->slot = NULL;
    writer->body = NULL;
    if (atomic_fetch_sub(&slot->users, 1) == 1) {
        slot->body = 0;
        if (!ring->is_closed) {
            (void)munmap(body, 2 * (writer->mask + 1) * CK_UNIT_BYTES);
        }
        slot_end(ring->header, slot);
    }
}

uint32_t ck_ring_name_id(struct ck_ring *ring)
{
    return atomic_fetch_add(&atomic_load(&ring->process)->names, 1) + 1;
}

uint32_t ck_ring_object_id(struct ck_ring *ring)
{
    return atomic_fetch_add(&atomic_load(&ring->process)->objects, 1) + 1;
}

int ck_ring_text(struct ck_ring_writer *writer,
                 struct ck_ring *ring,
                 struct ck_text text,
                 const char *bytes,
                 size_t length)
{
    size_t kept = length > CK_TEXT_BYTES_MAX ? CK_TEXT_BYTES_MAX : length;
    unsigned units = ck_text_units(kept);
    struct ck_text *record = ck_ring_begin(writer, ring->clock, units);

    if (record == NULL) {
        return -1;
    }
    text.e.units = (uint8_t)units;
    text.length = (uint32_t)kept;
    if (text.e.start == 0) {
        text.e.start = ck_time_stamp(ring->clock);
    }
    *record = text;
    memcpy(record + 1, bytes, kept);
    memset((char *)(record + 1) + kept, 0,
           (size_t)(units - 1) * CK_UNIT_BYTES - kept);
    ck_ring_commit(writer, units);
    return 0;
}

void ck_ring_count_lost(struct ck_ring_slot *slot,
                        enum ck_clock clock,
                        uint64_t records)
{
    int64_t now = ck_time_stamp(clock);
    int64_t none = 0;

    (void)atomic_compare_exchange_strong_explicit(&slot->lost_first, &none, now,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed);
    atomic_store_explicit(&slot->lost_last, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&slot->dropped, records, memory_order_release);
}
