/* posixstarts.c - programs that a job starts again and again
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table is in the ring, for a shell that forks forgets what its child
 * learned. An entry is one word, so that what is known of a file is never taken
 * for another one's. Two processes that write to it at the same time, or two
 * files that meet there, lose a start or a look at the file; no more.
 *
 *   key, without its lowest bits | second, 8 bits | kind, 2 | starts in it, 6
 */
#include "agent/inject/posix/posixstarts.h"

#include <time.h>

#include "agent/inject/inject.h"
#include "agent/inject/posix/posiximports.h"
#include "schema/kernelask.h"

#define COUNT_BITS 6
#define KIND_BITS 2
#define SECOND_BITS 8
#define KEY_MASK (UINT64_MAX << (COUNT_BITS + KIND_BITS + SECOND_BITS))
#define STARTS_MOST (((uint64_t)1 << COUNT_BITS) - 1)

enum kind {
    KIND_UNKNOWN = 0,
    KIND_LITTLE = 1, /* nothing would be recorded */
    KIND_OTHER = 2,
};

struct starts {
    uint8_t second; /* of the clock, its lowest bits */
    enum kind kind;
    uint32_t count;
};

static struct starts starts_of(uint64_t entry)
{
    return (struct starts){
        (uint8_t)(entry >> (COUNT_BITS + KIND_BITS)),
        (enum kind)(entry >> COUNT_BITS & ((1u << KIND_BITS) - 1)),
        (uint32_t)(entry & STARTS_MOST)};
}

static uint64_t entry_of(uint64_t key, const struct starts *starts)
{
    return (key & KEY_MASK) |
           (uint64_t)starts->second << (COUNT_BITS + KIND_BITS) |
           (uint64_t)starts->kind << COUNT_BITS | starts->count;
}

static uint8_t second_now(void)
{
    struct timespec now = {0};

    (void)ck_kernel_ask(SYS_clock_gettime,
                        (long[6]){CLOCK_MONOTONIC_COARSE, (long)&now});
    return (uint8_t)now.tv_sec;
}

/* Many in one second are many in the next one from its beginning on. */
static void start_add(struct starts *starts, uint8_t second)
{
    if ((uint8_t)(second - starts->second) > 1 ||
        (second != starts->second && starts->count <= POSIX_STARTS_FEW)) {
        starts->count = 0;
    } else if (second != starts->second) {
        starts->count = POSIX_STARTS_FEW;
    }
    starts->second = second;
    starts->count += starts->count < STARTS_MOST;
}

bool posix_starts_spare(const char *path, uint64_t key)
{
    struct ck_ring_header *header = inject_ring.header;
    _Atomic uint64_t *entry;
    struct starts starts = {0};
    uint64_t known;

    if (header == NULL) {
        return false;
    }
    entry = &header->started[(key >> 1) % CK_RING_STARTED];
    known = atomic_load(entry);
    if ((known & KEY_MASK) == (key & KEY_MASK)) {
        starts = starts_of(known);
    }
    start_add(&starts, second_now());
    if (starts.count > POSIX_STARTS_FEW && starts.kind == KIND_UNKNOWN) {
        starts.kind = posix_imports_little(path) ? KIND_LITTLE : KIND_OTHER;
    }
    atomic_store(entry, entry_of(key, &starts));
    if (starts.count <= POSIX_STARTS_FEW || starts.kind != KIND_LITTLE) {
        return false;
    }
    (void)atomic_fetch_add(&header->spared, 1);
    return true;
}
