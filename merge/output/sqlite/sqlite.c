/* sqlite.c - the run as an SQLite file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which call, range and step a call is in is known from what is open on its
 * thread as it begins; which call launched device work from a table of fixed
 * size, where a newer launch may push out an older one: the work's launch_call
 * is 0 then, and counted.
 */
#include "merge/output/sqlite/sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/sqlite/callsum.h"
#include "merge/output/sqlite/sqlitefile.h"
#include "merge/output/sqlite/tables.h"
#include "merge/output/sqlite/worksum.h"
#include "merge/output/stacks/stacktable.h"

#define LAUNCHES ((size_t)1 << 17)
/* Work that seems to have begun before its launch and waits for that. */
#define EARLY 1024
/* Calls, ranges and steps that are open on a thread at once. */
#define OPEN 32

enum put {
    PUT_INFO,
    PUT_STRING,
    PUT_RANK,
    PUT_DEVICE,
    PUT_THREAD,
    PUT_CALL,
    PUT_WAIT,
    PUT_WORK,
    PUT_IDLE,
    PUT_RANGE,
    PUT_STEP,
    PUT_SITE,
    PUT_CAUSE,
    PUT_CLOCK,
    PUT_LOSS,
    PUT_SAMPLE,
    PUT_STACK,
    PUT_FRAME,
    PUT_CALL_SUM,
    PUT_WORK_SUM,
    PUTS
};

static const struct {
    const char *table;
    unsigned columns;
} puts_of[PUTS] = {
    [PUT_INFO] = {"ck_info", 2},       [PUT_STRING] = {"string", 2},
    [PUT_RANK] = {"rank", 10},         [PUT_DEVICE] = {"device", 14},
    [PUT_THREAD] = {"thread", 5},      [PUT_CALL] = {"call", 14},
    [PUT_WAIT] = {"wait", 7},          [PUT_WORK] = {"work", 12},
    [PUT_IDLE] = {"idle", 8},          [PUT_RANGE] = {"range", 7},
    [PUT_STEP] = {"step", 6},          [PUT_SITE] = {"site", 4},
    [PUT_CAUSE] = {"cause", 12},       [PUT_CLOCK] = {"clock", 5},
    [PUT_LOSS] = {"loss", 4},          [PUT_SAMPLE] = {"sample", 6},
    [PUT_STACK] = {"stack", 3},        [PUT_FRAME] = {"frame", 2},
    [PUT_CALL_SUM] = {"call_sum", 10}, [PUT_WORK_SUM] = {"work_sum", 9},
};

struct opened {
    ck_time_t end;
    int64_t id;
};

/* What is open on a thread, the innermost last. */
struct stack {
    struct opened items[OPEN];
    unsigned count;
};

struct thread {
    struct stack calls;
    struct stack ranges;
    struct stack steps;
};

struct launch {
    uint32_t process;
    uint32_t tid;
    uint32_t call; /* 0 = unused */
    int64_t id;
    int64_t site;
    ck_time_t start;
};

struct sqlite {
    const struct defs *defs; /* borrowed */
    struct region part;
    ck_time_t zero;
    struct sqlitefile *file;
    int statements[PUTS];
    int64_t last[PUTS];    /* ids that were given */
    struct table *strings; /* by address: equal texts are one */
    struct table *sites;   /* by function, file and line */
    struct stacktable *stacks;
    struct callsum *call_sums;
    struct worksum *work_sums;
    struct thread **threads; /* by number; NULL = nothing was open on it */
    size_t threads_count;
    struct launch *launches;
    struct launch *early; /* `id` is that of the work */
    int launch_update;    /* statement that gives work its launch */
    uint64_t launches_lost;
};

