/* edges.c - who waited in MPI_Init and MPI_Finalize, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/edges.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/causes.h"
#include "merge/analysis/waitstates.h"

/* Who entered last so far. */
struct side {
    uint32_t arrived;
    uint32_t thread;
    ck_time_t enter;
};

struct edges {
    const struct cast *cast; /* borrowed */
    struct scene *scene;     /* borrowed */
    struct waitstates *waitstates;
    struct side sides[EDGES];
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
    if (edges->waitstates == NULL) {
        free(edges);
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
    free(edges);
}

void edges_enter(struct edges *edges,
                 enum edge edge,
                 const struct timeline_event *event)
{
    struct side *side = &edges->sides[edge];

    side->arrived++;
    side->thread = event->thread;
    side->enter = event->start;
}

int edges_leave(struct edges *edges,
                enum edge edge,
                uint32_t thread,
                struct region call)
{
    const struct side *side = &edges->sides[edge];
    struct wait wait = {.kind = edge == EDGE_INIT ? WAIT_INIT : WAIT_FINALIZE,
                        .until = side->enter,
                        .thread = side->thread,
                        .mark = INT64_MIN};

    if (side->arrived != (uint32_t)cast_size(edges->cast) ||
        !scene_error(edges->scene, thread, side->thread, side->enter,
                     &wait.error)) {
        return 0;
    }
    return waitstates_add(edges->waitstates, thread, call, &wait);
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
