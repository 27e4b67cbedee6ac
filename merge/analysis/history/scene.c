/* scene.c - what the host threads did lately, and for whom they waited
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/scene.h"

#include <assert.h>
#include <stdlib.h>

#include "merge/analysis/history/activity.h"
#include "merge/analysis/history/unrecorded.h"
#include "merge/analysis/history/work.h"
#include "merge/clocks/align.h"

struct scene {
    const struct cast *cast; /* borrowed */
    struct host *host;
    struct waits *waits;
    struct activities *activities;
    struct evidence *evidence;
    struct shadow *shadow;
    struct work *work;
    struct commands *commands;
    struct unrecorded *unrecorded;
    struct sockets *sockets;
    bool has_stretch; /* the last event ended one: */
    struct sockets_stretch stretch;
    ck_time_t *inside; /* by thread: until when it is in a library's call */
    ck_time_t *held;   /* by thread: until when others wait for its lock */
    uint32_t *firsts;  /* by process: its first thread; CAST_NONE */
    uint32_t *nexts;   /* by thread: the next one of its process */
    struct {
        waits_horizon_f horizon;
        const void *client;
    } clients[SCENE_CLIENTS_MAX];
    size_t clients_count;
    scene_thread_f thread_from;
    void *thread_client;
};

static ck_time_t scene_horizon(const void *state, ck_time_t now)
{
    const struct scene *scene = state;
    ck_time_t horizon = sockets_horizon(scene->sockets, now);

    for (size_t i = 0; i < scene->clients_count; i++) {
        ck_time_t time =
            scene->clients[i].horizon(scene->clients[i].client, now);

        horizon = time < horizon ? time : horizon;
    }
    return horizon;
}

/* The threads of each process. */
static void threads_chain(struct scene *scene)
{
    const struct cast *cast = scene->cast;

    for (size_t i = 0; i < cast->processes_count; i++) {
        scene->firsts[i] = CAST_NONE;
    }
    for (uint32_t i = 0; i < cast->threads_count; i++) {
        uint32_t *first = &scene->firsts[cast->threads[i].process];

        scene->held[i] = INT64_MIN;
        scene->nexts[i] = *first;
        *first = i;
    }
}

struct scene *scene_create(const struct cast *cast,
                           const struct align *align,
                           uint64_t eager_bytes)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL) {
        return NULL;
    }
    scene->cast = cast;
    scene->host = host_create(cast, 0);
    scene->waits = waits_create(cast, align, eager_bytes);
    scene->activities = activities_create(cast);
    scene->evidence = evidence_create(cast);
    scene->shadow = shadow_create();
    scene->work = work_create(cast->processes_count);
    scene->commands = commands_create(cast);
    scene->unrecorded = unrecorded_create(cast);
    scene->sockets = sockets_create(cast, SOCKETS_OF_RANKS);
    scene->inside = calloc(cast->threads_count + 1, sizeof(*scene->inside));
    scene->held = calloc(cast->threads_count + 1, sizeof(*scene->held));
    scene->firsts =
        malloc((cast->processes_count + 1) * sizeof(*scene->firsts));
    scene->nexts = malloc((cast->threads_count + 1) * sizeof(*scene->nexts));
    if (scene->host == NULL || scene->waits == NULL ||
        scene->activities == NULL || scene->evidence == NULL ||
        scene->shadow == NULL || scene->work == NULL ||
        scene->commands == NULL || scene->unrecorded == NULL ||
        scene->sockets == NULL || scene->inside == NULL ||
        scene->held == NULL || scene->firsts == NULL || scene->nexts == NULL) {
        scene_destroy(scene);
        return NULL;
    }
    threads_chain(scene);
    waits_horizon(scene->waits, scene_horizon, scene);
    return scene;
}

void scene_destroy(struct scene *scene)
{
    if (scene == NULL) {
        return;
    }
    host_destroy(scene->host);
    waits_destroy(scene->waits);
    activities_destroy(scene->activities);
    evidence_destroy(scene->evidence);
    shadow_destroy(scene->shadow);
    work_destroy(scene->work);
    commands_destroy(scene->commands);
    unrecorded_destroy(scene->unrecorded);
    sockets_destroy(scene->sockets);
    free(scene->inside);
    free(scene->held);
    free(scene->firsts);
    free(scene->nexts);
    free(scene);
}

