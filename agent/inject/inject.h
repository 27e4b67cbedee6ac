/* inject.h - what every injected library does before and around a record
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled into each library (hidden), so each has its own copy of this
 * state; they meet only in the ring. Rules for callers: no lock, allocation,
 * system call, wait or output in a recording path; keep errno; a NULL writer
 * means "do not record, just call on".
 */
#ifndef CK_AGENT_INJECT_INJECT_H
#define CK_AGENT_INJECT_INJECT_H

#include "agent/inject/callsite.h"
#include "agent/inject/pythonsite.h"
#include "schema/event.h"
#include "schema/ring/ring.h"
#include "schema/ring/ringclock.h"
#include "schema/time.h"

/* The head of a function that comes in front of the program's `symbol`. Its own
 * name is another one, so that no macro or inline of a header can meet it. */
#define INJECT_ENTRY(type, symbol, ...)                                        \
    __attribute__((visibility("default")))                                     \
    type entry_##symbol(__VA_ARGS__) __asm__(#symbol);                         \
    type entry_##symbol(__VA_ARGS__)

/* For what is large and zero at first. Each program that a script starts loads
 * the library, and a page that it writes to costs it a fault, so what every
 * process needs at its start is together, before what only those that record
 * need: the linker sorts by this name (agent/inject/CMakeLists.txt). */
#define INJECT_ROOM __attribute__((section(".bss.room")))

/* A larger table, zero at first, that is mapped with the process's first
 * record: the kernel puts a library of 2 MiB and more in a part of the address
 * space of its own, and the page table of that costs each program as much as
 * four faults. */
struct inject_room {
    size_t bytes;
    _Atomic(void *) at; /* NULL = not yet */
    struct inject_room *next;
};
/* From the constructor. */
void inject_room_add(struct inject_room *room);
/* Its table, mapped now if it was not; NULL = no memory. */
void *inject_room_map(struct inject_room *room);
/* Where there was a record. */
static inline void *inject_room_of(struct inject_room *room)
{
    return atomic_load_explicit(&room->at, memory_order_relaxed);
}

/* For code that every process runs at its start, or after a fork: near each
 * other as well. */
#define INJECT_START __attribute__((section(".text.startup")))

/* pthread_atfork() without the copy of it that the linker puts at the end of
 * the library, on pages that nothing else at the start needs. */
#ifdef __GLIBC__
extern int __register_atfork(void (*before)(void),
                             void (*parent)(void),
                             void (*child)(void),
                             void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));
#endif
static inline int inject_at_fork(void (*before)(void), void (*child)(void))
{
#ifdef __GLIBC__
    return __register_atfork(before, NULL, child, __dso_handle);
#else
    return pthread_atfork(before, NULL, child);
#endif
}

/* For what a thread writes after a fork: behind its large tables, on the page
 * of the C library's own state of the thread, which is copied anyway. */
#define INJECT_NEAR __attribute__((section(".tbss.near")))

/* This library's view of the ring. Read-only outside inject.c. */
extern struct ck_ring inject_ring;
extern __thread struct ck_ring_writer inject_thread;
extern enum ck_library inject_library;

/* A text that gets an id in this process image on first use. Static storage;
 * initialise with INJECT_LABEL("text").
 */
struct inject_label {
    const char *text;
    _Atomic uint64_t known; /* incarnation << 32 | id; 0 = not announced */
};
#define INJECT_LABEL(literal)                                                  \
    {                                                                          \
        literal, 0                                                             \
    }

/* To be called from the library's constructor (or its entry point), once for
 * each part of the library: maps the ring, notes the library in its header and
 * sets up the fork and thread hooks, if there is an agent. The process enters
 * the ring with its first record. Keeps errno.
 */
void inject_load(enum ck_library library);
/* The same, where the value of CKAGENT_RING is known; NULL = unset. */
void inject_load_at(enum ck_library library, const char *path);
/* The same for a library that threads may begin with at once, each as often as
 * it likes: it is loaded when this returns. In a child of a fork() meanwhile it
 * may stay unloaded. */
void inject_load_once(enum ck_library library);

/* Is there an agent's ring? A thread may yet be without a place in it for a
 * while: what is decided once for ever asks this, not inject_writer(). */
bool inject_is_loaded(void);

/* What a library does when the program is about to forbid system calls. */
enum inject_closing {
    INJECT_CLOSE_PROCESS = 0, /* by a filter: no thread gets a slot any more */
    INJECT_CLOSE_THREAD = 1,  /* strictly, the clocks too: this thread ends */
    /* The processor's counter: this thread, and those that it starts. */
    INJECT_CLOSE_CLOCKS = 2,
};
/* A function of the library's own for that, besides what inject.c does; NULL.
 * Called before. */
extern void (*inject_closing)(enum inject_closing how);

/* Called before a thread asks for its slot (is_done false), and behind it;
 * NULL. */
extern void (*inject_claiming)(bool is_done);

/* Around what takes system calls after the start of the process: false where
 * they are forbidden now, and then nothing is to be left. They are not
 * forbidden between the two. Async-signal-safe. */
bool inject_slow_enter(void);
void inject_slow_leave(void);

/* The slow path of inject_writer(): enter on first use in a process, claim
 * a slot on first use in a thread. NULL if there is no agent, recording is
 * off, the thread is at its end, or no slot was free (counted). Keeps errno.
 */
