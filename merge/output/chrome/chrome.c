/* chrome.c - the run as a Chrome trace, for Perfetto and others
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written as the timeline goes by; readers sort by time themselves. A launch
 * is remembered until its kernel comes, in a table of fixed size where a newer
 * launch may push out an older one: the arrow is then left out and counted.
 */
#include "merge/output/devicetotal.h"
#include "merge/output/chrome/chrome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/messages/match.h"
#include "merge/model/memory.h"
#include "merge/output/chrome/chromeclocks.h"
#include "merge/output/chrome/chromewriter.h"
#include "merge/output/chrome/tracks.h"
#include "merge/output/cxxname.h"
#include "merge/output/sink.h"

#define LAUNCHES ((size_t)1 << 17)
/* Process number of what belongs to no rank: this + the process. */
#define NO_RANK 10000000

/* A host call that device work may refer to. */
struct launch {
    uint32_t process;
    uint32_t tid;
    uint32_t call; /* 0 = unused */
    ck_time_t start;
    int64_t track;
};

struct chrome {
    const struct defs *defs;   /* borrowed */
    const struct align *align; /* borrowed */
    struct region part;
    struct chromewriter out;
    struct tracks *tracks;
    struct table *pids; /* that were named */
    struct launch *launches;
    struct devicetotal *devices; /* memory in use */
    struct matcher *matcher;     /* of messages; marks are rows */
    int64_t row;                 /* that was placed last */
    uint64_t flows;              /* of launches */
    uint64_t flows_lost;
    uint64_t arrows; /* of launches and messages */
};

static void
message_draw(void *state, enum match_news news, const struct match *match);

struct chrome *chrome_create(const char *path,
                             const struct defs *defs,
                             const struct align *align,
                             struct region part,
                             struct ck_err *err)
{
    struct chrome *chrome = xcalloc(1, sizeof(*chrome));

    chrome->defs = defs;
    chrome->align = align;
    chrome->part = part;
    chrome->out.zero = part.start;
    chrome->tracks = tracks_create();
    chrome->pids = table_create();
    chrome->launches = xcalloc(LAUNCHES, sizeof(*chrome->launches));
    chrome->matcher = matcher_create(defs, message_draw, chrome);
    chrome->devices = devicetotal_create(defs);
    chrome->out.sink = sink_create(path, err);
    if (chrome->out.sink == NULL) {
        chrome_destroy(chrome);
        return NULL;
    }
    sink_text(chrome->out.sink,
              "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    return chrome;
}

void chrome_destroy(struct chrome *chrome)
{
    if (chrome == NULL) {
        return;
    }
    sink_destroy(chrome->out.sink);
    tracks_destroy(chrome->tracks);
    table_destroy(chrome->pids);
    matcher_destroy(chrome->matcher);
    devicetotal_destroy(chrome->devices);
    free(chrome->launches);
    free(chrome);
}

/* Number of the event's process in the trace; named at first sight. */
static int64_t pid_of(struct chrome *chrome, const struct timeline_event *event)
{
    const struct defs_process *process =
        &chrome->defs->processes[event->process];
    const struct defs_agent *agent = &chrome->defs->agents[process->agent];
    int64_t pid =
        event->rank >= 0 ? event->rank : NO_RANK + (int64_t)event->process;
    size_t known = table_count(chrome->pids);
    struct table_key key = {(uint64_t)pid, 0, 0};
    const char *clock = "";
    char name[512];

    if (table_number(chrome->pids, key) != (int64_t)known) {
        return pid;
    }
    if (!align_domain(chrome->align, agent->domain).is_calibrated) {
        clock = ", clock not calibrated";
    }
    if (event->rank >= 0) {
        (void)snprintf(name, sizeof(name), "rank %d (%.200s%s)", event->rank,
                       agent->host, clock);
    } else {
        (void)snprintf(name, sizeof(name), "process %u (%.200s%s)",
                       process->pid, agent->host, clock);
    }
    chromewriter_meta(&chrome->out, "process_name", pid, 0, name);
    chromewriter_sort(&chrome->out, "process_sort_index", pid, 0, pid);
    return pid;
}

static void track_name(struct chrome *chrome,
                       int64_t pid,
                       const struct track_row *row,
                       const char *base,
                       int64_t sort)
{
    char name[512];

    if (!row->is_new) {
        return;
    }
    if (row->number > 0) {
        (void)snprintf(name, sizeof(name), "%.400s (%u)", base,
                       row->number + 1);
    } else {
        (void)snprintf(name, sizeof(name), "%.400s", base);
    }
    chromewriter_meta(&chrome->out, "thread_name", pid, row->tid, name);
    chromewriter_sort(&chrome->out, "thread_sort_index", pid, row->tid,
                      sort + row->number);
}

static bool is_main(const struct chrome *chrome, uint32_t number)
{
    const struct defs_thread *thread = &chrome->defs->threads[number];

    return thread->tid == chrome->defs->processes[thread->process].pid;
}

/* "main thread 4711" */
static void
thread_title(const struct chrome *chrome, uint32_t number, char title[300])
{
    const struct defs_thread *thread = &chrome->defs->threads[number];

    const char *name = is_main(chrome, number) ? "main thread" : "thread";

    (void)snprintf(title, 300, "%.250s %u",
                   thread->name != NULL ? thread->name : name, thread->tid);
}

/* The thread's row for a slice or a point. */
static void place_thread(struct chrome *chrome,
                         const struct timeline_event *event,
                         int64_t pid,
                         struct track_row *row)
{
    const struct defs_thread *thread = &chrome->defs->threads[event->thread];
    struct table_key key = {0, event->process, thread->tid};
    char name[300];

