/* cuptibuffer.c - hand out, walk and take back activity buffers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A buffer is walked inside the callback that returns it, straight into the
 * slot of the calling thread (CUPTI's own, or the flush thread), so what a
 * killed process loses is what CUPTI still holds.
 */
#include "agent/inject/cuptibuffer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/inject/cuptiflush.h"
#include "agent/inject/cuptirecord.h"

/* Mapped buffers that the flush thread keeps in stock. */
#define BUFFER_STOCK 4
/* Longest that the flush thread waits for the collector in one buffer. */
#define BUFFER_WAIT_MS 200
/* Units that the largest record needs. */
#define BUFFER_UNITS CK_RECORD_UNITS_MAX

enum buffer_state {
    BUFFER_NONE = 0, /* not mapped */
    BUFFER_FREE = 1,
    BUFFER_USED = 2, /* CUPTI has it */
};

struct buffer {
    _Atomic int state;
    uint8_t *bytes;
};
static struct buffer buffers[BUFFER_MAX];
static _Atomic uint32_t mapped;
static _Atomic uint64_t completed;

static int buffer_map(void)
{
    uint32_t at = atomic_load(&mapped);
    void *bytes;

    if (at >= BUFFER_MAX) {
        errno = ENOSPC;
        return -1;
    }
    bytes = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bytes == MAP_FAILED) {
        return -1;
    }
    buffers[at].bytes = bytes;
    atomic_store(&buffers[at].state, BUFFER_FREE);
    /* release: pairs with the acquire in buffer_requested() */
    atomic_store_explicit(&mapped, at + 1, memory_order_release);
    return 0;
}

int buffer_init(void)
{
    while (atomic_load(&mapped) < BUFFER_READY) {
        if (buffer_map() != 0) {
            return -1;
        }
    }
    return 0;
}

void buffer_refill(void)
{
    uint32_t count = atomic_load(&mapped);
    uint32_t stock = 0;

    for (uint32_t i = 0; i < count; i++) {
        stock += atomic_load(&buffers[i].state) == BUFFER_FREE;
    }
    while (stock < BUFFER_STOCK && buffer_map() == 0) {
        stock++;
    }
}

void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records)
{
    uint32_t count = atomic_load_explicit(&mapped, memory_order_acquire);

    *buffer = NULL;
    *size = 0;
    *records = 0; /* as many as fit */
    for (uint32_t i = 0; i < count; i++) {
        int is_free = BUFFER_FREE;

        if (atomic_compare_exchange_strong(&buffers[i].state, &is_free,
                                           BUFFER_USED)) {
            *buffer = buffers[i].bytes;
            *size = BUFFER_BYTES;
            return;
        }
    }
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
static void undecoded_say(size_t bytes, CUptiResult result)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "CUPTI: %zu bytes of a buffer could not be decoded "
                   "(error %d, CUPTI %u)",
                   bytes, (int)result, cupti_api.version);
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    record_lost(CK_LOST_DEVICE, 1, ck_time_raw(), ck_time_raw());
}

static void buffer_walk(uint8_t *bytes, size_t valid)
{
    CUpti_Activity *activity = NULL;
    unsigned waited_ms = 0;
    CUptiResult result;

    for (;;) {
        result = cupti_api.cuptiActivityGetNextRecord(bytes, valid, &activity);
        if (result != CUPTI_SUCCESS) {
            break;
        }
        room_wait(&waited_ms);
        record_write(activity);
    }
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) {
        size_t at =
            activity == NULL ? 0 : (size_t)((uint8_t *)activity - bytes);

        undecoded_say(valid - at, result);
    }
}

static void buffer_give(uint8_t *bytes)
{
    uint32_t count = atomic_load_explicit(&mapped, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i].bytes == bytes) {
            atomic_store(&buffers[i].state, BUFFER_FREE);
            return;
        }
    }
}

void CUPTIAPI buffer_completed(CUcontext context,
                               uint32_t stream,
                               uint8_t *buffer,
                               size_t size,
                               size_t valid)
{
    int saved = errno;

    (void)context;
    (void)stream;
    if (buffer == NULL) {
        return;
    }
    if (valid > 0 && valid <= size && flush_is_on()) {
        buffer_walk(buffer, valid);
    }
    atomic_fetch_add(&completed, 1);
    buffer_give(buffer);
    errno = saved;
}

uint64_t buffer_completed_count(void)
{
    return atomic_load(&completed);
}
