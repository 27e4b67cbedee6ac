/* reportwork.h - a report's parts about devices' commands one by one
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_REPORT_REPORTWORK_H
#define CK_MERGE_REPORT_REPORTWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/model/names.h"
#include "schema/time.h"

/* A part of a device, that a process made a device of its own. Its time is in
 * the whole one's. */
struct report_sub {
    uint32_t physical; /* the whole one */
    const char *name;
    uint32_t pid;   /* of the process */
    uint32_t index; /* among the parts of the whole one, from 0 */
    ck_time_t wall;
    ck_time_t busy; /* union */
    ck_time_t compute;
    ck_time_t copy; /* where no kernel ran */
    uint64_t kernels;
    uint64_t copies;
};

/* Device work that never ended: a queue's first, with what was behind it. */
struct report_undone {
    const char *name; /* of the kernel or copy */
    struct place place;
    const char *device;
    int32_t device_number; /* as report_device.number */
    int32_t rank;
    uint32_t pid;
    ck_time_t since;            /* enqueued, on the axis */
    uint64_t count;             /* in its queue, itself included */
    bool is_waiting;            /* for what had not ended either: */
    const char *awaited;        /* work; NULL = a user event */
    struct place awaited_place; /* where that was enqueued or made */
};

/* Work or calls that failed alike. */
struct report_failure {
    const char *name; /* of the work or the function; NULL = not known */
    bool is_call;     /* refused, else it ended so */
    int32_t error;    /* 0 = not known */
    struct place place;
    uint64_t count;
};

/* Copies of one direction from one place. */
struct report_copy_place {
    const char *name;
    struct place place;
    uint64_t calls;
    uint64_t bytes;
    ck_time_t total;
};

#endif
