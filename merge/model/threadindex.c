/* threadindex.c - processes and threads of the definitions by their numbers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/threadindex.h"

#include <stdlib.h>

#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* Numbers in the tables are those of the definitions. */
struct threadindex {
    struct table *images;  /* agent, incarnation -> process */
    struct table *threads; /* process, tid -> thread */
};

struct threadindex *threadindex_create(const struct defs *defs)
{
    struct threadindex *index = xcalloc(1, sizeof(*index));

    index->images = table_create();
    index->threads = table_create();
    for (size_t i = 0; i < defs->processes_count; i++) {
        (void)table_number_of(index->images, defs->processes[i].agent,
                              defs->processes[i].incarnation, 0);
    }
    for (size_t i = 0; i < defs->threads_count; i++) {
        (void)table_number_of(index->threads, defs->threads[i].process,
                              defs->threads[i].tid, 0);
    }
    return index;
}

void threadindex_destroy(struct threadindex *index)
{
    if (index == NULL) {
        return;
    }
    table_destroy(index->images);
    table_destroy(index->threads);
    free(index);
}

static uint32_t number_of(const struct table *table, uint64_t a, uint64_t b)
{
    int64_t number = table_find(table, (struct table_key){a, b, 0});

    return number < 0 ? DEFS_NONE : (uint32_t)number;
}

uint32_t threadindex_process(const struct threadindex *index,
                             uint32_t agent,
                             uint32_t incarnation)
{
    return number_of(index->images, agent, incarnation);
}

uint32_t threadindex_thread(const struct threadindex *index,
                            uint32_t process,
                            uint32_t tid)
{
    return number_of(index->threads, process, tid);
}

uint32_t threadindex_told(const struct threadindex *index,
                          uint32_t agent,
                          uint32_t incarnation,
                          uint32_t tid)
{
    uint32_t process = threadindex_process(index, agent, incarnation);

    return process == DEFS_NONE ? DEFS_NONE
                                : threadindex_thread(index, process, tid);
}
