/* textprocesses.c - processes beside the ranks: which waited for which, and
 * those that MPI_Comm_spawn started
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
#define TOP_PEERS 3
/* Waits of less than an n-th of the region are not worth a sentence. */
#define WORTH_SHARE 100
/* What the other one did for less than an n-th of the wait explains nothing. */
#define WORTH_DEED 4

/* What they wait on, as JSON calls it. */
static const char *over_word(const char *over)
{
    if (strcmp(over, "pipe") == 0) {
        return "pipe";
    }
    if (strcmp(over, "unix") == 0) {
        return "UNIX socket";
    }
    return "TCP connection";
}

/* "slow (pid 71)" */
static void put_process(const struct page *page,
                        const struct report_process *process)
{
    page_program(page,
                 process->command == NULL || process->command[0] == '\0'
                     ? "process"
                     : process->command,
                 24);
    fprintf(page->file, " (pid %u)", process->pid);
}

/* What the awaited process did meanwhile. */
static void put_deed(const struct page *page, const struct report_peer *peer)
{
    fputs("   Meanwhile ", page->file);
    put_process(page, &peer->awaited);
    if (peer->did != NULL && peer->did_ns >= peer->between &&
        peer->did_ns * WORTH_DEED >= peer->ns) {
        fprintf(page->file, " was in ");
        page_call_of(page, peer->did, &peer->did_place);
        fprintf(page->file, " for %s.\n", word_time(peer->did_ns).text);
    } else if (peer->between * WORTH_DEED >= peer->ns) {
        fprintf(page->file,
                " was between recorded calls for %s: it computed, or\n"
                "   waited for what is not recorded.\n",
                word_time(peer->between).text);
    } else {
        fputs(" was in many different calls.\n", page->file);
    }
}

void page_peers_answer(const struct page *page)
{
    const struct report *report = page->report;
    ck_time_t worth = region_length(report->region) / WORTH_SHARE;

    for (size_t i = 0; i < report->peers_count && i < TOP_PEERS; i++) {
        const struct report_peer *peer = &report->peers[i];

        if (peer->ns < worth) {
            break;
        }
        fprintf(page->file, " %s", page_bold(page));
        put_process(page, &peer->waiter);
        fprintf(
            page->file, " waited %s of %s%s for\n   ", word_time(peer->ns).text,
            word_time(region_length(report->region)).text, page_normal(page));
        put_process(page, &peer->awaited);
        fprintf(page->file, " to %s a %s, in ",
                peer->is_write ? "read from" : "write to",
                over_word(peer->over));
        page_call_of(page, peer->call == NULL ? "?" : peer->call, &peer->place);
        fputs(".\n", page->file);
        put_deed(page, peer);
    }
}

void page_peers_row(const struct page *page)
{
    const struct report *report = page->report;

    if (report->has_ranks || report->programs < 2) {
        return;
    }
    fputs("    0 is the first thread of ", page->file);
    put_process(page, &report->shown);
    fprintf(page->file, ", the one of %u processes with the most records.\n",
            report->programs);
}

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
