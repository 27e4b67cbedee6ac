/* cpushortage.c - why threads that were ready to run had no CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agents of one clock domain whose CPUs overlap share them: they are a group,
 * and the group whose threads waited longest is reported. Of its CPUs, what was
 * worked on them by neither the job nor its collectors is others'. The kernel
 * counts both in ticks, and the agents do not look at one instant: that is its
 * error.
 */
#include "merge/analysis/totals/cpushortage.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "schema/store/run.h"

/* Threads that waited for less than an n-th of their ranks' time have had no
 * trouble. */
#define WORTH_WAIT 20
/* A quota that was used up in an n-th of its periods, and stopped threads for
 * an n-th of the time, is one. */
#define WORTH_THROTTLED 10
#define WORTH_STOPPED 50
/* Half a thread more than CPUs, on average, is no crowd. */
#define CROWD 0.5
/* Less than an n-th of a job does not show how it was. */
#define WORTH_SEEN 2
/* User and system time of a CPU or process are cut to whole ticks each. */
#define TICKS_CUT 2
#define TICK_MOST CK_TIME_S
#define CPUS_MAX 1024
#define LIST_BYTES 1024
/* No real value comes near it; sums of two do not overflow. */
#define VALUE_MAX (INT64_C(1) << 60)

struct cpus {
    uint64_t words[CPUS_MAX / 64];
};

/* What an agent reports, or all of a group. */
struct part {
    uint32_t domain;
    uint32_t ranks;
    const char *host;
    struct cpus cpus;
    struct cpus largest; /* of one agent of the group */
    bool is_equal;       /* all have the same CPUs */
    ck_time_t window, busy, host_busy, own, agent, waited, throttled;
    int64_t online, quota, periods, throttled_periods; /* quota: milli */
    ck_time_t tick;
    double ready;
    double own_rate; /* CPUs that it used, each agent by its own window */
    char cgroup[LIST_BYTES];
};

/* A number of the agent's. What the host counts may step back: less than 0 is
 * 0. One that cannot be true makes *is_sane false. */
static int64_t
number_of(const struct defs_agent *agent, const char *key, bool *is_sane)
{
    int64_t value = defs_exit_number(agent, key, 0);

    if (value > VALUE_MAX) {
        *is_sane = false;
        value = VALUE_MAX;
    }
    return value > 0 ? value : 0;
}

static int64_t sum_of(int64_t a, int64_t b)
{
    return a < VALUE_MAX - b ? a + b : VALUE_MAX;
}

