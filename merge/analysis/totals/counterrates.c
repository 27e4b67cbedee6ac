/* counterrates.c - counters of the ranks and the rates that follow from them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A collector stores running totals, some for the whole process tree (tid 0),
 * some a thread. Where a rank has both, the tree's counts.
 */
#include "merge/analysis/totals/counterrates.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"

/* A rate: `over` / `under` * factor. Several spellings of a counter are
 * separated by |. */
struct rate {
    const char *name;
    const char *over;
    const char *under;
    double factor;
};

static const struct rate rates[] = {
    {"ipc", "instructions", "cycles|cpu-cycles", 1},
    {"cache_miss_rate", "cache-misses", "cache-references", 1},
    {"branch_miss_rate", "branch-misses", "branches|branch-instructions", 1},
    {"dtlb_load_miss_rate", "dTLB-load-misses", "dTLB-loads", 1},
    {"dtlb_store_miss_rate", "dTLB-store-misses", "dTLB-stores", 1},
    {"itlb_misses_per_kinst", "iTLB-load-misses|iTLB-misses", "instructions",
     1000},
    {"page_walks_per_kinst", "page-walks|page_walks", "instructions", 1000},
    {"minor_faults_per_kinst", "minor-faults", "instructions", 1000},
    {"major_faults_per_kinst", "major-faults", "instructions", 1000},
};

/* True when `name` is one of the spellings; modifiers (":u") do not count, and
 * '_' and '-' are one. */
static bool is_spelled(const char *name, const char *spellings)
{
    while (*spellings != '\0') {
        size_t length = strcspn(spellings, "|");
        size_t i = 0;

        while (i < length && name[i] != '\0' &&
               (name[i] == spellings[i] ||
                (name[i] == '_' && spellings[i] == '-') ||
                (name[i] == '-' && spellings[i] == '_'))) {
            i++;
        }
        if (i == length && (name[i] == '\0' || name[i] == ':')) {
            return true;
        }
        spellings += length + (spellings[length] == '|');
    }
    return false;
}

static const struct report_counter *counter_get(const struct report *report,
                                                const char *spellings)
{
    for (size_t i = 0; i < report->counters_count; i++) {
        if (is_spelled(report->counters[i].name, spellings)) {
            return &report->counters[i];
        }
    }
    return NULL;
}

static void rates_report(struct report *report)
{
    size_t count = sizeof(rates) / sizeof(rates[0]);

    report->rates = xcalloc(count, sizeof(*report->rates));
    for (size_t i = 0; i < count; i++) {
        const struct report_counter *over = counter_get(report, rates[i].over);
        const struct report_counter *under =
            counter_get(report, rates[i].under);

        if (over != NULL && under != NULL && under->value > 0) {
            struct report_rate *rate = &report->rates[report->rates_count++];

            rate->name = rates[i].name;
            rate->value = over->value / under->value * rates[i].factor;
        }
    }
}

/* Row of this (kept) name, made at first sight. */
static struct report_counter *
counter_row(struct report *report, size_t *room, const char *name)
{
    struct report_counter *row;

    for (size_t i = 0; i < report->counters_count; i++) {
        if (report->counters[i].name == name) {
            return &report->counters[i];
        }
    }
    array_grow(&report->counters, room, report->counters_count, sizeof(*row));
    row = &report->counters[report->counters_count++];
    memset(row, 0, sizeof(*row));
    row->name = name;
    row->share = 1;
    return row;
}

static bool has_tree(const struct defs_agent *agent, uint32_t name)
{
    for (size_t i = 0; i < agent->counters_count; i++) {
        if (agent->counters[i].tid == 0 && agent->counters[i].name == name) {
            return true;
        }
    }
    return false;
}

static void counter_add(struct report_counter *row,
                        const struct defs_counter *counter,
                        bool is_first_of_agent)
{
    double share = counter->enabled > 0
                       ? (double)counter->running / (double)counter->enabled
                       : 1;

    share = share > 1 ? 1 : share;
    row->ranks += is_first_of_agent;
    if (share <= 0) {
        row->share = 0; /* asked for, and never on the hardware */
        return;
    }
    row->value += (double)counter->value / share;
    row->share = share < row->share ? share : row->share;
}

static void agent_report(const struct defs *defs,
                         uint32_t index,
                         uint32_t process,
                         size_t *room,
                         struct report *report)
{
    const struct defs_agent *agent = &defs->agents[index];

    for (size_t i = 0; i < agent->counters_count; i++) {
        const struct defs_counter *counter = &agent->counters[i];
        const char *name = defs_name(defs, process, counter->name);
        struct report_counter *row;
        bool is_first = true;

        if (name == NULL ||
            (counter->tid != 0 && has_tree(agent, counter->name))) {
            continue;
        }
        for (size_t j = 0; j < i; j++) {
            is_first = is_first && agent->counters[j].name != counter->name;
        }
        row = counter_row(report, room, name);
        row->is_of_threads = counter->tid != 0;
        counter_add(row, counter, is_first);
    }
}

/* What an agent counts is of all ranks below it, and cannot be divided.
 */
static bool is_agent_wanted(const struct defs *defs, uint32_t agent)
{
    bool has_wanted = !defs->is_filtered;

    for (size_t i = 0; i < defs->ranks_count; i++) {
        if (defs->ranks[i].agent != agent) {
            continue;
        }
        if (!defs->ranks[i].is_wanted) {
            return false;
        }
        has_wanted = true;
    }
    return has_wanted;
}

void counterrates_report(const struct defs *defs, struct report *report)
{
    size_t room = 0;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        /* The collector's own names. */
        if (process->incarnation == 0 &&
            is_agent_wanted(defs, process->agent)) {
            agent_report(defs, process->agent, p, &room, report);
        }
    }
    rates_report(report);
}
