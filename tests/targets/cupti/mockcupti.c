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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOCK_KINDS 64
#define MOCK_CALLS 600

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_CallbackFunc callback;
static void *callback_data;
static bool kinds[MOCK_KINDS];
static bool calls[8][MOCK_CALLS];
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static CUpti_TimestampCallbackFunc clock_now;
static uint8_t *buffer;
static size_t room, used, dropped;

/* Names with their numbers in CUPTI 13.0; all other numbers have names that
 * nobody asks for. */
struct name {
    CUpti_CallbackDomain domain;
    uint32_t id;
    const char *text;
};
static const struct name names[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, 41, "cudaMemcpyAsync_v3020"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, 165, "cudaDeviceSynchronize_v3020"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, 211, "cudaLaunchKernel_v7000"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, 311, "cudaGraphLaunch_v10000"},
    {CUPTI_CB_DOMAIN_RUNTIME_API, 505, "__cudaLaunchKernel_v13000"},
    {CUPTI_CB_DOMAIN_DRIVER_API, 307, "cuLaunchKernel"},
    {CUPTI_CB_DOMAIN_DRIVER_API, 514, "cuGraphLaunch"},
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static bool is_case(const char *name)
{
    const char *text = getenv("MOCK_CASE");

    return text != NULL && strcmp(text, name) == 0;
}

MOCK_EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiGetResultString(CUptiResult result,
                                             const char **text)
{
    *text = (int)result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS" : "MOCK";
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain,
                                             uint32_t id,
                                             const char **name)
{
    if (id >= MOCK_CALLS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *name = "cudaGetDevice_v3020";
    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].domain == domain && names[i].id == id) {
            *name = names[i].text;
        }
    }
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *stamp)
{
    struct timespec ts;

    if (clock_now != NULL && !is_case("takeover")) {
        *stamp = clock_now();
        return CUPTI_SUCCESS;
    }
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    *stamp = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                                       CUpti_CallbackFunc function,
                                       void *data)
{
    if (is_case("busy")) {
        return (CUptiResult)39;
    }
    if (is_case("nodriver")) {
        return CUPTI_ERROR_UNKNOWN;
    }
    callback = function;
    callback_data = data;
    *subscriber = (CUpti_SubscriberHandle)(uintptr_t)1;
    return CUPTI_SUCCESS;
}

#ifndef MOCK_OLD
MOCK_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
                                          CUpti_CallbackFunc function,
                                          void *data,
                                          CUpti_SubscriberParams *params)
{
    if (is_case("busy")) {
        (void)snprintf(params->oldSubscriberName, params->oldSubscriberSize,
                       "another profiler");
    }
    return cuptiSubscribe(subscriber, function, data);
}

MOCK_EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    return enable == 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

MOCK_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id,
                                                      uint8_t enable)
{
    calls[0][id] = enable != 0;
    kinds[CUPTI_ACTIVITY_KIND_RUNTIME] = true;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id,
                                                     uint8_t enable)
{
    calls[0][id] = enable != 0;
    kinds[CUPTI_ACTIVITY_KIND_DRIVER] = true;
    return CUPTI_SUCCESS;
}
#endif

MOCK_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable,
                                            CUpti_SubscriberHandle subscriber,
                                            CUpti_CallbackDomain domain,
                                            CUpti_CallbackId id)
{
    (void)subscriber;
    if ((unsigned)domain >= 8 || id >= MOCK_CALLS) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    calls[domain][id] = enable != 0;
    return CUPTI_SUCCESS;
}

/* The clock must be there before the first kind. */
MOCK_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    if (is_case("enable") || clock_now == NULL) {
        return CUPTI_ERROR_NOT_READY;
    }
    kinds[kind % MOCK_KINDS] = true;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                               CUpti_BuffersCallbackCompleteFunc completed)
{
    request = requested;
    complete = completed;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
    /* A second registration spoils records that exist. */
    if (function == NULL || clock_now != NULL) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    clock_now = function;
    return CUPTI_SUCCESS;
}