void scene_client(struct scene *scene, waits_horizon_f f, const void *client)
{
    assert(scene->clients_count < SCENE_CLIENTS_MAX);
    scene->clients[scene->clients_count].horizon = f;
    scene->clients[scene->clients_count++].client = client;
}

void scene_thread_client(struct scene *scene, scene_thread_f f, void *client)
{
    scene->thread_from = f;
    scene->thread_client = client;
}

ck_time_t scene_held(const struct scene *scene, uint32_t thread)
{
    return scene->held[thread];
}

/* What ended by then on the thread may go. 0, or -1 with ENOMEM. */
static int thread_horizon(const struct scene *scene,
                          uint32_t thread,
                          size_t spans,
                          ck_time_t now,
                          ck_time_t *horizon)
{
    ck_time_t from = INT64_MAX;

    if (scene->thread_from != NULL &&
        scene->thread_from(scene->thread_client, thread, spans, &from) != 0) {
        return -1;
    }
    *horizon = scene_horizon(scene, now);
    *horizon = from < *horizon ? from : *horizon;
    return 0;
}

const struct host *scene_host(const struct scene *scene)
{
    return scene->host;
}

const struct cast *scene_cast(const struct scene *scene)
{
    return scene->cast;
}

const struct work *scene_work(const struct scene *scene)
{
    return scene->work;
}

const struct commands *scene_commands(const struct scene *scene)
{
    return scene->commands;
}

struct shadow *scene_shadow(struct scene *scene)
{
    return scene->shadow;
}

struct match_counts scene_counts(const struct scene *scene)
{
    return waits_counts(scene->waits);
}

struct waits *scene_waits(const struct scene *scene)
{
    return scene->waits;
}

bool scene_error(const struct scene *scene,
                 uint32_t thread,
                 ck_time_t start,
                 struct wait *wait)
{
    return waits_error(scene->waits, thread, start, wait);
}

const struct sockets_stretch *scene_stretch(const struct scene *scene)
{
    return scene->has_stretch ? &scene->stretch : NULL;
}

uint32_t scene_main(const struct scene *scene, uint32_t process)
{
    const struct cast *cast = scene->cast;

    return host_thread(scene->host, process, cast->processes[process].pid);
}

bool scene_data_wait(const struct scene *scene,
                     uint32_t thread,
                     const struct host_span *call,
                     ck_time_t time,
                     struct wait *wait)
{
    uint32_t process = scene->cast->threads[thread].process;
    const struct sockets_stretch *stretch;

    wait->until = INT64_MAX;
    if (call->kind != CK_KIND_POSIX || thread != scene_main(scene, process) ||
        !sockets_is_wait(scene->sockets, call)) {
        return false;
    }
    stretch = sockets_awaited(scene->sockets, process, time, &wait->until);
    if (stretch == NULL) {
        return false;
    }
    *wait = (struct wait){.kind = WAIT_LATE_DATA,
                          .until = stretch->part.end,
                          .thread = scene_main(scene, stretch->peer),
                          .mark = INT64_MIN};
    return wait->thread != HOST_NONE &&
           scene_error(scene, thread, call->start, wait);
}

int64_t scene_activity(struct scene *scene, const struct host_state *did)
{
    return activity_number(scene->activities, did);
}

int64_t scene_activity_common(struct scene *scene, uint32_t number)
{
    return activity_common(scene->activities, number);
}

int64_t scene_activity_site(struct scene *scene, uint32_t number)
{
    return activity_site(scene->activities, number);
}

enum cause scene_activity_device(const struct scene *scene, uint32_t number)
{
    return activity_device(scene->activities, number);
}

const char *scene_activity_range(const struct scene *scene, uint32_t number)
{
    return activity_range(scene->activities, number);
}

uint32_t scene_activity_call(const struct scene *scene, uint32_t number)
{
    return activity_call(scene->activities, number);
}

enum cause scene_activity_cause(const struct scene *scene, uint32_t number)
{
    return activity_cause(scene->activities, number);
}

