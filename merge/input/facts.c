/* facts.c - what the records of a stream have of those who take part
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/comm.h"
#include "merge/model/demangle.h"
#include "merge/model/memory.h"
#include "merge/model/userfile.h"
#include "schema/store/run.h"

/* Open calls that one agent may show at once; more are not kept. */
/* Threads of an agent. */
#define STANDINGS_MAX 4096
#define OPENS_MAX 4096
/* Of a rank: more is no number that torchrun gave. */
#define RESTARTS_MAX 1000000
/* Where ckagent's libraries are, and how their names begin. */
#define OWN_LIBRARIES "/ck/libck"

/* Value of a key of a text record, kept; `otherwise` when it is not there. */
static const char *text_value(struct defs *defs,
                              const struct ck_text *text,
                              const char *key,
                              const char *otherwise)
{
    char value[1200];

    if (!ck_lines_get(ck_text_bytes(text), text->length, key, value,
                      sizeof(value))) {
        return otherwise;
    }
    return texts_keep(defs->texts, value, sizeof(value));
}

static int64_t
text_number(const struct ck_text *text, const char *key, int64_t otherwise)
{
    char value[32];

    if (!ck_lines_get(ck_text_bytes(text), text->length, key, value,
                      sizeof(value))) {
        return otherwise;
    }
    return strtoll(value, NULL, 10);
}

/* Is the value just that? */
static bool
is_text(const struct ck_text *text, const char *key, const char *what)
{
    char value[32];

    return ck_lines_get(ck_text_bytes(text), text->length, key, value,
                        sizeof(value)) &&
           strcmp(value, what) == 0;
}

static void agent_identity(struct defs *defs,
                           struct defs_agent *agent,
                           const struct ck_text *text)
{
    agent->has_identity = true;
    agent->identity =
        texts_keep(defs->texts, ck_text_bytes(text), text->length);
    agent->host = text_value(defs, text, "host", "");
    agent->job = text_value(defs, text, "job", "");
    agent->command = text_value(defs, text, "command", "");
    agent->rank = (int32_t)text_number(text, "rank", DEFS_RANK_UNKNOWN);
    agent->pid = (uint32_t)text_number(text, "pid", 0);
    agent->size = (int32_t)text_number(text, "size", 0);
    agent->is_profile = text_value(defs, text, "source", NULL) != NULL;
    if (agent->is_profile) {
        agent->exit_time = text_number(text, "stop_raw", 0);
        agent->is_cut = text_number(text, "cut", 0) != 0;
        agent->is_unclosed = text_number(text, "unclosed", 0) != 0;
    }
    agent->is_alone = !agent->is_profile && is_text(text, "launcher", "none");
    defs->is_size_said = defs->is_size_said || agent->size > 0;
    agent->start_raw = text_number(text, "start_raw", 0);
    agent->start_realtime = text_number(text, "start_realtime", 0);
}

/* An agent's identity, or that of a process with a rank of its own. */
static void identity_read(struct defs *defs,
                          const struct facts_source *source,
                          const struct ck_text *text)
{
    uint32_t process;
    int64_t restart;

    if (text->object == 0) {
        agent_identity(defs, &defs->agents[source->agent], text);
        return;
    }
    process = defs_process_find(defs, source->agent, (uint32_t)text->object);
    defs->processes[process].has_identity = true;
    defs->processes[process].rank =
        (int32_t)text_number(text, "rank", DEFS_RANK_UNKNOWN);
    defs->processes[process].size = (int32_t)text_number(text, "size", 0);
    restart = text_number(text, "restart", 0);
    defs->processes[process].restart =
        restart >= 0 && restart <= RESTARTS_MAX ? (int32_t)restart : 0;
    defs->processes[process].started = text_number(text, "started", 0);
    defs->processes[process].worker = (uint32_t)text_number(text, "worker", 0);
    defs->processes[process].worker_ticks =
        text_number(text, "worker_ticks", 0);
    defs->processes[process].worker_parent =
        (uint32_t)text_number(text, "worker_parent", 0);
}

static void exit_read(struct defs *defs,
                      const struct facts_source *source,
                      const struct ck_text *text)
{
    struct defs_agent *agent = &defs->agents[source->agent];
    ck_time_t ended = text_number(text, "ended", 0);

    agent->has_exit = true;
    agent->is_exit_known = (text->e.flags & CK_FLAG_CUT) == 0;
    agent->status = (int)text->object;
    agent->exit = texts_keep(defs->texts, ck_text_bytes(text), text->length);
    if (!source->is_ticks || (text->e.flags & CK_FLAG_RAW) != 0) {
        /* What was left to be stored comes before the record. */
        agent->exit_time =
            ended > 0 && ended < text->e.start ? ended : text->e.start;
    }
}

