/* chromeevent.c - one event of a Chrome trace as it is written
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/chromeevent.h"

#include <string.h>
#include <strings.h>

#define NAMED(text, category)                                                  \
    {                                                                          \
        text, sizeof(text) - 1, category                                       \
    }

/* The usual ones first. */
static const struct {
    const char *text;
    size_t length;
    enum chrome_category category;
} categories[] = {
    NAMED("kernel", CHROME_KERNEL),
    NAMED("cuda_runtime", CHROME_RUNTIME),
    NAMED("cpu_op", CHROME_OPERATOR),
    NAMED("python_function", CHROME_OTHER),
    NAMED("gpu_memcpy", CHROME_COPY),
    NAMED("gpu_memset", CHROME_FILL),
    NAMED("cuda_driver", CHROME_DRIVER),
    NAMED("user_annotation", CHROME_ANNOTATION),
    NAMED("gpu_user_annotation", CHROME_UNUSED),
    NAMED("ac2g", CHROME_UNUSED),
    NAMED("fwdbwd", CHROME_UNUSED),
    NAMED("fwd_bwd", CHROME_UNUSED),
    NAMED("async_gpu", CHROME_UNUSED),
    NAMED("overhead", CHROME_OVERHEAD),
    /* Rows of a device that repeat what calls and kernels have. */
    NAMED("cuda_sync", CHROME_SYNC),
    NAMED("cuda_event", CHROME_UNUSED),
    NAMED("cuda_profiler_range", CHROME_UNUSED),
    NAMED("mtia_insight", CHROME_UNUSED),
    NAMED("mtia_counters", CHROME_UNUSED),
    /* Other makers' devices. */
    NAMED("mtia_ccp_events", CHROME_KERNEL),
    NAMED("mtia_runtime", CHROME_RUNTIME),
    NAMED("xpu_runtime", CHROME_RUNTIME),
    NAMED("xpu_driver", CHROME_DRIVER),
    NAMED("hpu_op", CHROME_RUNTIME),
    NAMED("glow_runtime", CHROME_RUNTIME),
    NAMED("privateuse1_runtime", CHROME_RUNTIME),
    NAMED("privateuse1_driver", CHROME_DRIVER),
    /* Names of older versions, and of newer ones. */
    NAMED("Memcpy", CHROME_COPY),
    NAMED("Memset", CHROME_FILL),
    NAMED("Runtime", CHROME_RUNTIME),
    NAMED("Driver", CHROME_DRIVER),
    NAMED("Operator", CHROME_OPERATOR),
};

static enum chrome_category category_of(const struct json_token *token)
{
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        if (categories[i].length == token->length &&
            strncasecmp(categories[i].text, token->text, token->length) == 0) {
            return categories[i].category;
        }
    }
    return CHROME_OTHER;
}

static void text_read(struct json *json, struct chrome_event *event)
{
    const struct json_token *token = json_next(json);

    if (token->type != JSON_STRING || event->has_group) {
        (void)json_skip(json);
        return;
    }
    event->text_length = token->length < sizeof(event->text)
                             ? token->length
                             : sizeof(event->text);
    memcpy(event->text, token->text, event->text_length);
}

/* An id or a count; what is no number is left as it is. */
static bool number_read(struct json *json, int64_t *value)
{
    const struct json_token *token = json_next(json);

    if (token->type == JSON_OBJECT || token->type == JSON_ARRAY) {
        (void)json_skip(json);
        return false;
    }
    return json_int(token, value);
}

static void size3_read(struct json *json, uint32_t size[3])
{
    const struct json_token *token;
    unsigned count = 0;
    int64_t value;

    if (json_next(json)->type != JSON_ARRAY) {
        (void)json_skip(json);
        return;
    }
    while ((token = json_element(json)) != NULL) {
        if (count < 3 && token->type == JSON_NUMBER &&
            json_int(token, &value)) {
            size[count++] = (uint32_t)value;
        } else {
            (void)json_skip(json);
        }
    }
}

/* Append to the text, but for one byte that stays free. False: there is no
 * room. */
static bool
text_append(struct chrome_event *event, const char *bytes, size_t length)
{
    if (length >= sizeof(event->text) - event->text_length) {
        return false;
    }
    memcpy(event->text + event->text_length, bytes, length);
    event->text_length += length;
    return true;
}

