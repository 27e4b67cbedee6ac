/* cuptirecord.c - the kinds of CUPTI, one by one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Times are RAW ns (cupticlock.h). A device time that cannot be (0, end before
 * start, in the future, before the library was loaded) is flagged and counted,
 * never repaired: the record then has the time of its decoding and no
 * length, and the time since its launch counts as unknown.
 */
#include "agent/inject/cupti/cuptirecord.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inject/cupti/cupticall.h"
#include "agent/inject/cupti/cupticlock.h"
#include "agent/inject/cupti/cuptigroup.h"
#include "agent/inject/cupti/cuptimemory.h"
#include "agent/inject/cupti/cuptitable.h"
#include "agent/inject/cupti/cuptiuntimed.h"

/* A device stamp may be ahead of the host by its own error. */
#define RECORD_AHEAD CK_TIME_S
#define RECORD_BEFORE CK_TIME_S

const uint32_t record_kinds[] = {
    CUPTI_KIND_DEVICE,  CUPTI_KIND_CONTEXT, CUPTI_KIND_STREAM,
    CUPTI_KIND_KERNEL,  CUPTI_KIND_MEMCPY,  CUPTI_KIND_MEMCPY2,
    CUPTI_KIND_MEMSET,  CUPTI_KIND_SYNC,    CUPTI_KIND_OVERHEAD,
    CUPTI_KIND_MEMORY2,
};
const size_t record_kinds_count =
    sizeof(record_kinds) / sizeof(record_kinds[0]);

static _Atomic uint64_t bad_times;

uint64_t record_bad_times(void)
{
    return atomic_load(&bad_times);
}

/* When it was done, on RAW ns; start 0 = not known. */
struct times {
    uint64_t start, end;
};

static struct times times_of(uint64_t start, uint64_t end)
{
    ck_time_t now = ck_time_raw();
    struct times times = {clock_raw(start), clock_raw(end)};
    bool is_good =
        start != 0 && end >= start && times.start != 0 &&
        times.end >= times.start &&
        (ck_time_t)times.end <= now + RECORD_AHEAD &&
        (ck_time_t)times.start >= inject_ring.process->started - RECORD_BEFORE;

    return is_good ? times : (struct times){0, 0};
}

/* Room in this thread's slot, zeroed, with the head filled in. */
static void *record_begin(enum ck_kind kind, unsigned units, struct times times)
{
    struct ck_ring_writer *writer = inject_writer();
    struct ck_mark *head;

    if (writer == NULL) {
        return NULL;
    }
    if (times.start == 0) {
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
    head->e.flags =
        (uint8_t)(CK_FLAG_RAW | (times.start != 0 ? 0 : CK_FLAG_BAD_TIME));
    head->e.start = times.start != 0 ? (ck_time_t)times.start : ck_time_raw();
    head->dur = (int64_t)(times.end - times.start);
    return head;
}

/* Work of a device, as its record has it. */
struct work {
    enum ck_kind kind;
    uint32_t context, stream, correlation;
    uint64_t start, end;
};

/* Room for it; `who` launched it. */
static void *work_begin(const struct work *work, const struct table_launch *who)
{
    struct untimed_work about = {.stream = (uint64_t)work->context << 32 |
                                           work->stream,
                                 .correlation = work->correlation};
    struct times times;

    if (inject_writer() == NULL) {
        return NULL;
    }
    times = times_of(work->start, work->end);
    about.start = (ck_time_t)times.start;
    about.end = (ck_time_t)times.end;
    if (times.start == 0) {
        untimed_bad(&about, who->start == 0 ? 0 : clock_of_ring(who->start));
    } else {
        untimed_good(&about);
    }
    return record_begin(work->kind, 3, times);
}

static void record_commit(unsigned units)
{
    ck_ring_commit(&inject_thread, units);
}

static uint64_t correlation_of(uint32_t correlation, uint64_t node)
{
    return node != 0 ? node : correlation;
}

/* CUPTI keeps times before the start only where a client asked for them; else
 * they may be of another kernel. */
static void latency_write(struct ck_kernel *record,
                          const struct cupti_kernel *k)
{
    if (k->queued != 0 && k->queued <= k->submitted &&
        k->submitted <= k->start) {
        record->queued = (int64_t)clock_raw(k->queued);
        record->submitted = (int64_t)clock_raw(k->submitted);
    }
}

/* The name's id; that some have none is noted once. */
static uint32_t kernel_name(const char *text)
{
    static _Atomic int is_said;
    uint32_t name = 0;
    int no = 0;

    if (inject_writer() == NULL || text == NULL) {
        return 0;
    }
    name = inject_text_id(text);
    if (name == 0 && inject_text_find(text) == NULL &&
        atomic_compare_exchange_strong(&is_said, &no, 1)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "the program has more kernels than names are kept "
                         "of: some have no name");
    }
    return name;
}

