/* devicehistory.h - what each process's devices did lately
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For who asks what a thread waited for that waits for its device. Of what runs
 * at once that counts which began first. What the bound pushes out
 * is forgotten: the answer becomes coarser, not wrong.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_DEVICEHISTORY_H
#define CK_MERGE_ANALYSIS_HISTORY_DEVICEHISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/interval.h"

/* Kernels and copies kept of one process, in all processes together, and at
 * least in each; powers of two. */
#define DEVICEHISTORY_MAX ((size_t)1 << 13)
#define DEVICEHISTORY_ALL ((size_t)1 << 18)
#define DEVICEHISTORY_MIN ((size_t)1 << 8)
/* At first there is room for so many. */
#define DEVICEHISTORY_FIRST ((size_t)1 << 5)

struct devicehistory_item {
    ck_time_t start;
    ck_time_t end;
    uint32_t name; /* of the process */
    uint32_t tid;  /* of the launching thread, and the call's number in it */
    uint32_t call;
    uint32_t physical; /* that it ran on; DEFS_NONE */
    bool is_copy;      /* or a fill; else a kernel */
};

struct devicehistory;
struct devicehistory *devicehistory_create(size_t processes);
void devicehistory_destroy(struct devicehistory *devicehistory);
/* Add an item that ran in `part`: *place, with its times, for the caller to
 * fill; NULL: all of it ran beside others. Starts never step back in a
 * process. */
void devicehistory_place(struct devicehistory *devicehistory,
                         uint32_t process,
                         struct region part,
                         struct devicehistory_item **place);
/* The next item needs room: first set from when on the ring is asked (INT64_MIN
 * = not known), then it may take that of those that ended by then. */
bool devicehistory_is_full(const struct devicehistory *devicehistory,
                           uint32_t process);
void devicehistory_make_room(struct devicehistory *devicehistory,
                             uint32_t process,
                             ck_time_t from);
/* Calls `take` for each piece of `part`, in order, without holes, with what ran
 * there; where nothing did, as far as is known, with what ran next, NULL = it
 * has not begun yet. */
typedef void (*devicehistory_take_f)(void *state,
                                     struct region piece,
                                     const struct devicehistory_item *item,
                                     bool is_running);
void devicehistory_walk(const struct devicehistory *devicehistory,
                        uint32_t process,
                        struct region part,
                        devicehistory_take_f take,
                        void *state);

#endif