static void process_read(struct defs *defs,
                         const struct facts_source *source,
                         const struct ck_text *text)
{
    uint32_t index = defs_process_find(defs, source->agent, text->e.name);
    struct defs_process *process;

    process = &defs->processes[index];
    process->pid = (uint32_t)text->object;
    process->command =
        texts_keep(defs->texts, ck_text_bytes(text), text->length);
}

static void ended_read(struct defs *defs,
                       const struct facts_source *source,
                       const struct ck_text *text)
{
    uint32_t index;

    if (text->e.name == 0) {
        defs->agents[source->agent].is_gone = true;
        return;
    }
    index = defs_process_find(defs, source->agent, text->e.name);
    defs->processes[index].ended = text_number(text, "ended", 0);
}

/* Enter a device; one that is there is replaced only if asked. */
static void device_enter(struct defs_process *process,
                         const struct defs_device *device,
                         bool replaces)
{
    for (size_t i = 0; i < process->devices_count; i++) {
        if (process->devices[i].number == device->number) {
            if (replaces) {
                process->devices[i] = *device;
            }
            return;
        }
    }
    array_grow(&process->devices, &process->devices_room,
               process->devices_count, sizeof(*device));
    process->devices[process->devices_count++] = *device;
}

static void device_read(struct defs *defs,
                        const struct facts_source *source,
                        const struct ck_text *text)
{
    struct defs_process *process = &defs->processes[source->process];
    struct defs_device device = {.number = text->e.name};

    device.name = text_value(defs, text, "name", "");
    device.uuid = text_value(defs, text, "uuid", "");
    device.parent = (uint32_t)text_number(text, "parent", 0);
    device_enter(process, &device, true);
}

void facts_device(struct defs *defs,
                  const struct facts_source *source,
                  uint32_t number)
{
    struct defs_process *process = &defs->processes[source->process];
    struct defs_device device = {.number = number, .name = "", .uuid = ""};

    device_enter(process, &device, false);
}

static void queue_read(struct defs *defs,
                       const struct facts_source *source,
                       const struct ck_text *text)
{
    struct defs_process *process = &defs->processes[source->process];
    struct defs_queue queue = {.id = text->e.name,
                               .device = (uint32_t)text->object};

    queue.name = text_value(defs, text, "name", "");
    queue.is_in_order = is_text(text, "order", "in-order");
    array_grow(&process->queues, &process->queues_room, process->queues_count,
               sizeof(queue));
    process->queues[process->queues_count++] = queue;
}

/* The next of a text's pieces that end with NUL, or with the text. NULL: there
 * is none. */
static const char *
piece_next(const struct ck_text *text, size_t *at, size_t *length)
{
    const char *piece = ck_text_bytes(text) + *at;

    if (*at >= text->length) {
        return NULL;
    }
    *length = strnlen(piece, text->length - *at);
    *at += *length + 1;
    return piece;
}

/* The number that a piece begins with: no NUL need be behind a text. */
static uint32_t piece_number(const char *piece, size_t length)
{
    uint32_t number = 0;

    for (size_t i = 0; i < length && piece[i] >= '0' && piece[i] <= '9'; i++) {
        number = number * 10 + (uint32_t)(piece[i] - '0');
    }
    return number;
}

/* Function, file, line of a call that was inlined. False: there is none. */
static bool inlined_next(struct defs *defs,
                         const struct ck_text *text,
                         size_t *at,
                         const char **function,
                         struct place *call)
{
    size_t length;
    const char *piece = piece_next(text, at, &length);

    if (piece == NULL || length == 0) {
        return false;
    }
    *function = texts_keep(defs->texts, piece, length);
    piece = piece_next(text, at, &length);
    if (piece == NULL) {
        return false;
    }
    call->file = length == 0 ? NULL : texts_keep(defs->texts, piece, length);
    piece = piece_next(text, at, &length);
    call->line = piece == NULL ? 0 : piece_number(piece, length);
    return piece != NULL;
}

/* Of several functions at one address, the innermost in a file of the user's
 * explains it: not the inlined one of a library's header. */
static struct place users_place(const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].file != NULL && userfile_path(places[i].file)) {
            return places[i];
        }
    }
    return places[0];
}

/* What was inlined where `outer` is, if anything was. The place that names
 * it. */