    tracks_place(chrome->tracks, key, thread->tid, event->start, event->end,
                 row);
    thread_title(chrome, event->thread, name);
    track_name(chrome, pid, row, name,
               is_main(chrome, event->thread) ? 0 : 100);
    chrome->row = row->tid;
}

/* The row of a thread's waits: they end before their calls do, and come later
 * than what else is on the thread's own rows. */
static void place_wait(struct chrome *chrome,
                       const struct timeline_event *event,
                       int64_t pid,
                       struct track_row *row)
{
    uint32_t tid = chrome->defs->threads[event->thread].tid;
    struct table_key key = {2, event->process, tid};
    char title[300], name[320];

    tracks_place(chrome->tracks, key, -1, event->start, event->end, row);
    thread_title(chrome, event->thread, title);
    (void)snprintf(name, sizeof(name), "waits of %s", title);
    track_name(chrome, pid, row, name,
               is_main(chrome, event->thread) ? 50 : 150);
}

/* The row of why a device was idle. */
static void place_idle(struct chrome *chrome,
                       const struct timeline_event *event,
                       uint32_t physical,
                       int64_t pid,
                       struct track_row *row)
{
    struct table_key key = {3, physical, 0};
    char name[300];

    tracks_place(chrome->tracks, key, -1, event->start, event->end, row);
    (void)snprintf(name, sizeof(name), "%.200s idle because",
                   chrome->defs->physicals[physical].name);
    track_name(chrome, pid, row, name, 900);
}

/* The row of a device's queue. */
static void place_queue(struct chrome *chrome,
                        const struct timeline_event *event,
                        const struct ck_copy *work,
                        int64_t pid,
                        struct track_row *row)
{
    struct table_key key = {1, event->process,
                            (uint64_t)work->device << 32 | work->queue};
    const struct defs_device *device =
        defs_device(chrome->defs, event->process, work->device);
    char name[300];