/* "INSERT INTO t VALUES(?1,?2)" of each table. 0, or -1 with err. */
static int statements_prepare(struct sqlite *sqlite, struct ck_err *err)
{
    for (int i = 0; i < PUTS; i++) {
        char sql[256];
        int used = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?1",
                            puts_of[i].table);

        for (unsigned k = 2; k <= puts_of[i].columns; k++) {
            used += snprintf(sql + used, sizeof(sql) - (size_t)used, ",?%u", k);
        }
        (void)snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
        sqlite->statements[i] = sqlitefile_prepare(sqlite->file, sql, err);
        if (sqlite->statements[i] < 0) {
            return -1;
        }
    }
    sqlite->launch_update = sqlitefile_prepare(
        sqlite->file,
        "UPDATE work SET launch_call = ?1, site = ?3, launch_ns = ?4"
        " WHERE id = ?2",
        err);
    return sqlite->launch_update < 0 ? -1 : 0;
}

static void put(struct sqlite *sqlite, enum put what, const int64_t *values)
{
    sqlitefile_put_numbers(sqlite->file, sqlite->statements[what], values,
                           puts_of[what].columns);
}

static void put_texts(struct sqlite *sqlite,
                      enum put what,
                      const struct sqlitefile_value *values)
{
    sqlitefile_put(sqlite->file, sqlite->statements[what], values,
                   puts_of[what].columns);
}

/* The id of a kept or static text; 0 = "". */
static int64_t string_of(struct sqlite *sqlite, const char *text)
{
    size_t known = table_count(sqlite->strings);
    int64_t number;

    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    number = table_number_of(sqlite->strings, (uint64_t)(uintptr_t)text, 0, 0);
    if ((size_t)number == known) {
        const struct sqlitefile_value values[] = {{number + 1, NULL},
                                                  {0, text}};

        put_texts(sqlite, PUT_STRING, values);
    }
    return number + 1;
}

/* The id of a place; 0 = it is not known. */
static int64_t place_of(struct sqlite *sqlite, const struct place *place)
{
    size_t known = table_count(sqlite->sites);
    int64_t number;

    if (place->function == NULL && place->file == NULL) {
        return 0;
    }
    number =
        table_number_of(sqlite->sites, (uint64_t)(uintptr_t)place->function,
                        (uint64_t)(uintptr_t)place->file, place->line);
    if ((size_t)number == known) {
        const int64_t values[] = {number + 1,
                                  string_of(sqlite, place->function),
                                  string_of(sqlite, place->file), place->line};

        put(sqlite, PUT_SITE, values);
    }
    return number + 1;
}

/* Joins have this for "none". */
static void none_put(struct sqlite *sqlite)
{
    const struct sqlitefile_value empty[] = {{0, NULL}, {0, ""}};
    const int64_t nowhere[] = {0, 0, 0, 0};

    put_texts(sqlite, PUT_STRING, empty);
    put(sqlite, PUT_SITE, nowhere);
}

struct sqlite *sqlite_create(const char *path,
                             const struct defs *defs,
                             struct region part,
                             ck_time_t zero,
                             struct ck_err *err)
{
    struct sqlite *sqlite = xcalloc(1, sizeof(*sqlite));

    sqlite->strings = table_create();
    sqlite->sites = table_create();
    sqlite->call_sums = callsum_create();
    sqlite->work_sums = worksum_create();
    sqlite->launches = xcalloc(LAUNCHES, sizeof(*sqlite->launches));
    sqlite->early = xcalloc(EARLY, sizeof(*sqlite->early));
    sqlite->defs = defs;
    sqlite->part = part;
    sqlite->zero = zero;
    sqlite->stacks = stacktable_create(defs, part);
    sqlite->file = sqlitefile_create(path, tables_create, err);
    if (sqlite->file == NULL || statements_prepare(sqlite, err) != 0) {
        sqlite_destroy(sqlite);
        return NULL;
    }
    none_put(sqlite);
    return sqlite;
}

