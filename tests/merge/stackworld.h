/* stackworld.h - two ranks of one thread each, with stacks by number
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What adds things up by where in the program they were is asked about these.
 */
#ifndef CK_TESTS_MERGE_STACKWORLD_H
#define CK_TESTS_MERGE_STACKWORLD_H

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/lookback.h"
#include "merge/clocks/align.h"
#include "merge/model/comm.h"
#include "merge/report/report.h"

#define STACKWORLD_TID 7
#define STACKWORLD_RANKS 2

/* A line of a function of the user's; all are called by step(). */
struct stackworld_line {
    const char *function;
    uint32_t line;
};

struct stackworld {
    struct defs *defs;
    struct align *align;
    struct lookback *lookback;
    struct report report;
};

/* The next number's stack: that line, and its caller. */
static inline void stackworld_put(struct stackworld *world,
                                  uint32_t process,
                                  const struct stackworld_line *line)
{
    struct defs *defs = world->defs;
    struct defs_agent *agent = &defs->agents[defs->processes[process].agent];
    const char *file = texts_keep(defs->texts, "a.c", 3);
    const uint64_t addresses[2] = {CK_SITE_TOLD + agent->stacks_last + 1,
                                   CK_SITE_TOLD + 1000};
    struct place place = {
        texts_keep(defs->texts, line->function, strlen(line->function)), file,
        line->line};
    struct place outer = {texts_keep(defs->texts, "step", 4), file, 5};
    struct defs_stack *stack = defs_stack_enter(agent, agent->stacks_last + 1);

    *stack = (struct defs_stack){
        .frames = calloc(2, sizeof(uint64_t)), .count = 2, .depth = 2};
    memcpy(stack->frames, addresses, sizeof(addresses));
    names_set_place(defs->processes[process].names, addresses[0], place);
    names_set_place(defs->processes[process].names, addresses[1], outer);
}

/* Each rank has the stacks 1, 2, 3 of these lines. */
static inline void stackworld_make(struct stackworld *world,
                                   const struct stackworld_line lines[3])
{
    *world = (struct stackworld){.defs = defs_create()};
    for (int rank = 0; rank < STACKWORLD_RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(world->defs, id);
        uint32_t process = defs_process_find(world->defs, agent, 1);

        world->defs->agents[agent].rank = rank;
        world->defs->processes[process].rank = rank;
        (void)defs_thread_find(world->defs, process, STACKWORLD_TID);
        for (int i = 0; i < 3; i++) {
            stackworld_put(world, process, &lines[i]);
        }
    }
    defs_close(world->defs);
    comm_close(world->defs);
    world->align = align_create();
    align_close(world->align, world->defs);
    world->lookback = lookback_create(world->defs, world->align, 4096);
}

static inline void stackworld_end(struct stackworld *world)
{
    lookback_destroy(world->lookback);
    align_destroy(world->align);
    defs_destroy(world->defs);
    report_fini(&world->report);
}

#endif
