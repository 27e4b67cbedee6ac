/* clockdevices.c - what launches and synchronisations show of devices' clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record of a device may come before that of its launch, if its clock is
 * wrong: each waits for the other, in tables in which the newer takes the
 * place of the older. A pair that is missed is a fact less, and no more.
 *
 * Of all work that was launched before a synchronisation, the end of the last
 * is the tightest fact. Work that is not over yet is recorded only later; so a
 * synchronisation stays open until many others have followed.
 */
#include "merge/clocks/clockdevices.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

#define TABLE_BITS 16
#define TABLE_SIZE ((size_t)1 << TABLE_BITS)
#define SYNCS_OPEN 64
/* A stamp that is further off is nonsense: it is no clock's error. */
#define SENSE (3600 * CK_TIME_S)
/* Facts of each kind, and refutations, before a device is set apart. */
#define ENOUGH 2
/* A clock that is off refutes most facts. One in so many, or fewer, are stamps
 * that were taken late: a runtime on a busy CPU does that. */
#define STRAY 16

/* A call that may have launched something, or a record that was launched. */
struct half {
    uint32_t process;
    uint32_t tid;
    uint32_t call; /* 0 = free */
    uint32_t device;
    uint32_t queue;
    bool is_blocking; /* a call that returns when its copy to the host is over;
                         such a copy */
    ck_time_t start;  /* on its own clock */
    ck_time_t end;
};

/* Times are RAW of the host's, but the ends of work. */
struct sync {
    ck_time_t enter;
    ck_time_t leave;
    ck_time_t work; /* last end of what was launched before; INT64_MIN */
};

/* What a synchronisation is for: a process's device or one of its queues. */
struct scope {
    uint32_t device; /* of devices[] */
    struct sync syncs[SYNCS_OPEN];
    size_t count;
    ck_time_t launched; /* the last return of those not waited for yet */
    ck_time_t work;     /* and their last end; INT64_MIN = none */
};

struct device {
    uint32_t domain; /* its own, if it is set apart */
    struct report_device_clock facts;
};

struct clockdevices {
    const struct defs *defs;  /* borrowed */
    const struct axis *axis;  /* borrowed */
    struct clockedges *edges; /* borrowed */
    struct half *calls;       /* by hash */
    struct half *works;
    struct table *scope_keys;
    struct scope *scopes;
    size_t scopes_count, scopes_room;
    struct device *devices; /* as those of the edges */
    size_t devices_count, devices_room;
};

struct clockdevices *clockdevices_create(const struct defs *defs,
                                         const struct axis *axis,
                                         struct clockedges *edges)
{
    struct clockdevices *devices = xcalloc(1, sizeof(*devices));

    devices->defs = defs;
    devices->axis = axis;
    devices->edges = edges;
    devices->calls = xcalloc(TABLE_SIZE, sizeof(*devices->calls));
    devices->works = xcalloc(TABLE_SIZE, sizeof(*devices->works));
    devices->scope_keys = table_create();
    return devices;
}

void clockdevices_destroy(struct clockdevices *devices)
{
    if (devices == NULL) {
        return;
    }
    free(devices->calls);
    free(devices->works);
    table_destroy(devices->scope_keys);
    free(devices->scopes);
    free(devices->devices);
    free(devices);
}

/* ---- facts --------------------------------------------------------------- */

static uint32_t domain_of(const struct clockdevices *devices, uint32_t agent)
{
    return devices->defs->agents[agent].domain;
}

/* The device, made at first sight. */
static uint32_t
device_find(struct clockdevices *devices, uint32_t agent, uint32_t number)
{
    uint32_t domain = clockedges_device(devices->edges, agent, number);
    size_t index = clockedges_devices(devices->edges) - 1;

    index = domain - (uint32_t)devices->defs->domains_count - 1;
    while (devices->devices_count <= index) {
        struct device *fresh;

        array_grow(&devices->devices, &devices->devices_room,
                   devices->devices_count, sizeof(*fresh));
        fresh = &devices->devices[devices->devices_count];
        memset(fresh, 0, sizeof(*fresh));
        fresh->domain = (uint32_t)devices->defs->domains_count + 1 +
                        (uint32_t)devices->devices_count++;
        fresh->facts.agent = agent;
        fresh->facts.device = number;
    }
    return (uint32_t)index;
}