void sqlite_destroy(struct sqlite *sqlite)
{
    if (sqlite == NULL) {
        return;
    }
    sqlitefile_destroy(sqlite->file);
    table_destroy(sqlite->strings);
    table_destroy(sqlite->sites);
    stacktable_destroy(sqlite->stacks);
    callsum_destroy(sqlite->call_sums);
    worksum_destroy(sqlite->work_sums);
    for (size_t i = 0; i < sqlite->threads_count; i++) {
        free(sqlite->threads[i]);
    }
    free(sqlite->threads);
    free(sqlite->launches);
    free(sqlite->early);
    free(sqlite);
}

static struct thread *thread_of(struct sqlite *sqlite, uint32_t number)
{
    size_t room = sqlite->threads_count;

    if (number >= room) {
        struct thread **grown;

        room = sqlite->defs->threads_count > number
                   ? sqlite->defs->threads_count
                   : (size_t)number + 1;
        grown = xrealloc(sqlite->threads, room * sizeof(struct thread *));
        sqlite->threads = grown;
        while (sqlite->threads_count < room) {
            sqlite->threads[sqlite->threads_count++] = NULL;
        }
    }
    if (sqlite->threads[number] == NULL) {
        sqlite->threads[number] = xcalloc(1, sizeof(struct thread));
    }
    return sqlite->threads[number];
}

/* The innermost one that is open at that time, 0 = none. */
static int64_t stack_top(struct stack *stack, ck_time_t time)
{
    while (stack->count > 0 && stack->items[stack->count - 1].end <= time) {
        stack->count--;
    }
    return stack->count > 0 ? stack->items[stack->count - 1].id : 0;
}

static void stack_push(struct stack *stack, ck_time_t end, int64_t id)
{
    if (stack->count < OPEN) {
        stack->items[stack->count++] = (struct opened){end, id};
    }
}

static struct launch *
launch_in(struct launch *table, size_t size, const struct launch *key)
{
    uint64_t hash =
        ((uint64_t)key->tid << 32 | key->call) * 0x9e3779b97f4a7c15u +
        (uint64_t)key->process * 0xc2b2ae3d27d4eb4fu;

    return &table[(hash >> 40) % size];
}

static bool is_launch(const struct launch *found, const struct launch *key)
{
    return key->call != 0 && found->call == key->call &&
           found->tid == key->tid && found->process == key->process;
}

/* Keep a call for what it launches; some of that may have come already. */
static void launch_keep(struct sqlite *sqlite, const struct launch *launch)
{
    struct launch *early = launch_in(sqlite->early, EARLY, launch);

    *launch_in(sqlite->launches, LAUNCHES, launch) = *launch;
    if (is_launch(early, launch)) {
        const int64_t values[] = {launch->id, early->id, launch->site,
                                  early->start - launch->start};

        early->call = 0;
        sqlite->launches_lost--;
        sqlitefile_put_numbers(sqlite->file, sqlite->launch_update, values, 4);
    }
}

/* The call that launched a piece of work; NULL = not known by now. */
static const struct launch *launch_find(struct sqlite *sqlite,
                                        const struct launch *work)
{
    const struct launch *launch = launch_in(sqlite->launches, LAUNCHES, work);

    if (is_launch(launch, work)) {
        return launch;
    }
    sqlite->launches_lost++;
    *launch_in(sqlite->early, EARLY, work) = *work;
    return NULL;
}

static ck_time_t from_start(const struct sqlite *sqlite, ck_time_t time)
{
    return time - sqlite->zero;
}

static int64_t name_of(struct sqlite *sqlite,
                       const struct timeline_event *event)
{
    return string_of(
        sqlite, defs_name(sqlite->defs, event->process, event->record->name));
}

struct message {
    int64_t comm, peer, tag, bytes;
};

/* A call's peer, and the size of its message. */
static struct message message_of(const struct ck_event *record)
{
    const struct ck_call *call = (const struct ck_call *)record;
    const struct ck_message *message = (const struct ck_message *)record;
    const struct ck_collective *meeting = (const struct ck_collective *)record;

