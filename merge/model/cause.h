/* cause.h - why a device was idle: the causes, by precedence
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every instant in which a device does nothing has one cause. Let [a, b) be a
 * maximal idle interval, K the operation that starts at b (of several, the one
 * launched first), h the thread that launched it, l0 the time that it entered
 * the launching call (not recorded: the operation's queued stamp, else b). The
 * first rule that fits an instant decides:
 *
 *   1  lost_data      records of h are known to be missing then
 *   2  profiler       a tracer worked for itself on h
 *   3  host_stopped   the host, or all of the job on it, did not run
 *                     (analysis/history/hoststall.h)
 *   4  startup        the device had done nothing before in the run, or h's
 *                     rank is in the region and not back from MPI_Init
 *   5  end_of_work    it does nothing any more: no K, and who launched the last
 *                     operation does not wait for another rank in MPI
 *   6  unfinished     it does nothing any more that is known, but has work
 *                     that never ended: from when that was enqueued on
 *   7  dep_remote     from l0 on, K waits for work of another device or queue;
 *      dep_event      for a user event that the host sets
 *   8  kernel_gap     l0 <= a: the work was there, the device did not begin
 *   9  launch_latency from l0 on
 *  10  the innermost call that h is in: mpi_wait, below_clock_resolution,
 *      mpi_transfer, mpi_call, gpu_sync, h2d, d2h, mem_mgmt, gpu_api, lock, io,
 *      sleep
 *  11  host_compute   h is between calls and, as far as is known, has a CPU;
 *      offcpu_runnable  it was preempted, offcpu_blocked  it waited in the
 *      kernel for something that no call shows
 *  12  no_host_data   nothing is recorded of h up to b
 *  13  unattributed   what is known of h does not reach back so far
 */
#ifndef CK_MERGE_MODEL_CAUSE_H
#define CK_MERGE_MODEL_CAUSE_H

enum cause {
    CAUSE_LOST_DATA,
    CAUSE_PROFILER,
    CAUSE_HOST_STOPPED,
    CAUSE_STARTUP,
    CAUSE_END_OF_WORK,
    CAUSE_UNFINISHED,
    CAUSE_DEP_REMOTE,
    CAUSE_DEP_EVENT,
    CAUSE_KERNEL_GAP,
    CAUSE_LAUNCH_LATENCY,
    CAUSE_MPI_WAIT,
    CAUSE_BELOW_CLOCK,
    CAUSE_MPI_TRANSFER,
    CAUSE_MPI_CALL,
    CAUSE_GPU_SYNC,
    CAUSE_H2D,
    CAUSE_D2H,
    CAUSE_MEM_MGMT,
    CAUSE_GPU_API,
    CAUSE_LOCK,
    CAUSE_IO,
    CAUSE_SLEEP,
    CAUSE_HOST_COMPUTE,
    CAUSE_OFFCPU_RUNNABLE,
    CAUSE_OFFCPU_BLOCKED,
    CAUSE_NO_HOST_DATA,
    CAUSE_UNATTRIBUTED,
    CAUSES,
    /* What a rank that others wait for may be in beside those. */
    CAUSE_KERNEL, /* a wait for its device, which runs a kernel */
    CAUSE_KINDS
};

/* Columns of the text table. */
enum cause_column {
    CAUSE_COLUMN_PEER,
    CAUSE_COLUMN_LAUNCH,
    CAUSE_COLUMN_HOST,
    CAUSE_COLUMN_IO,
    CAUSE_COLUMN_OTHER,
    CAUSE_COLUMNS
};

/* Static texts. */
const char *cause_name(enum cause cause);
/* What the device's host did, for a sentence: "was in %s". */
const char *cause_sentence(enum cause cause);
enum cause_column cause_column(enum cause cause);
/* The name that readers of nkipy profiles know, NULL = none. */
const char *cause_nkipy(enum cause cause);
/* "lock", "sleep" or "io": what a function of libc is for. */
const char *cause_libc_group(const char *function);
/* What a call into `function` of a record of `kind` counts as. */
enum cause cause_of_call(unsigned kind, const char *function);

#endif
