/* standwatch.c - when the collector looks where all threads are
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/standwatch.h"

#include <stdlib.h>

#include "agent/collector/processes.h"
#include "agent/process/processexit.h"
#include "agent/standing/standings.h"
#include "schema/fnv.h"

/* A process, by its place in the ring's table. */
struct watched {
    uint32_t incarnation; /* 0 = none */
    uint64_t sum;         /* of what its threads have recorded and are in */
    ck_time_t since;      /* that this is so */
    ck_time_t next;       /* look, after `since` */
};

struct standwatch {
    const struct processes *processes; /* all borrowed */
    struct ck_ring_header *header;
    struct selfstream *selfstream;
    struct sampler *sampler;
    struct symbols *symbols;
    struct standings *standings; /* made when it is needed */
    uint32_t slots;
    uint64_t pid_space;
    uint64_t sums[CK_RING_PROCESSES];
    struct watched watched[CK_RING_PROCESSES];
};

struct standwatch *standwatch_create(const struct processes *processes,
                                     struct selfstream *selfstream,
                                     struct sampler *sampler,
                                     struct symbols *symbols)
{
    struct standwatch *watch = calloc(1, sizeof(*watch));

    if (watch != NULL) {
        watch->processes = processes;
        watch->header = processes->header;
        watch->slots = processes->slots;
        watch->selfstream = selfstream;
        watch->sampler = sampler;
        watch->symbols = symbols;
        watch->pid_space = ck_ring_pid_space();
    }
    return watch;
}

void standwatch_destroy(struct standwatch *watch)
{
    if (watch != NULL) {
        standings_destroy(watch->standings);
        free(watch);
    }
}

/* Its number; 0 = there is none there, or none that can be seen. */
static uint32_t entry_number(const struct standwatch *watch, unsigned at)
{
    const struct ck_ring_process *entry = &ck_ring_processes(watch->header)[at];
    /* acquire: pairs with the release in process_enter() */
    uint32_t number =
        atomic_load_explicit(&entry->incarnation, memory_order_acquire);

    return number != 0 && entry->pid != 0 &&
                   (entry->pid_space == 0 ||
                    entry->pid_space == watch->pid_space)
               ? number
               : 0;
}

static void process_look(struct standwatch *watch, unsigned at)
{
    uint32_t number = entry_number(watch, at);
    uint32_t pid = number == 0 ? 0 : processes_pid(watch->processes, at);

    if (watch->standings == NULL) {
        watch->standings = standings_create(watch->sampler, watch->symbols);
    }
    if (watch->standings != NULL && pid != 0 && !process_is_over(pid)) {
        standings_take(watch->standings, watch->selfstream, number, (pid_t)pid);
    }
}

void standwatch_look(struct standwatch *watch)
{
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        process_look(watch, i);
    }
}

/* ---- quiet processes ----------------------------------------------------
 */

static unsigned
entry_find(const struct standwatch *watch, uint32_t incarnation, unsigned first)
{
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        unsigned at = (first + i) % CK_RING_PROCESSES;

        if (watch->watched[at].incarnation == incarnation) {
            return at;
        }
    }
    return CK_RING_PROCESSES;
}

/* What the thread has recorded, and which calls it is in. */
static uint64_t slot_sum(uint64_t sum, const struct ck_ring_slot *slot)
{
    uint64_t words[3] = {
        atomic_load_explicit(&slot->head, memory_order_relaxed),
        atomic_load_explicit(&slot->depth, memory_order_relaxed), 0};

    words[2] = words[1] > 0 ? atomic_load_explicit(&slot->open[0].call,
                                                   memory_order_relaxed)
                            : 0;
    return ck_fnv(sum, words, sizeof(words));
}

static void sums_make(struct standwatch *watch)
{
    struct ck_ring_slot *heads = ck_ring_heads(watch->header);
    unsigned at = 0;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        watch->sums[i] = CK_FNV_START;
    }
    for (uint32_t i = 0; i < watch->slots; i++) {
        uint32_t state =
            atomic_load_explicit(&heads[i].state, memory_order_acquire);

        if (state == CK_SLOT_UNBACKED) {
            break;
        }
        if (state == CK_SLOT_LIVE) {
            at =
                entry_find(watch, heads[i].incarnation, at % CK_RING_PROCESSES);
        }
        if (state == CK_SLOT_LIVE && at < CK_RING_PROCESSES) {
            watch->sums[at] = slot_sum(watch->sums[at], &heads[i]);
        }
    }
}

static bool is_of_mpi(const struct standwatch *watch, unsigned at)
{
    return (atomic_load(&ck_ring_processes(watch->header)[at].libraries) &
            CK_LIBRARY_MPI) != 0;
}

static void process_step(struct standwatch *watch, unsigned at, ck_time_t now)
{
    struct watched *watched = &watch->watched[at];

    if (watched->sum != watch->sums[at]) {
        watched->sum = watch->sums[at];
        watched->since = now;
        watched->next = STANDWATCH_QUIET;
    } else if (now - watched->since >= watched->next && is_of_mpi(watch, at)) {
        watched->next *= STANDWATCH_GROWTH;
        process_look(watch, at);
    }
}

void standwatch_step(struct standwatch *watch, ck_time_t now)
{
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        uint32_t number = entry_number(watch, i);

        if (number != watch->watched[i].incarnation) {
            watch->watched[i] = (struct watched){.incarnation = number};
        }
    }
    sums_make(watch);
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        if (watch->watched[i].incarnation != 0) {
            process_step(watch, i, now);
        }
    }
}

void standwatch_notes(const struct standwatch *watch)
{
    struct standings_tally tally = {.looks = 0};

    if (watch->standings != NULL) {
        tally = standings_tally(watch->standings);
    }
    if (tally.refused > 0) {
        selfstream_note(watch->selfstream,
                        "%llu stacks of waiting threads are missing: their "
                        "memory may not be read (kernel.yama.ptrace_scope, "
                        "seccomp, or another user's)",
                        (unsigned long long)tally.refused);
    }
    if (tally.left_out > 0) {
        selfstream_note(watch->selfstream,
                        "%llu threads of processes with many threads were not "
                        "looked at",
                        (unsigned long long)tally.left_out);
    }
}