/* So many kernels of unknown launches, and none of a known one, before the
 * launches are asked for in another way. */
#define RECORD_STRANGERS 16

static void launch_count(const struct table_launch *who)
{
    static _Atomic unsigned strangers;
    static _Atomic int is_known;

    if (atomic_load_explicit(&is_known, memory_order_relaxed) != 0) {
        return;
    }
    if (who->start != 0) {
        atomic_store_explicit(&is_known, 1, memory_order_relaxed);
    } else if (atomic_fetch_add(&strangers, 1) + 1 == RECORD_STRANGERS) {
        call_mismatched();
    }
}

/* A kernel of NCCL, if its communicator is known. One of messages alone has no
 * number among the collectives, whatever was launched before. */
static void group_write(struct ck_kernel *record, const struct cupti_kernel *k)
{
    bool is_nccl = k->graph_node == 0 && k->name != NULL &&
                   strstr(k->name, "nccl") != NULL;
    struct nccl_group group = {0, 0};

    if (is_nccl) {
        group = group_get(k->correlation);
    }
    if (group.name != 0) {
        record->e.flags |= CK_FLAG_GROUP;
        record->registers = group.name;
        record->shared_bytes =
            strstr(k->name, "SendRecv") != NULL ? 0 : group.number;
    }
}

static void kernel_write(const struct cupti_record *activity)
{
    const struct cupti_kernel *k = (const void *)activity;
    uint32_t name = kernel_name(k->name);
    uint32_t device = table_device(k->device);
    uint32_t queue = table_stream(k->context, k->stream, k->device);
    struct table_launch who = table_launch_get(k->correlation);
    struct work work = {.kind = CK_KIND_KERNEL,
                        .context = k->context,
                        .stream = k->stream,
                        .correlation = k->correlation,
                        .start = k->start,
                        .end = k->end};
    struct ck_kernel *record;

    launch_count(&who);
    record = work_begin(&work, &who);
    if (record == NULL) {
        return;
    }
    record->e.name = name;
    latency_write(record, k);
    record->tid = who.tid;
    record->call = who.call;
    record->device = device;
    record->queue = queue;
    for (int i = 0; i < 3; i++) {
        record->global[i] = (uint32_t)k->grid[i];
        record->local[i] = (uint32_t)k->block[i];
    }
    record->correlation = correlation_of(k->correlation, k->graph_node);
    record->shared_bytes =
        (uint32_t)k->static_shared + (uint32_t)k->dynamic_shared;
    record->registers = k->registers;
    group_write(record, k);
    record_commit(3);
}

