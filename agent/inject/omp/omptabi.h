/* omptabi.h - what ckomp needs of OMPT, the tools interface of OpenMP 5
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Written from chapter 19 of the OpenMP API 5.2 (4 of 5.0); values and
 * argument lists are part of that and do not change between versions.
 */
#ifndef CK_AGENT_INJECT_OMP_OMPTABI_H
#define CK_AGENT_INJECT_OMP_OMPTABI_H

#include <stdint.h>

/* Callbacks, by their numbers. */
enum ompt_callback {
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_TASK_CREATE = 5,
    OMPT_TASK_SCHEDULE = 6,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_SYNC_REGION = 23,
    OMPT_MUTEX_ACQUIRE = 26,
    OMPT_MUTEX_ACQUIRED = 27,
};

enum ompt_endpoint {
    OMPT_BEGIN = 1,
    OMPT_END = 2,
};

enum ompt_sync {
    OMPT_SYNC_BARRIER = 1,
    OMPT_SYNC_IMPLICIT = 2, /* of 5.0: the end of a region, or of a loop */
    OMPT_SYNC_EXPLICIT = 3,
    OMPT_SYNC_IMPLEMENTATION = 4,
    OMPT_SYNC_TASKWAIT = 5,
    OMPT_SYNC_TASKGROUP = 6,
    OMPT_SYNC_REDUCTION = 7,
    OMPT_SYNC_WORKSHARE = 8, /* of 5.1: the end of a loop ... */
    OMPT_SYNC_PARALLEL = 9,  /* and of a region */
    OMPT_SYNC_TEAMS = 10,
};

enum ompt_mutex {
    OMPT_MUTEX_LOCK = 1,
    OMPT_MUTEX_TEST_LOCK = 2,
    OMPT_MUTEX_NEST_LOCK = 3,
    OMPT_MUTEX_TEST_NEST_LOCK = 4,
    OMPT_MUTEX_CRITICAL = 5,
    OMPT_MUTEX_ATOMIC = 6,
    OMPT_MUTEX_ORDERED = 7,
};

/* Bits of a task's flags. */
#define OMPT_TASK_INITIAL 1
#define OMPT_TASK_EXPLICIT 4

/* What ompt_set_callback answers: from there on it is called at least now and
 * then. */
#define OMPT_SET_SOMETIMES 3

union ompt_data {
    uint64_t value;
    void *pointer;
};

typedef void (*ompt_function_f)(void);
typedef ompt_function_f (*ompt_lookup_f)(const char *name);
typedef int (*ompt_set_callback_f)(int callback, ompt_function_f function);

struct ompt_tool {
    int (*initialize)(ompt_lookup_f lookup, int device, union ompt_data *tool);
    void (*finalize)(union ompt_data *tool);
    union ompt_data data;
};
typedef struct ompt_tool *(*ompt_start_f)(unsigned version, const char *name);

#endif
