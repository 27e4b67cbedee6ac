/* ring.c - attach to an agent's ring, claim and leave slots
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs inside the target: libc only, no output, errno of the program is the
 * caller's care. Everything here is the slow path, taken once a process or a
 * thread; recording itself is inline in ring.h.
 */
#include "schema/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Random bytes of this exec, folded; the same in a forked child. */
static uint32_t image_tag(void)
{
    const uint8_t *bytes = (const uint8_t *)getauxval(AT_RANDOM);
    uint32_t tag = 0x9e3779b9u;

    for (int i = 0; bytes != NULL && i < 16; i++) {
        tag = (tag ^ bytes[i]) * 0x01000193u;
    }
    return tag;
}

static uint32_t thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static int header_check(const struct ck_ring_header *header, uint64_t bytes)
{
    uint64_t heads = CK_RING_HEADS_OFFSET +
                     (uint64_t)header->slots * sizeof(struct ck_ring_slot);

    if (header->magic != CK_RING_MAGIC || header->version != CK_RING_VERSION ||
        header->slots == 0 || header->slots > CK_RING_SLOTS_MAX ||
        header->header_bytes < heads || header->header_bytes > bytes ||
        header->slot_bytes < CK_TEXT_BYTES_MAX + CK_UNIT_BYTES ||
        (header->slot_bytes & (header->slot_bytes - 1)) != 0 ||
        header->slot_offset > bytes ||
        header->slot_bytes > (bytes - header->slot_offset) / header->slots) {
        errno = EPROTO;
        return -1;
    }
    return 0;
}

static struct ck_ring_header *header_map(const char *path)
{
    struct ck_ring_header *header = MAP_FAILED;
    off_t file_bytes;
    size_t bytes;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0) {
        return NULL;
    }
    /* Not fstat(): a C library before 2.33 does not export it. */
    file_bytes = lseek(fd, 0, SEEK_END);
    if (file_bytes >= (off_t)sizeof(*header)) {
        header = mmap(NULL, sizeof(*header), PROT_READ, MAP_SHARED, fd, 0);
    } else {
        errno = EPROTO;
    }
    if (header != MAP_FAILED) {
        int rc = header_check(header, (uint64_t)file_bytes);

        bytes = header->header_bytes;
        (void)munmap(header, sizeof(*header));
        header = rc == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                fd, 0)
                         : MAP_FAILED;
    }
    (void)close(fd);
    return header == MAP_FAILED ? NULL : header;
}

/* Enter (pid, image) in the table; the winner of an entry numbers it. */
static struct ck_ring_process *process_enter(struct ck_ring_header *header)
{
    struct ck_ring_process *table = ck_ring_processes(header);
    uint32_t pid = (uint32_t)getpid();
    uint64_t key = ((uint64_t)pid << 32) | image_tag() | 1;
    uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 40;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        struct ck_ring_process *entry = &table[(at + i) % CK_RING_PROCESSES];
        uint64_t seen = 0;

        if (atomic_compare_exchange_strong(&entry->key, &seen, key)) {
            entry->pid = pid;
            entry->started = ck_time_raw();
            atomic_store_explicit(&entry->incarnation,
                                  atomic_fetch_add(&header->incarnations, 1) +
                                      1,
                                  memory_order_release);
            return entry;
        }
        if (seen == key) {
            return entry;
        }
    }
    atomic_fetch_add(&header->noprocess, 1);
    errno = ENOSPC;
    return NULL;
}

/* The other library of this process may be filling the entry in right now:
 * a few stores, so a bounded spin.
 */
static uint32_t process_incarnation(struct ck_ring_process *process)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < 1u << 20 && number == 0; i++) {
        /* acquire: pairs with the release in process_enter() */
        number =
            atomic_load_explicit(&process->incarnation, memory_order_acquire);
    }
    return number;
}

