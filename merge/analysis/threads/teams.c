/* teams.c - parallel regions: who worked, who waited, who was last
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The record of a region comes before those of its parts, with its end. A
 * region is over when the merge has passed that.
 */
#include "merge/analysis/threads/teams.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/evidence.h"
#include "merge/analysis/threads/team.h"
#include "merge/analysis/threads/teamrows.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"

/* Times of late threads that are kept of a process. */
#define LATE_KEPT 64
/* A damaged run alone has more: regions that are not over, parts of them, and
 * threads of one team. */
#define OPEN_MAX 65536
#define PARTS_MAX (1u << 19)
#define MEMBERS_MAX UINT16_MAX

/* While threads of a team waited for its last one. */
struct late {
    struct region part;
    uint32_t row;
};

struct process {
    struct team **teams; /* that are not over, in order of their begins */
    size_t count, room;
    struct late *late; /* LATE_KEPT; NULL = none yet */
    size_t late_next;
    uint32_t master;     /* thread that begins outermost regions */
    ck_time_t busy;      /* until then an outermost region runs */
    ck_time_t mpi_until; /* the master is in a call of MPI */
    bool has_any;
};

/* What a thread of the definitions is in. */
struct member {
    struct team_seat seat; /* in the innermost region */
    uint32_t begun;        /* regions that it began, not over */
};

/* A region that is not over. */
struct due {
    struct team *team;
    uint64_t order; /* of the begins */
};

struct teams {
    const struct defs *defs;       /* borrowed */
    const struct history *history; /* borrowed */
    struct region region;
    struct teamrows *rows;
    struct process *processes; /* by number in the definitions */
    struct member *members;    /* by thread of the definitions */
    struct due *dues;          /* a heap, the earliest end first */
    size_t open, dues_room;
    size_t parts; /* of regions that are not over */
    uint64_t begun;
    uint64_t astray, shorts, tasks, nested;
};

struct teams *teams_create(const struct defs *defs,
                           const struct history *history,
                           struct region region)
{
    struct teams *teams = xcalloc(1, sizeof(*teams));

    teams->defs = defs;
    teams->history = history;
    teams->region = region;
    teams->rows = teamrows_create(defs, region);
    teams->processes =
        xcalloc(defs->processes_count + 1, sizeof(*teams->processes));
    for (size_t i = 0; i < defs->processes_count; i++) {
        teams->processes[i].master = DEFS_NONE;
    }
    teams->members = xcalloc(defs->threads_count + 1, sizeof(*teams->members));
    return teams;
}

void teams_destroy(struct teams *teams)
{
    if (teams == NULL) {
        return;
    }
    for (size_t i = 0; i < teams->open; i++) {
        team_fini(teams->dues[i].team);
        free(teams->dues[i].team);
    }
    for (size_t i = 0; i < teams->defs->processes_count; i++) {
        free(teams->processes[i].teams);
        free(teams->processes[i].late);
    }
    free(teams->processes);
    free(teams->members);
    free(teams->dues);
    teamrows_destroy(teams->rows);
    free(teams);
}

/* ---- when regions are over ---------------------------------------------- */

static bool is_earlier(const struct due *a, const struct due *b)
{
    return a->team->part.end != b->team->part.end
               ? a->team->part.end < b->team->part.end
               : a->order < b->order;
}

static void due_add(struct teams *teams, struct team *team)
{
    struct due due = {team, teams->begun++};
    size_t at = teams->open;

    array_grow(&teams->dues, &teams->dues_room, teams->open,
               sizeof(*teams->dues));
    teams->open++;
    for (; at > 0 && is_earlier(&due, &teams->dues[(at - 1) / 2]);
         at = (at - 1) / 2) {
        teams->dues[at] = teams->dues[(at - 1) / 2];
    }
    teams->dues[at] = due;
}

/* Take the earliest one away. */
static void due_drop(struct teams *teams)
{
    struct due *dues = teams->dues;
    struct due last = dues[--teams->open];
    size_t at = 0, child;

    for (; (child = at * 2 + 1) < teams->open; at = child) {
        child += child + 1 < teams->open &&
                 is_earlier(&dues[child + 1], &dues[child]);
        if (!is_earlier(&dues[child], &last)) {
            break;
        }
        dues[at] = dues[child];
    }
    dues[at] = last;
}

/* ---- who is in which ---------------------------------------------------- */

/* The part that the thread has in the team; NULL = none. */
static struct team_part *
part_of(const struct teams *teams, const struct team *team, uint32_t thread)
{
    struct team_seat seat = teams->members[thread].seat;

    while (seat.team != NULL && seat.team != team) {
        seat = seat.team->parts[seat.number].outer;
    }
    return seat.team == NULL ? NULL : &seat.team->parts[seat.number];
}

