/* ledger.c - why each device was idle, to the nanosecond
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An idle interval is looked at when the merge has passed the start of the
 * operation that ends it: all that began before is known then. What host
 * threads did is kept back to the oldest interval that is still open.
 */
#include "merge/analysis/idle/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/idle/depends.h"
#include "merge/analysis/idle/launching.h"
#include "merge/analysis/idle/sharing.h"
#include "merge/model/memory.h"

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

/* Before the first work of any device, what hosts did is kept from the start
 * for so many events. */
#define STARTUP_EVENTS_MAX ((uint64_t)1 << 16)
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

/* The device that has kept the host's past longest. Starts never step back but
 * where a device is used first: as long as it is where it was, it is still the
 * one. */
struct oldest {
    bool is_known;
    uint32_t device; /* DEFS_NONE = there is none */
    ck_time_t start; /* INT64_MAX */
};

struct ledger {
    struct books books;
    struct device *devices;
    uint32_t *waiting; /* devices with a gap */
    size_t waiting_count;
    ck_time_t due;         /* earliest end of a gap that waits */
    uint64_t before_first; /* events before any device was used */
    struct oldest *oldest;
};

static ck_time_t ledger_horizon(const void *state, ck_time_t now);

static bool is_shown(const struct defs *defs, uint32_t device)
{
    return defs_is_device_wanted(defs, device);
}

struct ledger *ledger_create(const struct defs *defs,
                             struct lookback *lookback,
                             struct when *when,
                             struct region region)
{
    struct ledger *ledger = xcalloc(1, sizeof(*ledger));

    ledger->books.defs = defs;
    ledger->books.region = region;
    ledger->books.lookback = lookback;
    ledger->books.when = when;
    ledger->books.steps = when_steps(when);
    ledger->due = INT64_MAX;
    ledger->books.rows = rows_create(defs, lookback, is_shown, 0);
    ledger->devices =
        xcalloc(defs->physicals_count + 1, sizeof(*ledger->devices));
    ledger->oldest = xcalloc(1, sizeof(*ledger->oldest));
    ledger->waiting =
        xcalloc(defs->physicals_count + 1, sizeof(*ledger->waiting));
    ledger->books.keys = causekeys_create(defs, lookback, is_shown);
    ledger->books.sums = xcalloc((defs->physicals_count + 1) * CAUSES,
                                 sizeof(*ledger->books.sums));
    if (defs->physicals_count > 0) {
        lookback_client(lookback, ledger_horizon, ledger);
    }
    return ledger;
}

void ledger_destroy(struct ledger *ledger)
{
    if (ledger == NULL) {
        return;
    }
    rows_destroy(ledger->books.rows);
    causekeys_destroy(ledger->books.keys);
    free(ledger->books.sums);
    delaysums_destroy(ledger->books.delays);
    free(ledger->devices);
    free(ledger->oldest);
    free(ledger->waiting);
    free(ledger);
}

void ledger_see(struct ledger *ledger, sharing_see_f f, void *state)
{
    ledger->books.see = f;
    ledger->books.see_state = state;
}

void ledger_delay(struct ledger *ledger, const struct delay *delay)
{
    ledger->books.delays = delaysums_create();
    ledger->books.delay = delay;
}

struct delaysums *ledger_delays(const struct ledger *ledger)
{
    return ledger->books.delays;
}

/* From when the launching call was entered on. */
static void
launch_add(struct sharing *sharing, uint32_t call, struct region launch)
{
    struct books *books = sharing->books;
    struct region part = launch;
    int64_t number = DEFS_NONE;

    if (region_clip(sharing_region(sharing), &part.start, &part.end)) {
        number = launching_call(books->lookback, sharing->thread, call, launch);
    }
    sharing_plain(sharing, launch, CAUSE_LAUNCH_LATENCY, (uint32_t)number);
}

/* The work was there, and did not begin. */
static void
queued_add(struct sharing *sharing, const struct gap *gap, struct region part)
{
    int64_t number =
        launching_queued(sharing->books->lookback, gap->process, gap->name);

    sharing_plain(sharing, part, CAUSE_KERNEL_GAP, (uint32_t)number);
}

