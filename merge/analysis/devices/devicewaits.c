/* devicewaits.c - how long collective kernels waited for the last device
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call is complete when the last device begins: L is now, and all that began
 * before is known. What computed on a device up to a time is the length of a
 * union up to there, so the part of a wait with nothing beside it is a
 * difference of two such lengths.
 */
#include "merge/analysis/devices/devicewaits.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/devices/devices.h"
#include "merge/clocks/clockkernels.h"
#include "merge/clocks/kernelshift.h"
#include "merge/model/interval.h"
#include "merge/model/kernelgroup.h"
#include "merge/model/memory.h"
#include "schema/clock/clockband.h"
#include "schema/order.h"

/* A device's part in a call. */
struct part {
    ck_time_t start; /* INT64_MIN = has not begun */
    ck_time_t end;
    ck_time_t computed; /* on the device, up to the start */
    ck_time_t error;    /* against the last one; NOT_KNOWN = no bound */
    ck_time_t lost;     /* that it lasted longer by its own clock */
    uint32_t thread;
};

/* What the ends of complete calls show of a device's clock. */
struct tie {
    ck_time_t since; /* the first such end; INT64_MAX = none yet */
    ck_time_t off;   /* of the last one from the median of its call */
};

/* The most that two ends of a call were apart, beyond both clocks' error; of
 * the device that is farther from the others. */
struct refuted {
    ck_time_t most; /* 0 = never */
    uint32_t other; /* device */
};

struct call {
    uint32_t arrived;
    uint32_t number;    /* in its group, where kernels have it */
    uint32_t last;      /* that began last, once all have */
    bool is_certain;    /* no clock's error can make another the last one */
    bool is_first;      /* some clock was not compared before its start */
    ck_time_t latest;   /* when the last one may have begun */
    struct part *parts; /* by physical device; NULL = free */
};

struct sums {
    ck_time_t alone;  /* waited with no kernel beside it */
    ck_time_t waited; /* in all */
    ck_time_t caused; /* that others waited because of it */
    ck_time_t hidden; /* that may have been waited, which cannot be known */
    ck_time_t first;  /* of that, before anything had compared the clocks */
};

struct row {
    const char *name;  /* kept */
    const char *group; /* kept; NULL = of all ranks, if it is known */
    bool is_known;     /* who meets */
    bool *is_member;   /* by physical device */
    uint32_t members;
    bool is_unfit;
    uint64_t loose;    /* calls that did not end together on all */
    bool is_numbered;  /* kernels have their number in the group */
    uint32_t number;   /* then: the highest one seen. */
    uint64_t next;     /* how many calls were begun. */
    uint64_t complete; /* and complete */
    uint64_t first;    /* the oldest call that is not complete */
    struct call calls[DEVICEWAITS_PENDING];
    uint64_t *counts;    /* by physical device: kernels; where numbered, the
                            call behind that of its last one */
    uint32_t *numbers;   /* by physical device: of its next kernel, where
                            kernels have none; 0 = not known */
    ck_time_t *frontier; /* up to where a wait was counted */
    ck_time_t *computed; /* up to there */
    struct sums *sums;
    struct refuted *refuted; /* by physical device */
    ck_time_t hidden_most;   /* of one call */
    ck_time_t length;        /* of all its kernels: none waited longer */
    ck_time_t met;           /* of those in complete calls */
};

#define NAMES_KNOWN 64
/* When the last one begins, by a clock that cannot be compared: later than all
 * times, and what is added to it fits. */
#define NOT_KNOWN (INT64_MAX / 2)

struct devicewaits {
    const struct defs *defs;            /* borrowed */
    const struct lookback *lookback;    /* borrowed */
    const struct clockkernels *kernels; /* borrowed; NULL = none */
    const struct axis *axis;            /* borrowed, with `kernels` */
    bool is_estimated; /* clocks are known by such kernels alone */
    struct tie *ties;  /* by physical device */
    ck_time_t *ends;   /* of a call */
    struct region region;
    struct interval_union *unions; /* by physical device, of what computes */
    struct row rows[DEVICEWAITS_NAMES];
    size_t rows_count;
    bool is_wanted;
    /* Names looked at, by address: kept texts stay where they are. */
    struct {
        const char *name;
        bool is_communication;
    } known[NAMES_KNOWN];
};

