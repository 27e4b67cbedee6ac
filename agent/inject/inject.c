/* inject.c - attach on first use, follow threads and forks
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   process: mapped or off -> entered         thread: none -> writing -> ended
 *
 * The ring is mapped when the library is loaded; a process takes an entry in
 * it with the first record of any of its threads, and no thread waits for
 * another one.
 * A thread that gets no slot tries again when the ring shows that one has
 * become claimable, which costs a load a record until then. Where a slot could
 * not be mapped, the pauses grow, counted in such offers. A child of fork()
 * takes an entry of its own.
 */
#include "agent/inject/inject.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/inject/filter.h"
#include "agent/inject/symbol.h"
#include "schema/kernelask.h"

#define OFFERS_MAX 1024
#define SLOW_PAUSES 1000
/* A thread waits so often for another one that loads the library. */
#define LOAD_YIELDS 100000
/* Entering the ring takes 16 KiB, with what the loader saves at a first call.
 */
#define STACK_BYTES_LEAST ((size_t)32 << 10)

enum thread_state {
    THREAD_NONE = 0,
    THREAD_CLAIMING = 1, /* also the guard against re-entry */
    THREAD_ENDED = 2,
};

struct ck_ring inject_ring;
INJECT_NEAR __thread struct ck_ring_writer inject_thread;
enum ck_library inject_library;

static INJECT_NEAR __thread enum thread_state thread_state;
static __thread uint32_t thread_offers; /* header->offers at the last try */
static INJECT_NEAR __thread uint32_t
    thread_pause;            /* offers until the next; 0 = none */
static _Atomic int is_ready; /* ring mapped, fork handler and thread key set */
static pthread_key_t thread_key;
static bool has_key;

static _Atomic uint64_t missed; /* records during an entry or a claim */
static _Atomic int is_placing;  /* call sites are being prepared, or are */

/* Weak as in floor.h: a program that has none of its own has one thread, which
 * ends with it. */
#pragma weak pthread_key_create

/* Texts of the program: a table of pointers into a pool that only grows, so
 * that a signal handler may enter one.
 */
static INJECT_ROOM _Atomic(struct inject_text *) text_table[INJECT_TEXTS_MAX];
static struct inject_room text_pool = {.bytes = INJECT_TEXT_BYTES};
static _Atomic size_t text_pool_used;

void (*inject_closing)(enum inject_closing how);
void (*inject_claiming)(bool is_done);

static _Atomic uint32_t slow_calls; /* between enter and leave */

INJECT_START bool inject_slow_enter(void)
{
    (void)atomic_fetch_add(&slow_calls, 1);
    if (!atomic_load(&inject_ring.is_closed)) {
        return true;
    }
    inject_slow_leave();
    return false;
}

INJECT_START void inject_slow_leave(void)
{
    (void)atomic_fetch_sub(&slow_calls, 1);
}

/* Other threads leave, unless this one is a handler that interrupted them. */
static void slow_wait(void)
{
    static const struct timespec pause = {.tv_nsec = 100000};

    for (int i = 0; i < SLOW_PAUSES && atomic_load(&slow_calls) > 0; i++) {
        (void)nanosleep(&pause, NULL);
    }
}

/* Where a thread of the process recorded before, this one gets its slot now. */
static void library_close(enum inject_closing how)
{
    if (inject_closing != NULL) {
        inject_closing(how);
    }
    if (how != INJECT_CLOSE_PROCESS) {
        inject_thread.slot = NULL;
        thread_state = THREAD_ENDED;
    }
    if (how == INJECT_CLOSE_THREAD) {
        return;
    }
    if (how == INJECT_CLOSE_PROCESS &&
        atomic_load(&inject_ring.incarnation) != 0) {
        (void)inject_writer();
    }
    atomic_store(&inject_ring.is_closed, true);
    slow_wait();
}

static void thread_end(void *unused)
{
    (void)unused;
    thread_state = THREAD_ENDED;
    ck_ring_writer_fini(&inject_thread, &inject_ring);
}

