/* mockcupti.c - a CUPTI without a GPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Has the entry points that ckcupti looks up, with the meaning that they have
 * in CUPTI 13. With MOCK_OLD it lacks those that older versions lack.
 */
#include "tests/targets/cupti/mockcupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CUPTI_NEEDED(name) MOCK_EXPORT name##_f name;
#define CUPTI_OPTIONAL(name) MOCK_EXPORT name##_f name;
#include "agent/inject/cupti/cupti.def"

#define MOCK_KINDS 64
#define MOCK_CALLS 600
#define MOCK_POOL 2000  /* nodes of graphs that the device has room for */
#define MOCK_RESOURCE 3 /* the domain of contexts and streams */
#define MOCK_DESTROY_STARTING 2

/* Another client of the second set of functions, beside the first. */
static struct {
    bool is_here, has_kernels;
    cupti_requested_2_f *requested;
    cupti_completed_2_f *completed;
    uint8_t *buffer;
    size_t room, used;
} second;
static bool is_shared; /* by those of the second set alone */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_told_f *_Atomic callback;
static void *_Atomic callback_data;
static _Atomic bool kinds[MOCK_KINDS], is_enabled;
static _Atomic unsigned forbidden;
/* Callbacks that allow no flush: a context's, of any thread, since CUPTI holds
 * a lock in them that a flush takes; and a buffer's. */
static _Atomic unsigned in_resource;
static __thread unsigned in_buffer;
static _Atomic bool calls[8][MOCK_CALLS];
static cupti_requested_f *_Atomic request;
static cupti_completed_f *_Atomic complete;
static cupti_clock_f *_Atomic clock_now;
static uint8_t *buffer;
static size_t room, used, dropped;
static unsigned given_back; /* buffers in the client's hands */
static _Atomic bool is_released;
static _Atomic unsigned flushes, stamps, wasted;

/* Names with their numbers in CUPTI 13.0; all other numbers have names that
 * are never asked for. */
struct name {
    uint32_t domain;
    uint32_t id;
    const char *text;
};
static const struct name names[] = {
    {CUPTI_DOMAIN_RUNTIME, 20, "cudaMalloc_v3020"},
    {CUPTI_DOMAIN_RUNTIME, 22, "cudaFree_v3020"},
    {CUPTI_DOMAIN_RUNTIME, 41, "cudaMemcpyAsync_v3020"},
    {CUPTI_DOMAIN_DRIVER, 243, "cuMemAlloc_v2"},
    {CUPTI_DOMAIN_RUNTIME, 164, "cudaDeviceReset_v3020"},
    {CUPTI_DOMAIN_RUNTIME, 165, "cudaDeviceSynchronize_v3020"},
    {CUPTI_DOMAIN_RUNTIME, 211, "cudaLaunchKernel_v7000"},
    {CUPTI_DOMAIN_RUNTIME, 311, "cudaGraphLaunch_v10000"},
    {CUPTI_DOMAIN_RUNTIME, 505, "__cudaLaunchKernel_v13000"},
    {CUPTI_DOMAIN_DRIVER, 295, "cuCtxDestroy_v2"},
    {CUPTI_DOMAIN_DRIVER, 307, "cuLaunchKernel"},
    {CUPTI_DOMAIN_DRIVER, 390, "cuDevicePrimaryCtxRelease"},
    {CUPTI_DOMAIN_DRIVER, 514, "cuGraphLaunch"},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static bool is_case(const char *name)
{
    const char *text = getenv("MOCK_CASE");

    return text != NULL && strcmp(text, name) == 0;
}

static uint32_t version_now(void)
{
    const char *text = getenv("MOCK_VERSION");

    return text == NULL ? 130001 : (uint32_t)atoi(text);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec ts;

    (void)clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

MOCK_EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = version_now();
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiGetResultString(int result, const char **text)
{
    *text = result == CUPTI_HELD ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS" : "MOCK";
    return CUPTI_OK;
}

MOCK_EXPORT int
cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    if (id >= MOCK_CALLS) {
        return CUPTI_PARAMETER;
    }
    *name = "cudaGetDevice_v3020";
    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].domain == domain && names[i].id == id) {
            *name = names[i].text;
        }
    }
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiGetTimestamp(uint64_t *stamp)
{
    bool is_other = stamps++ > 4 && is_case("takeover");

    if (is_shared) {
        return CUPTI_MIXED;
    }

    *stamp = is_other            ? now_ns(CLOCK_REALTIME) * 2
             : clock_now != NULL ? clock_now()
                                 : now_ns(CLOCK_REALTIME);
    return CUPTI_OK;
}

