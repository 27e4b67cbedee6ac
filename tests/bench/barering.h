/* barering.h - records in shared memory, with nothing of ck
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * What every recorder has to do: a program writes records of whole units into
 * a ring (a mapping of 4 MiB, as large as a slot of ck's), and the process
 * beside it (waker.c) reads them. Header only; without a waker bare_open()
 * finds nothing and bare_record() does nothing.
 */
#ifndef CK_TESTS_BENCH_BARERING_H
#define CK_TESTS_BENCH_BARERING_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "schema/time.h"

#define BARE_ENV "BENCH_BARE_RING" /* number of the file */
#define BARE_UNITS ((uint64_t)1 << 17)
#define BARE_WORDS 4 /* of a unit, 32 bytes */
#define BARE_UNITS_MAX 3

/* Each side's words have cache lines of their own. */
struct bare_ring {
    _Alignas(128) _Atomic uint64_t head; /* units written */
    _Atomic uint64_t lost;               /* records without room */
    _Alignas(128) _Atomic uint64_t tail; /* units read */
    _Alignas(4096) uint64_t body[BARE_UNITS][BARE_WORDS];
};

/* The program's side. */
struct bare_writer {
    struct bare_ring *ring; /* NULL = none */
    uint64_t tail_seen;
};

static inline struct bare_ring *bare_map(int fd)
{
    void *mapped = mmap(NULL, sizeof(struct bare_ring), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, fd, 0);

    return mapped == MAP_FAILED ? NULL : mapped;
}

static inline struct bare_writer bare_open(void)
{
    const char *fd = getenv(BARE_ENV);

    return (struct bare_writer){
        .ring = fd == NULL ? NULL : bare_map(atoi(fd)),
    };
}

/* A look at the counter, as a record has it. */
static inline int64_t bare_now(const struct bare_writer *writer)
{
    return writer->ring == NULL ? 0 : ck_time_ticks();
}

/* A record of so many units, up to BARE_UNITS_MAX. */
static inline void bare_record(struct bare_writer *writer,
                               unsigned units,
                               int64_t begin,
                               int64_t end)
{
    struct bare_ring *ring = writer->ring;
    uint64_t head;

    if (ring == NULL) {
        return;
    }
    head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head + units - writer->tail_seen > BARE_UNITS) {
        /* acquire: pairs with the release in waker.c */
        writer->tail_seen =
            atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head + units - writer->tail_seen > BARE_UNITS) {
            atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
            return;
        }
    }
    for (unsigned i = 0; i < units; i++) {
        uint64_t *unit = ring->body[(head + i) % BARE_UNITS];

        unit[0] = units;
        unit[1] = (uint64_t)begin;
        unit[2] = (uint64_t)end;
        unit[3] = i;
    }
    /* release: pairs with the acquire in waker.c */
    atomic_store_explicit(&ring->head, head + units, memory_order_release);
}

#endif
