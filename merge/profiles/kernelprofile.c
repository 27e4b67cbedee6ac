/* kernelprofile.c - kernel_profile.json, as nkipy's profiler writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/kernelprofile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/table.h"
#include "merge/profiles/kernelcalls.h"
#include "merge/profiles/vocabulary.h"

/* Starts that may wait for their stop. */
#define OPENS_MAX 65536
/* The thread that all runtime functions are put on: the format names none. */
#define TID 1

/* A start that waits for its stop. */
struct open {
    uint32_t type; /* name of the import */
    int64_t id;
    int64_t time;
    int64_t device_time;
    bool has_device_time;
    uint64_t offset;
};

/* An event as it is written. */
struct event {
    uint64_t offset;
    uint32_t type;
    char phase; /* 'b', 'e', 0 = neither */
    bool is_execution, is_submission;
    bool has_id, has_time, has_device_time, is_bad;
    int64_t id;
    int64_t time;
    int64_t device_time;
};

struct profile {
    struct json *json;     /* borrowed: the one that is read now */
    struct import *import; /* borrowed */
    struct import_facts *facts;
    int thread;
    struct kernelcalls calls;
    struct table *places;
    struct open *opens;
    size_t opens_count, opens_room;
    int64_t wall_start, wall_stop;
    int64_t first, last; /* of the events */
    bool has_calls, has_events;
};

/* A place in the source: its number is recorded once. 0 = none, or no memory.
 */
static uint32_t place_number(struct profile *profile,
                             const char *file,
                             size_t length,
                             int64_t line)
{
    uint32_t name = import_name(profile->import, file, length);
    struct table_key key = {name, (uint64_t)line, 0};
    size_t known = table_count(profile->places);
    int64_t number = table_number(profile->places, key);
    struct ck_text text = {.e = {.kind = CK_KIND_SYMBOL, .name = 1},
                           .object = (uint64_t)number + 1,
                           .extra = (uint32_t)line};
    char bytes[4096] = "";

    if (length == 0) {
        return 0;
    }
    length = vocabulary_show(bytes + 1, sizeof(bytes) - 1, file, length);
    if ((size_t)number == known &&
        import_text(profile->import, &text, bytes, length + 1) != 0) {
        return 0;
    }
    return (uint32_t)number + 1;
}

/* One of kernel_calls. */
static void call_read(struct profile *profile)
{
    struct json *json = profile->json;
    const struct json_token *token;
    struct kernel_call call = {0};
    char file[4096];
    size_t length = 0;
    int64_t line = 0;

    while ((token = json_next(json))->type == JSON_NAME) {
        bool is_name = json_is(token, "kernel_name");

        if (json_is(token, "filename")) {
            token = json_next(json);
            if (token->type == JSON_STRING && token->length < sizeof(file)) {
                length = token->length;
                memcpy(file, token->text, length);
            }
        } else if (json_is(token, "lineno")) {
            token = json_next(json);
            if (!json_int(token, &line) || line < 0 || line > INT32_MAX) {
                import_complain(profile->import, token->offset,
                                "lineno is no line, taken as unknown");
                line = 0;
            }
        } else if (is_name) {
            token = json_next(json);
            call.name =
                token->type == JSON_STRING
                    ? import_name(profile->import, token->text, token->length)
                    : 0;
        }
        (void)json_skip(json);
    }
    call.place = place_number(profile, file, length, line);
    kernelcalls_call(&profile->calls, call);
}

static void calls_read(struct profile *profile)
{
    const struct json_token *token = json_next(profile->json);

    if (token->type != JSON_ARRAY) {
        import_complain(profile->import, token->offset,
                        "kernel_calls is no array, not used");
        (void)json_skip(profile->json);
        return;
    }
    profile->has_calls = true;
    while ((token = json_next(profile->json))->type > JSON_END &&
           token->type != JSON_ARRAY_END) {
        if (token->type != JSON_OBJECT) {
            import_complain(profile->import, token->offset,
                            "a call that is no object, left out");
            (void)json_skip(profile->json);
        } else {
            call_read(profile);
        }
    }
}