struct devicewaits *devicewaits_create(const struct defs *defs,
                                       const struct lookback *lookback,
                                       struct region region)
{
    struct devicewaits *waits = xcalloc(1, sizeof(*waits));

    waits->defs = defs;
    waits->lookback = lookback;
    waits->region = region;
    waits->is_wanted = defs->physicals_count > 1;
    waits->unions = xcalloc(defs->physicals_count + 1, sizeof(*waits->unions));
    waits->ties = xcalloc(defs->physicals_count + 1, sizeof(*waits->ties));
    waits->ends = xcalloc(defs->physicals_count + 1, sizeof(*waits->ends));
    for (size_t i = 0; i < defs->physicals_count; i++) {
        interval_union_init(&waits->unions[i], region);
        waits->ties[i].since = INT64_MAX;
    }
    return waits;
}

void devicewaits_order(struct devicewaits *waits,
                       const struct clockkernels *kernels,
                       const struct axis *axis,
                       bool is_dated)
{
    waits->kernels = kernels;
    waits->axis = axis;
    waits->is_estimated = clockkernels_is_partial(kernels) && !is_dated;
}

void devicewaits_destroy(struct devicewaits *waits)
{
    if (waits == NULL) {
        return;
    }
    for (size_t i = 0; i < waits->rows_count; i++) {
        for (size_t k = 0; k < DEVICEWAITS_PENDING; k++) {
            free(waits->rows[i].calls[k].parts);
        }
        free(waits->rows[i].is_member);
        free(waits->rows[i].counts);
        free(waits->rows[i].numbers);
        free(waits->rows[i].frontier);
        free(waits->rows[i].computed);
        free(waits->rows[i].sums);
        free(waits->rows[i].refuted);
    }
    free(waits->unions);
    free(waits->ties);
    free(waits->ends);
    free(waits);
}

/* Length of what computed on the device before `time`, which is now. */
static ck_time_t
computed_by(const struct devicewaits *waits, uint32_t device, ck_time_t time)
{
    const struct interval_union *u = &waits->unions[device];
    ck_time_t until = time < u->to ? time : u->to;

    return u->closed + (until > u->from ? until - u->from : 0);
}

/* Which devices are of ranks of its group. */
static void row_fill(const struct defs *defs, struct row *row)
{
    for (size_t i = 0; i < defs->physicals_count; i++) {
        const struct defs_physical *device = &defs->physicals[i];
        bool is_member = row->group == NULL;

        for (size_t r = 0; r < device->ranks_count && !is_member; r++) {
            is_member = kernelgroup_has(defs, row->group, device->ranks[r]);
        }
        row->is_member[i] = is_member;
        row->members += is_member;
    }
}

/* The numbers of the first kernels of devices. */
static void row_number(const struct devicewaits *waits, struct row *row)
{
    for (size_t i = 0; i < waits->defs->physicals_count; i++) {
        const struct defs_physical *device = &waits->defs->physicals[i];

        if (row->is_member[i] && device->ranks_count == 1) {
            row->numbers[i] = clockkernels_first(
                waits->kernels, row->name, row->group,
                defs_rank_index(waits->defs, device->ranks[0]));
        }
    }
}

