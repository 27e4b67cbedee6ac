/* openclpending.c - from a command's end to its record
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   FREE -> TAKEN (wrapper) -> WATCHED -> DONE (a callback) -> FREE
 *                                     \-> LOST (exit; the callback is void)
 *
 * The free list is a stack of indices with a change count against reuse
 * between a look and a swap; entries never used are handed out in order. Their
 * memory is mapped a block at a time, so a program pays for the most commands
 * that it had waiting at once. Where that is more than the first block has, a
 * block is one large page: on a virtual machine a page that is touched first
 * can cost as much as ten launches.
 */
#include "agent/inject/opencl/openclpending.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/inject/opencl/openclawait.h"
#include "schema/kernelask.h"

enum pending_state {
    PENDING_FREE = 0,
    PENDING_TAKEN = 1,
    PENDING_WATCHED = 2,
    PENDING_DONE = 3,
    PENDING_LOST = 4,
};

/* At exit, for a callback that has begun. */
#define PENDING_END_POLL ((long)100000)
#define PENDING_END_POLLS 500

#define BLOCK_BYTES ((size_t)2 << 20) /* a large page */
#define BLOCK_ENTRIES (BLOCK_BYTES / sizeof(struct pending))

static _Atomic(struct pending *) blocks[PENDING_MAX / BLOCK_ENTRIES];
static _Atomic uint64_t free_head; /* changes << 32 | index + 1 */
static _Atomic uint32_t fresh;     /* entries handed out at least once */
static uint32_t pool_limit = PENDING_MAX;

/* Commands that found no entry since the last report. */
static _Atomic int64_t refused;
static _Atomic int64_t refused_first; /* RAW ns */

