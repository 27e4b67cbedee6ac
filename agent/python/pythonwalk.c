/* pythonwalk.c - the frames of a thread that runs Python, read from outside
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   _PyRuntime -> interpreter -> thread -> [C frame ->] frame -> code
 *                     | next       | next                 | previous
 *
 * The thread runs on meanwhile. A first pass follows the pointers; then one
 * call of the kernel reads the thread's pointer to the innermost frame and all
 * frames of the first pass again. The second read counts, if it is a list from
 * that pointer to the outermost frame: frames that the thread has left since
 * the first pass are left out. If it is not (it has entered another frame), all
 * is tried again. If the innermost frame changes each time, the result is the
 * outer frames, which two passes agree on. Circular lists end at a limit.
 */
#include "agent/python/pythonwalk.h"

#include <stdbool.h>
#include <string.h>

#include "agent/python/pythonmemory.h"

#define INTERPRETERS_MAX 64
#define THREADS_MAX 4096
#define TRIES 8

struct chain {
    struct pythonframe frames[PYTHONWALK_FRAMES_MAX];
    size_t count;
    uint64_t top;  /* where the pointer to the innermost is */
    bool is_whole; /* ends with the outermost frame */
};

/* ---- threads ------------------------------------------------------------ */

static bool is_thread(pid_t pid,
                      const struct pythonprogram *program,
                      uint64_t state,
                      uint32_t tid,
                      uint64_t *next)
{
    const struct pythonlayout *layout = &program->layout;
    uint8_t bytes[PYTHONLAYOUT_THREAD_MAX];

    *next = 0;
    if (state == 0 ||
        pythonmemory_read(pid, state, bytes,
                          pythonlayout_thread_bytes(layout)) != 0) {
        return false;
    }
    *next = pythonmemory_word(bytes, layout->next_thread);
    return pythonmemory_word(bytes, layout->native_id) == tid;
}

static uint64_t thread_search(pid_t pid,
                              const struct pythonprogram *program,
                              uint64_t interpreter,
                              uint32_t tid)
{
    uint64_t state = 0, next;

    (void)pythonmemory_read(pid, interpreter + program->layout.threads, &state,
                            sizeof(state));
    for (int i = 0; i < THREADS_MAX && state != 0; i++) {
        if (is_thread(pid, program, state, tid, &next)) {
            return state;
        }
        state = next;
    }
    return 0;
}

uint64_t pythonwalk_thread(pid_t pid,
                           const struct pythonprogram *program,
                           uint32_t tid,
                           uint64_t state)
{
    const struct pythonlayout *layout = &program->layout;
    uint64_t interpreter = 0, next;

    if (is_thread(pid, program, state, tid, &next)) {
        return state;
    }
    (void)pythonmemory_read(pid, program->runtime + layout->interpreters,
                            &interpreter, sizeof(interpreter));
    for (int i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        state = thread_search(pid, program, interpreter, tid);
        if (state != 0) {
            return state;
        }
        next = 0;
        (void)pythonmemory_read(pid, interpreter + layout->next_interpreter,
                                &next, sizeof(next));
        interpreter = next;
    }
    return 0;
}

/* ---- frames ------------------------------------------------------------- */

static void frame_take(const struct pythonlayout *layout,
                       uint64_t address,
                       const uint8_t *bytes,
                       struct pythonframe *frame)
{
    *frame = (struct pythonframe){
        .address = address,
        /* from 3.14 on the lowest bits show who counts the reference */
        .code = pythonmemory_word(bytes, layout->code) & ~(uint64_t)7,
        .previous = pythonmemory_word(bytes, layout->previous),
        .instruction = pythonmemory_word(bytes, layout->instruction),
        .copy = layout->copy == 0 ? 0 : pythonmemory_half(bytes, layout->copy),
    };
}

/* Follow the pointers. False: some of it cannot be read. */
static bool chain_follow(pid_t pid,
                         const struct pythonlayout *layout,
                         uint64_t state,
                         struct chain *chain)
{
    uint8_t bytes[PYTHONLAYOUT_FRAME_MAX];
    uint64_t address = 0;

    chain->count = 0;
    chain->top = state + layout->frames;
    if (layout->current >= 0) {
        if (pythonmemory_read(pid, chain->top, &address, sizeof(address)) !=
            0) {
            return false;
        }
        chain->top = address + (uint64_t)layout->current;
    }
    if (pythonmemory_read(pid, chain->top, &address, sizeof(address)) != 0) {
        return false;
    }
    while (address != 0 && chain->count < PYTHONWALK_FRAMES_MAX) {
        struct pythonframe *frame = &chain->frames[chain->count];

        if (address % 8 != 0 ||
            pythonmemory_read(pid, address, bytes,
                              pythonlayout_frame_bytes(layout)) != 0) {
            return false;
        }
        frame_take(layout, address, bytes, frame);
        chain->count++;
        address = frame->previous;
    }
    chain->is_whole = address == 0;
    return true;
}

