/* ckomp.c - the entry points: functions of GCC's OpenMP runtime
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loaded with LD_PRELOAD. A region's function is handed to the runtime with
 * ours before it, which stamps begin and end of each thread's part; the
 * barrier at the end of a region is no call. Loops with a static
 * schedule are inline in the program: only their barrier is seen. Regions of
 * programs that gcc before 4.9 made (GOMP_parallel_start) go by unseen.
 *
 * Where the next definitions are those of a runtime with OMPT, ompt.c records,
 * and nothing is done here.
 */
#include <string.h>

#include "agent/inject/omp/ompruntime.h"
#include "agent/inject/omp/ompteam.h"
#include "agent/inject/words.h"

#define SITE __builtin_return_address(0)

typedef void (*code_f)(void *data);

/* The next definition of a function of that type. */
#define NEXT(runtime, symbol, type) ((type)(runtime)->next[OMP_##symbol])

/* In the frame of the thread that begins the region. The other threads fetch
 * one line of it, to which nothing is written while they run. */
#define LINE_BYTES 64
struct team {
    _Alignas(LINE_BYTES) code_f code;
    void *data;
    const struct omp_runtime *runtime;
    uint32_t number;                               /* of the region */
    _Alignas(LINE_BYTES) struct omp_region region; /* of the first thread */
};

/* A thread's part of the region; behind its end the team may be gone. */
static void team_run(void *state)
{
    struct team *team = state;
    const struct omp_runtime *runtime = team->runtime;
    unsigned thread =
        (unsigned)NEXT(runtime, omp_get_thread_num, int (*)(void))();
    unsigned size =
        (unsigned)NEXT(runtime, omp_get_num_threads, int (*)(void))();
    struct omp_part *outer = omp_here;
    struct omp_part part;

    if (thread == 0) {
        team->region.size = (uint16_t)size;
    }
    omp_past.region = 0;
    if (size == 1) {
        omp_part_begin_alone(&part, &team->region);
    } else {
        omp_part_begin(&part, team->number, thread, size);
    }
    part.runtime = runtime;
    omp_here = &part;
    team->code(team->data);
    omp_here = outer;
    omp_part_end(&part, &team->region);
    if (outer == NULL) {
        omp_past = part;
    }
}

/* True: the runtime is to call team_run() for the team in place of the region's
 * own function and data. */
static inline bool team_begin(struct team *team,
                              const struct omp_runtime *runtime,
                              const void *site,
                              long *code,
                              long *data)
{
    team->code = (code_f)*code;
    team->data = (void *)*data;
    team->runtime = runtime;
    if (runtime->is_plain ||
        !omp_region_begin(&team->region, site, (uint64_t)*code)) {
        return false;
    }
    team->number = team->region.number;
    *code = (long)team_run;
    *data = (long)team;
    return true;
}

static inline void team_end(const struct team *team)
{
    omp_past.region = 0;
    omp_region_end(&team->region, OMP_NAME_GOMP);
}

static inline void wait_done(enum ck_kind kind,
                             enum omp_name name,
                             int64_t start,
                             const void *site,
                             uint64_t object)
{
    omp_wait_end(&(struct omp_wait){.kind = kind,
                                    .name = name,
                                    .start = start,
                                    .site = site,
                                    .object = object});
}

/* Outside of a recorded region there is no team to wait for. */
static inline int64_t barrier_begin(const struct omp_runtime *runtime)
{
    return runtime->is_plain || omp_here == NULL ? 0 : omp_wait_begin();
}

static inline int64_t lock_begin(const struct omp_runtime *runtime)
{
    return runtime->is_plain ? 0 : omp_wait_begin();
}

/* The functions of omp.def, whose words go on as they are: what GCC declares
 * as void leaves none behind. */
