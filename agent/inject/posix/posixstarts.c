/* posixstarts.c - programs that a job starts again and again
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table is in the ring, for a shell that forks forgets what its child
 * learned. Two processes that write to one entry at the same time, or two
 * files that meet there, lose a start or a look at the file; no more.
 *
 *   state of an entry: second << 32 | kind << 16 | starts in that second
 */
#include "agent/inject/posix/posixstarts.h"

#include <time.h>

#include "agent/inject/inject.h"
#include "agent/inject/posix/posiximports.h"
#include "schema/kernelask.h"

#define STARTS_MOST UINT16_MAX

enum kind {
    KIND_UNKNOWN = 0,
    KIND_LITTLE = 1, /* nothing would be recorded */
    KIND_OTHER = 2,
};

struct starts {
    uint32_t second;
    enum kind kind;
    uint32_t count;
};

static struct starts state_take(uint64_t state)
{
    return (struct starts){(uint32_t)(state >> 32),
                           (enum kind)(state >> 16 & UINT16_MAX),
                           (uint32_t)(state & UINT16_MAX)};
}

static uint64_t state_make(const struct starts *starts)
{
    return (uint64_t)starts->second << 32 | (uint64_t)starts->kind << 16 |
           starts->count;
}

static uint32_t second_now(void)
{
    struct timespec now = {0};

    (void)ck_kernel_ask(SYS_clock_gettime,
                        (long[6]){CLOCK_MONOTONIC_COARSE, (long)&now});
    return (uint32_t)now.tv_sec;
}

/* Many in one second are many in the next one from its beginning on. */
static void start_add(struct starts *starts, uint32_t second)
{
    if (second - starts->second > 1 ||
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
    struct ck_ring_started *entry;
    struct starts starts = {0};

    if (header == NULL) {
        return false;
    }
    entry = &header->started[(key >> 1) % CK_RING_STARTED];
    if (atomic_load(&entry->key) == key) {
        starts = state_take(atomic_load(&entry->state));
    }
    start_add(&starts, second_now());
    if (starts.count > POSIX_STARTS_FEW && starts.kind == KIND_UNKNOWN) {
        starts.kind = posix_imports_little(path) ? KIND_LITTLE : KIND_OTHER;
    }
    atomic_store(&entry->key, key);
    atomic_store(&entry->state, state_make(&starts));
    if (starts.count <= POSIX_STARTS_FEW || starts.kind != KIND_LITTLE) {
        return false;
    }
    (void)atomic_fetch_add(&header->spared, 1);
    return true;
}