INJECT_START static void child_after_fork(void)
{
    ck_ring_forget(&inject_ring);
    inject_thread.slot = NULL;
    thread_state = THREAD_NONE;
    thread_pause = 0;
    atomic_store(&slow_calls, 0);
}

static struct inject_room *rooms; /* of all parts of the library */

INJECT_START void inject_room_add(struct inject_room *room)
{
    room->next = rooms;
    rooms = room;
}

/* By system calls: what the program maps is counted (memory/ckmemory.c). */
void *inject_room_map(struct inject_room *room)
{
    void *none = NULL;
    void *at = atomic_load_explicit(&room->at, memory_order_acquire);
    int saved = errno;
    long made;

    if (at != NULL) {
        return at;
    }
    made = ck_kernel_ask(SYS_mmap,
                         (long[6]){0, (long)room->bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0});
    if (made != -1) {
        at = (void *)made;
        if (!atomic_compare_exchange_strong(&room->at, &none, at)) {
            /* another thread was first */
            (void)ck_kernel_ask(SYS_munmap, (long[6]){made, (long)room->bytes});
            at = none;
        }
    }
    errno = saved;
    return at;
}

static int rooms_map(void)
{
    for (struct inject_room *room = rooms; room != NULL; room = room->next) {
        if (inject_room_map(room) == NULL) {
            errno = ENOMEM;
            return -1;
        }
    }
    return inject_room_map(&text_pool) == NULL ? -1 : 0;
}

/* Fork handlers and keys outlive a fork: set them up once an image. */
INJECT_START static int hooks_install(void)
{
    if (pthread_key_create != NULL) {
        if (pthread_key_create(&thread_key, thread_end) != 0) {
            return -1;
        }
        has_key = true;
    }
    return inject_at_fork(NULL, child_after_fork);
}

/* glibc has had these since 2.35, and registers each thread with the kernel. */
static void rseq_find(void)
{
#if defined(__x86_64__)
    const ptrdiff_t *offset = symbol_first("__rseq_offset");
    const unsigned *size = symbol_first("__rseq_size");

    if (offset != NULL && size != NULL && *size != 0) {
        inject_ring.rseq = *offset;
    }
#endif
}

/* A full table is final, and so is a lack of memory for the rooms; another
 * thread that is just entering is not. The places of calls are needed from now
 * on: most processes never come here. */
static int process_enter(void)
{
    if (atomic_load(&inject_ring.incarnation) == 0 &&
        atomic_exchange(&is_placing, 1) == 0) {
        call_site_load();
        rseq_find();
    }
    if (atomic_load(&inject_ring.incarnation) != 0 ||
        (rooms_map() == 0 &&
         ck_ring_enter(&inject_ring, inject_library) == 0)) {
        return 0;
    }
    if (errno == ENOSPC || errno == ENOMEM) {
        atomic_store(&is_ready, 0);
    }
    atomic_fetch_add(&missed, 1);
    return -1;
}

/* The slot's first word about its thread. */
static void thread_say(void)
{
    char name[17] = "";

    (void)prctl(PR_GET_NAME, name);
    (void)inject_say(CK_KIND_THREAD, 0, (uint64_t)syscall(SYS_gettid), 0, name);
}

static struct ck_ring_writer *thread_claim(void)
{
    uint32_t offers = atomic_load(&inject_ring.header->offers);

    if (ck_ring_writer_init(&inject_thread, &inject_ring) != 0) {
        bool is_first = errno == EAGAIN || thread_pause == 0;

        if (is_first) {
            thread_pause = 1;
        } else if (thread_pause < OFFERS_MAX) {
            thread_pause = thread_pause * 2;
        } else {
            thread_pause = OFFERS_MAX;
        }
        thread_offers = offers;
        atomic_fetch_add(&inject_ring.header->noslot, 1);
        return NULL;
    }
    thread_pause = 0;
    if (has_key) {
        (void)pthread_setspecific(thread_key, &inject_ring);
    }
    if (inject_thread.slot->is_told == 0) {
        inject_thread.slot->is_told = 1;
        thread_say();
    }
    return &inject_thread;
}

