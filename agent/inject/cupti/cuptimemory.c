/* cuptimemory.c - memory of devices: given, and given back
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's records come later and on another thread than the calls: a call's
 * stack is kept by its correlation. What is given back has the address alone;
 * which block that is, the merge finds in order of time, as the records of two
 * threads come in any order.
 */
#include "agent/inject/cupti/cuptimemory.h"

#include "agent/inject/blockrecord.h"
#include "agent/inject/callsite.h"
#include "agent/inject/cupti/cupticlock.h"
#include "agent/inject/cupti/cuptientry.h"
#include "agent/inject/cupti/cuptitable.h"
#include "agent/inject/stacknumber.h"

/* By correlation + 1: the site, and the stack's number. */
static struct entry calls[MEMORY_CALLS];

void memory_called(uint32_t correlation, const void *from)
{
    uint64_t site = call_site(from);

    entry_set(&calls[correlation % MEMORY_CALLS], (uint64_t)correlation + 1,
              site, stack_number_find(from, site));
}

/* The call that gave memory, if it is known. One that later calls have pushed
 * out is not: that is noted once, and what has no place is a row of its own. */
static void call_find(struct live_block *block, uint32_t correlation)
{
    static _Atomic bool is_noted;
    struct entry *call = &calls[correlation % MEMORY_CALLS];
    uint64_t key = atomic_load_explicit(&call->key, memory_order_relaxed);
    uint64_t words[2];

    if (entry_get(call, (uint64_t)correlation + 1, words)) {
        block->site = words[0];
        block->stack = (uint32_t)words[1];
    } else if (key != 0 && (int32_t)((uint32_t)key - 1 - correlation) > 0 &&
               !atomic_exchange(&is_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "CUPTI reported memory of devices after so many other "
                         "calls for such memory that some of it has no place");
    }
}

/* What the memory is, as the record's name; NULL = the host's. */
static struct inject_label *label_of(const struct cupti_memory *memory)
{
    static struct inject_label device = INJECT_LABEL("device memory");
    static struct inject_label array = INJECT_LABEL("array");
    static struct inject_label managed = INJECT_LABEL("managed memory");
    static struct inject_label fixed = INJECT_LABEL("static memory");

    switch (memory->memory) {
    case CUPTI_MEMORY_DEVICE:
        return &device;
    case CUPTI_MEMORY_ARRAY:
        return &array;
    case CUPTI_MEMORY_MANAGED:
        return &managed;
    case CUPTI_MEMORY_DEVICE_STATIC:
    case CUPTI_MEMORY_MANAGED_STATIC:
        return &fixed;
    default:
        return NULL;
    }
}

static void block_write(const struct live_block *block,
                        enum ck_kind kind,
                        struct inject_label *label,
                        const struct cupti_memory *memory)
{
    uint64_t time = clock_raw(memory->time);

    (void)blockrecord_put(block, kind, inject_label_id(label),
                          time != 0 ? (ck_time_t)time : ck_time_raw(),
                          CK_FLAG_RAW);
}

void memory_write(const struct cupti_memory *memory)
{
    struct inject_label *label = label_of(memory);
    struct live_block block = {.address = memory->address,
                               .bytes = memory->bytes};

    if (label == NULL || inject_writer() == NULL) {
        return;
    }
    block.mean = table_device(memory->device);
    if (memory->operation == CUPTI_MEMORY_RELEASED) {
        block_write(&block, CK_KIND_DEVICE_FREED, label, memory);
        return;
    }
    if (memory->operation != CUPTI_MEMORY_GIVEN) {
        return;
    }
    call_find(&block, memory->correlation);
    block_write(&block, CK_KIND_DEVICE_ALLOCATED, label, memory);
}