static struct place inlined_read(struct defs *defs,
                                 struct names *names,
                                 const struct ck_text *text,
                                 size_t at,
                                 struct place outer)
{
    struct place places[NAMES_INLINED_MAX];
    struct place call = {outer.function, NULL, 0};
    const char *function;
    size_t count = 0;

    places[0] = outer;
    while (count + 1 < NAMES_INLINED_MAX &&
           inlined_next(defs, text, &at, &function, &call)) {
        places[count].function = function;
        places[++count] = call;
    }
    if (count == 0) {
        return outer;
    }
    names_set_inlined(names, text->object, places, count + 1);
    return users_place(places, count + 1);
}

/* function NUL file, line in extra, of the incarnation `name`; then what was
 * inlined there, innermost first: function NUL file of the call NUL its line
 * NUL. */
static void symbol_read(struct defs *defs,
                        const struct facts_source *source,
                        const struct ck_text *text)
{
    uint32_t index = defs_process_find(defs, source->agent, text->e.name);
    const char *bytes = ck_text_bytes(text);
    size_t cut = strnlen(bytes, text->length), file = 0;
    struct place place = {NULL, NULL, text->extra};

    if (text->object < CK_SITE_TOLD) {
        defs->agents[source->agent].has_symbols = true;
    }
    if (cut > 0) {
        place.function = texts_keep(defs->texts, bytes, cut);
    }
    if (cut + 1 < text->length) {
        file = strnlen(bytes + cut + 1, text->length - cut - 1);
    }
    if (file > 0) {
        place.file = texts_keep(defs->texts, bytes + cut + 1, file);
    }
    if (cut + 1 + file + 1 < text->length) {
        place = inlined_read(defs, defs->processes[index].names, text,
                             cut + 1 + file + 1, place);
    }
    names_set_place(defs->processes[index].names, text->object, place);
}

/* Is that the file of an OpenMP runtime? A package may add a hash to its name.
 */
static bool is_team(const char *path)
{
    static const char *const names[] = {"/libgomp.", "/libgomp-", "/libomp.",
                                        "/libomp-",  "/libomp5",  "/libiomp5"};
    bool is = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is = is || strstr(path, names[i]) != NULL;
    }
    return is;
}

/* Modules of one process; more are damage. */
#define MODULES_MAX 65536

/* Lines path, start, end, build_id; the incarnation is `name`. */
static void module_read(struct defs *defs,
                        const struct facts_source *source,
                        const struct ck_text *text)
{
    uint32_t index = defs_process_find(defs, source->agent, text->e.name);
    struct defs_module module = {.bias = text->object};
    struct defs_process *process;
    char number[32] = "";
    char path[CK_TEXT_BYTES_MAX] = "";

    process = &defs->processes[index];
    (void)ck_lines_get(ck_text_bytes(text), text->length, "path", path,
                       sizeof(path));
    if (ck_lines_get(ck_text_bytes(text), text->length, "start", number,
                     sizeof(number))) {
        module.start = strtoull(number, NULL, 16);
    }
    if (ck_lines_get(ck_text_bytes(text), text->length, "end", number,
                     sizeof(number))) {
        module.end = strtoull(number, NULL, 16);
    }
    module.path = texts_keep(defs->texts, path, strlen(path));
    module.build_id = text_value(defs, text, "build_id", "");
    module.is_own = strstr(path, OWN_LIBRARIES) != NULL;
    module.is_team = is_team(path);
    if (path[0] != '/' || process->modules_count == MODULES_MAX) {
        return;
    }
    array_grow(&process->modules, &process->modules_room,
               process->modules_count, sizeof(module));
    process->modules[process->modules_count++] = module;
}

static void name_read(struct defs *defs,
                      const struct facts_source *source,
                      const struct ck_text *text)
{
    struct names *names = defs->processes[source->process].names;
    const char *kept = demangle(defs->texts, ck_text_bytes(text), text->length);

    /* An id that is out of range is damage. */
    (void)names_set(names, text->e.name, kept);
}

static void thread_read(struct defs *defs,
                        const struct facts_source *source,
                        const struct ck_text *text)
{
    uint32_t index =
        defs_thread_find(defs, source->process, (uint32_t)text->object);

    defs->threads[index].name =
        texts_keep(defs->texts, ck_text_bytes(text), text->length);
}

/* Frames whose places findings ask for. */
#define STACK_FRAMES 8

/* Frames in the kernel come first: move them behind the others. Their number.
 */