/* NULL with ENOMEM, or when there are too many. */
static struct row *
row_find(struct devicewaits *waits, const char *name, const char *group)
{
    size_t devices = waits->defs->physicals_count;
    struct row *row;

    for (size_t i = 0; i < waits->rows_count; i++) {
        if (waits->rows[i].name == name && waits->rows[i].group == group) {
            return &waits->rows[i];
        }
    }
    if (waits->rows_count == DEVICEWAITS_NAMES) {
        return NULL;
    }
    row = &waits->rows[waits->rows_count++];
    row->name = name;
    row->group = group;
    row->is_known = kernelgroup_is_known(waits->defs, group);
    row->is_member = xcalloc(devices, sizeof(*row->is_member));
    row->counts = xcalloc(devices, sizeof(*row->counts));
    row->numbers = xcalloc(devices, sizeof(*row->numbers));
    row->frontier = xmalloc(devices * sizeof(*row->frontier));
    row->computed = xcalloc(devices, sizeof(*row->computed));
    row->sums = xcalloc(devices, sizeof(*row->sums));
    row->refuted = xcalloc(devices, sizeof(*row->refuted));
    row->is_unfit = row->is_member == NULL || row->counts == NULL ||
                    row->numbers == NULL || row->frontier == NULL ||
                    row->computed == NULL || row->sums == NULL ||
                    row->refuted == NULL || defs_has_discarded(waits->defs) ||
                    clockkernels_is_doubtful(waits->kernels, name, group);
    row_fill(waits->defs, row);
    if (!row->is_unfit) {
        row_number(waits, row);
    }
    for (size_t i = 0; i < devices; i++) {
        row->frontier[i] = INT64_MIN;
    }
    return row;
}

/* [start, end) of a device's wait, less what was counted before. */
static void wait_add(struct devicewaits *waits,
                     struct row *row,
                     uint32_t device,
                     const struct part *part,
                     ck_time_t now)
{
    struct region wait = {part->start, now};
    ck_time_t before = part->computed;
    ck_time_t after = computed_by(waits, device, now);

    if (row->frontier[device] > wait.start) {
        wait.start = row->frontier[device];
        before = row->computed[device];
    }
    row->frontier[device] = now;
    row->computed[device] = after;
    if (wait.start < wait.end &&
        region_clip(waits->region, &wait.start, &wait.end)) {
        row->sums[device].waited += region_length(wait);
        if (after - before < region_length(wait)) {
            row->sums[device].alone += region_length(wait) - (after - before);
        }
    }
}

/* From then on it may have waited, and for so long, but for its own end. */
static void hidden_add(struct row *row,
                       uint32_t device,
                       const struct part *part,
                       struct region hidden)
{
    ck_time_t most;

    hidden.start = part->start > hidden.start ? part->start : hidden.start;
    hidden.end = part->end < hidden.end ? part->end : hidden.end;
    most = hidden.end > hidden.start ? region_length(hidden) : 0;
    row->sums[device].hidden += most;
    row->hidden_most = most > row->hidden_most ? most : row->hidden_most;
}

/* Where clocks are known by such kernels alone, their ends compare them, so a
 * start before the first of these ends was never compared: a clock that is set
 * during that kernel and a wait of its rank leave the same stamps. */
static bool is_first(const struct devicewaits *waits,
                     uint32_t device,
                     const struct part *part)
{
    return waits->is_estimated && part->start < waits->ties[device].since;
}

static void first_add(struct row *row, uint32_t device, const struct part *part)
{
    row->sums[device].hidden += part->end - part->start;
    row->sums[device].first += part->end - part->start;
}

/* By how much two parts may compare wrong. False: they cannot be compared. */
static bool parts_error(const struct devicewaits *waits,
                        const struct part *part,
                        const struct part *last,
                        ck_time_t *error)
{
    struct wait wait = {.until = last->start, .thread = last->thread};

    if (!lookback_error(waits->lookback, part->thread, part->start, &wait)) {
        return false;
    }
    *error = wait.error;
    return true;
}

/* Kernels that met end together. Where a clock is known by such kernels alone,
 * or by a date, ends that are apart show an error that they do not refute: a
 * clock that was set or slewed meanwhile, by less than they last. A start is
 * between the ends of its call and of the one before. */
static ck_time_t error_by_ends(const struct devicewaits *waits,
                               const struct call *call,
                               uint32_t device,
                               ck_time_t error)
{
    const struct tie *tie = &waits->ties[device];
    const struct tie *other = &waits->ties[call->last];
    ck_time_t apart =
        llabs(call->parts[device].end - call->parts[call->last].end);
    ck_time_t before = llabs(tie->off - other->off);

    if (!clockkernels_is_partial(waits->kernels)) {
        return error;
    }
    if (tie->since != INT64_MAX && other->since != INT64_MAX &&
        before > apart) {
        apart = before;
    }
    if (apart > KERNELSHIFT_TOGETHER + error) {
        return apart + KERNELSHIFT_TOGETHER;
    }
    return apart > error ? apart : error;
}

