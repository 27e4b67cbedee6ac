/* memorysample.c - which blocks are sampled, and their records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/memory/memorysample.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/inject/blockrecord.h"
#include "agent/inject/stacknumber.h"

/* Blocks that threads give back which cannot record, at their end above all:
 * the next thread that records something does it for them. */
#define LATE_MAX 256
/* Where nothing is recorded, or not yet, a thread asks again so seldom. */
#define PAUSE_BYTES (1 << 16)
#define LN_2 0.69314718055994530942

INJECT_NEAR __thread int64_t memorysample_left;
static INJECT_NEAR __thread uint64_t thread_random;
static INJECT_NEAR __thread bool is_drawn;
static INJECT_NEAR __thread bool is_inside; /* what recording itself asks for */

enum late_state {
    LATE_FREE = 0,
    LATE_BUSY = 1,
    LATE_THERE = 2,
};
static INJECT_ROOM struct late {
    _Atomic int state; /* enum late_state */
    struct live_block block;
    struct inject_label *function; /* that gave it back */
} late[LATE_MAX];
static _Atomic int late_count;    /* about */
static _Atomic bool is_late_used; /* ever */

static uint32_t mean; /* 0 = nothing is recorded */
static _Atomic bool is_noted;
static _Atomic(const char *) lacks; /* NULL = nothing, or recorded */

static uint64_t image_random;          /* of this process image; 0 = none */
static _Atomic uint64_t threads_drawn; /* threads that drew a number */
static _Atomic uint64_t forks;

/* The kernel gives each image random bytes. A clock would be none: a thread
 * that records nothing may have forbidden itself the processor's counter. */
static void image_random_read(void)
{
    const void *bytes = (const void *)getauxval(AT_RANDOM);

    if (bytes != NULL) {
        memcpy(&image_random, bytes, sizeof(image_random));
    }
}

void memorysample_begin(uint32_t bytes)
{
    image_random_read();
    mean = bytes;
    memorysample_left = 0;
}

void memorysample_lacks(const char *what)
{
    atomic_store(&lacks, what);
}

/* Natural logarithm of 0 < x <= 1: of 2^e * m with m in [0.7, 1.4], and of m
 * by its series in (m - 1) / (m + 1), within 1e-7. */
static double logarithm(double x)
{
    uint64_t bits;
    int exponent;
    double m, s, square;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (int)(bits >> 52 & 0x7ff) - 1022;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(1022) << 52;
    memcpy(&m, &bits, sizeof(m));
    if (m < 0.70710678) {
        m *= 2;
        exponent--;
    }
    s = (m - 1) / (m + 1);
    square = s * s;
    return 2 * s *
               (1 + square * (1.0 / 3 +
                              square * (1.0 / 5 +
                                        square * (1.0 / 7 + square / 9)))) +
           exponent * LN_2;
}

/* Each bit of x decides about each of the answer (splitmix64's last steps). */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t thread_seed(void)
{
    uint64_t thread = atomic_fetch_add(&threads_drawn, 1) + 1;

    return mix(image_random ^ (uint64_t)(uintptr_t)&thread_random ^
               thread * UINT64_C(0x9e3779b97f4a7c15)) |
           1;
}

/* xorshift64* */
static uint64_t random_next(void)
{
    uint64_t x = thread_random == 0 ? thread_seed() : thread_random;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    thread_random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Bytes to the next sample. */
static int64_t distance_draw(void)
{
    double unit = ((double)(random_next() >> 12) + 1) * 0x1p-52; /* (0, 1] */

    return (int64_t)(-logarithm(unit) * mean);
}

/* Where none is left it is one more record without a slot; inject_writer() has
 * counted it already, but at a thread's end. */
static void late_put(const struct live_block *block,
                     struct inject_label *function)
{
    atomic_store_explicit(&is_late_used, true, memory_order_relaxed);
    for (int i = 0; i < LATE_MAX; i++) {
        int state = LATE_FREE;

        if (atomic_compare_exchange_strong(&late[i].state, &state, LATE_BUSY)) {
            late[i].block = *block;
            late[i].function = function;
            /* release: pairs with the exchange in late_take() */
            atomic_store(&late[i].state, LATE_THERE);
            atomic_fetch_add(&late_count, 1);
            return;
        }
    }
    if (inject_is_ended() && atomic_load(&inject_ring.header->is_off) == 0) {
        atomic_fetch_add(&inject_ring.header->noslot, 1);
    }
}

static void late_take(void)
{
    for (int i = 0; i < LATE_MAX && atomic_load(&late_count) > 0; i++) {
        int state = LATE_THERE;

        if (atomic_compare_exchange_strong(&late[i].state, &state, LATE_BUSY)) {
            (void)blockrecord_put(&late[i].block, CK_KIND_FREED,
                                  inject_label_id(late[i].function),
                                  inject_now(), 0);
            atomic_fetch_sub(&late_count, 1);
            atomic_store(&late[i].state, LATE_FREE);
        }
    }
}

/* So many blocks of one set are live that this one cannot be followed. */
static void unfollowed_note(void)
{
    if (!atomic_exchange(&is_noted, true)) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0,
                         "more sampled blocks of memory were live than ck can "
                         "follow: the later ones count as given back at once. "
                         "A larger --allocations samples fewer");
    }
}