enum cause scene_cause(const struct scene *scene,
                       const struct host_state *did,
                       uint32_t number)
{
    static const enum cause offs[] = {
        [HOST_ON] = CAUSE_HOST_COMPUTE,
        [HOST_PREEMPTED] = CAUSE_OFFCPU_RUNNABLE,
        [HOST_BLOCKED] = CAUSE_OFFCPU_BLOCKED,
    };

    return did->call == NULL ? offs[did->off]
                             : activity_cause(scene->activities, number);
}

struct report_activity scene_activity_report(const struct scene *scene,
                                             uint32_t number)
{
    return activity_report(scene->activities, scene->evidence, number);
}

/* ---- what is known beyond calls and ranges ------------------------------ */

/* A piece of a thread's time, and the activity that it was. */
struct piece {
    struct scene *scene;
    uint32_t thread;
    uint32_t activity;
    unsigned holders; /* of locks that were followed to it */
};

static int sample_weigh(void *state, const struct host_sample *sample)
{
    const struct piece *piece = state;
    struct evidence_item item = {
        .activity = piece->activity,
        .kind = EVIDENCE_SAMPLE,
        .a = piece->scene->cast->threads[piece->thread].process,
        .b = sample->stack,
        .weight = sample->weight,
    };

    return evidence_add(piece->scene->evidence, &item);
}

static int piece_weigh(struct piece *piece,
                       struct region part,
                       const struct host_state *did);

/* What the holder of a lock did while a thread waited for it. */
struct holding {
    const struct piece *waiting;
    uint32_t holder; /* thread */
};

static int
holder_take(void *state, struct region part, const struct host_state *did)
{
    const struct holding *holding = state;
    struct scene *scene = holding->waiting->scene;
    struct evidence_item item = {.activity = holding->waiting->activity,
                                 .kind = EVIDENCE_HOLDER,
                                 .a = holding->holder,
                                 .b = CAST_NONE,
                                 .weight = region_length(part)};

    if (did->is_known) {
        struct piece piece = {.scene = scene,
                              .thread = holding->holder,
                              .holders = holding->waiting->holders + 1};
        int64_t number = activity_number(scene->activities, did);

        if (number < 0) {
            return -1;
        }
        piece.activity = item.b = (uint32_t)number;
        if (piece_weigh(&piece, part, did) != 0) {
            return -1;
        }
    }
    return evidence_add(scene->evidence, &item);
}

static int
off_add(const struct piece *piece, enum evidence_off off, ck_time_t ns)
{
    struct evidence_item item = {.activity = piece->activity,
                                 .kind = EVIDENCE_OFF,
                                 .a = off,
                                 .weight = ns};

    return ns > 0 ? evidence_add(piece->scene->evidence, &item) : 0;
}

static int call_weigh(struct piece *piece,
                      struct region part,
                      const struct host_span *call)
{
    struct scene *scene = piece->scene;
    struct evidence_item path = {.activity = piece->activity,
                                 .kind = EVIDENCE_PATH,
                                 .a = call->process,
                                 .b = call->path,
                                 .weight = region_length(part)};
    struct holding holding = {.waiting = piece, .holder = HOST_NONE};
    ck_time_t preempted = host_preempted(scene->host, piece->thread, part);

    if (off_add(piece, EVIDENCE_PREEMPTED, preempted) != 0 ||
        off_add(piece, EVIDENCE_ON, path.weight - preempted) != 0) {
        return -1;
    }
    if (call->path != 0 && evidence_add(scene->evidence, &path) != 0) {
        return -1;
    }
    if (call->holder != 0 && piece->holders < SCENE_HOLDERS_MAX) {
        holding.holder = host_thread(scene->host, call->process, call->holder);
    }
    return holding.holder == HOST_NONE ? 0
                                       : host_walk(scene->host, holding.holder,
                                                   part, holder_take, &holding);
}