/* A handler may have a stack of its own that is just large enough for it. */
static bool is_stack_small(void)
{
    stack_t stack = {0};

    return ck_kernel_ask(SYS_sigaltstack, (long[6]){0, (long)&stack}) == 0 &&
           (stack.ss_flags & SS_ONSTACK) != 0 &&
           stack.ss_size < STACK_BYTES_LEAST;
}

struct ck_ring_writer *inject_writer_slow(void)
{
    struct ck_ring_writer *writer = NULL;
    int saved = errno;

    if (inject_thread.slot != NULL) {
        return &inject_thread;
    }
    if (thread_state == THREAD_CLAIMING) {
        atomic_fetch_add(&missed, 1); /* a handler that interrupted it */
        return NULL;
    }
    if (thread_state != THREAD_NONE ||
        atomic_load_explicit(&is_ready, memory_order_relaxed) == 0) {
        return NULL;
    }
    if (thread_pause != 0 &&
        atomic_load(&inject_ring.header->offers) - thread_offers <
            thread_pause) {
        atomic_fetch_add(&inject_ring.header->noslot, 1);
        return NULL;
    }
    if (!inject_slow_enter()) {
        atomic_fetch_add(&inject_ring.header->noslot, 1);
        return NULL;
    }
    if (is_stack_small()) {
        inject_slow_leave();
        atomic_fetch_add(&inject_ring.header->noslot, 1);
        errno = saved;
        return NULL;
    }
    thread_state = THREAD_CLAIMING;
    if (inject_claiming != NULL) {
        inject_claiming(false);
    }
    if (process_enter() == 0 && !atomic_load(&inject_ring.header->is_off)) {
        writer = thread_claim();
    }
    if (inject_claiming != NULL) {
        inject_claiming(true);
    }
    thread_state = THREAD_NONE;
    inject_slow_leave();
    if (writer != NULL) {
        atomic_fetch_add(&inject_ring.header->noslot,
                         atomic_exchange(&missed, 0));
    }
    errno = saved;
    return writer;
}

/* A word that all processes of the job share is written when it changes. Most
 * processes do not touch what they have mapped: that would be a fault more. */
INJECT_START static void ring_join(enum ck_library library)
{
    if ((inject_ring.loaded & (uint32_t)library) == 0) {
        atomic_fetch_or(&inject_ring.header->loaded, (uint32_t)library);
    }
}

INJECT_START void inject_load(enum ck_library library)
{
    if (atomic_load(&is_ready) != 0) { /* two of them in one */
        ring_join(library);
    } else {
        inject_load_at(library, getenv(CK_RING_ENV_HERE));
    }
}

INJECT_START void inject_load_at(enum ck_library library, const char *path)
{
    int saved = errno;

    if (ck_ring_map_at(&inject_ring, path) == 0) {
        inject_library = library;
        ring_join(library);
        if (hooks_install() == 0) {
            atomic_store(&is_ready, 1);
            if (ck_filter_join != NULL) {
                ck_filter_join(library_close);
            }
        }
    }
    errno = saved;
}

/* A child of fork() does not wait for ever for a thread that it does not have.
 */
void inject_load_once(enum ck_library library)
{
    static _Atomic int state; /* 1: is being loaded, 2: is */
    int none = 0;

    if (atomic_compare_exchange_strong(&state, &none, 1)) {
        inject_load(library);
        atomic_store(&state, 2);
    }
    for (int i = 0; i < LOAD_YIELDS && atomic_load(&state) != 2; i++) {
        (void)sched_yield();
    }
}

bool inject_is_ended(void)
{
    return thread_state == THREAD_ENDED;
}

