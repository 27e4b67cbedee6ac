/* clockfacts.h - all that a run's events show of its clocks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read once before anything is aligned: messages and collectives between
 * domains, collective kernels, launches and synchronisations of devices.
 */
#ifndef CK_MERGE_CLOCKS_CLOCKFACTS_H
#define CK_MERGE_CLOCKS_CLOCKFACTS_H

#include "merge/clocks/clockkernels.h"
#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "merge/report/report.h"
#include "merge/timeline/axis.h"
#include "schema/err.h"

struct clockfacts;
/* Borrowed. */
struct clockfacts *clockfacts_create(const struct defs *defs,
                                     const struct axis *axis);
void clockfacts_destroy(struct clockfacts *facts);
/* Read the store. 0, or -1 with err. */
int clockfacts_read(struct clockfacts *facts,
                    enum clockkernels_assume assume,
                    struct rundir *store,
                    struct ck_err *err);
/* Borrowed. */
const struct clockkernels *clockfacts_kernels(const struct clockfacts *facts);
/* Borrowed, for align_settle(). */
const struct clockedges *clockfacts_edges(const struct clockfacts *facts);
/* Before that: clockkernels_dates(). */
void clockfacts_dates(const struct clockfacts *facts,
                      struct clockkernels_dates *dates,
                      ck_time_t *errors);
/* Once all is settled, behind causality_report(). */
void clockfacts_report(const struct clockfacts *facts, struct report *report);

#endif
