/* delaysource.h - what delays come from: a thread and what it did more
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A source is a key (delaykeys.h) on a late thread. Which of the key's parts it
 * was (which of several computations, which sampled line) is a matter of sums
 * over many waits: what the late thread had of a part less what those had who
 * waited, each wait with its weight. Differences of single waits would be
 * noise, for samples come each 10 ms.
 */
#ifndef CK_MERGE_ANALYSIS_DELAYS_DELAYSOURCE_H
#define CK_MERGE_ANALYSIS_DELAYS_DELAYSOURCE_H

#include "merge/analysis/delays/delayprofile.h"
#include "merge/report/report.h"

/* Parts kept of a source; what is beyond is not distinguished. */
#define DELAY_EXCESS_MAX 256

struct delay_source {
    uint32_t thread;
    uint32_t key;
};

struct delaysources;
/* Borrowed. */
struct delaysources *delaysources_create(struct lookback *lookback,
                                         const struct delaykeys *keys);
/* Those with more places than the DELAY_EXCESS_MAX that are kept. */
uint64_t delaysources_full(const struct delaysources *sources);
void delaysources_destroy(struct delaysources *sources);
/* Its number; `did` is an activity of the thread with that key. */
int64_t delaysources_find(struct delaysources *sources,
                          const struct delay_source *source,
                          uint32_t did);
/* Its number if it has one, DELAY_NONE. */
uint32_t delaysources_known(const struct delaysources *sources,
                            const struct delay_source *source);
struct delay_source delaysources_get(const struct delaysources *sources,
                                     uint32_t number);
/* The late thread had so much of the part (weight in ns), or, below zero, one
 * that waited for it had. */
void delaysources_weigh(struct delaysources *sources,
                        uint32_t number,
                        const struct delay_part *part,
                        double weight);
/* The activity that the most of it was, by calls. */
uint32_t delaysources_did(const struct delaysources *sources, uint32_t number);
/* What it counts as where the thread has a CPU. */
enum cause delaysources_kind(const struct delaysources *sources,
                             uint32_t number);
/* Whether it had, and a number that is equal for sources of a thread that
 * differ by that alone. */
enum history_off delaysources_off(const struct delaysources *sources,
                                  uint32_t number);
bool delaysources_is_between(const struct delaysources *sources,
                             uint32_t number);
uint32_t delaysources_base(const struct delaysources *sources, uint32_t number);
/* The functions that samples of a computation met more often than in those who
 * waited, the most often met first; total is that of all. Returns how many of
 * them it wrote. */
size_t delaysources_functions(const struct delaysources *sources,
                              uint32_t number,
                              struct report_sampled *functions,
                              size_t room);
/* With the first of them. */
struct report_activity delaysources_report(const struct delaysources *sources,
                                           uint32_t number);

#endif
