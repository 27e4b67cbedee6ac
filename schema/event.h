/* event.h - the records of a ring, a batch and a merge: one shape for all
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is 1..255 units of 32 bytes. Its first 16 bytes are struct
 * ck_event; the rest depends on the class of its kind (kind.def). The same
 * structs come out of ck_batch_decode() in merge. Little-endian, no pointers,
 * padding explicit. Header only: injected libraries include it.
 */
#ifndef CK_SCHEMA_EVENT_H
#define CK_SCHEMA_EVENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CK_UNIT_BYTES 32
#define CK_RECORD_UNITS_MAX 255
/* Longest text of one record; longer text is cut, never split. */
#define CK_TEXT_BYTES_MAX ((CK_RECORD_UNITS_MAX - 1) * CK_UNIT_BYTES)

enum ck_class {
    CK_CLASS_NONE = 0,
#define CK_CLASS(number, NAME, type, units, text) CK_CLASS_##NAME = number,
#include "schema/kind.def"
    CK_CLASS_LIMIT
};

enum ck_kind {
    CK_KIND_NONE = 0,
#define CK_KIND(number, NAME, CLASS, text, meaning) CK_KIND_##NAME = number,
#include "schema/kind.def"
    CK_KIND_LIMIT
};

/* Bits of ck_event.flags. */
enum ck_flag {
    CK_FLAG_RAW = 1,         /* times are RAW ns whatever the ring's clock is */
    CK_FLAG_FAILED = 2,      /* the call returned an error */
    CK_FLAG_CUT = 4,         /* the end is not known (died, or still running) */
    CK_FLAG_BAD_TIME = 8,    /* the device gave no usable stamps */
    CK_FLAG_FORTRAN = 16,    /* called through a Fortran entry point */
    CK_FLAG_PERSISTENT = 32, /* a persistent request's start */
    CK_FLAG_GROUP = 32,      /* a collective kernel: registers is the NAME of
                                its process group or communicator,
                                shared_bytes its number there, 0 = none */
    CK_FLAG_SHARED = 32,     /* a call of an imported profile that has the
                                correlation of another one: whose work it is
                                that came is not known */
    CK_FLAG_PART = 64,       /* another core's part of the kernel before it; of
                                memory: a rest of a block */
    CK_FLAG_SITE = 128,      /* a kernel of an imported profile without a call
                                of its own: correlation is its call site */
    CK_FLAG_STACK = 32,    /* a time off the CPU that an OFF_CPU record has the
                              stack of */
    CK_FLAG_FAULTING = 32, /* a CPU sample in the kernel that no system call
                              led to: at that rate, a page fault */
};

/* Why records are missing (ck_counter.reason of a LOST record). */
enum ck_lost {
    CK_LOST_RING = 1,    /* the thread's slot was full */
    CK_LOST_NOSLOT = 2,  /* no slot was free for the thread */
    CK_LOST_DEVICE = 3,  /* the device's tracer dropped */
    CK_LOST_SPOOL = 4,   /* outbox and spool were full, or the disk */
    CK_LOST_REENTRY = 5, /* a signal handler interrupted a recording */
    CK_LOST_LIMIT = 6,   /* --limit was reached */
    CK_LOST_UNDONE = 7,  /* device work without a completion at exit */
};

/* Which memory a MEMORY record is about (ck_counter.reason). */
enum ck_memory {
    CK_MEMORY_RESIDENT = 1, /* pages of the process that have memory */
    CK_MEMORY_HUGE = 2,     /* of these, in huge pages */
    CK_MEMORY_SWAPPED = 3,  /* pages of it on a disk */
};

/* Head of every record. */
struct ck_event {
    uint16_t kind; /* enum ck_kind */
    uint8_t units; /* length of the record in 32-byte units */
    uint8_t flags; /* enum ck_flag */
    uint32_t name; /* id of a NAME record of the same process image, or 0 */
    int64_t start; /* on the ring's clock, RAW ns with CK_FLAG_RAW */
};

struct ck_mark {
    struct ck_event e;
    int64_t dur; /* in the unit of start; 0 for a point */
    int64_t value;
};

/* Sites from here on are no addresses: the process itself records the SYMBOL of
 * each, once in a process image (a line of an interpreted program). */