static void lost_say(enum ck_lost reason,
                     int64_t value,
                     int64_t first,
                     ck_time_t length,
                     uint8_t flags)
{
    struct ck_ring_writer *writer = inject_writer();
    struct ck_counter *record;

    if (writer == NULL) {
        return;
    }
    record = ck_ring_begin(writer, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    memset(record, 0, sizeof(*record));
    record->e.kind = CK_KIND_LOST;
    record->e.units = 2;
    record->e.flags = flags;
    record->e.start = first;
    record->value = value;
    record->enabled = length;
    record->reason = (uint32_t)reason;
    ck_ring_commit(writer, 2);
}

void pending_refuse(void)
{
    int64_t none = 0;

    (void)atomic_compare_exchange_strong(&refused_first, &none, ck_time_raw());
    atomic_fetch_add(&refused, 1);
}

static void refused_say(void)
{
    int64_t count = atomic_exchange(&refused, 0);
    int64_t first = atomic_exchange(&refused_first, 0);

    if (count > 0) {
        lost_say(CK_LOST_DEVICE, count, first, ck_time_raw() - first,
                 CK_FLAG_RAW);
    }
}

/* NULL: its block was never mapped. */
static struct pending *entry_at(uint32_t index)
{
    struct pending *block = atomic_load_explicit(&blocks[index / BLOCK_ENTRIES],
                                                 memory_order_acquire);

    return block == NULL ? NULL : &block[index % BLOCK_ENTRIES];
}

/* -1 = none. Asked of the kernel: ckmemory counts what mmap() gives as the
 * program's. */
static long pages_map(size_t bytes)
{
    return ck_kernel_ask(SYS_mmap,
                         (long[6]){0, (long)bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0});
}

static void pages_unmap(long at, size_t bytes)
{
    if (bytes > 0) {
        (void)ck_kernel_ask(SYS_munmap, (long[6]){at, (long)bytes});
    }
}

/* One large page, where the system has them. -1 = none. */
static long large_map(void)
{
    long mapped = pages_map(2 * BLOCK_BYTES);
    size_t before;

    if (mapped == -1) {
        return -1;
    }
    before = -(size_t)mapped % BLOCK_BYTES;
    pages_unmap(mapped, before);
    mapped += (long)before;
    pages_unmap(mapped + (long)BLOCK_BYTES, BLOCK_BYTES - before);
    (void)ck_kernel_ask(SYS_madvise,
                        (long[6]){mapped, (long)BLOCK_BYTES, MADV_HUGEPAGE});
    return mapped;
}

/* Threads that need a block at once map one each; the first stays. */
static void block_map(_Atomic(struct pending *) *block)
{
    struct pending *none = NULL;
    int saved = errno;
    long mapped;

    if (!inject_slow_enter()) {
        return;
    }
    mapped = block == blocks ? pages_map(BLOCK_BYTES) : large_map();
    if (mapped != -1 && !atomic_compare_exchange_strong(
                            block, &none, (struct pending *)mapped)) {
        pages_unmap(mapped, BLOCK_BYTES);
    }
    inject_slow_leave();
    errno = saved;
}

/* An entry that was never used; NULL: none is left, or no memory for it. */
static struct pending *pending_fresh(void)
{
    struct pending *pending;
    uint32_t index;

    if (atomic_load_explicit(&fresh, memory_order_relaxed) >= pool_limit) {
        return NULL;
    }
    index = atomic_fetch_add(&fresh, 1);
    if (index >= pool_limit) {
        return NULL;
    }
    if (entry_at(index) == NULL) {
        block_map(&blocks[index / BLOCK_ENTRIES]);
    }
    pending = entry_at(index);
    if (pending != NULL) {
        pending->index = index;
    }
    return pending;
}

static struct pending *pending_pop(void)
{
    uint64_t head = atomic_load_explicit(&free_head, memory_order_acquire);

    while ((uint32_t)head != 0) {
        struct pending *top = entry_at((uint32_t)head - 1);
        uint64_t next = atomic_load_explicit(&top->next, memory_order_relaxed) |
                        (((head >> 32) + 1) << 32);

        if (atomic_compare_exchange_weak_explicit(&free_head, &head, next,
                                                  memory_order_acquire,
                                                  memory_order_acquire)) {
            return top;
        }
    }
    return NULL;
}

struct pending *pending_take(void)
{
    struct pending *pending = pending_pop();

    if (pending == NULL) {
        pending = pending_fresh();
    }
    if (pending == NULL) {
        pending_refuse();
        return NULL;
    }
    pending->is_shared = false;
    pending->ended = 0;
    atomic_store_explicit(&pending->state, PENDING_TAKEN, memory_order_relaxed);
    return pending;
}

void pending_give(struct pending *pending)
{
    uint32_t index = pending->index + 1;
    uint64_t head = atomic_load_explicit(&free_head, memory_order_relaxed);
    uint64_t next;

    atomic_store_explicit(&pending->state, PENDING_FREE, memory_order_relaxed);
    do {
        atomic_store_explicit(&pending->next, (uint32_t)head,
                              memory_order_relaxed);
        next = (((head >> 32) + 1) << 32) | index;
        /* release: pairs with the acquire in pending_pop() */
    } while (!atomic_compare_exchange_weak_explicit(
        &free_head, &head, next, memory_order_release, memory_order_relaxed));
}

/* The four stamps of a command, on the event clock. */
struct command_times {
    ck_time_t queued;
    ck_time_t submitted;
    ck_time_t start;
    ck_time_t end;
};

/* 0 = it has none yet. */
static cl_ulong stamp_read(const struct pending *pending,
                           cl_profiling_info what)
{
    cl_ulong stamp = 0;

    return opencl_driver->clGetEventProfilingInfo(
               pending->event, what, sizeof(stamp), &stamp, NULL) == CL_SUCCESS
               ? stamp
               : 0;
}

static bool times_read(const struct pending *pending,
                       struct command_times *times)
{
    static const cl_profiling_info what[4] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    ck_time_t *const event[4] = {&times->queued, &times->submitted,
                                 &times->start, &times->end};
    struct device_clock *clock = &pending->device->clock;
    cl_ulong stamp[4] = {0, 0, 0, 0};

    for (int i = 0; i < 4; i++) {
        stamp[i] = i == 3 && pending->ended != 0 ? pending->ended
                                                 : stamp_read(pending, what[i]);
        if (stamp[i] == 0 || (i > 0 && stamp[i] < stamp[i - 1])) {
            return false;
        }
    }
    if (pending->before != 0) {
        (void)device_clock_bound(clock, pending->before, (ck_time_t)stamp[0],
                                 pending->after);
    }
    for (int i = 0; i < 4; i++) {
        if (!device_clock_event(clock, (ck_time_t)stamp[i], event[i])) {
            return false;
        }
    }
    return true;
}

/* Both device classes begin alike, up to queue. */
_Static_assert(offsetof(struct ck_kernel, queue) ==
                   offsetof(struct ck_copy, queue),
               "common head of device records");

/* `status`: CL_COMPLETE, or the error that the command ended with. */
static void record_fill(struct ck_kernel *record,
                        const struct pending *pending,
                        cl_int status)
{
    struct command_times times = {0};
    bool is_ok = status == CL_COMPLETE;
    bool has_times = is_ok && times_read(pending, &times);

    memset(record, 0, sizeof(*record));
    record->e.kind = (uint16_t)pending->work.kind;
    record->e.units = 3;
    record->e.name = pending->work.name;
    record->e.flags = (uint8_t)((has_times ? CK_FLAG_RAW : CK_FLAG_BAD_TIME) |
                                (is_ok ? 0 : CK_FLAG_FAILED));
    record->e.start = has_times ? times.start : pending->start;
    record->dur = times.end - times.start;
    record->queued = times.queued;
    record->submitted = times.submitted;
    record->tid = pending->tid;
    record->call = pending->call;
    record->device = device_number(pending->device);
    record->queue = pending->queue;
}

static void record_write(const struct pending *pending, cl_int status)
{
    struct ck_ring_writer *writer = inject_writer();
    union {
        struct ck_kernel kernel;
        struct ck_copy copy;
    } record;
    void *room;

    if (writer == NULL || pending->incarnation != inject_ring.incarnation ||
        pending->work.kind == CK_KIND_NONE) {
        return;
    }
    record_fill(&record.kernel, pending, status);
    if (pending->work.kind == CK_KIND_KERNEL) {
        record.kernel.correlation = opencl_error(status);
        memcpy(record.kernel.global, pending->work.global,
               sizeof(record.kernel.global));
        memcpy(record.kernel.local, pending->work.local,
               sizeof(record.kernel.local));
    } else {
        record.copy.correlation = opencl_error(status);
        record.copy.bytes = pending->work.bytes;
    }
    room = ck_ring_begin(writer, inject_ring.clock, 3);
    if (room != NULL) {
        memcpy(room, &record, sizeof(record));
        ck_ring_commit(writer, 3);
    }
}

/* A command that has the stamp of its end is complete: drivers have it at hand,
 * where they take a lock for the status. */
cl_int pending_status(struct pending *pending)
{
    cl_int status = CL_QUEUED;

    pending->ended = stamp_read(pending, CL_PROFILING_COMMAND_END);
    if (pending->ended != 0) {
        return CL_COMPLETE;
    }
    return opencl_driver->clGetEventInfo(
               pending->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
               sizeof(status), &status, NULL) == CL_SUCCESS
               ? status
               : CL_QUEUED;
}

bool pending_has_room(void)
{
    const struct ck_ring_writer *writer = inject_writer();

    return writer == NULL ||
           ck_ring_has_room(writer->slot, writer->mask,
                            (unsigned)((writer->mask + 1) / 2));
}

/* The entry goes back, and the event. */
static void pending_leave(struct pending *pending)
{
    cl_event event = pending->event;
    bool is_ours = !pending->is_shared || await_leave(event);

    pending_give(pending);
    if (is_ours) {
        (void)opencl_driver->clReleaseEvent(event);
    }
}

void pending_share(struct pending *pending,
                   cl_event event,
                   const struct opencl_call *call)
{
    pending->is_shared = await_share(event, call);
    if (!pending->is_shared) {
        (void)opencl_driver->clRetainEvent(event);
    }
}

void pending_done(struct pending *pending, cl_int status)
{
    uint32_t watched = PENDING_WATCHED;

    if (!atomic_compare_exchange_strong(&pending->state, &watched,
                                        PENDING_DONE)) {
        return;
    }
    record_write(pending, status);
    if (atomic_load_explicit(&refused, memory_order_relaxed) != 0) {
        refused_say();
    }
    pending_leave(pending);
}

void pending_drop(struct pending *pending)
{
    uint32_t watched = PENDING_WATCHED;

    if (atomic_compare_exchange_strong(&pending->state, &watched,
                                       PENDING_DONE)) {
        pending_refuse();
        pending_leave(pending);
    }
}

/* On a thread of the driver, or inside the call that set the callback. */
static void CL_CALLBACK pending_call(cl_event event, cl_int status, void *data)
{
    (void)event;
    pending_done(data, status);
}

void pending_watch(struct pending *pending)
{
    atomic_store_explicit(&pending->state, PENDING_WATCHED,
                          memory_order_release);
}

void pending_callback(struct pending *pending)
{
    if (opencl_driver->clSetEventCallback(
            pending->event, CL_COMPLETE, pending_call, pending) != CL_SUCCESS) {
        pending_drop(pending);
    }
}

/* RAW ns and ticks at the start, for the length of a time in ticks. */
static ck_time_t began_raw;
static int64_t began_ticks;

static ck_time_t ring_ns(int64_t duration)
{
    double ticks = (double)(ck_time_ticks() - began_ticks);

    if (inject_ring.clock != CK_CLOCK_TSC || ticks <= 0) {
        return duration;
    }
    return (ck_time_t)((double)duration * (double)(ck_time_raw() - began_raw) /
                       ticks);
}

void pending_begin(uint32_t entries)
{
    pool_limit = entries < PENDING_MAX ? entries : PENDING_MAX;
    began_raw = ck_time_raw();
    began_ticks = ck_time_ticks();
}

/* A command may be complete before the driver makes its callback: the program
 * sees the end first. Returns whether it is written now. */
static bool complete_write(struct pending *pending)
{
    cl_int status = pending_status(pending);

    if (status > CL_COMPLETE) {
        return false;
    }
    record_write(pending, status);
    return true;
}

/* A callback is writing its record right now: let it, within limits. */
static bool done_wait(struct pending *pending)
{
    const struct timespec pause = {0, PENDING_END_POLL};

    for (int i = 0; i < PENDING_END_POLLS; i++) {
        if (atomic_load(&pending->state) != PENDING_DONE) {
            return true;
        }
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* Whether the entry's command is recorded, or was none. */
static bool entry_end(struct pending *pending)
{
    uint32_t state = PENDING_WATCHED;

    if (atomic_compare_exchange_strong(&pending->state, &state, PENDING_LOST)) {
        return complete_write(pending);
    }
    return state != PENDING_DONE || done_wait(pending);
}

void pending_end(void)
{
    uint32_t used = atomic_load(&fresh);
    int64_t first = 0;
    int64_t count = 0;

    if (inject_writer() == NULL) {
        return;
    }
    used = used < pool_limit ? used : pool_limit;
    for (uint32_t i = 0; i < used; i++) {
        struct pending *entry = entry_at(i);

        if (entry != NULL && entry->incarnation == inject_ring.incarnation &&
            !entry_end(entry) && entry->work.kind != CK_KIND_NONE) {
            first = count == 0 || entry->start < first ? entry->start : first;
            count++;
        }
    }
    refused_say();
    if (count > 0) {
        lost_say(CK_LOST_UNDONE, count, first, ring_ns(inject_now() - first),
                 0);
    }
    device_say_all();
}