bool inject_is_loaded(void)
{
    return atomic_load(&is_ready) != 0;
}

int inject_say(enum ck_kind kind,
               uint32_t name,
               uint64_t object,
               uint32_t extra,
               const char *bytes)
{
    struct ck_ring_writer *writer = inject_writer();
    struct ck_text text = {
        .e = {.kind = (uint16_t)kind, .name = name},
        .object = object,
        .extra = extra,
    };

    return writer == NULL
               ? -1
               : ck_ring_text(writer, &inject_ring, text, bytes, strlen(bytes));
}

/* Give `text` an id and record it; `known` keeps both with the incarnation. */
static uint32_t known_say(_Atomic uint64_t *known, const char *text)
{
    uint32_t id = ck_ring_name_id(&inject_ring);

    if (inject_say(CK_KIND_NAME, id, 0, 0, text) != 0) {
        return 0;
    }
    atomic_store_explicit(known, (uint64_t)inject_ring.incarnation << 32 | id,
                          memory_order_relaxed);
    return id;
}

uint32_t inject_label_say(struct inject_label *label)
{
    return known_say(&label->known, label->text);
}

/* Of more than a record holds only the beginning counts. */
static size_t text_length(const char *text)
{
    return strnlen(text, CK_TEXT_BYTES_MAX);
}

static uint32_t text_hash(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    }
    return hash;
}

/* Of a process without a record it is mapped now, unless that is too late. */
static char *text_pool_find(void)
{
    char *pool = inject_room_of(&text_pool);

    if (pool == NULL && inject_slow_enter()) {
        pool = inject_room_map(&text_pool);
        inject_slow_leave();
    }
    return pool;
}

static struct inject_text *text_copy(const char *text, size_t length)
{
    char *pool = text_pool_find();
    size_t room = length < 16 ? 16 : length + 1;
    size_t align = _Alignof(struct inject_text);
    size_t bytes =
        (sizeof(struct inject_text) + room + align - 1) / align * align;
    struct inject_text *copy;
    size_t at;

    if (pool == NULL || bytes > INJECT_TEXT_BYTES ||
        atomic_load(&text_pool_used) > INJECT_TEXT_BYTES - bytes) {
        return NULL;
    }
    at = atomic_fetch_add(&text_pool_used, bytes);
    if (at > INJECT_TEXT_BYTES - bytes) {
        return NULL;
    }
    copy = (struct inject_text *)(pool + at);
    memcpy(copy->text, text, length);
    copy->text[length] = '\0';
    memset(copy->mask, 0xff, sizeof(copy->mask));
    if (length < 16) {
        memset((char *)copy->mask + length + 1, 0, 15 - length);
    }
    copy->length = length;
    return copy;
}

/* Put the text in an entry that was empty; what the entry holds then. */
static struct inject_text *text_enter(_Atomic(struct inject_text *) *entry,
                                      const char *text,
                                      size_t length)
{
    struct inject_text *none = NULL;
    struct inject_text *copy = text_copy(text, length);

    if (copy == NULL) {
        return NULL;
    }
    /* release: pairs with the acquire in inject_text_find() */
    return atomic_compare_exchange_strong(entry, &none, copy) ? copy : none;
}

struct inject_text *inject_text_find(const char *text)
{
    size_t length = text_length(text);
    uint32_t at = text_hash(text, length);

    for (uint32_t i = 0; i < 16; i++) {
        _Atomic(struct inject_text *) *entry =
            &text_table[(at + i) % INJECT_TEXTS_MAX];
        struct inject_text *held =
            atomic_load_explicit(entry, memory_order_acquire);

        if (held == NULL) {
            held = text_enter(entry, text, length);
        }
        if (held == NULL) {
            return NULL;
        }
        if (held->length == length && memcmp(held->text, text, length) == 0) {
            return held;
        }
    }
    return NULL;
}

uint32_t inject_text_say(struct inject_text *text)
{
    return known_say(&text->known, text->text);
}
