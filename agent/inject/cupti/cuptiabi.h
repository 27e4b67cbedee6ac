/* cuptiabi.h - CUPTI's functions and records, as far as ckcupti uses them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written from the layouts that NVIDIA documents, so that one ckcupti is built
 * without a CUDA toolkit and works with CUPTI 11.8 to 13.x. A record of a
 * later CUPTI begins as the earlier one did: fields that came later may be
 * read only where the running version has them (CUPTI_SINCE_...). The length
 * of a record is CUPTI's to know.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIABI_H
#define CK_AGENT_INJECT_CUPTI_CUPTIABI_H

#include <stddef.h>
#include <stdint.h>

/* As cuptiGetVersion() counts: 18 = CUDA 12.1, then by 13.0 as below. */
#define CUPTI_SINCE_OVERHEAD_CORRELATION 21u /* 12.3 */
#define CUPTI_SINCE_OVERHEAD_DATA 22u        /* 12.4 */
#define CUPTI_SINCE_CLOCK_BUG 24u            /* 12.6, in its second update */
#define CUPTI_SINCE_SYNC_RESULT 26u          /* 12.8 */
#define CUPTI_SINCE_MIG_UUID 26u             /* 12.8 */
#define CUPTI_SINCE_NULL_BUFFER 27u          /* 12.9 */
#define CUPTI_SINCE_DEVICE_NAME_GIVEN 130000u
#define CUPTI_SINCE_FLUSH_SAFE 130001u
#define CUPTI_SINCE_CLOCK_MENDED 130100u
#define CUPTI_SINCE_SUBSCRIBERS 130200u
#define CUPTI_SINCE_SHARING 130300u /* with drivers from 610 on */

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_PARAMETER = 1,
    CUPTI_LIMIT = 12, /* no more records in the buffer */
    CUPTI_UNREADY = 13,
    CUPTI_MIXED = 14, /* functions of one subscriber and of several */
    CUPTI_KIND_UNKNOWN = 21,
    CUPTI_HELD = 39, /* by another subscriber */
    CUPTI_NO_DRIVER = 999,
};

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_SERIAL_KERNEL = 3,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_DEVICE = 8,
    CUPTI_KIND_CONTEXT = 9,
    CUPTI_KIND_KERNEL = 10,
    CUPTI_KIND_OVERHEAD = 17,
    CUPTI_KIND_MEMCPY2 = 22,
    CUPTI_KIND_STREAM = 37,
    CUPTI_KIND_SYNC = 38,
    CUPTI_KIND_MEMORY2 = 49,
    CUPTI_KIND_GRAPH = 51,
};

enum cupti_copy {
    CUPTI_COPY_HTOD = 1,
    CUPTI_COPY_DTOH = 2,
    CUPTI_COPY_HTOA = 3,
    CUPTI_COPY_ATOH = 4,
    CUPTI_COPY_DTOD = 8,
    CUPTI_COPY_HTOH = 9,
};

enum cupti_overhead_kind {
    CUPTI_OVERHEAD_COMPILER = 1,
    CUPTI_OVERHEAD_FLUSH = 1 << 16,
    CUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
    CUPTI_OVERHEAD_RESOURCE = 3 << 16,
    CUPTI_OVERHEAD_MODULE = 4 << 16,
    CUPTI_OVERHEAD_LAZY = 5 << 16,
    CUPTI_OVERHEAD_FULL = 6 << 16,
    CUPTI_OVERHEAD_REQUEST = 7 << 16,
};
/* Whether memory is given or given back, and its kind: others are the host's.
 */
enum cupti_memory_operation {
    CUPTI_MEMORY_GIVEN = 1,
    CUPTI_MEMORY_RELEASED = 2,
};
enum cupti_memory_kind {
    CUPTI_MEMORY_DEVICE = 3,
    CUPTI_MEMORY_ARRAY = 4,
    CUPTI_MEMORY_MANAGED = 5,
    CUPTI_MEMORY_DEVICE_STATIC = 6,
    CUPTI_MEMORY_MANAGED_STATIC = 7,
};
#define CUPTI_OBJECT_THREAD 2
#define CUPTI_FLUSH_FORCED 1u

enum cupti_domain {
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_DOMAIN_STATE = 6,
};
#define CUPTI_STATE_FATAL 1u
enum cupti_site { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

/* Every record begins so. Records are at multiples of 8 bytes. */
struct cupti_record {
    uint32_t kind;
};

struct cupti_uuid {
    uint8_t bytes[16];
};

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout[3];
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shmem_limit, graph;
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
};

struct cupti_peer {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from_device, from_context, to_device, to_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
};

struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel;
};

