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

#define EXPORT __attribute__((visibility("default")))
#define SITE __builtin_return_address(0)

typedef void (*code_f)(void *data);

/* The next definition of a function of that type. */
#define NEXT(runtime, symbol, type) ((type)(runtime)->next[OMP_##symbol])

/* In the frame of the thread that begins the region. */
struct team {
    code_f code;
    void *data;
    const struct omp_runtime *runtime;
    struct omp_region region;
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
    omp_part_begin(&part, team->region.number, thread, size);
    part.runtime = runtime;
    omp_here = &part;
    team->code(team->data);
    omp_here = outer;
    omp_part_end(&part);
    if (outer == NULL) {
        omp_past = part;
    }
}

/* True: hand team_run() and the team to the runtime in place of the region's
 * own function and data. */
static inline bool team_begin(struct team *team,
                              const struct omp_runtime *runtime,
                              code_f code,
                              void *data,
                              const void *site)
{
    team->code = code;
    team->data = data;
    team->runtime = runtime;
    return !runtime->is_plain &&
           omp_region_begin(&team->region, site, (uint64_t)(uintptr_t)code);
}

static inline void team_end(const struct team *team)
{
    omp_past.region = 0;
    omp_region_end(&team->region, OMP_NAME_GOMP);
}

/* ---- regions ------------------------------------------------------------ */

EXPORT void entry_parallel(code_f code,
                           void *data,
                           unsigned threads,
                           unsigned flags) __asm__("GOMP_parallel");
void entry_parallel(code_f code, void *data, unsigned threads, unsigned flags)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    void (*next)(code_f, void *, unsigned, unsigned) = NEXT(
        runtime, GOMP_parallel, void (*)(code_f, void *, unsigned, unsigned));
    struct team team;

    if (!team_begin(&team, runtime, code, data, SITE)) {
        next(code, data, threads, flags);
        return;
    }
    next(team_run, &team, threads, flags);
    team_end(&team);
}

EXPORT unsigned
entry_parallel_reductions(code_f code,
                          void *data,
                          unsigned threads,
                          unsigned flags) __asm__("GOMP_parallel_reductions");
unsigned entry_parallel_reductions(code_f code,
                                   void *data,
                                   unsigned threads,
                                   unsigned flags)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);

    /* The runtime looks into the data itself: it cannot be wrapped. */
    return NEXT(runtime, GOMP_parallel_reductions,
                unsigned (*)(code_f, void *, unsigned, unsigned))(
        code, data, threads, flags);
}

EXPORT void entry_parallel_sections(code_f code,
                                    void *data,
                                    unsigned threads,
                                    unsigned count,
                                    unsigned flags) __asm__("GOMP_parallel_"
                                                            "sections");
void entry_parallel_sections(
    code_f code, void *data, unsigned threads, unsigned count, unsigned flags)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    void (*next)(code_f, void *, unsigned, unsigned, unsigned) =
        NEXT(runtime, GOMP_parallel_sections,
             void (*)(code_f, void *, unsigned, unsigned, unsigned));
    struct team team;

    if (!team_begin(&team, runtime, code, data, SITE)) {
        next(code, data, threads, count, flags);
        return;
    }
    next(team_run, &team, threads, count, flags);
    team_end(&team);
}

/* A loop with a chunk, and one without. */
#define LOOP_CHUNK(symbol)                                                     \
    EXPORT void entry_##symbol(code_f code, void *data, unsigned threads,      \
                               long start, long end, long step, long chunk,    \
                               unsigned flags) __asm__("GOMP_" #symbol);       \
    void entry_##symbol(code_f code, void *data, unsigned threads, long start, \
                        long end, long step, long chunk, unsigned flags)       \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        void (*next)(code_f, void *, unsigned, long, long, long, long,         \
                     unsigned) = NEXT(runtime, GOMP_##symbol,                  \
                                      void (*)(code_f, void *, unsigned, long, \
                                               long, long, long, unsigned));   \
        struct team team;                                                      \
                                                                               \
        if (!team_begin(&team, runtime, code, data, SITE)) {                   \
            next(code, data, threads, start, end, step, chunk, flags);         \
            return;                                                            \
        }                                                                      \
        next(team_run, &team, threads, start, end, step, chunk, flags);        \
        team_end(&team);                                                       \
    }
LOOP_CHUNK(parallel_loop_static)
LOOP_CHUNK(parallel_loop_dynamic)
LOOP_CHUNK(parallel_loop_guided)
LOOP_CHUNK(parallel_loop_nonmonotonic_dynamic)
LOOP_CHUNK(parallel_loop_nonmonotonic_guided)

#define LOOP(symbol)                                                           \
    EXPORT void entry_##symbol(code_f code, void *data, unsigned threads,      \
                               long start, long end, long step,                \
                               unsigned flags) __asm__("GOMP_" #symbol);       \
    void entry_##symbol(code_f code, void *data, unsigned threads, long start, \
                        long end, long step, unsigned flags)                   \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        void (*next)(code_f, void *, unsigned, long, long, long, unsigned) =   \
            NEXT(runtime, GOMP_##symbol,                                       \
                 void (*)(code_f, void *, unsigned, long, long, long,          \
                          unsigned));                                          \
        struct team team;                                                      \
                                                                               \
        if (!team_begin(&team, runtime, code, data, SITE)) {                   \
            next(code, data, threads, start, end, step, flags);                \
            return;                                                            \
        }                                                                      \
        next(team_run, &team, threads, start, end, step, flags);               \
        team_end(&team);                                                       \
    }