/* The buffer goes back without the lock: the callback may take its own. */
static void buffer_return(void)
{
    uint8_t *done;
    size_t size, valid;

    (void)pthread_mutex_lock(&lock);
    done = buffer;
    size = room;
    valid = used;
    buffer = NULL;
    room = used = 0;
    (void)pthread_mutex_unlock(&lock);
    if (done != NULL) {
        complete(NULL, 0, done, size, valid);
    }
}

MOCK_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    if (flag != 0 && is_case("hang")) {
        for (;;) {
            (void)pause();
        }
    }
    if (flag != 0 || !is_case("late")) {
        buffer_return();
    }
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context,
                                                          uint32_t stream,
                                                          size_t *count)
{
    static bool is_told;

    (void)context;
    (void)stream;
    (void)pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    if (is_case("drop") && !is_told) {
        *count += 3;
        is_told = true;
    }
    (void)pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

static size_t kind_bytes(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
        return sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_STREAM:
        return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(CUpti_ActivityGraphTrace2);
    default:
        return 0;
    }
}

static CUptiResult walk_own(uint8_t *bytes, size_t valid, CUpti_Activity **at)
{
    uint8_t *next = bytes;

    if (*at != NULL) {
        next = (uint8_t *)*at + kind_bytes((*at)->kind);
    }
    if (next >= bytes + valid) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    if (kind_bytes(((CUpti_Activity *)(void *)next)->kind) == 0) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    *at = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

MOCK_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *bytes,
                                                   size_t valid,
                                                   CUpti_Activity **record)
{
    static __typeof__(cuptiActivityGetNextRecord) *real;
    const char *path = getenv("MOCK_REAL");

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

MOCK_EXPORT void mock_emit_any(const void *record, size_t bytes)
{
    bool is_full;

    (void)pthread_mutex_lock(&lock);
    is_full = buffer != NULL && used + bytes > room;
    (void)pthread_mutex_unlock(&lock);
    if (is_full) {
        buffer_return();
    }
    (void)pthread_mutex_lock(&lock);
    if (buffer == NULL) {
        size_t most = 0;

        request(&buffer, &room, &most);
        used = 0;
    }
    if (buffer == NULL || used + bytes > room) {
        dropped++;
    } else {
        memcpy(buffer + used, record, bytes);
        used += bytes;
    }
    (void)pthread_mutex_unlock(&lock);
}

MOCK_EXPORT void mock_emit(const void *record, size_t bytes)
{
    const CUpti_Activity *activity = record;

    if (kinds[activity->kind % MOCK_KINDS]) {
        mock_emit_any(record, bytes);
    }
}

static uint32_t call_id(CUpti_CallbackDomain domain, const char *name)
{
    for (size_t i = 0; i < NAMES; i++) {
        if (names[i].domain == domain &&
            strncmp(names[i].text, name, strlen(name)) == 0) {
            return names[i].id;
        }
    }
    return 0;
}

MOCK_EXPORT void mock_call(CUpti_CallbackDomain domain,
                           const char *name,
                           CUpti_ApiCallbackSite site,
                           uint32_t correlation)
{
    uint32_t id = call_id(domain, name);
    int result = 0;
    uint64_t slot = 0;
    CUpti_CallbackData data = {
        .callbackSite = site,
        .functionName = name,
        .functionReturnValue = site == CUPTI_API_EXIT ? &result : NULL,
        .correlationData = &slot,
        .correlationId = correlation,
    };

    if (callback != NULL && calls[domain][id]) {
        callback(callback_data, domain, id, &data);
    }
}

MOCK_EXPORT uint64_t mock_clock(void)
{
    return clock_now == NULL ? 0 : clock_now();
}

MOCK_EXPORT void mock_context_destroy(void)
{
    CUpti_ResourceData data = {0};

    if (callback != NULL) {
        callback(callback_data, CUPTI_CB_DOMAIN_RESOURCE,
                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &data);
    }
}

MOCK_EXPORT void mock_fatal(void)
{
    if (callback != NULL) {
        callback(callback_data, CUPTI_CB_DOMAIN_STATE,
                 CUPTI_CBID_STATE_FATAL_ERROR, NULL);
    }
}