/* A graph launch as one record (CKAGENT_CUPTI=...,graph-trace). */
static void graph_write(const struct cupti_record *activity)
{
    const struct cupti_graph *g = (const void *)activity;
    uint32_t device = table_device(g->device);
    uint32_t queue = table_stream(g->context, g->stream, g->device);
    struct table_launch who = table_launch_get(g->correlation);
    struct work work = {.kind = CK_KIND_GRAPH,
                        .context = g->context,
                        .stream = g->stream,
                        .correlation = g->correlation,
                        .start = g->start,
                        .end = g->end};
    struct ck_kernel *record = work_begin(&work, &who);

    if (record == NULL) {
        return;
    }
    record->tid = who.tid;
    record->call = who.call;
    record->device = device;
    record->queue = queue;
    record->correlation = g->correlation;
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
    struct work work = {.kind = copy->kind,
                        .context = copy->context,
                        .stream = copy->stream,
                        .correlation = copy->correlation,
                        .start = copy->start,
                        .end = copy->end};
    struct ck_copy *record = work_begin(&work, &who);

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
    case CUPTI_COPY_HTOD:
    case CUPTI_COPY_HTOA:
        return CK_KIND_COPY_H2D;
    case CUPTI_COPY_DTOH:
    case CUPTI_COPY_ATOH:
        return CK_KIND_COPY_D2H;
    case CUPTI_COPY_HTOH:
        return CK_KIND_COPY_H2H;
    default:
        return CK_KIND_COPY_D2D;
    }
}

static void memcpy_write(const struct cupti_record *activity)
{
    const struct cupti_memcpy *m = (const void *)activity;
    struct copy copy = {
        .kind = copy_kind(m->copy),
        .device = m->device,
        .context = m->context,
        .stream = m->stream,
        .correlation = m->correlation,
        .memory = (uint32_t)m->from << 16 | m->to,
        .node = m->graph_node,
        .bytes = m->bytes,
        .start = m->start,
        .end = m->end,
    };

    copy_write(&copy);
}

static void peer_write(const struct cupti_record *activity)
{
    const struct cupti_peer *m = (const void *)activity;
    struct copy copy = {
        .kind = CK_KIND_COPY_D2D,
        .device = m->device,
        .context = m->context,
        .stream = m->stream,
        .correlation = m->correlation,
        .peer = (m->device == m->to_device ? m->from_device : m->to_device) + 1,
        .memory = (uint32_t)m->from << 16 | m->to,
        .node = m->graph_node,
        .bytes = m->bytes,
        .start = m->start,
        .end = m->end,
    };

    copy_write(&copy);
}

