/* injectring.h - this process as a target: a ring, and this thread's slot in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_AGENT_INJECT_INJECTRING_H
#define CK_TESTS_AGENT_INJECT_INJECTRING_H

#include <stdlib.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/ring/ringfile.h"
#include "tests/workdir.h"

static struct ringfile injectring;

/* 0, or -1. */
static inline int injectring_make(enum ck_library library, enum ck_clock clock)
{
    struct ringfile_wish wish = {
        .plan = {.slots = 8, .slot_bytes = 1 << 16},
        .sharers = 1,
        .clock = clock,
        .agent = {1},
    };

    if (workdir_make(work) != 0) {
        return -1;
    }
    wish.dir = work;
    if (ringfile_create(&injectring, &wish, NULL) != 0) {
        return -1;
    }
    (void)setenv("CKAGENT_RING", injectring.path, 1);
    inject_load(library);
    return inject_writer() == NULL ? -1 : 0;
}

static inline int injectring_remove(void)
{
    ringfile_unlink(&injectring);
    ringfile_fini(&injectring);
    return workdir_remove(work);
}

/* As the collector does: all that was recorded is taken. */
static inline void injectring_empty(void)
{
    atomic_store(&inject_thread.slot->backed, CK_RING_BACKED_ALL);
    atomic_store(&inject_thread.slot->tail,
                 atomic_load(&inject_thread.slot->head));
}

/* Until nothing of two units has room. */
static inline void injectring_fill(void)
{
    injectring_empty();
    while (ck_ring_has_room(inject_thread.slot, inject_thread.mask, 2)) {
        struct ck_counter *record =
            ck_ring_begin(&inject_thread, inject_ring.clock, 2);

        if (record == NULL) {
            return;
        }
        memset(record, 0, sizeof(*record));
        record->e.kind = CK_KIND_MARK;
        record->e.units = 2;
        ck_ring_commit(&inject_thread, 2);
    }
}

/* Records of the kind that were not taken. */
static inline unsigned injectring_count(enum ck_kind kind)
{
    uint64_t head = atomic_load(&inject_thread.slot->head);
    uint64_t at = atomic_load(&inject_thread.slot->tail);
    unsigned count = 0;

    while (at < head) {
        const struct ck_event *event =
            (const void *)(inject_thread.body +
                           (at & inject_thread.mask) * CK_UNIT_BYTES);

        count += event->kind == kind;
        at += event->units;
    }
    return count;
}

#endif