struct ck_ring_writer *inject_writer_slow(void);

/* Has the thread ended its recording? What it does then is not counted. */
bool inject_is_ended(void);

/* This thread's writer, or NULL: do not record. */
static inline struct ck_ring_writer *inject_writer(void)
{
    if (__builtin_expect(inject_thread.slot != NULL, 1)) {
        return &inject_thread;
    }
    return inject_writer_slow();
}

/* Now, on the ring's clock. */
static inline int64_t inject_now(void)
{
    return ck_ringclock_now(&inject_ring, inject_thread.slot);
}

/* Slow path of inject_label_id: announces the text in this thread's slot. */
uint32_t inject_label_say(struct inject_label *label);

/* Id of the label's text in this process image; 0 when it was not recorded
 * (tried again next time). */
static inline uint32_t inject_label_id(struct inject_label *label)
{
    uint64_t known = atomic_load_explicit(&label->known, memory_order_relaxed);

    if (__builtin_expect((uint32_t)(known >> 32) == inject_ring.incarnation,
                         1)) {
        return (uint32_t)known;
    }
    return inject_label_say(label);
}

/* A text that the program made (a kernel's name, a range's name): a copy that
 * is never freed, and its id.
 */
struct inject_text {
    _Atomic uint64_t known; /* incarnation << 32 | id; 0 = not announced */
    uint64_t mask[2];       /* of the first 16 bytes: those of the text */
    uint64_t length;
    char text[]; /* NUL-terminated, zeros up to 16 bytes at least */
};

/* The text looked up by content in a bounded table of this process image,
 * entered on first sight; NULL when INJECT_TEXTS_MAX texts or
 * INJECT_TEXT_BYTES are reached. No lock, no allocation.
 */
#define INJECT_TEXTS_MAX 4096
#define INJECT_TEXT_BYTES ((size_t)2 << 20)
struct inject_text *inject_text_find(const char *text);

/* Slow path of inject_text_number: announces the text. */
uint32_t inject_text_say(struct inject_text *text);

/* Id of the text in this process image, announced on first use; 0 when it
 * could not be (tried again next time). Only with a writer. */
static inline uint32_t inject_text_number(struct inject_text *text)
{
    uint64_t known = atomic_load_explicit(&text->known, memory_order_relaxed);

    if (__builtin_expect((uint32_t)(known >> 32) == inject_ring.incarnation,
                         1)) {
        return (uint32_t)known;
    }
    return inject_text_say(text);
}

/* Both in one: id of a text, 0 when there is none. */
static inline uint32_t inject_text_id(const char *text)
{
    struct inject_text *found = inject_text_find(text);

    return found == NULL ? 0 : inject_text_number(found);
}

/* Record a fact of any text kind (DEVICE, QUEUE, COMM, THREAD, NOTE ...). 0, or
 * -1 when dropped. `bytes` is copied. */
int inject_say(enum ck_kind kind,
               uint32_t name,
               uint64_t object,
               uint32_t extra,
               const char *bytes);

/* A call being recorded: filled at enter, used at leave. */
struct inject_call {
    struct ck_ring_writer *writer; /* NULL = not recorded */
    struct ck_ring_slot *slot;     /* the writer's; another after a fork */
    int64_t start;
    uint64_t site;
    uint32_t name;
    uint32_t number; /* of the call in its thread; device work refers to it */
};

/* Enter: takes the stamp, or open.start where that is not 0, and shows the call
 * as open, with the object in `open`. Nested wrappers of the same library are
 * the caller's to suppress.
 */
static inline void inject_call_show(struct inject_call *call,
                                    struct inject_label *label,
                                    const void *site,
                                    struct ck_ring_open open)
{
    call->writer = inject_writer();
    if (call->writer == NULL) {
        call->number = 0;
        return;
    }
    call->slot = call->writer->slot;
    call->name = inject_label_id(label);
    call->site = call_site(site);
    call->start = open.start != 0 ? open.start : inject_now();
    open.start = call->start;
    open.site = call->site;
    open.name = call->name;
    call->number = ck_ring_open(call->writer, &open);
}

static inline void inject_call_enter(struct inject_call *call,
                                     struct inject_label *label,
                                     enum ck_kind kind,
                                     const void *site,
                                     uint32_t object,
                                     uint32_t seq)
{
    inject_call_show(
        call, label, site,
        (struct ck_ring_open){.object = object, .seq = seq, .kind = kind});
}

/* Leave: closes the open call and gives room for its record with the head,
 * dur, site and call filled in by the macro below; NULL when not recorded.
 * Then fill the rest and inject_call_commit().
 */
static inline void *inject_call_leave(struct inject_call *call, unsigned units)
{
    if (call->writer == NULL || call->writer->slot != call->slot) {
        return NULL;
    }
    ck_ring_close(call->writer);
    return ck_ring_begin(call->writer, inject_ring.clock, units);
}

static inline struct ck_event inject_call_head(const struct inject_call *call,
                                               enum ck_kind kind,
                                               unsigned units)
{
    struct ck_event event = {
        .kind = (uint16_t)kind,
        .units = (uint8_t)units,
        .name = call->name,
        .start = call->start,
    };

    return event;
}

static inline void inject_call_commit(const struct inject_call *call,
                                      unsigned units)
{
    ck_ring_commit(call->writer, units);
}

#endif