/* Several groups in step end as near to each other as those of one, and their
 * last ones begin as far apart. */
static ck_time_t error_of(const struct devicewaits *waits,
                          const struct row *row,
                          const struct call *call,
                          uint32_t device,
                          ck_time_t error)
{
    error = error_by_ends(waits, call, device, error);
    return row->is_known ? error : error + KERNELSHIFT_TOGETHER;
}

/* What the clocks' error leaves of who began last, and when; and whether they
 * ended together, as those that met do. */
static void
call_doubt(const struct devicewaits *waits, struct row *row, struct call *call)
{
    const struct part *last = &call->parts[call->last];
    ck_time_t now = last->start, error;
    bool is_loose = false;

    call->is_certain = true;
    call->is_first = is_first(waits, call->last, last);
    call->latest = now;
    for (uint32_t i = 0; i < waits->defs->physicals_count; i++) {
        struct part *part = &call->parts[i];

        if (i == call->last || !row->is_member[i]) {
            continue;
        }
        part->error = NOT_KNOWN;
        if (!parts_error(waits, part, last, &error)) {
            call->is_certain = false;
            call->latest = NOT_KNOWN;
            is_loose = true;
            continue;
        }
        part->error = error;
        call->is_first = call->is_first || is_first(waits, i, part);
        is_loose = is_loose ||
                   llabs(part->end - last->end) > KERNELSHIFT_TOGETHER + error;
        error = error_of(waits, row, call, i, error);
        call->is_certain = call->is_certain && now - part->start >= error;
        if (part->start + error > call->latest) {
            call->latest = part->start + error;
        }
    }
    row->loose += is_loose;
}

/* What a device waited for certain, and what the clocks' error hides. */
static void part_close(struct devicewaits *waits,
                       struct row *row,
                       const struct call *call,
                       uint32_t device)
{
    const struct part *part = &call->parts[device];
    const struct part *last = &call->parts[call->last];
    ck_time_t before = row->sums[device].waited, now = last->start, error;

    if (!parts_error(waits, part, last, &error)) {
        row->is_unfit = row->is_unfit || part->end < now;
        hidden_add(row, device, part, (struct region){part->start, NOT_KNOWN});
        return;
    }
    row->is_unfit = row->is_unfit || part->end + error < now;
    if (call->is_first) {
        first_add(row, device, part);
        return;
    }
    error = error_of(waits, row, call, device, error);
    if (now - error > part->start) {
        wait_add(waits, row, device, part, now - error);
    }
    if (call->is_certain) {
        row->sums[call->last].caused += row->sums[device].waited - before;
    }
    hidden_add(row, device, part,
               (struct region){now - error, call->latest + error});
}

/* What of the region is between. */
static ck_time_t
length_within(const struct devicewaits *waits, ck_time_t start, ck_time_t end)
{
    struct region part = {start, end};

    return region_clip(waits->region, &part.start, &part.end)
               ? region_length(part)
               : 0;
}

static void call_clear(const struct devicewaits *waits, struct call *call)
{
    if (call->parts != NULL) {
        memset(call->parts, 0,
               waits->defs->physicals_count * sizeof(*call->parts));
    }
    call->arrived = 0;
}

CK_ORDER(by_time, ck_time_t, CK_LESS(*a, *b))

/* Two ends of a call that are further apart than both clocks' error: of a clock
 * that was set, the farther one from the others. */
static void row_refute(const struct devicewaits *waits,
                       struct row *row,
                       const struct call *call,
                       uint32_t device)
{
    const struct part *part = &call->parts[device];
    ck_time_t apart = llabs(part->end - call->parts[call->last].end);
    bool is_other =
        llabs(waits->ties[call->last].off) > llabs(waits->ties[device].off);
    struct refuted *refuted = &row->refuted[is_other ? call->last : device];

    if (part->error != NOT_KNOWN &&
        apart > KERNELSHIFT_TOGETHER + part->error && apart > refuted->most) {
        refuted->most = apart;
        refuted->other = is_other ? device : call->last;
    }
}

