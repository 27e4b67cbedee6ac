/* initfinalize.c - who waited in MPI_Init and MPI_Finalize, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/initfinalize.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/idle/causes.h"
#include "merge/analysis/waits/waitstates.h"
#include "merge/model/memory.h"

/* Who entered last so far. */
struct side {
    uint32_t arrived;
    uint32_t thread;
    ck_time_t enter;
    int64_t mark; /* largest */
};

struct initfinalize {
    const struct defs *defs;   /* borrowed */
    struct lookback *lookback; /* borrowed */
    struct waitstates *waitstates;
    struct side sides[EDGES];
    uint32_t *inits;  /* by thread: number of its call of MPI_Init, 0 */
    uint32_t *finals; /* by thread: number of its call of MPI_Finalize, 0 */
    uint32_t *users;  /* by rank: thread whose process uses MPI; DEFS_NONE */
    bool *shared;     /* by rank: another process began to meanwhile */
};

enum edge edge_of(const char *function)
{
    if (function == NULL) {
        return EDGE_NONE;
    }
    if (strcmp(function, "MPI_Init") == 0 ||
        strcmp(function, "MPI_Init_thread") == 0) {
        return EDGE_INIT;
    }
    if (strcmp(function, "MPI_Finalize") == 0) {
        return EDGE_FINALIZE;
    }
    return EDGE_NONE;
}

struct initfinalize *initfinalize_create(const struct defs *defs,
                                         struct lookback *lookback)
{
    struct region always = {INT64_MIN, INT64_MAX};
    struct initfinalize *initfinalize = xcalloc(1, sizeof(*initfinalize));

    initfinalize->defs = defs;
    initfinalize->lookback = lookback;
    initfinalize->waitstates = waitstates_create(defs, lookback, NULL, always);
    initfinalize->inits =
        xcalloc(defs->threads_count + 1, sizeof(*initfinalize->inits));
    initfinalize->finals =
        xcalloc(defs->threads_count + 1, sizeof(*initfinalize->finals));
    initfinalize->users =
        xcalloc(defs->ranks_count + 1, sizeof(*initfinalize->users));
    initfinalize->shared =
        xcalloc(defs->ranks_count + 1, sizeof(*initfinalize->shared));
    for (size_t i = 0; i < defs->ranks_count; i++) {
        initfinalize->users[i] = DEFS_NONE;
    }
    return initfinalize;
}

void initfinalize_destroy(struct initfinalize *initfinalize)
{
    if (initfinalize == NULL) {
        return;
    }
    waitstates_destroy(initfinalize->waitstates);
    free(initfinalize->inits);
    free(initfinalize->finals);
    free(initfinalize->users);
    free(initfinalize->shared);
    free(initfinalize);
}

/* Is another process of that rank within MPI meanwhile? MPI_Comm_spawn gives
 * the processes that it starts the numbers of a world of their own. */
static void user_take(struct initfinalize *initfinalize,
                      enum edge edge,
                      const struct timeline_event *event)
{
    const struct defs *defs = initfinalize->defs;
    uint32_t index =
        defs_rank_index(defs, defs->processes[event->process].rank);
    uint32_t *user;

    if (index == DEFS_NONE) {
        return;
    }
    user = &initfinalize->users[index];
    if (*user != DEFS_NONE && defs->threads[*user].process != event->process &&
        lookback_ended(initfinalize->lookback, *user) > event->start) {
        initfinalize->shared[index] = true;
    }
    *user = edge == EDGE_INIT ? event->thread : DEFS_NONE;
}

bool initfinalize_is_shared(const struct initfinalize *initfinalize,
                            uint32_t index)
{
    return initfinalize->shared[index];
}

void initfinalize_enter(struct initfinalize *initfinalize,
                        enum edge edge,
                        const struct timeline_event *event,
                        int64_t mark)
{
    struct side *side = &initfinalize->sides[edge];
    uint32_t *calls =
        edge == EDGE_INIT ? initfinalize->inits : initfinalize->finals;

    user_take(initfinalize, edge, event);
    side->mark = side->arrived == 0 || mark > side->mark ? mark : side->mark;
    side->arrived++;
    side->thread = event->thread;
    side->enter = event->start;
    /* The number is at the same place in all classes. */
    calls[event->thread] = ((const struct ck_call *)event->record)->call;
}

/* False: not all have come, or the two clocks do not compare. */
static bool side_wait(const struct initfinalize *initfinalize,
                      enum edge edge,
                      uint32_t thread,
                      ck_time_t start,
                      struct wait *wait)
{
    const struct side *side = &initfinalize->sides[edge];

    *wait = (struct wait){.kind = edge == EDGE_INIT ? WAIT_INIT : WAIT_FINALIZE,
                          .until = side->enter,
                          .thread = side->thread,
                          .mark = side->mark};
    return side->arrived == (uint32_t)defs_size(initfinalize->defs) &&
           lookback_error(initfinalize->lookback, thread, start, wait);
}

bool initfinalize_is_final(const struct initfinalize *initfinalize,
                           uint32_t thread,
                           const struct history_span *call)
{
    return call->call != 0 && initfinalize->finals[thread] == call->call;
}

bool initfinalize_find(const struct initfinalize *initfinalize,
                       uint32_t thread,
                       const struct history_span *call,
                       struct wait *wait)
{
    const struct defs *defs = initfinalize->defs;
    bool is_startup = defs->processes[call->process].begin > 0;

    if (call->call != 0 && initfinalize->inits[thread] == call->call) {
        return !is_startup &&
               side_wait(initfinalize, EDGE_INIT, thread, call->start, wait);
    }
    return initfinalize_is_final(initfinalize, thread, call) &&
           side_wait(initfinalize, EDGE_FINALIZE, thread, call->start, wait);
}

void initfinalize_leave(struct initfinalize *initfinalize,
                        enum edge edge,
                        uint32_t thread,
                        struct region call)
{
    struct wait wait;

    if (side_wait(initfinalize, edge, thread, call.start, &wait)) {
        waitstates_add(initfinalize->waitstates, thread, call, &wait);
    }
}

void initfinalize_report(const struct initfinalize *initfinalize,
                         struct report *report)
{
    struct causes_from from = {.lookback = initfinalize->lookback};
    size_t count, used = 0;
    const struct ledger_row *rows =
        waitstates_rows(initfinalize->waitstates, &count);
    struct ledger_row *kept = xcalloc(count + 1, sizeof(*kept));

    for (size_t i = 0; i < count; i++) {
        if (defs_is_wanted(initfinalize->defs, rows[i].rank)) {
            kept[used++] = rows[i];
        }
    }
    report->edges = causes_group(&from, kept, used, &report->edges_count);
    free(kept);
}
