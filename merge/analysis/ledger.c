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

#include "merge/analysis/chain.h"
#include "merge/analysis/launching.h"

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
    struct gap gap;
    struct gap rivals[RIVALS]; /* the same, if other operations end it */
    unsigned rivals_count;
    ck_time_t sums[CAUSES];
};

struct ledger {
    const struct cast *cast; /* borrowed */
    struct region region;
    struct scene *scene; /* borrowed */
    struct steps *steps; /* borrowed; NULL = nobody asks */
    struct device *devices;
    uint32_t *waiting; /* devices with a gap */
    size_t waiting_count;
    ck_time_t due; /* earliest end of a gap that waits */
    struct rows *rows;
    const struct delay *delay; /* borrowed; NULL = nobody asks */
    struct delaysums *delays;
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
    ledger->cast = cast;
    ledger->region = region;
    ledger->scene = scene;
    ledger->steps = steps;
    ledger->due = INT64_MAX;
    ledger->rows = rows_create(cast, scene, is_shown, 0);
    ledger->devices =
        calloc(cast->physicals_count + 1, sizeof(*ledger->devices));
    ledger->waiting =
        calloc(cast->physicals_count + 1, sizeof(*ledger->waiting));
    if (ledger->rows == NULL || ledger->devices == NULL ||
        ledger->waiting == NULL) {
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
    rows_destroy(ledger->rows);
    delaysums_destroy(ledger->delays);
    free(ledger->devices);
    free(ledger->waiting);
    free(ledger);
}

int ledger_delay(struct ledger *ledger, const struct delay *delay)
{
    ledger->delays = delaysums_create();
    ledger->delay = delay;
    return ledger->delays == NULL ? -1 : 0;
}

struct delaysums *ledger_delays(const struct ledger *ledger)
{
    return ledger->delays;
}

/* A gap being shared out. */
struct sharing {
    struct ledger *ledger;
    uint32_t device;
    const struct gap *gap;
    uint32_t thread;       /* h, HOST_NONE */
    ck_time_t error;       /* of the wait, for each rank that is blamed */
    struct ledger_row row; /* what the next pieces are */
    struct delay_of delay; /* what the wait cost */
    uint32_t site;         /* of the call that is waited in */
};

static int row_add(struct ledger *ledger, const struct ledger_row *what)
{
    struct ledger_row *row = rows_find(ledger->rows, what);

    if (row == NULL) {
        return -1;
    }
    row->ns += what->ns;
    row->count++;
    row->error += what->error;
    ledger->devices[what->device].sums[what->cause] += what->ns;
    return 0;
}

/* What a piece of a wait cost. */
static int delay_add(const struct sharing *sharing,
                     const struct ledger_row *row)
{
    struct ledger *ledger = sharing->ledger;
    struct delaysums_group group = {.site = sharing->site,
                                    .blamed = row->blamed,
                                    .wait = row->wait,
                                    .is_start = row->is_start};

    return ledger->delays == NULL || row->cause != CAUSE_MPI_WAIT
               ? 0
               : delaysums_add(ledger->delays, &group, row->ns,
                               &sharing->delay);
}

/* Does the row's time belong to the start of the rank that it is because of?
 * *until is cut to where that ends. */
static bool is_start(const struct ledger *ledger,
                     const struct ledger_row *row,
                     ck_time_t time,
                     ck_time_t *until)
{
    uint32_t rank = cast_rank_index(
        ledger->cast,
        row->blamed != CAST_RANK_UNKNOWN ? row->blamed : row->rank);

    return ledger->steps != NULL && rank != CAST_NONE &&
           steps_is_start(ledger->steps, rank, time, until);
}

/* Enter a piece of the gap with sharing->row, but for what a loss or a tracer
 * covers. */
static int piece_add(struct sharing *sharing, struct region piece)
{
    struct ledger *ledger = sharing->ledger;

    if (piece.start >= piece.end ||
        !region_clip(ledger->region, &piece.start, &piece.end)) {
        return 0;
    }
    while (piece.start < piece.end) {
        struct ledger_row row = sharing->row;
        ck_time_t until = piece.end;
        uint32_t rank;
        enum cause cover =
            shadow_at(scene_shadow(ledger->scene), piece.start, &until);

        if (cover != CAUSES) {
            row.cause = cover;
            row.did = row.blamed_did = CAST_NONE;
            row.blamed = row.last = CAST_RANK_UNKNOWN;
            row.wait = WAIT_NONE;
            row.error = 0;
        }
        row.is_start = is_start(ledger, &row, piece.start, &until);
        row.ns = until - piece.start;
        if (row_add(ledger, &row) != 0 || delay_add(sharing, &row) != 0) {
            return -1;
        }
        sharing->row.error -= row.error;
        rank = cast_rank_index(ledger->cast, row.rank);
        if (ledger->steps != NULL && rank != CAST_NONE) {
            steps_idle(ledger->steps, rank, (struct region){piece.start, until},
                       row.cause);
        }
        piece.start = until;
    }
    return 0;
}

static int plain_add(struct sharing *sharing,
                     struct region piece,
                     enum cause cause,
                     uint32_t did)
{
    sharing->row.cause = cause;
    sharing->row.did = did;
    sharing->row.blamed_did = CAST_NONE;
    sharing->row.blamed = sharing->row.last = CAST_RANK_UNKNOWN;
    sharing->row.wait = WAIT_NONE;
    sharing->row.error = 0;
    return piece_add(sharing, piece);
}

/* What the rank at the end of the chain did meanwhile. */
static int
blamed_take(void *state, struct region piece, const struct chain_origin *origin)
{
    struct sharing *sharing = state;
    const struct cast *cast = sharing->ledger->cast;
    int64_t number = CAST_NONE;
    int32_t blamed;

    if (origin->did->is_known) {
        number = scene_did(sharing->ledger->scene, origin->thread, piece,
                           origin->did);
        if (number < 0) {
            return -1;
        }
    }
    blamed = cast->processes[cast->threads[origin->thread].process].rank;
    sharing->row.error = blamed != sharing->row.blamed ? sharing->error : 0;
    sharing->row.blamed = blamed;
    sharing->row.blamed_did = (uint32_t)number;
    return piece_add(sharing, piece);
}

/* A piece within a call of which it is known for whom it waited: before and
 * after that one came. */
static int wait_add(struct sharing *sharing,
                    struct region piece,
                    const struct host_span *call,
                    const struct wait *wait)
{
    struct ledger *ledger = sharing->ledger;
    const struct cast *cast = ledger->cast;
    struct region before = piece;
    uint32_t did = sharing->row.did;

    if (wait->until > piece.start) {
        before.end = wait->until < piece.end ? wait->until : piece.end;
        if (wait->until - call->start <= wait->error) {
            if (plain_add(sharing, before, CAUSE_BELOW_CLOCK, did) != 0) {
                return -1;
            }
        } else {
            struct region whole = {call->start, before.end};
            int64_t site = scene_activity_site(ledger->scene, did);

            if (site < 0) {
                return -1;
            }
            sharing->site = (uint32_t)site;
            if (ledger->delay != NULL) {
                sharing->delay =
                    delay_find(ledger->delay, sharing->thread, whole);
            }
            sharing->row.cause = CAUSE_MPI_WAIT;
            sharing->row.wait = wait->kind;
            sharing->error = wait->error;
            sharing->row.blamed = CAST_RANK_UNKNOWN;
            sharing->row.last =
                cast->processes[cast->threads[wait->thread].process].rank;
            if (chain_follow(ledger->scene, wait->thread, before, blamed_take,
                             sharing) != 0) {
                return -1;
            }
        }
        piece.start = before.end;
    }
    return plain_add(sharing, piece, CAUSE_MPI_TRANSFER, did);
}

/* What h did in a piece of the gap. */
static int
host_take(void *state, struct region piece, const struct host_state *did)
{
    struct sharing *sharing = state;
    struct ledger *ledger = sharing->ledger;
    struct wait wait;
    int64_t number;

    if (!did->is_known) {
        return plain_add(sharing, piece, CAUSE_UNATTRIBUTED, CAST_NONE);
    }
    number = scene_did(ledger->scene, sharing->thread, piece, did);
    if (number < 0) {
        return -1;
    }
    if (did->call != NULL &&
        scene_wait(ledger->scene, sharing->thread, did->call, &wait)) {
        sharing->row.did = (uint32_t)number;
        return wait_add(sharing, piece, did->call, &wait);
    }
    return plain_add(sharing, piece,
                     scene_cause(ledger->scene, did, (uint32_t)number),
                     (uint32_t)number);
}

/* From when the launching call was entered on. */
static int launch_add(struct sharing *sharing, struct region launch)
{
    struct ledger *ledger = sharing->ledger;
    struct region part = launch;
    int64_t number = CAST_NONE;

    if (region_clip(ledger->region, &part.start, &part.end)) {
        number = launching_call(ledger->scene, sharing->thread,
                                sharing->gap->call, launch);
    }
    return number < 0 ? -1
                      : plain_add(sharing, launch, CAUSE_LAUNCH_LATENCY,
                                  (uint32_t)number);
}

/* The work was there, and did not begin. */
static int queued_add(struct sharing *sharing, struct region gap)
{
    int64_t number = launching_queued(
        sharing->ledger->scene, sharing->gap->process, sharing->gap->name);

    return number < 0
               ? -1
               : plain_add(sharing, gap, CAUSE_KERNEL_GAP, (uint32_t)number);
}

/* The device had nothing yet: apart from one call maybe, a matter of much. */
static int startup_add(struct sharing *sharing, struct region gap)
{
    struct region part = gap;
    int64_t number = CAST_NONE;

    if (!region_clip(sharing->ledger->region, &gap.start, &gap.end)) {
        return 0;
    }
    part = gap;
    if (sharing->thread != HOST_NONE) {
        number =
            launching_longest(sharing->ledger->scene, sharing->thread, &part);
    }
    if (number < 0) {
        return -1;
    }
    if (number == CAST_NONE) {
        return plain_add(sharing, gap, CAUSE_STARTUP, CAST_NONE);
    }
    return plain_add(sharing, (struct region){gap.start, part.start},
                     CAUSE_STARTUP, CAST_NONE) != 0 ||
                   plain_add(sharing, part, CAUSE_STARTUP, (uint32_t)number) !=
                       0
               ? -1
               : plain_add(sharing, (struct region){part.end, gap.end},
                           CAUSE_STARTUP, CAST_NONE);
}

/* When the operation that ends the gap was launched. */
static ck_time_t
gap_launch(const struct ledger *ledger, const struct gap *gap, uint32_t thread)
{
    ck_time_t enter;

    if (thread != HOST_NONE &&
        host_call(scene_host(ledger->scene), thread, gap->call, &enter)) {
        return enter < gap->end ? enter : gap->end;
    }
    return gap->queued != 0 && gap->queued < gap->end ? gap->queued : gap->end;
}

static int gap_close(struct ledger *ledger, uint32_t index)
{
    struct device *device = &ledger->devices[index];
    const struct gap *gap = &device->gap;
    struct sharing sharing = {
        .ledger = ledger,
        .device = index,
        .gap = gap,
        .thread =
            host_thread(scene_host(ledger->scene), gap->process, gap->tid),
        .row = {.device = index,
                .rank = ledger->cast->processes[gap->process].rank}};
    struct region starved = {gap->start, gap->end};
    struct region launch = starved;
    ck_time_t enter = gap_launch(ledger, gap, sharing.thread);

    device->has_gap = false;
    shadow_aim(scene_shadow(ledger->scene),
               ledger->cast->processes[gap->process].agent, gap->process,
               gap->tid, starved);
    if (gap->is_first) {
        return startup_add(&sharing, starved);
    }
    if (enter <= gap->start) {
        return queued_add(&sharing, starved);
    }
    starved.end = launch.start = enter;
    if (sharing.thread == HOST_NONE ||
        !host_is_seen(scene_host(ledger->scene), sharing.thread)) {
        if (plain_add(&sharing, starved, CAUSE_NO_HOST_DATA, CAST_NONE) != 0) {
            return -1;
        }
    } else if (region_clip(ledger->region, &starved.start, &starved.end) &&
               host_walk(scene_host(ledger->scene), sharing.thread, starved,
                         host_take, &sharing) != 0) {
        return -1;
    }
    return launch_add(&sharing, launch);
}

static ck_time_t launch_of(const struct ledger *ledger, const struct gap *gap)
{
    return gap_launch(
        ledger, gap,
        host_thread(scene_host(ledger->scene), gap->process, gap->tid));
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

    for (size_t i = 0; i < ledger->cast->physicals_count; i++) {
        const struct device *device = &ledger->devices[i];
        ck_time_t start =
            device->has_gap ? device->gap.start : device->frontier;

        if (device->is_used && start < horizon && start < ledger->region.end) {
            horizon = start;
        }
    }
    return horizon;
}

/* What is seen first of the process is not its first. */
static bool is_beginning_gone(const struct ledger *ledger, uint32_t process)
{
    uint32_t agent = ledger->cast->processes[process].agent;

    return ledger->cast->agents[agent].discarded.segments > 0;
}

static int operation_take(struct ledger *ledger,
                          const struct timeline_event *event,
                          const struct gap *operation,
                          uint32_t number)
{
    const struct cast_device *found =
        cast_device(ledger->cast, event->process, number);
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
    const struct cast_physical *physical = &ledger->cast->physicals[index];
    struct sharing sharing = {.ledger = ledger,
                              .device = index,
                              .row = {.device = index,
                                      .rank = physical->ranks_count > 0
                                                  ? physical->ranks[0]
                                                  : CAST_RANK_UNKNOWN}};
    struct region tail = ledger->region;

    if (device->is_used && device->frontier > tail.start) {
        tail.start = device->frontier;
    }
    shadow_aim(scene_shadow(ledger->scene),
               ledger->cast->processes[physical->process].agent,
               physical->process, 0, tail);
    return plain_add(&sharing, tail, CAUSE_END_OF_WORK, CAST_NONE);
}

int ledger_finish(struct ledger *ledger)
{
    struct ledger_row *rows;
    size_t count;

    if (gaps_close(ledger, INT64_MAX) != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < ledger->cast->physicals_count; i++) {
        if (tail_add(ledger, i) != 0) {
            return -1;
        }
    }
    if (ledger->steps == NULL ||
        steps_count(ledger->steps) < LEDGER_STEPS_MIN) {
        rows = rows_all(ledger->rows, &count);
        for (size_t i = 0; i < count; i++) {
            rows[i].is_start = false;
        }
        if (ledger->delays != NULL) {
            delaysums_forget_starts(ledger->delays);
        }
    }
    return 0;
}

const struct ledger_row *ledger_rows(const struct ledger *ledger, size_t *count)
{
    return rows_all(ledger->rows, count);
}

ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause)
{
    return ledger->devices[device].sums[cause];
}
