/* cuptirecord.c - the kinds of CUPTI, one by one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Times are RAW ns, because the timestamp callback gives them. A device time
 * that cannot be (0, end before start, in the future, before the library was
 * loaded) is flagged and counted, never repaired: the record then stands at
 * the time of its decoding with no length.
 */
#include "agent/inject/cuptirecord.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inject/cupticall.h"
#include "agent/inject/cuptitable.h"

/* A device stamp may be ahead of the host by its own error. */
#define RECORD_AHEAD CK_TIME_S
#define RECORD_BEFORE CK_TIME_S

const CUpti_ActivityKind record_kinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE,   CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,   CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,   CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};
const size_t record_kinds_count =
    sizeof(record_kinds) / sizeof(record_kinds[0]);

static _Atomic uint64_t bad_times;

uint64_t record_bad_times(void)
{
    return atomic_load(&bad_times);
}

/* Room in this thread's slot, zeroed, with the head filled in. */
static void *
record_begin(enum ck_kind kind, unsigned units, uint64_t start, uint64_t end)
{
    struct ck_ring_writer *writer = inject_writer();
    ck_time_t now = ck_time_raw();
    struct ck_mark *head;
    bool is_good;

    if (writer == NULL) {
        return NULL;
    }
    is_good = start != 0 && end >= start &&
              (ck_time_t)end <= now + RECORD_AHEAD &&
              (ck_time_t)start >= inject_ring.process->started - RECORD_BEFORE;
    if (!is_good) {
        atomic_fetch_add(&bad_times, 1);
    }
    head = ck_ring_begin(writer, inject_ring.clock, units);
    if (head == NULL) {
        return NULL;
    }
    /* In all classes used here the head is followed by the length. */
    memset(head, 0, (size_t)units * CK_UNIT_BYTES);
    head->e.kind = (uint16_t)kind;
    head->e.units = (uint8_t)units;
    head->e.flags = (uint8_t)(CK_FLAG_RAW | (is_good ? 0 : CK_FLAG_BAD_TIME));
    head->e.start = is_good ? (ck_time_t)start : now;
    head->dur = is_good ? (int64_t)(end - start) : 0;
    return head;
}

static void record_commit(unsigned units)
{
    ck_ring_commit(&inject_thread, units);
}

void record_lost(enum ck_lost reason,
                 int64_t value,
                 ck_time_t first,
                 ck_time_t last)
{
    struct ck_ring_writer *writer = inject_writer();
    struct ck_counter *record =
        writer == NULL ? NULL : ck_ring_begin(writer, inject_ring.clock, 2);

    if (record == NULL) {
        return;
    }
    memset(record, 0, sizeof(*record));
    record->e.kind = CK_KIND_LOST;
    record->e.units = 2;
    record->e.flags = CK_FLAG_RAW;
    record->e.start = first;
    record->value = value;
    record->enabled = last - first;
    record->reason = (uint32_t)reason;
    ck_ring_commit(writer, 2);
}

static uint64_t correlation_of(uint32_t correlation, uint64_t node)
{
    return node != 0 ? node : correlation;
}

static void kernel_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityKernel10 *k = (const void *)activity;
    uint32_t name = inject_writer() == NULL || k->name == NULL
                        ? 0
                        : inject_text_id(k->name);
    uint32_t device = table_device(k->deviceId);
    uint32_t queue = table_stream(k->contextId, k->streamId, k->deviceId);
    struct table_launch who = table_launch_get(k->correlationId);
    struct ck_kernel *record =
        record_begin(CK_KIND_KERNEL, 3, k->start, k->end);

    if (record == NULL) {
        return;
    }
    record->e.name = name;
    record->queued = (int64_t)k->queued;
    record->submitted = (int64_t)k->submitted;
    record->tid = who.tid;
    record->call = who.call;
    record->device = device;
    record->queue = queue;
    record->global[0] = (uint32_t)k->gridX;
    record->global[1] = (uint32_t)k->gridY;
    record->global[2] = (uint32_t)k->gridZ;
    record->local[0] = (uint32_t)k->blockX;
    record->local[1] = (uint32_t)k->blockY;
    record->local[2] = (uint32_t)k->blockZ;
    record->correlation = correlation_of(k->correlationId, k->graphNodeId);
    record->shared_bytes =
        (uint32_t)k->staticSharedMemory + (uint32_t)k->dynamicSharedMemory;
    record->registers = k->registersPerThread;
    record_commit(3);
}

