/* ledger.c - why each device was idle, to the nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An idle interval is looked at when the merge has passed the start of the
 * operation that ends it: all that began before is known then. What host
 * threads did is kept back to the oldest interval that is still open.
 */
#include "merge/analysis/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/launching.h"
#include "merge/analysis/sharing.h"

/* An idle interval [start, end) whose last moment the merge may not have
 * passed yet, and the operation that ends it. */
struct gap {
    ck_time_t start;
    ck_time_t end;
    ck_time_t queued; /* 0 = not known */
    uint32_t process;
    uint32_t tid;
    uint32_t call;
    uint32_t name; /* 0 = has none */
    bool is_first; /* the device did nothing before it */
};

#define RIVALS 7 /* operations that begin at once, beyond the first */

struct device {
    bool is_used;
    bool has_gap;
    ck_time_t frontier; /* latest end of its operations */
    uint32_t process;   /* of the latest operation, and its launching thread */
    uint32_t tid;
    struct gap gap;
    struct gap rivals[RIVALS]; /* the same, if other operations end it */
    unsigned rivals_count;
};

struct ledger {
    struct books books;
    struct device *devices;
    uint32_t *waiting; /* devices with a gap */
    size_t waiting_count;
    ck_time_t due; /* earliest end of a gap that waits */
};

static ck_time_t ledger_horizon(const void *state, ck_time_t now);

static bool is_shown(const struct cast *cast, uint32_t device)
{
    return cast_is_device_wanted(cast, device);
}

struct ledger *ledger_create(const struct cast *cast,
                             struct scene *scene,
                             struct steps *steps,
                             struct region region)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));

    if (ledger == NULL) {
        return NULL;
    }
    ledger->books.cast = cast;
    ledger->books.region = region;
    ledger->books.scene = scene;
    ledger->books.steps = steps;
    ledger->due = INT64_MAX;
    ledger->books.rows = rows_create(cast, scene, is_shown, 0);
    ledger->devices =
        calloc(cast->physicals_count + 1, sizeof(*ledger->devices));
    ledger->waiting =
        calloc(cast->physicals_count + 1, sizeof(*ledger->waiting));
    ledger->books.sums = calloc((cast->physicals_count + 1) * CAUSES,
                                sizeof(*ledger->books.sums));
    if (ledger->books.rows == NULL || ledger->books.sums == NULL ||
        ledger->devices == NULL || ledger->waiting == NULL) {
        ledger_destroy(ledger);
        return NULL;
    }
    if (cast->physicals_count > 0) {
        scene_client(scene, ledger_horizon, ledger);
    }
    return ledger;
}

void ledger_destroy(struct ledger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    rows_destroy(ledger->books.rows);
    free(ledger->books.sums);
    delaysums_destroy(ledger->books.delays);
    free(ledger->devices);
    free(ledger->waiting);
    free(ledger);
}

int ledger_delay(struct ledger *ledger, const struct delay *delay)
{
    ledger->books.delays = delaysums_create();
    ledger->books.delay = delay;
    return ledger->books.delays == NULL ? -1 : 0;
}

struct delaysums *ledger_delays(const struct ledger *ledger)
{
    return ledger->books.delays;
}

/* From when the launching call was entered on. */
static int
launch_add(struct sharing *sharing, uint32_t call, struct region launch)
{
    struct books *books = sharing->books;
    struct region part = launch;
    int64_t number = CAST_NONE;

    if (region_clip(books->region, &part.start, &part.end)) {
        number = launching_call(books->scene, sharing->thread, call, launch);
    }
    return number < 0 ? -1
                      : sharing_plain(sharing, launch, CAUSE_LAUNCH_LATENCY,
                                      (uint32_t)number);
}

/* The work was there, and did not begin. */
static int
queued_add(struct sharing *sharing, const struct gap *gap, struct region part)
{
    int64_t number =
        launching_queued(sharing->books->scene, gap->process, gap->name);

    return number < 0 ? -1
                      : sharing_plain(sharing, part, CAUSE_KERNEL_GAP,
                                      (uint32_t)number);
}

/* The device had nothing yet: apart from one call maybe, a matter of much. */
static int startup_add(struct sharing *sharing, struct region gap)
{
    struct region part = gap;
    int64_t number = CAST_NONE;

    if (!region_clip(sharing->books->region, &gap.start, &gap.end)) {
        return 0;
    }
    part = gap;
    if (sharing->thread != HOST_NONE) {
        number =
            launching_longest(sharing->books->scene, sharing->thread, &part);
    }
    if (number < 0) {
        return -1;
    }
    if (number == CAST_NONE) {
        return sharing_plain(sharing, gap, CAUSE_STARTUP, CAST_NONE);
    }
    return sharing_plain(sharing, (struct region){gap.start, part.start},
                         CAUSE_STARTUP, CAST_NONE) != 0 ||
                   sharing_plain(sharing, part, CAUSE_STARTUP,
                                 (uint32_t)number) != 0
               ? -1
               : sharing_plain(sharing, (struct region){part.end, gap.end},
                               CAUSE_STARTUP, CAST_NONE);
}

