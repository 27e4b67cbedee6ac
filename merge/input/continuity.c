/* continuity.c - what is missing from the streams of a run, by positions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/continuity.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"
#include "schema/store/run.h"

/* More records than any run has: sums of such guesses stay in range. */
#define GUESS_MAX 0x1p48

/* By position; of equal ones the longer first, of those the fuller: a thin one
 * may be beside the one that it is of. */
CK_ORDER(by_position,
         struct store_frame,
         CK_UP(first) ?: CK_DOWN(units) ?: CK_DOWN(records))

/* Only a ring's records are cut anew, by the next collector. Collectors' own
 * frames with units in common are one frame, or a false one is among them: what
 * is trimmed then is nowhere else. */
static void
overlap_check(struct rundir_stream *stream, size_t at, uint64_t next)
{
    const struct store_frame *frame = &stream->frames[at];
    const struct store_frame *before = at > 0 ? frame - 1 : frame;
    bool is_same = frame->first == before->first &&
                   frame->units == before->units &&
                   (frame->records == before->records || frame->is_thin ||
                    before->is_thin);

    if (stream->slot == CK_SLOT_COLLECTOR && frame->first < next &&
        frame->units > 0 && !is_same) {
        uint64_t units = next - frame->first;

        stream->gaps++;
        stream->gap_units += units < frame->units ? units : frame->units;
    }
}

void continuity_trim(struct rundir_stream *stream)
{
    uint64_t next = 0;
    size_t kept = 0;

    qsort(stream->frames, stream->frames_count, sizeof(*stream->frames),
          by_position);
    for (size_t i = 0; i < stream->frames_count; i++) {
        struct store_frame frame = stream->frames[i];

        if (i == 0) {
            next = frame.first;
        }
        overlap_check(stream, i, next);
        if (frame.first <= next && frame.first + frame.units <= next && i > 0) {
            stream->has_overlap = true;
            continue;
        }
        if (frame.first < next) {
            frame.trim = (uint32_t)(next - frame.first);
            stream->has_overlap = true;
        }
        next = frame.first + frame.units;
        stream->frames[kept++] = frame;
    }
    stream->frames_count = kept;
    stream->begin = kept > 0 ? stream->frames[0].first : 0;
    stream->end = next;
}

/* By agent and slot, then in the order of their positions. */
CK_ORDER_POINTERS(by_slot,
                  struct rundir_stream,
                  CK_UP(agent) ?: CK_UP(slot) ?: CK_UP(begin))

/* NULL where there is none. */
static struct rundir_stream **slots_sort(struct rundir_stream *streams,
                                         size_t count)
{
    struct rundir_stream **sorted =
        count > 0 ? xcalloc(count, sizeof(struct rundir_stream *)) : NULL;

    for (size_t i = 0; i < count; i++) {
        sorted[i] = &streams[i];
    }
    if (count > 0) {
        qsort(sorted, count, sizeof(struct rundir_stream *), by_slot);
    }
    return sorted;
}

/* Where the streams of the next slot begin. */
static size_t
slot_end(struct rundir_stream *const *sorted, size_t count, size_t at)
{
    size_t end = at;

    while (end < count && sorted[end]->agent == sorted[at]->agent &&
           sorted[end]->slot == sorted[at]->slot) {
        end++;
    }
    return end;
}

/* A frame among those of its slot. */
struct placed {
    uint64_t first; /* of its frame */
    struct rundir_stream *stream;
    const struct store_frame *frame;
};

CK_ORDER(by_first, struct placed, CK_UP(first))

/* What is not there between the frames of a slot, in their order. */
static void slot_walk(const struct placed *placed, size_t count)
{
    bool was_thin = false;
    uint64_t next = 0;

    for (size_t i = 0; i < count; i++) {
        const struct store_frame *frame = placed[i].frame;
        struct rundir_stream *stream = placed[i].stream;
        uint64_t from = frame->first + frame->trim - frame->lead;
        uint64_t end = frame->first + frame->units;

        if (from > next && frame == stream->frames) {
            stream->before = from - next;
        } else if (from > next && (frame->is_thin || was_thin)) {
            stream->discarded += from - next;
        } else if (from > next) {
            stream->gaps++;
            stream->gap_units += from - next;
        }
        stream->has_overlap |= from < next;
        next = end > next ? end : next;
        was_thin = frame->is_thin;
    }
}

void continuity_slots(struct rundir_stream *streams, size_t count)
{
    struct rundir_stream **sorted = slots_sort(streams, count);
    struct placed *placed = NULL;
    size_t room = 0, end;

    for (size_t at = 0; at < count; at = end) {
        size_t used = 0;

        end = slot_end(sorted, count, at);
        for (size_t i = at; i < end; i++) {
            for (size_t f = 0; f < sorted[i]->frames_count; f++) {
                array_grow(&placed, &room, used, sizeof(*placed));
                placed[used++] =
                    (struct placed){sorted[i]->frames[f].first, sorted[i],
                                    &sorted[i]->frames[f]};
            }
        }
        if (end - at > 1) { /* else in order already */
            qsort(placed, used, sizeof(*placed), by_first);
        }
        slot_walk(placed, used);
    }
    free(placed);
    free(sorted);
}

