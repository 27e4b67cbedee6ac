/* teams.c - what records of parallel regions cost, by the number of ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     bench_teams [RANKS [THREADS [TURNS]]]
 *
 * Each turn all ranks run a region of all their threads: each thread is in a
 * barrier and is sampled once. Prints the CPU time of a record with 16 ranks
 * and with RANKS (1024), of the report with either, and their ratios: where
 * sums are linear a record costs the same with any number of ranks, but for the
 * cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "merge/analysis/threads/teams.h"

#define PERIOD 100000 /* ns */
#define FEW 16

struct plan {
    uint32_t ranks;
    uint32_t threads;
    uint32_t turns;
    struct defs *defs;
    uint32_t *processes;
    uint32_t *first; /* thread of each process */
    struct teams *teams;
    uint64_t records;
};

static void defs_make(struct plan *plan)
{
    plan->defs = defs_create();
    plan->processes = calloc(plan->ranks, sizeof(*plan->processes));
    plan->first = calloc(plan->ranks, sizeof(*plan->first));
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        const uint8_t id[16] = {1, (uint8_t)rank, (uint8_t)(rank >> 8)};
        uint32_t agent = defs_agent_find(plan->defs, id);

        plan->processes[rank] = defs_process_find(plan->defs, agent, rank + 1);
        for (uint32_t t = 0; t < plan->threads; t++) {
            uint32_t thread = defs_thread_find(
                plan->defs, plan->processes[rank], rank * 1000 + t + 1);

            plan->first[rank] = t == 0 ? thread : plan->first[rank];
        }
    }
    defs_close(plan->defs);
}

static void put(struct plan *plan,
                uint32_t rank,
                uint32_t thread,
                ck_time_t start,
                ck_time_t end,
                struct ck_event *record)
{
    const struct timeline_event event = {.record = record,
                                         .start = start,
                                         .end = end,
                                         .rank = (int32_t)rank,
                                         .process = plan->processes[rank],
                                         .thread = plan->first[rank] + thread};

    record->start = start;
    plan->records++;
    teams_take(plan->teams, &event);
}

static void team_put(struct plan *plan,
                     enum ck_kind kind,
                     uint32_t rank,
                     uint32_t thread,
                     struct region time,
                     uint32_t turn)
{
    struct ck_team record = {.e = {.kind = (uint16_t)kind, .units = 9},
                             .region = turn + 1,
                             .site = 0x1000,
                             .thread = thread,
                             .number = kind == CK_KIND_TEAM_BARRIER,
                             .size = plan->threads};

    put(plan, rank, thread, time.start, time.end, &record.e);
}

/* Ranks one after the other, as if none waited for another one. */
static void turn_put(struct plan *plan, uint32_t turn, uint32_t rank)
{
    ck_time_t at = ((ck_time_t)turn * plan->ranks + rank) * PERIOD;

    team_put(plan, CK_KIND_TEAM_REGION, rank, 0,
             (struct region){at, at + PERIOD / 2}, turn);
    for (uint32_t t = 0; t < plan->threads; t++) {
        team_put(plan, CK_KIND_TEAM_PART, rank, t,
                 (struct region){at, at + PERIOD / 2 - 7 * t}, turn);
    }
    for (uint32_t t = 0; t < plan->threads; t++) {
        struct ck_sample sample = {.e = {.kind = CK_KIND_SAMPLE, .units = 5},
                                   .tid = rank * 1000 + t + 1,
                                   .weight = 1000};

        put(plan, rank, t, at + 100 + t, at + 100 + t, &sample.e);
        team_put(plan, CK_KIND_TEAM_BARRIER, rank, t,
                 (struct region){at + 100 + t, at + 101 + plan->threads}, turn);
    }
}

/* ns a record, and of the report in all. */
static double measured(struct plan plan, double *report_ns)
{
    struct region all = {0, (ck_time_t)(plan.turns + 1) * plan.ranks * PERIOD};
    struct report report = {0};
    struct history *history;
    double ns;
    clock_t start;

    defs_make(&plan);
    history = history_create(plan.defs, 0);
    plan.teams = teams_create(plan.defs, history, all);
    start = clock();
    for (uint32_t turn = 0; turn < plan.turns; turn++) {
        for (uint32_t rank = 0; rank < plan.ranks; rank++) {
            turn_put(&plan, turn, rank);
        }
    }
    ns = (double)(clock() - start) * (1e9 / CLOCKS_PER_SEC) /
         (double)plan.records;
    start = clock();
    teams_report(plan.teams, &report);
    *report_ns = (double)(clock() - start) * (1e9 / CLOCKS_PER_SEC);
    printf(
        "# %u ranks x %u threads: %.1f ns a record of %llu, report %.2f ms\n",
        plan.ranks, plan.threads, ns, (unsigned long long)plan.records,
        *report_ns / 1e6);
    report_fini(&report);
    teams_destroy(plan.teams);
    history_destroy(history);
    defs_destroy(plan.defs);
    free(plan.processes);
    free(plan.first);
    return ns;
}

int main(int argc, char **argv)
{
    uint32_t ranks = argc > 1 ? (uint32_t)atoi(argv[1]) : 1024;
    uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 64;
    uint32_t turns = argc > 3 ? (uint32_t)atoi(argv[3]) : 8;
    double report_few, report_many, few, many;

    few = measured((struct plan){.ranks = FEW,
                                 .threads = threads,
                                 .turns = turns * (ranks / FEW + 1)},
                   &report_few);
    many = measured(
        (struct plan){.ranks = ranks, .threads = threads, .turns = turns},
        &report_many);
    printf("a record, %u ranks / %d: %.2f; report: %.1f, by rank %.2f\n", ranks,
           FEW, many / few, report_many / report_few,
           report_many / report_few * FEW / ranks);
    return 0;
}