    switch (ck_kind_class(record->kind)) {
    case CK_CLASS_MESSAGE:
        return (struct message){message->comm, message->peer, message->tag,
                                (int64_t)message->bytes};
    case CK_CLASS_COLLECTIVE:
        return (struct message){meeting->comm, -1, -1,
                                (int64_t)meeting->bytes_out};
    default:
        return (struct message){0, -1, -1, (int64_t)call->bytes};
    }
}

static void take_call(struct sqlite *sqlite, const struct timeline_event *event)
{
    const struct ck_call *call = (const struct ck_call *)event->record;
    struct thread *thread = thread_of(sqlite, event->thread);
    struct message message = message_of(event->record);
    struct place place = defs_place(sqlite->defs, event->process, call->site);
    int64_t id = ++sqlite->last[PUT_CALL];
    struct launch launch = {event->process,
                            sqlite->defs->threads[event->thread].tid,
                            call->call,
                            id,
                            0,
                            event->start};

    const int64_t values[] = {
        id,
        (int64_t)event->thread + 1,
        from_start(sqlite, event->start),
        from_start(sqlite, event->end),
        name_of(sqlite, event),
        string_of(sqlite, ck_kind_name(event->record->kind)),
        place_of(sqlite, &place),
        stack_top(&thread->calls, event->start),
        stack_top(&thread->ranges, event->start),
        stack_top(&thread->steps, event->start),
        message.comm,
        message.peer,
        message.tag,
        message.bytes};

    put(sqlite, PUT_CALL, values);
    launch.site = values[6];
    stack_push(&thread->calls, event->end, id);
    callsum_add(sqlite->call_sums,
                &(struct callsum_key){event->thread + 1, (uint32_t)values[5],
                                      values[4], values[6]},
                event->end - event->start, values[7] == 0, message.bytes);
    launch_keep(sqlite, &launch);
}

/* tid, call, device and queue are alike in kernels and copies. */
static void take_device(struct sqlite *sqlite,
                        const struct timeline_event *event)
{
    const struct ck_copy *work = (const struct ck_copy *)event->record;
    const struct defs_device *device =
        defs_device(sqlite->defs, event->process, work->device);
    const struct launch key = {
        event->process, work->tid, work->call, sqlite->last[PUT_WORK] + 1, 0,
        event->start};
    bool is_copy = ck_kind_class(event->record->kind) == CK_CLASS_COPY;
    const struct launch *launch;

    if ((event->record->flags & CK_FLAG_BAD_TIME) != 0) {
        return;
    }
    launch = launch_find(sqlite, &key);
    const int64_t values[] = {
        ++sqlite->last[PUT_WORK],
        device == NULL ? 0 : (int64_t)device->physical + 1,
        work->queue,
        event->rank,
        from_start(sqlite, event->start),
        from_start(sqlite, event->end),
        name_of(sqlite, event),
        string_of(sqlite, ck_kind_name(event->record->kind)),
        is_copy ? (int64_t)work->bytes : 0,
        launch == NULL ? 0 : launch->id,
        launch == NULL ? 0 : launch->site,
        launch == NULL ? 0 : event->start - launch->start};

    worksum_add(
        sqlite->work_sums,
        &(struct worksum_key){values[1], event->rank, values[7], values[6]},
        event->start, event->end);
    put(sqlite, PUT_WORK, values);
}

static void take_mark(struct sqlite *sqlite, const struct timeline_event *event)
{
    const struct ck_mark *mark = (const struct ck_mark *)event->record;
    bool is_step = mark->e.kind == CK_KIND_STEP;
    enum put what = is_step ? PUT_STEP : PUT_RANGE;
    struct thread *thread;
    int64_t values[7];

    if (!is_step && mark->e.kind != CK_KIND_RANGE) {
        return;
    }
    thread = thread_of(sqlite, event->thread);
    values[0] = ++sqlite->last[what];
    values[1] = event->rank;
    values[2] = (int64_t)event->thread + 1;
    values[3] = from_start(sqlite, event->start);
    values[4] = from_start(sqlite, event->end);
    values[5] = is_step ? mark->value : name_of(sqlite, event);
    values[6] = stack_top(&thread->ranges, event->start);
    stack_push(is_step ? &thread->steps : &thread->ranges, event->end,
               values[0]);
    put(sqlite, what, values);
}

