/* lines.c - device time by the line of source that launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/lines.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/analysis/devices/share.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* Calls that are remembered; a later one takes the place of an earlier one. */
#define CALLS ((size_t)1 << 17)
/* Calls whose slots are asked for before their turn. */
#define AHEAD 16
/* Rows looked at lately. */
#define ROWS_KNOWN 64
/* Ranges of Python that may be open at once on a thread. */
#define DEPTH 128
/* Of kernels that have no row: their ranks are not looked at. */
#define NO_ROW UINT32_MAX

/* A call, until its kernels come. Half a line of the cache. */
struct call {
    uint32_t process;
    uint32_t tid;
    uint32_t call; /* 0 = free */
    uint32_t line;
    const char *file;
    ck_time_t dur; /* 0 once a kernel came */
};

struct range {
    ck_time_t end;
    struct place place;
};

/* Lines of Python that a thread is in. */
struct python {
    struct range *ranges; /* DEPTH of them, outermost first */
    size_t count;
};

struct lines {
    const struct defs *defs; /* borrowed */
    struct region region;
    struct call *calls;     /* NULL = none was seen: most runs have no device */
    struct python *pythons; /* by thread of the definitions */
    struct table *keys;     /* file, line, kernel */
    struct report_line *items;
    size_t count, room;
    int64_t last;          /* row of the event taken last, -1 = none */
    struct share **shares; /* by physical device */
    struct {
        const char *file;
        const char *kernel;
        uint32_t line;
        uint32_t number; /* + 1; 0 = unused */
    } known[ROWS_KNOWN];
};

struct lines *lines_create(const struct defs *defs, struct region region)
{
    struct lines *lines = xcalloc(1, sizeof(*lines));

    lines->defs = defs;
    lines->region = region;
    lines->pythons = xcalloc(defs->threads_count + 1, sizeof(*lines->pythons));
    lines->keys = table_create();
    lines->shares = xcalloc(defs->physicals_count + 1, sizeof(*lines->shares));
    for (size_t i = 0; i < defs->physicals_count; i++) {
        lines->shares[i] = share_create();
    }
    return lines;
}

void lines_destroy(struct lines *lines)
{
    if (lines == NULL) {
        return;
    }
    for (size_t i = 0; lines->pythons != NULL && i < lines->defs->threads_count;
         i++) {
        free(lines->pythons[i].ranges);
    }
    for (size_t i = 0;
         lines->shares != NULL && i < lines->defs->physicals_count; i++) {
        share_destroy(lines->shares[i]);
    }
    table_destroy(lines->keys);
    free(lines->calls);
    free(lines->pythons);
    free(lines->items);
    free(lines->shares);
    free(lines);
}

/* Where a thread's call number 0 is. Neighbours in number are neighbours
 * here: they leave in turn. */
static inline size_t call_base(uint32_t process, uint32_t tid)
{
    return (((uint64_t)process << 32 | tid) * 0x9e3779b97f4a7c15u) >> 40;
}

/* Lines of programs, not of what is installed. */
static bool is_own(const char *file, size_t length)
{
    static const char *const others[] = {"site-packages/", "dist-packages/",
                                         "/lib/python"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (memmem(file, length, others[i], strlen(others[i])) != NULL) {
            return false;
        }
    }
    return length > 0 && file[0] != '<' &&
           (length < 6 || memcmp(file, "torch/", 6) != 0);
}

/* "file.py(42): function" */
static bool
place_parse(struct texts *texts, const char *name, struct place *place)
{
    const char *end = name == NULL ? NULL : strstr(name, "): ");
    const char *open = end;
    uint32_t line = 0;

    while (open != NULL && open > name && *open != '(') {
        open--;
    }
    if (open == NULL || open == name || open + 1 == end ||
        !is_own(name, (size_t)(open - name))) {
        return false;
    }
    for (const char *at = open + 1; at < end; at++) {
        if (*at < '0' || *at > '9' || line > UINT32_MAX / 10 - 1) {
            return false;
        }
        line = line * 10 + (uint32_t)(*at - '0');
    }
    place->file = texts_keep(texts, name, (size_t)(open - name));
    place->function = end + 3;
    place->line = line;
    return place->file != NULL;
}

static void python_trim(struct python *python, ck_time_t now)
{
    while (python->count > 0 && python->ranges[python->count - 1].end <= now) {
        python->count--;
    }
}

static void range_take(struct lines *lines, const struct timeline_event *event)
{
    struct python *python = &lines->pythons[event->thread];
    struct range range = {.end = event->end};

    if (!place_parse(
            lines->defs->texts,
            defs_name(lines->defs, event->process, event->record->name),
            &range.place)) {
        return;
    }
    if (python->ranges == NULL) {
        python->ranges = xcalloc(DEPTH, sizeof(*python->ranges));
    }
    python_trim(python, event->start);
    if (python->count < DEPTH) {
        python->ranges[python->count++] = range;
    }
}

static void call_take(struct lines *lines, const struct timeline_event *event)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    uint32_t tid = lines->defs->threads[event->thread].tid;
    size_t at = call_base(event->process, tid) + record->call;
    struct python *python = &lines->pythons[event->thread];
    struct call *call;
    struct place place;

    if (record->call == 0) {
        return;
    }
    if (lines->calls == NULL) {
        lines->calls = xcalloc(CALLS, sizeof(*lines->calls));
    }
    call = &lines->calls[at % CALLS];
    __builtin_prefetch(&lines->calls[(at + AHEAD) % CALLS], 1);
    if (call->call == record->call && call->process == event->process &&
        call->tid == tid) {
        return; /* a call within the call, of the same number */
    }
    place = (struct place){NULL, NULL, 0};
    if (record->site != 0) {
        place = defs_place(lines->defs, event->process, record->site);
    }
    python_trim(python, event->start);
    if (place.file == NULL && python->count > 0) {
        place = python->ranges[python->count - 1].place;
    }
    *call = (struct call){.process = event->process,
                          .tid = tid,
                          .call = record->call,
                          .line = place.line,
                          .file = place.file,
                          .dur = record->dur};
}

