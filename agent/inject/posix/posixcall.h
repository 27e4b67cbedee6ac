/* posixcall.h - one call of libc on its way through our wrapper
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A wrapper enters, calls the real function, leaves. Between the two there is
 * no state outside the wrapper's frame: a thread may be cancelled there, or
 * jump out of a handler. Calls inside a recorded call of another
 * library (MPI, a device's API) go straight on: neither counted nor recorded.
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXCALL_H
#define CK_AGENT_INJECT_POSIX_POSIXCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/inject.h"
#include "agent/inject/posix/posixcount.h"

enum posix_shape {
    POSIX_PLAIN,   /* -1 is failure; nothing is recorded of an object */
    POSIX_NUMBER,  /* returns an error number */
    POSIX_REST,    /* returns what is left: never a failure */
    POSIX_FD,      /* on the descriptor in the first word */
    POSIX_BYTES,   /* as FD, returns bytes */
    POSIX_OPEN,    /* path in the first word, returns a descriptor */
    POSIX_OPENAT,  /* path in the second word */
    POSIX_CLOSE,   /* the descriptor is free again */
    POSIX_ADDRESS, /* on the object at the first word, returns an error number
                    */
    POSIX_BARRIER, /* as ADDRESS; -1 is no error */
    POSIX_THREAD,  /* for the thread in the first word */
};

typedef void (*posix_next_f)(void);

/* A symbol that we wrap: no pointer, which the loader would have to
 * place in each program. */
struct posix_entry {
    char symbol[30];
    uint8_t function; /* enum posix_function */
    uint8_t shape;    /* enum posix_shape */
};

/* data_<symbol> and next_<symbol>, its next definition when that is known. */
#define POSIX_SYMBOL(symbol_, function_, shape_)                               \
    static const struct posix_entry data_##symbol_ = {                         \
        .symbol = #symbol_,                                                    \
        .function = (function_),                                               \
        .shape = (shape_),                                                     \
    };                                                                         \
    static _Atomic(posix_next_f) next_##symbol_
#define POSIX_NEXT(symbol_) posix_next(&next_##symbol_, data_##symbol_.symbol)

/* Find the next definition; again when it is not there (never in practice).
 * Async-signal-safe, and takes no lock. */
posix_next_f posix_next_find(_Atomic(posix_next_f) *known, const char *symbol);

static inline posix_next_f posix_next(_Atomic(posix_next_f) *known,
                                      const char *symbol)
{
    posix_next_f next = atomic_load_explicit(known, memory_order_relaxed);

    return __builtin_expect(next != NULL, 1) ? next
                                             : posix_next_find(known, symbol);
}

/* A call being timed. */
struct posix_call {
    int64_t start;
    bool is_raw; /* start is RAW ns: the thread had no slot */
};

/* What a call was about, for its record. */
struct posix_object {
    uint32_t number;  /* descriptor + 1; 0 = none */
    uint32_t related; /* thread that held a lock */
    uint64_t address; /* of a lock */
    uint64_t bytes;
    bool is_failed;
};

/* In a call that another of our libraries records? */
static inline bool posix_is_inside(void)
{
    const struct ck_ring_slot *slot = inject_thread.slot;
    uint32_t depth;

    if (slot == NULL) {
        return false;
    }
    depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
    /* Ranges and steps of ck.h are entries there, too. */
    return depth > 0 && depth <= CK_RING_OPEN_MAX &&
           slot->open[depth - 1].kind >= CK_KIND_MPI_CALL;
}

/* This thread may read no clock any more (seccomp's strict mode), or no thread
 * that has no slot. */
extern __thread bool posix_is_blind;
extern bool posix_has_no_clocks;

static inline bool posix_may_not_look(void)
{
    return posix_is_blind || posix_has_no_clocks;
}

static inline int64_t posix_now_raw(void)
{
    return __builtin_expect(posix_may_not_look(), 0) ? 0 : ck_time_raw();
}

static inline void posix_begin(struct posix_call *call)
{
    call->is_raw = inject_thread.slot == NULL;
    call->start = call->is_raw ? posix_now_raw() : inject_now();
}

/* How long the call took so far, ns; *end on the clock of its start. */
int64_t posix_elapsed(const struct posix_call *call, int64_t *end);

/* Calls of this length are recorded, ns. */
extern int64_t posix_threshold;

/* Write the record. Keeps errno. */
void posix_record(const struct posix_call *call,
                  const struct posix_entry *entry,
                  int64_t end,
                  const void *site,
                  const struct posix_object *object);

/* Count a call that was timed, and record it when it was long. Keeps errno. */
static inline void posix_end(const struct posix_call *call,
                             const struct posix_entry *entry,
                             const void *site,
                             const struct posix_object *object)
{
    int64_t end;
    int64_t ns = posix_elapsed(call, &end);

    posix_count_add(entry->function, ns, object->bytes);
    if (__builtin_expect(ns >= posix_threshold, 0)) {
        posix_record(call, entry, end, site, object);
    }
}

/* Has this process lived long enough to be worth an entry in the ring? Those
 * are bounded, and a script starts many short-lived programs. */
bool posix_is_worth_it(void);

/* To be called by the library's constructor. */
void posix_call_load(void);
/* The names of the functions, by enum posix_function. */
extern struct inject_label posix_labels[];

#endif