static void gap_count(struct defs_agent *agent, uint64_t gaps, uint64_t units)
{
    agent->gaps += gaps;
    agent->gap_units = defs_sum(agent->gap_units, units);
}

/* Units behind the last stored ones of its slots; `ends` = of all slots. What
 * the agent itself reports as left out at the end is no news. */
static void tail_check(struct defs_agent *agent, uint64_t ends)
{
    const char *lines = agent->has_exit ? agent->exit : "";
    char value[32];
    uint64_t units;

    if (agent->lost[CK_LOST_SPOOL] > 0 || agent->lost[CK_LOST_LIMIT] > 0 ||
        !ck_lines_get(lines, strlen(lines), "units", value, sizeof(value))) {
        return;
    }
    units = strtoull(value, NULL, 10);
    if (units > ends) {
        gap_count(agent, 1, units - ends);
        agent->is_tail_lost = true;
    }
}

/* Records that were in the gaps, by their size: taken to be as large as those
 * that are there. A collector without room to store counts what it drops, and
 * leaves a gap as well. */
static uint64_t records_guess(const struct defs_agent *agent)
{
    uint64_t said = agent->lost[CK_LOST_SPOOL];
    uint64_t records = agent->gap_units;

    if (agent->units > 0) {
        double guess = (double)agent->gap_units * (double)agent->records /
                       (double)agent->units;

        records = guess < GUESS_MAX ? (uint64_t)guess : (uint64_t)GUESS_MAX;
    }
    if (records > (uint64_t)GUESS_MAX) {
        records = (uint64_t)GUESS_MAX;
    }
    if (records < agent->gaps) {
        records = agent->gaps;
    }
    return records > said ? records - said : 0;
}

static uint64_t exit_number(const struct defs_agent *agent, const char *key)
{
    return (uint64_t)defs_exit_number(agent, key, 0);
}

/* Records that are missing at least by the agent's EXIT: it had
 * made frames of `events`, before that of its EXIT. What it dropped of these
 * is counted apart. */
static uint64_t records_short(const struct defs_agent *agent)
{
    uint64_t there = defs_sum(
        agent->records - agent->records_late,
        defs_sum(agent->lost[CK_LOST_SPOOL], agent->discarded.records));
    uint64_t made = exit_number(agent, "events");

    return made > there && !agent->has_overlap ? made - there : 0;
}

/* Is that all? One collector counted, left nothing out, and no one recovered
 * more of its slots; `ends` = of all slots. */
static bool is_short_exact(const struct defs_agent *agent, uint64_t ends)
{
    return exit_number(agent, "collectors") == 1 &&
           ends <= exit_number(agent, "units") && !agent->has_overlap &&
           agent->unknown == 0 && agent->discarded.segments == 0 &&
           agent->lost[CK_LOST_SPOOL] == 0 && agent->lost[CK_LOST_LIMIT] == 0;
}

/* Records that are missing: those that the manifest had seen and are there no
 * more, and those of frames that do not decode. That is all when nothing else
 * is missing, and nothing might be there in another file. Else the agent's own
 * count holds. */
static void records_count(struct defs_agent *agent, uint64_t ends)
{
    uint64_t known = agent->undecoded;
    uint64_t gone = agent->is_told && agent->told > agent->stored
                        ? agent->told - agent->stored
                        : 0;

    if (!agent->has_spool) {
        known += gone;
    }
    agent->is_gap_exact = agent->is_told && agent->told >= agent->stored &&
                          agent->told_missing == 0 && !agent->has_spool &&
                          !agent->has_overlap;
    agent->gap_records = agent->gap_about = known;
    agent->gone = agent->is_gap_exact ? known : 0;
    if (!agent->is_gap_exact && is_short_exact(agent, ends)) {
        agent->gap_records = agent->gap_about = records_short(agent);
        agent->is_gap_exact = true;
    } else if (!agent->is_gap_exact && agent->gaps > 0) {
        uint64_t shortage = records_short(agent);

        agent->gap_about = records_guess(agent);
        known = shortage > known ? shortage : known;
        agent->gap_records = known;
        if (known == 0 && agent->gap_about > 0 &&
            agent->lost[CK_LOST_SPOOL] == 0) {
            agent->gap_records = agent->gaps;
        }
        if (agent->gap_about < agent->gap_records) {
            agent->gap_about = agent->gap_records;
        }
    }
}

/* Of a slot. */
struct slot_sums {
    uint64_t end;       /* position behind its last unit */
    uint64_t discarded; /* units that are missing where some were discarded */
};

/* More is missing there than was discarded, or never came. */
static void discarded_check(struct defs_agent *agent, uint64_t units)
{
    uint64_t known = agent->discarded.units + agent->told_missing;

    if (units > known) {
        gap_count(agent, 1, units - known);
    }
}

