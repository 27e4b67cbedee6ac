/* ended.h - the ranks of a run that a launcher ended, as its report has them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_MERGE_ENDED_H
#define CK_TESTS_MERGE_ENDED_H

#include <signal.h>
#include <string.h>

#include "merge/report/report.h"
#include "tests/merge/play.h"

#define DEATH 1000 /* when the first one dies */

static struct world world;
static struct report report;
static struct report_rank rows[PLAY_RANKS];

/* SIGTERM ended them all, one after the other. */
static inline void ended_init(void)
{
    memset(&world, 0, sizeof(world));
    memset(&report, 0, sizeof(report));
    memset(rows, 0, sizeof(rows));
    play_cast(&world);
    for (int i = 0; i < PLAY_RANKS; i++) {
        rows[i].number = i;
        rows[i].end = REPORT_END_SIGNAL;
        rows[i].code = SIGTERM;
        rows[i].end_time = DEATH + 10 + i;
    }
    report.ranks = rows;
    report.ranks_count = PLAY_RANKS;
}

static inline void ended_fini(void)
{
    report.ranks = NULL;
    report_fini(&report);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* This one was the first, by that signal. */
static inline void dies(int rank, int number)
{
    rows[rank].code = number;
    rows[rank].end_time = DEATH;
}

#endif
