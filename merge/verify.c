/* verify.c - does a run hold together, and do the results add up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/verify.h"

#include <inttypes.h>

/* Records that are missing of a rank or of all: how many, or at least. */
static void lost_print(uint64_t lost, bool is_exact, FILE *file)
{
    fprintf(file, "%s%" PRIu64 " records lost in all\n",
            is_exact ? "" : "at least ", lost);
}

/* The files of the run, before what they hold. */
static unsigned verify_files(const struct report *report, FILE *file)
{
    unsigned found = 0;

    if (report->manifest != NULL) {
        fprintf(file, "manifest.json: %s; " REPORT_MANIFEST_UNKNOWN "\n",
                report->manifest);
        found++;
    }
    if (report->gone > 0) {
        fprintf(file,
                "%" PRIu64 " records that were stored, by manifest.json, "
                "are not in the run any more\n",
                report->gone);
        found++;
    }
    return found;
}

static const char *end_text(const struct report_rank *rank)
{
    if (rank->end == REPORT_END_MISSING) {
        return "is not in the run";
    }
    return rank->is_orphan ? "lost its ckagent, and its exit status is unknown"
                           : "has no end record";
}

static unsigned verify_stored(const struct report *report, FILE *file)
{
    unsigned found = verify_files(report, file);

    if (report->damage_places > 0) {
        fprintf(file, "%" PRIu64 " damaged places, first: %s\n",
                report->damage_places, report->damage_first);
        found++;
    }
    if (report->gaps > 0) {
        fprintf(file,
                "%" PRIu64 " gaps in the numbering of streams: %" PRIu64
                " units are missing\n",
                report->gaps, report->gap_units);
        found++;
    }
    for (size_t i = 0; i < report->ranks_count; i++) {
        const struct report_rank *rank = &report->ranks[i];

        if (rank->end == REPORT_END_MISSING ||
            rank->end == REPORT_END_UNKNOWN) {
            fprintf(file, "rank %d %s\n", rank->number, end_text(rank));
            found++;
        }
        if (rank->gaps > 0) {
            fprintf(file,
                    "rank %d%s lacks records: %" PRIu64
                    " gap%s in its streams, ",
                    rank->number,
                    rank->launcher != NULL ? ", or another one of its ckagent,"
                                           : "",
                    rank->gaps, rank->gaps == 1 ? "" : "s");
            lost_print(rank->lost, rank->is_lost_exact, file);
            found++;
        }
        if (rank->is_claimed_twice) {
            fprintf(file, "rank %d is claimed by several agents\n",
                    rank->number);
            found++;
        }
    }
    return found;
}

static unsigned verify_sums(const struct report *report, FILE *file)
{
    ck_time_t kernels = 0;
    unsigned found = 0;

    for (size_t i = 0; i < report->devices_count; i++) {
        const struct report_device *device = &report->devices[i];
        ck_time_t causes = 0;

        for (size_t c = 0; c < CAUSES; c++) {
            causes += device->causes[c];
        }
        if (causes != device->idle) {
            fprintf(file,
                    "device %zu: the causes, %" PRId64
                    " ns, are not its idle time, %" PRId64 " ns\n",
                    i, causes, device->idle);
            found++;
        }
        if (device->busy + device->idle != device->wall ||
            device->compute + device->comm + device->copy != device->busy) {
            fprintf(file,
                    "device %zu: busy %" PRId64 " + idle %" PRId64
                    " is not the region, %" PRId64 " ns\n",
                    i, device->busy, device->idle, device->wall);
            found++;
        }
    }
    for (size_t i = 0; i < report->kernels_count; i++) {
        kernels += report->kernels[i].busy;
    }
    if (kernels != report->all.kernel_busy) {
        fprintf(file,
                "the kernels' shares, %" PRId64
                " ns, are not the devices' kernel time, %" PRId64 " ns\n",
                kernels, report->all.kernel_busy);
        found++;
    }
    return found;
}

/* Between clock domains. */
static unsigned verify_causality(const struct report *report, FILE *file)
{
    const struct report_causality *causality = &report->causality;

    if (report->domains_count < 2) {
        return 0;
    }
    fprintf(file,
            "%" PRIu64 " of %" PRIu64 " receives end before their send "
            "(%" PRIu64 " before alignment), %" PRIu64 " of %" PRIu64
            " collectives are left before the last enters (%" PRIu64 ")\n",
            causality->messages_after, causality->messages,
            causality->messages_before, causality->collectives_after,
            causality->collectives, causality->collectives_before);
    return causality->messages_after + causality->collectives_after > 0;
}

/* What was discarded on request is no fault. */
static void note_kept(const struct report *report, FILE *file)
{
    if (report->kept.ranks > 0) {
        fprintf(file,
                "note: %" PRIu64 " records of %u ranks, the first %" PRId64
                " ns of the run, were discarded on request (--keep)\n",
                report->kept.records, report->kept.ranks,
                report->kept.whole - region_length(report->whole));
    }
}

unsigned verify_print(const struct report *report,
                      uint64_t merged,
                      uint64_t expected,
                      FILE *file)
{
    unsigned found = verify_stored(report, file) + verify_sums(report, file) +
                     verify_causality(report, file);

    note_kept(report, file);
    if (merged != expected) {
        fprintf(file, "%" PRIu64 " of %" PRIu64 " stored events were merged\n",
                merged, expected);
        found++;
    }
    return found;
}
