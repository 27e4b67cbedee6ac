/* launchsamples.h - stacks that may lead to a call that launches device work
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stacks of launches themselves, of CPU samples and of waits, by process. Which
 * of them lead to a call is asked once all are there.
 */
#ifndef CK_MERGE_ANALYSIS_DEVICES_LAUNCHSAMPLES_H
#define CK_MERGE_ANALYSIS_DEVICES_LAUNCHSAMPLES_H

#include "merge/analysis/devices/launchways.h"

/* What a process had one stack for. */
struct launchsample {
    uint32_t process;
    uint32_t stack;
    ck_time_t first;
    int64_t ns;
    int64_t launches; /* that have it, about */
};

struct launchsamples;
/* Borrowed. */
struct launchsamples *launchsamples_create(const struct defs *defs);
void launchsamples_destroy(struct launchsamples *samples);
void launchsamples_add(struct launchsamples *samples,
                       const struct launchsample *more);
/* All are there. */
void launchsamples_close(struct launchsamples *samples);

/* How the process comes to the call at the site (0 = not known): by stacks of
 * launches, else of samples, that have it, else by those that lead through the
 * function which makes it. launchways_fini() is the caller's. */
void launchsamples_ways(const struct launchsamples *samples,
                        uint32_t process,
                        uint64_t site,
                        struct launchways *ways);
/* The stack leads to the call by so many launches, if it does. */
void launchsamples_line(const struct launchsamples *samples,
                        uint64_t site,
                        const struct launchsample *by,
                        struct launchways *ways);

#endif