/* "0-3,8" */
static void cpus_parse(const char *text, struct cpus *cpus)
{
    while (*text >= '0' && *text <= '9') {
        char *end;
        unsigned long first = strtoul(text, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        for (unsigned long cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++) {
            cpus->words[cpu / 64] |= UINT64_C(1) << cpu % 64;
        }
        text = *end == ',' ? end + 1 : end;
    }
}

static bool cpus_overlap(const struct cpus *a, const struct cpus *b)
{
    for (size_t i = 0; i < CPUS_MAX / 64; i++) {
        if ((a->words[i] & b->words[i]) != 0) {
            return true;
        }
    }
    return false;
}

static int64_t cpus_count(const struct cpus *cpus)
{
    int64_t count = 0;

    for (size_t i = 0; i < CPUS_MAX / 64; i++) {
        count += __builtin_popcountll(cpus->words[i]);
    }
    return count;
}

static bool part_read(const struct defs_agent *agent, struct part *part)
{
    char list[LIST_BYTES] = "";
    bool is_sane = true;

    *part = (struct part){.domain = agent->domain, .host = agent->host};
    if (agent->exit == NULL) {
        return false;
    }
    part->window = number_of(agent, "load_ns", &is_sane);
    (void)ck_lines_get(agent->exit, strlen(agent->exit), "load_cpus", list,
                       sizeof(list));
    (void)ck_lines_get(agent->exit, strlen(agent->exit), "load_cgroup",
                       part->cgroup, sizeof(part->cgroup));
    cpus_parse(list, &part->cpus);
    part->largest = part->cpus;
    part->is_equal = true;
    if (number_of(agent, "load_life_ns", &is_sane) / WORTH_SEEN >
        part->window) {
        part->window = 0;
    }
    part->tick = number_of(agent, "load_tick_ns", &is_sane);
    part->busy = number_of(agent, "load_busy_ns", &is_sane);
    part->host_busy = number_of(agent, "load_host_ns", &is_sane);
    part->own = number_of(agent, "load_own_ns", &is_sane);
    part->agent = number_of(agent, "load_agent_ns", &is_sane);
    part->waited = number_of(agent, "load_waited_ns", &is_sane);
    part->throttled = number_of(agent, "load_throttled_ns", &is_sane);
    part->online = number_of(agent, "load_online", &is_sane);
    part->quota = number_of(agent, "load_quota_milli", &is_sane);
    part->periods = number_of(agent, "load_periods", &is_sane);
    part->throttled_periods = number_of(agent, "load_throttled", &is_sane);
    part->ready = (double)number_of(agent, "load_ready_milli", &is_sane) / 1000;
    if (!is_sane || part->tick > TICK_MOST || part->window == 0 ||
        cpus_count(&part->cpus) == 0) {
        return false;
    }
    part->own_rate = (double)part->own / (double)part->window;
    return true;
}

/* The quota of both, each a cgroup's: of one group it is one. */
static void quota_join(struct part *group, const struct part *part)
{
    bool is_one = strcmp(group->cgroup, part->cgroup) == 0;

    if (is_one) {
        if (part->throttled > group->throttled) {
            group->periods = part->periods;
            group->throttled_periods = part->throttled_periods;
            group->throttled = part->throttled;
        }
        return;
    }
    group->quota = group->quota > 0 && part->quota > 0
                       ? sum_of(group->quota, part->quota)
                       : 0;
    group->periods = sum_of(group->periods, part->periods);
    group->throttled_periods =
        sum_of(group->throttled_periods, part->throttled_periods);
    group->throttled = sum_of(group->throttled, part->throttled);
}

/* The work on the CPUs of both: where they are the same, as the one saw it that
 * looked longest; else of both, and no more than the host's. */
static void busy_join(struct part *group, const struct part *part)
{
    bool is_equal = memcmp(&group->cpus, &part->cpus, sizeof(part->cpus)) == 0;

    if (is_equal && group->is_equal) {
        group->busy = part->window > group->window ? part->busy : group->busy;
    } else if (memcmp(&group->largest, &part->cpus, sizeof(part->cpus)) != 0) {
        group->is_equal = false;
        group->busy = sum_of(group->busy, part->busy);
        if (cpus_count(&part->cpus) > cpus_count(&group->largest)) {
            group->largest = part->cpus;
        }
    }
    if (part->host_busy > group->host_busy) {
        group->host_busy = part->host_busy;
    }
    if (group->busy > group->host_busy) {
        group->busy = group->host_busy;
    }
}

static void part_join(struct part *group, const struct part *part)
{
    quota_join(group, part);
    busy_join(group, part);
    for (size_t i = 0; i < CPUS_MAX / 64; i++) {
        group->cpus.words[i] |= part->cpus.words[i];
    }
    group->window = part->window > group->window ? part->window : group->window;
    group->own = sum_of(group->own, part->own);
    group->agent = sum_of(group->agent, part->agent);
    group->waited = sum_of(group->waited, part->waited);
    group->ready += part->ready;
    group->own_rate += part->own_rate;
    group->tick = part->tick > group->tick ? part->tick : group->tick;
    group->ranks += part->ranks;
}

enum report_load_verdict cpushortage_judge(const struct report_load *load)
{
    double worth = (double)load->window * load->ranks / WORTH_WAIT;
    double excess = load->ready - load->cpus;

    if (load->window == 0) {
        return REPORT_LOAD_UNKNOWN;
    }
    if ((double)load->throttled_periods * WORTH_THROTTLED >
            (double)load->periods &&
        (double)load->throttled * WORTH_STOPPED > (double)load->window) {
        return REPORT_LOAD_QUOTA;
    }
    if ((double)load->waited <= worth) {
        return REPORT_LOAD_NONE;
    }
    if (excess > CROWD && excess >= load->others) {
        return REPORT_LOAD_OWN;
    }
    return report_has_others(load) ? REPORT_LOAD_OTHERS : REPORT_LOAD_UNCLEAR;
}

static double positive(double value)
{
    return value > 0 ? value : 0;
}

/* Of what others used, in CPUs: ticks, and what an agent that looked for less
 * time than the longest did not see of its own processes. */
static double error_of(const struct part *group)
{
    double window = (double)group->window;
    double unseen = group->own_rate - (double)group->own / window;
    double counted = (double)cpus_count(&group->cpus) + group->ranks;

    return TICKS_CUT * (double)group->tick * counted / window +
           positive(unseen);
}

static void group_report(const struct part *group, struct report_load *load)
{
    double window = (double)group->window;
    double affinity = (double)cpus_count(&group->cpus);

    *load = (struct report_load){
        .limit = affinity < (double)group->online ? REPORT_LIMIT_AFFINITY
                                                  : REPORT_LIMIT_HOST,
        .host = group->host,
        .ranks = group->ranks,
        .window = group->window,
        .cpus = affinity,
        .online = (double)group->online,
        .ready = group->ready,
        .own = (double)group->own / window,
        .others = positive((double)(group->busy - group->own - group->agent) /
                           window),
        .others_error = error_of(group),
        .quota = (double)group->quota / 1000,
        .waited = group->waited,
        .periods = group->periods,
        .throttled_periods = group->throttled_periods,
        .throttled = group->throttled,
    };
    if (load->quota > 0 && load->quota < load->cpus) {
        load->cpus = load->quota;
        load->limit = REPORT_LIMIT_QUOTA;
    }
    load->verdict = cpushortage_judge(load);
}

/* Put the part to a group that it shares CPUs with, else make one of it. A part
 * may bring two groups together: agents are asked in order of ranks, and those
 * of a host mostly have CPUs of their own, or all. */
static void group_find(struct part *parts, size_t *count, struct part *part)
{
    for (size_t i = 0; i < *count; i++) {
        struct part *group = &parts[i];

        if (group->domain == part->domain &&
            cpus_overlap(&group->cpus, &part->cpus)) {
            part_join(group, part);
            return;
        }
    }
    parts[(*count)++] = *part;
}

/* Other CPUs of the host, and the same is true of them. */
static void cpushortage_add(struct report_load *load,
                            const struct report_load *other)
{
    load->ranks += other->ranks;
    load->cpus += other->cpus;
    load->ready += other->ready;
    load->own += other->own;
    load->others += other->others;
    load->others_error += other->others_error;
    load->waited = sum_of(load->waited, other->waited);
}

static void
groups_report(const struct part *groups, size_t count, struct report_load *load)
{
    const struct part *worst = NULL;

    for (size_t i = 0; i < count; i++) {
        ck_time_t lost = groups[i].waited + groups[i].throttled;

        if (worst == NULL || lost > worst->waited + worst->throttled) {
            worst = &groups[i];
        }
    }
    if (worst == NULL) {
        return;
    }
    group_report(worst, load);
    for (size_t i = 0; i < count; i++) {
        struct report_load other;

        if (&groups[i] == worst || groups[i].domain != worst->domain) {
            continue;
        }
        group_report(&groups[i], &other);
        if (other.verdict == load->verdict &&
            load->verdict != REPORT_LOAD_QUOTA) {
            cpushortage_add(load, &other);
        }
    }
    if (load->limit == REPORT_LIMIT_AFFINITY && load->cpus >= load->online) {
        load->limit = REPORT_LIMIT_HOST;
    }
}

/* Is nothing known of some ranks of the host? What they used would be others'.
 */
static bool
is_partly_known(const struct defs *defs, const uint32_t *ranks, uint32_t domain)
{
    struct part part;

    for (size_t i = 0; i < defs->agents_count; i++) {
        if (ranks[i] > 0 && defs->agents[i].domain == domain &&
            !part_read(&defs->agents[i], &part) && part.window == 0) {
            return true;
        }
    }
    return false;
}

void cpushortage_report(const struct defs *defs, struct report *report)
{
    struct part *groups = xcalloc(defs->agents_count + 1, sizeof(*groups));
    uint32_t *ranks = xcalloc(defs->agents_count + 1, sizeof(*ranks));
    size_t count = 0;

    for (size_t r = 0; r < defs->ranks_count; r++) {
        ranks[defs->ranks[r].agent]++;
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        struct part part;

        if (part_read(&defs->agents[i], &part) &&
            !is_partly_known(defs, ranks, part.domain)) {
            part.ranks = ranks[i];
            group_find(groups, &count, &part);
        }
    }
    groups_report(groups, count, &report->load);
    free(groups);
    free(ranks);
}