    tracks_place(chrome->tracks, key, -1, event->start, event->end, row);
    (void)snprintf(name, sizeof(name), "%.200s #%u queue %u",
                   device != NULL && device->name[0] != '\0' ? device->name
                                                             : "device",
                   work->device, work->queue);
    track_name(chrome, pid, row, name, 1000);
}

static void put_slice(struct chrome *chrome,
                      const struct timeline_event *event,
                      int64_t pid,
                      int64_t tid,
                      const char *category)
{
    const char *name =
        defs_name(chrome->defs, event->process, event->record->name);
    char plain[512];

    chromewriter_begin(&chrome->out, "X", pid, tid);
    chromewriter_name(&chrome->out,
                      name != NULL && cxxname_plain(plain, sizeof(plain), name)
                          ? plain
                          : name);
    sink_text(chrome->out.sink, ",\"cat\":");
    sink_string(chrome->out.sink, category);
    chromewriter_time(&chrome->out, event->start);
    sink_text(chrome->out.sink, ",\"dur\":");
    sink_us(chrome->out.sink, event->end - event->start);
}

static struct launch *
launch_at(struct chrome *chrome, uint32_t process, uint32_t tid, uint32_t call)
{
    uint64_t hash = ((uint64_t)tid << 32 | call) * 0x9e3779b97f4a7c15u +
                    (uint64_t)process * 0xc2b2ae3d27d4eb4fu;

    return &chrome->launches[(hash >> 40) % LAUNCHES];
}

static void launch_keep(struct chrome *chrome,
                        const struct timeline_event *event,
                        int64_t track)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    uint32_t tid = chrome->defs->threads[event->thread].tid;
    struct launch *launch = launch_at(chrome, event->process, tid, call->call);

    launch->process = event->process;
    launch->tid = tid;
    launch->call = call->call;
    launch->start = event->start;
    launch->track = track;
}

/* One end of an arrow. */
static void put_flow(struct chrome *chrome,
                     const char *kind,
                     const char *phase,
                     int64_t pid,
                     int64_t tid,
                     ck_time_t time)
{
    chromewriter_begin(&chrome->out, phase, pid, tid);
    chromewriter_name(&chrome->out, kind);
    sink_text(chrome->out.sink, ",\"cat\":");
    sink_string(chrome->out.sink, kind);
    sink_text(chrome->out.sink, ",\"id\":");
    sink_int(chrome->out.sink, (int64_t)chrome->arrows);
    chromewriter_time(&chrome->out, time);
    if (phase[0] == 'f') {
        sink_text(chrome->out.sink, ",\"bp\":\"e\"");
    }
    chromewriter_end(&chrome->out);
}

static void flow_draw(struct chrome *chrome,
                      const struct timeline_event *event,
                      int64_t pid,
                      int64_t tid)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    const struct launch *launch =
        launch_at(chrome, event->process, work->tid, work->call);

    if (work->call == 0 || event->start == event->end) {
        return;
    }
    if (launch->call != work->call || launch->tid != work->tid ||
        launch->process != event->process || launch->start > event->start) {
        chrome->flows_lost++;
        return;
    }
    chrome->flows++;
    chrome->arrows++;
    put_flow(chrome, "launch", "s", pid, launch->track, launch->start);
    put_flow(chrome, "launch", "f", pid, tid, event->start);
}

/* One end of a message's arrow, on the row of a call. */
static void put_message(struct chrome *chrome,
                        const char *phase,
                        const struct match_end *end,
                        int64_t row,
                        ck_time_t time)
{
    const struct timeline_event event = {
        .process = end->process,
        .rank = chrome->defs->processes[end->process].rank};

    put_flow(chrome, "message", phase, pid_of(chrome, &event), row, time);
}

/* From the call that posted the send to the end of the one in which the receive
 * was complete: of a receive that was waited for later, that is on the thread's
 * first row. */
static void
message_draw(void *state, enum match_news news, const struct match *match)
{
    struct chrome *chrome = state;
    const struct match_end *recv = &match->recv;
    bool is_later = recv->completed.thread != recv->posted.thread ||
                    recv->completed.number != recv->posted.number;
    int64_t row = is_later ? chrome->defs->threads[recv->completed.thread].tid
                           : recv->mark;

    if (news != MATCH_RECEIVED || match->send.post < chrome->part.start ||
        recv->done > chrome->part.end) {
        return;
    }
    chrome->arrows++;
    put_message(chrome, "s", &match->send, match->send.mark, match->send.post);
    /* Within its call: one that ends at that time would not have it. */
    put_message(chrome, "f", recv, row, recv->done - 1);
}

/* tid, call, device and queue are alike in kernels and copies. */
_Static_assert(offsetof(struct ck_kernel, tid) ==
                       offsetof(struct ck_copy, tid) &&
                   offsetof(struct ck_kernel, queue) ==
                       offsetof(struct ck_copy, queue),
               "one shape of device work");

