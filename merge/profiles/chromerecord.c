/* chromerecord.c - events of a Chrome trace as records of ck
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/profiles/chromeevent.h"

/* B events that may be open at once. */
#define OPENS_MAX 65536
/* Streams that get a name of their own. */
#define STREAMS_MAX 1024

static const char step_name[] = "ProfilerStep#";

/* "GPU 3" where the profile has no more. */
static int device_put(const struct chrome_sink *sink, uint32_t number)
{
    struct ck_text text = {.e = {.kind = CK_KIND_DEVICE, .name = number}};
    char line[300];
    size_t length = 0;
    const char *name = "";
    int used;

    if (sink->names[number] != 0) {
        name = import_name_text(sink->import, sink->names[number], &length);
    }
    if (sink->device == CHROME_DEVICE_CPU) {
        used = snprintf(line, sizeof(line), "name=CPU (operators)\n");
    } else if (length > 0 && length < 256) {
        used = snprintf(line, sizeof(line), "name=%.*s\n", (int)length, name);
    } else {
        used = snprintf(line, sizeof(line), "name=GPU %u\n", number);
    }
    return import_text(sink->import, &text, line, (size_t)used);
}

int chromeevent_devices(const struct chrome_sink *sink)
{
    for (uint32_t i = 0; i < CHROMEEVENT_DEVICES; i++) {
        if (sink->is_used[i] && device_put(sink, i) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Record a queue's name once. 0 or -1. */
static int queue_name(struct chrome_sink *sink, uint32_t device, uint32_t queue)
{
    struct ck_text text = {.e = {.kind = CK_KIND_QUEUE, .name = queue},
                           .object = device};
    size_t bit = (size_t)device * STREAMS_MAX + queue;
    char line[64];
    int used;

    if (device >= CHROMEEVENT_DEVICES || queue >= STREAMS_MAX ||
        (sink->queues[bit / 8] & (1u << bit % 8)) != 0) {
        return 0;
    }
    sink->queues[bit / 8] |= (uint8_t)(1u << bit % 8);
    used = snprintf(line, sizeof(line), "name=%s %u\n",
                    sink->device == CHROME_DEVICE_CPU ? "thread" : "stream",
                    queue);
    return import_text(sink->import, &text, line, (size_t)used);
}

/* Device and queue of a piece of device work. 0 or -1. */
static int device_of(struct chrome_sink *sink,
                     const struct chrome_event *event,
                     uint32_t *device,
                     uint32_t *queue)
{
    *device = (uint32_t)(event->device >= 0 ? event->device : event->pid);
    *queue = (uint32_t)(event->stream >= 0 ? event->stream : event->tid);
    if (*device < CHROMEEVENT_DEVICES) {
        sink->is_used[*device] = true;
    }
    return queue_name(sink, *device, *queue);
}

static struct ck_event head_of(const struct chrome_sink *sink,
                               const struct chrome_event *event,
                               enum ck_kind kind)
{
    return (struct ck_event){
        .kind = (uint16_t)kind,
        .name = import_name(sink->import, event->name, event->name_length),
        .start = event->start,
    };
}

static int kernel_take(struct chrome_sink *sink, struct chrome_event *event)
{
    struct ck_kernel kernel = {
        .e = head_of(sink, event, CK_KIND_KERNEL),
        .dur = event->dur,
        .correlation = event->correlation,
        .shared_bytes = event->shared_bytes,
        .registers = event->registers,
    };

    if (event->has_group) {
        kernel.e.flags |= CK_FLAG_GROUP;
        kernel.registers =
            import_name(sink->import, event->text, event->text_length);
        kernel.shared_bytes = event->sequence;
    }
    memcpy(kernel.global, event->grid, sizeof(kernel.global));
    memcpy(kernel.local, event->block, sizeof(kernel.local));
    return device_of(sink, event, &kernel.device, &kernel.queue) != 0
               ? -1
               : operations_add(sink->operations, &kernel);
}

/* "Memcpy HtoD (Pinned -> Device)" */
static enum ck_kind copy_kind(const struct chrome_event *event)
{
    static const struct {
        const char *text;
        enum ck_kind kind;
    } kinds[] = {{"HtoD", CK_KIND_COPY_H2D}, {"DtoH", CK_KIND_COPY_D2H},
                 {"DtoD", CK_KIND_COPY_D2D}, {"PtoP", CK_KIND_COPY_D2D},
                 {"HtoH", CK_KIND_COPY_H2H}, {"HtoA", CK_KIND_COPY_H2D},
                 {"AtoH", CK_KIND_COPY_D2H}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (memmem(event->name, event->name_length, kinds[i].text, 4) != NULL) {
            return kinds[i].kind;
        }
    }
    return event->category == CHROME_FILL ? CK_KIND_FILL : CK_KIND_COPY_D2D;
}

static int copy_take(struct chrome_sink *sink, struct chrome_event *event)
{
    struct ck_copy copy = {
        .e = head_of(sink, event,
                     event->category == CHROME_FILL ? CK_KIND_FILL
                                                    : copy_kind(event)),
        .dur = event->dur,
        .bytes = event->bytes,
        .correlation = event->correlation,
    };

    return device_of(sink, event, &copy.device, &copy.queue) != 0
               ? -1
               : operations_add(sink->operations, &copy);
}

/* What records call the thread of an event. */
static uint32_t tid_of(const struct chrome_sink *sink,
                       const struct chrome_event *event)
{
    int thread = import_thread(sink->import, event->pid, event->tid);

    return thread < 0 ? (uint32_t)event->tid
                      : import_tid(sink->import, (unsigned)thread);
}

/* An operator of the CPU as device work: its queue is its thread. */
static int operator_take(struct chrome_sink *sink, struct chrome_event *event)
{
    uint32_t tid = tid_of(sink, event);
    struct ck_kernel kernel = {
        .e = head_of(sink, event, CK_KIND_KERNEL),
        .dur = event->dur,
        .tid = tid,
        .queue = tid,
    };

    sink->is_used[0] = true;
    return operations_add(sink->operations, &kernel);
}

static int
call_take(struct chrome_sink *sink, struct chrome_event *event, unsigned thread)
{
    struct ck_call call = {
        .e = head_of(sink, event,
                     event->category == CHROME_DRIVER
                         ? CK_KIND_API_CUDA_DRIVER
                         : CK_KIND_API_CUDA_RUNTIME),
        .dur = event->dur,
        .call =
            event->correlation <= UINT32_MAX ? (uint32_t)event->correlation : 0,
        .arg = event->correlation,
    };

    if (event->correlation != 0 &&
        !operations_launch(sink->operations, event->correlation, thread,
                           call.e.kind)) {
        import_complain(sink->import, event->offset,
                        "a call with the correlation of another one: device "
                        "work of that number is taken for the last one's");
        call.e.flags |= CK_FLAG_SHARED;
    }
    return import_put(sink->import, thread, &call);
}

static int overhead_take(struct chrome_sink *sink, struct chrome_event *event)
{
    struct ck_call call = {
        .e = head_of(sink, event, CK_KIND_OVERHEAD),
        .dur = event->dur,
        .extra = (uint64_t)tid_of(sink, event) << 32,
    };

    return import_put(sink->import, IMPORT_DEVICE, &call);
}

/* A call waited for a stream: its tid is the stream's. Waits for more than one
 * stream are in the calls themselves. */
static int sync_take(struct chrome_sink *sink, struct chrome_event *event)
{
    static const char name[] = "Stream Sync";
    struct ck_call call = {
        .dur = event->dur,
        .arg = event->correlation,
        .object = (uint32_t)event->stream,
    };

    if (event->stream < 0 || event->name_length != sizeof(name) - 1 ||
        memcmp(event->name, name, sizeof(name) - 1) != 0) {
        sink->facts->unused++;
        return 0;
    }
    call.e = head_of(sink, event, CK_KIND_SYNC);
    return import_put(sink->import, IMPORT_DEVICE, &call);
}

static int range_take(struct chrome_sink *sink,
                      struct chrome_event *event,
                      unsigned thread)
{
    struct ck_mark mark = {.e = {.kind = CK_KIND_RANGE, .start = event->start},
                           .dur = event->dur};
    size_t length = sizeof(step_name) - 1;

    if (event->category == CHROME_ANNOTATION && event->name_length > length &&
        memcmp(event->name, step_name, length) == 0) {
        char digits[16] = "";
        size_t rest = event->name_length - length;

        memcpy(digits, event->name + length,
               rest < sizeof(digits) ? rest : sizeof(digits) - 1);
        mark.e.kind = CK_KIND_STEP;
        mark.value = strtoll(digits, NULL, 10);
    } else {
        mark.e.name =
            import_name(sink->import, event->name, event->name_length);
    }
    return import_put(sink->import, thread, &mark);
}

/* A span of time, of whatever category. */
static int span_take(struct chrome_sink *sink, struct chrome_event *event)
{
    int thread;

    if (event->device > UINT32_MAX || event->stream > UINT32_MAX) {
        import_complain(sink->import, event->offset,
                        "an event of a device or stream whose number is too "
                        "large, left out");
        return 0;
    }
    switch (event->category) {
    case CHROME_KERNEL:
        return kernel_take(sink, event);
    case CHROME_COPY:
    case CHROME_FILL:
        return copy_take(sink, event);
    case CHROME_OVERHEAD:
        return overhead_take(sink, event);
    case CHROME_SYNC:
        return sync_take(sink, event);
    case CHROME_UNUSED:
        sink->facts->unused++;
        return 0;
    default:
        break;
    }
    if (sink->device == CHROME_DEVICE_CPU &&
        event->category == CHROME_OPERATOR && operator_take(sink, event) != 0) {
        return -1;
    }
    thread = import_thread(sink->import, event->pid, event->tid);
    if (thread < 0) {
        import_complain(sink->import, event->offset,
                        "an event of one thread too many, left out");
        return 0;
    }
    return event->category == CHROME_RUNTIME || event->category == CHROME_DRIVER
               ? call_take(sink, event, (unsigned)thread)
               : range_take(sink, event, (unsigned)thread);
}

static void open_take(struct chrome_sink *sink, struct chrome_event *event)
{
    struct chrome_open *open;

    if (sink->opens_count == OPENS_MAX) {
        import_complain(sink->import, event->offset,
                        "too many B events without E, left out");
        return;
    }
    array_grow(&sink->opens, &sink->opens_room, sink->opens_count,
               sizeof(*open));
    open = &sink->opens[sink->opens_count++];
    open->pid = event->pid;
    open->tid = event->tid;
    open->start = event->start;
    open->offset = event->offset;
    open->category = event->category;
    open->name = import_name(sink->import, event->name, event->name_length);
}

/* An E event closes the last B of its thread. */
static int close_take(struct chrome_sink *sink, struct chrome_event *event)
{
    size_t at = sink->opens_count;
    size_t length;

    while (at-- > 0 && (sink->opens[at].pid != event->pid ||
                        sink->opens[at].tid != event->tid)) {
    }
    if (at == SIZE_MAX) {
        import_complain(sink->import, event->offset,
                        "an E event without its B, left out");
        return 0;
    }
    if (event->start < sink->opens[at].start) {
        import_complain(sink->import, event->offset,
                        "an event that ends before it starts, left out");
    } else {
        event->dur = event->start - sink->opens[at].start;
        event->start = sink->opens[at].start;
        event->category = sink->opens[at].category;
        event->name_length = 0;
        if (sink->opens[at].name != 0) {
            const char *name =
                import_name_text(sink->import, sink->opens[at].name, &length);

            event->name_length =
                length < sizeof(event->name) ? length : sizeof(event->name);
            memcpy(event->name, name, event->name_length);
        }
        if (span_take(sink, event) != 0) {
            return -1;
        }
    }
    memmove(&sink->opens[at], &sink->opens[at + 1],
            (--sink->opens_count - at) * sizeof(*sink->opens));
    return 0;
}

/* Metadata: names of threads. */
static int metadata_take(struct chrome_sink *sink, struct chrome_event *event)
{
    struct ck_text text = {
        .e = {.kind = CK_KIND_THREAD},
    };
    int thread;

    if (event->name_length != 11 ||
        memcmp(event->name, "thread_name", 11) != 0 ||
        event->text_length == 0 || !event->has_tid) {
        return 0;
    }
    thread = import_thread(sink->import, event->pid, event->tid);
    if (thread < 0) {
        return 0; /* one too many: it gets no name */
    }
    text.object = import_tid(sink->import, (unsigned)thread);
    return import_text(sink->import, &text, event->text, event->text_length);
}

/* What is wrong with a span, NULL = nothing. */
static const char *span_wrong(const struct chrome_event *event)
{
    int64_t end;

    if (event->is_bad) {
        return "an event with a member of a wrong type, or too large, left out";
    }
    if (!event->has_start) {
        return "an event without ts, left out";
    }
    if (event->phase == 'X' && !event->has_dur) {
        return "a complete event without dur, left out";
    }
    if (event->start < 0) {
        return "an event with a negative time, left out";
    }
    if (event->dur < 0) {
        return "an event that ends before it starts, left out";
    }
    return __builtin_add_overflow(event->start, event->dur, &end) ||
                   end > CHROMEEVENT_TIME_MAX
               ? "an event with a time out of range, left out"
               : NULL;
}

int chromeevent_take(struct chrome_sink *sink, struct chrome_event *event)
{
    const char *wrong;

    if (event->phase == 'M') {
        return metadata_take(sink, event);
    }
    if (event->phase != 'X' && event->phase != 'B' && event->phase != 'E') {
        sink->facts->unused++;
        if (event->phase == 0) {
            import_complain(sink->import, event->offset,
                            "an event without ph, left out");
        }
        return 0;
    }
    wrong = span_wrong(event);
    if (wrong != NULL) {
        import_complain(sink->import, event->offset, wrong);
        return 0;
    }
    if (event->phase == 'X') {
        return span_take(sink, event);
    }
    if (event->phase == 'B') {
        open_take(sink, event);
        return 0;
    }
    return close_take(sink, event);
}