/* Its ends compare the clocks of its devices. */
static void
ties_take(struct devicewaits *waits, struct row *row, const struct call *call)
{
    size_t devices = waits->defs->physicals_count, count = 0;

    if (!clockkernels_is_partial(waits->kernels)) {
        return;
    }
    for (size_t i = 0; i < devices; i++) {
        if (row->is_member[i]) {
            waits->ends[count++] = call->parts[i].end;
        }
    }
    qsort(waits->ends, count, sizeof(waits->ends[0]), by_time);
    for (size_t i = 0; i < devices; i++) {
        struct tie *tie = &waits->ties[i];

        if (row->is_member[i]) {
            tie->off = call->parts[i].end - waits->ends[count / 2];
            tie->since = call->parts[i].end < tie->since ? call->parts[i].end
                                                         : tie->since;
        }
    }
    for (uint32_t i = 0; row->is_known && i < devices; i++) {
        if (row->is_member[i] && i != call->last) {
            row_refute(waits, row, call, i);
        }
    }
}

/* All have begun; the last one now, on that device. */
static void call_close(struct devicewaits *waits,
                       struct row *row,
                       struct call *call,
                       uint32_t last)
{
    call->last = last;
    call_doubt(waits, row, call);
    for (uint32_t i = 0; i < waits->defs->physicals_count; i++) {
        const struct part *part = &call->parts[i];

        if (!row->is_member[i]) {
            continue;
        }
        row->met += length_within(waits, part->start, part->end);
        row->sums[i].hidden += part->lost;
        if (i != last) {
            part_close(waits, row, call, i);
        }
    }
    /* The last one may have waited for another, if that was later. */
    if (call->is_first) {
        first_add(row, last, &call->parts[last]);
    } else {
        hidden_add(row, last, &call->parts[last],
                   (struct region){call->parts[last].start, call->latest});
    }
    ties_take(waits, row, call);
    call_clear(waits, call);
    row->complete++;
}

#define NO_CALL UINT64_MAX

/* The call of a kernel that has its number in the group, which grows on each
 * device. NO_CALL: the others have gone on, and it meets none. */
static uint64_t call_numbered(const struct devicewaits *waits,
                              struct row *row,
                              uint32_t device,
                              uint32_t number)
{
    uint64_t at = row->counts[device];

    at = at > row->first ? at : row->first;
    while (at < row->next &&
           row->calls[at % DEVICEWAITS_PENDING].number < number) {
        at++;
    }
    if (at < row->next ? row->calls[at % DEVICEWAITS_PENDING].number != number
                       : number <= row->number) {
        return NO_CALL;
    }
    if (at == row->next) {
        struct call *call = &row->calls[at % DEVICEWAITS_PENDING];

        call_clear(waits, call);
        call->number = row->number = number;
        row->next++;
        /* The oldest may be of before some profile. */
        row->first += row->next - row->first > DEVICEWAITS_PENDING;
    }
    row->counts[device] = at + 1;
    return at;
}

/* In its group; 0 = not known. */
static uint32_t
number_of(struct row *row, uint32_t device, const struct timeline_event *event)
{
    uint32_t said = kernelgroup_number((const struct ck_kernel *)event->record);

    return said == 0 && !row->is_unfit && row->numbers[device] != 0
               ? row->numbers[device]++
               : said;
}

/* Where a clock that is estimated jumps, what is on both sides is shorter on
 * the axis: that may have been waited, too. */
static ck_time_t lost_of(const struct devicewaits *waits,
                         const struct timeline_event *event)
{
    uint32_t agent = waits->defs->processes[event->process].agent;
    ck_time_t length = event->end - event->start, own;

    if (!waits->is_estimated) {
        return 0;
    }
    own = axis_undo(waits->axis, agent, event->end) -
          axis_undo(waits->axis, agent, event->start);
    return own > length ? own - length : 0;
}