struct cupti_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync; /* CUPTI_SINCE_SYNC_RESULT */
    uint32_t result, pad;
};

struct cupti_overhead {
    uint32_t kind, overhead, object;
    uint32_t process, thread, object_more; /* of CUPTI_OBJECT_THREAD */
    uint64_t start, end;
    uint32_t correlation, reserved; /* CUPTI_SINCE_OVERHEAD_CORRELATION */
    void *data;                     /* CUPTI_SINCE_OVERHEAD_DATA; to be freed */
};

struct cupti_api_record {
    uint32_t kind, id;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct cupti_device {
    uint32_t kind, flags;
    uint64_t bandwidth, memory;
    uint32_t constant_memory, l2, warp, clock_khz, copy_engines, units;
    uint32_t limits[14];
    uint32_t capability_major, capability_minor, ordinal, ecc;
    struct cupti_uuid uuid;
    const char *name; /* CUPTI_SINCE_DEVICE_NAME_GIVEN: to be freed */
    uint8_t is_visible, is_mig, reserved[6];
    uint32_t gpu_instance, compute_instance;
    struct cupti_uuid mig_uuid;
};

struct cupti_context {
    uint32_t kind, context, device;
    uint16_t api, null_stream;
};

struct cupti_stream {
    uint32_t kind, context, stream, priority, flag, correlation;
};

struct cupti_graph {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

/* Later versions have more behind it. */
struct cupti_memory {
    uint32_t kind, operation, memory, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
    const char *name; /* of static memory */
};

/* What a callback of an API call is given. */
struct cupti_call {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct cupti_subscription {
    size_t size;
    const char *name;
    char *old;
    size_t old_size;
    uint8_t is_sharing; /* CUPTI_SINCE_SUBSCRIBERS */
    uint8_t reserved[7];
};

typedef void
cupti_told_f(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_requested_f(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_completed_f(
    void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t cupti_clock_f(void);
/* Of one of several subscribers. */
typedef void cupti_requested_2_f(uint8_t **buffer,
                                 size_t *size,
                                 size_t *records,
                                 void *info);
typedef void
cupti_completed_2_f(uint8_t *buffer, size_t size, size_t valid, void *info);

/* CUPTI's functions, by their names. */
typedef int cuptiGetVersion_f(uint32_t *version);
typedef int cuptiGetResultString_f(int result, const char **text);
typedef int
cuptiGetCallbackName_f(uint32_t domain, uint32_t id, const char **name);
typedef int cuptiGetTimestamp_f(uint64_t *stamp);
typedef int cuptiSubscribe_f(void **subscriber, cupti_told_f *told, void *user);
typedef int cuptiSubscribe_v2_f(void **subscriber,
                                cupti_told_f *told,
                                void *user,
                                struct cupti_subscription *about);
typedef int cuptiEnableCallback_f(uint32_t enable,
                                  void *subscriber,
                                  uint32_t domain,
                                  uint32_t id);
typedef int cuptiActivityEnable_f(uint32_t kind);
typedef int cuptiActivityEnableAndDump_f(uint32_t kind);
typedef int cuptiActivityRegisterCallbacks_f(cupti_requested_f *requested,
                                             cupti_completed_f *completed);
typedef int cuptiActivityRegisterTimestampCallback_f(cupti_clock_f *now);
typedef int cuptiActivityFlushAll_f(uint32_t flag);
typedef int cuptiActivityGetNextRecord_f(uint8_t *bytes,
                                         size_t valid,
                                         struct cupti_record **record);
typedef int cuptiActivityGetNumDroppedRecords_f(void *context,
                                                uint32_t stream,
                                                size_t *count);
typedef int cuptiActivityEnableAllSyncRecords_f(uint8_t enable);
typedef int cuptiActivityEnableRuntimeApi_f(uint32_t id, uint8_t enable);
typedef int cuptiActivityEnableDriverApi_f(uint32_t id, uint8_t enable);
typedef int cuptiGetTimestamp_v2_f(void *subscriber, uint64_t *stamp);
typedef int
cuptiActivityEnable_v2_f(void *subscriber, uint32_t kind, void *configuration);
typedef int cuptiActivityRegisterCallbacks_v2_f(void *subscriber,
                                                cupti_requested_2_f *requested,
                                                cupti_completed_2_f *completed);
typedef int cuptiActivityGetNextRecord_v2_f(void *subscriber,
                                            uint8_t *bytes,
                                            size_t valid,
                                            struct cupti_record **record);
typedef int cuptiActivityGetNumDroppedRecords_v2_f(void *subscriber,
                                                   void *context,
                                                   uint32_t stream,
                                                   size_t *count);

#endif
