/* processes.c - the process images that record, reported as they show up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/processes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/process/identity.h"
#include "agent/perf/sampler.h"
#include "agent/process/processexit.h"
#include "agent/process/procfile.h"
#include "agent/process/ringholder.h"
#include "agent/process/worker.h"
#include "agent/ring/ringfile.h"
#include "agent/symbols/symbols.h"
#include "schema/store/run.h"
#include "schema/time.h"

#define COMMAND_BYTES 1024
#define ENDS_AT_ONCE 8 /* processes that are asked whether they ended */

static void
process_say(struct selfstream *selfstream, uint32_t incarnation, uint32_t pid)
{
    struct ck_text head = {.e = {.kind = CK_KIND_PROCESS, .name = incarnation},
                           .object = pid};
    char command[COMMAND_BYTES];
    ssize_t length =
        procfile_read(command, sizeof(command), "/proc/%u/cmdline", pid);

    while (length > 0 && command[length - 1] == '\0') {
        length--;
    }
    for (ssize_t i = 0; i < length; i++) {
        if (command[i] == '\0') {
            command[i] = ' ';
        }
    }
    if (length <= 0) {
        command[0] = '?';
        length = 1;
    }
    (void)selfstream_text(selfstream, head, command, (size_t)length);
}

/* How often torchrun started its ranks again before, as it counts. */
static int restart_of(char *const *env)
{
    const char *text = identity_variable(env, "TORCHELASTIC_RESTART_COUNT");
    long count = text == NULL ? 0 : strtol(text, NULL, 10);

    return count > 0 && count < INT32_MAX ? (int)count : 0;
}

/* A process with a place of its own. */
struct placed {
    struct identity_place place;
    uint32_t incarnation;
    uint32_t pid;
    int restart;
    struct worker worker;
    ck_time_t started; /* RAW */
};

static void place_say(struct selfstream *selfstream,
                      const struct placed *placed)
{
    const struct identity_place *place = &placed->place;
    struct ck_text head = {.e = {.kind = CK_KIND_IDENTITY},
                           .object = placed->incarnation};
    char text[512];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_lines_put_number(&lines, "rank", place->rank);
    ck_lines_put_number(&lines, "size", place->size);
    ck_lines_put_number(&lines, "local_rank", place->local_rank);
    ck_lines_put_number(&lines, "local_size", place->local_size);
    ck_lines_put_number(&lines, "pid", placed->pid);
    ck_lines_put_number(&lines, "restart", placed->restart);
    ck_lines_put_number(&lines, "started", placed->started);
    if (placed->worker.pid != 0) {
        ck_lines_put_number(&lines, "worker", placed->worker.pid);
        ck_lines_put_number(&lines, "worker_ticks", placed->worker.ticks);
        ck_lines_put_number(&lines, "worker_parent", placed->worker.parent);
    }
    ck_lines_put(&lines, "launcher", place->launcher);
    (void)selfstream_text(selfstream, head, text, lines.used);
}

/* Does the image have another rank than we? torchrun's workers do. */
static void rank_look(struct processes *processes,
                      uint32_t incarnation,
                      const struct ck_ring_process *entry,
                      uint32_t pid)
{
    struct placed placed = {
        .incarnation = incarnation, .pid = pid, .started = entry->started};
    char **words = procfile_words("/proc/%u/environ", pid);

    if (identity_place_differs(processes->env, words, &placed.place)) {
        placed.restart = restart_of(words);
        worker_find(processes->env, (pid_t)pid, &placed.worker);
        /* The program could write there. */
        if (placed.started <= 0 || placed.started > ck_time_raw()) {
            placed.started = ck_time_raw();
        }
        place_say(processes->selfstream, &placed);
    }
    free(words);
}

uint32_t processes_pid(const struct processes *processes, unsigned at)
{
    uint32_t pid = ck_ring_processes(processes->header)[at].pid;
    bool is_its_own =
        pid != 0 &&
        ((processes->sampler != NULL &&
          sampler_has_enrolled(processes->sampler, pid)) ||
         ringholder_is(pid, processes->ring->path, processes->ring->fd));

    return is_its_own ? pid : 0;
}

static void image_say(struct processes *processes,
                      uint32_t incarnation,
                      const struct ck_ring_process *entry)
{
    uint32_t pid = processes_pid(
        processes, (unsigned)(entry - ck_ring_processes(processes->header)));

    process_say(processes->selfstream, incarnation, pid);
    if (pid == 0 || process_is_over(pid)) {
        return; /* there is nothing more to be read of it */
    }
    rank_look(processes, incarnation, entry, pid);
    if (processes->symbols != NULL) {
        symbols_seen_process(processes->symbols, incarnation, (pid_t)pid);
        (void)symbols_modules(processes->symbols, processes->selfstream);
    }
}

void processes_step(struct processes *processes)
{
    struct ck_ring_process *table = ck_ring_processes(processes->header);

    if (atomic_load(&processes->header->incarnations) == processes->told) {
        return;
    }
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        /* acquire: pairs with the release in process_enter() */
        uint32_t number =
            atomic_load_explicit(&table[i].incarnation, memory_order_acquire);

        if (number != 0 && number != processes->entries[i]) {
            processes->entries[i] = number;
            image_say(processes, number, &table[i]);
            processes->told++;
        }
    }
}