/* What is known of the time before a device's first work. */
struct starting {
    struct sharing *sharing;
    struct region call; /* the longest one, where it is more than half */
    int64_t number;     /* its activity; DEFS_NONE = there is none */
};

/* What the host did then was not kept, but for its longest call. */
static void forgotten_add(const struct starting *starting, struct region piece)
{
    struct region call = starting->call;
    struct region before = piece, after = piece;

    if (starting->number == DEFS_NONE ||
        !region_clip(piece, &call.start, &call.end)) {
        sharing_plain(starting->sharing, piece, CAUSE_STARTUP, DEFS_NONE);
        return;
    }
    before.end = call.start;
    after.start = call.end;
    sharing_plain(starting->sharing, before, CAUSE_STARTUP, DEFS_NONE);
    sharing_plain(starting->sharing, call, CAUSE_STARTUP,
                  (uint32_t)starting->number);
    sharing_plain(starting->sharing, after, CAUSE_STARTUP, DEFS_NONE);
}

/* The device had nothing yet, as its host did this. */
static void
startup_take(void *state, struct region piece, const struct history_state *did)
{
    const struct starting *starting = state;
    struct sharing *sharing = starting->sharing;
    int64_t number;

    if (!did->is_known) {
        forgotten_add(starting, piece);
        return;
    }
    number =
        lookback_did(sharing->books->lookback, sharing->thread, piece, did);
    sharing_plain(sharing, piece, CAUSE_STARTUP, (uint32_t)number);
}

/* The device had nothing yet: by what its host did. */
static void startup_add(struct sharing *sharing, struct region gap)
{
    struct starting starting = {.sharing = sharing};

    if (!region_clip(sharing_region(sharing), &gap.start, &gap.end)) {
        return;
    }
    if (sharing->thread == HISTORY_NONE ||
        !history_is_seen(lookback_history(sharing->books->lookback),
                         sharing->thread)) {
        sharing_plain(sharing, gap, CAUSE_STARTUP, DEFS_NONE);
        return;
    }
    starting.call = gap;
    starting.number = launching_longest(sharing->books->lookback,
                                        sharing->thread, &starting.call);
    history_walk(lookback_history(sharing->books->lookback), sharing->thread,
                 gap, startup_take, &starting);
}

/* When the operation that ends the gap was launched. */
static ck_time_t
gap_launch(const struct ledger *ledger, const struct gap *gap, uint32_t thread)
{
    ck_time_t enter;

    if (thread != HISTORY_NONE &&
        history_call(lookback_history(ledger->books.lookback), thread,
                     gap->call, &enter)) {
        return enter < gap->end ? enter : gap->end;
    }
    return gap->queued != 0 && gap->queued < gap->end ? gap->queued : gap->end;
}

/* Before a device's first work. What that waited for was launched before. */
static void first_add(struct sharing *sharing,
                      const struct gap *gap,
                      struct region idle,
                      ck_time_t enter)
{
    struct region waits = {enter, idle.end};
    struct region before = idle;

    depends_share(sharing, gap->tid, gap->call, &waits);
    if (waits.start == enter) {
        startup_add(sharing, idle);
        return;
    }
    before.end = enter;
    startup_add(sharing, before);
    queued_add(sharing, gap, waits);
}

/* The device had nothing to do up to the launch. */
static void starved_add(struct sharing *sharing, struct region starved)
{
    const struct history *host = lookback_history(sharing->books->lookback);

    if (sharing->thread == HISTORY_NONE ||
        !history_is_seen(host, sharing->thread)) {
        sharing_plain(sharing, starved, CAUSE_NO_HOST_DATA, DEFS_NONE);
        return;
    }
    if (region_clip(sharing_region(sharing), &starved.start, &starved.end)) {
        history_walk(host, sharing->thread, starved, depends_host, sharing);
    }
}