int ck_ring_attach(struct ck_ring *ring, enum ck_library library)
{
    const char *path = getenv(CK_RING_ENV);
    struct ck_ring_header *header;
    struct ck_ring_process *process;
    uint32_t incarnation;

    if (path == NULL || path[0] != '/') {
        errno = ENOENT;
        return -1;
    }
    if (strlen(path) >= sizeof(ring->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    header = header_map(path);
    if (header == NULL) {
        return -1;
    }
    process = process_enter(header);
    incarnation = process == NULL ? 0 : process_incarnation(process);
    if (incarnation == 0) {
        (void)munmap(header, header->header_bytes);
        errno = ENOSPC;
        return -1;
    }
    atomic_fetch_or(&process->libraries, (uint32_t)library);
    strcpy(ring->path, path);
    ring->header = header;
    ring->process = process;
    ring->incarnation = incarnation;
    ring->clock = (enum ck_clock)header->clock;
    return 0;
}

void ck_ring_forget(struct ck_ring *ring)
{
    ring->header = NULL;
    ring->process = NULL;
    ring->incarnation = 0;
}

/* Only the thread itself looks for its tid, so find-then-claim is no race. */
static struct ck_ring_slot *
slot_find(struct ck_ring_header *header, uint32_t incarnation, uint32_t tid)
{
    struct ck_ring_slot *heads = ck_ring_heads(header);

    for (uint32_t i = 0; i < header->slots; i++) {
        struct ck_ring_slot *slot = &heads[i];

        if (atomic_load_explicit(&slot->state, memory_order_acquire) !=
                CK_SLOT_LIVE ||
            slot->tid != tid) {
            continue;
        }
        if (slot->incarnation == incarnation) {
            return slot;
        }
        /* An image that exec has replaced in this very thread. */
        if (slot->incarnation != 0) {
            uint32_t live = CK_SLOT_LIVE;

            (void)atomic_compare_exchange_strong(&slot->state, &live,
                                                 CK_SLOT_ENDED);
        }
    }
    return NULL;
}

static struct ck_ring_slot *
slot_claim(struct ck_ring_header *header, uint32_t incarnation, uint32_t tid)
{
    struct ck_ring_slot *heads = ck_ring_heads(header);

    for (uint32_t i = 0; i < header->slots; i++) {
        struct ck_ring_slot *slot = &heads[i];
        uint32_t state = CK_SLOT_FREE;

        if (!atomic_compare_exchange_strong(&slot->state, &state,
                                            CK_SLOT_CLAIMED)) {
            continue;
        }
        slot->tid = tid;
        slot->incarnation = incarnation;
        slot->is_busy = 0;
        slot->calls = 0;
        slot->tail_seen = atomic_load(&slot->tail);
        atomic_store(&slot->users, 0);
        atomic_store(&slot->depth, 0);
        /* release: pairs with the acquire loads of state */
        atomic_store_explicit(&slot->state, CK_SLOT_LIVE, memory_order_release);
        return slot;
    }
    errno = EAGAIN;
    return NULL;
}

/* Map the body twice in a row: reserve the addresses, then fix both. The first
 * mapping gets its page tables filled now (a recording would meet a fault each
 * 128 records otherwise); the second is touched only by records that wrap.
 */
static uint8_t *body_map(const struct ck_ring *ring, uint64_t index)
{
    uint64_t bytes = ring->header->slot_bytes;
    off_t offset = (off_t)(ring->header->slot_offset + index * bytes);
    uint8_t *base;
    int fd = open(ring->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0) {
        return NULL;
    }
    base = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base != MAP_FAILED &&
        (mmap(base, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
              offset) == MAP_FAILED ||
         mmap(base + bytes, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED)) {
        (void)munmap(base, 2 * bytes);
        base = MAP_FAILED;
    }
    (void)close(fd);
    return base == MAP_FAILED ? NULL : base;
}

int ck_ring_writer_init(struct ck_ring_writer *writer, struct ck_ring *ring)
{
    struct ck_ring_header *header = ring->header;
    uint32_t tid = thread_id();
    struct ck_ring_slot *slot;
    uint8_t *body;
    bool is_new = false;

    slot = slot_find(header, ring->incarnation, tid);
    if (slot == NULL) {
        slot = slot_claim(header, ring->incarnation, tid);
        is_new = true;
    }
    if (slot == NULL) {
        return -1;
    }
    body = body_map(ring, (uint64_t)(slot - ck_ring_heads(header)));
    if (body == NULL) {
        if (is_new) {
            atomic_store(&slot->state, CK_SLOT_ENDED);
        }
        return -1;
    }
    atomic_fetch_add(&slot->users, 1);
    writer->body = body;
    writer->mask = header->slot_bytes / CK_UNIT_BYTES - 1;
    /* A signal handler takes a writer with a slot as complete. */
    atomic_signal_fence(memory_order_seq_cst);
    writer->slot = slot;
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
    (void)munmap(body, 2 * (writer->mask + 1) * CK_UNIT_BYTES);
    if (ring->header != NULL && atomic_fetch_sub(&slot->users, 1) == 1) {
        uint32_t live = CK_SLOT_LIVE;

        (void)atomic_compare_exchange_strong(&slot->state, &live,
                                             CK_SLOT_ENDED);
    }
}

uint32_t ck_ring_name_id(struct ck_ring *ring)
{
    return atomic_fetch_add(&ring->process->names, 1) + 1;
}

uint32_t ck_ring_object_id(struct ck_ring *ring)
{
    return atomic_fetch_add(&ring->process->objects, 1) + 1;
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

void ck_ring_count_lost(struct ck_ring_slot *slot, enum ck_clock clock)
{
    int64_t now = ck_time_stamp(clock);
    int64_t none = 0;

    (void)atomic_compare_exchange_strong_explicit(&slot->lost_first, &none, now,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed);
    atomic_store_explicit(&slot->lost_last, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&slot->dropped, 1, memory_order_release);
}