static void take_device(struct chrome *chrome,
                        const struct timeline_event *event)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    bool is_copy = event->record->kind >= CK_KIND_COPY_H2D;
    int64_t pid = pid_of(chrome, event);
    struct track_row row;

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    place_queue(chrome, event, work, pid, &row);
    put_slice(chrome, event, pid, row.tid, is_copy ? "copy" : "kernel");
    if (is_copy) {
        chromewriter_int(&chrome->out,
                         ",\"args\":{\"bytes\":", (int64_t)work->bytes);
    } else {
        const struct ck_kernel *kernel = (const struct ck_kernel *)work;

        chromewriter_int(&chrome->out,
                         ",\"args\":{\"global_x\":", kernel->global[0]);
        chromewriter_int(&chrome->out, ",\"global_y\":", kernel->global[1]);
        chromewriter_int(&chrome->out, ",\"global_z\":", kernel->global[2]);
        chromewriter_int(&chrome->out, ",\"local_x\":", kernel->local[0]);
    }
    if (work->queued > 0) {
        sink_text(chrome->out.sink, ",\"queued_us_before\":");
        sink_us(chrome->out.sink, event->start - work->queued);
    }
    sink_text(chrome->out.sink, "}");
    chromewriter_end(&chrome->out);
    flow_draw(chrome, event, pid, row.tid);
}

/* "train.c:212" of a call site, where it is known. */
static void arg_place(struct chrome *chrome,
                      const struct timeline_event *event,
                      uint64_t site)
{
    struct place place = defs_place(chrome->defs, event->process, site);
    char text[600];

    if (place.function == NULL && place.file == NULL) {
        return;
    }
    (void)snprintf(text, sizeof(text), "%.300s (%.200s:%u)",
                   place.function == NULL ? "?" : place.function,
                   place.file == NULL ? "?" : place.file, place.line);
    sink_text(chrome->out.sink, ",\"from\":");
    sink_string(chrome->out.sink, text);
}

static void put_call_args(struct chrome *chrome,
                          const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;

    chromewriter_int(&chrome->out, ",\"args\":{\"call\":", call->call);
    switch (ck_kind_class(call->e.kind)) {
    case CK_CLASS_MESSAGE:
        chromewriter_int(&chrome->out,
                         ",\"peer\":", ((const struct ck_message *)call)->peer);
        chromewriter_int(&chrome->out,
                         ",\"tag\":", ((const struct ck_message *)call)->tag);
        chromewriter_int(&chrome->out, ",\"bytes\":",
                         (int64_t)((const struct ck_message *)call)->bytes);
        break;
    case CK_CLASS_COLLECTIVE:
        chromewriter_int(&chrome->out, ",\"seq\":",
                         ((const struct ck_collective *)call)->seq);
        chromewriter_int(
            &chrome->out, ",\"bytes\":",
            (int64_t)((const struct ck_collective *)call)->bytes_out);
        break;
    default:
        if (call->bytes > 0) {
            chromewriter_int(&chrome->out, ",\"bytes\":", (int64_t)call->bytes);
        }
        break;
    }
    arg_place(chrome, event, call->site);
    if ((call->e.flags & CK_FLAG_CUT) != 0) {
        sink_text(chrome->out.sink, ",\"end\":\"not known\"");
    }
    sink_text(chrome->out.sink, "}");
}

static void take_call(struct chrome *chrome, const struct timeline_event *event)
{
    int64_t pid = pid_of(chrome, event);
    struct track_row row;

    if (ck_kind_is_about_call(event->record->kind)) {
        return;
    }
    place_thread(chrome, event, pid, &row);
    put_slice(chrome, event, pid, row.tid, ck_kind_name(event->record->kind));
    put_call_args(chrome, event);
    chromewriter_end(&chrome->out);
    if (ck_kind_class(event->record->kind) == CK_CLASS_CALL) {
        launch_keep(chrome, event, row.tid);
    }
}

static void counter_begin(struct chrome *chrome,
                          const struct timeline_event *event,
                          const char *name)
{
    chromewriter_begin(&chrome->out, "C", pid_of(chrome, event), 0);
    chromewriter_name(&chrome->out, name);
}

