/* ring.h - the recording memory that a target's libraries share with ckagent
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One file an agent. The agent creates and removes it (agent/ring/ringfile.h);
 * injected libraries attach by its path (CKAGENT_RING) and write; only the
 * agent's collector reads. docs/protocol.md has the picture:
 *
 *   | header | process table | slot heads | outbox | slot body 0 | body 1 ...
 *
 * A slot belongs to one thread of one process image and is shared by all
 * injected libraries of that process, which find it by (incarnation, tid).
 * It is a ring of 32-byte units with one writer and one reader; the body is
 * mapped twice in a row, so a record never wraps. Positions count units from
 * the slot's first use and never restart. Recording takes no lock, makes no
 * allocation and no system call; a full slot drops and counts.
 */
#ifndef CK_SCHEMA_RING_RING_H
#define CK_SCHEMA_RING_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/fnv.h"
#include "schema/time.h"

#define CK_RING_ENV "CKAGENT_RING"
/* The same as a value of instructions. Each program that a script starts asks
 * for it, and a name among the constants would cost it one page fault more. */
#define CK_RING_ENV_HERE ((char[]){CK_RING_ENV})
#define CK_RING_MAGIC 0x3130474e49524b43ull /* "CKRING01" */
#define CK_RING_VERSION 5
#define CK_RING_PROCESSES 1024
#define CK_RING_SLOTS_MAX 1024
#define CK_RING_OPEN_MAX 16
#define CK_RING_STARTED 64
/* Stacks that processes take themselves have numbers of an agent behind those
 * of its collector, of so many. */
#define CK_RING_STACKS_BEFORE 65536
#define CK_RING_STACKS_MAX 65536
#define CK_RING_PAGE_BYTES ((uint64_t)4096)
#define CK_RING_ENDPOINT_BYTES 1024
#define CK_RING_SLOT_BYTES ((uint64_t)4 << 20)   /* default */
#define CK_RING_OUTBOX_BYTES ((uint64_t)8 << 20) /* default */

/* Life of a slot. The thread that owns it moves LIVE -> ENDED; everything
 * else is the collector's, but for the claims FREE -> LIVE and, by a thread of
 * the same image, ENDED -> LIVE: such a slot still holds records of threads
 * before it, so each new owner begins with its THREAD record.
 */
enum ck_slot_state {
    CK_SLOT_UNBACKED = 0, /* no memory behind it: never touch the body */
    CK_SLOT_FREE = 1,     /* backed (fallocate), may be claimed */
    CK_SLOT_CLAIMED = 2,  /* won by a thread or the collector for a moment */
    CK_SLOT_LIVE = 3,
    CK_SLOT_ENDED = 4, /* its thread is gone; free once drained */
};

/* `backed` of a slot whose whole body has memory. */
#define CK_RING_BACKED_ALL UINT64_MAX

/* A call that was entered and not yet left. */
struct ck_ring_open {
    int64_t start; /* on the ring's clock */
    uint64_t site;
    uint32_t name;
    _Atomic uint32_t call; /* written last; 0 = being changed */
    uint32_t object;
    uint32_t seq; /* of a collective; of a message: its peer, as int32_t */
    uint32_t kind;
    uint32_t tag; /* of a message, of a collective its root, + 2; 0 = it is
                     about none */
};

/* RAW by the processor's counter, for the thread of a slot (ringclock.h). */
#define CK_RING_ANY_CPU UINT32_MAX
struct ck_ring_line {
    int64_t base;     /* RAW where the counter were 0 */
    uint64_t scale;   /* ns a tick, times 2^32 */
    uint64_t from;    /* the counter: it holds from there ... */
    uint32_t ticks;   /* ... for so many; 0 = there is none */
    uint32_t cpu;     /* on which it holds, or CK_RING_ANY_CPU */
    int64_t floor;    /* no stamp before that RAW; 0 = any */
    uint32_t misses;  /* readings in turn that were too wide */
    uint32_t strays;  /* lines that were off, since the file was made, ... */
    int64_t stray_ns; /* ... and by how much at most */
};