static int piece_weigh(struct piece *piece,
                       struct region part,
                       const struct host_state *did)
{
    static const enum evidence_off offs[] = {
        [HOST_ON] = EVIDENCE_ON,
        [HOST_PREEMPTED] = EVIDENCE_PREEMPTED,
        [HOST_BLOCKED] = EVIDENCE_BLOCKED,
    };

    if (did->call != NULL) {
        return call_weigh(piece, part, did->call);
    }
    if (off_add(piece, offs[did->off], region_length(part)) != 0) {
        return -1;
    }
    return host_samples(piece->scene->host, piece->thread, part, sample_weigh,
                        piece);
}

int64_t scene_did(struct scene *scene,
                  uint32_t thread,
                  struct region part,
                  const struct host_state *did)
{
    int64_t number = activity_number(scene->activities, did);
    struct piece piece = {
        .scene = scene, .thread = thread, .activity = (uint32_t)number};

    return number < 0 || piece_weigh(&piece, part, did) != 0 ? -1 : number;
}

/* ---- taking ------------------------------------------------------------- */

/* Where a thread's next span goes; NULL with ENOMEM. */
static struct host_span *span_place(struct scene *scene,
                                    const struct timeline_event *event,
                                    uint32_t thread)
{
    struct host_span *span = host_next(scene->host, thread);
    ck_time_t horizon;

    if (span != NULL) {
        return span;
    }
    return thread_horizon(scene, thread, host_count(scene->host, thread),
                          event->start, &horizon) == 0
               ? host_place(scene->host, thread, horizon)
               : NULL;
}

static int overhead_take(struct scene *scene,
                         const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct shadow_part part = {{event->start, event->end},
                               CAUSE_PROFILER,
                               CAST_NONE,
                               event->process,
                               (uint32_t)(record->extra >> 32)};

    return shadow_add(scene->shadow, &part, scene_horizon(scene, event->start));
}

/* A call of libc that a library makes for its own is a part of that library's
 * call. */
static bool is_part(struct scene *scene, const struct timeline_event *event)
{
    ck_time_t *inside;

    if (event->thread >= scene->cast->threads_count) {
        return false;
    }
    inside = &scene->inside[event->thread];
    if (event->record->kind == CK_KIND_POSIX) {
        return event->start < *inside;
    }
    *inside = event->end > *inside ? event->end : *inside;
    return false;
}

/* A call of libc: on what it was made. */
static void libc_take(struct scene *scene,
                      const struct ck_call *record,
                      struct host_span *span)
{
    bool is_lock = record->object == 0 && record->arg != 0;
    uint32_t holder = HOST_NONE;

    span->holder = is_lock ? (uint32_t)record->extra : 0;
    span->path = record->object != 0 ? (uint32_t)record->extra : 0;
    if (span->holder != 0) {
        holder = host_thread(scene->host, span->process, span->holder);
    }
    if (holder != HOST_NONE && span->end > scene->held[holder]) {
        scene->held[holder] = span->end;
    }
}

/* The thread that was in a call. */
static uint32_t call_thread(const struct scene *scene,
                            const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;

    if (ck_kind_class(record->e.kind) != CK_CLASS_CALL || record->call != 0 ||
        record->extra >> 32 == 0) {
        return event->thread;
    }
    /* Told by the device's tracer, on a thread of its own. */
    return host_thread(scene->host, event->process,
                       (uint32_t)(record->extra >> 32));
}

static int call_take(struct scene *scene, const struct timeline_event *event)
{
    /* The site and the number lie at the same place in all classes. */
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct host_span *span;
    uint32_t thread;

    if (record->e.kind == CK_KIND_OVERHEAD) {
        return overhead_take(scene, event);
    }
    if (is_part(scene, event)) {
        return 0;
    }
    scene->has_stretch = record->e.kind == CK_KIND_POSIX &&
                         sockets_take(scene->sockets, event, &scene->stretch);
    thread = call_thread(scene, event);
    if (thread >= scene->cast->threads_count) {
        return 0;
    }
    span = span_place(scene, event, thread);
    if (span == NULL) {
        return -1;
    }
    *span = (struct host_span){.start = event->start,
                               .end = event->end,
                               .site = record->site,
                               .process = event->process,
                               .name = record->e.name,
                               .call = record->call,
                               .kind = record->e.kind,
                               .is_call = true};
    if (record->e.kind == CK_KIND_POSIX) {
        libc_take(scene, record, span);
    }
    host_placed(scene->host, thread);
    return 0;
}