MOCK_EXPORT int
cuptiSubscribe(void **subscriber, cupti_told_f *function, void *data)
{
    if (is_case("busy") || (is_case("held") && !is_released)) {
        return CUPTI_HELD;
    }
    if (is_case("nodriver")) {
        return CUPTI_NO_DRIVER;
    }
    if (is_shared) {
        return CUPTI_HELD;
    }
    callback = function;
    callback_data = data;
    *subscriber = (void *)(uintptr_t)1;
    return CUPTI_OK;
}

#ifndef MOCK_OLD
MOCK_EXPORT int cuptiSubscribe_v2(void **subscriber,
                                  cupti_told_f *function,
                                  void *data,
                                  struct cupti_subscription *about)
{
    bool is_sharing = about->size >= sizeof(*about) && about->is_sharing != 0;

    if (is_case("busy")) {
        (void)snprintf(about->old, about->old_size, "another profiler");
    }
    if (version_now() < CUPTI_SINCE_SHARING || !is_sharing) {
        return cuptiSubscribe(subscriber, function, data);
    }
    if (is_shared && !second.is_here) {
        second.is_here = true;
        *subscriber = &second;
        return CUPTI_OK;
    }
    if (callback != NULL) {
        return CUPTI_HELD; /* by a client of the first set, or two */
    }
    if (cuptiSubscribe(subscriber, function, data) != CUPTI_OK) {
        return CUPTI_HELD;
    }
    is_shared = true;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiGetTimestamp_v2(void *subscriber, uint64_t *stamp)
{
    *stamp = now_ns(CLOCK_REALTIME);
    return is_shared && subscriber != NULL ? CUPTI_OK : CUPTI_HELD;
}

MOCK_EXPORT int
cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *configuration)
{
    if (!is_shared || configuration != NULL) {
        return CUPTI_HELD;
    }
    if (subscriber == &second) {
        second.has_kernels |= kind == CUPTI_KIND_KERNEL;
    } else {
        kinds[kind % MOCK_KINDS] = true;
    }
    return CUPTI_OK;
}

static cupti_requested_2_f *request_2;
static cupti_completed_2_f *complete_2;

static void requested_first(uint8_t **bytes, size_t *size, size_t *records)
{
    request_2(bytes, size, records, NULL);
}

static void completed_first(
    void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    complete_2(bytes, size, valid, NULL);
}

MOCK_EXPORT int
cuptiActivityRegisterCallbacks_v2(void *subscriber,
                                  cupti_requested_2_f *requested,
                                  cupti_completed_2_f *completed)
{
    if (!is_shared) {
        return CUPTI_HELD;
    }
    if (subscriber == &second) {
        second.requested = requested;
        second.completed = completed;
        return CUPTI_OK;
    }
    request_2 = requested;
    complete_2 = completed;
    request = requested_first;
    complete = completed_first;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    return enable == 0 ? CUPTI_OK : CUPTI_PARAMETER;
}

MOCK_EXPORT int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable)
{
    calls[0][id] = enable != 0;
    kinds[CUPTI_KIND_RUNTIME] = true;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable)
{
    calls[0][id] = enable != 0;
    kinds[CUPTI_KIND_DRIVER] = true;
    return CUPTI_OK;
}
#endif