/* A program that was started in its place ended then, not it. */
static bool is_replaced(const struct ck_ring_process *table, unsigned at)
{
    uint32_t number = atomic_load(&table[at].incarnation);

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        if (i != at && table[i].pid == table[at].pid &&
            atomic_load(&table[i].incarnation) > number) {
            return true;
        }
    }
    return false;
}

/* When it ended, as the kernel has it: what its rings have is read up to now.
 */
static ck_time_t ended_at(const struct processes *processes, unsigned entry)
{
    uint32_t pid = ck_ring_processes(processes->header)[entry].pid;
    ck_time_t at;

    sampler_step(processes->sampler, processes->selfstream, processes->header,
                 processes->symbols);
    at = sampler_ended(processes->sampler, pid, processes->alive[entry]);
    return at != 0 ? at : ck_time_raw();
}

static void
end_say(struct processes *processes, uint32_t incarnation, unsigned entry)
{
    struct ck_text head = {.e = {.kind = CK_KIND_ENDED, .name = incarnation}};
    char text[64];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    ck_lines_put_number(&lines, "ended", ended_at(processes, entry));
    (void)selfstream_text(processes->selfstream, head, text, lines.used);
}

void processes_ends(struct processes *processes)
{
    struct ck_ring_process *table = ck_ring_processes(processes->header);
    uint64_t space = processes->pid_space;
    unsigned looked = 0;
    ck_time_t now;

    if (processes->told < 2 || space == 0) {
        return; /* the EXIT record has how the only one ended */
    }
    for (unsigned i = 0; i < CK_RING_PROCESSES && looked < ENDS_AT_ONCE; i++) {
        unsigned at = processes->next++ % CK_RING_PROCESSES;
        uint32_t number =
            atomic_load_explicit(&table[at].incarnation, memory_order_acquire);

        if (number == 0 || number != processes->entries[at] ||
            number == processes->ended[at] || table[at].pid_space != space) {
            continue;
        }
        looked++;
        now = ck_time_raw();
        if (process_is_over(table[at].pid)) {
            processes->ended[at] = number;
            if (!is_replaced(table, at)) {
                end_say(processes, number, at);
            }
        } else {
            processes->alive[at] = now;
        }
    }
}

static void maps_look(const struct processes *processes,
                      uint32_t incarnation,
                      uint32_t pid,
                      ck_time_t now)
{
    if (processes->is_told) {
        symbols_follow_process(processes->symbols, incarnation, (pid_t)pid,
                               now);
    } else {
        symbols_seen_process(processes->symbols, incarnation, (pid_t)pid);
    }
}

void processes_maps(struct processes *processes, ck_time_t now)
{
    struct ck_ring_process *table = ck_ring_processes(processes->header);

    if (processes->symbols == NULL) {
        return;
    }
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        uint32_t pid;
        uint32_t number =
            atomic_load_explicit(&table[i].incarnation, memory_order_acquire);

        if (number != 0 && number == processes->entries[i] &&
            (pid = processes_pid(processes, i)) != 0) {
            maps_look(processes, number, pid, now);
        }
    }
    (void)symbols_modules(processes->symbols, processes->selfstream);
}

static bool has_slot(const struct processes *processes, uint32_t incarnation)
{
    struct ck_ring_slot *heads = ck_ring_heads(processes->header);

    for (uint32_t i = 0; i < processes->slots; i++) {
        uint32_t state = atomic_load(&heads[i].state);

        if (state == CK_SLOT_UNBACKED) {
            break;
        }
        if (state != CK_SLOT_FREE && heads[i].incarnation == incarnation) {
            return true;
        }
    }
    return false;
}

static void entry_give_back(struct processes *processes, unsigned at)
{
    uint64_t space = processes->pid_space;
    struct ck_ring_process *entry = &ck_ring_processes(processes->header)[at];
    uint32_t number = atomic_load(&entry->incarnation);

    if (number == 0 || number != processes->entries[at] ||
        entry->pid_space != space || space == 0 ||
        !process_is_over(entry->pid) || has_slot(processes, number)) {
        return;
    }
    processes->libraries |= atomic_load(&entry->libraries);
    processes->given_back++;
    atomic_store(&entry->libraries, 0);
    atomic_store(&entry->names, 0);
    atomic_store(&entry->objects, 0);
    entry->pid = 0;
    atomic_store(&entry->incarnation, 0);
    atomic_store(&entry->key, CK_RING_KEY_BACK);
}

bool processes_give_back(struct processes *processes)
{
    if (processes->told - processes->given_back < CK_RING_PROCESSES / 2) {
        return false;
    }
    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        entry_give_back(processes, i);
    }
    return processes->told - processes->given_back > CK_RING_PROCESSES / 4 * 3;
}

uint32_t processes_libraries(const struct processes *processes)
{
    struct ck_ring_process *table = ck_ring_processes(processes->header);
    uint32_t libraries =
        atomic_load(&processes->header->loaded) | processes->libraries;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        libraries |= atomic_load(&table[i].libraries);
    }
    return libraries;
}
