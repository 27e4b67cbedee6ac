/* launchsamples.c - stacks that may lead to a call that launches device work
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/devices/launchsamples.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/order.h"

/* A stack leads through a function: by its innermost frame there. */
struct pass {
    uint32_t function; /* number */
    uint32_t sample;
    uint32_t at; /* frame */
};

struct launchsamples {
    const struct defs *defs; /* borrowed */
    struct table *stacks;    /* process, stack */
    struct launchsample *items;
    size_t count, room;
    struct table *functions; /* process, function: number of its passes */
    struct pass *passes;     /* by function, once all samples were taken */
    size_t passes_count, passes_room;
};

struct launchsamples *launchsamples_create(const struct defs *defs)
{
    struct launchsamples *samples = xcalloc(1, sizeof(*samples));

    samples->defs = defs;
    samples->stacks = table_create();
    samples->functions = table_create();
    return samples;
}

void launchsamples_destroy(struct launchsamples *samples)
{
    if (samples != NULL) {
        table_destroy(samples->stacks);
        table_destroy(samples->functions);
        free(samples->passes);
        free(samples->items);
        free(samples);
    }
}

void launchsamples_add(struct launchsamples *samples,
                       const struct launchsample *more)
{
    size_t number =
        (size_t)table_number_of(samples->stacks, more->process, more->stack, 0);

    if (number == samples->count) {
        array_grow(&samples->items, &samples->room, number,
                   sizeof(*samples->items));
        samples->items[samples->count++] =
            (struct launchsample){.process = more->process,
                                  .stack = more->stack,
                                  .first = more->first};
    }
    samples->items[number].ns += more->ns;
    samples->items[number].launches += more->launches;
}

static bool is_same(const struct place *a, const struct place *b)
{
    /* Kept texts: equal ones are one pointer. */
    return a->function == b->function && a->file == b->file &&
           a->line == b->line;
}

/* The frame of the launching call in a stack: its return address, or its line
 * of Python, which has other numbers there. `depth` = there is none. */
static uint32_t site_find(const struct defs *defs,
                          uint32_t process,
                          uint64_t site,
                          const struct defs_stack *stack)
{
    struct place place = defs_place(defs, process, site);
    uint32_t at = 0;

    if (site < CK_SITE_TOLD) {
        while (at < stack->depth && stack->frames[at] != site) {
            at++;
        }
        return at;
    }
    for (; at < stack->depth; at++) {
        struct place its;

        if (stack->frames[at] < CK_SITE_TOLD || place.file == NULL) {
            continue;
        }
        its = defs_place(defs, process, stack->frames[at]);
        if (is_same(&its, &place)) {
            break;
        }
    }
    return at;
}

/* ---- functions ----------------------------------------------------------- */

/* Their stack, NULL = it is not there. */
static const struct defs_stack *stack_of(const struct launchsamples *samples,
                                         const struct launchsample *sample)
{
    const struct defs_agent *agent =
        &samples->defs->agents[samples->defs->processes[sample->process].agent];

    return defs_stack_find(agent, sample->stack);
}

static void
pass_add(struct launchsamples *samples, uint32_t sample, uint32_t at)
{
    const struct launchsample *of = &samples->items[sample];
    struct place place = defs_place(samples->defs, of->process,
                                    stack_of(samples, of)->frames[at]);
    uint32_t number;

    if (place.function == NULL || place.file == NULL) {
        return;
    }
    number = (uint32_t)table_number_of(samples->functions, of->process,
                                       (uint64_t)(uintptr_t)place.function,
                                       (uint64_t)(uintptr_t)place.file);
    for (size_t i = samples->passes_count;
         i-- > 0 && samples->passes[i].sample == sample;) {
        if (samples->passes[i].function == number) {
            return; /* it calls itself */
        }
    }
    array_grow(&samples->passes, &samples->passes_room, samples->passes_count,
               sizeof(*samples->passes));
    samples->passes[samples->passes_count++] =
        (struct pass){number, sample, at};
}

