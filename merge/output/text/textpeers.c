/* textpeers.c - which process waited for which, of the text report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

#include <string.h>

#include "merge/output/words.h"

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
