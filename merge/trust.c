/* trust.c - what is missing, how the clocks were placed, what ck cost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/trust.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clocks/calibration.h"
#include "merge/clocks/clocklack.h"
#include "merge/clocks/clockworst.h"
#include "merge/model/memory.h"
#include "schema/order.h"
#include "schema/store/run.h"

#define GAPS_REASON "damaged, cut off or never arrived"
#define ABSENT_REASON "their segments are not in the run any more"
#define SPOOLS_REASON "kept in a file that is not in this run"
#define SPOOLS_CURE                                                            \
    "copy the file named below into the run directory and run ckmerge again."
#define LOSSES_MORE 4 /* that no agent recorded itself */

/* In a person's words, by enum ck_lost; and what to try. */
static const struct {
    const char *reason;
    const char *cure; /* NULL = nothing known */
} reasons[DEFS_REASONS] = {
    [0] = {"no reason given", NULL},
    [CK_LOST_RING] = {"a thread's ring was full",
                      "a larger --slot-bytes, with room for all threads in "
                      "--ring-bytes and /dev/shm."},
    [CK_LOST_NOSLOT] = {"no ring was free for a thread",
                        "fewer threads at a time, or room for more: a smaller "
                        "--slot-bytes, a larger --ring-bytes, more /dev/shm."},
    [CK_LOST_DEVICE] = {"the device's tracer dropped them", NULL},
    [CK_LOST_SPOOL] = {"outbox and spool were full, or the disk",
                       "a larger --spool-limit, or more room on the disk."},
    [CK_LOST_REENTRY] = {"a signal handler interrupted a recording", NULL},
    [CK_LOST_LIMIT] = {"--limit was reached", NULL},
    [CK_LOST_UNDONE] = {"device work had not completed at exit", NULL},
};

static void loss_add(struct report *report, struct report_loss loss)
{
    uint64_t about = loss.about > loss.records ? loss.about : loss.records;

    if (about > 0) {
        loss.about = loss.about > loss.records ? loss.about : 0;
        report->losses[report->losses_count++] = loss;
        report->lost = defs_sum(report->lost, loss.records);
        report->lost_about = defs_sum(report->lost_about, about);
        report->is_lost_exact = report->is_lost_exact && loss.is_exact;
    }
}

/* What is missing between records that are there, and behind them. */
static void gaps_report(const struct defs *defs, struct report *report)
{
    struct report_loss gaps = {.reason = GAPS_REASON, .is_exact = true};
    struct report_loss kept = {
        .reason = SPOOLS_REASON, .cure = SPOOLS_CURE, .is_exact = true};
    struct report_loss unkept = {.reason = reasons[CK_LOST_SPOOL].reason,
                                 .cure = reasons[CK_LOST_SPOOL].cure,
                                 .is_exact = true};
    struct report_loss absent = {.reason = ABSENT_REASON, .is_exact = true};

    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];
        bool is_any = agent->gaps > 0 || agent->gap_records > 0;

        gaps.records = defs_sum(gaps.records, agent->gap_records);
        gaps.about = defs_sum(gaps.about, agent->gap_about);
        gaps.is_exact = gaps.is_exact && (agent->is_gap_exact || !is_any);
        report->gone += agent->gone;
        report->is_lost_exact = report->is_lost_exact && !agent->is_end_unknown;
    }
    for (size_t i = 0; i < defs->absents_count; i++) {
        absent.records = defs_sum(absent.records, defs->absents[i].records);
    }
    for (size_t i = 0; i < defs->spools_count; i++) {
        const struct defs_spool *spool = &defs->spools[i];
        uint64_t *sum =
            spool->path[0] != '\0' ? &kept.records : &unkept.records;

        *sum = defs_sum(*sum, spool->records);
        unkept.records = defs_sum(unkept.records, spool->lost);
    }
    report->gone += absent.records;
    loss_add(report, kept);
    loss_add(report, unkept);
    loss_add(report, gaps);
    loss_add(report, absent);
}

/* From --limit on the program's libraries do not even count. */
static void losses_report(const struct defs *defs, struct report *report)
{
    report->losses =
        xcalloc(DEFS_REASONS + LOSSES_MORE, sizeof(*report->losses));
    report->is_lost_exact = true;
    for (size_t reason = 0; reason < DEFS_REASONS; reason++) {
        struct report_loss loss = {
            .reason = reasons[reason].reason != NULL ? reasons[reason].reason
                                                     : "an unknown reason",
            .cure = reasons[reason].cure,
            .is_exact = reason != CK_LOST_LIMIT,
        };

        for (size_t i = 0; i < defs->agents_count; i++) {
            loss.records = defs_sum(loss.records, defs->agents[i].lost[reason]);
        }
        loss_add(report, loss);
    }
    gaps_report(defs, report);
}

