/* cuptitable.c - identity of devices, streams and launches
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptitable.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/inject/cupti/cuptientry.h"
#include "agent/inject/inject.h"

static _Atomic uint32_t devices[TABLE_DEVICES]; /* DEVICE number by ordinal */
/* Whether its identity was recorded, and how often it was asked for. */
static _Atomic uint32_t device_said[TABLE_DEVICES];
static unsigned device_asked[TABLE_DEVICES];      /* flush thread only */
static _Atomic uint32_t contexts[TABLE_CONTEXTS]; /* ordinal + 1 */

struct stream_entry {
    _Atomic uint64_t key; /* context << 32 | stream, plus 1; 0 = unused */
    _Atomic uint32_t id;
};
static struct stream_entry streams[TABLE_STREAMS];

/* By correlation + 1: tid << 32 | call, and the start. */
static struct entry launches[TABLE_LAUNCHES];

uint32_t table_device(uint32_t ordinal)
{
    uint32_t number, none = 0;
    char text[64];

    if (ordinal >= TABLE_DEVICES) {
        return 0;
    }
    number = atomic_load(&devices[ordinal]);
    if (number != 0 || inject_writer() == NULL) {
        return number;
    }
    number = ck_ring_object_id(&inject_ring);
    if (!atomic_compare_exchange_strong(&devices[ordinal], &none, number)) {
        return none;
    }
    (void)snprintf(text, sizeof(text), "api=cuda\ntype=gpu\nordinal=%u\n",
                   ordinal);
    (void)inject_say(CK_KIND_DEVICE, number, 0, 0, text);
    return number;
}

static void uuid_text(const struct cupti_uuid *uuid, char text[37])
{
    static const char *const dash[16] = {
        [3] = "-", [5] = "-", [7] = "-", [9] = "-"};
    int at = 0;

    for (int i = 0; i < 16; i++) {
        at += snprintf(text + at, 37 - (size_t)at, "%02x%s", uuid->bytes[i],
                       dash[i] == NULL ? "" : dash[i]);
    }
}

/* What is known of it beside its identity. */
static size_t
device_more(const struct cupti_device *device, char *text, size_t room)
{
    int n = snprintf(text, room,
                     "compute_units=%u\nclock_mhz=%u\nmemory_bytes=%llu\n"
                     "bandwidth_kbs=%llu\ncompute_capability=%u.%u\n",
                     device->units, device->clock_khz / 1000,
                     (unsigned long long)device->memory,
                     (unsigned long long)device->bandwidth,
                     device->capability_major, device->capability_minor);

    return n > 0 ? (size_t)n : 0;
}

void table_device_say(const struct cupti_device *device)
{
    uint32_t number = table_device(device->ordinal);
    bool is_part = device->is_mig && cupti_api.version < CUPTI_SINCE_MIG_UUID;
    char uuid[37], parent[37] = "";
    char text[640];
    size_t used;

    if (number == 0) {
        return;
    }
    uuid_text(device->is_mig ? &device->mig_uuid : &device->uuid, uuid);
    if (is_part) { /* later ones give the instance's in both */
        uuid_text(&device->uuid, parent);
    }
    used = (size_t)snprintf(
        text, sizeof(text),
        "uuid=%s\napi=cuda\nname=%.200s\nvendor=NVIDIA Corporation\n"
        "type=gpu\nordinal=%u\nparent_uuid=%s\n"
        "gpu_instance=%d\ncompute_instance=%d\nclock=cupti\n",
        uuid, device->name == NULL ? "" : device->name, device->ordinal, parent,
        device->is_mig ? (int)device->gpu_instance : -1,
        device->is_mig ? (int)device->compute_instance : -1);
    if (device->units != 0 && used < sizeof(text)) {
        (void)device_more(device, text + used, sizeof(text) - used);
    }
    if (inject_say(CK_KIND_DEVICE, number, 0, 0, text) == 0) {
        atomic_store(&device_said[device->ordinal], 1);
    }
}

/* A function of the driver that is loaded already. */
static void driver_symbol(const char *name, void *place)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library == NULL ? NULL : dlsym(library, name);

    memcpy(place, &symbol, sizeof(symbol));
    if (library != NULL) {
        (void)dlclose(library);
    }
}