/* Shared head of a slot; each group on cache lines of its own. */
struct ck_ring_slot {
    /* Claim. */
    _Atomic uint32_t state; /* enum ck_slot_state */
    _Atomic uint32_t tid;
    uint32_t incarnation;
    _Atomic uint32_t users; /* libraries that write to it */
    uint32_t is_told;       /* its owner's THREAD record was written */
    uint8_t pad0[4];
    uint64_t body;      /* where the owner's process mapped it; 0 = not yet */
    uint64_t body_seal; /* of `body`, by what only that image knows */
    uint8_t pad1[24];
    /* Writer. */
    _Atomic uint64_t head;    /* next position to write; release at a commit */
    uint64_t tail_seen;       /* a body before the end of the room known */
    uint32_t is_busy;         /* a record is being written (signal re-entry) */
    uint32_t calls;           /* numbers given to calls of this thread */
    _Atomic uint64_t dropped; /* records, since the file was made */
    _Atomic uint64_t reentered;
    _Atomic int64_t lost_first; /* ring clock; 0 = none */
    _Atomic int64_t lost_last;
    uint8_t pad2[8];
    /* Reader. */
    _Atomic uint64_t tail; /* first position not yet in the outbox */
    /* Positions before it have memory behind them: less than the body while
     * the slot is new, CK_RING_BACKED_ALL from its first lap on. */
    _Atomic uint64_t backed;
    uint64_t dropped_told; /* of `dropped`, in frames of a collector */
    uint64_t reentered_told;
    uint8_t pad3[32];
    /* Open calls: depth may exceed CK_RING_OPEN_MAX, entries do not. */
    _Atomic uint32_t depth;
    uint8_t pad4[60];
    struct ck_ring_open open[CK_RING_OPEN_MAX];
    struct ck_ring_line line; /* the writer's */
    uint8_t pad5[72];
};

/* A process image that records: key = pid and the random bytes that exec
 * gives to each image. Entries are found by open addressing from the key. The
 * collector gives those of dead processes back once their slots are free.
 */
#define CK_RING_KEY_BACK                                                       \
    1 /* was in use, may be taken; a chain goes on here                        \
       */
struct ck_ring_process {
    _Atomic uint64_t key; /* 0 = never used */
    uint32_t pid;
    _Atomic uint32_t incarnation; /* from 1; 0 = being filled in */
    _Atomic uint32_t names;       /* ids given to NAME records */
    _Atomic uint32_t objects;     /* ids given to devices, queues, comms */
    int64_t started;              /* RAW ns of the attach */
    _Atomic uint32_t libraries;   /* bits: enum ck_library */
    uint64_t pid_space;           /* ck_ring_pid_space() of its own */
    uint8_t pad[16];
};

/* Injected libraries, for what the report has as recorded. */
enum ck_library {
    CK_LIBRARY_MPI = 1,
    CK_LIBRARY_OPENCL = 2,
    CK_LIBRARY_CUPTI = 4,
    CK_LIBRARY_ANNOTATE = 8,
    CK_LIBRARY_NCCL = 16,
    CK_LIBRARY_PYTHON = 32,
    CK_LIBRARY_POSIX = 64,
    CK_LIBRARY_CUDA = 128,
    CK_LIBRARY_NVTX = 256,
    CK_LIBRARY_OPENMP = 512,
    CK_LIBRARY_MEMORY = 1024,
};