static uint32_t kernel_move(uint64_t *frames, uint32_t count)
{
    uint64_t moved[DEFS_STACK_DEPTH];
    uint32_t kernel = 0;

    while (kernel < count && frames[kernel] >= CK_SITE_KERNEL) {
        moved[kernel] = frames[kernel];
        kernel++;
    }
    memmove(frames, frames + kernel, (count - kernel) * sizeof(*frames));
    memcpy(frames + count - kernel, moved, kernel * sizeof(*frames));
    return kernel;
}

static void stack_read(struct defs_agent *agent, const struct ck_text *text)
{
    uint32_t count = text->length / (uint32_t)sizeof(uint64_t);
    struct defs_stack *stack = defs_stack_enter(agent, text->e.name);

    if (stack == NULL) {
        return; /* damage */
    }
    count = count < DEFS_STACK_DEPTH ? count : DEFS_STACK_DEPTH;
    free(stack->frames);
    stack->count = stack->depth = 0;
    stack->frames = xcalloc(count + 1, sizeof(*stack->frames));
    memcpy(stack->frames, ck_text_bytes(text), count * sizeof(*stack->frames));
    stack->kernel = kernel_move(stack->frames, count);
    stack->depth = count - stack->kernel;
    stack->count = stack->depth < STACK_FRAMES ? stack->depth : STACK_FRAMES;
}

/* The newest look at a thread holds; of many threads the newest ones. */
static void standing_read(struct defs *defs,
                          struct defs_agent *agent,
                          const struct ck_text *text)
{
    struct defs_standing standing = {
        .incarnation = text->e.name,
        .tid = (uint32_t)text->object,
        .stack = text->extra,
        .at = text->e.start,
        .lines = texts_keep(defs->texts, ck_text_bytes(text), text->length),
    };
    size_t i = 0, oldest = 0;

    while (i < agent->standings_count &&
           (agent->standings[i].incarnation != standing.incarnation ||
            agent->standings[i].tid != standing.tid)) {
        if (agent->standings[i].at < agent->standings[oldest].at) {
            oldest = i;
        }
        i++;
    }
    if (i == STANDINGS_MAX) {
        i = oldest;
    }
    array_grow(&agent->standings, &agent->standings_room, i, sizeof(standing));
    if (i == agent->standings_count) {
        agent->standings_count++;
    } else if (agent->standings[i].at > standing.at) {
        return;
    }
    agent->standings[i] = standing;
}

/* The note of ckagg; the latest one is complete. */
static void discarded_read(struct defs_agent *agent, const struct ck_text *text)
{
    struct defs_discarded *discarded = &agent->discarded;
    int64_t raw = text_number(text, "until_raw", INT64_MIN);
    int64_t ticks = text_number(text, "until_ticks", INT64_MIN);

    discarded->segments = (uint64_t)text_number(text, "segments", 1);
    discarded->records = (uint64_t)text_number(text, "records", 0);
    discarded->bytes = (uint64_t)text_number(text, "bytes", 0);
    discarded->units = (uint64_t)text_number(text, "units", 0);
    stamps_init(&discarded->until);
    if (raw != INT64_MIN) {
        stamps_add(&discarded->until, false, raw, raw);
    }
    if (ticks != INT64_MIN) {
        stamps_add(&discarded->until, true, ticks, ticks);
    }
}

static void text_read(struct defs *defs,
                      const struct facts_source *source,
                      const struct ck_text *text)
{
    switch (text->e.kind) {
    case CK_KIND_NAME:
        name_read(defs, source, text);
        return;
    case CK_KIND_THREAD:
        thread_read(defs, source, text);
        return;
    case CK_KIND_DEVICE:
        device_read(defs, source, text);
        return;
    case CK_KIND_QUEUE:
        queue_read(defs, source, text);
        return;
    case CK_KIND_IDENTITY:
        identity_read(defs, source, text);
        return;
    case CK_KIND_EXIT:
        exit_read(defs, source, text);
        return;
    case CK_KIND_SYMBOL:
        symbol_read(defs, source, text);
        return;
    case CK_KIND_PROCESS:
        process_read(defs, source, text);
        return;
    case CK_KIND_ENDED:
        ended_read(defs, source, text);
        return;
    case CK_KIND_COMM:
        comm_enter(defs, source->process, text);
        return;
    case CK_KIND_NOTE:
        defs_note(defs, ck_text_bytes(text), text->length);
        return;
    case CK_KIND_STACK:
        stack_read(&defs->agents[source->agent], text);
        return;
    case CK_KIND_STANDING:
        standing_read(defs, &defs->agents[source->agent], text);
        return;
    case CK_KIND_DISCARDED:
        discarded_read(&defs->agents[source->agent], text);
        return;
    default:
        return;
    }
}

