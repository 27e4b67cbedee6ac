/* textspawned.c - processes that the program started by MPI_Comm_spawn
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/words.h"

#define SPAWN "MPI_Comm_spawn"
#define COMMAND_COLUMNS 40

bool page_has_shared(const struct report *report)
{
    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].is_shared) {
            return true;
        }
    }
    return false;
}

/* Their times are sums of what ran side by side. */
static void put_shared(const struct page *page)
{
    const struct report *report = page->report;
    int32_t *ranks = xcalloc(report->ranks_count + 1, sizeof(*ranks));
    size_t count = 0;

    for (size_t i = 0; i < report->ranks_count; i++) {
        if (report->ranks[i].is_shared) {
            ranks[count++] = report->ranks[i].number;
        }
    }
    if (count > 0) {
        fputs(" Several processes used MPI at the same time as ", page->file);
        page_ranks(page->file, ranks, count);
        fputs(" (MPI_Comm_spawn numbers those that it starts from 0): each row "
              "is of all of them.\n",
              page->file);
    }
    free(ranks);
}

/* Who records the launcher records what it starts, in rows that they share. */
static void put_spawned(const struct page *page)
{
    const struct report *report = page->report;
    uint32_t count = report->spawned;
    const struct place *place = &(const struct place){0};

    if (count == 0 || page_has_shared(report)) {
        return;
    }
    for (size_t i = report->calls_count; i-- > 0;) {
        if (strncmp(report->calls[i].name, SPAWN, strlen(SPAWN)) == 0) {
            place = &report->calls[i].place;
        }
    }
    fputc(' ', page->file);
    page_call_of(page, SPAWN, place);
    fprintf(page->file, " started %u process%s", count, count == 1 ? "" : "es");
    if (report->spawned_command != NULL) {
        fputs(" of ", page->file);
        page_program(page, report->spawned_command, COMMAND_COLUMNS);
    }
    fprintf(page->file,
            " that %s not recorded: what ranks waited for %s is not known. "
            "With ckagent before the launcher %s: ckagent -- mpirun ...\n",
            count == 1 ? "is" : "are", count == 1 ? "it" : "them",
            count == 1 ? "it is" : "they are");
}

void page_spawned(const struct page *page)
{
    page_folded(page, put_shared);
    page_folded(page, put_spawned);
}