static void seat_take(struct teams *teams, struct team *team, uint32_t number)
{
    struct team_part *part = &team->parts[number];
    struct member *member = &teams->members[part->thread];

    part->outer = member->seat;
    member->seat = (struct team_seat){team, number};
}

static void seat_leave(struct teams *teams, struct team_part *part)
{
    struct team_seat *seat = &teams->members[part->thread].seat;

    while (&seat->team->parts[seat->number] != part) {
        seat = &seat->team->parts[seat->number].outer;
    }
    *seat = part->outer;
}

/* The team is no longer among those of its process, nor is any thread in it. */
static void team_leave(struct teams *teams, struct team *team)
{
    struct process *process = &teams->processes[team->process];
    size_t at = process->count;

    for (uint32_t i = 0; i < team->parts_count; i++) {
        if (team->parts[i].thread != DEFS_NONE) {
            seat_leave(teams, &team->parts[i]);
        }
    }
    teams->members[team->thread].begun--;
    while (process->teams[--at] != team) {
    }
    process->count--;
    memmove(&process->teams[at], &process->teams[at + 1],
            (process->count - at) * sizeof(struct team *));
}

/* ---- the end of a region ------------------------------------------------ */

static struct team_taker taker_of(struct teams *teams)
{
    return (struct team_taker){teamrows_take, teams->rows};
}

/* From when the first thread was at the end. */
static ck_time_t first_done(const struct team *team)
{
    ck_time_t first = INT64_MAX;

    for (uint32_t i = 0; i < team->parts_count; i++) {
        if (team->parts[i].thread != DEFS_NONE && team->parts[i].end < first) {
            first = team->parts[i].end;
        }
    }
    return first;
}

static void team_close(struct teams *teams, struct team *team)
{
    struct process *process = &teams->processes[team->process];
    struct team_taker taker = taker_of(teams);
    uint32_t last;
    ck_time_t done = team_done(team, &last);
    struct late late = {{first_done(team), done}, team->row};

    team_end(team, &taker);
    if (last != DEFS_NONE) {
        teamrows_last(teams->rows, team, last, done);
    }
    if (last != DEFS_NONE && team->level == 0 &&
        late.part.start < late.part.end) {
        if (process->late == NULL) {
            process->late = xcalloc(LATE_KEPT, sizeof(*process->late));
        }
        process->late[process->late_next++ % LATE_KEPT] = late;
    }
    teamrows_over(teams->rows, team);
    teams->parts -= team->parts_count;
    team_leave(teams, team);
    team_fini(team);
    free(team);
}

/* Regions that ended before `now`. */
static void teams_close(struct teams *teams, ck_time_t now)
{
    while (teams->open > 0 && teams->dues[0].team->part.end < now) {
        struct team *team = teams->dues[0].team;

        due_drop(teams);
        team_close(teams, team);
    }
}

/* ---- records of teams --------------------------------------------------- */

static struct team *
team_of(struct teams *teams, uint32_t process, uint32_t number)
{
    struct process *owner = &teams->processes[process];

    for (size_t i = owner->count; i-- > 0;) {
        if (owner->teams[i]->number == number) {
            return owner->teams[i];
        }
    }
    return NULL;
}

/* The outermost region of a process begins. */
static void outermost_take(struct teams *teams, const struct team *team)
{
    struct process *process = &teams->processes[team->process];

    if (process->master == DEFS_NONE) {
        process->master = team->thread;
    }
    teamrows_begun(teams->rows, team,
                   team->part.start < process->busy &&
                       team->thread != process->master);
    if (team->part.end > process->busy) {
        process->busy = team->part.end;
    }
}

/* The thread's part of the team, with that number in it. */
static void part_take(struct teams *teams,
                      struct team *team,
                      const struct timeline_event *event,
                      uint32_t number)
{
    size_t before = team->parts_count;
    struct team_part *part =
        teams->parts >= PARTS_MAX ? NULL : team_part(team, number);

    teams->parts += team->parts_count - before;
    if (part == NULL || part->thread != DEFS_NONE) {
        teams->astray++;
        return;
    }
    if (part_of(teams, team, event->thread) != NULL) {
        teams->astray++; /* one thread has one part */
        return;
    }
    part->thread = event->thread;
    team_begin(team, part, (struct region){event->start, event->end});
    seat_take(teams, team, number);
    if (part->start > part->at) {
        teamrows_take(teams->rows, team, part, REPORT_TEAM_FORK, DEFS_NONE,
                      (struct region){part->at, part->start});
        part->at = part->start;
    }
}