static void gap_close(struct ledger *ledger, uint32_t index)
{
    struct device *device = &ledger->devices[index];
    const struct gap *gap = &device->gap;
    struct sharing sharing = {
        .books = &ledger->books,
        .device = index,
        .process = gap->process,
        .thread = history_thread(lookback_history(ledger->books.lookback),
                                 gap->process, gap->tid),
        .begin = ledger->books.defs->processes[gap->process].begin,
        .row = {.device = index,
                .rank = ledger->books.defs->processes[gap->process].rank}};
    struct region starved = {gap->start, gap->end};
    struct region launch = starved;
    ck_time_t enter = gap_launch(ledger, gap, sharing.thread);

    device->has_gap = false;
    masked_aim(lookback_shadow(ledger->books.lookback),
               ledger->books.defs->processes[gap->process].agent, gap->process,
               gap->tid, starved);
    if (gap->is_first) {
        first_add(&sharing, gap, starved, enter);
        return;
    }
    if (enter <= gap->start) {
        depends_share(&sharing, gap->tid, gap->call, &starved);
        queued_add(&sharing, gap, starved);
        return;
    }
    starved.end = launch.start = enter;
    starved_add(&sharing, starved);
    depends_share(&sharing, gap->tid, gap->call, &launch);
    if (launch.start > enter) {
        queued_add(&sharing, gap, launch);
    } else {
        launch_add(&sharing, gap->call, launch);
    }
}

