/* chrometrace.c - a Chrome trace as PyTorch's profiler (Kineto) writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Members of the whole come in any order; the events are handed on one by one.
 */
#include "merge/profiles/chrometrace.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/profiles/chromeevent.h"
#include "merge/profiles/chromeparts.h"

#define QUEUE_BITS (64 * 1024)
/* Of the text that a thread reads at once; fewer are not worth threads. */
#define PART_BYTES ((size_t)1 << 20)
#define PARTS_LEAST 8
/* A date, not a time since some start: later than 2001. */
#define EPOCH_LEAST ((int64_t)1000000000 * 1000000000)

struct trace {
    struct json *json;                 /* borrowed */
    const struct chrometrace_way *way; /* borrowed */
    struct chrome_sink sink;
    struct chrome_event event;
    uint64_t events;
    bool has_first;
    int64_t first; /* earliest start of a span */
    int64_t last;  /* latest end */
};

/* {"rank": 1, "world_size": 4, ...} */
static void distributed_read(struct trace *trace)
{
    struct import_facts *facts = trace->sink.facts;
    struct json *json = trace->json;
    const struct json_token *token = json_next(json);
    int64_t value;

    if (token->type != JSON_OBJECT) {
        import_complain(trace->sink.import, token->offset,
                        "distributedInfo is no object, not used");
        (void)json_skip(json);
        return;
    }
    while ((token = json_next(json))->type == JSON_NAME) {
        bool is_rank = json_is(token, "rank");
        bool is_size = json_is(token, "world_size");

        if (!is_rank && !is_size) {
            (void)json_skip(json);
            continue;
        }
        token = json_next(json);
        if (!json_int(token, &value) || value < 0 || value > INT32_MAX) {
            import_complain(trace->sink.import, token->offset,
                            "distributedInfo: rank or world_size is no "
                            "number of ranks, not used");
            (void)json_skip(json);
        } else if (is_rank) {
            facts->rank = (int32_t)value;
        } else {
            facts->size = (int32_t)value;
        }
    }
}

/* One of deviceProperties. */
static void device_read(struct trace *trace)
{
    struct json *json = trace->json;
    const struct json_token *token;
    int64_t id = -1;
    uint32_t name = 0;

    while ((token = json_next(json))->type == JSON_NAME) {
        bool is_name = json_is(token, "name");

        if (json_is(token, "id")) {
            if (!json_int(json_next(json), &id)) {
                (void)json_skip(json);
            }
        } else if (is_name && (token = json_next(json))->type == JSON_STRING) {
            name = import_name(trace->sink.import, token->text, token->length);
        } else {
            (void)json_skip(json);
        }
    }
    if (id >= 0 && id < CHROMEEVENT_DEVICES) {
        trace->sink.names[id] = name;
    }
}

static void devices_read(struct trace *trace)
{
    static const char wrong[] =
        "deviceProperties is no array of objects, not all of it used";
    struct json *json = trace->json;
    const struct json_token *token = json_next(json);

    if (token->type != JSON_ARRAY) {
        import_complain(trace->sink.import, token->offset, wrong);
        (void)json_skip(json);
        return;
    }
    while ((token = json_element(json)) != NULL) {
        if (token->type == JSON_OBJECT) {
            device_read(trace);
        } else {
            import_complain(trace->sink.import, token->offset, wrong);
            (void)json_skip(json);
        }
    }
}

static void span_note(struct trace *trace, const struct chrome_event *event)
{
    int64_t dur = event->has_dur ? event->dur : 0;
    int64_t end;

    if (!event->has_start || event->start < 0 || dur < 0 ||
        event->category == CHROME_UNUSED ||
        (event->phase != 'X' && event->phase != 'B' && event->phase != 'E') ||
        __builtin_add_overflow(event->start, dur, &end) ||
        end > CHROMEEVENT_TIME_MAX) {
        return;
    }
    if (!trace->has_first || event->start < trace->first) {
        trace->first = event->start;
    }
    if (!trace->has_first || end > trace->last) {
        trace->last = end;
    }
    trace->has_first = true;
}

static int event_take(struct trace *trace)
{
    trace->events++;
    span_note(trace, &trace->event);
    return chromeevent_take(&trace->sink, &trace->event);
}

/* Events from that one on by several threads. 0, or -1 with errno. */
static int parts_read(struct trace *trace, struct chromeparts_plan *plan)
{
    struct chromeparts *parts = chromeparts_create(plan, trace->json);
    int rc = 0;

    if (parts == NULL) {
        return -1;
    }
    while (rc == 0 && chromeparts_next(parts, &trace->event)) {
        rc = event_take(trace);
    }
    if (rc == 0) {
        rc = gzip_seek(trace->way->gzip, chromeparts_offset(parts));
        json_jump(trace->json, plan->depth, chromeparts_offset(parts));
    }
    chromeparts_destroy(parts);
    return rc;
}

/* The token is that of an event: is what follows worth several threads? */
static bool is_for_parts(const struct trace *trace,
                         const struct json_token *token,
                         struct chromeparts_plan *plan)
{
    uint64_t bytes;