static void region_take(struct teams *teams, const struct timeline_event *event)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct process *process = &teams->processes[event->process];
    struct team *team;

    if (record->size > MEMBERS_MAX || teams->open == OPEN_MAX) {
        teams->astray++;
        return;
    }
    team = xmalloc(sizeof(*team));
    *team = (struct team){
        .process = event->process,
        .number = record->region,
        .level = record->level,
        .size = record->size == 0 ? 1 : record->size,
        .thread = event->thread,
        .part = {event->start, event->end},
    };
    team_init(team);
    team->row = teamrows_region(
        teams->rows, team_of(teams, event->process, record->outer), event);
    teams->nested += record->level > 0;
    array_grow(&process->teams, &process->room, process->count,
               sizeof(struct team *));
    process->teams[process->count++] = team;
    process->has_any = true;
    due_add(teams, team);
    teams->members[event->thread].begun++;
    if (record->level == 0) {
        outermost_take(teams, team);
    }
    if ((record->number & CK_TEAM_ALONE) != 0) {
        part_take(teams, team, event, 0);
        teams->shorts += record->number & ~CK_TEAM_ALONE;
    }
}

static void barrier_take(struct teams *teams,
                         struct team *team,
                         uint32_t row,
                         const struct timeline_event *event)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct team_meeting meeting;

    if (record->number != 0 &&
        team_meet(team, record->number, row, record->thread, event->start,
                  &meeting)) {
        teamrows_meeting(teams->rows, team, &meeting);
    }
}

/* A thread's wait, or a task that it ran. */
static void item_take(struct teams *teams,
                      struct team *team,
                      const struct timeline_event *event)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct team_taker taker = taker_of(teams);
    struct team_part *part = part_of(teams, team, event->thread);
    struct team_item item = {REPORT_TEAM_WORK, DEFS_NONE, event->end};

    switch (event->record->kind) {
    case CK_KIND_TEAM_BARRIER:
        item.state = REPORT_TEAM_BARRIER;
        break;
    case CK_KIND_TEAM_LOCK:
        item.state = REPORT_TEAM_LOCK;
        break;
    case CK_KIND_TEAM_AWAIT:
        item.state = REPORT_TEAM_AWAIT;
        break;
    default:
        teams->tasks++;
        break;
    }
    if (item.state != REPORT_TEAM_WORK) {
        item.row = teamrows_wait(teams->rows, team, event, item.state);
    }
    if (item.state == REPORT_TEAM_BARRIER && record->region == team->number) {
        barrier_take(teams, team, item.row, event);
    }
    if (part == NULL) {
        teams->astray++;
        return;
    }
    if (item.state == REPORT_TEAM_WORK) {
        team_worked(team, part, event->end);
    }
    team_enter(team, part, event->start, item, &taker);
}

static void record_take(struct teams *teams, const struct timeline_event *event)
{
    const struct ck_team *record = (const struct ck_team *)event->record;
    struct team *team;

    if (event->record->kind == CK_KIND_TEAM_REGION) {
        region_take(teams, event);
        return;
    }
    if (record->region == 0) {
        return; /* a lock outside of regions: locks.c */
    }
    team = team_of(teams, event->process, record->region);
    if (team == NULL) {
        teams->astray++;
    } else if (event->record->kind == CK_KIND_TEAM_PART) {
        part_take(teams, team, event, record->thread);
        teams->shorts += record->number;
    } else {
        item_take(teams, team, event);
    }
}

/* ---- what else threads of teams do -------------------------------------- */

/* A call of MPI, or a wait for a lock of libc, in each region that the thread
 * is in. */
static void call_take(struct teams *teams,
                      const struct timeline_event *event,
                      enum report_team_state state)
{
    struct process *process = &teams->processes[event->process];
    struct team_taker taker = taker_of(teams);
    bool is_named = false;

    if (state == REPORT_TEAM_MPI && event->thread == process->master &&
        event->end > process->mpi_until) {
        process->mpi_until = event->end;
    }
    for (struct team_seat seat = teams->members[event->thread].seat;
         seat.team != NULL; seat = seat.team->parts[seat.number].outer) {
        struct team_item item = {state, DEFS_NONE, event->end};

        if (state == REPORT_TEAM_LOCK && !is_named) {
            item.row = teamrows_wait(teams->rows, seat.team, event, state);
            is_named = true; /* for the innermost region */
        }
        team_enter(seat.team, &seat.team->parts[seat.number], event->start,
                   item, &taker);
    }
}

/* By its records it waits for others, with no task. */
static bool is_waiting(const struct team_part *part,
                       const struct team_item *top,
                       ck_time_t now)
{
    return top == NULL || top->end <= now ? now >= part->end
                                          : top->state == REPORT_TEAM_BARRIER ||
                                                top->state == REPORT_TEAM_AWAIT;
}