static bool list_append(struct json *json, struct chrome_event *event)
{
    const struct json_token *token;
    bool is_whole = true;

    while ((token = json_element(json)) != NULL) {
        if (token->type != JSON_NUMBER) {
            is_whole = false;
            (void)json_skip(json);
            continue;
        }
        is_whole = is_whole && text_append(event, token->text, token->length) &&
                   text_append(event, ",", 1);
    }
    return is_whole;
}

/* A line about its process group, "key=value"; none where it has no room. */
static void
group_read(struct json *json, const char *key, struct chrome_event *event)
{
    const struct json_token *token = json_next(json);
    size_t before = event->has_group ? event->text_length : 0;
    bool is_whole;

    event->text_length = before;
    event->has_group = true;
    is_whole = text_append(event, key, strlen(key));
    if (token->type == JSON_ARRAY) {
        is_whole = list_append(json, event) && is_whole;
    } else if (token->type == JSON_STRING || token->type == JSON_NUMBER) {
        is_whole = is_whole && text_append(event, token->text, token->length);
    } else {
        is_whole = false;
        (void)json_skip(json);
    }
    if (is_whole) {
        event->text[event->text_length++] = '\n';
    } else {
        event->text_length = before;
    }
}

enum arg {
    ARG_NONE,
    ARG_GRID,
    ARG_BLOCK,
    ARG_TEXT,
    ARG_BYTES,
    ARG_DEVICE,
    ARG_STREAM,
    ARG_CORRELATION,
    ARG_SHARED,
    ARG_REGISTERS,
    ARG_SEQUENCE,
    ARG_GROUP,
    ARG_GROUP_RANKS,
    ARG_GROUP_SIZE,
};

/* By length first: this is asked for every member of every event. */
static enum arg arg_of(const struct json_token *name)
{
    switch (name->length) {
    case 3:
        return json_is(name, "Seq") ? ARG_SEQUENCE : ARG_NONE;
    case 4:
        if (json_is(name, "grid")) {
            return ARG_GRID;
        }
        if (json_is(name, "name")) {
            return ARG_TEXT;
        }
        return ARG_NONE;
    case 5:
        if (json_is(name, "block")) {
            return ARG_BLOCK;
        }
        if (json_is(name, "bytes") || json_is(name, "Bytes")) {
            return ARG_BYTES;
        }
        return ARG_NONE;
    case 6:
        if (json_is(name, "device")) {
            return ARG_DEVICE;
        }
        if (json_is(name, "stream")) {
            return ARG_STREAM;
        }
        if (json_is(name, "labels")) {
            return ARG_TEXT;
        }
        return ARG_NONE;
    case 10:
        return json_is(name, "Group size") ? ARG_GROUP_SIZE : ARG_NONE;
    case 11:
        return json_is(name, "correlation") ? ARG_CORRELATION : ARG_NONE;
    case 13:
        return json_is(name, "shared memory") ? ARG_SHARED : ARG_NONE;
    case 18:
        return json_is(name, "Process Group Name") ? ARG_GROUP : ARG_NONE;
    case 19:
        return json_is(name, "Process Group Ranks") ? ARG_GROUP_RANKS
                                                    : ARG_NONE;
    case 20:
        return json_is(name, "registers per thread") ? ARG_REGISTERS : ARG_NONE;
    default:
        return ARG_NONE;
    }
}

/* Of ARG_GROUP and those behind it. */
static const char *const group_keys[] = {"name=", "ranks=", "size="};

/* One member of args, whose name was the last token. */
static void arg_read(struct json *json,
                     const struct json_token *name,
                     struct chrome_event *event)
{
    enum arg arg = arg_of(name);
    int64_t value = -1;