/* False: it is not followed. */
static bool block_record(const void *address,
                         size_t bytes,
                         struct inject_label *function,
                         const void *from)
{
    struct live_block block = {
        .address = (uint64_t)(uintptr_t)address, .bytes = bytes, .mean = mean};
    uint32_t name = inject_label_id(function);
    const char *what = NULL;

    if (__builtin_expect(atomic_load(&lacks) != NULL, 0)) {
        what = atomic_exchange(&lacks, NULL);
    }
    if (what != NULL) {
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, what);
    }
    if (atomic_load_explicit(&late_count, memory_order_relaxed) > 0) {
        late_take();
    }
    block.site = call_site(from);
    block.stack = stack_number_find(from, block.site);
    if (!blockrecord_put(&block, CK_KIND_ALLOCATED, name, inject_now(), 0)) {
        return false;
    }
    if (!liveblocks_add(&block)) {
        (void)blockrecord_put(&block, CK_KIND_FREED, name, inject_now(), 0);
        unfollowed_note();
        return false;
    }
    return true;
}

/* Is the thread's count at its end? */
static bool is_due(void)
{
    if (mean == 0 || atomic_load_explicit(&inject_ring.header->is_off,
                                          memory_order_relaxed) != 0) {
        memorysample_left = PAUSE_BYTES;
        return false;
    }
    if (!is_drawn) {
        is_drawn = true;
        memorysample_left += distance_draw();
    }
    return memorysample_left < 0;
}

bool memorysample_take(const void *block,
                       size_t bytes,
                       struct inject_label *function,
                       const void *from)
{
    int saved = errno;
    bool is_followed = false;

    if (is_inside) {
        return false;
    }
    is_inside = true;
    if (is_due()) {
        memorysample_left = distance_draw();
        is_followed = inject_writer() != NULL &&
                      block_record(block, bytes, function, from);
    }
    is_inside = false;
    errno = saved;
    return is_followed;
}

void memorysample_note(const char *what)
{
    int saved = errno;

    if (!is_inside) {
        is_inside = true;
        if (inject_writer() != NULL) {
            (void)inject_say(CK_KIND_NOTE, 0, 0, 0, what);
        }
        is_inside = false;
    }
    errno = saved;
}

void memorysample_gone(const struct live_block *block,
                       struct inject_label *function)
{
    int saved = errno;

    if (!is_inside) {
        is_inside = true;
        if (inject_writer() == NULL) {
            late_put(block, function);
        } else {
            if (atomic_load_explicit(&late_count, memory_order_relaxed) > 0) {
                late_take();
            }
            (void)blockrecord_put(block, CK_KIND_FREED,
                                  inject_label_id(function), inject_now(), 0);
        }
        is_inside = false;
    }
    errno = saved;
}

/* As block_record(), of a block whose stack is known. */
static bool rest_record(const struct live_block *rest, uint32_t name)
{
    if (!blockrecord_put(rest, CK_KIND_ALLOCATED, name, inject_now(),
                         CK_FLAG_PART)) {
        return false;
    }
    if (!liveblocks_add(rest)) {
        (void)blockrecord_put(rest, CK_KIND_FREED, name, inject_now(), 0);
        unfollowed_note();
        return false;
    }
    return true;
}

bool memorysample_rest(const struct live_block *rest,
                       struct inject_label *function)
{
    int saved = errno;
    bool is_followed = false;

    if (!is_inside) {
        is_inside = true;
        is_followed = inject_writer() != NULL &&
                      rest_record(rest, inject_label_id(function));
        is_inside = false;
    }
    errno = saved;
    return is_followed;
}

void memorysample_forking(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

void memorysample_forked(void)
{
    /* Of all children of a process each has another count of forks. */
    thread_random = mix(random_next() ^ atomic_load(&forks)) | 1;
    memorysample_left = 0;
    is_drawn = false;
    if (!atomic_load_explicit(&is_late_used, memory_order_relaxed)) {
        return;
    }
    for (int i = 0; i < LATE_MAX; i++) {
        atomic_store_explicit(&late[i].state, LATE_FREE, memory_order_relaxed);
    }
    atomic_store(&late_count, 0);
    atomic_store(&is_late_used, false);
}