MOCK_EXPORT int cuptiEnableCallback(uint32_t enable,
                                    void *subscriber,
                                    uint32_t domain,
                                    uint32_t id)
{
    (void)subscriber;
    if ((unsigned)domain >= 8 || id >= MOCK_CALLS) {
        return CUPTI_PARAMETER;
    }
    calls[domain][id] = enable != 0;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityEnable(uint32_t kind)
{
    if (is_case("enable")) {
        return CUPTI_UNREADY;
    }
    if (is_shared) {
        return CUPTI_HELD;
    }
    kinds[kind % MOCK_KINDS] = true;
    is_enabled = true;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityDisable(uint32_t kind)
{
    kinds[kind % MOCK_KINDS] = false;
    return CUPTI_OK;
}

MOCK_EXPORT void mock_release(void)
{
    is_released = true;
}

MOCK_EXPORT bool mock_is_client(cupti_requested_f *requested)
{
    return request == requested;
}

MOCK_EXPORT int cuptiActivityRegisterCallbacks(cupti_requested_f *requested,
                                               cupti_completed_f *completed)
{
    if (is_shared) {
        return CUPTI_HELD;
    }
    request = requested;
    complete = completed;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityRegisterTimestampCallback(cupti_clock_f *function)
{
    /* A second registration spoils records that exist, and so does one behind
     * the first kind. */
    if (function == NULL || clock_now != NULL || is_enabled || is_shared) {
        return CUPTI_PARAMETER;
    }
    clock_now = function;
    return CUPTI_OK;
}

#define MOCK_HELD 8192
static struct {
    uint8_t *bytes;
    size_t size, valid;
} held[MOCK_HELD];
static size_t held_count;

/* Keep the buffer until the end, as a device does that is never done. */
static bool buffer_hold(void)
{
    bool is_held = is_case("scarce") && held_count < MOCK_HELD;

    if (is_held) {
        held[held_count].bytes = buffer;
        held[held_count].size = room;
        held[held_count++].valid = used;
        buffer = NULL;
        room = used = 0;
    }
    return is_held;
}

static void buffer_tell(uint8_t *bytes, size_t size, size_t valid)
{
    in_buffer++;
    complete(NULL, 0, bytes, size, valid);
    in_buffer--;
}

static void held_return(void)
{
    for (size_t i = 0; i < held_count; i++) {
        buffer_tell(held[i].bytes, held[i].size, held[i].valid);
    }
    held_count = 0;
}

/* Give the buffer back. Under the lock, and let go of for the callback, which
 * may take locks of its own: what was seen before does not hold behind it. */
static void buffer_return(void)
{
    uint8_t *done = buffer;
    size_t size = room, valid = used;

    buffer = NULL;
    room = used = 0;
    if (done != NULL) {
        given_back++;
        (void)pthread_mutex_unlock(&lock);
        buffer_tell(done, size, valid);
        (void)pthread_mutex_lock(&lock);
        given_back--;
    }
}

/* The other client's, too. */
static void second_return(void)
{
    uint8_t *done;
    size_t room_then, used_then;

    (void)pthread_mutex_lock(&lock);
    done = second.buffer;
    room_then = second.room;
    used_then = second.used;
    second.buffer = NULL;
    (void)pthread_mutex_unlock(&lock);
    if (done != NULL) {
        second.completed(done, room_then, used_then, NULL);
    }
}

/* Under the lock. */
static void second_emit(const void *record, size_t length)
{
    size_t most = 0;

    if (!second.has_kernels || *(const uint32_t *)record != CUPTI_KIND_KERNEL) {
        return;
    }
    if (second.buffer == NULL) {
        second.requested(&second.buffer, &second.room, &most, NULL);
        second.used = 0;
    }
    if (second.buffer != NULL && second.used + length <= second.room) {
        memcpy(second.buffer + second.used, record, length);
        second.used += length;
    }
}

MOCK_EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    forbidden += in_resource > 0 || in_buffer > 0;
    flushes++;
    while (flag == 0 && is_case("scarce") && wasted == 0) {
        (void)usleep(1000);
    }
    if ((flag != 0 && is_case("hang")) || is_case("stuck")) {
        for (;;) {
            (void)pause();
        }
    }
    if (flag != 0) {
        held_return();
    }
    second_return();
    if (flag != 0 || !(is_case("late") || is_case("scarce"))) {
        (void)pthread_mutex_lock(&lock);
        buffer_return();
        (void)pthread_mutex_unlock(&lock);
    }
    return CUPTI_OK;
}

MOCK_EXPORT int
cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    static bool is_told;

    (void)context;
    (void)stream;
    if (is_shared) {
        return CUPTI_MIXED;
    }
    (void)pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    if (is_case("drop") && !is_told) {
        *count += 3;
        is_told = true;
    }
    (void)pthread_mutex_unlock(&lock);
    return CUPTI_OK;
}

/* Lengths of records, as CUPTI 12.1, 12.6 and 13.0 step by them; one more of
 * a kernel's for what is newer still. */
static size_t kind_bytes(uint32_t kind)
{
    uint32_t version = version_now();
    bool is_12_4 = version >= 22, is_12_6 = version >= 24;
    bool is_12_8 = version >= 26, is_13 = version >= 130000;

    switch (kind) {
    case CUPTI_KIND_KERNEL:
        return version >= 130100 ? 232 : is_13 ? 216 : 208;
    case CUPTI_KIND_MEMCPY:
        return is_13 ? 96 : 88;
    case CUPTI_KIND_MEMCPY2:
        return 96;
    case CUPTI_KIND_MEMSET:
        return 88;
    case CUPTI_KIND_MEMORY2:
        return is_13 ? 128 : 120;
    case CUPTI_KIND_SYNC:
        return is_12_8 ? 56 : 40;
    case CUPTI_KIND_OVERHEAD:
        return is_12_4 ? 56 : version >= 21 ? 48 : 40;
    case CUPTI_KIND_DEVICE:
        return is_12_6 ? 184 : 176;
    case CUPTI_KIND_CONTEXT:
        return is_12_6 ? 32 : 16;
    case CUPTI_KIND_STREAM:
        return 24;
    case CUPTI_KIND_RUNTIME:
    case CUPTI_KIND_DRIVER:
        return 40;
    case CUPTI_KIND_GRAPH:
        return is_12_6 ? 56 : 48;
    default:
        return 0;
    }
}

static int walk_own(uint8_t *bytes, size_t valid, struct cupti_record **at)
{
    uint8_t *next = bytes;

    if (*at != NULL) {
        next = (uint8_t *)*at + kind_bytes((*at)->kind);
    }
    if (next >= bytes + valid) {
        return CUPTI_LIMIT;
    }
    if (kind_bytes(((struct cupti_record *)(void *)next)->kind) == 0) {
        return CUPTI_KIND_UNKNOWN;
    }
    *at = (struct cupti_record *)(void *)next;
    return CUPTI_OK;
}

MOCK_EXPORT int cuptiActivityGetNextRecord(uint8_t *bytes,
                                           size_t valid,
                                           struct cupti_record **record)
{
    static cuptiActivityGetNextRecord_f *real;
    const char *path = getenv("MOCK_REAL");

    if (is_shared) {
        return CUPTI_MIXED;
    }
    if (path == NULL) {
        return walk_own(bytes, valid, record);
    }
    if (real == NULL) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *symbol = library == NULL
                           ? NULL
                           : dlsym(library, "cuptiActivityGetNextRecord");

        if (symbol == NULL) {
            (void)fprintf(stderr, "mockcupti: %s: %s\n", path, dlerror());
            abort();
        }
        memcpy(&real, &symbol, sizeof(symbol));
    }
    return real(bytes, valid, record);
}

