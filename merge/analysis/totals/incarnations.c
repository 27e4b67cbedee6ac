/* incarnations.c - a rank that its launcher started again, and when
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The processes that come from one worker are one incarnation. Workers of one
 * torchrun follow each other: the second is the first one's restart. torchrun
 * itself counts the failures of its own host only, so a rank that was started
 * again because of another host has the count of before; where it has counted
 * more, ck saw not all of them.
 */
#include "merge/analysis/totals/incarnations.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/timeline/axis.h"
#include "schema/order.h"

struct life {
    const struct defs_process *of; /* names the worker */
    int32_t number;
    int64_t started;   /* RAW of the host: the first process */
    int64_t ended;     /* the last one that was seen to end; 0 = none */
    int64_t own_ended; /* the worker itself; 0 = not known */
};

struct lives {
    struct life *items;
    size_t count;
    size_t room;
};

static struct life *life_of(struct lives *lives,
                            const struct defs_process *process)
{
    for (size_t i = 0; i < lives->count; i++) {
        const struct defs_process *of = lives->items[i].of;

        if (process->worker != 0
                ? of->worker == process->worker &&
                      of->worker_ticks == process->worker_ticks &&
                      of->worker_parent == process->worker_parent
                : of->restart == process->restart) {
            return &lives->items[i];
        }
    }
    array_grow(&lives->items, &lives->room, lives->count,
               sizeof(*lives->items));
    lives->items[lives->count] = (struct life){
        .of = process, .number = process->restart, .started = process->started};
    return &lives->items[lives->count++];
}

static void process_add(struct lives *lives, const struct defs_process *process)
{
    struct life *life = life_of(lives, process);

    if (process->started < life->started) {
        life->started = process->started;
    }
    if (process->ended > life->ended) {
        life->ended = process->ended;
    }
    if (process->pid == process->worker && process->ended > life->own_ended) {
        life->own_ended = process->ended;
    }
}

/* The rank's processes with a known worker, or those without: which of the
 * others they belong to has only torchrun's count. */
static void lives_add(struct lives *lives,
                      const struct defs *defs,
                      const struct defs_rank *who,
                      bool has_worker)
{
    for (size_t p = 0; p < defs->processes_count; p++) {
        const struct defs_process *process = &defs->processes[p];

        if (process->agent == who->agent && process->rank == who->number &&
            process->has_identity && process->started > 0 &&
            (process->worker != 0) == has_worker) {
            process_add(lives, process);
        }
    }
}

CK_ORDER(by_start, struct life, CK_UP(started) ?: CK_UP(number))

/* True: the rank was started again. */
static bool lives_number(struct lives *lives)
{
    bool is_again = false;

    if (lives->count == 0) {
        return false;
    }
    qsort(lives->items, lives->count, sizeof(*lives->items), by_start);
    for (size_t i = 0; i < lives->count; i++) {
        struct life *life = &lives->items[i];

        for (size_t j = 0; j < i && life->of->worker != 0; j++) {
            const struct life *before = &lives->items[j];

            if (before->of->worker != 0 &&
                before->of->worker_parent == life->of->worker_parent &&
                before->number >= life->number) {
                life->number = before->number + 1;
            }
        }
        is_again = is_again || life->number > 0;
    }
    return is_again;
}

/* The larger one of the two stamps'; the second one may be missing (0). */
static ck_time_t error_of(const struct align *align,
                          uint32_t agent,
                          int64_t started,
                          int64_t ended)
{
    ck_time_t first, last;

    if (align_bound(align, agent, false, started, &first) != 0 ||
        align_bound(align, agent, false, ended > 0 ? ended : started, &last) !=
            0) {
        return -1;
    }
    return first > last ? first : last;
}

void incarnations_report(const struct defs *defs,
                         const struct align *align,
                         const struct defs_rank *who,
                         struct report_rank *row)
{
    const struct axis *axis = align_axis(align);
    struct lives lives = {0};
    size_t count = 0;

    lives_add(&lives, defs, who, true);
    lives_add(&lives, defs, who, false);
    if (lives_number(&lives)) {
        count = lives.count < REPORT_INCARNATIONS ? lives.count
                                                  : REPORT_INCARNATIONS;
    }
    for (size_t i = 0; i < count; i++) {
        const struct life *life = &lives.items[i];
        int64_t ended = life->own_ended > 0 || i + 1 == lives.count
                            ? life->own_ended
                            : life->ended;

        row->incarnations[i] = (struct report_incarnation){
            .number = life->number,
            .start = axis_time(axis, who->agent, false, life->started),
            .end = ended > 0 ? axis_time(axis, who->agent, false, ended) : 0,
            .domain = defs->agents[who->agent].domain,
            .error = error_of(align, who->agent, life->started, ended)};
    }
    row->incarnations_count = count;
    free(lives.items);
}