/* A kernel began after its launch was entered. */
static void launch_add(struct clockdevices *devices,
                       struct device *device,
                       ck_time_t enter,
                       ck_time_t start)
{
    struct clock_edge edge = {
        .from = domain_of(devices, device->facts.agent),
        .to = device->domain,
        .sent = enter,
        .received = start - CLOCKEDGES_DELAY,
        .source = CLOCK_SOURCE_DEVICE,
    };

    device->facts.launches++;
    device->facts.launches_refuted += start < enter;
    if (enter - start > device->facts.worst) {
        device->facts.worst = enter - start;
    }
    clockedges_add(devices->edges, &edge);
}

/* Work had ended when the call that waited for it returned. */
static void sync_add(struct clockdevices *devices,
                     struct device *device,
                     ck_time_t end,
                     ck_time_t leave)
{
    struct clock_edge edge = {
        .from = device->domain,
        .to = domain_of(devices, device->facts.agent),
        .sent = end,
        .received = leave - CLOCKEDGES_DELAY,
        .source = CLOCK_SOURCE_DEVICE,
    };

    device->facts.syncs++;
    device->facts.syncs_refuted += end > leave;
    if (end - leave > device->facts.worst) {
        device->facts.worst = end - leave;
    }
    clockedges_add(devices->edges, &edge);
}

static struct scope *
scope_find(struct clockdevices *devices, uint32_t process, uint64_t queue)
{
    struct table_key key = {process, queue, 0};
    int64_t number = table_number(devices->scope_keys, key);
    struct scope *scope;

    if ((size_t)number == devices->scopes_count) {
        array_grow(&devices->scopes, &devices->scopes_room,
                   devices->scopes_count, sizeof(*scope));
        scope = &devices->scopes[devices->scopes_count++];
        memset(scope, 0, sizeof(*scope));
        scope->device = DEFS_NONE;
        scope->work = INT64_MIN;
    }
    return &devices->scopes[number];
}

/* The oldest synchronisation that is open: what it waited for is known. */
static void sync_close(struct clockdevices *devices, struct scope *scope)
{
    struct sync sync = scope->syncs[0];

    scope->count--;
    memmove(&scope->syncs[0], &scope->syncs[1],
            scope->count * sizeof(*scope->syncs));
    if (!(sync.work == INT64_MIN || scope->device == DEFS_NONE)) {
        sync_add(devices, &devices->devices[scope->device], sync.work,
                 sync.leave);
    }
}

static void sync_take(struct clockdevices *devices,
                      struct scope *scope,
                      ck_time_t enter,
                      ck_time_t leave)
{
    struct sync *sync;

    if (scope->count == SYNCS_OPEN) {
        sync_close(devices, scope);
    }
    sync = &scope->syncs[scope->count++];
    *sync = (struct sync){enter, leave, INT64_MIN};
    if (scope->work != INT64_MIN && scope->launched <= enter) {
        sync->work = scope->work;
        scope->work = INT64_MIN;
        scope->launched = INT64_MIN;
    }
}

/* Work of a scope whose launch had returned at `launched`. */
static void work_note(struct scope *scope, ck_time_t launched, ck_time_t end)
{
    for (size_t i = 0; i < scope->count; i++) {
        struct sync *sync = &scope->syncs[i];

        if (sync->enter >= launched) {
            sync->work = end > sync->work ? end : sync->work;
            return;
        }
    }
    if (scope->work == INT64_MIN || launched > scope->launched) {
        scope->launched = launched;
    }
    scope->work = end > scope->work ? end : scope->work;
}

/* ---- records ------------------------------------------------------------- */