struct ck_ring_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes; /* all before the outbox; mapped by libraries */
    uint32_t clock;        /* enum ck_clock of all records */
    uint32_t slots;        /* in the table */
    uint64_t slot_bytes;   /* of a large body: a power of two, whole pages */
    uint64_t slot_offset;  /* of body 0 in the file; body i follows */
    uint64_t outbox_offset;
    uint64_t outbox_bytes;
    uint8_t agent[16]; /* random id of the agent */
    int64_t created;   /* RAW ns */
    uint32_t rank;     /* world rank of the agent, ~0u = not known */
    uint32_t size;
    uint32_t owner_pid;            /* of the collector now, for leftovers */
    _Atomic uint32_t is_off;       /* 1: libraries stop recording */
    _Atomic uint32_t incarnations; /* numbers given */
    _Atomic uint32_t loaded;       /* injected libraries that were loaded */
    _Atomic uint64_t noslot;       /* records without a slot */
    _Atomic uint64_t noprocess;    /* attaches without a table entry */
    /* Rendezvous over several hosts: rank 0's agent writes `publish`, ckmpi
     * hands it on after MPI_Init and writes `found` at the others. The flags
     * are released after the text (NUL-terminated).
     */
    _Atomic uint32_t is_published;
    _Atomic uint32_t is_found;
    char publish[CK_RING_ENDPOINT_BYTES];
    char found[CK_RING_ENDPOINT_BYTES];
    uint32_t posix_threshold_ns; /* ckposix records longer calls; 0 = default */
    _Atomic uint32_t offers;     /* times that a slot became claimable */
    _Atomic uint32_t claims; /* times that a thread got a slot, counted after */
    uint32_t large;          /* slots before it have large bodies, */
    uint64_t small_bytes;    /* the others such: a power of two, whole pages */
    uint64_t layout_sum;     /* ck_ring_layout_sum() */
    uint32_t is_openmp_off;  /* 1: ckomp records nothing */
    uint32_t allocation_mean; /* ckmemory samples one of so many bytes; 0 = off
                               */
    _Atomic uint32_t stacks;  /* numbers given to stacks of processes */
    uint8_t pad0[20];
    int64_t alive;        /* RAW when a collector ran last; 0 = none did */
    uint64_t noslot_told; /* of `noslot`, in frames of a collector */
    int64_t raw_space;    /* what a time namespace adds to RAW of the agent */
    /* Programs that were started without libraries: */
    _Atomic uint64_t spared;  /* nothing would be recorded in them */
    _Atomic uint64_t cramped; /* their address space is limited */
    /* Program files that processes of the job execute, for who does that
     * (agent/inject/posix/posixstarts.c). */
    _Atomic uint64_t started[CK_RING_STARTED];
    /* Ns a tick of the processor's counter, times 2^32: RAW may be had from it
     * (ringclock.h); 0 = it is read. */
    _Atomic uint64_t counter_scale;
    _Atomic uint32_t is_counter_one; /* 1: it is the same on all CPUs */
    uint8_t pad[1292];
};

_Static_assert(sizeof(struct ck_ring_open) == 40, "shared layout");
_Static_assert(sizeof(struct ck_ring_slot) == 1024, "shared layout");
_Static_assert(sizeof(struct ck_ring_process) == 64, "shared layout");
_Static_assert(offsetof(struct ck_ring_slot, head) == 64, "cache line");
_Static_assert(offsetof(struct ck_ring_slot, tail) == 128, "cache line");
_Static_assert(offsetof(struct ck_ring_slot, depth) == 192, "cache line");
_Static_assert(offsetof(struct ck_ring_header, alive) == 2240, "cache line");
_Static_assert(offsetof(struct ck_ring_slot, line) == 896, "cache line");
_Static_assert(sizeof(struct ck_ring_header) == 4096, "one page");

/* Where the tables are in the mapped head of the file. */
#define CK_RING_PROCESS_OFFSET sizeof(struct ck_ring_header)
#define CK_RING_HEADS_OFFSET                                                   \
    (CK_RING_PROCESS_OFFSET +                                                  \
     CK_RING_PROCESSES * sizeof(struct ck_ring_process))

static inline struct ck_ring_process *
ck_ring_processes(struct ck_ring_header *header)
{
    return (struct ck_ring_process *)((char *)header + CK_RING_PROCESS_OFFSET);
}

static inline struct ck_ring_slot *ck_ring_heads(struct ck_ring_header *header)
{
    return (struct ck_ring_slot *)((char *)header + CK_RING_HEADS_OFFSET);
}

/* What is decided when a ring is made. The program can write to the header by
 * mistake: who uses a ring has a copy of its own of this, and looks there. */
struct ck_ring_layout {
    uint32_t header_bytes;
    uint32_t slots;
    uint32_t large;
    uint32_t clock; /* enum ck_clock */
    uint64_t slot_bytes;
    uint64_t small_bytes;
    uint64_t slot_offset;
};

static inline struct ck_ring_layout
ck_ring_layout(const struct ck_ring_header *header)
{
    return (struct ck_ring_layout){
        .header_bytes = header->header_bytes,
        .slots = header->slots,
        .large = header->large,
        .clock = header->clock,
        .slot_bytes = header->slot_bytes,
        .small_bytes = header->small_bytes,
        .slot_offset = header->slot_offset,
    };
}