static void counter_end(struct chrome *chrome,
                        const struct timeline_event *event,
                        int64_t value)
{
    chromewriter_time(&chrome->out, event->start);
    chromewriter_int(&chrome->out, ",\"args\":{\"value\":", value);
    sink_text(chrome->out.sink, "}");
    chromewriter_end(&chrome->out);
}

static void put_value(struct chrome *chrome,
                      const struct timeline_event *event,
                      int64_t value)
{
    counter_begin(chrome, event,
                  defs_name(chrome->defs, event->process, event->record->name));
    counter_end(chrome, event, value);
}

/* Devices of one name are kept apart by their numbers. */
static void put_memory(struct chrome *chrome,
                       const struct timeline_event *event,
                       const struct devicetotal_now *now)
{
    counter_begin(chrome, event, now->name);
    chromewriter_int(&chrome->out, ",\"id\":\"", now->number);
    sink_text(chrome->out.sink, "\"");
    counter_end(chrome, event, now->bytes);
}

static void take_mark(struct chrome *chrome, const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    int64_t pid = pid_of(chrome, event);
    struct track_row row;

    if (mark->e.kind == CK_KIND_PREEMPTED || mark->e.kind == CK_KIND_BLOCKED) {
        return; /* they would hide what the thread did meanwhile */
    }
    if (mark->e.kind == CK_KIND_VALUE) {
        put_value(chrome, event, mark->value);
        return;
    }
    place_thread(chrome, event, pid, &row);
    if (mark->e.kind == CK_KIND_MARK) {
        chromewriter_begin(&chrome->out, "i", pid, row.tid);
        chromewriter_name(&chrome->out, defs_name(chrome->defs, event->process,
                                                  mark->e.name));
        sink_text(chrome->out.sink, ",\"cat\":\"mark\",\"s\":\"t\"");
        chromewriter_time(&chrome->out, event->start);
    } else if (mark->e.kind == CK_KIND_STEP) {
        chromewriter_begin(&chrome->out, "X", pid, row.tid);
        chromewriter_int(&chrome->out, ",\"name\":\"step ", mark->value);
        sink_text(chrome->out.sink, "\",\"cat\":\"step\"");
        chromewriter_time(&chrome->out, event->start);
        sink_text(chrome->out.sink, ",\"dur\":");
        sink_us(chrome->out.sink, mark->dur);
    } else {
        put_slice(chrome, event, pid, row.tid, "range");
    }
    chromewriter_int(&chrome->out, ",\"args\":{\"value\":", mark->value);
    sink_text(chrome->out.sink, "}");
    chromewriter_end(&chrome->out);
}

static void slice_take(struct chrome *chrome,
                       const struct timeline_event *event)
{
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_MARK:
        take_mark(chrome, event);
        break;
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        take_call(chrome, event);
        break;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        take_device(chrome, event);
        break;
    case CK_CLASS_COUNTER: {
        const struct ck_counter *counter =
            (const struct ck_counter *)event->record;

        if (counter->e.kind == CK_KIND_COUNTER && counter->tid == 0) {
            put_value(chrome, event, counter->value);
        }
        break;
    }
    default:
        break;
    }
}

int chrome_take(void *consumer, const struct timeline_event *event)
{
    struct chrome *chrome = consumer;
    struct devicetotal_now now;

    if (ck_kind_class(event->record->kind) == CK_CLASS_STACKED) {
        /* Before the part, too: it is a sum. */
        if (devicetotal_take(chrome->devices, event, &now) &&
            event->start >= chrome->part.start &&
            event->start <= chrome->part.end) {
            put_memory(chrome, event, &now);
        }
        return sink_error(chrome->out.sink);
    }
    if (event->end >= chrome->part.start && event->start <= chrome->part.end) {
        slice_take(chrome, event);
    }
    matcher_take(chrome->matcher, event, chrome->row);
    return sink_error(chrome->out.sink);
}