static size_t slot_of(uint32_t process, uint32_t tid, uint32_t call)
{
    uint64_t hash = ((uint64_t)process << 32 | tid) * 0x9e3779b97f4a7c15u;

    return (size_t)((hash ^ call * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u >>
                    (64 - TABLE_BITS));
}

static bool is_one(const struct half *a, const struct half *b)
{
    return a->call == b->call && a->process == b->process && a->tid == b->tid;
}

/* A call and the work that it launched. */
static void pair_take(struct clockdevices *devices,
                      const struct half *call,
                      const struct half *work)
{
    uint32_t agent = devices->defs->processes[call->process].agent;
    uint32_t index = device_find(devices, agent, work->device);
    struct scope *scope;

    if (llabs(work->start - call->start) > SENSE) {
        devices->devices[index].facts.suspects++;
        return;
    }
    launch_add(devices, &devices->devices[index], call->start, work->start);
    if (call->is_blocking && work->is_blocking) {
        sync_add(devices, &devices->devices[index], work->end, call->end);
        return;
    }
    for (int i = 0; i < 2; i++) {
        scope = scope_find(devices, call->process,
                           i == 0 ? 0 : (uint64_t)work->queue + 1);
        scope->device = index;
        work_note(scope, call->end, work->end);
    }
}

/* Returns when all that was launched before is over. */
static bool is_device_sync(const char *name)
{
    static const char *const names[] = {
        "cudaDeviceSynchronize", "cudaThreadSynchronize", "cuCtxSynchronize",
        "hipDeviceSynchronize"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns when its own copy to the host is over: that of a copy to the device
 * may return earlier. */
static bool is_blocking_copy(const char *name)
{
    static const char *const names[] = {"cudaMemcpy", "hipMemcpy",
                                        "cuMemcpyDtoH"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return strstr(name, "Async") == NULL;
        }
    }
    return false;
}

static ck_time_t
raw_of(const struct clockdevices *devices, uint32_t process, ck_time_t time)
{
    return axis_undo(devices->axis, devices->defs->processes[process].agent,
                     time);
}

static void call_take(struct clockdevices *devices,
                      const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    const struct defs *defs = devices->defs;
    const char *name = defs_name(defs, event->process, call->e.name);
    struct half half = {
        .process = event->process,
        .tid = defs->threads[event->thread].tid,
        .call = call->call,
        .start = raw_of(devices, event->process, event->start),
        .end = raw_of(devices, event->process, event->end),
    };
    size_t slot = slot_of(half.process, half.tid, half.call);
    struct scope *scope = NULL;

    if (name != NULL && is_device_sync(name) &&
        defs->processes[event->process].devices_count == 1) {
        scope = scope_find(devices, event->process, 0);
    } else if (name != NULL && strcmp(name, "clFinish") == 0) {
        scope = scope_find(devices, event->process, (uint64_t)call->object + 1);
    } else if (half.call != 0) {
        half.is_blocking = name != NULL && is_blocking_copy(name);
        devices->calls[slot] = half;
        if (is_one(&devices->works[slot], &half)) {
            pair_take(devices, &half, &devices->works[slot]);
        }
        return;
    } else {
        return;
    }
    sync_take(devices, scope, half.start, half.end);
}

static void work_take(struct clockdevices *devices,
                      const struct timeline_event *event)
{
    /* A copy has its launch where a kernel has it. */
    const struct ck_kernel *kernel = (const struct ck_kernel *)event->record;
    struct half half = {
        .process = event->process,
        .tid = kernel->tid,
        .call = kernel->call,
        .device = kernel->device,
        .queue = kernel->queue,
        .is_blocking = kernel->e.kind == CK_KIND_COPY_D2H,
        .start = raw_of(devices, event->process, event->start),
        .end = raw_of(devices, event->process, event->end),
    };
    size_t slot = slot_of(half.process, half.tid, half.call);
    if (half.call == 0 || (kernel->e.flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    devices->works[slot] = half;
    if (is_one(&devices->calls[slot], &half)) {
        pair_take(devices, &devices->calls[slot], &half);
    }
}

_Static_assert(offsetof(struct ck_kernel, tid) == offsetof(struct ck_copy, tid),
               "who launched it");
_Static_assert(offsetof(struct ck_kernel, queue) ==
                   offsetof(struct ck_copy, queue),
               "where it ran");

/* A wait for one queue, as a tracer of CUDA records it beside the call. With
 * several devices a queue's number may be that of two. */
static bool is_queue_sync(const struct defs *defs,
                          const struct timeline_event *event)
{
    const char *name = defs_name(defs, event->process, event->record->name);

    return name != NULL &&
           (strcmp(name, "stream synchronize") == 0 ||
            strcmp(name, "Stream Sync") == 0) &&
           defs->processes[event->process].devices_count == 1;
}

static void queue_sync_take(struct clockdevices *devices,
                            const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    struct scope *scope =
        scope_find(devices, event->process, (uint64_t)call->object + 1);

    sync_take(devices, scope, raw_of(devices, event->process, event->start),
              raw_of(devices, event->process, event->end));
}

int clockdevices_take(void *state, const struct timeline_event *event)
{
    struct clockdevices *devices = state;
    unsigned kind = event->record->kind;

    if (event->rank < 0 || (event->record->flags & CK_FLAG_CUT) != 0) {
        return 0;
    }
    if (timeline_is_device(event)) {
        work_take(devices, event);
        return 0;
    }
    if (kind == CK_KIND_SYNC) {
        if (is_queue_sync(devices->defs, event)) {
            queue_sync_take(devices, event);
        }
        return 0;
    }
    if (kind == CK_KIND_API_OPENCL || kind == CK_KIND_API_CUDA_RUNTIME ||
        kind == CK_KIND_API_CUDA_DRIVER) {
        call_take(devices, event);
    }
    return 0;
}

/* ---- what comes of it ---------------------------------------------------- */

/* Do launches and synchronisations show that the device's clock is not its
 * host's? */
static bool is_off(const struct report_device_clock *facts)
{
    return facts->launches >= ENOUGH && facts->syncs >= ENOUGH &&
           facts->launches_refuted + facts->syncs_refuted >= ENOUGH &&
           (facts->launches_refuted * STRAY >= facts->launches ||
            facts->syncs_refuted * STRAY >= facts->syncs);
}

void clockdevices_finish(struct clockdevices *devices)
{
    for (size_t i = 0; i < devices->scopes_count; i++) {
        while (devices->scopes[i].count > 0) {
            sync_close(devices, &devices->scopes[i]);
        }
    }
    for (size_t i = 0; i < devices->devices_count; i++) {
        struct device *device = &devices->devices[i];

        if (is_off(&device->facts)) {
            device->facts.is_apart = true;
            clockedges_apart(devices->edges, device->domain);
        }
    }
}

uint32_t clockdevices_domain(const struct clockdevices *devices,
                             uint32_t agent,
                             uint32_t number)
{
    for (size_t i = 0; i < devices->devices_count; i++) {
        const struct device *device = &devices->devices[i];

        if (device->facts.agent == agent && device->facts.device == number &&
            device->facts.is_apart) {
            return device->domain;
        }
    }
    return domain_of(devices, agent);
}

void clockdevices_report(const struct clockdevices *devices,
                         struct report *report)
{
    const struct defs *defs = devices->defs;

    report->device_clocks =
        xcalloc(devices->devices_count + 1, sizeof(*report->device_clocks));
    for (size_t i = 0; i < devices->devices_count; i++) {
        struct report_device_clock *row = &report->device_clocks[i];
        const struct axis_device *placed;

        *row = devices->devices[i].facts;
        row->rank = defs->agents[row->agent].rank;
        placed = axis_device(devices->axis, row->agent, row->device);
        row->is_placed = placed != NULL;
        if (row->is_placed) {
            row->offset = placed->offset;
            row->bound = placed->bound;
        }
    }
    report->device_clocks_count = devices->devices_count;
}