LOOP(parallel_loop_runtime)
LOOP(parallel_loop_nonmonotonic_runtime)
LOOP(parallel_loop_maybe_nonmonotonic_runtime)

/* ---- waits -------------------------------------------------------------- */

/* Outside of a recorded region there is no team to wait for. */
static inline int64_t barrier_begin(const struct omp_runtime *runtime)
{
    return runtime->is_plain || omp_here == NULL ? 0 : omp_wait_begin();
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

#define WAIT(symbol, kind, name)                                               \
    EXPORT void entry_##symbol(void) __asm__("GOMP_" #symbol);                 \
    void entry_##symbol(void)                                                  \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        int64_t start = barrier_begin(runtime);                                \
                                                                               \
        NEXT(runtime, GOMP_##symbol, void (*)(void))();                        \
        wait_done(CK_KIND_##kind, OMP_NAME_##name, start, SITE, 0);            \
    }
WAIT(barrier, TEAM_BARRIER, BARRIER)
WAIT(loop_end, TEAM_BARRIER, LOOP)
WAIT(sections_end, TEAM_BARRIER, SECTIONS)
WAIT(taskwait, TEAM_AWAIT, TASKWAIT)
WAIT(taskgroup_end, TEAM_AWAIT, TASKGROUP)
WAIT(ordered_start, TEAM_LOCK, ORDERED)

#define WAIT_CANCEL(symbol, name)                                              \
    EXPORT bool entry_##symbol(void) __asm__("GOMP_" #symbol);                 \
    bool entry_##symbol(void)                                                  \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        int64_t start = barrier_begin(runtime);                                \
        bool is_cancelled = NEXT(runtime, GOMP_##symbol, bool (*)(void))();    \
                                                                               \
        wait_done(CK_KIND_TEAM_BARRIER, OMP_NAME_##name, start, SITE, 0);      \
        return is_cancelled;                                                   \
    }
WAIT_CANCEL(barrier_cancel, BARRIER)
WAIT_CANCEL(loop_end_cancel, LOOP)
WAIT_CANCEL(sections_end_cancel, SECTIONS)

/* The one that runs it does not wait. */
EXPORT void *entry_copy_start(void) __asm__("GOMP_single_copy_start");
void *entry_copy_start(void)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    int64_t start = barrier_begin(runtime);
    void *copy = NEXT(runtime, GOMP_single_copy_start, void *(*)(void))();

    if (copy != NULL) {
        wait_done(CK_KIND_TEAM_BARRIER, OMP_NAME_SINGLE, start, SITE, 0);
    }
    return copy;
}

EXPORT void entry_copy_end(void *copy) __asm__("GOMP_single_copy_end");
void entry_copy_end(void *copy)
{
    const struct omp_runtime *runtime = omp_runtime(SITE);
    int64_t start = barrier_begin(runtime);

    NEXT(runtime, GOMP_single_copy_end, void (*)(void *))(copy);
    wait_done(CK_KIND_TEAM_BARRIER, OMP_NAME_SINGLE, start, SITE, 0);
}

/* The lock of all critical sections without a name, and of atomic ones. */
#define LOCK_OF_ALL(symbol, name)                                              \
    EXPORT void entry_##symbol(void) __asm__("GOMP_" #symbol);                 \
    void entry_##symbol(void)                                                  \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        omp_next_f next = runtime->next[OMP_GOMP_##symbol];                    \
        int64_t start = runtime->is_plain ? 0 : omp_wait_begin();              \
                                                                               \
        next();                                                                \
        wait_done(CK_KIND_TEAM_LOCK, OMP_NAME_##name, start, SITE,             \
                  (uint64_t)(uintptr_t)next);                                  \
    }
LOCK_OF_ALL(critical_start, CRITICAL)
LOCK_OF_ALL(atomic_start, ATOMIC)

#define LOCK(symbol, name)                                                     \
    EXPORT void entry_##symbol(void *lock) __asm__(#symbol);                   \
    void entry_##symbol(void *lock)                                            \
    {                                                                          \
        const struct omp_runtime *runtime = omp_runtime(SITE);                 \
        int64_t start = runtime->is_plain ? 0 : omp_wait_begin();              \
                                                                               \
        NEXT(runtime, symbol, void (*)(void *))(lock);                         \
        wait_done(CK_KIND_TEAM_LOCK, OMP_NAME_##name, start, SITE,             \
                  (uint64_t)(uintptr_t)lock);                                  \
    }
LOCK(GOMP_critical_name_start, CRITICAL)
LOCK(omp_set_lock, LOCK)
LOCK(omp_set_nest_lock, NEST_LOCK)
LOCK(omp_set_lock_, LOCK)
LOCK(omp_set_nest_lock_, NEST_LOCK)

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

EXPORT void entry_task(code_f code,
                       void *data,
                       copy_f copy,
                       long bytes,
                       long align,
                       bool is_deferred,
                       unsigned flags,
                       void **depend,
                       int priority,
                       void *detach) __asm__("GOMP_task");
void entry_task(code_f code,
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