#define CK_SITE_TOLD ((uint64_t)1 << 62)
/* Of these, code that was compiled at run time; and addresses of the kernel. */
#define CK_SITE_JIT (CK_SITE_TOLD | (uint64_t)1 << 61)
#define CK_SITE_KERNEL ((uint64_t)1 << 63)

/* In ck_call.extra of a call that enqueued a command, beside its name: the
 * command had ended when the call returned. */
#define CK_COMMAND_DONE ((uint64_t)1 << 32)
/* The call made a user event. */
#define CK_COMMAND_EVENT ((uint64_t)1 << 33)

struct ck_call {
    struct ck_event e;
    int64_t dur;
    uint64_t site;   /* return address of the call, 0 = not known */
    uint32_t call;   /* number of the call in its thread, from 1 */
    uint32_t object; /* communicator, queue, stream ... id; 0 = none */
    uint64_t bytes;
    uint64_t arg;
    uint64_t extra;
};

struct ck_message {
    struct ck_event e;
    int64_t dur;
    uint64_t site;
    uint32_t call;
    uint32_t comm; /* communicator id in this process image */
    int32_t peer;  /* rank in comm; -1 any, -2 MPI_PROC_NULL */
    int32_t tag;   /* -1 any */
    uint64_t bytes;
    uint64_t request; /* the request's handle value, 0 = blocking */
};

struct ck_collective {
    struct ck_event e;
    int64_t dur;
    uint64_t site;
    uint32_t call;
    uint32_t comm;
    uint32_t seq; /* number of the collective in its communicator, from 1 */
    int32_t root; /* rank in comm, -1 = none */
    uint64_t bytes_out; /* this rank sends */
    uint64_t bytes_in;  /* this rank receives */
    uint64_t request;
    uint64_t reserved[3];
};

struct ck_kernel {
    struct ck_event e; /* start and dur are the device's */
    int64_t dur;
    int64_t queued; /* <= submitted <= start; 0 = not known */
    int64_t submitted;
    uint32_t tid;         /* of the launching thread */
    uint32_t call;        /* number of the launching call in that thread */
    uint32_t device;      /* number of a DEVICE record */
    uint32_t queue;       /* number of a QUEUE record */
    uint32_t global[3];   /* work items; CUDA: grid */
    uint32_t local[3];    /* work-group; CUDA: block */
    uint64_t correlation; /* the driver's id, or graph node; where it failed
                             (flag FAILED) minus the error, 0 = not known */
    uint32_t shared_bytes;
    uint32_t registers;
};

struct ck_copy {
    struct ck_event e;
    int64_t dur;
    int64_t queued;
    int64_t submitted;
    uint32_t tid;
    uint32_t call;
    uint32_t device;
    uint32_t queue;
    uint64_t bytes;
    uint64_t correlation; /* as a kernel's */
    uint32_t peer_device; /* of a copy between devices, else 0 */
    uint32_t memory;      /* source kind << 16 | destination kind */
    uint64_t reserved[2];
};

struct ck_sample {
    struct ck_event e;
    uint64_t ip;
    uint32_t tid;
    uint32_t cpu;
    uint64_t stack;
    int64_t weight;   /* ns of CPU time that it represents; page faults */
    uint64_t address; /* of memory, of a page fault */
    uint64_t reserved;
};

struct ck_counter {
    struct ck_event e;
    int64_t value;
    int64_t enabled; /* ns the counter was asked for */
    int64_t running; /* ns it really counted; < enabled: multiplexed */
    uint32_t tid;
    uint32_t reason; /* enum ck_lost of a LOST record */
    uint64_t reserved[2];
};

/* Followed by length bytes, not NUL-terminated, in further units. */
struct ck_text {
    struct ck_event e;
    uint64_t object;
    uint32_t extra;
    uint32_t length;
};

struct ck_clock_fact {
    struct ck_event e;
    int64_t value;
    int64_t width;
    int64_t t3;
    int64_t t4;
    uint32_t clock; /* enum ck_clock */
    uint32_t number;
    uint64_t peer;
};

struct ck_open {
    struct ck_event e; /* name and start as the final record will have them */
    uint64_t site;
    uint32_t tid;
    uint32_t call;
    uint32_t object;
    uint32_t seq;         /* of a message: its peer, as int32_t */
    int64_t seen;         /* when the collector looked, on the clock of start */
    uint32_t depth;       /* 0 = outermost open call of its thread */
    uint32_t kind;        /* kind that the final record will have */
    uint32_t incarnation; /* process image of the name and the thread */
    uint32_t tag;         /* of a message, of a collective its root, + 2; 0 = it
                             is about none */
};

