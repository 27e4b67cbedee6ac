/* ompt.c - teams of a runtime that has OMPT: LLVM's libomp and its kin
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runtime asks for ompt_start_tool() when it starts. A thread of a team
 * learns that a region is over only when the next one begins, or never: so its
 * part ends, and is recorded, when it comes to the barrier at the end.
 *
 * Another tool has the first right: one that the program is linked with comes
 * before this one anyway; of one behind it, or in OMP_TOOL_LIBRARIES, there is
 * a note that it has the runtime. Where the thread sanitizer is, the runtime
 * has one of its own (archer), without which that one reports races that are
 * none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/omp/omptabi.h"
#include "agent/inject/omp/ompruntime.h"
#include "agent/inject/omp/ompteam.h"
#include "agent/inject/symbol.h"

/* Nested regions of a thread; deeper ones go by unseen. */
#define LEVELS 3

/* Of an explicit task, in its data. */
#define TASK_MARK ((uint64_t)1 << 63)

struct level {
    struct omp_region region; /* that it began */
    struct omp_part part;     /* that it is in; of the same region, or alone */
    const void *site;         /* of the region, as the runtime has it */
    bool is_own;              /* it began the region, recorded or not */
    bool is_in;               /* part has begun */
    bool is_done;             /* and was recorded */
};

static __thread struct {
    struct level levels[LEVELS];
    int64_t wait;  /* begin of the barrier, or wait for tasks, it is in */
    int64_t lock;  /* begin of its wait for a lock */
    int64_t task;  /* begin of the explicit task */
    int32_t depth; /* of levels, may be more than there are */
} own;

/* The level that is in use, NULL = none, or too deep. */
static struct level *level_top(void)
{
    return own.depth > 0 && own.depth <= LEVELS ? &own.levels[own.depth - 1]
                                                : NULL;
}

static struct level *level_push(void)
{
    own.depth++;
    if (own.depth <= LEVELS) {
        own.levels[own.depth - 1].is_own = false;
        own.levels[own.depth - 1].is_in = false;
        own.levels[own.depth - 1].is_done = false;
    }
    return level_top();
}

static void parallel_begin(union ompt_data *task,
                           const void *frame,
                           union ompt_data *parallel,
                           unsigned threads,
                           int flags,
                           const void *site)
{
    struct level *level = level_push();

    (void)task;
    (void)frame;
    (void)threads;
    (void)flags;
    parallel->value = 0;
    if (level == NULL) {
        return;
    }
    level->is_own = true;
    level->site = site;
    if (omp_region_begin(&level->region, site, 0)) {
        parallel->value = level->region.number;
    }
}

static void parallel_end(union ompt_data *parallel,
                         union ompt_data *task,
                         int flags,
                         const void *site)
{
    struct level *level = level_top();

    (void)task;
    (void)flags;
    (void)site;
    if (level != NULL && parallel->value != 0 &&
        level->region.number == (uint32_t)parallel->value) {
        omp_region_end(&level->region, OMP_NAME_LLVM);
        level->region.number = 0;
    }
    own.depth -= own.depth > 0;
}

static void
part_begin(union ompt_data *parallel, unsigned size, unsigned thread)
{
    struct level *level = level_top();

    /* The thread that began the region has its level already. */
    if (thread != 0 || level == NULL || level->is_in) {
        level = level_push();
        if (level != NULL) {
            level->region.number = 0;
        }
    }
    if (level == NULL) {
        return;
    }
    level->region.size = (uint16_t)size;
    if (size == 1 && level->region.number != 0) {
        omp_part_begin_alone(&level->part, &level->region);
    } else {
        omp_part_begin(&level->part,
                       parallel == NULL ? 0 : (uint32_t)parallel->value, thread,
                       size);
    }
    level->is_in = true;
    omp_here = &level->part;
}

/* At the barrier behind the region's code. */
static void part_done(void)
{
    struct level *level = level_top();

    if (level != NULL && level->is_in && !level->is_done) {
        level->is_done = true;
        omp_part_end(&level->part, &level->region);
    }
}

