/* edges.c - who waited in MPI_Init and MPI_Finalize, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/waits/edges.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/idle/causes.h"
#include "merge/analysis/waits/waitstates.h"

/* Who entered last so far. */
struct side {
    uint32_t arrived;
    uint32_t thread;
    ck_time_t enter;
    int64_t mark; /* largest */
};

struct edges {
    const struct cast *cast; /* borrowed */
    struct scene *scene;     /* borrowed */
    struct waitstates *waitstates;
    struct side sides[EDGES];
    uint32_t *finals; /* by thread: number of its call of MPI_Finalize, 0 */
};

enum edge edge_of(const char *function)
{
    if (function == NULL) {
        return EDGE_NONE;
    }
    return strcmp(function, "MPI_Init") == 0 ||
                   strcmp(function, "MPI_Init_thread") == 0
               ? EDGE_INIT
           : strcmp(function, "MPI_Finalize") == 0 ? EDGE_FINALIZE
                                                   : EDGE_NONE;
}

struct edges *edges_create(const struct cast *cast, struct scene *scene)
{
    struct region always = {INT64_MIN, INT64_MAX};
    struct edges *edges = calloc(1, sizeof(*edges));

    if (edges == NULL) {
        return NULL;
    }
    edges->cast = cast;
    edges->scene = scene;
    edges->waitstates = waitstates_create(cast, scene, NULL, always);
    edges->finals = calloc(cast->threads_count + 1, sizeof(*edges->finals));
    if (edges->waitstates == NULL || edges->finals == NULL) {
        edges_destroy(edges);
        return NULL;
    }
    return edges;
}

void edges_destroy(struct edges *edges)
{
    if (edges == NULL) {
        return;
    }
    waitstates_destroy(edges->waitstates);
    free(edges->finals);
    free(edges);
}

void edges_enter(struct edges *edges,
                 enum edge edge,
                 const struct timeline_event *event,
                 int64_t mark)
{
    struct side *side = &edges->sides[edge];

    side->mark = side->arrived == 0 || mark > side->mark ? mark : side->mark;
    side->arrived++;
    side->thread = event->thread;
    side->enter = event->start;
    if (edge == EDGE_FINALIZE) {
        /* The number lies at the same place in all classes. */
        edges->finals[event->thread] =
            ((const struct ck_call *)event->record)->call;
    }
}

/* False: not all have come, or the two clocks do not compare. */
static bool side_wait(const struct edges *edges,
                      enum edge edge,
                      uint32_t thread,
                      ck_time_t start,
                      struct wait *wait)
{
    const struct side *side = &edges->sides[edge];

    *wait = (struct wait){.kind = edge == EDGE_INIT ? WAIT_INIT : WAIT_FINALIZE,
                          .until = side->enter,
                          .thread = side->thread,
                          .mark = side->mark};
    return side->arrived == (uint32_t)cast_size(edges->cast) &&
           scene_error(edges->scene, thread, start, wait);
}

bool edges_is_final(const struct edges *edges,
                    uint32_t thread,
                    const struct host_span *call)
{
    return call->call != 0 && edges->finals[thread] == call->call;
}

bool edges_find(const struct edges *edges,
                uint32_t thread,
                const struct host_span *call,
                struct wait *wait)
{
    return edges_is_final(edges, thread, call) &&
           side_wait(edges, EDGE_FINALIZE, thread, call->start, wait);
}

int edges_leave(struct edges *edges,
                enum edge edge,
                uint32_t thread,
                struct region call)
{
    struct wait wait;

    return side_wait(edges, edge, thread, call.start, &wait)
               ? waitstates_add(edges->waitstates, thread, call, &wait)
               : 0;
}

int edges_report(const struct edges *edges, struct report *report)
{
    struct causes_from from = {.scene = edges->scene};
    size_t count, used = 0;
    const struct ledger_row *rows = waitstates_rows(edges->waitstates, &count);
    struct ledger_row *kept = calloc(count + 1, sizeof(*kept));

    if (kept == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (cast_is_wanted(edges->cast, rows[i].rank)) {
            kept[used++] = rows[i];
        }
    }
    report->edges = causes_group(&from, kept, used, &report->edges_count);
    free(kept);
    return report->edges == NULL ? -1 : 0;
}
