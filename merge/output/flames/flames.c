/* flames.c - where time went, as stacks over time: what flame graphs show
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A path is a key of three numbers, whose frames are looked at once, at the
 * end:
 *   cpu     row of the table of stacks
 *   offcpu  thread, call, kind; of a wait with a stack its row, 0, kind
 *   device  file, line and rank, kernel; of a copy process, kind, site
 *   idle    cause, wait and rank; rank waited for; what both did
 */
#include "merge/output/flames/flames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/output/stacks/stacktable.h"

#define FRAME_BYTES (STACKTABLE_NAME + 64)
/* Calls within each other that are remembered of a thread. */
#define DEPTH 8
/* Marks a copy's process: no address of a file's name has it. */
#define IS_COPY ((uint64_t)1 << 63)
/* Numbers of a thread's calls by name and place; more are "other calls". */
#define CALLS_MOST ((size_t)1 << 16)

/* A call that a thread is in. */
struct open_call {
    ck_time_t end;
    uint64_t site;
    uint32_t name;
    uint32_t chain; /* its number and 1; 0 = not asked for yet */
};

/* Calls of a thread, the outermost first. */
struct open_calls {
    struct open_call items[DEPTH];
    uint32_t count;
};

struct flames {
    struct flames_of of;
    struct flamecells *cells;
    struct stacktable *stacks;
    struct stacktable *waits; /* stacks of waits without a CPU */
    struct open_calls **open; /* by thread of the definitions */
    uint64_t site;            /* of the copy that comes next */
    bool has_offcpu; /* a thread was off the CPU: before that, calls need not be
                        remembered */
    struct table *chains; /* chain around it and 1, name, site and process:
                             number of the chain of calls */
};

struct flames *flames_create(const struct flames_of *of)
{
    struct flames *flames = xcalloc(1, sizeof(*flames));

    flames->of = *of;
    flames->cells = flamecells_create(of->region, of->realtime);
    flames->stacks = stacktable_create(of->defs, of->region);
    flames->waits = stacktable_create(of->defs, of->region);
    flames->open = xcalloc(of->defs->threads_count + 1, sizeof(*flames->open));
    flames->chains = table_create();
    stacktable_of_waits(flames->waits);
    return flames;
}

void flames_destroy(struct flames *flames)
{
    if (flames == NULL) {
        return;
    }
    for (size_t i = 0;
         flames->open != NULL && i < flames->of.defs->threads_count; i++) {
        free(flames->open[i]);
    }
    free(flames->open);
    table_destroy(flames->chains);
    stacktable_destroy(flames->stacks);
    stacktable_destroy(flames->waits);
    flamecells_destroy(flames->cells);
    free(flames);
}

static void sample_take(struct flames *flames,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    int64_t row = stacktable_sample(flames->stacks, event);

    if (row == STACKTABLE_NONE) {
        return;
    }
    flamecells_add(flames->cells, FLAME_CPU,
                   &(struct table_key){(uint64_t)row, 0, 0},
                   (struct region){event->start, event->start}, record->weight);
}

/* A wait with a stack: spread over its time, as those without one are. */
static void wait_take(struct flames *flames, const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    int64_t row = stacktable_sample(flames->waits, event);

    if (row == STACKTABLE_NONE) {
        return;
    }
    flamecells_add(flames->cells, FLAME_OFFCPU,
                   &(struct table_key){(uint64_t)row, 0, CK_KIND_OFF_CPU},
                   region_from(event->start, record->weight), record->weight);
}

/* The calls that a thread is in. */
static struct open_calls *open_of(struct flames *flames, uint32_t thread)
{
    if (flames->open[thread] == NULL) {
        flames->open[thread] = xcalloc(1, sizeof(*flames->open[thread]));
    }
    return flames->open[thread];
}

static void open_trim(struct open_calls *open, ck_time_t now)
{
    while (open->count > 0 && open->items[open->count - 1].end <= now) {
        open->count--;
    }
}