/* Number of the row of a call's line (NULL = no call), or -1. */
static int64_t
line_find(struct lines *lines, const struct call *call, const char *kernel)
{
    const char *file = call != NULL ? call->file : NULL;
    uint32_t line = call != NULL ? call->line : 0;
    struct table_key key = {(uint64_t)(uintptr_t)file, line,
                            (uint64_t)(uintptr_t)kernel};
    int64_t number = table_number(lines->keys, key);

    if ((size_t)number < lines->count) {
        return number;
    }
    array_grow(&lines->items, &lines->room, lines->count,
               sizeof(*lines->items));
    lines->items[lines->count++] =
        (struct report_line){.file = file, .line = line, .kernel = kernel};
    return number;
}

/* The same, without a search for one that came lately. */
static inline int64_t
line_known(struct lines *lines, const struct call *call, const char *kernel)
{
    const char *file = call != NULL ? call->file : NULL;
    uint32_t line = call != NULL ? call->line : 0;
    size_t at =
        ((uintptr_t)kernel >> 4 ^ (uintptr_t)file >> 3 ^ line) % ROWS_KNOWN;
    int64_t number;

    if (lines->known[at].number != 0 && lines->known[at].kernel == kernel &&
        lines->known[at].file == file && lines->known[at].line == line) {
        return (int64_t)lines->known[at].number - 1;
    }
    number = line_find(lines, call, kernel);
    if (number >= 0) {
        lines->known[at].file = file;
        lines->known[at].kernel = kernel;
        lines->known[at].line = line;
        lines->known[at].number = (uint32_t)number + 1;
    }
    return number;
}

static void busy_give(void *state, uint32_t owner, ck_time_t ns)
{
    if (owner != NO_ROW) {
        ((struct lines *)state)->items[owner].busy += ns;
    }
}

/* Of a kernel with a call site of its own, since its call is not recorded. */
static struct call kernel_site(const struct lines *lines,
                               const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    struct place place = {NULL, NULL, 0};

    if ((record->e.flags & CK_FLAG_SITE) != 0) {
        place = defs_place(lines->defs, event->process, record->correlation);
    }
    return (struct call){.line = place.line, .file = place.file};
}

static void kernel_take(struct lines *lines, const struct timeline_event *event)
{
    const struct ck_kernel *record = (const struct ck_kernel *)event->record;
    const struct defs_device *device =
        defs_device(lines->defs, event->process, record->device);
    size_t at = call_base(event->process, record->tid) + record->call;
    struct call *call = lines->calls == NULL ? NULL : &lines->calls[at % CALLS];
    struct region part = {event->start, event->end};
    struct call site;
    bool is_found = record->call != 0 && call != NULL &&
                    call->call == record->call &&
                    call->process == event->process && call->tid == record->tid;
    int64_t number;

    if (device == NULL || !region_clip(lines->region, &part.start, &part.end)) {
        return;
    }
    if (!defs_is_wanted(lines->defs, event->rank)) {
        share_add(lines->shares[device->physical], NO_ROW, part, busy_give,
                  lines);
        return;
    }
    site = kernel_site(lines, event);
    if (!is_found) {
        call = site.file != NULL ? &site : NULL;
    }
    number = line_known(lines, call,
                        defs_name(lines->defs, event->process, record->e.name));
    lines->last = number;
    lines->items[number].core += part.end - part.start;
    if ((record->e.flags & CK_FLAG_PART) == 0) {
        lines->items[number].calls++;
        lines->items[number].launches += is_found;
    }
    if (is_found) {
        lines->items[number].host += call->dur;
        call->dur = 0;
    }
    share_add(lines->shares[device->physical], (uint32_t)number, part,
              busy_give, lines);
}

int lines_take(void *consumer, const struct timeline_event *event)
{
    struct lines *lines = consumer;

    lines->last = -1;
    if (event->record->kind == CK_KIND_KERNEL ||
        event->record->kind == CK_KIND_GRAPH) {
        if ((event->record->flags & CK_FLAG_BAD_TIME) == 0) {
            kernel_take(lines, event);
        }
        return 0;
    }
    if (event->thread >= lines->defs->threads_count ||
        !defs_is_wanted(lines->defs, event->rank)) {
        return 0;
    }
    if (event->record->kind == CK_KIND_RANGE) {
        range_take(lines, event);
        return 0;
    }
    if (ck_kind_class(event->record->kind) == CK_CLASS_CALL) {
        call_take(lines, event);
    }
    return 0;
}

const struct report_line *lines_last(const struct lines *lines)
{
    return lines->last < 0 ? NULL : &lines->items[lines->last];
}

CK_ORDER(by_busy, struct report_line, CK_DOWN(busy) ?: CK_UP(line))

void lines_report(struct lines *lines, struct report *report)
{
    for (size_t i = 0; i < lines->defs->physicals_count; i++) {
        share_finish(lines->shares[i], busy_give, lines);
    }
    if (lines->count > 0) {
        qsort(lines->items, lines->count, sizeof(*lines->items), by_busy);
    }
    report->lines = lines->items;
    report->lines_count = lines->count;
    lines->items = NULL;
    lines->count = 0;
}