static void call_enter(struct devicewaits *waits,
                       struct row *row,
                       uint32_t device,
                       const struct timeline_event *event)
{
    uint32_t said = number_of(row, device, event);
    struct call *call;
    uint64_t number;

    row->is_numbered = row->is_numbered || (row->next == 0 && said != 0);
    if (row->is_numbered) {
        number = said == 0 ? NO_CALL : call_numbered(waits, row, device, said);
    } else {
        number = row->counts[device]++;
    }
    if (number == NO_CALL &&
        (said != 0 || kernelgroup_is_communicator(row->group))) {
        return;
    }
    if (row->is_unfit || !row->is_member[device] ||
        (said != 0) != row->is_numbered ||
        number >= row->first + DEVICEWAITS_PENDING) {
        row->is_unfit = true;
        return;
    }
    row->next = number >= row->next ? number + 1 : row->next;
    call = &row->calls[number % DEVICEWAITS_PENDING];
    if (call->parts == NULL) {
        call->parts =
            xcalloc(waits->defs->physicals_count, sizeof(*call->parts));
    }
    call->parts[device] =
        (struct part){.start = event->start,
                      .end = event->end,
                      .lost = lost_of(waits, event),
                      .computed = computed_by(waits, device, event->start),
                      .thread = event->thread};
    if (++call->arrived == row->members) {
        call_close(waits, row, call, device);
        row->first = number + 1;
    }
}

static bool is_communication(struct devicewaits *waits, const char *name)
{
    size_t at = (size_t)((uintptr_t)name >> 4) % NAMES_KNOWN;

    if (waits->known[at].name != name) {
        waits->known[at].name = name;
        waits->known[at].is_communication = devices_is_communication(name);
    }
    return waits->known[at].is_communication;
}

int devicewaits_take(void *consumer, const struct timeline_event *event)
{
    struct devicewaits *waits = consumer;
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    const struct defs_device *device;
    const char *name;
    struct row *row;

    if (!waits->is_wanted || event->record->kind != CK_KIND_KERNEL ||
        (event->record->flags & CK_FLAG_BAD_TIME) != 0 ||
        event->start >= event->end ||
        event->thread >= waits->defs->threads_count) {
        return 0;
    }
    device = defs_device(waits->defs, event->process, record->device);
    name = defs_name(waits->defs, event->process, event->record->name);
    if (device == NULL) {
        return 0;
    }
    if (!is_communication(waits, name)) {
        interval_union_add(&waits->unions[device->physical], event->start,
                           event->end);
        return 0;
    }
    if (!clockkernels_is_meeting(name)) {
        return 0;
    }
    row = row_find(waits, name,
                   kernelgroup_of(waits->defs, event->process, record));
    if (row == NULL) {
        return 0;
    }
    row->length += length_within(waits, event->start, event->end);
    call_enter(waits, row, device->physical, event);
    return 0;
}

/* Do all devices of the group have equally many? Where kernels have their
 * numbers, those that not all have are left out. */
static bool is_fit(const struct devicewaits *waits, const struct row *row)
{
    uint64_t count = 0;

    if (!row->is_known && row->loose > row->first / KERNELSHIFT_LOOSE) {
        return false;
    }
    if (row->is_numbered) {
        return !row->is_unfit && row->complete > 0;
    }
    for (size_t i = 0; !row->is_unfit && i < waits->defs->physicals_count;
         i++) {
        if (!row->is_member[i]) {
            continue;
        }
        if (count != 0 && row->counts[i] != count) {
            return false;
        }
        count = row->counts[i];
        if (count == 0) {
            return false;
        }
    }
    return !row->is_unfit;
}

/* How many of a name nothing is claimed of as their group is not known. */
static uint64_t row_ungrouped(const struct devicewaits *waits,
                              const struct row *row)
{
    uint64_t most = 0;

    if (row->is_known || is_fit(waits, row)) {
        return 0;
    }
    for (size_t i = 0; i < waits->defs->physicals_count; i++) {
        most = row->counts[i] > most ? row->counts[i] : most;
    }
    return most;
}