#ifndef MOCK_OLD
MOCK_EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber,
                                              uint8_t *bytes,
                                              size_t valid,
                                              struct cupti_record **record)
{
    return is_shared && subscriber != NULL ? walk_own(bytes, valid, record)
                                           : CUPTI_MIXED;
}

MOCK_EXPORT int cuptiActivityGetNumDroppedRecords_v2(void *subscriber,
                                                     void *context,
                                                     uint32_t stream,
                                                     size_t *count)
{
    (void)subscriber;
    (void)context;
    (void)stream;
    *count = 0;
    return is_shared ? CUPTI_OK : CUPTI_MIXED;
}
#endif

/* The device's buffers are used up. */
static void pool_spoil(struct cupti_kernel *kernel)
{
    static _Atomic unsigned nodes;
    unsigned number;

    if (kernel->graph_node == 0) {
        return;
    }
    number = nodes++;
    if (number >= MOCK_POOL) {
        kernel->start = number % 2 == 0 ? 0 : kernel->end + 1;
        kernel->end = number % 2 == 0 ? 0 : kernel->end;
    }
}

/* Every other kernel, where that CUPTI is so. */
static void times_spoil(void *record)
{
    static _Atomic unsigned count;
    struct cupti_kernel *kernel = record;
    uint32_t version = version_now();

    bool is_buggy = clock_now != NULL && version >= 24 && version < 130100;

    if (kernel->kind == CUPTI_KIND_KERNEL &&
        (is_case("zero") || (is_buggy && count++ % 2 == 0))) {
        kernel->start = kernel->end = 0;
    }
    if (kernel->kind == CUPTI_KIND_KERNEL && is_case("pool")) {
        pool_spoil(kernel);
    }
}