static bool time_read(struct profile *profile, int64_t *time)
{
    const struct json_token *token = json_next(profile->json);

    if (json_decimal(token, 0, time)) {
        return true;
    }
    (void)json_skip(profile->json);
    return false;
}

/* data: {"nc_timestamp_ns": ...} */
static void data_read(struct profile *profile, struct event *event)
{
    const struct json_token *token = json_next(profile->json);

    if (token->type != JSON_OBJECT) {
        (void)json_skip(profile->json);
        return;
    }
    while ((token = json_next(profile->json))->type == JSON_NAME) {
        if (json_is(token, "nc_timestamp_ns")) {
            event->has_device_time = time_read(profile, &event->device_time);
        } else {
            (void)json_skip(profile->json);
        }
    }
}

static void type_read(struct profile *profile, struct event *event)
{
    const struct json_token *token = json_next(profile->json);

    if (token->type != JSON_STRING) {
        event->is_bad = true;
        (void)json_skip(profile->json);
        return;
    }
    event->is_execution = json_is(token, "nc_exec_running");
    event->is_submission = json_is(token, "nrt_execute");
    event->type = import_name(profile->import, token->text, token->length);
}

static void phase_read(struct profile *profile, struct event *event)
{
    const struct json_token *token = json_next(profile->json);

    if (token->type == JSON_STRING) {
        if (json_is(token, "start")) {
            event->phase = 'b';
        } else if (json_is(token, "stop")) {
            event->phase = 'e';
        } else {
            event->phase = 0;
        }
    }
    (void)json_skip(profile->json);
}

static bool event_read(struct profile *profile, struct event *event)
{
    const struct json_token *token;

    while ((token = json_next(profile->json))->type == JSON_NAME) {
        if (json_is(token, "event_type")) {
            type_read(profile, event);
        } else if (json_is(token, "phase")) {
            phase_read(profile, event);
        } else if (json_is(token, "tracking_id")) {
            token = json_next(profile->json);
            event->has_id = json_int(token, &event->id);
            event->is_bad |= !event->has_id && token->type != JSON_NULL;
            (void)json_skip(profile->json);
        } else if (json_is(token, "timestamp_ns")) {
            event->has_time = time_read(profile, &event->time);
        } else if (json_is(token, "data")) {
            data_read(profile, event);
        } else {
            (void)json_skip(profile->json);
        }
    }
    return token->type == JSON_OBJECT_END;
}

static void start_take(struct profile *profile, const struct event *event)
{
    struct open *open;

    for (size_t i = profile->opens_count; i-- > 0;) {
        if (profile->opens[i].type == event->type &&
            profile->opens[i].id == event->id) {
            import_complain(profile->import, event->offset,
                            "a tracking id that starts twice before it "
                            "stops; the first start is left out");
            open = &profile->opens[i];
            open->time = event->time;
            return;
        }
    }
    if (profile->opens_count == OPENS_MAX) {
        import_complain(profile->import, event->offset,
                        "too many starts without stop, left out");
        return;
    }
    array_grow(&profile->opens, &profile->opens_room, profile->opens_count,
               sizeof(*open));
    open = &profile->opens[profile->opens_count++];
    open->type = event->type;
    open->id = event->id;
    open->time = event->time;
    open->has_device_time = event->has_device_time;
    open->device_time = event->device_time;
    open->offset = event->offset;
}

