/* exits.h - when processes ended, by the kernel's records of it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel writes a record as a thread ends, with the time. The last one of a
 * process is its end, however late it is read. Used by the sampler, on its
 * thread.
 */
#ifndef CK_AGENT_PERF_EXITS_H
#define CK_AGENT_PERF_EXITS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/time.h"

/* Processes whose ends are remembered: others with the same remainder push each
 * other out, and the end of the older one is not known. */
#define EXITS_MAX 1024

/* All 0 = none is known. */
struct exits {
    struct {
        uint32_t pid;
        ck_time_t leader; /* 0 = its first thread is still there */
        ck_time_t last;
    } items[EXITS_MAX];
};

/* A thread ended then. */
void exits_add(struct exits *exits, uint32_t pid, uint32_t tid, ck_time_t time);
/* Another process, or image of it, begins then under that number: what ended
 * before was not it. Records of several CPUs come in any order. */
void exits_begin(struct exits *exits, uint32_t pid, ck_time_t time);
/* When a process that is over ended; 0 = not known. It was seen to live at
 * `alive`, last: until its memory is given back, for tens of ms where the CPUs
 * are busy, it does. But where records were lost (`is_lossy`), they may have
 * been of threads that ended later, and an end before `alive` is none. */
ck_time_t exits_find(const struct exits *exits,
                     uint32_t pid,
                     ck_time_t alive,
                     bool is_lossy);

#endif
