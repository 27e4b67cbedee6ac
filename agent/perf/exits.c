/* exits.c - when processes ended, by the kernel's records of it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/exits.h"

#include <stddef.h>

void exits_add(struct exits *exits, uint32_t pid, uint32_t tid, ck_time_t time)
{
    size_t at = pid % EXITS_MAX;

    if (exits->items[at].pid != pid) {
        exits->items[at].pid = pid;
        exits->items[at].leader = exits->items[at].last = 0;
    }
    if (tid == pid) {
        exits->items[at].leader = time;
    }
    if (time > exits->items[at].last) {
        exits->items[at].last = time;
    }
}

void exits_begin(struct exits *exits, uint32_t pid, ck_time_t time)
{
    size_t at = pid % EXITS_MAX;

    if (exits->items[at].pid == pid && exits->items[at].last < time) {
        exits->items[at].pid = 0;
        exits->items[at].leader = exits->items[at].last = 0;
    }
}

ck_time_t exits_find(const struct exits *exits,
                     uint32_t pid,
                     ck_time_t alive,
                     bool is_lossy)
{
    size_t at = pid % EXITS_MAX;
    bool is_known = exits->items[at].pid == pid && exits->items[at].leader != 0;

    return is_known && (exits->items[at].last > alive || !is_lossy)
               ? exits->items[at].last
               : 0;
}