/* A stack has the number of its row in the table of stacks. */
static void take_sample(struct sqlite *sqlite,
                        const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    int64_t row = stacktable_sample(sqlite->stacks, event);
    int64_t number;
    struct thread *thread = NULL;

    if (row == STACKTABLE_NONE) {
        return;
    }
    number = stacktable_thread_number(sqlite->stacks, event->process,
                                      event->record->name, record->tid);
    if (number >= 0) {
        thread = thread_of(sqlite, (uint32_t)number);
    }
    const int64_t values[] = {
        ++sqlite->last[PUT_SAMPLE],
        number + 1,
        from_start(sqlite, event->start),
        record->weight,
        row + 1,
        thread == NULL ? 0 : stack_top(&thread->calls, event->start)};

    put(sqlite, PUT_SAMPLE, values);
}

static void row_take(struct sqlite *sqlite, const struct timeline_event *event)
{
    switch (ck_kind_class(event->record->kind)) {
    case CK_CLASS_MARK:
        take_mark(sqlite, event);
        return;
    case CK_CLASS_CALL:
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
        take_call(sqlite, event);
        return;
    case CK_CLASS_KERNEL:
    case CK_CLASS_COPY:
        take_device(sqlite, event);
        return;
    case CK_CLASS_SAMPLE:
        take_sample(sqlite, event);
        return;
    default:
        return;
    }
}

int sqlite_take(void *consumer, const struct timeline_event *event)
{
    struct sqlite *sqlite = consumer;

    if (event->end >= sqlite->part.start && event->start <= sqlite->part.end &&
        !ck_kind_is_about_call(event->record->kind)) {
        row_take(sqlite, event);
    }
    return sqlitefile_error(sqlite->file, NULL);
}

void sqlite_idle(struct sqlite *sqlite, const struct sqlite_idle *idle)
{
    const int64_t values[] = {++sqlite->last[PUT_IDLE],
                              (int64_t)idle->device + 1,
                              from_start(sqlite, idle->part.start),
                              from_start(sqlite, idle->part.end),
                              string_of(sqlite, cause_name(idle->cause)),
                              idle->rank,
                              idle->blamed < 0 ? -1 : idle->blamed,
                              idle->is_start};

    put(sqlite, PUT_IDLE, values);
}

void sqlite_wait(struct sqlite *sqlite, const struct shown_wait *wait)
{
    const int64_t values[] = {++sqlite->last[PUT_WAIT],
                              (int64_t)wait->thread + 1,
                              from_start(sqlite, wait->part.start),
                              from_start(sqlite, wait->part.end),
                              string_of(sqlite, wait->kind),
                              wait->whom < 0 ? -1 : wait->whom,
                              wait->error};

    put(sqlite, PUT_WAIT, values);
}

void sqlite_failed(const struct sqlite *sqlite, struct ck_err *err)
{
    (void)sqlitefile_error(sqlite->file, err);
}

/* ---- what the report knows ---------------------------------------------- */

static void put_info(struct sqlite *sqlite, const char *key, const char *value)
{
    const struct sqlitefile_value values[] = {{0, key},
                                              {0, value == NULL ? "" : value}};

    put_texts(sqlite, PUT_INFO, values);
}