static void part_end(void)
{
    struct level *level = level_top();

    part_done();
    if (level != NULL && level->is_in) {
        omp_here = (struct omp_part *)(uintptr_t)level->part.outer;
        level->is_in = false;
        own.depth -= !level->is_own;
    } else if (own.depth > LEVELS) {
        own.depth--;
    }
}

static void implicit_task(int endpoint,
                          union ompt_data *parallel,
                          union ompt_data *task,
                          unsigned size,
                          unsigned thread,
                          int flags)
{
    (void)task;
    if ((flags & OMPT_TASK_INITIAL) != 0) {
        return;
    }
    if (endpoint == OMPT_BEGIN) {
        part_begin(parallel, size, thread);
    } else {
        part_end();
    }
}

static void wait_end(enum ck_kind kind, enum omp_name name, const void *site)
{
    omp_wait_end(&(struct omp_wait){
        .kind = kind, .name = name, .start = own.wait, .site = site});
    own.wait = 0;
}

/* Is that the barrier at the end of a region? Workers have no code there, the
 * first thread that of the region. */
static bool is_last(int kind, const void *site)
{
    const struct level *level = level_top();

    return kind == OMPT_SYNC_PARALLEL ||
           (kind == OMPT_SYNC_IMPLICIT && level != NULL &&
            (site == NULL || (level->is_own && level->site == site)));
}

static void sync_region(int kind,
                        int endpoint,
                        union ompt_data *parallel,
                        union ompt_data *task,
                        const void *site)
{
    (void)parallel;
    (void)task;
    if (kind == OMPT_SYNC_TEAMS || kind == OMPT_SYNC_IMPLEMENTATION) {
        return;
    }
    if (is_last(kind, site)) {
        if (endpoint == OMPT_BEGIN) {
            part_done();
        }
        return;
    }
    if (endpoint == OMPT_BEGIN) {
        own.wait = omp_wait_begin();
        return;
    }
    switch (kind) {
    case OMPT_SYNC_TASKWAIT:
        wait_end(CK_KIND_TEAM_AWAIT, OMP_NAME_TASKWAIT, site);
        break;
    case OMPT_SYNC_TASKGROUP:
        wait_end(CK_KIND_TEAM_AWAIT, OMP_NAME_TASKGROUP, site);
        break;
    case OMPT_SYNC_REDUCTION:
        wait_end(CK_KIND_TEAM_BARRIER, OMP_NAME_REDUCTION, site);
        break;
    case OMPT_SYNC_IMPLICIT:
    case OMPT_SYNC_WORKSHARE:
        wait_end(CK_KIND_TEAM_BARRIER, OMP_NAME_WORKSHARE, site);
        break;
    default:
        wait_end(CK_KIND_TEAM_BARRIER, OMP_NAME_BARRIER, site);
        break;
    }
}

static void mutex_acquire(
    int kind, unsigned hint, unsigned impl, uint64_t lock, const void *site)
{
    (void)kind;
    (void)hint;
    (void)impl;
    (void)lock;
    (void)site;
    own.lock = omp_wait_begin();
}

static void mutex_acquired(int kind, uint64_t lock, const void *site)
{
    static const uint8_t names[] = {
        [OMPT_MUTEX_LOCK] = OMP_NAME_LOCK,
        [OMPT_MUTEX_TEST_LOCK] = OMP_NAME_LOCK,
        [OMPT_MUTEX_NEST_LOCK] = OMP_NAME_NEST_LOCK,
        [OMPT_MUTEX_TEST_NEST_LOCK] = OMP_NAME_NEST_LOCK,
        [OMPT_MUTEX_CRITICAL] = OMP_NAME_CRITICAL,
        [OMPT_MUTEX_ATOMIC] = OMP_NAME_ATOMIC,
        [OMPT_MUTEX_ORDERED] = OMP_NAME_ORDERED,
    };

    if (kind < OMPT_MUTEX_LOCK || kind > OMPT_MUTEX_ORDERED) {
        return;
    }
    omp_wait_end(
        &(struct omp_wait){.kind = CK_KIND_TEAM_LOCK,
                           .name = (enum omp_name)names[kind],
                           .start = own.lock,
                           .site = site,
                           .object = kind == OMPT_MUTEX_ORDERED ? 0 : lock});
    own.lock = 0;
}

