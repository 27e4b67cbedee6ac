/* standing.c - looks at threads that no collector wrote, and their report
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is records of stacks and of looks: a head, then as many bytes as
 * its length. No control character of theirs may reach a terminal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/analysis/waits/standings.h"
#include "merge/clocks/align.h"
#include "merge/input/facts.h"
#include "merge/model/comm.h"
#include "merge/output/text/page.h"
#include "tests/fuzz/target.h"

#define BYTES_MAX 1024
#define RECORDS_MAX 128

struct head {
    uint8_t is_stack;
    uint8_t incarnation; /* of two */
    uint8_t number;      /* of the stack; of the thread's */
    uint8_t tid;
    uint16_t at;
    uint16_t length;
};

union record {
    struct ck_text text;
    char bytes[sizeof(struct ck_text) + BYTES_MAX];
};

struct world {
    struct defs *defs;
    struct align *align;
    struct hang *hang;
};

static void world_init(struct world *world)
{
    static const uint8_t id[16] = {1};
    uint32_t agent;

    world->defs = defs_create();
    agent = defs_agent_find(world->defs, id);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t process = defs_process_find(world->defs, agent, 1 + i);

        world->defs->processes[process].pid = 1 + i;
        world->defs->processes[process].rank = 0;
    }
    world->align = align_create();
    defs_close(world->defs);
    comm_close(world->defs);
    align_close(world->align, world->defs);
    world->hang = hang_create(world->defs);
}

static void world_fini(struct world *world)
{
    hang_destroy(world->hang);
    align_destroy(world->align);
    defs_destroy(world->defs);
}

static void record_take(const struct world *world,
                        const struct head *head,
                        const uint8_t *bytes,
                        size_t length)
{
    const struct facts_source source = {.agent = 0,
                                        .process = head->incarnation % 2};
    const struct clocktaker clocks = align_taker(world->align);
    union record record = {
        .text = {.e = {.kind = head->is_stack % 2 != 0 ? CK_KIND_STACK
                                                       : CK_KIND_STANDING,
                       .start = head->at * CK_TIME_MS,
                       .name = head->is_stack % 2 != 0
                                   ? head->number
                                   : 1 + head->incarnation % 2},
                 .object = head->tid,
                 .extra = head->number,
                 .length = (uint32_t)length}};

    memcpy(record.bytes + sizeof(struct ck_text), bytes, length);
    facts_read(world->defs, &clocks, &source, &record.text.e);
}

static void report_check(const struct report *report)
{
    const struct text_style style = {.columns = 0};
    struct page_given given = {.count = 0};
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    struct page page = {report, &style, file, &given};

    page_standings(&page, 1);
    page_standing_stacks(&page);
    if (fclose(file) != 0) {
        abort();
    }
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n') ||
            text[i] == 0x7f) {
            abort();
        }
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report report = {.name = NULL};
    struct world world;
    struct head head;
    size_t at = 0;

    world_init(&world);
    for (int i = 0; i < RECORDS_MAX && size - at >= sizeof(head); i++) {
        size_t length;

        memcpy(&head, data + at, sizeof(head));
        at += sizeof(head);
        length = head.length % (BYTES_MAX + 1);
        length = length < size - at ? length : size - at;
        record_take(&world, &head, data + at, length);
        at += length;
    }
    standings_report(world.defs, align_axis(world.align), world.hang, true,
                     &report);
    if (report.standings_count > RECORDS_MAX) {
        abort();
    }
    report_check(&report);
    report_fini(&report);
    world_fini(&world);
    return 0;
}
