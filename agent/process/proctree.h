/* proctree.h - what /proc has of the threads of a process and its children
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CPU time, switches and page faults of each thread that lives at a reading,
 * and totals of the tree. Used where perf_event is forbidden, and for what
 * each thread did. One user, one thread.
 */
#ifndef CK_AGENT_PROCESS_PROCTREE_H
#define CK_AGENT_PROCESS_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCTREE_PROCESSES_MAX 1024
#define PROCTREE_THREADS_MAX 8192

struct proctree_thread {
    uint32_t tid;
    uint32_t pid;
    int64_t cpu_ns;
    int64_t wait_ns;    /* runnable without a CPU */
    int64_t cpu_before; /* both, at the reading before; 0 = it was not there */
    int64_t wait_before;
    int64_t voluntary;
    int64_t involuntary;
    int64_t minor_faults;
    int64_t major_faults;
    bool is_changed; /* since the reading before */
    bool is_seen;    /* by this reading */
};

/* Running totals; they never go back. */
struct proctree_total {
    int64_t cpu_ns;
    int64_t minor_faults;
    int64_t major_faults;
    int64_t switches; /* of threads that a reading saw */
};

struct proctree;

/* `root` need not live any more at a reading. NULL with ENOMEM. */
struct proctree *proctree_create(pid_t root);
void proctree_destroy(struct proctree *tree);

/* Look at all processes and threads now. Returns how many threads live. */
size_t proctree_read(struct proctree *tree);

/* Of the last reading; borrowed until the next. */
const struct proctree_thread *proctree_threads(const struct proctree *tree,
                                               size_t *count);
const struct proctree_total *proctree_total(const struct proctree *tree);
/* Threads that found no room in the table: the most of one reading. */
uint64_t proctree_left_out(const struct proctree *tree);

#endif
