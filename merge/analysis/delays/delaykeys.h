/* delaykeys.h - keys for what threads did that are equal on all ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * To find out what a late rank did more than one that waited, the times of both
 * are compared key by key. A call's key is its function, place and range, with
 * the kernel that it waited for; what is between calls has one key a range,
 * for the calls around it may differ where the program is the same. Having no
 * CPU is a key of its own: a preempted thread is not slow code. What a key is
 * made of (the calls around a computation, the lines that were sampled in it)
 * are its parts.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYKEYS_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYKEYS_H

#include "merge/analysis/history/lookback.h"

/* What is not known of a thread, and what was too much to keep. */
#define DELAY_UNKNOWN 0
#define DELAY_REST 1
#define DELAY_NONE UINT32_MAX

/* A piece of what a thread did. */
struct delay_deed {
    uint32_t key;
    uint32_t part; /* number of the activity, equal on all ranks */
    uint32_t did;  /* the activity in its process; DELAY_NONE */
};

struct delaykeys;
/* Borrowed. */
struct delaykeys *delaykeys_create(struct lookback *lookback);
void delaykeys_destroy(struct delaykeys *keys);
/* What the thread did, in that state of having a CPU. */
void delaykeys_deed(struct delaykeys *keys,
                    const struct history_state *did,
                    enum history_off off,
                    struct delay_deed *deed);
/* What a sample met. */
struct delay_line {
    uint32_t number; /* DELAY_NONE = not known, or ck's own */
    bool is_team;    /* an OpenMP runtime, where threads wait for each other */
};

/* That of a sample in the process. */
void delaykeys_line(struct delaykeys *keys,
                    uint32_t process,
                    const struct history_sample *sample,
                    struct delay_line *line);
struct place delaykeys_place(const struct delaykeys *keys, uint32_t line);
/* The user's functions that it was called by, and did it handle a page fault?
 */
uint32_t delaykeys_path(const struct delaykeys *keys, uint32_t line);
bool delaykeys_is_faulting(const struct delaykeys *keys, uint32_t line);
/* Is it where a thread left the CPU to wait? Then, what it called for that;
 * NULL = nothing, or not known. */
bool delaykeys_is_wait(const struct delaykeys *keys, uint32_t line);
const char *delaykeys_called(const struct delaykeys *keys, uint32_t line);
const struct callpaths *delaykeys_paths(const struct delaykeys *keys);
/* Is it of an OpenMP runtime? */
bool delaykeys_is_team(const struct delaykeys *keys, uint32_t line);
/* Is it time between calls? Lines and the calls around it describe it further.
 */
bool delaykeys_is_between(const struct delaykeys *keys, uint32_t key);
/* How the thread ran, and a number that is equal for keys that differ by that
 * alone. */
enum history_off delaykeys_off(const struct delaykeys *keys, uint32_t key);
uint32_t delaykeys_base(const struct delaykeys *keys, uint32_t key);

#endif