static void put_infos(struct sqlite *sqlite, const struct report *report)
{
    char realtime[32] = "", launches[32], whole[32];

    if (report->realtime != 0) {
        (void)snprintf(realtime, sizeof(realtime), "%" PRId64,
                       report->realtime + sqlite->zero);
    }
    (void)snprintf(launches, sizeof(launches), "%" PRIu64,
                   sqlite->launches_lost);
    (void)snprintf(whole, sizeof(whole), "%" PRId64,
                   region_length(sqlite->part));
    put_info(sqlite, "version", report->version);
    put_info(sqlite, "run", report->name);
    put_info(sqlite, "program", report->program);
    put_info(sqlite, "length_ns", whole);
    put_info(sqlite, "realtime_of_zero_ns", realtime);
    put_info(sqlite, "work_without_launch", launches);
}

static void put_ranks(struct sqlite *sqlite, const struct report *report)
{
    static const char *const ends[] = {
        [REPORT_END_UNKNOWN] = "unknown", [REPORT_END_EXITED] = "exited",
        [REPORT_END_SIGNAL] = "signal",   [REPORT_END_KILLED] = "killed",
        [REPORT_END_SHARED] = "shared",   [REPORT_END_MISSING] = "missing",
        [REPORT_END_PROFILE] = "unknown",
    };

    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];
        const struct sqlitefile_value values[] = {
            {rank->number, NULL},
            {0, rank->host == NULL ? "" : rank->host},
            {0, ends[rank->end]},
            {rank->code, NULL},
            {rank->mpi, NULL},
            {rank->useful, NULL},
            {rank->waited, NULL},
            {rank->caused, NULL},
            {(int64_t)rank->events, NULL},
            {(int64_t)rank->lost, NULL}};

        put_texts(sqlite, PUT_RANK, values);
    }
}

static void put_devices(struct sqlite *sqlite, const struct report *report)
{
    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];
        const struct sqlitefile_value values[] = {
            {(int64_t)device->physical + 1, NULL},
            {0, device->name},
            {0, device->uuid},
            {device->ranks_count > 0 ? device->ranks[0] : -1, NULL},
            {device->wall, NULL},
            {device->busy, NULL},
            {device->idle, NULL},
            {device->compute, NULL},
            {device->comm, NULL},
            {device->comm_wait, NULL},
            {device->copy, NULL},
            {device->comm_all, NULL},
            {device->overlap, NULL},
            {device->copy_all, NULL}};

        put_texts(sqlite, PUT_DEVICE, values);
    }
}

static void put_threads(struct sqlite *sqlite)
{
    const struct defs *defs = sqlite->defs;

    for (size_t i = 0; i < defs->threads_count; i++) {
        const struct defs_thread *thread = &defs->threads[i];
        const struct defs_process *process = &defs->processes[thread->process];
        const int64_t values[] = {(int64_t)i + 1, process->rank, process->pid,
                                  thread->tid, string_of(sqlite, thread->name)};

        put(sqlite, PUT_THREAD, values);
    }
}

static void put_causes(struct sqlite *sqlite, const struct report *report)
{
    for (size_t i = 0; i < report->causes_count; i++) {
        const struct report_cause *cause = &report->causes[i];
        const struct report_activity *did = &cause->did;
        const struct place *place = did->call == NULL && did->sampled.ns > 0
                                        ? &did->sampled.place
                                        : &did->place;
        const int64_t values[] = {(int64_t)i + 1,
                                  string_of(sqlite, cause_name(cause->cause)),
                                  cause->rank,
                                  cause->ns,
                                  (int64_t)cause->count,
                                  cause->blamed < 0 ? -1 : cause->blamed,
                                  cause->error,
                                  cause->is_start,
                                  string_of(sqlite, did->call),
                                  string_of(sqlite, place->function),
                                  string_of(sqlite, place->file),
                                  place->line};

        put(sqlite, PUT_CAUSE, values);
    }
}