/* Running totals: the latest one holds. */
static void counter_read(struct defs_agent *agent,
                         const struct ck_counter *counter)
{
    struct defs_counter total = {counter->e.name, counter->tid, counter->value,
                                 counter->enabled, counter->running};

    for (size_t i = agent->counters_count; i-- > 0;) {
        if (agent->counters[i].name == total.name &&
            agent->counters[i].tid == total.tid) {
            agent->counters[i] = total;
            return;
        }
    }
    array_grow(&agent->counters, &agent->counters_room, agent->counters_count,
               sizeof(total));
    agent->counters[agent->counters_count++] = total;
}

static void libc_read(struct defs_process *process,
                      const struct ck_counter *calls)
{
    struct defs_libc total = {
        .name = calls->e.name,
        .tid = calls->tid,
        .calls = (uint64_t)calls->value,
        .ns = calls->enabled,
        .bytes = (uint64_t)calls->running,
    };

    for (size_t i = process->libc_count; i-- > 0;) {
        if (process->libc[i].name == total.name &&
            process->libc[i].tid == total.tid) {
            process->libc[i] = total;
            return;
        }
    }
    array_grow(&process->libc, &process->libc_room, process->libc_count,
               sizeof(total));
    process->libc[process->libc_count++] = total;
}

/* Keep the thread's stack of open calls as last seen: a look at depth d
 * replaces what was open at d and deeper. */
static void open_read(struct defs_agent *agent,
                      const struct facts_source *source,
                      const struct ck_open *open)
{
    size_t kept = 0;
    struct defs_open *entry;

    for (size_t i = 0; i < agent->opens_count; i++) {
        entry = &agent->opens[i];
        if (entry->open.incarnation != open->incarnation ||
            entry->open.tid != open->tid || entry->open.depth < open->depth) {
            agent->opens[kept++] = *entry;
        }
    }
    agent->opens_count = kept;
    if (kept == OPENS_MAX) {
        return;
    }
    array_grow(&agent->opens, &agent->opens_room, kept, sizeof(*entry));
    entry = &agent->opens[agent->opens_count++];
    entry->open = *open;
    entry->start = open->e.start;
    entry->is_ticks = source->is_ticks && (open->e.flags & CK_FLAG_RAW) == 0;
    entry->is_completed = false;
}

static void away_read(struct defs_agent *agent, const struct ck_counter *away)
{
    if (away->enabled < 0 || (away->e.flags & CK_FLAG_RAW) == 0) {
        return; /* damage */
    }
    array_grow(&agent->aways, &agent->aways_room, agent->aways_count,
               sizeof(*agent->aways));
    agent->aways[agent->aways_count++] =
        (struct defs_away){away->e.start, away->enabled};
}

void facts_read(struct defs *defs,
                const struct clocktaker *clocks,
                const struct facts_source *source,
                const struct ck_event *event)
{
    struct defs_agent *agent = &defs->agents[source->agent];

    switch (ck_kind_class(event->kind)) {
    case CK_CLASS_TEXT:
        text_read(defs, source, (const struct ck_text *)event);
        return;
    case CK_CLASS_MODULE:
        module_read(defs, source, (const struct ck_text *)event);
        return;
    case CK_CLASS_CLOCK:
        clocks->take(clocks->state, source->agent,
                     (const struct ck_clock_fact *)event);
        return;
    case CK_CLASS_COUNTER:
        if (event->kind == CK_KIND_LOST) {
            const struct ck_counter *lost = (const struct ck_counter *)event;
            uint64_t *sum = &agent->lost[lost->reason % DEFS_REASONS];

            *sum = defs_sum(*sum, (uint64_t)lost->value);
            if (lost->reason == CK_LOST_LIMIT &&
                (lost->e.flags & CK_FLAG_RAW) != 0 &&
                (agent->limit_at == 0 || lost->e.start < agent->limit_at)) {
                agent->limit_at = lost->e.start;
            }
            return;
        }
        if (event->kind == CK_KIND_AWAY) {
            away_read(agent, (const struct ck_counter *)event);
            return;
        }
        if (event->kind == CK_KIND_CALLS) {
            libc_read(&defs->processes[source->process],
                      (const struct ck_counter *)event);
            return;
        }
        counter_read(agent, (const struct ck_counter *)event);
        return;
    case CK_CLASS_OPEN:
        open_read(agent, source, (const struct ck_open *)event);
        return;
    default:
        return;
    }
}
