/* standstack.c - the frames of a thread that waits, read from outside
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/standing/standstack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "agent/python/pythons.h"
#include "agent/symbols/toldsites.h"
#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"

#define PIECE 4096
#define PIECES (STANDSTACK_BYTES / PIECE + 1)

/* Processes whose code is known from one look to the next. */
#define LOOKED 64

struct looked {
    pid_t pid;
    struct standstack_seen seen;
};

struct standstack {
    struct looked looked[LOOKED]; /* by pid */
    struct codemaps *codemaps;    /* NULL = `unwind` is borrowed */
    struct unwind *unwind;
    struct pythons *pythons;
    uint64_t copy[STANDSTACK_BYTES / sizeof(uint64_t)];
};

struct standstack *standstack_create(struct unwind *sampled)
{
    struct standstack *standstack = calloc(1, sizeof(*standstack));

    if (standstack == NULL) {
        return NULL;
    }
    standstack->pythons = pythons_create(TOLDSITES_MAX);
    standstack->unwind = sampled;
    if (sampled == NULL) {
        standstack->codemaps = codemaps_create();
    }
    if (standstack->codemaps != NULL) {
        standstack->unwind = unwind_create(standstack->codemaps);
    }
    if (standstack->unwind == NULL || standstack->pythons == NULL) {
        standstack_destroy(standstack);
        errno = ENOMEM;
        return NULL;
    }
    return standstack;
}

void standstack_destroy(struct standstack *standstack)
{
    int saved = errno;

    if (standstack != NULL) {
        if (standstack->codemaps != NULL) {
            unwind_destroy(standstack->unwind);
        }
        codemaps_destroy(standstack->codemaps);
        pythons_destroy(standstack->pythons);
        free(standstack);
    }
    errno = saved;
}

void standstack_begin(struct standstack *standstack,
                      pid_t pid,
                      struct standstack_seen seen)
{
    struct looked *looked = &standstack->looked[(uint32_t)pid % LOOKED];
    struct standstack_seen last = {.lost = 0};
    bool has_changed;

    if (looked->pid == pid) {
        last = looked->seen;
    }
    has_changed = seen.changes == 0 || seen.changes != last.changes;
    if (has_changed) {
        pythons_forget(standstack->pythons, pid);
    }
    if (standstack->codemaps != NULL ? has_changed : seen.lost != last.lost) {
        unwind_forget(standstack->unwind, pid);
    }
    *looked = (struct looked){pid, seen};
}

/* The stack's bytes as far as they go: pieces that end with pages, as one that
 * is not there takes its whole piece along. How many, -1 with errno. */
static ssize_t stack_copy(struct standstack *standstack, pid_t pid, uint64_t sp)
{
    struct iovec here = {standstack->copy, sizeof(standstack->copy)};
    struct iovec there[PIECES];
    uint64_t at = sp;
    size_t left = sizeof(standstack->copy);
    unsigned long count = 0;

    while (left > 0 && count < PIECES) {
        size_t length = PIECE - at % PIECE;

        length = length < left ? length : left;
        there[count++] = (struct iovec){(void *)(uintptr_t)at, length};
        at += length;
        left -= length;
    }
    return process_vm_readv(pid, &here, 1, there, count, 0);
}

static enum standstack_end native_take(struct standstack *standstack,
                                       pid_t pid,
                                       const struct threadlook *look,
                                       struct standstack_frames *frames)
{
    struct unwind_thread thread = {
        .pid = pid,
        .unknown = ~(UINT64_C(1) << EHFRAME_SP | UINT64_C(1) << EHFRAME_PC),
        .stack = (const uint8_t *)standstack->copy,
    };
    struct unwind_frames found = {.frames = frames->frames,
                                  .room = frames->room};
    ssize_t length = stack_copy(standstack, pid, look->sp);
    enum unwind_end end;

    if (length < 0 && errno == EFAULT) { /* there is no stack */
        frames->frames[0] = look->pc;
        frames->count = 1;
        return STANDSTACK_PART;
    }
    if (length <= 0) {
        return STANDSTACK_REFUSED;
    }
    thread.length = (size_t)length;
    thread.registers[EHFRAME_SP] = look->sp;
    thread.registers[EHFRAME_PC] = look->pc;
    end = unwind_walk(standstack->unwind, &thread, &found);
    frames->count = found.count;
    return end == UNWIND_WHOLE ? STANDSTACK_WHOLE : STANDSTACK_PART;
}

enum standstack_end standstack_take(struct standstack *standstack,
                                    pid_t pid,
                                    uint32_t tid,
                                    const struct threadlook *look,
                                    struct standstack_frames *frames)
{
    struct pythons_sample python = {.pid = pid,
                                    .tid = tid,
                                    .time = ck_time_raw(),
                                    .frames = frames->frames,
                                    .room = frames->room};
    enum standstack_end end;

    frames->count = 0;
    if (!look->has_place) {
        return look->error != 0 ? STANDSTACK_REFUSED : STANDSTACK_NONE;
    }
    end = native_take(standstack, pid, look, frames);
    python.count = frames->count;
    python.is_unwound = end == STANDSTACK_WHOLE || end == STANDSTACK_PART;
    pythons_take(standstack->pythons, &python);
    frames->count = python.count;
    return end;
}

void standstack_name(struct standstack *standstack,
                     struct selfstream *selfstream,
                     uint32_t incarnation,
                     uint64_t frame)
{
    pythons_name(standstack->pythons, selfstream, incarnation, frame);
}