    if (trace->events != 0 || trace->way->gzip == NULL ||
        trace->way->threads < 2 || token->type != JSON_OBJECT) {
        return false;
    }
    plan->fd = gzip_plain(trace->way->gzip, &bytes);
    plan->from = token->offset;
    plan->to = bytes;
    plan->part_bytes = PART_BYTES;
    plan->threads = trace->way->threads;
    plan->depth = json_depth(trace->json) - 1;
    return plan->fd >= 0 && plan->to > plan->from &&
           plan->to - plan->from >= PARTS_LEAST * PART_BYTES;
}

static int events_read(struct trace *trace)
{
    struct json *json = trace->json;
    struct chrome_event *event = &trace->event;
    struct chromeparts_plan plan;
    const struct json_token *token = json_next(json);

    if (is_for_parts(trace, token, &plan)) {
        if (parts_read(trace, &plan) != 0) {
            return -1;
        }
        token = json_next(json);
    }
    for (; token->type != JSON_ARRAY_END; token = json_next(json)) {
        uint64_t offset = token->offset;

        if (token->type == JSON_ERROR) {
            return 0; /* the caller sees it too */
        }
        if (token->type != JSON_OBJECT) {
            import_complain(trace->sink.import, offset,
                            "an event that is no object, left out");
            (void)json_skip(json);
            continue;
        }
        if (!chromeevent_read(json, event)) {
            return 0;
        }
        event->offset = offset;
        if (event_take(trace) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The date of the zero of all stamps; sums with these must fit. */
static void epoch_read(struct trace *trace)
{
    struct import_facts *facts = trace->sink.facts;
    const struct json_token *token = json_next(trace->json);

    facts->has_epoch = json_int(token, &facts->epoch) && facts->epoch > 0 &&
                       facts->epoch <= CHROMEEVENT_TIME_MAX;
    if (!facts->has_epoch && token->type != JSON_NULL && !json_is(token, "0")) {
        facts->epoch = 0;
        import_complain(trace->sink.import, token->offset,
                        "baseTimeNanoseconds is no date, not used");
    }
    (void)json_skip(trace->json);
}

/* The members of the whole. 0, or -1 with errno. */
static int members_read(struct trace *trace)
{
    struct json *json = trace->json;
    const struct json_token *token;
    int rc = 0;

    while (rc == 0 && (token = json_next(json))->type == JSON_NAME) {
        if (json_is(token, "traceEvents")) {
            if (json_next(json)->type != JSON_ARRAY) {
                import_complain(trace->sink.import, token->offset,
                                "traceEvents is no array, not used");
                (void)json_skip(json);
            } else {
                rc = events_read(trace);
            }
        } else if (json_is(token, "distributedInfo")) {
            distributed_read(trace);
        } else if (json_is(token, "deviceProperties")) {
            devices_read(trace);
        } else if (json_is(token, "baseTimeNanoseconds")) {
            epoch_read(trace);
        } else {
            (void)json_skip(json);
        }
    }
    return rc;
}

static int trace_finish(struct trace *trace, struct ck_err *err)
{
    struct chrome_sink *sink = &trace->sink;

    for (size_t i = 0; i < sink->opens_count; i++) {
        import_complain(sink->import, sink->opens[i].offset,
                        "a B event without its E, left out");
    }
    if (!sink->facts->has_epoch && trace->has_first &&
        trace->first >= EPOCH_LEAST) {
        sink->facts->has_epoch = true;
        sink->facts->epoch = 0;
    }
    if (trace->has_first) {
        sink->facts->start = trace->first;
        sink->facts->stop = trace->last;
    }
    return chromeevent_devices(sink) != 0
               ? import_failed(sink->import, err)
               : operations_finish(sink->operations, sink->facts, err);
}

static int trace_read(struct trace *trace, struct ck_err *err)
{
    struct chrome_sink *sink = &trace->sink;
    const struct json_token *token = json_next(trace->json);
    int rc = 0;

    if (token->type == JSON_OBJECT) {
        rc = members_read(trace);
    } else if (token->type == JSON_ARRAY) {
        rc = events_read(trace);
    }
    if (rc != 0) {
        return import_failed(sink->import, err);
    }
    token = json_last(trace->json);
    if (token->type != JSON_ERROR) {
        token = json_next(trace->json);
    }
    if (token->type == JSON_ERROR && json_is_unclosed(trace->json)) {
        import_unclosed(sink->import);
    } else if (token->type != JSON_END) {
        import_cut(sink->import,
                   token->type == JSON_ERROR ? json_error_offset(trace->json)
                                             : token->offset,
                   "the JSON is wrong or cut off here; what comes before was "
                   "read");
    }
    return trace_finish(trace, err);
}

int chrometrace_read(struct json *json,
                     const struct chrometrace_way *way,
                     struct import *import,
                     struct import_facts *facts,
                     struct ck_err *err)
{
    struct trace *trace = xcalloc(1, sizeof(*trace));
    int rc = -1;

    trace->json = json;
    trace->way = way;
    trace->sink.device = way->device;
    trace->sink.import = import;
    trace->sink.facts = facts;
    trace->sink.queues = xcalloc(QUEUE_BITS / 8, 1);
    trace->sink.operations = operations_create(import, err);
    if (trace->sink.queues == NULL) {
        (void)ck_err_set(err, "out of memory");
    } else if (trace->sink.operations != NULL) {
        rc = trace_read(trace, err);
    }
    operations_destroy(trace->sink.operations);
    free(trace->sink.queues);
    free(trace->sink.opens);
    free(trace);
    return rc;
}
