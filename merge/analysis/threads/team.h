/* team.h - one run of a parallel region, while its records come
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each thread's part is a stack of what it is in: its work, in that a barrier,
 * in that a task. Time belongs to the innermost; it is handed to `take` as it
 * passes, so that a region may last as long as it likes. Behind the end of its
 * part a thread waits at the end of the region, unless it runs tasks.
 */
#ifndef CK_MERGE_ANALYSIS_THREADS_TEAM_H
#define CK_MERGE_ANALYSIS_THREADS_TEAM_H

#include "merge/model/defs.h"
#include "merge/model/interval.h"
#include "merge/report/reportthreads.h"

/* What a part is in, within its work; deeper ones count for the last. */
#define TEAM_DEPTH 8
/* Threads of a team that have a part each. */
#define TEAM_THREADS 4096
/* Barriers of a region that some of its threads have reached. */
#define TEAM_BARRIERS 16

struct team_item {
    enum report_team_state state;
    uint32_t row; /* of waits, DEFS_NONE = none */
    ck_time_t end;
};

struct team;
/* A thread's place in a team. */
struct team_seat {
    struct team *team; /* borrowed; NULL = none */
    uint32_t number;
};

struct team_part {
    uint32_t thread; /* of the definitions; DEFS_NONE = no record yet */
    ck_time_t start, end;
    ck_time_t worked;       /* until then: its end, or that of its last task */
    ck_time_t at;           /* time before it was handed out */
    struct team_seat outer; /* in the region around it */
    unsigned depth;
    struct team_item items[TEAM_DEPTH];
};

/* A barrier that was reached by some. */
struct team_barrier {
    uint32_t number; /* 0 = free */
    uint32_t row;
    uint32_t count;
    uint32_t last; /* number of the thread */
    ck_time_t last_at;
    ck_time_t sum; /* of the times that they came */
};

struct team {
    uint32_t process;
    uint32_t number;
    uint32_t level;
    uint32_t row; /* of regions */
    uint32_t size;
    uint32_t thread; /* of the definitions, that began it */
    struct region part;
    struct team_part *parts; /* by number of the thread */
    uint32_t parts_count;
    uint32_t last;        /* part that was done last; DEFS_NONE = none yet */
    ck_time_t first_end;  /* of the parts; INT64_MAX = none yet */
    ck_time_t meet_until; /* behind it no part is in a barrier */
    struct team_barrier barriers[TEAM_BARRIERS];
};

/* Time of a thread of a team; `row` of waits, or DEFS_NONE. */
typedef void (*team_take_f)(void *state,
                            const struct team *team,
                            const struct team_part *part,
                            enum report_team_state what,
                            uint32_t row,
                            struct region time);

struct team_taker {
    team_take_f take;
    void *state;
};

/* The place of a site within the region at `around`; NULL = in none that is
 * known. Compilers make functions of their own of regions: main._omp_fn.0 (gcc)
 * and main.omp_outlined (clang) are parts of main(), .omp_outlined. (clang up
 * to 15) is one of the function around. A site in the runtime is one behind
 * which the region's code had nothing to do: then the place is the region's. */
struct place team_place(const struct defs *defs,
                        uint32_t process,
                        uint64_t site,
                        const struct place *around);
/* What one thread did in regions. */
struct team_member {
    uint32_t number; /* in its last team; DEFS_NONE = it was in none */
    bool is_outer;   /* one of them was an outermost one */
    ck_time_t work;
    ck_time_t waited; /* for other threads of the team */
    uint32_t row;     /* of waits: its longest; DEFS_NONE = none */
    ck_time_t most;
};

/* One without parts. */
void team_init(struct team *team);
void team_fini(struct team *team);
/* Its thread with that number; NULL = beyond what is kept. */
struct team_part *team_part(struct team *team, uint32_t number);
/* The part begins, or was at work until later than was known. */
void team_begin(struct team *team, struct team_part *part, struct region time);
void team_worked(struct team *team, struct team_part *part, ck_time_t until);
/* Hand out the time of a part up to `now`. */
void team_pass(const struct team *team,
               struct team_part *part,
               ck_time_t now,
               const struct team_taker *taker);
/* The part is in something from `now` on. */
void team_enter(struct team *team,
                struct team_part *part,
                ck_time_t now,
                struct team_item item,
                const struct team_taker *taker);
/* When the last of its parts was done; *last is its number, DEFS_NONE = there
 * is no part. */
ck_time_t team_done(const struct team *team, uint32_t *last);
/* Does another part of the team wait at `now` for that one? In a barrier, whose
 * row is *row, or at the end, if that one is the last: DEFS_NONE. Quick where
 * none waits, as in most regions at most times. */
bool team_is_awaited(const struct team *team,
                     const struct team_part *part,
                     ck_time_t now,
                     uint32_t *row);
/* Hand out all that is left. The region is over. */
void team_end(struct team *team, const struct team_taker *taker);

/* A thread came to a barrier of the region. True: it was the last one,
 * *barrier has who, and how long the others waited in sum. */
struct team_meeting {
    uint32_t row;
    uint32_t last;
    ck_time_t waited;
};
bool team_meet(struct team *team,
               uint32_t number,
               uint32_t row,
               uint32_t thread,
               ck_time_t now,
               struct team_meeting *meeting);

#endif