/* Kernels of a known group that not all of it have. */
static void uneven_report(const struct devicewaits *waits,
                          const struct row *row,
                          struct report *report)
{
    ck_time_t met = is_fit(waits, row) ? row->met : 0;
    uint64_t most = row->next - row->complete;

    if (!row->is_known || row->members < 2 || row->length == met ||
        (is_fit(waits, row) && !row->is_numbered)) {
        return;
    }
    for (size_t i = 0; !is_fit(waits, row) && row->counts != NULL &&
                       i < waits->defs->physicals_count;
         i++) {
        most = row->counts[i] > most ? row->counts[i] : most;
    }
    report->comm_uneven += most > 0 ? most : 1;
    report->comm_uneven_time += row->length - met;
}

/* The domain of a device's profile; DEFS_NONE = of several ranks. */
static uint32_t domain_of(const struct devicewaits *waits, uint32_t device)
{
    const struct defs_physical *physical = &waits->defs->physicals[device];

    for (size_t i = 0;
         physical->ranks_count == 1 && i < waits->defs->agents_count; i++) {
        if (waits->defs->agents[i].is_profile &&
            waits->defs->agents[i].rank == physical->ranks[0]) {
            return waits->defs->agents[i].domain;
        }
    }
    return DEFS_NONE;
}

/* What ends refute of the clocks' bounds is in the report's, and in what the
 * gate looks at. */
static void refuted_report(const struct devicewaits *waits,
                           const struct row *row,
                           struct report *report)
{
    for (uint32_t i = 0; i < waits->defs->physicals_count; i++) {
        ck_time_t most = row->refuted[i].most + KERNELSHIFT_TOGETHER;
        uint32_t own = domain_of(waits, i);
        uint32_t other = domain_of(waits, row->refuted[i].other);

        if (row->refuted[i].most == 0 || own >= report->domains_count ||
            other >= report->domains_count || own == other) {
            continue;
        }
        if (most > report->domains[own].bound_max) {
            report->domains[own].bound_max = most;
            report->domains[own].grade = ck_clock_grade(most);
        }
        for (size_t p = 0; p < report->clock_pairs_count; p++) {
            struct report_clock_pair *pair = &report->clock_pairs[p];
            bool is_its = pair->a == own || pair->b == own;

            pair->bound_max =
                is_its && most > pair->bound_max ? most : pair->bound_max;
        }
        if (most > report->clock_worst.bound_max) {
            report->clock_worst = (struct report_clock_pair){
                .a = own, .b = other, .bound_max = most};
        }
    }
}

void devicewaits_report(const struct devicewaits *waits, struct report *report)
{
    for (size_t i = 0; i < waits->rows_count; i++) {
        const struct row *row = &waits->rows[i];

        for (size_t d = 0; is_fit(waits, row) && d < report->devices_count;
             d++) {
            struct report_device *device = &report->devices[d];
            const struct sums *sums = &row->sums[device->physical];
            ck_time_t room = device->comm - device->comm_wait;
            ck_time_t alone = sums->alone < room ? sums->alone : room;

            device->comm_wait += alone;
            device->comm_waited += sums->waited;
            device->comm_caused += sums->caused;
            device->comm_hidden += sums->hidden;
            report->all.comm_wait += alone;
            report->all.comm_waited += sums->waited;
            report->all.comm_caused += sums->caused;
            report->all.comm_hidden += sums->hidden;
            report->comm_hidden_first += sums->first;
        }
        if (is_fit(waits, row) && row->hidden_most > report->comm_hidden_most) {
            report->comm_hidden_most = row->hidden_most;
        }
        uneven_report(waits, row, report);
        if (is_fit(waits, row)) {
            refuted_report(waits, row, report);
        }
        report->comm_alike +=
            !row->is_known && is_fit(waits, row) ? row->complete : 0;
        report->comm_ungrouped += row_ungrouped(waits, row);
        report->comm_ungrouped_time +=
            row_ungrouped(waits, row) > 0 ? row->length : 0;
    }
}
