/* initfinalize.h - who waited in MPI_Init and MPI_Finalize, and for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of the whole run, whatever the region is. A rank waits there until the last
 * one has entered; where the enters of some ranks of the world are not
 * recorded, nothing is claimed.
 */
#ifndef CK_MERGE_ANALYSIS_WAITS_INITFINALIZE_H
#define CK_MERGE_ANALYSIS_WAITS_INITFINALIZE_H

#include "merge/analysis/history/lookback.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

enum edge { EDGE_NONE, EDGE_INIT, EDGE_FINALIZE, EDGES };
/* Which one a function is. */
enum edge edge_of(const char *function);

struct initfinalize;
/* Borrowed. */
struct initfinalize *initfinalize_create(const struct defs *defs,
                                         struct lookback *lookback);
void initfinalize_destroy(struct initfinalize *initfinalize);
/* A call of that function is entered; `mark` as in waits.h. */
void initfinalize_enter(struct initfinalize *initfinalize,
                        enum edge edge,
                        const struct timeline_event *event,
                        int64_t mark);
/* Two processes of the rank with that index in the definitions used MPI at one
 * time. */
bool initfinalize_is_shared(const struct initfinalize *initfinalize,
                            uint32_t index);
/* The call is the thread's MPI_Finalize. */
bool initfinalize_is_final(const struct initfinalize *initfinalize,
                           uint32_t thread,
                           const struct history_span *call);
/* Until when the thread waited in that call, MPI_Finalize or MPI_Init, and for
 * whom. False when it is another call, that is not known, or the region has
 * what is behind a rank's MPI_Init alone. */
bool initfinalize_find(const struct initfinalize *initfinalize,
                       uint32_t thread,
                       const struct history_span *call,
                       struct wait *wait);
/* The thread was in such a call, and the merge has passed its return. */
void initfinalize_leave(struct initfinalize *initfinalize,
                        enum edge edge,
                        uint32_t thread,
                        struct region call);
/* Write report->edges, longest first. */
void initfinalize_report(const struct initfinalize *initfinalize,
                         struct report *report);

#endif