/* A sample of a thread in one of the regions that it is in. */
static void part_sampled(struct teams *teams,
                         struct team_seat seat,
                         ck_time_t now,
                         const struct evidence_item *item)
{
    const struct team *team = seat.team;
    const struct team_part *part = &team->parts[seat.number];
    const struct team_item *top =
        part->depth == 0 ? NULL : &part->items[part->depth - 1];
    bool is_over = top == NULL || top->end <= now;
    uint32_t row;

    if (is_waiting(part, top, now) && evidence_is_work(teams->defs, item)) {
        teamrows_worked(teams->rows, team, is_over ? DEFS_NONE : top->row,
                        item->weight);
    }
    if ((is_over ? now < part->end : top->state == REPORT_TEAM_WORK) &&
        team_is_awaited(team, part, now, &row) &&
        !evidence_is_team(teams->defs, item)) {
        teamrows_did(teams->rows, team, row, *item);
    }
}

static void sample_take(struct teams *teams, const struct timeline_event *event)
{
    const struct ck_sample *record = (const struct ck_sample *)event->record;
    struct evidence_item item = {.kind = EVIDENCE_SAMPLE,
                                 .b = (uint32_t)record->stack,
                                 .weight = record->weight};
    uint32_t thread =
        history_told(teams->history, teams->defs, event, record->tid);
    const struct member *member;
    const struct process *process;

    if (thread == HISTORY_NONE || record->weight <= 0) {
        return;
    }
    item.a = teams->defs->threads[thread].process;
    member = &teams->members[thread];
    for (struct team_seat seat = member->seat; seat.team != NULL;
         seat = seat.team->parts[seat.number].outer) {
        part_sampled(teams, seat, event->start, &item);
    }
    process = &teams->processes[item.a];
    if (!process->has_any || member->seat.team != NULL || member->begun > 0 ||
        event->start < process->mpi_until) {
        return;
    }
    if (thread == process->master) {
        teamrows_serial(teams->rows, item);
    } else if (evidence_is_work(teams->defs, &item)) {
        teamrows_unseen(teams->rows, thread, &item);
    }
}

static bool is_lock_call(const char *name)
{
    return name != NULL && (strncmp(name, "pthread_mutex_", 14) == 0 ||
                            strncmp(name, "pthread_rwlock_", 15) == 0);
}

void teams_take(void *state, const struct timeline_event *event)
{
    struct teams *teams = state;
    unsigned kind = event->record->kind;
    bool is_member = event->process < teams->defs->processes_count &&
                     event->thread < teams->defs->threads_count;

    teams_close(teams, event->start);
    switch (ck_kind_class(kind)) {
    case CK_CLASS_TEAM:
        if (is_member) {
            record_take(teams, event);
        }
        break;
    case CK_CLASS_SAMPLE:
        if (kind == CK_KIND_SAMPLE && event->start >= teams->region.start &&
            event->start < teams->region.end) {
            sample_take(teams, event);
        }
        break;
    case CK_CLASS_MESSAGE:
    case CK_CLASS_COLLECTIVE:
    case CK_CLASS_CALL:
        if (!is_member || ck_kind_is_about_call(kind) ||
            teams->processes[event->process].has_any == false) {
            break;
        }
        if (ck_kind_class(kind) != CK_CLASS_CALL || kind == CK_KIND_MPI_CALL) {
            call_take(teams, event, REPORT_TEAM_MPI);
        } else if (kind == CK_KIND_POSIX &&
                   is_lock_call(defs_name(teams->defs, event->process,
                                          event->record->name))) {
            call_take(teams, event, REPORT_TEAM_LOCK);
        }
        break;
    default:
        break;
    }
}

void teams_awaited(struct teams *teams, uint32_t thread, struct region part)
{
    const struct process *process;

    if (thread >= teams->defs->threads_count) {
        return;
    }
    process = &teams->processes[teams->defs->threads[thread].process];
    for (size_t i = 0; i < LATE_KEPT && i < process->late_next; i++) {
        ck_time_t start = process->late[i].part.start;
        ck_time_t end = process->late[i].part.end;

        if (region_clip(part, &start, &end) &&
            region_clip(teams->region, &start, &end)) {
            teamrows_awaited(teams->rows, process->late[i].row, end - start);
        }
    }
}

void teams_report(struct teams *teams, struct report *report)
{
    teams_close(teams, INT64_MAX);
    report->threads.astray = teams->astray;
    report->threads.short_waits = teams->shorts;
    report->threads.tasks = teams->tasks;
    report->threads.nested = teams->nested;
    teamrows_report(teams->rows, report);
}

struct team_member teams_thread(const struct teams *teams, uint32_t thread)
{
    return teamrows_thread(teams->rows, thread);
}

void teams_wait_named(const struct teams *teams,
                      uint32_t row,
                      const char **what,
                      struct place *place)
{
    teamrows_named(teams->rows, row, what, place);
}