static void spools_report(const struct defs *defs, struct report *report)
{
    report->spools = xcalloc(defs->spools_count + 1, sizeof(*report->spools));
    for (size_t i = 0; i < defs->spools_count; i++) {
        const struct defs_spool *spool = &defs->spools[i];

        report->spools[i] = (struct report_spool){.rank = spool->rank,
                                                  .host = spool->host,
                                                  .path = spool->path,
                                                  .records = spool->records,
                                                  .lost = spool->lost};
    }
    report->spools_count = defs->spools_count;
}

static void store_report(const struct defs *defs,
                         const struct rundir *store,
                         struct report *report)
{
    const struct rundir_damage *damage = rundir_damage(store);

    report->damage_places += damage->places + damage->batches;
    report->damage_bytes = damage->bytes;
    report->damage_tails = damage->tails;
    if (damage->first[0] != '\0' || report->damage_first == NULL) {
        report->damage_first = damage->first;
    }
    report->manifest = damage->manifest[0] != '\0' ? damage->manifest : NULL;
    report->bytes = rundir_bytes(store);
    report->is_running = rundir_is_running(store);
    report->probes = (struct report_probes){
        .is_said = rundir_probes(store)->is_said,
        .answered = rundir_probes(store)->answered,
        .malformed = rundir_probes(store)->malformed,
        .foreign = rundir_probes(store)->foreign,
        .untagged = rundir_probes(store)->untagged,
        .replayed = rundir_probes(store)->replayed,
    };
    for (size_t i = 0; i < defs->agents_count; i++) {
        report->events += defs->agents[i].events;
        report->unknown += defs->agents[i].unknown;
        report->gaps += defs->agents[i].gaps;
        report->gap_units += defs->agents[i].gap_units;
    }
}

CK_ORDER(time_order, ck_time_t, CK_LESS(*a, *b))

/* An agent of a domain, DEFS_NONE = it has none. */
static uint32_t agent_of(const struct defs *defs, uint32_t domain)
{
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].domain == domain) {
            return i;
        }
    }
    return DEFS_NONE;
}

/* The largest of the parts that one of the report's is made of. */
static ck_time_t bound_most(const ck_time_t *parts)
{
    ck_time_t most = 0;

    for (size_t i = 0; i < CLOCKPARTS / REPORT_BOUNDS; i++) {
        most = parts[i] > most ? parts[i] : most;
    }
    return most == CLOCKMAP_ERROR_UNKNOWN ? -1 : most;
}

/* Median and maximum of a domain's bound over the region, and how it goes. */
static void bound_report(const struct defs *defs,
                         const struct align *align,
                         uint32_t domain,
                         const struct report *report,
                         struct report_domain *row)
{
    const ck_time_t stretch[2] = {report->region.start, report->region.end};
    ck_time_t parts[CLOCKPARTS];
    uint32_t agent = agent_of(defs, domain);

    if (agent != DEFS_NONE &&
        align_bound_parts(align, agent, stretch, parts) == 0) {
        for (size_t i = 0; i < REPORT_BOUNDS; i++) {
            row->bounds[i] =
                bound_most(&parts[i * (CLOCKPARTS / REPORT_BOUNDS)]);
        }
        qsort(parts, CLOCKPARTS, sizeof(*parts), time_order);
        row->bound_median = parts[CLOCKPARTS / 2];
        row->bound_max = parts[CLOCKPARTS - 1];
    }
    if (agent != DEFS_NONE &&
        align_pair_parts(align, agent, agent, stretch, parts) == 0) {
        qsort(parts, CLOCKPARTS, sizeof(*parts), time_order);
        row->doubt = parts[CLOCKPARTS - 1];
    }
    row->grade = calibration_grade(row->bound_max);
}

/* How a domain was probed, by its leader's last records. */
static void
way_report(const struct defs *defs, uint32_t domain, struct report_domain *row)
{
    static const char *const ways[][2] = {
        {"udp", "UDP"}, {"tcp", "TCP"}, {"zmq", "ZeroMQ"}};
    char value[16];

    for (size_t i = 0; i < defs->agents_count; i++) {
        const char *lines = defs->agents[i].exit;
        size_t length = strlen(lines);

        if (defs->agents[i].domain != domain ||
            !ck_lines_get(lines, length, "clock_way", value, sizeof(value))) {
            continue;
        }
        for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
            row->way = strcmp(value, ways[w][0]) == 0 ? ways[w][1] : row->way;
        }
        row->has_stamps = ck_lines_get(lines, length, "clock_stamped", value,
                                       sizeof(value)) &&
                          strcmp(value, "1") == 0;
    }
}

/* The axis may have jumped, too. */
static void faults_report(const struct align *align,
                          uint32_t domain,
                          struct report_domain *row)
{
    size_t count = align_domain(align, domain).clock.band.faults;

