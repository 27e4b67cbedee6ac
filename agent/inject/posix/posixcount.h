/* posixcount.h - how often each thread called which function of libc
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread counts in a block of its own out of a fixed pool. Totals are
 * recorded (CALLS records) when a thread ends, at the end of the process unless
 * that is killed, and about each second by threads that record.
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXCOUNT_H
#define CK_AGENT_INJECT_POSIX_POSIXCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/inject.h"

enum posix_function {
#define POSIX_FUNCTION(name) POSIX_##name,
#include "agent/inject/posix/posix.def"
    POSIX_FUNCTIONS
};

/* Threads that are counted at once; calls of more are not counted, and a note
 * reports that. */
#define POSIX_THREADS 256

struct posix_count {
    uint64_t calls;
    uint64_t ns;
    uint64_t bytes;
};

struct posix_counts {
    _Atomic uint32_t is_used;
    uint32_t tid;
    struct posix_count of[POSIX_FUNCTIONS];
};

/* This thread's block, NULL = none as yet. */
extern __thread struct posix_counts *posix_mine;

/* A block for this thread, or NULL: the pool is used up, the thread is at its
 * end, or the program has not begun yet. Async-signal-safe; keeps errno. */
struct posix_counts *posix_counts_claim(void);

static inline void
posix_count_add(unsigned function, int64_t ns, uint64_t bytes)
{
    struct posix_counts *mine = posix_mine;

    if (__builtin_expect(mine == NULL, 0)) {
        mine = posix_counts_claim();
        if (mine == NULL) {
            return;
        }
    }
    mine->of[function].calls++;
    mine->of[function].ns += (uint64_t)ns;
    mine->of[function].bytes += bytes;
}

/* Record this thread's totals. Only with a writer. */
void posix_counts_say(void);
/* At the end of the process: record those of all threads that are left. */
void posix_counts_last(void);

/* What this thread asks libc for is ours: UCX, for one, takes locks around the
 * mmap of any code. Or a library's. Until the same with false. */
void posix_counts_pause(bool is_on);
bool posix_counts_is_paused(void);

/* From the constructor: first of all, and at its end; what comes then is
 * counted. */
void posix_counts_load(void);
void posix_counts_begin(void);

/* For ckmpi, before and behind MPI_Init: what exit handlers that it registers
 * ask libc for is not the program's. */
__attribute__((visibility("default"))) void ck_posix_handlers(bool is_behind);

#endif