/* A graph launch as one record (CKAGENT_CUPTI=...,graph-trace). */
static void graph_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityGraphTrace2 *g = (const void *)activity;
    uint32_t device = table_device(g->deviceId);
    uint32_t queue = table_stream(g->contextId, g->streamId, g->deviceId);
    struct table_launch who = table_launch_get(g->correlationId);
    struct ck_kernel *record = record_begin(CK_KIND_GRAPH, 3, g->start, g->end);

    if (record == NULL) {
        return;
    }
    record->tid = who.tid;
    record->call = who.call;
    record->device = device;
    record->queue = queue;
    record->correlation = g->correlationId;
    record_commit(3);
}

/* What copies and fills have in common. */
struct copy {
    enum ck_kind kind;
    uint32_t device, context, stream, correlation;
    uint32_t peer; /* ordinal + 1 of the other device, 0 = none */
    uint32_t memory;
    uint64_t node, bytes, start, end;
};

static void copy_write(const struct copy *copy)
{
    uint32_t device = table_device(copy->device);
    uint32_t peer = copy->peer == 0 ? 0 : table_device(copy->peer - 1);
    uint32_t queue = table_stream(copy->context, copy->stream, copy->device);
    struct table_launch who = table_launch_get(copy->correlation);
    struct ck_copy *record =
        record_begin(copy->kind, 3, copy->start, copy->end);

    if (record == NULL) {
        return;
    }
    record->tid = who.tid;
    record->call = who.call;
    record->device = device;
    record->queue = queue;
    record->bytes = copy->bytes;
    record->correlation = correlation_of(copy->correlation, copy->node);
    record->peer_device = peer;
    record->memory = copy->memory;
    record_commit(3);
}

static enum ck_kind copy_kind(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
        return CK_KIND_COPY_H2D;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
        return CK_KIND_COPY_D2H;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
        return CK_KIND_COPY_H2H;
    default:
        return CK_KIND_COPY_D2D;
    }
}

static void memcpy_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityMemcpy6 *m = (const void *)activity;
    struct copy copy = {
        .kind = copy_kind(m->copyKind),
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .memory = (uint32_t)m->srcKind << 16 | m->dstKind,
        .node = m->graphNodeId,
        .bytes = m->bytes,
        .start = m->start,
        .end = m->end,
    };

    copy_write(&copy);
}

static void peer_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityMemcpyPtoP4 *m = (const void *)activity;
    struct copy copy = {
        .kind = CK_KIND_COPY_D2D,
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .peer =
            (m->deviceId == m->dstDeviceId ? m->srcDeviceId : m->dstDeviceId) +
            1,
        .memory = (uint32_t)m->srcKind << 16 | m->dstKind,
        .node = m->graphNodeId,
        .bytes = m->bytes,
        .start = m->start,
        .end = m->end,
    };

    copy_write(&copy);
}

static void memset_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityMemset4 *m = (const void *)activity;
    struct copy copy = {
        .kind = CK_KIND_FILL,
        .device = m->deviceId,
        .context = m->contextId,
        .stream = m->streamId,
        .correlation = m->correlationId,
        .memory = m->memoryKind,
        .node = m->graphNodeId,
        .bytes = m->bytes,
        .start = m->start,
        .end = m->end,
    };

    copy_write(&copy);
}