    row->faults = xcalloc(count + 1, sizeof(struct ck_clock_fault *));
    for (size_t i = 0; i < count; i++) {
        row->faults[i] = calibration_fault(align_calibration(align), domain, i);
    }
    row->faults_count = count;
}

/* What the probes showed of a domain. */
static void clock_report(const struct align *align,
                         uint32_t domain,
                         struct report_domain *row)
{
    struct calibration_domain clock = align_domain(align, domain).clock;

    row->method = calibration_name(&clock);
    row->is_bounded = clock.method == CALIBRATION_FACTS;
    row->is_probed = row->is_bounded && clock.used[CLOCK_SOURCE_PROBE] > 0;
    if (!row->is_bounded) {
        faults_report(align, domain, row);
        return;
    }
    row->offset = clock.offset;
    row->drift_ppb = clock.drift_ppb;
    row->wander_ppb = clock.wander_ppb;
    row->hidden_ppb = clock.hidden_ppb;
    memcpy(row->used, clock.used, sizeof(row->used));
    row->refuted = clock.dropped;
    if (row->is_probed) {
        row->rtt_min = clock.band.rtt_min;
        row->probes = clock.band.probes;
        row->lost = clock.lost;
        row->dropped = clock.band.dropped;
    }
    faults_report(align, domain, row);
}

/* Times of a domain's own clock on the axis. */
static struct region axis_part(const struct align *align,
                               uint32_t agent,
                               ck_time_t from,
                               ck_time_t to)
{
    return (struct region){axis_time(align_axis(align), agent, false, from),
                           axis_time(align_axis(align), agent, false, to)};
}

/* When its faults and events were, as the report's other times. */
static void times_report(const struct defs *defs,
                         const struct align *align,
                         uint32_t domain,
                         struct report_domain *row)
{
    uint32_t agent = agent_of(defs, domain);

    row->faults_at = xcalloc(row->faults_count + 1, sizeof(*row->faults_at));
    row->watched_at = xcalloc(row->watched_count + 1, sizeof(*row->watched_at));
    for (size_t i = 0; agent != DEFS_NONE && i < row->faults_count; i++) {
        row->faults_at[i] =
            axis_part(align, agent, row->faults[i]->from, row->faults[i]->to);
    }
    for (size_t i = 0; agent != DEFS_NONE && i < row->watched_count; i++) {
        row->watched_at[i] =
            axis_part(align, agent, row->watched[i].from, row->watched[i].to);
    }
}

static void conflicts_report(const struct align *align, struct report *report)
{
    size_t count = 0;

    while (calibration_conflict(align_calibration(align), count) != NULL) {
        count++;
    }
    report->conflicts = xcalloc(count + 1, sizeof(*report->conflicts));
    for (size_t i = 0; i < count; i++) {
        report->conflicts[i] =
            calibration_conflict(align_calibration(align), i);
    }
    report->conflicts_count = count;
}

static void domains_report(const struct defs *defs,
                           const struct align *align,
                           struct report *report)
{
    report->domains =
        xcalloc(defs->domains_count + 1, sizeof(*report->domains));
    report->domains_count = defs->domains_count;
    for (uint32_t i = 0; i < defs->domains_count; i++) {
        struct report_domain *row = &report->domains[i];
        struct align_domain domain = align_domain(align, i);

        row->host = defs->domains[i].host;
        row->machines = defs->domains[i].machines;
        row->believed = defs->domains[i].believed;
        row->checked = defs->domains[i].checked;
        row->is_clone = defs->domains[i].is_clone;
        row->is_calibrated = domain.is_calibrated;
        row->has_place = domain.has_place;
        row->lacks_pairs = domain.lacks_pairs;
        row->bound = domain.bound;
        row->pairs = domain.pairs;
        row->rank = DEFS_RANK_UNKNOWN;
        for (size_t r = defs->ranks_count; r-- > 0;) {
            if (defs->agents[defs->ranks[r].agent].domain == i) {
                row->ranks++;
                row->rank = defs->ranks[r].number;
            }
        }
        if (row->is_calibrated || row->ranks == 0) {
            row->why = NULL;
        } else if (report->inputs_count > 0) {
            row->why = clocklack_text(CLOCKLACK_COMMON);
        } else {
            row->why = clocklack_text(clocklack_find(defs, i));
        }
        way_report(defs, i, row);
        clock_report(align, i, row);
        align_watch(align, i, &row->watched, &row->watched_count);
        times_report(defs, align, i, row);
        bound_report(defs, align, i, report, row);
    }
}

CK_ORDER(away_order, struct report_away, CK_UP(part.start) ?: CK_UP(rank))

