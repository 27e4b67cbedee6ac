/* slotstate.c - what the collector knows of the thread in a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/slotstate.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/processexit.h"

static const struct ck_ring_process *process_of(struct ck_ring_header *header,
                                                uint32_t incarnation)
{
    struct ck_ring_process *table = ck_ring_processes(header);

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        if (atomic_load_explicit(&table[i].incarnation, memory_order_acquire) ==
            incarnation) {
            return &table[i];
        }
    }
    return NULL;
}

static bool is_thread_there(uint32_t pid, uint32_t tid)
{
    return pid != 0 && tid != 0 &&
           (syscall(SYS_tgkill, (pid_t)pid, (pid_t)tid, 0) == 0 ||
            errno != ESRCH);
}

/* Where a process does not know its pid namespace, a thread that is not seen at
 * the first look counts as one that cannot be seen. */
void slotstate_fill(struct slotstate *slotstate,
                    struct ck_ring_header *header,
                    const struct ck_ring_slot *slot)
{
    const struct ck_ring_process *process =
        process_of(header, slot->incarnation);
    uint64_t space = process == NULL ? 0 : process->pid_space;

    slotstate->incarnation = slot->incarnation;
    slotstate->tid = atomic_load(&slot->tid);
    slotstate->pid = process == NULL ? 0 : process->pid;
    slotstate->is_foreign =
        space != 0 ? space != ck_ring_pid_space()
                   : !is_thread_there(slotstate->pid, slotstate->tid);
    slotstate->pending_since = 0;
    slotstate->head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    memset(slotstate->open_told, 0, sizeof(slotstate->open_told));
}

/* A THREAD record begins another thread's records; a frame ends before
 * it (ck_batch_encode). */
void slotstate_follow(struct slotstate *slotstate, const uint8_t *record)
{
    const struct ck_text *text = (const struct ck_text *)record;

    if (text->e.kind == CK_KIND_THREAD && text->object != slotstate->tid) {
        slotstate->tid = (uint32_t)text->object;
        memset(slotstate->open_told, 0, sizeof(slotstate->open_told));
    }
}

/* The state is read before the tid: a thread that takes the slot over writes
 * them the other way round. The first thread of a process is still seen when
 * its parent has not waited for it. */
bool slotstate_is_dead(const struct slotstate *slotstate,
                       const struct ck_ring_slot *slot)
{
    uint32_t tid = atomic_load(&slot->tid);

    return !slotstate->is_foreign &&
           (!is_thread_there(slotstate->pid, tid) ||
            (tid == slotstate->pid && process_is_over(tid))) &&
           atomic_load(&slot->state) == CK_SLOT_LIVE &&
           atomic_load(&slot->tid) == tid;
}

uint32_t slotstate_open_call(const struct ck_ring_open *entry,
                             struct ck_open *open)
{
    /* acquire: pairs with the release of call in ck_ring_open() */
    uint32_t call = atomic_load_explicit(&entry->call, memory_order_acquire);

    open->e.start = entry->start;
    open->e.name = entry->name;
    open->site = entry->site;
    open->object = entry->object;
    open->seq = entry->seq;
    open->kind = entry->kind;
    open->tag = entry->tag;
    open->call = call;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&entry->call, memory_order_relaxed) == call
               ? call
               : 0;
}