/* "wait for rank 3" */
static void whom_say(const struct chrome *chrome, uint32_t whom, char name[64])
{
    const struct defs *defs = chrome->defs;
    const struct defs_process *process;

    if (whom == DEFS_NONE) {
        (void)snprintf(name, 64, "tie (below clock error)");
        return;
    }
    process = &defs->processes[defs->threads[whom].process];
    if (process->rank >= 0) {
        (void)snprintf(name, 64, "wait for rank %d", process->rank);
    } else {
        (void)snprintf(name, 64, "wait for process %u", process->pid);
    }
}

void chrome_wait(struct chrome *chrome, const struct chrome_wait *wait)
{
    uint32_t process = chrome->defs->threads[wait->thread].process;
    struct timeline_event event = {
        .start = wait->part.start,
        .end = wait->part.end,
        .rank = chrome->defs->processes[process].rank,
        .process = process,
        .thread = wait->thread,
    };
    struct track_row row;
    char name[64];
    int64_t pid;

    if (event.end < chrome->part.start || event.start > chrome->part.end) {
        return;
    }
    pid = pid_of(chrome, &event);
    place_wait(chrome, &event, pid, &row);
    whom_say(chrome, wait->whom, name);
    chromewriter_begin(&chrome->out, "X", pid, row.tid);
    chromewriter_name(&chrome->out, name);
    sink_text(chrome->out.sink, ",\"cat\":\"wait\"");
    chromewriter_time(&chrome->out, event.start);
    sink_text(chrome->out.sink, ",\"dur\":");
    sink_us(chrome->out.sink, event.end - event.start);
    chromewriter_int(&chrome->out, ",\"args\":{\"error_ns\":", wait->error);
    if (wait->kind != NULL) {
        sink_text(chrome->out.sink, ",\"kind\":");
        sink_string(chrome->out.sink, wait->kind);
    }
    sink_text(chrome->out.sink, "}");
    chromewriter_end(&chrome->out);
}

void chrome_idle(struct chrome *chrome,
                 uint32_t physical,
                 struct region part,
                 enum cause cause)
{
    uint32_t process = chrome->defs->physicals[physical].process;
    struct timeline_event event = {
        .start = part.start,
        .end = part.end,
        .rank = chrome->defs->processes[process].rank,
        .process = process,
    };
    int64_t pid = pid_of(chrome, &event);
    struct track_row row;

    place_idle(chrome, &event, physical, pid, &row);
    chromewriter_begin(&chrome->out, "X", pid, row.tid);
    chromewriter_name(&chrome->out, cause_name(cause));
    sink_text(chrome->out.sink, ",\"cat\":\"idle\"");
    chromewriter_time(&chrome->out, event.start);
    sink_text(chrome->out.sink, ",\"dur\":");
    sink_us(chrome->out.sink, event.end - event.start);
    chromewriter_end(&chrome->out);
}

void chrome_failed(const struct chrome *chrome, struct ck_err *err)
{
    if (sink_error(chrome->out.sink) != 0) {
        (void)ck_err_set(err, "cannot write %s: %s",
                         sink_path(chrome->out.sink), strerror(errno));
    }
}

/* Name of the run, and the date of the trace's zero. */
static void put_run(struct chrome *chrome, const struct report *report)
{
    sink_text(chrome->out.sink, ",\"run\":");
    sink_string(chrome->out.sink, report->name);
    if (report->realtime != 0) {
        chromewriter_int(&chrome->out, ",\"realtime_of_zero_ns\":",
                         report->realtime + chrome->part.start);
    }
}

int chrome_finish(struct chrome *chrome,
                  const struct report *report,
                  struct ck_err *err)
{
    chromeclocks_put(&chrome->out, chrome->defs, chrome->align, chrome->part);
    sink_text(chrome->out.sink, "\n],\"otherData\":{\"producer\":\"ckmerge\"");
    chromewriter_int(&chrome->out, ",\"arrows\":", (int64_t)chrome->flows);
    chromewriter_int(&chrome->out,
                     ",\"arrows_left_out\":", (int64_t)chrome->flows_lost);
    put_run(chrome, report);
    chromeclocks_list(&chrome->out, chrome->defs, chrome->align);
    sink_text(chrome->out.sink, "}}\n");
    return sink_finish(chrome->out.sink, err);
}
