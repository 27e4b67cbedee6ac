/* causality.c - does any message arrive before it was sent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Messages as match.h pairs them; collectives that no rank leaves before all
 * have entered: those in which all send and receive something, and barriers.
 */
#include "merge/clocks/causality.h"

#include <stdlib.h>

#include "merge/messages/collective.h"
#include "merge/messages/match.h"
#include "merge/model/memory.h"

struct causality {
    const struct defs *defs;   /* borrowed */
    const struct align *align; /* borrowed */
    struct matcher *matcher;
    struct collective *collective;
    struct report_causality counts;
};

static uint32_t agent_of(const struct causality *causality, uint32_t process)
{
    return causality->defs->processes[process].agent;
}

static uint32_t domain_of(const struct causality *causality, uint32_t process)
{
    return causality->defs->agents[agent_of(causality, process)].domain;
}

/* A time as its process's clock recorded it. */
static ck_time_t
recorded(const struct causality *causality, uint32_t process, ck_time_t time)
{
    return axis_undo(align_axis(causality->align), agent_of(causality, process),
                     time);
}

static void
message_count(void *state, enum match_news news, const struct match *match)
{
    struct causality *causality = state;
    struct report_causality *counts = &causality->counts;

    if (news != MATCH_RECEIVED ||
        domain_of(causality, match->send.process) ==
            domain_of(causality, match->recv.process)) {
        return;
    }
    counts->messages++;
    counts->messages_after += match->recv.done < match->send.post;
    counts->messages_before +=
        recorded(causality, match->recv.process, match->recv.done) <
        recorded(causality, match->send.process, match->send.post);
}

/* A rank leaves before the last has entered. */
static bool is_backwards(const struct causality *causality,
                         const struct collective_meeting *meeting,
                         bool is_recorded)
{
    ck_time_t enter = INT64_MIN, exit = INT64_MAX;

    for (uint32_t i = 0; i < meeting->size; i++) {
        const struct collective_part *part = &meeting->parts[i];
        ck_time_t in = part->enter, out = part->exit;

        if (is_recorded) {
            in = recorded(causality, part->process, in);
            out = recorded(causality, part->process, out);
        }
        enter = in > enter ? in : enter;
        exit = out < exit ? out : exit;
    }
    return exit < enter;
}

static void collective_count(void *state,
                             const struct collective_meeting *meeting)
{
    struct causality *causality = state;
    bool has_domains = false;

    if (meeting->role != COLLECTIVE_BARRIER &&
        (meeting->role != COLLECTIVE_ALL || !meeting->has_bytes ||
         meeting->is_sparse)) {
        return;
    }
    for (uint32_t i = 1; i < meeting->size; i++) {
        has_domains =
            has_domains || domain_of(causality, meeting->parts[i].process) !=
                               domain_of(causality, meeting->parts[0].process);
    }
    if (has_domains) {
        causality->counts.collectives++;
        causality->counts.collectives_before +=
            is_backwards(causality, meeting, true);
        causality->counts.collectives_after +=
            is_backwards(causality, meeting, false);
    }
}

struct causality *causality_create(const struct defs *defs,
                                   const struct align *align)
{
    struct causality *causality = xcalloc(1, sizeof(*causality));

    causality->defs = defs;
    causality->align = align;
    causality->matcher = matcher_create(defs, message_count, causality);
    causality->collective =
        collective_create(defs, collective_count, causality);
    return causality;
}

void causality_destroy(struct causality *causality)
{
    if (causality == NULL) {
        return;
    }
    matcher_destroy(causality->matcher);
    collective_destroy(causality->collective);
    free(causality);
}

int causality_take(void *state, const struct timeline_event *event)
{
    struct causality *causality = state;
    struct collective_call call;

    if (event->rank < 0 || causality->defs->domains_count < 2 ||
        (event->record->flags & CK_FLAG_CUT) != 0) {
        return 0;
    }
    if (event->record->kind == CK_KIND_COLLECTIVE &&
        (event->record->flags & CK_FLAG_FAILED) == 0) {
        collective_enter(causality->collective, event, 0, &call);
        return 0;
    }
    matcher_take(causality->matcher, event, 0);
    return 0;
}

void causality_report(struct causality *causality, struct report *report)
{
    struct match_counts counts = matcher_counts(causality->matcher);

    causality->counts.unmatched =
        counts.sends + counts.receives - 2 * counts.matched;
    report->causality = causality->counts;
}
