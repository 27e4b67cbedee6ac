/* openclawait.c - what a command waits for
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event of a command has an address of its own as long as ck may ask it for
 * its times. A reference more would cost two turns at the driver's lock, so ck
 * has none: the program's own is counted here, in the word that has who made
 * the event. With its last one the program takes the event out of the table,
 * and leaves the reference to ck, which finds none there at the end and
 * releases it. Where ck is done first, it takes the event out, and the
 * program's release is the driver's affair. So one of both takes it out, and
 * one of both releases it.
 *
 * A user event is the program's: one that is released and never set may leave a
 * stale address behind, which the next event there replaces.
 */
#include "agent/inject/opencl/openclawait.h"

#include "agent/inject/opencl/openclhandle.h"

/* A maker: its thread, whose ids have 22 bits, and the number of its call. */
#define MAKER_OF(value) ((value) & (((uint64_t)1 << 54) - 1))
/* References of the program to a command's event; none of a user event. */
#define HELD_ONE ((uint64_t)1 << 54)
#define HELD_MOST ((uint64_t)0xff << 54)
#define HELD_OF(value) ((value)&HELD_MOST)
/* The program has more than can be counted, and ck one besides. */
#define HELD_BESIDES ((uint64_t)1 << 62)

static struct handle_table makers;

static uint64_t maker_of(const struct opencl_call *call)
{
    return MAKER_OF((uint64_t)call->call.slot->tid << 32 | call->call.number);
}

void await_enter(cl_event event, const struct opencl_call *call)
{
    if (call->call.writer != NULL && maker_of(call) != 0) {
        (void)handle_put(&makers, event, maker_of(call));
    }
}

void await_set(cl_event event)
{
    (void)handle_take(&makers, event);
}

bool await_share(cl_event event, const struct opencl_call *call)
{
    return call->call.writer != NULL && event != NULL &&
           handle_put(&makers, event, HELD_ONE | maker_of(call));
}

cl_uint await_held(cl_event event)
{
    return event != NULL && (handle_get(&makers, event) & HELD_BESIDES) != 0;
}

void await_retained(cl_event event)
{
    uint64_t value = handle_get(&makers, event);
    uint64_t more;

    do {
        if (HELD_OF(value) == 0 || (value & HELD_BESIDES) != 0) {
            return;
        }
        more = value + HELD_ONE;
        if (HELD_OF(more) == HELD_MOST) {
            more |= HELD_BESIDES;
            (void)opencl_driver->clRetainEvent(event);
        }
        if (handle_change(&makers, event, value, more)) {
            return;
        }
        if ((more & HELD_BESIDES) != 0) {
            (void)opencl_driver->clReleaseEvent(event);
        }
        value = handle_get(&makers, event);
    } while (true);
}

bool await_released(cl_event event)
{
    uint64_t value = handle_get(&makers, event);

    while (HELD_OF(value) != 0 && (value & HELD_BESIDES) == 0) {
        bool is_last = HELD_OF(value) == HELD_ONE;

        if (handle_change(&makers, event, value,
                          is_last ? 0 : value - HELD_ONE)) {
            return is_last;
        }
        value = handle_get(&makers, event);
    }
    return false;
}

bool await_leave(cl_event event)
{
    uint64_t value = handle_take(&makers, event);

    return value == 0 || (value & HELD_BESIDES) != 0;
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
            found->makers[found->count++] = MAKER_OF(maker);
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