/* The site is at the same place in all classes of calls. */
static void call_take(struct flames *flames, const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct open_calls *open = open_of(flames, event->thread);

    open_trim(open, event->start);
    if (open->count < DEPTH && event->end > event->start) {
        open->items[open->count++] = (struct open_call){
            .end = event->end, .site = record->site, .name = record->e.name};
    }
}

/* Number of the calls that a thread is in, and 1; 0 = in none, or there are too
 * many to count. */
static uint64_t chain_of(struct flames *flames, uint32_t thread, ck_time_t now)
{
    struct open_calls *open = flames->open[thread];
    uint32_t process = flames->of.defs->threads[thread].process;
    uint64_t around = 0;

    if (open == NULL) {
        return 0;
    }
    open_trim(open, now);
    for (uint32_t i = 0; i < open->count; i++) {
        struct open_call *call = &open->items[i];
        const char *name = defs_name(flames->of.defs, process, call->name);
        struct table_key key = {around << 32 | process,
                                (uint64_t)(uintptr_t)name, call->site};

        if (call->chain == 0 && name != NULL &&
            (table_count(flames->chains) < CALLS_MOST ||
             table_has(flames->chains, key))) {
            int64_t number = table_number(flames->chains, key);

            call->chain = (uint32_t)number + 1;
        }
        around = call->chain != 0 ? call->chain : around;
    }
    return around;
}

/* A thread was off the CPU, by whichever record. */
static void offcpu_take(struct flames *flames,
                        const struct timeline_event *event)
{
    const struct ck_mark *record = (const struct ck_mark *)event->record;
    int64_t thread =
        stacktable_thread_number(flames->stacks, event->process, record->e.name,
                                 (uint32_t)record->value);
    uint64_t chain;

    flames->has_offcpu = true;
    if (thread < 0 || (record->e.flags & CK_FLAG_STACK) != 0) {
        return;
    }
    chain = chain_of(flames, (uint32_t)thread, event->start);
    flamecells_add(flames->cells, FLAME_OFFCPU,
                   &(struct table_key){(uint64_t)thread, chain, record->e.kind},
                   (struct region){event->start, event->end},
                   event->end - event->start);
}

static void device_take(struct flames *flames,
                        const struct timeline_event *event)
{
    struct region part = {event->start, event->end};
    struct table_key path = {0, 0, 0};

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    if (ck_kind_class(event->record->kind) == CK_CLASS_COPY) {
        path = (struct table_key){IS_COPY | event->process, event->record->kind,
                                  flames->site};
    } else {
        const struct report_line *line = lines_last(flames->of.lines);

        if (line == NULL) {
            return;
        }
        path = (struct table_key){(uint64_t)(uintptr_t)line->file,
                                  (uint64_t)line->line << 32 |
                                      (uint32_t)event->rank,
                                  (uint64_t)(uintptr_t)line->kernel};
    }
    flamecells_add(flames->cells, FLAME_DEVICE, &path, part,
                   part.end - part.start);
}

static void taken(struct flames *flames, const struct timeline_event *event)
{
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_SAMPLE:
        if (event->record->kind == CK_KIND_OFF_CPU) {
            wait_take(flames, event);
        } else {
            sample_take(flames, event);
        }
        return;
    case CK_CLASS_MARK:
        if (event->record->kind == CK_KIND_PREEMPTED ||
            event->record->kind == CK_KIND_BLOCKED) {
            offcpu_take(flames, event);
        }
        return;
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        if (!ck_kind_is_about_call(event->record->kind) &&
            event->thread < flames->of.defs->threads_count) {
            call_take(flames, event);
        }
        return;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        device_take(flames, event);
        return;
    default:
        return;
    }
}