static int off_take(struct scene *scene, const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    struct region part = {event->start, event->end};
    uint32_t thread =
        host_told(scene->host, scene->cast, event, (uint32_t)mark->value);
    ck_time_t horizon = INT64_MIN;

    if (thread == HOST_NONE) {
        return 0;
    }
    if (!host_has_off_room(scene->host, thread) &&
        thread_horizon(scene, thread, SIZE_MAX, event->start, &horizon) != 0) {
        return -1;
    }
    return host_add_off(scene->host, thread, part,
                        mark->e.kind == CK_KIND_PREEMPTED ? HOST_PREEMPTED
                                                          : HOST_BLOCKED,
                        horizon);
}

static int sample_take(struct scene *scene, const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    bool is_sound = record->stack <= UINT32_MAX && record->weight > 0 &&
                    record->weight <= UINT32_MAX;
    struct host_sample sample = {(uint32_t)record->stack,
                                 (uint32_t)record->weight};
    uint32_t thread = host_told(scene->host, scene->cast, event, record->tid);
    ck_time_t horizon = INT64_MIN;

    if (thread == HOST_NONE || !is_sound) {
        return 0;
    }
    if (!host_has_sample_room(scene->host, thread) &&
        thread_horizon(scene, thread, SIZE_MAX, event->start, &horizon) != 0) {
        return -1;
    }
    return host_add_sample(scene->host, thread, event->start, &sample, horizon);
}

static int range_take(struct scene *scene, const struct timeline_event *event)
{
    struct host_span *span;

    if (event->thread >= scene->cast->threads_count) {
        return 0;
    }
    span = span_place(scene, event, event->thread);
    if (span == NULL) {
        return -1;
    }
    *span = (struct host_span){.start = event->start,
                               .end = event->end,
                               .process = event->process,
                               .name = event->record->name,
                               .kind = event->record->kind};
    host_placed(scene->host, event->thread);
    return 0;
}

static int mark_take(struct scene *scene, const struct timeline_event *event)
{
    switch (event->record->kind) {
    case CK_KIND_RANGE:
        return range_take(scene, event);
    case CK_KIND_PREEMPTED:
    case CK_KIND_BLOCKED:
        return off_take(scene, event);
    default:
        return 0;
    }
}

static int lost_take(struct scene *scene, const struct timeline_event *event)
{
    const struct ck_counter *lost = (const struct ck_counter *)event->record;
    /* Work that had not ended is told by its commands. */
    bool is_known = lost->reason == CK_LOST_UNDONE &&
                    commands_is_known(scene->commands, event->process);
    /* A device's tracer belongs to its process. */
    bool is_device = lost->reason == CK_LOST_DEVICE;
    struct shadow_part part = {
        {event->start, event->start + lost->enabled},
        CAUSE_LOST_DATA,
        is_device ? CAST_NONE : scene->cast->processes[event->process].agent,
        is_device ? event->process : CAST_NONE,
        lost->tid};

    return is_known ? 0
                    : shadow_add(scene->shadow, &part,
                                 scene_horizon(scene, event->start));
}

/* A copy says of the call that launched it which way it went, and whether the
 * call waited for it: "cudaMemcpyAsync" says neither. */
static void copy_take(struct scene *scene, const struct timeline_event *event)
{
    const struct ck_copy *copy = (const struct ck_copy *)event->record;
    uint32_t thread;

    if (ck_kind_class(copy->e.kind) != CK_CLASS_COPY || copy->call == 0) {
        return;
    }
    thread = host_thread(scene->host, event->process, copy->tid);
    if (thread != HOST_NONE) {
        host_copied(scene->host, thread, copy->call, copy->e.kind, event->end);
    }
}

/* Nobody asks what the devices of a process did before the calls that are kept
 * of its threads. */
static ck_time_t calls_from(const struct scene *scene, uint32_t process)
{
    ck_time_t from = INT64_MAX;

    for (uint32_t thread = scene->firsts[process]; thread != CAST_NONE;
         thread = scene->nexts[thread]) {
        ck_time_t first = host_first_start(scene->host, thread);

        from = first < from ? first : from;
    }
    return from;
}