/* A whole span: an execution, a submission, or another runtime function. */
static int span_take(struct profile *profile,
                     const struct event *event,
                     const struct open *open)
{
    struct kernel_span span = {open->time, event->time, event->id, -1};
    struct ck_call call = {
        .e = {.kind = CK_KIND_API_NEURON,
              .name = event->type,
              .start = open->time},
        .dur = event->time - open->time,
    };

    profile->first = open->time < profile->first ? open->time : profile->first;
    profile->last = event->time > profile->last ? event->time : profile->last;
    if (event->is_execution) {
        if (open->has_device_time && event->has_device_time &&
            event->device_time >= open->device_time) {
            span.device_clock = event->device_time - open->device_time;
        }
        kernelcalls_execution(&profile->calls, span);
        return 0;
    }
    if (event->is_submission) {
        kernelcalls_submission(&profile->calls, span);
        return 0;
    }
    return import_put(profile->import, (unsigned)profile->thread, &call);
}

static int stop_take(struct profile *profile, const struct event *event)
{
    struct open open;
    size_t at = profile->opens_count;

    while (at-- > 0 && (profile->opens[at].type != event->type ||
                        profile->opens[at].id != event->id)) {
    }
    if (at == SIZE_MAX) {
        import_complain(profile->import, event->offset,
                        "a stop without its start, left out");
        return 0;
    }
    open = profile->opens[at];
    memmove(&profile->opens[at], &profile->opens[at + 1],
            (--profile->opens_count - at) * sizeof(open));
    if (event->time < open.time) {
        import_complain(profile->import, event->offset,
                        "an event that ends before it starts, left out");
        return 0;
    }
    return span_take(profile, event, &open);
}

/* Why an event cannot be used; NULL = it can. */
static const char *event_fault(const struct event *event)
{
    if (event->is_bad || event->type == 0) {
        return "an event with a member of a wrong type, left out";
    }
    if (event->phase == 0) {
        return "an event that neither starts nor stops, left out";
    }
    if (!event->has_time) {
        return "an event without timestamp_ns, left out";
    }
    return event->time < 0 ? "an event with a negative time, left out" : NULL;
}

static int event_take(struct profile *profile, const struct event *event)
{
    const char *wrong = event_fault(event);

    if (wrong != NULL) {
        import_complain(profile->import, event->offset, wrong);
        return 0;
    }
    if (!event->has_id) {
        profile->facts->unused++;
        return 0;
    }
    if (event->phase == 'b') {
        start_take(profile, event);
        return 0;
    }
    return stop_take(profile, event);
}

