/* abi.c - ckcupti's layouts against the headers of the CUDA toolkit at hand
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled only; what differs is an error. Of a toolkit before 13.0 (named by
 * CUPTI_API_VERSION) the records are the older ones.
 */
#include "agent/inject/cupti/cuptiabi.h"

#include <cupti.h>

#define SAME(mine, field, theirs, name)                                        \
    _Static_assert(offsetof(struct mine, field) == offsetof(theirs, name) &&   \
                       sizeof(((struct mine *)0)->field) ==                    \
                           sizeof(((theirs *)0)->name),                        \
                   #mine "." #field)

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_t;
typedef CUpti_ActivityMemcpy6 memcpy_t;
typedef CUpti_ActivityDevice5 device_t;
typedef CUpti_ActivityOverhead3 overhead_t;
typedef CUpti_ActivityMemory4 memory_t;
SAME(cupti_sync, result, CUpti_ActivitySynchronization2, returnValue);
SAME(cupti_overhead, data, overhead_t, overheadData);
SAME(cupti_overhead, correlation, overhead_t, correlationId);
SAME(cupti_device, is_mig, device_t, isMigEnabled);
SAME(cupti_device, mig_uuid, device_t, migUuid);
SAME(cupti_device, gpu_instance, device_t, gpuInstanceId);
SAME(cupti_subscription, old_size, CUpti_SubscriberParams, oldSubscriberSize);
#elif CUPTI_API_VERSION >= 18
typedef CUpti_ActivityKernel9 kernel_t;
typedef CUpti_ActivityMemcpy5 memcpy_t;
typedef CUpti_ActivityDevice4 device_t;
typedef CUpti_ActivityOverhead overhead_t;
typedef CUpti_ActivityMemory3 memory_t;
SAME(cupti_device, is_mig, device_t, isMigEnabled);
SAME(cupti_device, mig_uuid, device_t, migUuid);
#else
typedef CUpti_ActivityKernel6 kernel_t;
typedef CUpti_ActivityMemcpy4 memcpy_t;
typedef CUpti_ActivityDevice3 device_t;
typedef CUpti_ActivityOverhead overhead_t;
typedef CUpti_ActivityMemory2 memory_t;
#endif

SAME(cupti_kernel, registers, kernel_t, registersPerThread);
SAME(cupti_kernel, start, kernel_t, start);
SAME(cupti_kernel, end, kernel_t, end);
SAME(cupti_kernel, device, kernel_t, deviceId);
SAME(cupti_kernel, context, kernel_t, contextId);
SAME(cupti_kernel, stream, kernel_t, streamId);
SAME(cupti_kernel, grid[0], kernel_t, gridX);
SAME(cupti_kernel, block[2], kernel_t, blockZ);
SAME(cupti_kernel, static_shared, kernel_t, staticSharedMemory);
SAME(cupti_kernel, dynamic_shared, kernel_t, dynamicSharedMemory);
SAME(cupti_kernel, correlation, kernel_t, correlationId);
SAME(cupti_kernel, name, kernel_t, name);
SAME(cupti_kernel, queued, kernel_t, queued);
SAME(cupti_kernel, submitted, kernel_t, submitted);
SAME(cupti_kernel, graph_node, kernel_t, graphNodeId);
SAME(cupti_memcpy, copy, memcpy_t, copyKind);
SAME(cupti_memcpy, bytes, memcpy_t, bytes);
SAME(cupti_memcpy, start, memcpy_t, start);
SAME(cupti_memcpy, stream, memcpy_t, streamId);
SAME(cupti_memcpy, correlation, memcpy_t, correlationId);
SAME(cupti_memcpy, graph_node, memcpy_t, graphNodeId);
SAME(cupti_overhead, overhead, overhead_t, overheadKind);
SAME(cupti_overhead, thread, overhead_t, objectId.pt.threadId);
SAME(cupti_overhead, start, overhead_t, start);
SAME(cupti_overhead, end, overhead_t, end);
SAME(cupti_device, bandwidth, device_t, globalMemoryBandwidth);
SAME(cupti_device, units, device_t, numMultiprocessors);
SAME(cupti_device, clock_khz, device_t, coreClockRate);
SAME(cupti_device, ordinal, device_t, id);
SAME(cupti_device, uuid, device_t, uuid);
SAME(cupti_device, name, device_t, name);
SAME(cupti_sync, type, CUpti_ActivitySynchronization, type);
SAME(cupti_sync, start, CUpti_ActivitySynchronization, start);
SAME(cupti_sync, correlation, CUpti_ActivitySynchronization, correlationId);
SAME(cupti_sync, stream, CUpti_ActivitySynchronization, streamId);
SAME(cupti_api_record, id, CUpti_ActivityAPI, cbid);
SAME(cupti_api_record, thread, CUpti_ActivityAPI, threadId);
SAME(cupti_api_record, result, CUpti_ActivityAPI, returnValue);
SAME(cupti_context, device, CUpti_ActivityContext, deviceId);
SAME(cupti_stream, priority, CUpti_ActivityStream, priority);
SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);

SAME(cupti_memory, operation, memory_t, memoryOperationType);
SAME(cupti_memory, memory, memory_t, memoryKind);
SAME(cupti_memory, correlation, memory_t, correlationId);
SAME(cupti_memory, address, memory_t, address);
SAME(cupti_memory, bytes, memory_t, bytes);
SAME(cupti_memory, time, memory_t, timestamp);
SAME(cupti_memory, device, memory_t, deviceId);
SAME(cupti_memory, name, memory_t, name);

#if CUPTI_API_VERSION >= 18
SAME(cupti_peer, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(cupti_peer, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(cupti_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_peer, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_memset, memory, CUpti_ActivityMemset4, memoryKind);
SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_graph, device, CUpti_ActivityGraphTrace, deviceId);
SAME(cupti_graph, stream, CUpti_ActivityGraphTrace, streamId);
#endif

_Static_assert(
    (int)CUPTI_KIND_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
        (int)CUPTI_KIND_SYNC == (int)CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
        (int)CUPTI_KIND_MEMCPY2 == (int)CUPTI_ACTIVITY_KIND_MEMCPY2 &&
        (int)CUPTI_KIND_OVERHEAD == (int)CUPTI_ACTIVITY_KIND_OVERHEAD &&
        (int)CUPTI_KIND_MEMORY2 == (int)CUPTI_ACTIVITY_KIND_MEMORY2 &&
        (int)CUPTI_KIND_STREAM == (int)CUPTI_ACTIVITY_KIND_STREAM,
    "kinds");
_Static_assert((int)CUPTI_MEMORY_RELEASED ==
                       (int)CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE &&
                   (int)CUPTI_MEMORY_DEVICE ==
                       (int)CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
                   (int)CUPTI_MEMORY_MANAGED_STATIC ==
                       (int)CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC,
               "memory");
_Static_assert((int)CUPTI_DOMAIN_RUNTIME == (int)CUPTI_CB_DOMAIN_RUNTIME_API &&
                   (int)CUPTI_DOMAIN_DRIVER == (int)CUPTI_CB_DOMAIN_DRIVER_API,
               "domains");