static void memset_write(const struct cupti_record *activity)
{
    const struct cupti_memset *m = (const void *)activity;
    struct copy copy = {
        .kind = CK_KIND_FILL,
        .device = m->device,
        .context = m->context,
        .stream = m->stream,
        .correlation = m->correlation,
        .memory = m->memory,
        .node = m->graph_node,
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
    struct ck_call *record = inject_writer() == NULL
                                 ? NULL
                                 : record_begin(kind, 2, times_of(start, end));

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

static void sync_write(const struct cupti_record *activity)
{
    static struct inject_label labels[] = {
        INJECT_LABEL("synchronize"),         INJECT_LABEL("event synchronize"),
        INJECT_LABEL("stream wait event"),   INJECT_LABEL("stream synchronize"),
        INJECT_LABEL("context synchronize"),
    };
    const struct cupti_sync *s = (const void *)activity;
    unsigned type =
        s->type < sizeof(labels) / sizeof(labels[0]) ? (unsigned)s->type : 0;
    bool is_failed =
        cupti_api.version >= CUPTI_SINCE_SYNC_RESULT && s->result != 0;
    struct table_launch who = table_launch_get(s->correlation);
    struct ck_call what = {
        .e = {.name =
                  inject_writer() == NULL ? 0 : inject_label_id(&labels[type]),
              .flags = is_failed ? CK_FLAG_FAILED : 0},
        .object = table_stream(s->context, s->stream, TABLE_NONE),
        .arg = s->correlation,
        .extra = (uint64_t)who.tid << 32 | who.call,
    };

    call_write(CK_KIND_SYNC, s->start, s->end, &what);
}

static const char *overhead_text(uint32_t kind)
{
    switch (kind) {
    case CUPTI_OVERHEAD_COMPILER:
        return "driver compiler";
    case CUPTI_OVERHEAD_FLUSH:
        return "CUPTI buffer flush";
    case CUPTI_OVERHEAD_INSTRUMENTATION:
        return "CUPTI instrumentation";
    case CUPTI_OVERHEAD_RESOURCE:
        return "CUPTI resource";
    case CUPTI_OVERHEAD_MODULE:
        return "module loading";
    case CUPTI_OVERHEAD_LAZY:
        return "lazy function loading";
    case CUPTI_OVERHEAD_FULL:
        return "command buffer full";
    case CUPTI_OVERHEAD_REQUEST:
        return "CUPTI buffer request";
    default:
        return "CUPTI overhead";
    }
}

static void overhead_write(const struct cupti_record *activity)
{
    const struct cupti_overhead *o = (const void *)activity;
    uint32_t tid = o->object == CUPTI_OBJECT_THREAD ? o->thread : 0;
    struct ck_call what = {
        .e = {.name = inject_writer() == NULL
                          ? 0
                          : inject_text_id(overhead_text(o->overhead))},
        .arg = cupti_api.version >= CUPTI_SINCE_OVERHEAD_CORRELATION
                   ? o->correlation
                   : 0,
        .extra = (uint64_t)tid << 32,
    };

    call_write(CK_KIND_OVERHEAD, o->start, o->end, &what);
}

static void api_write(const struct cupti_record *activity)
{
    const struct cupti_api_record *a = (const void *)activity;
    bool is_runtime = a->kind == CUPTI_KIND_RUNTIME;
    struct ck_call what = {
        .e = {.name = call_name(is_runtime ? CUPTI_DOMAIN_RUNTIME
                                           : CUPTI_DOMAIN_DRIVER,
                                a->id),
              .flags = a->result == 0 ? 0 : CK_FLAG_FAILED},
        .arg = a->correlation,
        .extra = (uint64_t)a->thread << 32,
    };

    call_write(is_runtime ? CK_KIND_API_CUDA_RUNTIME : CK_KIND_API_CUDA_DRIVER,
               a->start, a->end, &what);
}

static void context_write(const struct cupti_record *activity)
{
    const struct cupti_context *c = (const void *)activity;

    table_context(c->context, c->device);
    (void)table_device(c->device);
}

/* What came with the record and is ours. Before these versions the field is
 * not there, or CUPTI's own. */
static void overhead_free(const struct cupti_overhead *overhead)
{
    if (cupti_api.version >= CUPTI_SINCE_OVERHEAD_DATA) {
        free(overhead->data);
    }
}

static void device_free(const struct cupti_device *device)
{
    if (cupti_api.version >= CUPTI_SINCE_DEVICE_NAME_GIVEN) {
        free((void *)(uintptr_t)device->name);
    }
}

void record_write(const struct cupti_record *activity)
{
    switch (activity->kind) {
    case CUPTI_KIND_KERNEL:
    case CUPTI_KIND_SERIAL_KERNEL:
        kernel_write(activity);
        break;
    case CUPTI_KIND_GRAPH:
        graph_write(activity);
        break;
    case CUPTI_KIND_MEMCPY:
        memcpy_write(activity);
        break;
    case CUPTI_KIND_MEMCPY2:
        peer_write(activity);
        break;
    case CUPTI_KIND_MEMSET:
        memset_write(activity);
        break;
    case CUPTI_KIND_MEMORY2:
        memory_write((const void *)activity);
        break;
    case CUPTI_KIND_SYNC:
        sync_write(activity);
        break;
    case CUPTI_KIND_OVERHEAD:
        overhead_write(activity);
        overhead_free((const void *)activity);
        break;
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER:
        api_write(activity);
        break;
    case CUPTI_KIND_DEVICE:
        table_device_say((const void *)activity);
        device_free((const void *)activity);
        break;
    case CUPTI_KIND_CONTEXT:
        context_write(activity);
        break;
    case CUPTI_KIND_STREAM:
        table_stream_say((const void *)activity);
        break;
    default: /* an event of a kind that was not asked for */
        break;
    }
}