struct ck_await {
    struct ck_event e;
    uint32_t call;  /* of this thread, that enqueued what waits */
    uint32_t queue; /* that it was enqueued in; 0 = none */
    uint32_t awaited_tid;
    uint32_t awaited_call; /* that enqueued what is waited for, or made it */
};

/* In `number` of a region: its team is one thread, whose part has the times of
 * the region and no record of its own. The rest is that part's `number`. */
#define CK_TEAM_ALONE ((uint32_t)1 << 31)

struct ck_team {
    struct ck_event e;
    int64_t dur;
    uint64_t site;   /* 0 = not known, or that of the region */
    uint32_t region; /* from 1; 0 = none */
    uint32_t outer;
    uint32_t thread;
    uint32_t size;
    uint64_t object;
    uint32_t number;
    uint32_t level;
};

struct ck_stacked {
    struct ck_event e;
    uint64_t address; /* of the block */
    uint64_t site;    /* 0 = not known */
    uint64_t bytes;
    uint32_t stack; /* 0 = none */
    uint32_t mean;  /* bytes from one sample to the next, on average */
    uint64_t reserved[2];
};

/* No block has more: a record with more is damaged. */
#define CK_BLOCK_BYTES_MAX ((uint64_t)1 << 48)

static_assert(sizeof(struct ck_event) == 16, "head of every record");
static_assert(CK_CLASS_MARK == 1 && CK_CLASS_COPY == 6,
              "the classes with a length come first, but for those of teams");
static_assert(offsetof(struct ck_team, dur) == offsetof(struct ck_mark, dur) &&
                  offsetof(struct ck_team, site) ==
                      offsetof(struct ck_call, site) &&
                  offsetof(struct ck_stacked, site) ==
                      offsetof(struct ck_call, site),
              "one place for the length and for the site");
#define CK_CLASS(number, NAME, type, units, text)                              \
    static_assert(sizeof(struct type) == (units)*CK_UNIT_BYTES,                \
                  "units of " #type);
#include "schema/kind.def"

/* The tables of kind.def, by number (event.c). */
extern const uint8_t ck_kind_classes[CK_KIND_LIMIT];
static inline enum ck_class ck_kind_class(unsigned kind)
{
    return kind < CK_KIND_LIMIT ? (enum ck_class)ck_kind_classes[kind]
                                : CK_CLASS_NONE;
}
/* Is it no call, but about one that has a record of its own? */
static inline bool ck_kind_is_about_call(unsigned kind)
{
    return kind == CK_KIND_COMPLETE || kind == CK_KIND_EPOCH;
}
/* Is it the start of a persistent request, or one's end? Records of other
 * classes have other meanings for the bit. */
static inline bool ck_event_is_persistent(const struct ck_event *event)
{
    enum ck_class cls = ck_kind_class(event->kind);

    return (cls == CK_CLASS_MESSAGE || cls == CK_CLASS_COLLECTIVE) &&
           (event->flags & CK_FLAG_PERSISTENT) != 0;
}
const char *ck_kind_name(unsigned kind); /* static text, "?" unknown */
const char *ck_class_name(unsigned cls);
/* Does a record of the class have a length, in ck_mark.dur? */
static inline bool ck_class_has_length(unsigned cls)
{
    return (cls >= CK_CLASS_MARK && cls <= CK_CLASS_COPY) ||
           cls == CK_CLASS_TEAM;
}
/* Units of the fixed part of a class, 0 for an unknown one. */
unsigned ck_class_units(unsigned cls);

/* Units of a text record with so many bytes (cut at CK_TEXT_BYTES_MAX). */
static inline unsigned ck_text_units(size_t length)
{
    if (length > CK_TEXT_BYTES_MAX) {
        length = CK_TEXT_BYTES_MAX;
    }
    return 1 + (unsigned)((length + CK_UNIT_BYTES - 1) / CK_UNIT_BYTES);
}

static inline const char *ck_text_bytes(const struct ck_text *text)
{
    return (const char *)(text + 1);
}

#ifdef __cplusplus
}
#endif

#endif