/* Under the lock. */
static bool is_held(const uint8_t *bytes)
{
    for (size_t i = 0; i < held_count; i++) {
        if (held[i].bytes == bytes) {
            return true;
        }
    }
    return false;
}

static void buffer_get(void)
{
    size_t most = 0;

    in_buffer++;
    request(&buffer, &room, &most);
    in_buffer--;
    used = 0;
    if (buffer == NULL && version_now() < 27) {
        abort(); /* as that version does */
    }
    /* The client's way to waste records gives the same memory again. */
    wasted += buffer == NULL || is_held(buffer);
}

/* What comes with a record is not the client's where the record is not written,
 * or has no field for it in that version: written of its bytes are in a buffer.
 */
static void unwritten_free(const struct cupti_record *record, size_t written)
{
    if (record->kind == CUPTI_KIND_OVERHEAD &&
        written <= offsetof(struct cupti_overhead, data)) {
        free(((const struct cupti_overhead *)record)->data);
    }
    if (record->kind == CUPTI_KIND_DEVICE && written == 0 &&
        version_now() >= CUPTI_SINCE_DEVICE_NAME_GIVEN) {
        free((void *)(uintptr_t)((const struct cupti_device *)record)->name);
    }
}

MOCK_EXPORT void mock_emit_any(const void *record, size_t bytes)
{
    char whole[256] = {0};
    size_t length = kind_bytes(*(const uint32_t *)record);

    memcpy(whole, record, bytes < sizeof(whole) ? bytes : sizeof(whole));
    times_spoil(whole);
    length = length == 0 ? (bytes + 7) & ~(size_t)7 : length;
    (void)pthread_mutex_lock(&lock);
    /* Others may have filled the next one meanwhile, too. */
    while (buffer != NULL && used + length > room) {
        if (!buffer_hold()) {
            buffer_return();
        }
    }
    if (buffer == NULL) {
        buffer_get();
    }
    if (buffer == NULL) {
        dropped++;
    } else {
        memcpy(buffer + used, whole, length);
        used += length;
    }
    second_emit(whole, length);
    unwritten_free(record, buffer == NULL ? 0 : length);
    (void)pthread_mutex_unlock(&lock);
}

MOCK_EXPORT void mock_emit(const void *record, size_t bytes)
{
    const struct cupti_record *activity = record;

    if (kinds[activity->kind % MOCK_KINDS]) {
        mock_emit_any(record, bytes);
    } else {
        unwritten_free(activity, 0);
    }
}