static void task_create(union ompt_data *task,
                        const void *frame,
                        union ompt_data *created,
                        int flags,
                        int has_dependences,
                        const void *site)
{
    (void)task;
    (void)frame;
    (void)has_dependences;
    if ((flags & OMPT_TASK_EXPLICIT) != 0 && created != NULL) {
        created->value = TASK_MARK | (uint64_t)(uintptr_t)site;
    }
}

/* Of tasks that are put aside for others each piece is one. */
static void
task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
    (void)status;
    if (prior != NULL && (prior->value & TASK_MARK) != 0 && own.task != 0) {
        omp_wait_end(&(struct omp_wait){.kind = CK_KIND_TEAM_TASK,
                                        .name = OMP_NAME_TASK,
                                        .start = own.task,
                                        .object = prior->value & ~TASK_MARK});
    }
    own.task =
        next != NULL && (next->value & TASK_MARK) != 0 ? omp_wait_begin() : 0;
}

/* ---- the tool ----------------------------------------------------------- */

static int tool_begin(ompt_lookup_f lookup, int device, union ompt_data *tool)
{
    const struct {
        int number;
        ompt_function_f function;
    } callbacks[] = {
        {OMPT_PARALLEL_BEGIN, (ompt_function_f)parallel_begin},
        {OMPT_PARALLEL_END, (ompt_function_f)parallel_end},
        {OMPT_IMPLICIT_TASK, (ompt_function_f)implicit_task},
        {OMPT_SYNC_REGION, (ompt_function_f)sync_region},
        {OMPT_MUTEX_ACQUIRE, (ompt_function_f)mutex_acquire},
        {OMPT_MUTEX_ACQUIRED, (ompt_function_f)mutex_acquired},
        {OMPT_TASK_CREATE, (ompt_function_f)task_create},
        {OMPT_TASK_SCHEDULE, (ompt_function_f)task_schedule},
    };
    ompt_set_callback_f set = (ompt_set_callback_f)lookup("ompt_set_callback");
    unsigned missing = 0;

    (void)device;
    (void)tool;
    if (set == NULL) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
        missing += set(callbacks[i].number, callbacks[i].function) <
                   OMPT_SET_SOMETIMES;
    }
    if (missing > 0) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "the OpenMP runtime does not report all of regions, "
                         "barriers, locks and tasks to tools: what it leaves "
                         "out counts as work");
    }
    return 1;
}

static void tool_end(union ompt_data *tool)
{
    (void)tool;
}

static struct ompt_tool tool = {.initialize = tool_begin, .finalize = tool_end};

/* That of a tool behind ours; NULL = there is none. */
static struct ompt_tool *tool_next(unsigned version, const char *name)
{
    union {
        void *object;
        ompt_start_f call;
    } next = {symbol_next("ompt_start_tool")};

    return next.object == NULL ? NULL : next.call(version, name);
}

static bool is_sanitized(void)
{
    return symbol_first("__tsan_init") != NULL;
}

INJECT_ENTRY(struct ompt_tool *,
             ompt_start_tool,
             unsigned version,
             const char *name)
{
    struct ompt_tool *other = tool_next(version, name);
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    int saved = errno;
    bool is_off = omp_is_off();

    if (other == NULL && is_sanitized()) {
        if (!is_off) {
            (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                             "the thread sanitizer's tool has the OpenMP "
                             "runtime: regions were not recorded");
        }
        errno = saved;
        return NULL;
    }
    if (other == NULL && (libraries == NULL || libraries[0] == '\0')) {
        errno = saved;
        return is_off ? NULL : &tool;
    }
    if (!is_off) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "another tool has the OpenMP runtime "
                         "(OMP_TOOL_LIBRARIES): regions were not recorded");
    }
    errno = saved;
    return other;
}