/* FNV-1a over all of the header that never changes: a later reader of the ring
 * sees by it that it was overwritten. */
static inline uint64_t ck_ring_layout_sum(const struct ck_ring_header *header)
{
    const uint64_t more[2] = {header->large, header->small_bytes};
    uint64_t sum = ck_fnv(CK_FNV_START, header,
                          offsetof(struct ck_ring_header, owner_pid));

    return ck_fnv(sum, more, sizeof(more));
}

/* Bytes of the slot's body. Where memory is scarce a ring has a few large slots
 * for the first threads and small ones for many. */
static inline uint64_t ck_ring_body_bytes(const struct ck_ring_layout *layout,
                                          uint32_t slot)
{
    return slot < layout->large ? layout->slot_bytes : layout->small_bytes;
}

/* A process image's side of the ring; one in each injected library. */
struct ck_ring {
    struct ck_ring_header *header; /* NULL = not mapped */
    struct ck_ring_layout layout;
    /* First page of body 0, not to be touched; NULL = not needed yet. */
    _Atomic(uint8_t *) bodies;
    /* Threads that enter at the same time store the same. */
    _Atomic(struct ck_ring_process *) process;
    _Atomic uint32_t incarnation; /* 0 = not entered */
    enum ck_clock clock;
    uint32_t loaded;   /* header->loaded when the ring was mapped */
    int64_t raw_space; /* of the header, when it was mapped */
    /* When that was, by two clocks. */
    int64_t mapped_raw;
    int64_t mapped_ticks;
    /* Of a thread's area for restartable sequences (rseq(2)), from where its
     * own memory begins; 0 = it has none. */
    _Atomic int64_t rseq;
    bool is_child; /* of fork(), without an exec since */
    /* The process allows no system call of ours any more. */
    _Atomic bool is_closed;
    char path[256];
};

/* A thread's side: its slot. One a thread in each injected library. */
struct ck_ring_writer {
    struct ck_ring_slot *slot; /* NULL = none */
    uint8_t *body;             /* mapped twice in a row */
    uint64_t mask;             /* units - 1 */
};

/* Map the ring named by CKAGENT_RING. 0, or -1 with errno: ENOENT no agent
 * (variable unset), EPROTO not a ring of this version. What is mapped serves
 * for the life of the process, whatever becomes of its files and its user.
 */
int ck_ring_map(struct ck_ring *ring);
/* The same, where the value of the variable is known; NULL = unset. */
int ck_ring_map_at(struct ck_ring *ring, const char *path);
/* Enter this process image in the table of a mapped ring. Any thread may, any
 * number of times. 0, or -1 with errno: ENOSPC the table is full, EAGAIN
 * another thread is at it. Not for a signal handler.
 */
int ck_ring_enter(struct ck_ring *ring, enum ck_library library);
/* Both. */
int ck_ring_attach(struct ck_ring *ring, enum ck_library library);
/* The collector enters another process's image, of its own pid namespace, by
 * the bytes that AT_RANDOM has there. 0, or -1 with ENOSPC. */
#define CK_RING_IMAGE_BYTES 16
int ck_ring_enroll(struct ck_ring_header *header,
                   uint32_t pid,
                   const uint8_t bytes[CK_RING_IMAGE_BYTES]);
/* Number of this process's pid namespace: pids of another mean nothing here.
 * 0 = not known. */
uint64_t ck_ring_pid_space(void);
/* Leave the image of the parent (child after fork); the ring stays mapped. */
void ck_ring_forget(struct ck_ring *ring);

/* Find this thread's slot or claim one, and map it. 0, or -1 with errno
 * (EAGAIN: none now, counted as lost by the caller's record; worth another
 * try once header->offers has changed).
 */
int ck_ring_writer_init(struct ck_ring_writer *writer, struct ck_ring *ring);
/* Leave the slot (thread exit). The last library's leave ends the slot. */
void ck_ring_writer_fini(struct ck_ring_writer *writer, struct ck_ring *ring);

/* Next id for a NAME record, or for an object (device, queue, communicator),
 * unique in this process image. */