/* Of an agent, in the run: what was discarded of it is no part of that. */
static void aways_add(const struct defs_agent *agent,
                      uint32_t index,
                      const struct align *align,
                      int32_t rank,
                      struct report *report)
{
    for (size_t i = 0; i < agent->aways_count; i++) {
        const struct defs_away *away = &agent->aways[i];
        struct region part = {
            axis_time(align_axis(align), index, false, away->start),
            away->length == 0 ? INT64_MAX
                              : axis_time(align_axis(align), index, false,
                                          away->start + away->length)};

        /* An agent with a recorded end was there then. */
        if ((away->length == 0 && agent->has_exit) ||
            part.end <= report->whole.start) {
            continue;
        }
        if (part.start < report->whole.start) {
            part.start = report->whole.start;
        }
        report->aways[report->aways_count++] = (struct report_away){rank, part};
    }
}

static void aways_report(const struct defs *defs,
                         const struct align *align,
                         struct report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < defs->agents_count; i++) {
        count += defs->agents[i].aways_count;
    }
    report->aways = xcalloc(count + 1, sizeof(*report->aways));
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        size_t r = 0;

        while (r < defs->ranks_count &&
               (defs->ranks[r].agent != i || !defs->ranks[r].is_wanted)) {
            r++;
        }
        if (r < defs->ranks_count) {
            aways_add(&defs->agents[i], i, align, defs->ranks[r].number,
                      report);
        }
    }
    qsort(report->aways, report->aways_count, sizeof(*report->aways),
          away_order);
}

static void notes_report(const struct defs *defs, struct report *report)
{
    report->notes = xcalloc(defs->notes_count + 1, sizeof(*report->notes));
    for (size_t i = 0; i < defs->notes_count; i++) {
        report->notes[i].text = defs->notes[i].text;
        report->notes[i].count = defs->notes[i].count;
    }
    report->notes_count = defs->notes_count;
}

/* CPU time of the collectors, from their exit lines. */
static void cost_report(const struct defs *defs, struct report *report)
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        const char *lines = defs->agents[i].exit;
        char value[32];

        if (ck_lines_get(lines, strlen(lines), "agent_cpu_ns", value,
                         sizeof(value))) {
            report->own_cpu += strtoll(value, NULL, 10);
            report->own_cpu_ranks++;
        }
    }
}

/* What the kernel's rings of samples and switches lost. */
static void rings_report(const struct defs *defs, struct report *report)
{
    struct report_samples *samples = &report->samples;

    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];

        samples->records += (uint64_t)defs_exit_number(agent, "samples", 0);
        samples->records_lost +=
            (uint64_t)defs_exit_number(agent, "samples_lost", 0);
        samples->switches += (uint64_t)defs_exit_number(agent, "switches", 0);
        samples->switches_lost +=
            (uint64_t)defs_exit_number(agent, "switches_lost", 0);
    }
}

static void stacks_report(const struct defs *defs, struct report *report)
{
    struct report_stacks *stacks = &report->samples.stacks;
    const struct {
        const char *key;
        uint64_t *sum;
    } sums[] = {
        {"stacks", &stacks->count},
        {"stacks_whole", &stacks->whole},
        {"stacks_cut", &stacks->cut},
        {"stacks_unknown", &stacks->unknown},
        {"stacks_wrong", &stacks->wrong},
        {"stacks_deep", &stacks->deep},
        {"stacks_pointers", &stacks->pointers},
        {"stacks_uncopied", &stacks->uncopied},
        {"stacks_frames", &stacks->frames},
        {"stacks_unread", &stacks->unread},
        {"waits", &stacks->waits},
        {"wait_stacks", &stacks->wait_stacks},
    };

    stacks->bytes_least = UINT64_MAX;
    for (size_t i = 0; i < defs->agents_count; i++) {
        const struct defs_agent *agent = &defs->agents[i];
        uint64_t bytes = (uint64_t)defs_exit_number(agent, "stack_bytes", 0);
        uint64_t depth = (uint64_t)defs_exit_number(agent, "stacks_deepest", 0);

        for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++) {
            *sums[k].sum += (uint64_t)defs_exit_number(agent, sums[k].key, 0);
        }
        stacks->deepest = depth > stacks->deepest ? depth : stacks->deepest;
        stacks->bytes = bytes > stacks->bytes ? bytes : stacks->bytes;
        stacks->bytes_least =
            bytes < stacks->bytes_least ? bytes : stacks->bytes_least;
    }
}

void trust_report(const struct defs *defs,
                  const struct align *align,
                  const struct rundir *store,
                  struct report *report)
{
    store_report(defs, store, report);
    cost_report(defs, report);
    rings_report(defs, report);
    stacks_report(defs, report);
    losses_report(defs, report);
    spools_report(defs, report);
    aways_report(defs, align, report);
    domains_report(defs, align, report);
    clockworst_report(defs, align, report);
    conflicts_report(align, report);
    notes_report(defs, report);
}