/* What identifies it, from the driver. */
static void device_ask_driver(uint32_t ordinal)
{
    int (*get)(int *, int) = NULL;
    int (*uuid)(struct cupti_uuid *, int) = NULL;
    int (*name)(char *, int, int) = NULL;
    struct cupti_device found = {.ordinal = ordinal};
    char text[128] = "";
    int device;

    driver_symbol("cuDeviceGet", &get);
    driver_symbol("cuDeviceGetUuid_v2", &uuid);
    driver_symbol("cuDeviceGetName", &name);
    if (get == NULL || uuid == NULL || name == NULL ||
        get(&device, (int)ordinal) != 0 || uuid(&found.uuid, device) != 0 ||
        name(text, sizeof(text) - 1, device) != 0) {
        return;
    }
    found.name = text;
    table_device_say(&found);
}

void table_devices_ask(void)
{
    bool is_dumped = false;

    for (uint32_t i = 0; i < TABLE_DEVICES; i++) {
        if (atomic_load(&devices[i]) == 0 || atomic_load(&device_said[i]) ||
            device_asked[i] > 1) {
            continue;
        }
        if (device_asked[i]++ > 0) {
            device_ask_driver(i);
        } else if (!is_dumped && cupti_api.cuptiActivityEnableAndDump != NULL) {
            (void)cupti_api.cuptiActivityEnableAndDump(CUPTI_KIND_DEVICE);
            is_dumped = true;
        }
    }
}

void table_context(uint32_t context, uint32_t ordinal)
{
    if (context < TABLE_CONTEXTS && ordinal < TABLE_DEVICES) {
        atomic_store(&contexts[context], ordinal + 1);
    }
}

uint32_t table_context_device(uint32_t context)
{
    uint32_t held =
        context < TABLE_CONTEXTS ? atomic_load(&contexts[context]) : 0;

    return held == 0 ? TABLE_NONE : held - 1;
}

static void stream_say(uint32_t id,
                       const struct cupti_stream *stream,
                       uint32_t ordinal,
                       bool has_more)
{
    char text[128];
    int at = snprintf(text, sizeof(text),
                      "api=cuda\norder=in-order\ncontext=%u\nstream=%u\n",
                      stream->context, stream->stream);

    if (has_more) {
        (void)snprintf(text + at, sizeof(text) - (size_t)at, "priority=%d\n",
                       (int)stream->priority);
    }
    (void)inject_say(CK_KIND_QUEUE, id, table_device(ordinal), 0, text);
}

/* The entry of a key, taken now if it is new (*is_new). */
static struct stream_entry *stream_find(uint64_t key, bool *is_new)
{
    uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 40;

    *is_new = false;
    for (unsigned i = 0; i < 64; i++) {
        struct stream_entry *entry = &streams[(at + i) % TABLE_STREAMS];
        uint64_t held = atomic_load_explicit(&entry->key, memory_order_acquire);

        if (held == 0 &&
            atomic_compare_exchange_strong(&entry->key, &held, key)) {
            *is_new = true;
            return entry;
        }
        if (held == key) {
            return entry;
        }
    }
    return NULL;
}

static uint32_t stream_id(const struct cupti_stream *stream, uint32_t ordinal)
{
    uint64_t key = ((uint64_t)stream->context << 32 | stream->stream) + 1;
    bool is_new;
    struct stream_entry *entry = stream_find(key, &is_new);

    if (entry == NULL || inject_writer() == NULL) {
        return 0;
    }
    if (is_new) {
        uint32_t id = ck_ring_object_id(&inject_ring);

        atomic_store(&entry->id, id);
        stream_say(id, stream, ordinal, false);
    }
    return atomic_load(&entry->id);
}

uint32_t table_stream(uint32_t context, uint32_t stream, uint32_t ordinal)
{
    struct cupti_stream seen = {.context = context, .stream = stream};

    if (stream == TABLE_NONE) {
        return 0;
    }
    if (ordinal == TABLE_NONE) {
        ordinal = table_context_device(context);
    }
    return stream_id(&seen, ordinal);
}

void table_stream_say(const struct cupti_stream *stream)
{
    uint32_t ordinal = table_context_device(stream->context);
    uint32_t id = stream_id(stream, ordinal);

    if (id != 0) {
        stream_say(id, stream, ordinal, true);
    }
}

void table_launch_set(uint32_t correlation, struct table_launch launch)
{
    entry_set(&launches[correlation % TABLE_LAUNCHES],
              (uint64_t)correlation + 1,
              (uint64_t)launch.tid << 32 | launch.call, (uint64_t)launch.start);
}

struct table_launch table_launch_get(uint32_t correlation)
{
    struct table_launch launch = {0, 0, 0};
    uint64_t words[2];

    if (correlation != 0 && entry_get(&launches[correlation % TABLE_LAUNCHES],
                                      (uint64_t)correlation + 1, words)) {
        launch.tid = (uint32_t)(words[0] >> 32);
        launch.call = (uint32_t)words[0];
        launch.start = (int64_t)words[1];
    }
    return launch;
}
