/* standings.c - where all threads of a process are, as records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/standing/standings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/perf/sampler.h"
#include "agent/perf/stacks.h"
#include "agent/standing/standstack.h"
#include "agent/standing/threadlook.h"
#include "schema/store/run.h"

#define LINES_BYTES 1024
/* Samples that are older are of another time. */
#define SAMPLE_AGE (2 * CK_TIME_S)

struct standings {
    struct sampler *sampler; /* borrowed, may be NULL */
    struct symbols *symbols; /* borrowed, may be NULL */
    struct standstack *stack;
    struct stacks *stacks;
    struct standings_tally tally;
    uint32_t tids[THREADLOOK_THREADS_MAX]; /* of the process looked at */
};

struct standings *standings_create(struct sampler *sampler,
                                   struct symbols *symbols)
{
    struct standings *standings = calloc(1, sizeof(*standings));

    if (standings == NULL) {
        return NULL;
    }
    standings->sampler = sampler;
    standings->symbols = symbols;
    standings->stack = standstack_create(sampler_unwind(sampler));
    standings->stacks = stacks_create(SAMPLER_STACKS_MAX);
    if (standings->stack == NULL || standings->stacks == NULL) {
        standings_destroy(standings);
        errno = ENOMEM;
        return NULL;
    }
    return standings;
}

void standings_destroy(struct standings *standings)
{
    int saved = errno;

    if (standings != NULL) {
        standstack_destroy(standings->stack);
        stacks_destroy(standings->stacks);
        free(standings);
    }
    errno = saved;
}

/* One thread, and where it is. */
struct stand {
    uint32_t incarnation;
    pid_t pid;
    uint32_t tid;
    struct threadlook look;
    uint32_t stack; /* number; 0 = none */
    const char *how;
    ck_time_t age; /* of a sample */
};

/* Of a thread that runs: its newest sample. */
static void sample_find(struct standings *standings, struct stand *stand)
{
    ck_time_t now = ck_time_raw();
    ck_time_t at;
    uint32_t stack = sampler_last(standings->sampler, stand->tid, &at);

    if (stack == 0 || now - at > SAMPLE_AGE) {
        standings->tally.running++;
        return;
    }
    standings->tally.sampled++;
    stand->stack = stack;
    stand->age = now > at ? now - at : 0;
    stand->how = "sampled";
}

static void stack_find(struct standings *standings,
                       struct selfstream *selfstream,
                       struct stand *stand)
{
    uint64_t addresses[SAMPLER_FRAMES_MAX];
    struct standstack_frames frames = {.frames = addresses,
                                       .room = SAMPLER_FRAMES_MAX};
    enum standstack_end end = standstack_take(
        standings->stack, stand->pid, stand->tid, &stand->look, &frames);

    stand->how = "none";
    if (end == STANDSTACK_REFUSED) {
        standings->tally.refused++;
        stand->how = "refused";
    }
    if (end == STANDSTACK_NONE || end == STANDSTACK_REFUSED) {
        sample_find(standings, stand);
        return;
    }
    standings->tally.stacks++;
    standings->tally.whole += end == STANDSTACK_WHOLE;
    stand->how = end == STANDSTACK_WHOLE ? "whole" : "part";
    for (size_t i = 0; i < frames.count; i++) {
        standstack_name(standings->stack, selfstream, stand->incarnation,
                        addresses[i]);
    }
    stand->stack = stacks_number(
        standings->stacks, selfstream, standings->symbols,
        &(struct stack){stand->incarnation, addresses, frames.count});
}

static void lines_put(const struct stand *stand, struct ck_lines *lines)
{
    const struct threadlook *look = &stand->look;
    struct threadlook_lock lock = threadlook_lock(stand->pid, look);
    const char *call = threadlook_call(look->call);
    const char state[2] = {look->state, '\0'};
    char text[THREADLOOK_PATH];

    ck_lines_put(lines, "state", state);
    if (look->has_place && look->call >= 0) {
        (void)snprintf(text, sizeof(text), "%" PRId64, look->call);
        ck_lines_put(lines, "call", call != NULL ? call : text);
    }
    if (lock.owner != 0) {
        (void)snprintf(text, sizeof(text), "%" PRIx64, lock.address);
        ck_lines_put(lines, "lock", text);
        ck_lines_put_number(lines, "owner", lock.owner);
    }
    if (threadlook_file(stand->pid, look, text)) {
        ck_lines_put(lines, "file", text);
    }
    ck_lines_put(lines, "stack", stand->how);
    if (stand->age > 0) {
        ck_lines_put_number(lines, "age", stand->age);
    }
    ck_lines_put(lines, "name", look->name);
}

static void stand_put(struct standings *standings,
                      struct selfstream *selfstream,
                      struct stand *stand)
{
    struct ck_text head = {
        .e = {.kind = CK_KIND_STANDING, .name = stand->incarnation},
        .object = stand->tid};
    char text[LINES_BYTES];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    standings->tally.threads++;
    stack_find(standings, selfstream, stand);
    lines_put(stand, &lines);
    head.extra = stand->stack;
    (void)selfstream_text(selfstream, head, text, lines.used);
}

void standings_take(struct standings *standings,
                    struct selfstream *selfstream,
                    uint32_t incarnation,
                    pid_t pid)
{
    size_t count =
        threadlook_threads(pid, standings->tids, THREADLOOK_THREADS_MAX);

    standings->tally.looks++;
    if (count > THREADLOOK_THREADS_MAX) {
        standings->tally.left_out += count - THREADLOOK_THREADS_MAX;
        count = THREADLOOK_THREADS_MAX;
    }
    standstack_begin(standings->stack, pid,
                     (struct standstack_seen){
                         .changes = sampler_changes(standings->sampler),
                         .lost = sampler_tally(standings->sampler).samples_lost,
                     });
    for (size_t i = 0; i < count; i++) {
        struct stand stand = {
            .incarnation = incarnation, .pid = pid, .tid = standings->tids[i]};

        if (threadlook_take(pid, stand.tid, &stand.look)) {
            stand_put(standings, selfstream, &stand);
        }
    }
}

struct standings_tally standings_tally(const struct standings *standings)
{
    return standings->tally;
}