uint32_t ck_ring_name_id(struct ck_ring *ring);
uint32_t ck_ring_object_id(struct ck_ring *ring);

/* Write a text record; longer text than CK_TEXT_BYTES_MAX is cut. 0, or -1
 * when it was dropped (record it again later). head.units and length are set
 * here; head.start = 0 means now. */
int ck_ring_text(struct ck_ring_writer *writer,
                 struct ck_ring *ring,
                 struct ck_text text,
                 const char *bytes,
                 size_t length);

/* Look again how far the slot may be written: by the reader's tail and by the
 * memory behind it. Is there room for so many units? `mask` is the writer's.
 */
bool ck_ring_has_room(struct ck_ring_slot *slot, uint64_t mask, unsigned units);

/* Count records that found no room (the slow path of ck_ring_begin). */
void ck_ring_count_lost(struct ck_ring_slot *slot,
                        enum ck_clock clock,
                        uint64_t records);

/* Room for a record of `units`, to be filled in and committed, or NULL when
 * it was dropped and counted. At most one at a time; no call in between.
 */
static inline void *ck_ring_begin(struct ck_ring_writer *writer,
                                  enum ck_clock clock,
                                  unsigned units)
{
    struct ck_ring_slot *slot = writer->slot;
    uint64_t head;

    if (__builtin_expect(slot->is_busy != 0, 0)) {
        atomic_fetch_add_explicit(&slot->reentered, 1, memory_order_relaxed);
        return NULL;
    }
    slot->is_busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    /* Read under the guard: a signal handler may just have recorded. */
    head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    if (__builtin_expect(head + units - slot->tail_seen > writer->mask + 1,
                         0)) {
        if (!ck_ring_has_room(slot, writer->mask, units)) {
            ck_ring_count_lost(slot, clock, 1);
            slot->is_busy = 0;
            return NULL;
        }
    }
    return writer->body + (head & writer->mask) * CK_UNIT_BYTES;
}

/* The collector has read the line that is written to next: it is asked for so
 * many units ahead. */
#define CK_RING_AHEAD 16

/* Make the record begun visible to the collector. */
static inline void ck_ring_commit(struct ck_ring_writer *writer, unsigned units)
{
    struct ck_ring_slot *slot = writer->slot;
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);

    /* release: pairs with the acquire of head in the collector */
    atomic_store_explicit(&slot->head, head + units, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    slot->is_busy = 0;
    __builtin_prefetch(writer->body + ((head + CK_RING_AHEAD) & writer->mask) *
                                          CK_UNIT_BYTES,
                       1);
}

/* Show that a call was entered; returns its number in this thread, or 0 when
 * a signal handler interrupted a recording (its record will not be made).
 */
static inline uint32_t ck_ring_open(struct ck_ring_writer *writer,
                                    const struct ck_ring_open *call)
{
    struct ck_ring_slot *slot = writer->slot;
    uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
    uint32_t number;

    if (__builtin_expect(slot->is_busy != 0, 0)) {
        atomic_store_explicit(&slot->depth, depth + 1, memory_order_release);
        return 0;
    }
    slot->is_busy = 1;
    atomic_signal_fence(memory_order_seq_cst);
    number = ++slot->calls;
    if (__builtin_expect(number == 0, 0)) {
        number = ++slot->calls; /* 0 means "none" */
    }
    if (depth < CK_RING_OPEN_MAX) {
        struct ck_ring_open *entry = &slot->open[depth];

        atomic_store_explicit(&entry->call, 0, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        entry->start = call->start;
        entry->site = call->site;
        entry->name = call->name;
        entry->object = call->object;
        entry->seq = call->seq;
        entry->kind = call->kind;
        entry->tag = call->tag;
        /* release: pairs with the collector's acquire of entry->call */
        atomic_store_explicit(&entry->call, number, memory_order_release);
    }
    atomic_store_explicit(&slot->depth, depth + 1, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    slot->is_busy = 0;
    return number;
}

/* The innermost open call was left. */
static inline void ck_ring_close(struct ck_ring_writer *writer)
{
    struct ck_ring_slot *slot = writer->slot;
    uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);

    if (depth > 0) {
        atomic_store_explicit(&slot->depth, depth - 1, memory_order_release);
    }
}

#endif