/* The streams of one slot. */
static struct slot_sums slot_check(struct rundir_stream *const *sorted,
                                   size_t count,
                                   struct defs_agent *agent)
{
    struct slot_sums sums = {0};

    for (size_t i = 0; i < count; i++) {
        const struct rundir_stream *stream = sorted[i];

        if (stream->before > 0 && agent->discarded.segments > 0) {
            sums.discarded = defs_sum(sums.discarded, stream->before);
        } else if (stream->before > 0) {
            gap_count(agent, 1, stream->before);
        }
        sums.discarded = defs_sum(sums.discarded, stream->discarded);
        agent->has_overlap |= stream->has_overlap;
        gap_count(agent, stream->gaps, stream->gap_units);
        if (stream->end > sums.end) {
            sums.end = stream->end;
        }
    }
    return sums;
}

static struct defs_agent *agent_find(struct defs *defs, const uint8_t id[16])
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (memcmp(defs->agents[i].id, id, sizeof(defs->agents[i].id)) == 0) {
            return &defs->agents[i];
        }
    }
    return NULL;
}

static void absent_add(struct defs *defs, const struct manifest_agent *told)
{
    struct defs_absent *absent;

    array_grow(&defs->absents, &defs->absents_room, defs->absents_count,
               sizeof(*absent));
    absent = &defs->absents[defs->absents_count++];
    ck_run_agent_hex(told->id, absent->hex);
    absent->rank = told->rank;
    absent->records = told->records;
}

/* Records that an agent reported as kept, where its last ones are not here:
 * they are beside it. `agent`: NULL = nothing of it is. */
static void spool_take(struct defs *defs,
                       const struct manifest_agent *told,
                       struct defs_agent *agent)
{
    uint64_t there = agent == NULL ? 0 : agent->records;
    /* What it dropped may have been stored all the same. */
    uint64_t lost = defs_sum(agent == NULL ? 0 : defs_lost(agent),
                             there > told->made ? there - told->made : 0);
    struct defs_spool spool = {
        .rank = told->rank,
        .records = told->made > there ? told->made - there : 0,
        .lost = told->lost > lost ? told->lost - lost : 0,
    };
    const char *host = told->host == NULL ? "" : told->host;
    /* One that is here has no more to give. */
    const char *path = agent != NULL && agent->has_spool ? "" : told->spool;

    if (told->spool == NULL || (agent != NULL && agent->has_exit)) {
        return;
    }
    spool.host = texts_keep(defs->texts, host, strlen(host));
    spool.path = texts_keep(defs->texts, path, strlen(path));
    array_grow(&defs->spools, &defs->spools_room, defs->spools_count,
               sizeof(spool));
    defs->spools[defs->spools_count++] = spool;
    if (agent != NULL) {
        agent->elsewhere = defs_sum(spool.records, spool.lost);
    }
}

/* Its last records are missing, and what it had was not recovered: how much
 * that is, is not known. */
static bool is_end_unknown(const struct manifest_agent *told,
                           const struct defs_agent *agent)
{
    for (size_t i = 0; i < agent->aways_count; i++) {
        if (agent->aways[i].length == 0) {
            return false; /* without a collector to its end: recovered */
        }
    }
    return !agent->has_exit && told->has_made && !told->is_left &&
           told->spool == NULL;
}

void continuity_tell(const struct manifest *manifest, struct defs *defs)
{
    if (!manifest->is_read || !manifest->is_final) {
        return;
    }
    for (size_t i = 0; i < manifest->agents_count; i++) {
        const struct manifest_agent *told = &manifest->agents[i];
        struct defs_agent *agent = agent_find(defs, told->id);

        spool_take(defs, told, agent);
        if (agent == NULL) {
            if (told->records > 0) {
                absent_add(defs, told);
            }
            continue;
        }
        agent->is_told = true;
        agent->told = told->records;
        agent->told_missing = told->missing_units;
        agent->is_end_unknown = is_end_unknown(told, agent);
    }
}

void continuity_check(struct rundir_stream *streams,
                      size_t count,
                      struct defs *defs)
{
    struct rundir_stream **sorted = slots_sort(streams, count);
    struct slot_sums *ends = xcalloc(defs->agents_count + 1, sizeof(*ends));
    size_t end;

    for (size_t at = 0; at < count; at = end) {
        uint32_t agent = sorted[at]->agent;
        struct slot_sums sums;

        end = slot_end(sorted, count, at);
        sums = slot_check(&sorted[at], end - at, &defs->agents[agent]);
        if (sorted[at]->slot < CK_SLOT_AGGREGATOR) {
            ends[agent].end = defs_sum(ends[agent].end, sums.end);
        }
        ends[agent].discarded = defs_sum(ends[agent].discarded, sums.discarded);
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        discarded_check(&defs->agents[i], ends[i].discarded);
        tail_check(&defs->agents[i], ends[i].end);
        records_count(&defs->agents[i], ends[i].end);
    }
    free(sorted);
    free(ends);
}