static ck_time_t launch_of(const struct ledger *ledger, const struct gap *gap)
{
    return gap_launch(ledger, gap,
                      history_thread(lookback_history(ledger->books.lookback),
                                     gap->process, gap->tid));
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
static void gaps_close(struct ledger *ledger, ck_time_t now)
{
    size_t kept = 0;

    if (now <= ledger->due) {
        return;
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
        gap_close(ledger, index);
    }
    ledger->waiting_count = kept;
}

/* From when on it is asked what the host did. */
static ck_time_t device_start(const struct device *device)
{
    return device->has_gap ? device->gap.start : device->frontier;
}

static void oldest_find(const struct ledger *ledger, struct oldest *oldest)
{
    *oldest = (struct oldest){true, DEFS_NONE, INT64_MAX};
    for (uint32_t i = 0; i < ledger->books.defs->physicals_count; i++) {
        const struct device *device = &ledger->devices[i];
        ck_time_t start = device_start(device);

        if (device->is_used && start < oldest->start &&
            start < ledger->books.region.end) {
            oldest->device = i;
            oldest->start = start;
        }
    }
}

/* What began before and ended by then is of no interest any more. */
static ck_time_t ledger_horizon(const void *state, ck_time_t now)
{
    const struct ledger *ledger = state;
    struct oldest *oldest = ledger->oldest;
    ck_time_t horizon =
        ledger->before_first < STARTUP_EVENTS_MAX ? INT64_MIN : now;

    if (!oldest->is_known ||
        (oldest->device != DEFS_NONE &&
         device_start(&ledger->devices[oldest->device]) != oldest->start)) {
        oldest_find(ledger, oldest);
    }
    return oldest->start < horizon ? oldest->start : horizon;
}

/* What is seen first of the process is not its first. */
static bool is_beginning_gone(const struct ledger *ledger, uint32_t process)
{
    uint32_t agent = ledger->books.defs->processes[process].agent;

    return ledger->books.defs->agents[agent].discarded.segments > 0;
}

static void operation_take(struct ledger *ledger,
                           const struct timeline_event *event,
                           const struct gap *operation,
                           uint32_t number)
{
    const struct defs_device *found =
        defs_device(ledger->books.defs, event->process, number);
    struct device *device;

    /* One of no length ends a gap as well: tracers count whole microseconds. */
    if (found == NULL || event->start > event->end ||
        (event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
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
    if (!device->is_used) {
        device->is_used = true;
        ledger->oldest->is_known = false;
    }
    ledger->before_first = STARTUP_EVENTS_MAX;
}

static void device_take(struct ledger *ledger,
                        const struct timeline_event *event)
{
    if (event->record->kind >= CK_KIND_COPY_H2D) {
        const struct ck_copy *copy = (const struct ck_copy *)event->record;
        struct gap operation = {.queued = copy->queued,
                                .process = event->process,
                                .tid = copy->tid,
                                .call = copy->call,
                                .name = copy->e.name};

        operation_take(ledger, event, &operation, copy->device);
        return;
    } else {
        const struct ck_kernel *kernel =
            (const struct ck_kernel *)event->record;
        struct gap operation = {.queued = kernel->queued,
                                .process = event->process,
                                .tid = kernel->tid,
                                .call = kernel->call,
                                .name = kernel->e.name};

        operation_take(ledger, event, &operation, kernel->device);
        return;
    }
}

void ledger_settle(struct ledger *ledger, ck_time_t now)
{
    ledger->before_first += ledger->before_first < STARTUP_EVENTS_MAX;
    if (ledger->waiting_count > 0) {
        gaps_close(ledger, now);
    }
}

void ledger_take(void *consumer, const struct timeline_event *event)
{
    struct ledger *ledger = consumer;

    if (timeline_is_device(event)) {
        device_take(ledger, event);
    }
}

/* The first work of a device that never ended; NULL = none. */
static const struct commands_undone *
undone_of(const struct commands_undone *undone, size_t count, uint32_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (undone[i].physical == index) {
            return &undone[i];
        }
    }
    return NULL;
}

/* From when work was enqueued that never ended: it may have run. */
static void undone_add(struct sharing *sharing,
                       const struct commands_undone *undone,
                       struct region part)
{
    struct history_span work = {.process = undone->process,
                                .name = undone->command.name,
                                .kind = CK_KIND_QUEUE,
                                .site = undone->command.site};
    struct history_state did = {.is_known = true, .kernel = &work};
    int64_t number = lookback_activity(sharing->books->lookback, &did);

    sharing_plain(sharing, part, CAUSE_UNFINISHED, (uint32_t)number);
}

/* From its last operation on a device has no work, but what never ended. */
static void tail_add(struct ledger *ledger,
                     uint32_t index,
                     const struct commands_undone *undone)
{
    const struct device *device = &ledger->devices[index];
    const struct defs_physical *physical =
        &ledger->books.defs->physicals[index];
    struct sharing sharing = {.books = &ledger->books,
                              .device = index,
                              .row = {.device = index,
                                      .rank = physical->ranks_count > 0
                                                  ? physical->ranks[0]
                                                  : DEFS_RANK_UNKNOWN}};
    struct region tail = sharing_region(&sharing);
    struct region open = {tail.end, tail.end};

    if (device->is_used && device->frontier > tail.start) {
        tail.start = device->frontier;
    }
    masked_aim(lookback_shadow(ledger->books.lookback),
               ledger->books.defs->processes[physical->process].agent,
               physical->process, 0, tail);
    sharing.thread =
        device->is_used
            ? history_thread(lookback_history(ledger->books.lookback),
                             device->process, device->tid)
            : HISTORY_NONE;
    if (undone != NULL && undone->command.enter < tail.end) {
        open.start = undone->command.enter > tail.start ? undone->command.enter
                                                        : tail.start;
        tail.end = open.start;
    }
    sharing.from = tail.start;
    if (sharing.thread != HISTORY_NONE && tail.start < tail.end) {
        history_walk(lookback_history(ledger->books.lookback), sharing.thread,
                     tail, sharing_tail, &sharing);
    }
    tail.start = sharing.from;
    sharing_plain(&sharing, tail,
                  device->is_used || undone == NULL ? CAUSE_END_OF_WORK
                                                    : CAUSE_STARTUP,
                  DEFS_NONE);
    if (undone != NULL) {
        undone_add(&sharing, undone, open);
    }
}

/* What is behind the last work of each device. */
static void tails_add(struct ledger *ledger)
{
    size_t count;
    struct commands_undone *undone =
        commands_undone(lookback_commands(ledger->books.lookback), &count);

    for (uint32_t i = 0; i < ledger->books.defs->physicals_count; i++) {
        tail_add(ledger, i, undone_of(undone, count, i));
    }
    free(undone);
}

void ledger_finish(struct ledger *ledger)
{
    struct ledger_row *rows;
    size_t count;

    lookback_close(ledger->books.lookback);
    gaps_close(ledger, INT64_MAX);
    tails_add(ledger);
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
}

const struct ledger_row *ledger_rows(const struct ledger *ledger, size_t *count)
{
    return rows_all(ledger->books.rows, count);
}

ck_time_t
ledger_time(const struct ledger *ledger, uint32_t device, enum cause cause)
{
    return ledger->books.sums[device * CAUSES + cause].ns;
}