/* When the operation that ends the gap was launched. */
static ck_time_t
gap_launch(const struct ledger *ledger, const struct gap *gap, uint32_t thread)
{
    ck_time_t enter;

    if (thread != HOST_NONE &&
        host_call(scene_host(ledger->books.scene), thread, gap->call, &enter)) {
        return enter < gap->end ? enter : gap->end;
    }
    return gap->queued != 0 && gap->queued < gap->end ? gap->queued : gap->end;
}

static int gap_close(struct ledger *ledger, uint32_t index)
{
    struct device *device = &ledger->devices[index];
    const struct gap *gap = &device->gap;
    struct sharing sharing = {
        .books = &ledger->books,
        .device = index,
        .thread = host_thread(scene_host(ledger->books.scene), gap->process,
                              gap->tid),
        .begin = ledger->books.cast->processes[gap->process].begin,
        .row = {.device = index,
                .rank = ledger->books.cast->processes[gap->process].rank}};
    struct region starved = {gap->start, gap->end};
    struct region launch = starved;
    ck_time_t enter = gap_launch(ledger, gap, sharing.thread);

    device->has_gap = false;
    shadow_aim(scene_shadow(ledger->books.scene),
               ledger->books.cast->processes[gap->process].agent, gap->process,
               gap->tid, starved);
    if (gap->is_first) {
        return startup_add(&sharing, starved);
    }
    if (enter <= gap->start) {
        return queued_add(&sharing, gap, starved);
    }
    starved.end = launch.start = enter;
    if (sharing.thread == HOST_NONE ||
        !host_is_seen(scene_host(ledger->books.scene), sharing.thread)) {
        if (sharing_plain(&sharing, starved, CAUSE_NO_HOST_DATA, CAST_NONE) !=
            0) {
            return -1;
        }
    } else if (region_clip(ledger->books.region, &starved.start,
                           &starved.end) &&
               host_walk(scene_host(ledger->books.scene), sharing.thread,
                         starved, sharing_host, &sharing) != 0) {
        return -1;
    }
    return launch_add(&sharing, gap->call, launch);
}

static ck_time_t launch_of(const struct ledger *ledger, const struct gap *gap)
{
    return gap_launch(
        ledger, gap,
        host_thread(scene_host(ledger->books.scene), gap->process, gap->tid));
}

/* Of several that begin at once the one launched first ends the gap; a launch
 * that is entered just then is known by now. */
static void rivals_take(const struct ledger *ledger, struct device *device)
{
    for (unsigned i = 0; i < device->rivals_count; i++) {
        if (launch_of(ledger, &device->rivals[i]) <
            launch_of(ledger, &device->gap)) {
            device->gap = device->rivals[i];
        }
    }
}

/* Close the gaps that ended before `now`. */
static int gaps_close(struct ledger *ledger, ck_time_t now)
{
    size_t kept = 0;

    if (now <= ledger->due) {
        return 0;
    }
    ledger->due = INT64_MAX;
    for (size_t i = 0; i < ledger->waiting_count; i++) {
        uint32_t index = ledger->waiting[i];
        ck_time_t end = ledger->devices[index].gap.end;

        if (end >= now) {
            ledger->waiting[kept++] = index;
            ledger->due = end < ledger->due ? end : ledger->due;
            continue;
        }
        rivals_take(ledger, &ledger->devices[index]);
        if (gap_close(ledger, index) != 0) {
            return -1;
        }
    }
    ledger->waiting_count = kept;
    return 0;
}

/* What began before and ended by then is of no interest any more. */
static ck_time_t ledger_horizon(const void *state, ck_time_t now)
{
    const struct ledger *ledger = state;
    ck_time_t horizon = now;

    for (size_t i = 0; i < ledger->books.cast->physicals_count; i++) {
        const struct device *device = &ledger->devices[i];
        ck_time_t start =
            device->has_gap ? device->gap.start : device->frontier;

        if (device->is_used && start < horizon &&
            start < ledger->books.region.end) {
            horizon = start;
        }
    }
    return horizon;
}

/* What is seen first of the process is not its first. */
static bool is_beginning_gone(const struct ledger *ledger, uint32_t process)
{
    uint32_t agent = ledger->books.cast->processes[process].agent;

    return ledger->books.cast->agents[agent].discarded.segments > 0;
}