#define OMP_FUNCTION(symbol)
#define OMP_REGION(symbol, words)                                              \
    INJECT_ENTRY(void, symbol, PARAMETERS_##words)                             \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        struct team team;                                                      \
        bool is_recorded = team_begin(&team, runtime, SITE, &w0, &w1);         \
                                                                               \
        NEXT(runtime, symbol, void (*)(TYPES_##words))(NAMES_##words);         \
        if (is_recorded) {                                                     \
            team_end(&team);                                                   \
        }                                                                      \
    }
#define WAITING(symbol, words, begin, KIND, NAME, object)                      \
    INJECT_ENTRY(long, symbol, PARAMETERS_##words)                             \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        long (*next)(TYPES_##words) =                                          \
            NEXT(runtime, symbol, long (*)(TYPES_##words));                    \
        int64_t start = begin(runtime);                                        \
        long rc = next(ARGUMENTS_##words);                                     \
                                                                               \
        wait_done(CK_KIND_##KIND, OMP_NAME_##NAME, start, SITE,                \
                  (uint64_t)(object));                                         \
        return rc;                                                             \
    }
#define ARGUMENTS_0
#define ARGUMENTS_1 w0
#define OMP_WAIT(symbol, words, KIND, NAME)                                    \
    WAITING(symbol, words, barrier_begin, KIND, NAME, 0)
#define OMP_LOCK(symbol, words, NAME, object)                                  \
    WAITING(symbol, words, lock_begin, TEAM_LOCK, NAME, object)
#include "agent/inject/omp/omp.def"

/* The runtime looks into the data itself: it cannot be wrapped. */
INJECT_ENTRY(long, GOMP_parallel_reductions, PARAMETERS_4)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);

    return NEXT(runtime, GOMP_parallel_reductions, long (*)(TYPES_4))(NAMES_4);
}

/* The one that runs it does not wait. */
INJECT_ENTRY(void *, GOMP_single_copy_start, void)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    int64_t start = barrier_begin(runtime);
    void *copy = NEXT(runtime, GOMP_single_copy_start, void *(*)(void))();

    if (copy != NULL) {
        wait_done(CK_KIND_TEAM_BARRIER, OMP_NAME_SINGLE, start, SITE, 0);
    }
    return copy;
}

/* ---- tasks -------------------------------------------------------------- */

/* What a task may need of its creator's frame, and be given here. */
#define TASK_BYTES 512
#define TASK_DETACH (1u << 13) /* a flag of libgomp */

typedef void (*copy_f)(void *to, void *from);

/* Before the data of a task, which the runtime copies with it. */
struct task {
    code_f code;
    copy_f copy; /* NULL = as bytes */
    void *data;  /* of the creator, for the copy */
    uint64_t at; /* of the copy, from here */
};

/* Room for a task and its data, on a boundary of 64 bytes at most. */
struct task_room {
    _Alignas(64) struct task task;
    unsigned char data[TASK_BYTES];
};

static void task_run(void *state)
{
    struct task *task = state;
    code_f code = task->code;
    int64_t start = omp_wait_begin();

    code((unsigned char *)task + task->at);
    wait_done(CK_KIND_TEAM_TASK, OMP_NAME_TASK, start, NULL,
              (uint64_t)(uintptr_t)code);
}

static void task_copy(void *to, void *from)
{
    const struct task *task = from;

    *(struct task *)to = *task;
    task->copy((unsigned char *)to + task->at, task->data);
}

typedef void (*task_f)(
    code_f, void *, copy_f, long, long, bool, unsigned, void **, int, void *);

INJECT_ENTRY(void,
             GOMP_task,
             code_f code,
             void *data,
             copy_f copy,
             long bytes,
             long align,
             bool is_deferred,
             unsigned flags,
             void **depend,
             int priority,
             void *detach)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    task_f next = NEXT(runtime, GOMP_task, task_f);
    long least = (long)_Alignof(struct task);
    struct task_room room;
    size_t at;

    if (runtime->is_plain || omp_here == NULL || bytes < 0 ||
        bytes > TASK_BYTES / 2 || align > 64 || (flags & TASK_DETACH) != 0 ||
        !is_deferred) {
        next(code, data, copy, bytes, align, is_deferred, flags, depend,
             priority, detach);
        return;
    }
    align = align < least ? least : align;
    at =
        (sizeof(room.task) + (size_t)align - 1) / (size_t)align * (size_t)align;
    room.task = (struct task){code, copy, data, at};
    if (copy == NULL && bytes > 0) {
        memcpy((unsigned char *)&room + at, data, (size_t)bytes);
    }
    next(task_run, &room, copy == NULL ? NULL : task_copy, (long)at + bytes,
         align, is_deferred, flags, depend, priority, detach);
}
