/* perfring.c - a ring that the kernel writes an event's records into
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/perfring.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schema/fd.h"

/* The size of a record is 16 bits. */
#define RECORD_MAX 65536

/* Data pages of a ring of switches. A user may have 516 KiB a CPU of all rings
 * without rights: the ranks of a host share that. Who may lock memory has more:
 * 1 MiB is 13 ms of a thread that yields a million times a second. */
#define PAGES_SHARED 64
#define PAGES_SHARED_LOCKED 512
#define PAGES_MOST 64
#define PAGES_MOST_LOCKED 256
#define PAGES_LEAST 4
/* Samples come a hundred times a second: a ring of theirs is smaller by that,
 * but no less than so many pages. */
#define PAGES_SAMPLES 4
#define PAGES_SAMPLES_LEAST 2
/* Page faults are sampled at the same rate, with less of a stack. */
#define PAGES_FAULTS 8
/* With copies of stacks: so many samples shall fit, and must. A ring of them
 * has so many pages at most for all agents of a CPU together. */
#define STACKS_ROOM 56
#define STACKS_LEAST 3
#define PAGES_STACKS 32
#define PAGES_STACKS_LOCKED 4096
#define STACK_BYTES_LEAST 1024
/* Beside the stack: head, call chain, registers. */
#define RECORD_REST 1536
/* With more CPUs the rings are as small as can be. */
#define CPUS_FEW 16

bool perfring_may_lock(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    return syscall(SYS_capget, &head, data) == 0 &&
           (data[0].effective & 1u << CAP_IPC_LOCK) != 0;
}

static size_t part_of(size_t pages, size_t part)
{
    return pages / part > PAGES_SAMPLES_LEAST ? pages / part
                                              : PAGES_SAMPLES_LEAST;
}

struct perfring_pages perfring_share(size_t cpus, size_t sharers, bool may_lock)
{
    size_t shared = may_lock ? PAGES_SHARED_LOCKED : PAGES_SHARED;
    size_t pages = may_lock ? PAGES_MOST_LOCKED : PAGES_MOST;
    struct perfring_pages share;

    while (pages > PAGES_LEAST && (pages * sharers > shared)) {
        pages /= 2;
    }
    pages = cpus > CPUS_FEW ? PAGES_LEAST : pages;
    share.of[PERFEVENT_SWITCHES] = pages;
    share.of[PERFEVENT_SAMPLES] = part_of(pages, PAGES_SAMPLES);
    share.of[PERFEVENT_MINOR] = share.of[PERFEVENT_MAJOR] =
        part_of(pages, PAGES_FAULTS);
    return share;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void perfring_widen(struct perfring_pages *pages,
                    size_t stack_bytes,
                    size_t sharers,
                    bool may_lock)
{
    size_t wanted = STACKS_ROOM * (stack_bytes + RECORD_REST) / page_bytes();
    size_t most = (may_lock ? PAGES_STACKS_LOCKED : PAGES_STACKS) /
                  (sharers > 0 ? sharers : 1);
    size_t share = 1;

    while (share < wanted && 2 * share <= most) {
        share *= 2;
    }
    if (stack_bytes > 0 && share > pages->of[PERFEVENT_SAMPLES]) {
        pages->of[PERFEVENT_SAMPLES] = share;
    }
}

size_t perfring_stack(const struct perfring_pages *pages,
                      enum perfevent_ring ring)
{
    size_t record = pages->of[ring] * page_bytes() / STACKS_LEAST / 8 * 8;

    return record < RECORD_REST + STACK_BYTES_LEAST ? 0 : record - RECORD_REST;
}

/* Locked memory is limited: a smaller ring is better than none. */
void perfring_map(struct perfring *ring, size_t pages)
{
    for (; pages > 0 && ring->page == NULL; pages /= 2) {
        void *at = mmap(NULL, page_bytes() * (1 + pages),
                        PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

        if (at != MAP_FAILED) {
            ring->page = at;
            ring->bytes = page_bytes() * pages;
        }
    }
}

void perfring_fini(struct perfring *ring)
{
    if (ring->page != NULL) {
        (void)munmap(ring->page, page_bytes() + ring->bytes);
    }
    ck_fd_close(ring->fd);
}

static void record_take(struct perfring *ring,
                        const struct perf_event_header *record,
                        perfring_take_f take,
                        void *state)
{
    const uint64_t *words = (const uint64_t *)(record + 1); /* id, count */

    if (record->type != PERF_RECORD_LOST) {
        ring->tally.taken++;
        take(state, record);
    } else if (record->size >= sizeof(*record) + 2 * sizeof(*words)) {
        ring->tally.lost += words[1];
    }
}

/* Take what is before `head`. */
static void drain_to(struct perfring *ring,
                     uint64_t head,
                     perfring_take_f take,
                     void *state)
{
    static uint64_t wrapped[RECORD_MAX / sizeof(uint64_t)]; /* one thread */
    uint8_t *data = (uint8_t *)ring->page + page_bytes();
    uint64_t tail = ring->page->data_tail;

    while (head - tail >= sizeof(struct perf_event_header)) {
        size_t at = tail % ring->bytes;
        const struct perf_event_header *record = (const void *)(data + at);
        size_t size = record->size;

        if (size < sizeof(*record) || size > head - tail) {
            break;
        }
        if (at + size > ring->bytes) {
            size_t first = ring->bytes - at;

            memcpy(wrapped, data + at, first);
            memcpy((uint8_t *)wrapped + first, data, size - first);
            record = (const void *)wrapped;
        }
        record_take(ring, record, take, state);
        tail += size;
    }
    /* release: the kernel may overwrite what was read */
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

size_t perfring_used(const struct perfring *ring)
{
    return ring->page == NULL ? 0
                              : (size_t)(__atomic_load_n(&ring->page->data_head,
                                                         __ATOMIC_RELAXED) -
                                         ring->page->data_tail);
}

void perfring_mark(struct perfring *ring)
{
    if (ring->page != NULL) {
        /* acquire: pairs with the kernel's store of the head after the data */
        ring->mark = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    }
}

void perfring_drain_marked(struct perfring *ring,
                           perfring_take_f take,
                           void *state)
{
    if (ring->page != NULL) {
        drain_to(ring, ring->mark, take, state);
    }
}

void perfring_drain(struct perfring *ring, perfring_take_f take, void *state)
{
    perfring_mark(ring);
    perfring_drain_marked(ring, take, state);
}
