/* cuptibuffer.c - hand out, walk and take back activity buffers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A buffer is walked inside the callback that returns it, straight into the
 * slot of the calling thread (CUPTI's own, or the flush thread), so what a
 * killed process loses is what CUPTI still holds.
 */
#include "agent/inject/cupti/cuptibuffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/inject/cupti/cuptiflush.h"
#include "agent/inject/cupti/cuptilost.h"
#include "agent/inject/cupti/cuptirecord.h"
#include "agent/inject/cupti/cuptiuntimed.h"

/* Buffers that the flush thread keeps in stock. */
#define BUFFER_STOCK 128
#define BUFFER_ALIGN 4096
/* No record of device work is shorter. */
#define BUFFER_RECORD 88
/* Longest that the flush thread waits for the collector in one buffer. */
#define BUFFER_WAIT_MS 200
/* Units that the largest record needs. */
#define BUFFER_UNITS CK_RECORD_UNITS_MAX

enum buffer_state {
    BUFFER_NONE = 0, /* not made, or forgotten */
    BUFFER_FREE = 1,
    BUFFER_USED = 2, /* CUPTI has it */
};

struct buffer {
    _Atomic int state;
    uint8_t *_Atomic bytes;
    ck_time_t requested; /* when CUPTI asked for it */
};
static struct buffer buffers[BUFFER_MAX];
static _Atomic uint32_t made;
static _Atomic uint32_t hint; /* where a free one was last */
static _Atomic uint64_t requested;
static _Atomic uint64_t completed;
/* Of no use but to write into; several may at a time. */
static uint8_t scratch[BUFFER_BYTES] __attribute__((aligned(64)));

/* By the program's allocator: a second client that takes CUPTI over gets our
 * buffers back, too, and will free() them. */
static int buffer_make(struct buffer *buffer)
{
    uint8_t *bytes = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);

    if (bytes == NULL) {
        return -1;
    }
    memset(bytes, 0, BUFFER_BYTES); /* page faults are ours, not CUPTI's */
    atomic_store(&buffer->bytes, bytes);
    atomic_store(&buffer->state, BUFFER_FREE);
    return 0;
}

static int buffer_add(void)
{
    uint32_t at = atomic_load(&made);

    if (at >= BUFFER_MAX) {
        errno = ENOSPC;
        return -1;
    }
    if (buffer_make(&buffers[at]) != 0) {
        return -1;
    }
    /* release: pairs with the acquire in buffer_requested() */
    atomic_store_explicit(&made, at + 1, memory_order_release);
    return 0;
}

int buffer_init(void)
{
    while (atomic_load(&made) < BUFFER_READY) {
        if (buffer_add() != 0) {
            return -1;
        }
    }
    return 0;
}

void buffer_refill(void)
{
    uint32_t count = atomic_load(&made);
    uint32_t stock = 0;

    for (uint32_t i = 0; i < count; i++) {
        stock += atomic_load(&buffers[i].state) == BUFFER_FREE;
    }
    for (uint32_t i = 0; i < count && stock < BUFFER_STOCK; i++) {
        if (atomic_load(&buffers[i].state) == BUFFER_NONE &&
            buffer_make(&buffers[i]) == 0) {
            stock++;
        }
    }
    while (stock < BUFFER_STOCK && buffer_add() == 0) {
        stock++;
    }
}

void buffer_forget(void)
{
    uint32_t count = atomic_load(&made);

    for (uint32_t i = 0; i < count; i++) {
        int is_used = BUFFER_USED;

        if (atomic_compare_exchange_strong(&buffers[i].state, &is_used,
                                           BUFFER_NONE)) {
            atomic_store(&buffers[i].bytes, NULL);
        }
    }
}

/* Before 12.9 CUPTI crashes without a buffer. */
static void scratch_give(uint8_t **buffer, size_t *size)
{
    if (cupti_api.version < CUPTI_SINCE_NULL_BUFFER) {
        *buffer = scratch;
        *size = sizeof(scratch);
    }
}

void buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    uint32_t count = atomic_load_explicit(&made, memory_order_acquire);
    uint32_t from = atomic_load_explicit(&hint, memory_order_relaxed);

    *buffer = NULL;
    *size = 0;
    *records = 0; /* as many as fit */
    atomic_fetch_add_explicit(&requested, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (from + i) % count;
        int is_free = BUFFER_FREE;

        if (atomic_compare_exchange_strong(&buffers[at].state, &is_free,
                                           BUFFER_USED)) {
            atomic_store_explicit(&hint, at + 1, memory_order_relaxed);
            buffers[at].requested = ck_time_raw();
            *buffer = atomic_load(&buffers[at].bytes);
            *size = BUFFER_BYTES;
            return;
        }
    }
    scratch_give(buffer, size);
}

/* On the flush thread: let the collector make room, within limits. The
 * program's and CUPTI's threads never wait. */
static void room_wait(unsigned *waited_ms)
{
    const struct timespec pause = {0, CK_TIME_MS};
    struct ck_ring_writer *writer = inject_writer();

    while (writer != NULL && *waited_ms < BUFFER_WAIT_MS &&
           flush_is_own_thread()) {
        uint64_t used =
            atomic_load_explicit(&writer->slot->head, memory_order_relaxed) -
            atomic_load_explicit(&writer->slot->tail, memory_order_relaxed);

        if (used + BUFFER_UNITS <= writer->mask + 1) {
            return;
        }
        (void)nanosleep(&pause, NULL);
        (*waited_ms)++;
    }
}

/* What follows cannot be found: the walk needs each record's length. */
static void undecoded_say(size_t bytes, int result)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "CUPTI: %zu bytes of a buffer could not be decoded "
                   "(error %d, CUPTI %u)",
                   bytes, result, cupti_api.version);
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    lost_tell(CK_LOST_DEVICE, 1, ck_time_raw(), ck_time_raw());
}

static void buffer_walk(uint8_t *bytes, size_t valid, ck_time_t asked)
{
    struct cupti_record *activity = NULL;
    unsigned waited_ms = 0;
    int result;

    untimed_begin(asked);
    for (;;) {
        result = cupti_api.cuptiActivityGetNextRecord(bytes, valid, &activity);
        if (result != CUPTI_OK) {
            break;
        }
        room_wait(&waited_ms);
        record_write(activity);
    }
    if (result != CUPTI_LIMIT) {
        size_t at =
            activity == NULL ? 0 : (size_t)((uint8_t *)activity - bytes);

        undecoded_say(valid - at, result);
    }
    untimed_end();
}

/* NULL: it is another client's, whose memory stays its own. */
static struct buffer *buffer_find(const uint8_t *bytes)
{
    uint32_t count = atomic_load_explicit(&made, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&buffers[i].bytes) == bytes) {
            return &buffers[i];
        }
    }
    return NULL;
}

static void scratch_lost(size_t valid)
{
    ck_time_t now = ck_time_raw();

    lost_tell(CK_LOST_DEVICE,
              (int64_t)((valid + BUFFER_RECORD - 1) / BUFFER_RECORD), now, now);
}

void buffer_completed(
    void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct buffer *ours = buffer == NULL ? NULL : buffer_find(buffer);
    int saved = errno;

    (void)context;
    (void)stream;
    if (buffer == NULL) {
        return;
    }
    if (buffer == scratch) {
        scratch_lost(valid);
    } else if (valid > 0 && valid <= size && flush_is_on()) {
        buffer_walk(buffer, valid,
                    ours == NULL ? ck_time_raw() : ours->requested);
    }
    atomic_fetch_add(&completed, 1);
    if (ours != NULL) {
        atomic_store(&ours->state, BUFFER_FREE);
    }
    errno = saved;
}

uint64_t buffer_requested_count(void)
{
    return atomic_load(&requested);
}

uint64_t buffer_completed_count(void)
{
    return atomic_load(&completed);
}