/* The record of what a CUDA call launched came, whatever its times are. All of
 * its head lies alike in both classes. */
static void work_came(struct scene *scene, const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    uint32_t thread;

    if (record->call == 0 ||
        !unrecorded_has(scene->unrecorded, event->process)) {
        return;
    }
    thread = host_thread(scene->host, event->process, record->tid);
    if (thread != HOST_NONE) {
        unrecorded_work(scene->unrecorded, thread, record->call);
    }
}

static int work_take(struct scene *scene, const struct timeline_event *event)
{
    struct region part = {event->start, event->end};
    struct work_item *item;

    work_came(scene, event);
    if (ck_kind_class(event->record->kind) == CK_CLASS_KERNEL) {
        unrecorded_kernel(scene->unrecorded,
                          (event->record->flags & CK_FLAG_BAD_TIME) == 0);
    }
    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return 0;
    }
    copy_take(scene, event);
    if ((work_is_full(scene->work, event->process) &&
         work_make_room(scene->work, event->process,
                        calls_from(scene, event->process)) != 0) ||
        work_place(scene->work, event->process, part, &item) != 0) {
        return -1;
    }
    if (item == NULL) {
        return 0;
    }
    item->name = event->record->name;
    item->is_copy = ck_kind_class(event->record->kind) == CK_CLASS_COPY;
    if (item->is_copy) {
        const struct ck_copy *copy = (const struct ck_copy *)event->record;

        item->tid = copy->tid;
        item->call = copy->call;
    } else {
        const struct ck_kernel *kernel =
            (const struct ck_kernel *)event->record;

        item->tid = kernel->tid;
        item->call = kernel->call;
    }
    return 0;
}

static int api_take(struct scene *scene, const struct timeline_event *event)
{
    switch (event->record->kind) {
    case CK_KIND_API_OPENCL:
        return commands_take(scene->commands, event);
    case CK_KIND_API_CUDA_RUNTIME:
    case CK_KIND_API_CUDA_DRIVER:
        return unrecorded_launch(scene->unrecorded, event);
    default:
        return 0;
    }
}

int scene_close(struct scene *scene)
{
    unrecorded_close(scene->unrecorded);
    for (uint32_t i = 0; i < scene->cast->processes_count; i++) {
        struct shadow_part part = {
            .cause = CAUSE_LOST_DATA, .agent = CAST_NONE, .process = i};

        if (unrecorded_count(scene->unrecorded, i, &part.part) > 0 &&
            shadow_add(scene->shadow, &part, INT64_MIN) != 0) {
            return -1;
        }
    }
    return 0;
}

struct report_launches scene_launches(const struct scene *scene)
{
    return unrecorded_report(scene->unrecorded);
}

int scene_take(struct scene *scene,
               const struct timeline_event *event,
               int64_t mark)
{
    unsigned kind = event->record->kind;

    scene->has_stretch = false;
    switch (ck_kind_class(kind)) {
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        if (waits_take(scene->waits, event, mark) != 0) {
            return -1;
        }
        /* A COMPLETE is no call: it says what one completed. Nor is a
         * persistent request's transfer: its start has a record of its own. */
        return kind == CK_KIND_COMPLETE ||
                       (event->record->flags & CK_FLAG_PERSISTENT) != 0
                   ? 0
                   : call_take(scene, event);
    case CK_CLASS_CALL:
        return api_take(scene, event) != 0 ? -1 : call_take(scene, event);
    case CK_CLASS_AWAIT:
        return commands_take(scene->commands, event);
    case CK_CLASS_MARK:
        return mark_take(scene, event);
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        return commands_take(scene->commands, event) != 0
                   ? -1
                   : work_take(scene, event);
    case CK_CLASS_SAMPLE:
        return sample_take(scene, event);
    case CK_CLASS_COUNTER:
        if (kind != CK_KIND_LOST) {
            return 0;
        }
        return waits_take(scene->waits, event, mark) != 0
                   ? -1
                   : lost_take(scene, event);
    default:
        return 0;
    }
}