CK_ORDER(by_function, struct pass, CK_UP(function) ?: CK_UP(sample))

/* Which functions each stack leads through. */
static void passes_make(struct launchsamples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct defs_stack *stack = stack_of(samples, &samples->items[i]);

        for (uint32_t at = 0; stack != NULL && at < stack->depth; at++) {
            pass_add(samples, (uint32_t)i, at);
        }
    }
    if (samples->passes_count > 1) {
        qsort(samples->passes, samples->passes_count, sizeof(*samples->passes),
              by_function);
    }
}

CK_ORDER(by_process, struct launchsample, CK_UP(process) ?: CK_UP(stack))

void launchsamples_close(struct launchsamples *samples)
{
    if (samples->count > 1) {
        qsort(samples->items, samples->count, sizeof(*samples->items),
              by_process);
    }
    passes_make(samples);
}

CK_BEFORE(passes_before, struct pass, uint32_t, a->function < key)
CK_BEFORE(samples_before, struct launchsample, uint32_t, a->process < key)

/* A stack by which the call was made. Nothing where that is not in it. */
static void line_add(const struct launchsamples *samples,
                     uint64_t site,
                     const struct launchsample *sample,
                     int64_t weight,
                     struct launchways *ways)
{
    struct launchway way = {.stack = stack_of(samples, sample),
                            .weight = weight};

    if (way.stack != NULL) {
        way.at = site_find(samples->defs, sample->process, site, way.stack);
        if (way.at < way.stack->depth) {
            launchways_add(ways, &way, sample->first);
        }
    }
}

/* By stacks of launches there, or by all others. */
static void line_ways(const struct launchsamples *samples,
                      uint32_t process,
                      uint64_t site,
                      bool is_of_launches,
                      struct launchways *ways)
{
    for (size_t i = samples_before(samples->items, samples->count, process);
         site != 0 && i < samples->count &&
         samples->items[i].process == process;
         i++) {
        const struct launchsample *sample = &samples->items[i];

        if (!is_of_launches || sample->launches > 0) {
            line_add(samples, site, sample,
                     is_of_launches ? sample->launches : sample->ns, ways);
        }
    }
}

/* By the function that makes the call. */
static void function_ways(const struct launchsamples *samples,
                          uint32_t process,
                          uint64_t site,
                          struct launchways *ways)
{
    struct place place = defs_place(samples->defs, process, site);
    struct table_key key = {process, (uint64_t)(uintptr_t)place.function,
                            (uint64_t)(uintptr_t)place.file};
    int64_t number;

    number = site == 0 || place.function == NULL || place.file == NULL
                 ? -1
                 : table_find(samples->functions, key);
    for (size_t i = number < 0
                        ? samples->passes_count
                        : passes_before(samples->passes, samples->passes_count,
                                        (uint32_t)number);
         i < samples->passes_count && samples->passes[i].function == number;
         i++) {
        const struct pass *pass = &samples->passes[i];
        const struct launchsample *sample = &samples->items[pass->sample];
        /* From its caller outwards: the line in it is another one. */
        const struct launchway way = {stack_of(samples, sample), pass->at + 1,
                                      sample->ns};

        launchways_add(ways, &way, sample->first);
    }
}

void launchsamples_ways(const struct launchsamples *samples,
                        uint32_t process,
                        uint64_t site,
                        struct launchways *ways)
{
    launchways_init(ways, LAUNCHWAYS_LINE);
    line_ways(samples, process, site, true, ways);
    if (ways->count == 0) {
        line_ways(samples, process, site, false, ways);
    }
    if (ways->count == 0) {
        ways->by = LAUNCHWAYS_FUNCTION;
        function_ways(samples, process, site, ways);
    }
}

void launchsamples_line(const struct launchsamples *samples,
                        uint64_t site,
                        const struct launchsample *by,
                        struct launchways *ways)
{
    line_add(samples, site, by, by->launches, ways);
}
