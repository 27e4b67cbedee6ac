/* cuptilost.c - keep a loss until there is room to report it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptilost.h"

#include <stdatomic.h>
#include <string.h>

#define LOST_REASONS (CK_LOST_UNDONE + 1)

struct loss {
    int64_t value;
    ck_time_t first, last;
};

/* Losses of one reason, added up. `count` is written last and read first: what
 * it counts is in the others, or was reported with the losses before. */
static struct kept {
    _Atomic uint64_t count;
    _Atomic int64_t value;
    _Atomic int64_t first, last; /* 0 = none since the last report */
} kept[LOST_REASONS];

static bool
loss_write(struct ck_ring_writer *writer, enum ck_lost reason, struct loss loss)
{
    struct ck_counter *record;

    /* Without room it is not even counted as dropped: it is reported later. */
    if (writer == NULL || writer->slot->is_busy != 0 ||
        !ck_ring_has_room(writer->slot, writer->mask, 2)) {
        return false;
    }
    record = ck_ring_begin(writer, inject_ring.clock, 2);
    if (record == NULL) {
        return false;
    }
    memset(record, 0, sizeof(*record));
    record->e.kind = CK_KIND_LOST;
    record->e.units = 2;
    record->e.flags = CK_FLAG_RAW;
    record->e.start = loss.first;
    record->value = loss.value;
    record->enabled = loss.last - loss.first;
    record->reason = (uint32_t)reason;
    ck_ring_commit(writer, 2);
    return true;
}

static void loss_keep(enum ck_lost reason, struct loss loss)
{
    struct kept *of = &kept[reason];
    int64_t first = atomic_load(&of->first);
    int64_t last = atomic_load(&of->last);

    while ((first == 0 || loss.first < first) &&
           !atomic_compare_exchange_weak(&of->first, &first, loss.first)) {
    }
    while (loss.last > last &&
           !atomic_compare_exchange_weak(&of->last, &last, loss.last)) {
    }
    atomic_fetch_add(&of->value, loss.value);
    atomic_fetch_add(&of->count, 1);
}

/* Take what is kept of a reason. False: nothing is. */
static bool loss_take(enum ck_lost reason, struct loss *loss)
{
    struct kept *of = &kept[reason];
    ck_time_t now = ck_time_raw();

    if (atomic_exchange(&of->count, 0) == 0) {
        return false;
    }
    loss->value = atomic_exchange(&of->value, 0);
    loss->first = atomic_exchange(&of->first, 0);
    loss->last = atomic_exchange(&of->last, 0);
    loss->first = loss->first == 0 ? now : loss->first;
    loss->last = loss->last == 0 ? now : loss->last;
    return true;
}

void lost_tell(enum ck_lost reason,
               int64_t value,
               ck_time_t first,
               ck_time_t last)
{
    struct loss loss = {value, first, last};
    /* A thread without a slot counts each record that it wanted one for. */
    struct ck_ring_writer *writer =
        inject_thread.slot == NULL ? NULL : &inject_thread;

    if (!loss_write(writer, reason, loss)) {
        loss_keep(reason, loss);
    }
}

bool lost_tell_kept(void)
{
    bool is_told = true;

    for (int i = 0; i < LOST_REASONS; i++) {
        struct loss loss;

        if (atomic_load(&kept[i].count) != 0 && inject_writer() != NULL &&
            loss_take((enum ck_lost)i, &loss) &&
            !loss_write(inject_writer(), (enum ck_lost)i, loss)) {
            loss_keep((enum ck_lost)i, loss);
        }
        is_told &= atomic_load(&kept[i].count) == 0;
    }
    return is_told;
}

void lost_end(void)
{
    struct loss loss;

    if (lost_tell_kept() || inject_ring.header == NULL) {
        return;
    }
    for (int i = 0; i < LOST_REASONS; i++) {
        if (!loss_take((enum ck_lost)i, &loss)) {
            continue;
        }
        if (inject_thread.slot != NULL) {
            ck_ring_count_lost(inject_thread.slot, inject_ring.clock,
                               (uint64_t)loss.value);
        } else {
            atomic_fetch_add(&inject_ring.header->noslot, (uint64_t)loss.value);
        }
    }
}
