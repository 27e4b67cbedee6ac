/* openclawait.c - what a command waits for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ck holds a reference to a command's event until it has ended and is
 * forgotten here, so its address is not another event's meanwhile. A user event
 * is the program's: one that is released and never set may leave a stale
 * address behind, which the next event there replaces.
 */
#include "agent/inject/opencl/openclawait.h"

#include "agent/inject/opencl/openclhandle.h"

/* Beside the thread, whose ids are shorter. */
#define MAKER_HELD ((uint64_t)1 << 63)

static struct handle_table makers;

bool await_enter(cl_event event, const struct opencl_call *call, bool is_held)
{
    const struct inject_call *made = &call->call;

    return made->writer != NULL && event != NULL &&
           handle_put(&makers, event,
                      (is_held ? MAKER_HELD : 0) |
                          (uint64_t)made->slot->tid << 32 | made->number);
}

cl_uint await_held(cl_event event)
{
    return event != NULL && (handle_get(&makers, event) & MAKER_HELD) != 0;
}

void await_forget(cl_event event)
{
    (void)handle_take(&makers, event);
}

void await_find(struct await_found *found, const struct awaited *awaited)
{
    found->count = 0;
    for (cl_uint i = 0; awaited->events != NULL && i < awaited->count &&
                        found->count < AWAIT_MAX;
         i++) {
        uint64_t maker = awaited->events[i] == NULL
                             ? 0
                             : handle_get(&makers, awaited->events[i]);

        if (maker != 0) {
            found->makers[found->count++] = maker & ~MAKER_HELD;
        }
    }
}

void await_say_found(const struct opencl_call *call,
                     enum ck_kind kind,
                     const struct await_found *found)
{
    const struct inject_call *waits = &call->call;

    if (waits->writer == NULL || waits->writer->slot != waits->slot) {
        return;
    }
    for (unsigned i = 0; i < found->count; i++) {
        struct ck_await *record =
            ck_ring_begin(waits->writer, inject_ring.clock, 1);

        if (record == NULL) {
            return;
        }
        record->e = inject_call_head(waits, kind, 1);
        record->call = waits->number;
        record->queue = call->object;
        record->awaited_tid = (uint32_t)(found->makers[i] >> 32);
        record->awaited_call = (uint32_t)found->makers[i];
        ck_ring_commit(waits->writer, 1);
    }
}

void await_say(const struct opencl_call *call,
               enum ck_kind kind,
               const struct awaited *awaited)
{
    struct await_found found;

    if (awaited->count == 0 || call->call.writer == NULL) {
        return;
    }
    await_find(&found, awaited);
    await_say_found(call, kind, &found);
}
