/* edges.h - who waited in MPI_Init and MPI_Finalize, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of the whole run, whatever the region is. A rank waits there until the last
 * one has entered; where not all ranks of the world are recorded to have
 * entered, nothing is said.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_EDGES_H
#define CK_MERGE_ANALYSIS_WAITS_EDGES_H

#include "merge/analysis/history/scene.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

enum edge { EDGE_NONE, EDGE_INIT, EDGE_FINALIZE, EDGES };
/* Which one a function is. */
enum edge edge_of(const char *function);

struct edges;
/* Borrowed. NULL with ENOMEM. */
struct edges *edges_create(const struct cast *cast, struct scene *scene);
void edges_destroy(struct edges *edges);
/* A call of that function is entered; `mark` as in waits.h. */
void edges_enter(struct edges *edges,
                 enum edge edge,
                 const struct timeline_event *event,
                 int64_t mark);
/* The call is the thread's MPI_Finalize. */
bool edges_is_final(const struct edges *edges,
                    uint32_t thread,
                    const struct host_span *call);
/* Until when the thread waited in that call, MPI_Finalize, and for whom. False
 * when it is another call, or that is not known. */
bool edges_find(const struct edges *edges,
                uint32_t thread,
                const struct host_span *call,
                struct wait *wait);
/* The thread was in such a call, and the merge has passed its return. 0, or -1
 * with ENOMEM. */
int edges_leave(struct edges *edges,
                enum edge edge,
                uint32_t thread,
                struct region call);
/* Write report->edges, longest first. 0, or -1 with ENOMEM. */
int edges_report(const struct edges *edges, struct report *report);

#endif
