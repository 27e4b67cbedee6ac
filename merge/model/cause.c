/* cause.c - why a device was idle: the causes, by precedence
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/cause.h"

#include <stddef.h>
#include <string.h>

#include "schema/event.h"

static const struct {
    const char *name;
    const char *sentence;
    enum cause_column column;
    const char *nkipy;
} causes[CAUSE_KINDS] = {
    [CAUSE_LOST_DATA] = {"lost_data", "records are missing or have no times",
                         CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_PROFILER] = {"profiler", "a tracer worked for itself",
                        CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_HOST_STOPPED] = {"host_stopped",
                            "its host, or all of the job on it, did not run",
                            CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_STARTUP] = {"startup", "nothing had been launched yet",
                       CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_END_OF_WORK] = {"end_of_work", "no work was left",
                           CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_UNFINISHED] = {"unfinished",
                          "work was launched whose end was not seen",
                          CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_DEP_REMOTE] = {"dep_remote",
                          "its next work, or its host, waited for work of "
                          "another device or queue",
                          CAUSE_COLUMN_PEER, "sync_wait"},
    [CAUSE_DEP_EVENT] = {"dep_event", "its next work waited for a user event",
                         CAUSE_COLUMN_HOST, "sync_wait"},
    [CAUSE_KERNEL_GAP] = {"kernel_gap",
                          "work was queued, the device did not begin yet",
                          CAUSE_COLUMN_LAUNCH, "exec_overhead"},
    [CAUSE_LAUNCH_LATENCY] = {"launch_latency",
                              "work was launched and had not begun yet",
                              CAUSE_COLUMN_LAUNCH, "exec_overhead"},
    [CAUSE_MPI_WAIT] = {"mpi_wait", "its host waited for another rank",
                        CAUSE_COLUMN_PEER, NULL},
    [CAUSE_BELOW_CLOCK] = {"below_clock_resolution",
                           "ranks arrived within the clock error",
                           CAUSE_COLUMN_PEER, NULL},
    [CAUSE_MPI_TRANSFER] = {"mpi_transfer",
                            "its host was in a collective that all had "
                            "reached",
                            CAUSE_COLUMN_PEER, NULL},
    [CAUSE_MPI_CALL] = {"mpi_call", "its host was in an MPI call",
                        CAUSE_COLUMN_PEER, NULL},
    [CAUSE_GPU_SYNC] = {"gpu_sync", "its host woke up late from a wait for it",
                        CAUSE_COLUMN_LAUNCH, "sync_wait"},
    [CAUSE_H2D] = {"h2d", "its host was in a copy to the device",
                   CAUSE_COLUMN_LAUNCH, "h2d_transfer"},
    [CAUSE_D2H] = {"d2h", "its host was in a copy from the device",
                   CAUSE_COLUMN_LAUNCH, "d2h_transfer"},
    [CAUSE_MEM_MGMT] = {"mem_mgmt", "its host made or freed device memory",
                        CAUSE_COLUMN_LAUNCH, "memory_mgmt"},
    [CAUSE_GPU_API] = {"gpu_api", "its host was in another call of the API",
                       CAUSE_COLUMN_LAUNCH, NULL},
    [CAUSE_LOCK] = {"lock", "its host waited for a lock", CAUSE_COLUMN_HOST,
                    NULL},
    [CAUSE_IO] = {"io", "its host did input or output", CAUSE_COLUMN_IO, NULL},
    [CAUSE_SLEEP] = {"sleep", "its host slept", CAUSE_COLUMN_HOST, NULL},
    [CAUSE_OFFCPU_RUNNABLE] = {"offcpu_runnable",
                               "its host was ready to run and had no CPU",
                               CAUSE_COLUMN_HOST, NULL},
    [CAUSE_OFFCPU_BLOCKED] = {"offcpu_blocked",
                              "its host waited in the kernel, outside calls",
                              CAUSE_COLUMN_HOST, NULL},
    [CAUSE_HOST_COMPUTE] = {"host_compute", "its host computed",
                            CAUSE_COLUMN_HOST, NULL},
    [CAUSE_NO_HOST_DATA] = {"no_host_data", "nothing is recorded of its host",
                            CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_UNATTRIBUTED] = {"unattributed", "no evidence was left",
                            CAUSE_COLUMN_OTHER, NULL},
    [CAUSE_KERNEL] = {"kernel", "its device worked", CAUSE_COLUMN_OTHER, NULL},
};

const char *cause_name(enum cause cause)
{
    return causes[cause].name;
}

const char *cause_sentence(enum cause cause)
{
    return causes[cause].sentence;
}

enum cause_column cause_column(enum cause cause)
{
    return causes[cause].column;
}

const char *cause_nkipy(enum cause cause)
{
    return causes[cause].nkipy;
}

/* Beginnings of functions; the first that fits holds. */
static const struct {
    const char *start;
    enum cause cause;
} functions[] = {
    {"clFinish", CAUSE_GPU_SYNC},
    {"clWaitForEvents", CAUSE_GPU_SYNC},
    {"cudaDeviceSynchronize", CAUSE_GPU_SYNC},
    {"cudaStreamSynchronize", CAUSE_GPU_SYNC},
    {"cudaEventSynchronize", CAUSE_GPU_SYNC},
    {"cudaThreadSynchronize", CAUSE_GPU_SYNC},
    {"cuCtxSynchronize", CAUSE_GPU_SYNC},
    {"cuStreamSynchronize", CAUSE_GPU_SYNC},
    {"cuEventSynchronize", CAUSE_GPU_SYNC},
    {"clEnqueueRead", CAUSE_D2H},
    {"clEnqueueMap", CAUSE_D2H},
    {"cuMemcpyDtoH", CAUSE_D2H},
    {"clEnqueueWrite", CAUSE_H2D},
    {"clEnqueueUnmap", CAUSE_H2D},
    {"cuMemcpyHtoD", CAUSE_H2D},
    {"clCreateBuffer", CAUSE_MEM_MGMT},
    {"clCreateSubBuffer", CAUSE_MEM_MGMT},
    {"clCreateImage", CAUSE_MEM_MGMT},
    {"clCreatePipe", CAUSE_MEM_MGMT},
    {"clReleaseMemObject", CAUSE_MEM_MGMT},
    {"clSVMAlloc", CAUSE_MEM_MGMT},
    {"clSVMFree", CAUSE_MEM_MGMT},
    {"cudaMalloc", CAUSE_MEM_MGMT},
    {"cudaFree", CAUSE_MEM_MGMT},
    {"cudaHostAlloc", CAUSE_MEM_MGMT},
    {"cudaHostRegister", CAUSE_MEM_MGMT},
    {"cudaHostUnregister", CAUSE_MEM_MGMT},
    {"cuMemAlloc", CAUSE_MEM_MGMT},
    {"cuMemFree", CAUSE_MEM_MGMT},
    {"cuMemHost", CAUSE_MEM_MGMT},
    {"pthread_join", CAUSE_LOCK},
    {"nrt_tensor_read", CAUSE_D2H},
    {"dmem_buf_copyout", CAUSE_D2H},
    {"nrt_tensor_write", CAUSE_H2D},
    {"dmem_buf_copyin", CAUSE_H2D},
    {"nrt_tensor_allocate", CAUSE_MEM_MGMT},
    {"nrt_tensor_free", CAUSE_MEM_MGMT},
    {"nrt_dma_mem_", CAUSE_MEM_MGMT},
    {"nrt_execute", CAUSE_LAUNCH_LATENCY},
    {"nrt_model_submit", CAUSE_LAUNCH_LATENCY},
    {"kbl_exec_", CAUSE_LAUNCH_LATENCY},
    {"nrt_async_sema_wait", CAUSE_GPU_SYNC},
    {"tensor_block_while_exec", CAUSE_GPU_SYNC},
    {"pthread_mutex", CAUSE_LOCK},
    {"pthread_cond", CAUSE_LOCK},
    {"pthread_rwlock", CAUSE_LOCK},
    {"pthread_barrier", CAUSE_LOCK},
    {"pthread_spin", CAUSE_LOCK},
    {"sem_", CAUSE_LOCK},
    {"nanosleep", CAUSE_SLEEP},
    {"clock_nanosleep", CAUSE_SLEEP},
    {"usleep", CAUSE_SLEEP},
    {"sleep", CAUSE_SLEEP},
};

enum cause cause_of_call(unsigned kind, const char *function)
{
    switch (kind) {
    case CK_KIND_SYNC:
        return CAUSE_GPU_SYNC;
    case CK_KIND_COPY_D2H: /* as history_copied() names its call */
        return CAUSE_D2H;
    case CK_KIND_COPY_H2D:
        return CAUSE_H2D;
    case CK_KIND_API_OPENCL:
    case CK_KIND_API_CUDA_RUNTIME:
    case CK_KIND_API_CUDA_DRIVER:
    case CK_KIND_API_NEURON:
    case CK_KIND_NCCL:
    case CK_KIND_NCCL_CALL:
    case CK_KIND_POSIX:
        break;
    default:
        return CAUSE_MPI_CALL;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (function != NULL && strncmp(function, functions[i].start,
                                        strlen(functions[i].start)) == 0) {
            return functions[i].cause;
        }
    }
    return kind == CK_KIND_POSIX ? CAUSE_IO : CAUSE_GPU_API;
}

const char *cause_libc_group(const char *function)
{
    return cause_name(cause_of_call(CK_KIND_POSIX, function));
}