/* A call that only CUPTI saw: written from a thread that is not the caller's,
 * so `call` stays 0 and `extra` names thread and call. */
static void call_write(enum ck_kind kind,
                       uint64_t start,
                       uint64_t end,
                       const struct ck_call *what)
{
    struct ck_call *record = record_begin(kind, 2, start, end);

    if (record == NULL) {
        return;
    }
    record->e.name = what->e.name;
    record->e.flags |= what->e.flags;
    record->object = what->object;
    record->arg = what->arg;
    record->extra = what->extra;
    record_commit(2);
}

static void sync_write(const CUpti_Activity *activity)
{
    static struct inject_label labels[] = {
        INJECT_LABEL("synchronize"),         INJECT_LABEL("event synchronize"),
        INJECT_LABEL("stream wait event"),   INJECT_LABEL("stream synchronize"),
        INJECT_LABEL("context synchronize"),
    };
    const CUpti_ActivitySynchronization2 *s = (const void *)activity;
    unsigned type =
        s->type < sizeof(labels) / sizeof(labels[0]) ? (unsigned)s->type : 0;
    struct table_launch who = table_launch_get(s->correlationId);
    struct ck_call what = {
        .e = {.name =
                  inject_writer() == NULL ? 0 : inject_label_id(&labels[type]),
              .flags = s->returnValue == 0 ? 0 : CK_FLAG_FAILED},
        .object = table_stream(s->contextId, s->streamId, TABLE_NONE),
        .arg = s->correlationId,
        .extra = (uint64_t)who.tid << 32 | who.call,
    };

    call_write(CK_KIND_SYNC, s->start, s->end, &what);
}

static const char *overhead_text(CUpti_ActivityOverheadKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
        return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
        return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
        return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
        return "CUPTI resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
        return "module loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
        return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
        return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
        return "CUPTI buffer request";
    default:
        return "CUPTI overhead";
    }
}

static void overhead_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityOverhead3 *o = (const void *)activity;
    uint32_t tid = o->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD
                       ? o->objectId.pt.threadId
                       : 0;
    struct ck_call what = {
        .e = {.name = inject_writer() == NULL
                          ? 0
                          : inject_text_id(overhead_text(o->overheadKind))},
        .arg = o->correlationId,
        .extra = (uint64_t)tid << 32,
    };

    call_write(CK_KIND_OVERHEAD, o->start, o->end, &what);
}

static void api_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityAPI *a = (const void *)activity;
    bool is_runtime = a->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    struct ck_call what = {
        .e = {.name = call_name(is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API
                                           : CUPTI_CB_DOMAIN_DRIVER_API,
                                a->cbid),
              .flags = a->returnValue == 0 ? 0 : CK_FLAG_FAILED},
        .arg = a->correlationId,
        .extra = (uint64_t)a->threadId << 32,
    };

    call_write(is_runtime ? CK_KIND_API_CUDA_RUNTIME : CK_KIND_API_CUDA_DRIVER,
               a->start, a->end, &what);
}

static void context_write(const CUpti_Activity *activity)
{
    const CUpti_ActivityContext3 *c = (const void *)activity;

    table_context(c->contextId, c->deviceId);
    (void)table_device(c->deviceId);
}

void record_write(const CUpti_Activity *activity)
{
    switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
        kernel_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        graph_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        memcpy_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        peer_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        memset_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        sync_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        overhead_write(activity);
        free(((const CUpti_ActivityOverhead3 *)(const void *)activity)
                 ->overheadData);
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        api_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        table_device_say((const void *)activity);
        free((void *)(uintptr_t)((const CUpti_ActivityDevice5 *)(const void *)
                                     activity)
                 ->name);
        break;
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        context_write(activity);
        break;
    case CUPTI_ACTIVITY_KIND_STREAM:
        table_stream_say((const void *)activity);
        break;
    default: /* an event of a kind nobody asked for */
        break;
    }
}