static int operation_take(struct ledger *ledger,
                          const struct timeline_event *event,
                          const struct gap *operation,
                          uint32_t number)
{
    const struct cast_device *found =
        cast_device(ledger->books.cast, event->process, number);
    struct device *device;

    if (found == NULL || event->start >= event->end ||
        (event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return 0;
    }
    device = &ledger->devices[found->physical];
    if (device->has_gap) {
        if (event->start == device->gap.end && device->rivals_count < RIVALS) {
            struct gap *rival = &device->rivals[device->rivals_count++];

            *rival = *operation;
            rival->start = device->gap.start;
            rival->end = device->gap.end;
            rival->is_first = device->gap.is_first;
        }
    } else if (!device->is_used || event->start > device->frontier) {
        device->gap = *operation;
        device->gap.start = device->is_used ? device->frontier : INT64_MIN;
        device->gap.end = event->start;
        device->gap.is_first =
            !device->is_used && !is_beginning_gone(ledger, event->process);
        device->has_gap = true;
        device->rivals_count = 0;
        ledger->waiting[ledger->waiting_count++] = found->physical;
        ledger->due = event->start < ledger->due ? event->start : ledger->due;
    }
    if (!device->is_used || event->end > device->frontier) {
        device->frontier = event->end;
        device->process = operation->process;
        device->tid = operation->tid;
    }
    device->is_used = true;
    return 0;
}

static int device_take(struct ledger *ledger,
                       const struct timeline_event *event)
{
    if (event->record->kind >= CK_KIND_COPY_H2D) {
        const struct ck_copy *copy = (const struct ck_copy *)event->record;
        struct gap operation = {.queued = copy->queued,
                                .process = event->process,
                                .tid = copy->tid,
                                .call = copy->call,
                                .name = copy->e.name};

        return operation_take(ledger, event, &operation, copy->device);
    } else {
        const struct ck_kernel *kernel =
            (const struct ck_kernel *)event->record;
        struct gap operation = {.queued = kernel->queued,
                                .process = event->process,
                                .tid = kernel->tid,
                                .call = kernel->call,
                                .name = kernel->e.name};

        return operation_take(ledger, event, &operation, kernel->device);
    }
}

int ledger_settle(struct ledger *ledger, ck_time_t now)
{
    return ledger->waiting_count > 0 ? gaps_close(ledger, now) : 0;
}

int ledger_take(void *consumer, const struct timeline_event *event)
{
    struct ledger *ledger = consumer;

    return timeline_is_device(event) ? device_take(ledger, event) : 0;
}

/* From its last operation on a device has no work. */
static int tail_add(struct ledger *ledger, uint32_t index)
{
    const struct device *device = &ledger->devices[index];
    const struct cast_physical *physical =
        &ledger->books.cast->physicals[index];
    struct sharing sharing = {.books = &ledger->books,
                              .device = index,
                              .row = {.device = index,
                                      .rank = physical->ranks_count > 0
                                                  ? physical->ranks[0]
                                                  : CAST_RANK_UNKNOWN}};
    struct region tail = ledger->books.region;

    if (device->is_used && device->frontier > tail.start) {
        tail.start = device->frontier;
    }
    shadow_aim(scene_shadow(ledger->books.scene),
               ledger->books.cast->processes[physical->process].agent,
               physical->process, 0, tail);
    sharing.thread = device->is_used
                         ? host_thread(scene_host(ledger->books.scene),
                                       device->process, device->tid)
                         : HOST_NONE;
    sharing.from = tail.start;
    if (sharing.thread != HOST_NONE && tail.start < tail.end &&
        host_walk(scene_host(ledger->books.scene), sharing.thread, tail,
                  sharing_tail, &sharing) != 0) {
        return -1;
    }
    tail.start = sharing.from;
    return sharing_plain(&sharing, tail, CAUSE_END_OF_WORK, CAST_NONE);
}

int ledger_finish(struct ledger *ledger)
{
    struct ledger_row *rows;
    size_t count;

    if (gaps_close(ledger, INT64_MAX) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < ledger->books.cast->physicals_count; i++) {
        if (tail_add(ledger, i) != 0) {
            return -1;
        }
    }
    if (ledger->books.steps == NULL ||
        steps_count(ledger->books.steps) < LEDGER_STEPS_MIN) {
        rows = rows_all(ledger->books.rows, &count);
        for (size_t i = 0; i < count; i++) {
            rows[i].is_start = false;
        }
        if (ledger->books.delays != NULL) {
            delaysums_forget_starts(ledger->books.delays);
        }
    }
    return 0;
}

const struct ledger_row *ledger_rows(const struct ledger *ledger, size_t *count)
{
    return rows_all(ledger->books.rows, count);
}

ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause)
{
    return ledger->books.sums[device * CAUSES + cause];
}