    if (arg == ARG_NONE) {
        (void)json_skip(json);
        return;
    }
    if (arg == ARG_GRID || arg == ARG_BLOCK) {
        size3_read(json, arg == ARG_GRID ? event->grid : event->block);
        return;
    }
    if (arg == ARG_TEXT) {
        text_read(json, event);
        return;
    }
    if (arg >= ARG_GROUP) {
        group_read(json, group_keys[arg - ARG_GROUP], event);
        return;
    }
    if (!number_read(json, &value) || value < 0) {
        return; /* as if it were not there */
    }
    if (arg == ARG_BYTES) {
        event->bytes = (uint64_t)value;
    } else if (arg == ARG_DEVICE) {
        event->device = value;
    } else if (arg == ARG_STREAM) {
        event->stream = value;
    } else if (arg == ARG_CORRELATION) {
        event->correlation = (uint64_t)value;
    } else if (arg == ARG_SHARED) {
        event->shared_bytes = (uint32_t)value;
    } else if (arg == ARG_SEQUENCE) {
        event->sequence = value < UINT32_MAX ? (uint32_t)value + 1 : 0;
    } else {
        event->registers = (uint32_t)value;
    }
}

static void args_read(struct json *json, struct chrome_event *event)
{
    const struct json_token *token = json_next(json);

    if (token->type != JSON_OBJECT) {
        (void)json_skip(json);
        return;
    }
    while ((token = json_next(json))->type == JSON_NAME) {
        arg_read(json, token, event);
    }
}

static void name_read(struct json *json, struct chrome_event *event)
{
    const struct json_token *token = json_next(json);

    if (token->type != JSON_STRING) {
        event->is_bad = true;
        (void)json_skip(json);
        return;
    }
    event->name_length = token->length < sizeof(event->name)
                             ? token->length
                             : sizeof(event->name);
    memcpy(event->name, token->text, event->name_length);
}

/* Microseconds with decimals to ns. */
static bool
time_read(struct json *json, struct chrome_event *event, int64_t *value)
{
    const struct json_token *token = json_next(json);

    if (json_decimal(token, 3, value)) {
        return true;
    }
    event->is_bad = true;
    (void)json_skip(json);
    return false;
}

static void ids_read(struct json *json, bool *has, int64_t *value)
{
    const struct json_token *token = json_next(json);

    if (token->type == JSON_STRING || token->type == JSON_NUMBER) {
        /* A name in place of a number is one thread of that name. */
        *has = true;
        if (!json_int(token, value)) {
            *value = 0;
            for (size_t i = 0; i < token->length; i++) {
                *value = (*value * 31 + token->text[i]) & 0x7fffffff;
            }
        }
        return;
    }
    (void)json_skip(json);
}

/* A build of PyTorch without Kineto gives no categories, but two processes of
 * these names. */
static enum chrome_category legacy_of(const struct json_token *pid)
{
    if (pid->type != JSON_STRING) {
        return CHROME_OTHER;
    }
    if (json_is(pid, "CPU functions")) {
        return CHROME_OPERATOR;
    }
    if (json_is(pid, "CUDA functions")) {
        return CHROME_KERNEL;
    }
    return CHROME_OTHER;
}

/* One member, whose name was the last token. */
static void member_read(struct json *json,
                        const struct json_token *name,
                        struct chrome_event *event)
{
    if (json_is(name, "args")) {
        args_read(json, event);
    } else if (json_is(name, "ts")) {
        event->has_start = time_read(json, event, &event->start);
    } else if (json_is(name, "dur")) {
        event->has_dur = time_read(json, event, &event->dur);
    } else if (json_is(name, "name")) {
        name_read(json, event);
    } else if (json_is(name, "ph")) {
        const struct json_token *token = json_next(json);

        event->phase = '\0';
        if (token->type == JSON_STRING && token->length > 0) {
            event->phase = *token->text;
        }
        (void)json_skip(json);
    } else if (json_is(name, "cat")) {
        const struct json_token *token = json_next(json);

        event->category =
            token->type == JSON_STRING ? category_of(token) : CHROME_OTHER;
        (void)json_skip(json);
    } else if (json_is(name, "pid")) {
        ids_read(json, &event->has_pid, &event->pid);
        event->legacy = legacy_of(json_last(json));
    } else if (json_is(name, "tid")) {
        ids_read(json, &event->has_tid, &event->tid);
    } else {
        (void)json_skip(json);
    }
}

bool chromeevent_read(struct json *json, struct chrome_event *event)
{
    const struct json_token *token;

    memset(event, 0, offsetof(struct chrome_event, text));
    event->device = event->stream = -1;
    while ((token = json_next(json))->type == JSON_NAME) {
        member_read(json, token, event);
    }
    if (event->category == CHROME_OTHER) {
        event->category = event->legacy;
    }
    return token->type == JSON_OBJECT_END;
}