MOCK_EXPORT bool mock_is_enabled(uint32_t kind)
{
    return kinds[kind % MOCK_KINDS];
}

MOCK_EXPORT bool mock_is_empty(void)
{
    bool is_empty;

    (void)pthread_mutex_lock(&lock);
    is_empty = used == 0 && given_back == 0;
    (void)pthread_mutex_unlock(&lock);
    return is_empty;
}

MOCK_EXPORT unsigned mock_flushes(void)
{
    return flushes;
}

MOCK_EXPORT unsigned mock_stamps(void)
{
    return stamps;
}

static void other_requested(uint8_t **bytes, size_t *size, size_t *records)
{
    *size = 1 << 16;
    *bytes = malloc(*size);
    *records = 0;
}

/* A name is the client's from 13.0 on. */
static void other_completed(
    void *context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid)
{
    struct cupti_record *record = NULL;

    (void)context;
    (void)stream;
    (void)size;
    while (cuptiActivityGetNextRecord(bytes, valid, &record) == CUPTI_OK) {
        if (record->kind == CUPTI_KIND_DEVICE && version_now() >= 130000) {
            free((void *)(uintptr_t)((struct cupti_device *)record)->name);
        }
    }
    free(bytes);
}

MOCK_EXPORT void mock_steal(void)
{
    (void)cuptiActivityRegisterCallbacks(other_requested, other_completed);
}

MOCK_EXPORT bool mock_is_stolen(void)
{
    return request == other_requested;
}

MOCK_EXPORT unsigned mock_forbidden(void)
{
    return forbidden;
}

#ifndef MOCK_OLD
/* The record of the device that is there. */
MOCK_EXPORT int cuptiActivityEnableAndDump(uint32_t kind)
{
    struct cupti_device device = {.kind = kind, .units = 132};

    if (kind == CUPTI_KIND_DEVICE) {
        device.uuid.bytes[0] = 1;
        for (uint8_t i = 0; i < 16; i++) {
            device.uuid.bytes[i] = (uint8_t)(i + 1);
        }
        device.name = version_now() >= 130000 ? strdup("Mock GPU") : "Mock GPU";
        mock_emit(&device, sizeof(device));
    }
    return CUPTI_OK;
}
#endif

static uint32_t call_id(uint32_t domain, const char *name)
{
    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].domain == domain &&
            strncmp(names[i].text, name, strlen(name)) == 0) {
            return names[i].id;
        }
    }
    return 0;
}

/* A context is about to go, for clients that asked for it. */
static void destruction_tell(void)
{
    if (callback != NULL && calls[MOCK_RESOURCE][MOCK_DESTROY_STARTING]) {
        in_resource++;
        callback(callback_data, MOCK_RESOURCE, MOCK_DESTROY_STARTING, NULL);
        in_resource--;
    }
}

MOCK_EXPORT void mock_call(uint32_t domain,
                           const char *name,
                           enum cupti_site site,
                           uint32_t correlation)
{
    uint32_t id = call_id(domain, name);
    int result = 0;
    uint64_t slot = 0;
    struct cupti_call data = {
        .site = site,
        .function = name,
        .result = site == CUPTI_EXIT ? &result : NULL,
        .data = &slot,
        .correlation = correlation,
    };

    if (domain == CUPTI_DOMAIN_DRIVER && is_case("apart")) {
        data.correlation += 1u << 30;
    }

    if (callback != NULL && calls[domain][id]) {
        callback(callback_data, domain, id, &data);
    }
    if (site == CUPTI_ENTER && (strstr(name, "CtxDestroy") != NULL ||
                                strstr(name, "CtxRelease") != NULL ||
                                strstr(name, "DeviceReset") != NULL)) {
        destruction_tell();
    }
}

MOCK_EXPORT uint64_t mock_clock(void)
{
    return clock_now == NULL ? now_ns(CLOCK_REALTIME) : clock_now();
}

MOCK_EXPORT void mock_fatal(void)
{
    if (callback != NULL) {
        callback(callback_data, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL, NULL);
    }
}