/* The array of events, whose JSON_ARRAY was the last token. */
static int events_walk(struct profile *profile)
{
    const struct json_token *token;

    while ((token = json_next(profile->json))->type > JSON_END &&
           token->type != JSON_ARRAY_END) {
        struct event event = {.offset = token->offset};

        if (token->type != JSON_OBJECT) {
            import_complain(profile->import, token->offset,
                            "an event that is no object, left out");
            (void)json_skip(profile->json);
        } else if (event_read(profile, &event) &&
                   event_take(profile, &event) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The JSON within the string: {"events": [...]}, or the array alone. */
static int inner_walk(struct profile *profile)
{
    struct json *inner = profile->json;
    const struct json_token *token = json_next(inner);
    int rc = 0;

    if (token->type == JSON_ARRAY) {
        return events_walk(profile);
    }
    if (token->type != JSON_OBJECT) {
        return 0;
    }
    while (rc == 0 && (token = json_next(inner))->type == JSON_NAME) {
        if (json_is(token, "events") && json_next(inner)->type == JSON_ARRAY) {
            rc = events_walk(profile);
        } else {
            (void)json_skip(inner);
        }
    }
    return rc;
}

static int inner_read(struct profile *profile, struct json *inner)
{
    struct json *outer = profile->json;
    int rc;

    profile->json = inner;
    rc = inner_walk(profile);
    profile->json = outer;
    if (rc == 0 && json_last(inner)->type != JSON_ERROR) {
        (void)json_next(inner);
    }
    if (rc == 0 && json_last(inner)->type == JSON_ERROR) {
        import_cut(profile->import, json_error_offset(inner),
                   "the JSON within events_json is wrong or cut off at this "
                   "byte of it; what comes before was read");
    }
    return rc;
}

static int events_read(struct profile *profile)
{
    const struct json_token *token = json_next(profile->json);
    struct json *inner;
    int rc;

    profile->has_events = true;
    if (token->type == JSON_ARRAY) { /* not encoded twice */
        return events_walk(profile);
    }
    if (token->type != JSON_STRING) {
        import_complain(profile->import, token->offset,
                        "events_json is no string, not used");
        (void)json_skip(profile->json);
        return 0;
    }
    inner = json_create(json_string_read, profile->json);
    rc = inner_read(profile, inner);
    json_destroy(inner);
    return rc;
}

static int members_read(struct profile *profile)
{
    struct json *json = profile->json;
    const struct json_token *token = json_next(json);
    int rc = 0;

    if (token->type != JSON_OBJECT) {
        return 0;
    }
    while (rc == 0 && (token = json_next(json))->type == JSON_NAME) {
        if (json_is(token, "kernel_calls")) {
            calls_read(profile);
        } else if (json_is(token, "events_json")) {
            rc = events_read(profile);
        } else if (json_is(token, "wall_start_ns")) {
            (void)time_read(profile, &profile->wall_start);
        } else if (json_is(token, "wall_stop_ns")) {
            (void)time_read(profile, &profile->wall_stop);
        } else {
            (void)json_skip(json);
        }
    }
    return rc;
}

static void profile_check(struct profile *profile)
{
    struct import *import = profile->import;

    for (size_t i = 0; i < profile->opens_count; i++) {
        import_complain(import, profile->opens[i].offset,
                        "a start without its stop, left out");
    }
    if (json_last(profile->json)->type != JSON_ERROR) {
        (void)json_next(profile->json);
    }
    if (json_last(profile->json)->type == JSON_ERROR) {
        import_cut(import, json_error_offset(profile->json),
                   "the JSON is wrong or cut off here; what comes before was "
                   "read");
    }
    if (!profile->has_calls) {
        import_complain(import, 0, "kernel_calls is missing");
    }
    if (!profile->has_events) {
        import_complain(import, 0, "events_json is missing");
    }
    if (profile->wall_stop < profile->wall_start) {
        import_complain(import, 0,
                        "wall_stop_ns is before wall_start_ns, not used");
        profile->wall_start = profile->wall_stop = 0;
    }
}

/* The one device, its cores taken together. */
static int device_put(struct profile *profile)
{
    static const char lines[] = "name=NeuronCore\n";
    struct ck_text text = {.e = {.kind = CK_KIND_DEVICE, .name = 0}};

    return import_text(profile->import, &text, lines, sizeof(lines) - 1);
}

static int profile_read(struct profile *profile, struct ck_err *err)
{
    struct import_facts *facts = profile->facts;

    profile->thread = import_thread(profile->import, 0, TID);
    if (profile->thread < 0 || profile->places == NULL ||
        device_put(profile) != 0 || members_read(profile) != 0) {
        return import_failed(profile->import, err);
    }
    profile_check(profile);
    facts->has_epoch = true; /* its times are dates */
    facts->start = profile->wall_start;
    facts->stop = profile->wall_stop;
    if (facts->stop == 0 && profile->first <= profile->last) {
        facts->start = profile->first; /* an old one, without wall times */
        facts->stop = profile->last;
    }
    return kernelcalls_finish(&profile->calls, profile->import,
                              (unsigned)profile->thread, facts) == 0
               ? 0
               : import_failed(profile->import, err);
}

int kernelprofile_read(struct json *json,
                       struct import *import,
                       struct import_facts *facts,
                       struct ck_err *err)
{
    struct profile profile = {.json = json,
                              .import = import,
                              .facts = facts,
                              .places = table_create(),
                              .first = INT64_MAX,
                              .last = INT64_MIN};
    int rc = profile_read(&profile, err);

    kernelcalls_fini(&profile.calls);
    table_destroy(profile.places);
    free(profile.opens);
    return rc;
}