/* Calls are of use from the first time on that a thread was off the CPU. */
int flames_take(void *consumer, const struct timeline_event *event)
{
    const uint32_t calls = 1u << CK_CLASS_CALL | 1u << CK_CLASS_MESSAGE |
                           1u << CK_CLASS_COLLECTIVE;
    struct flames *flames = consumer;

    if (flames->has_offcpu ||
        (calls >> ck_kind_class(event->record->kind) & 1) == 0) {
        taken(flames, event);
    }
    return 0;
}

void flames_site(struct flames *flames, uint64_t site)
{
    flames->site = site;
}

void flames_idle(struct flames *flames,
                 const struct flames_gap *gap,
                 struct region part)
{
    const struct table_key path = {
        (uint64_t)gap->cause << 40 | (uint64_t)gap->wait << 32 |
            (uint32_t)gap->rank,
        (uint32_t)gap->blamed, (uint64_t)gap->did << 32 | gap->blamed_did};

    flamecells_add(flames->cells, FLAME_IDLE, &path, part,
                   part.end - part.start);
}

void flames_finish(struct flames *flames)
{
    stacktable_resolve(flames->stacks);
    stacktable_resolve(flames->waits);
    flamecells_finish(flames->cells);
}

const struct flamecells *flames_cells(const struct flames *flames)
{
    return flames->cells;
}

/* ---- frames ------------------------------------------------------------- */

/* Where frames go. */
struct frames {
    const struct flames *flames;
    flames_frame_f f;
    void *state;
};

static void frame(const struct frames *to, const char *text)
{
    to->f(to->state, text);
}

static void frame_rank(const struct frames *to, int32_t rank)
{
    char text[32] = "no rank";

    if (rank != DEFS_RANK_UNKNOWN) {
        (void)snprintf(text, sizeof(text), "rank %d", (int)rank);
    }
    frame(to, text);
}

/* "name (file:line)", or without what is not known. */
static void frame_place(const struct frames *to,
                        const char *name,
                        const struct place *place)
{
    char text[FRAME_BYTES];
    const char *file = place->file;
    const char *slash = file == NULL ? NULL : strrchr(file, '/');

    if (name == NULL) {
        name = place->function;
    }
    file = slash == NULL ? file : slash + 1;
    if (file == NULL) {
        (void)snprintf(text, sizeof(text), "%s", name == NULL ? "-" : name);
    } else if (name == NULL) {
        (void)snprintf(text, sizeof(text), "%s:%u", file, place->line);
    } else {
        (void)snprintf(text, sizeof(text), "%.4000s (%s:%u)", name, file,
                       place->line);
    }
    frame(to, text);
}

static void frame_activity(const struct frames *to, uint32_t number)
{
    struct report_activity did;

    if (number == DEFS_NONE) {
        return;
    }
    did = lookback_activity_report(to->flames->of.lookback, number);
    if (did.range != NULL) {
        frame(to, did.range);
    }
    if (did.call != NULL) {
        frame_place(to, did.call, &did.place);
    } else if (did.sampled.place.function != NULL) {
        frame_place(to, NULL, &did.sampled.place);
    } else if (did.after != NULL) {
        char text[FRAME_BYTES];

        (void)snprintf(text, sizeof(text), "after %.4000s", did.after);
        frame_place(to, text, &did.after_place);
    }
}

static void frame_thread(const struct frames *to,
                         const struct stacktable_row *row)
{
    char name[STACKTABLE_NAME];
    char text[FRAME_BYTES];

    stacktable_thread(to->flames->stacks, row, name);
    (void)snprintf(text, sizeof(text), "thread %s", name);
    frame(to, text);
}

/* Functions that are not known are one frame, however many there are. */
static void stack_frames(const struct frames *to,
                         const struct stacktable *stacks,
                         struct table_key key)
{
    char name[STACKTABLE_NAME];
    bool is_unknown = false;
    size_t count;
    const struct stacktable_row *row = stacktable_row(stacks, (uint32_t)key.a);
    const struct place *places = stacktable_places(stacks, &count);