static void put_trust(struct sqlite *sqlite, const struct report *report)
{
    for (size_t i = 0; i < report->domains_count; i++) {
        const struct report_domain *domain = &report->domains[i];
        const struct sqlitefile_value values[] = {{(int64_t)i + 1, NULL},
                                                  {0, domain->host},
                                                  {domain->ranks, NULL},
                                                  {domain->is_calibrated, NULL},
                                                  {domain->bound, NULL}};

        put_texts(sqlite, PUT_CLOCK, values);
    }
    for (size_t i = 0; i < report->losses_count; i++) {
        const struct sqlitefile_value values[] = {
            {(int64_t)i + 1, NULL},
            {0, report->losses[i].reason},
            {(int64_t)report->losses[i].records, NULL},
            {report->losses[i].is_exact, NULL}};

        put_texts(sqlite, PUT_LOSS, values);
    }
}

static void put_frames(struct sqlite *sqlite)
{
    size_t count;
    const struct place *places = stacktable_places(sqlite->stacks, &count);

    for (size_t i = 0; i < count; i++) {
        const int64_t values[] = {(int64_t)i + 1, place_of(sqlite, &places[i])};

        put(sqlite, PUT_FRAME, values);
    }
}

/* The frames of a row as a way from the root; those but the last are shared.
 * Their ids follow those of the `rows`. */
static void put_stack(struct sqlite *sqlite,
                      const struct stacktable_row *row,
                      size_t rows,
                      struct table *shared)
{
    int64_t parent = 0;

    for (size_t i = 0; i + 1 < row->count; i++) {
        size_t known = table_count(shared);
        int64_t number =
            table_number_of(shared, (uint64_t)parent, row->frames[i], 0);
        const int64_t values[] = {(int64_t)rows + number + 1, parent,
                                  row->frames[i] + (int64_t)1};

        if ((size_t)number == known) {
            put(sqlite, PUT_STACK, values);
        }
        parent = values[0];
    }
    const int64_t leaf[] = {row->number + (int64_t)1, parent,
                            row->frames[row->count - 1] + (int64_t)1};

    put(sqlite, PUT_STACK, leaf);
}

/* Frames and stacks of the samples. */
static void put_stacks(struct sqlite *sqlite)
{
    struct table *shared = table_create();
    const struct stacktable_row *rows;
    size_t count;

    stacktable_resolve(sqlite->stacks);
    put_frames(sqlite);
    rows = stacktable_rows(sqlite->stacks, &count);
    for (size_t i = 0; i < count; i++) {
        put_stack(sqlite, &rows[i], count, shared);
    }
    table_destroy(shared);
}

static void put_call_sums(struct sqlite *sqlite)
{
    size_t count;
    const struct callsum_row *rows = callsum_rows(sqlite->call_sums, &count);

    for (size_t i = 0; i < count; i++) {
        const struct callsum_row *row = &rows[i];
        const int64_t values[] = {
            (int64_t)i + 1, row->key.thread,     row->key.kind, row->key.name,
            row->key.site,  (int64_t)row->calls, row->total,    row->outermost,
            row->longest,   row->bytes};

        put(sqlite, PUT_CALL_SUM, values);
    }
}

static void put_work_sums(struct sqlite *sqlite)
{
    size_t count;
    const struct worksum_row *rows = worksum_rows(sqlite->work_sums, &count);

    for (size_t i = 0; i < count; i++) {
        const struct worksum_row *row = &rows[i];
        const int64_t values[] = {
            (int64_t)i + 1, row->key.device, row->key.rank,
            row->key.kind,  row->key.name,   (int64_t)row->pieces,
            row->total,     row->alone,      row->longest};

        put(sqlite, PUT_WORK_SUM, values);
    }
}

int sqlite_finish(struct sqlite *sqlite,
                  const struct report *report,
                  struct ck_err *err)
{
    put_infos(sqlite, report);
    put_ranks(sqlite, report);
    put_devices(sqlite, report);
    put_threads(sqlite);
    put_causes(sqlite, report);
    put_trust(sqlite, report);
    put_stacks(sqlite);
    put_call_sums(sqlite);
    put_work_sums(sqlite);
    return sqlitefile_finish(sqlite->file, tables_finish, err);
}