/* Its frames as they are in the bytes of the second read, from the one at
 * `top` on. False: they are no list of that. */
static bool chain_update(const struct pythonlayout *layout,
                         uint8_t bytes[][PYTHONLAYOUT_FRAME_MAX],
                         uint64_t top,
                         struct chain *chain)
{
    size_t left = 0, used = 0;
    uint64_t due = top;

    while (left < chain->count && chain->frames[left].address != top) {
        left++;
    }
    for (size_t i = left; i < chain->count; i++) {
        struct pythonframe frame;

        frame_take(layout, chain->frames[i].address, bytes[i], &frame);
        if (frame.address != due) {
            return false;
        }
        due = frame.previous;
        chain->frames[used++] = frame;
    }
    chain->count = used;
    return due == 0 || (used > 0 && !chain->is_whole);
}

/* Read its frames again, in one call. PYTHONWALK_DAMAGED: they are others. */
static enum pythonwalk
chain_check(pid_t pid, const struct pythonlayout *layout, struct chain *chain)
{
    static uint8_t bytes[PYTHONWALK_FRAMES_MAX][PYTHONLAYOUT_FRAME_MAX];
    struct pythonmemory_piece pieces[PYTHONWALK_FRAMES_MAX + 2];
    struct chain second = *chain;
    uint64_t before = 0, after = 0;
    size_t count = 0;

    pieces[count++] =
        (struct pythonmemory_piece){chain->top, &before, sizeof(before)};
    for (size_t i = 0; i < chain->count; i++) {
        pieces[count++] =
            (struct pythonmemory_piece){chain->frames[i].address, bytes[i],
                                        pythonlayout_frame_bytes(layout)};
    }
    pieces[count++] =
        (struct pythonmemory_piece){chain->top, &after, sizeof(after)};
    if (pythonmemory_pieces(pid, pieces, count) != 0 ||
        !chain_update(layout, bytes, before, &second)) {
        return PYTHONWALK_DAMAGED;
    }
    *chain = second;
    if (chain->count == 0) {
        return PYTHONWALK_EMPTY;
    }
    return second.count + 2 == count && after == before ? PYTHONWALK_TWICE
                                                        : PYTHONWALK_MOVED;
}

static bool is_same(const struct pythonframe *a, const struct pythonframe *b)
{
    return a->address == b->address && a->code == b->code &&
           a->instruction == b->instruction;
}

/* Leave the outer frames that both chains have. Both must be whole. */
static void chain_common(struct chain *chain, const struct chain *other)
{
    size_t shared = 0;

    while (chain->is_whole && other->is_whole && shared < chain->count &&
           shared < other->count &&
           is_same(&chain->frames[chain->count - 1 - shared],
                   &other->frames[other->count - 1 - shared])) {
        shared++;
    }
    memmove(chain->frames, chain->frames + chain->count - shared,
            shared * sizeof(*chain->frames));
    chain->count = shared;
}

static enum pythonwalk chain_give(const struct chain *chain,
                                  enum pythonwalk how,
                                  struct pythonframe *frames,
                                  size_t *count)
{
    memcpy(frames, chain->frames, chain->count * sizeof(*frames));
    *count = chain->count;
    return how;
}

enum pythonwalk pythonwalk_frames(pid_t pid,
                                  const struct pythonprogram *program,
                                  uint64_t state,
                                  struct pythonframe *frames,
                                  size_t *count)
{
    struct chain chain = {.count = 0}, before;
    enum pythonwalk how;
    int followed = 0;

    *count = 0;
    before = chain;
    for (int i = 0; i < TRIES; i++) {
        before = chain;
        if (!chain_follow(pid, &program->layout, state, &chain)) {
            followed = 0;
            continue;
        }
        followed++;
        how = chain_check(pid, &program->layout, &chain);
        if (how != PYTHONWALK_DAMAGED) {
            return chain_give(&chain, how, frames, count);
        }
    }
    if (followed < 2) {
        return PYTHONWALK_DAMAGED;
    }
    chain_common(&chain, &before);
    return chain.count == 0
               ? PYTHONWALK_DAMAGED
               : chain_give(&chain, PYTHONWALK_OUTER, frames, count);
}