    frame_rank(to, row->rank);
    frame_thread(to, row);
    for (size_t i = 0; i < row->count; i++) {
        const struct place *place = &places[row->frames[i]];
        bool was_unknown = is_unknown;

        is_unknown = place->function == NULL && place->file == NULL;
        if (!is_unknown || !was_unknown) {
            stacktable_name(place, name);
            frame(to, name);
        }
    }
}

static void cpu_frames(const struct frames *to, struct table_key key)
{
    stack_frames(to, to->flames->stacks, key);
}

/* The calls from the outermost one on; there are DEPTH of them at most. */
static void chain_frames(const struct frames *to, uint64_t number)
{
    const struct flames *flames = to->flames;
    struct table_key keys[DEPTH];
    size_t count = 0;

    for (; number > 0 && count < DEPTH; count++) {
        keys[count] = table_key(flames->chains, (size_t)number - 1);
        number = keys[count].a >> 32;
    }
    while (count-- > 0) {
        struct place place =
            defs_place(flames->of.defs, (uint32_t)keys[count].a, keys[count].c);

        frame_place(to, (const char *)(uintptr_t)keys[count].b, &place);
    }
}

static void offcpu_frames(const struct frames *to, struct table_key key)
{
    const struct defs *defs = to->flames->of.defs;
    struct stacktable_row row = {.thread = (uint32_t)key.a};

    if (key.c == CK_KIND_OFF_CPU) {
        stack_frames(to, to->flames->waits, key);
        return;
    }
    row.process = defs->threads[key.a].process;
    frame_rank(to, defs->processes[row.process].rank);
    frame_thread(to, &row);
    chain_frames(to, key.b);
    frame(to, key.c == CK_KIND_PREEMPTED ? "[ready, without a CPU]"
                                         : "[waits in the kernel]");
}

static void device_frames(const struct frames *to, struct table_key key)
{
    const struct defs *defs = to->flames->of.defs;
    struct place place = {NULL, (const char *)(uintptr_t)key.a,
                          (uint32_t)(key.b >> 32)};

    if ((key.a & IS_COPY) != 0) {
        uint32_t process = (uint32_t)key.a;

        place = defs_place(defs, process, key.c);
        frame_rank(to, defs->processes[process].rank);
        frame_place(to, NULL, &place);
        frame(to, ck_kind_name((unsigned)key.b));
        return;
    }
    frame_rank(to, (int32_t)(uint32_t)key.b);
    frame_place(to, NULL, &place);
    frame(to, key.c == 0 ? "(no name)" : (const char *)(uintptr_t)key.c);
}

static void idle_frames(const struct frames *to, struct table_key key)
{
    const char *wait = wait_kind_name((enum wait_kind)(key.a >> 32 & 0xff));
    int32_t blamed = (int32_t)(uint32_t)key.b;

    frame_rank(to, (int32_t)(uint32_t)key.a);
    frame(to, cause_name((enum cause)(key.a >> 40)));
    if (wait != NULL) {
        frame(to, wait);
    }
    frame_activity(to, (uint32_t)(key.c >> 32));
    if (blamed != DEFS_RANK_UNKNOWN) {
        char text[40];

        (void)snprintf(text, sizeof(text), "for rank %d", (int)blamed);
        frame(to, text);
        frame_activity(to, (uint32_t)key.c);
    }
}

void flames_frames(const struct flames *flames,
                   enum flame_kind kind,
                   size_t path,
                   flames_frame_f f,
                   void *state)
{
    static void (*const frames_of[FLAME_KINDS])(const struct frames *,
                                                struct table_key) = {
        [FLAME_CPU] = cpu_frames,
        [FLAME_OFFCPU] = offcpu_frames,
        [FLAME_DEVICE] = device_frames,
        [FLAME_IDLE] = idle_frames,
    };
    struct frames to = {flames, f, state};
    struct table_key key;

    if (flamecells_path(flames->cells, kind, path, &key)) {
        frames_of[kind](&to, key);
    } else {
        frame(&to, "other stacks");
    }
}
