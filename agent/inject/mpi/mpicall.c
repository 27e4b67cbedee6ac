/* mpicall.c - enter and leave: what all MPI calls have in common
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   process: unknown -> starting -> on | off (no agent) | unreadable (an MPI
 *            library whose values are not known: counted, passed through)
 *
 * Nested calls (a library that calls MPI_ itself, C below Fortran) belong to
 * the outermost one. The guard is the address of the outer call's frame, not
 * a count: where a call never came back (longjmp, an exception), the next one
 * outside that frame is recorded again.
 */
#include "agent/inject/mpi/mpicall.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inject/mpi/mpirendezvous.h"
#include "agent/inject/mpi/mpitype.h"

enum process_state {
    PROCESS_UNKNOWN = 0,
    PROCESS_STARTING = 1,
    PROCESS_ON = 2,
    PROCESS_OFF = 3,
    PROCESS_UNREADABLE = 4,
};

static _Atomic int process_state = PROCESS_UNKNOWN;
static _Atomic bool has_texts;          /* mpi_functions_fill() was here */
static _Atomic uint64_t passed_through; /* calls into an unreadable library */

struct thread_guard {
    uintptr_t frame;  /* of the outermost call, 0 = none */
    const void *site; /* of a Fortran call on its way to C (MPICH) */
};
static __thread struct thread_guard thread_guard;

static void call_plain_measure(struct mpi_call *call);

static INJECT_ROOM struct mpi_class_row class_rows[MPI_CLASS_LIMIT];

#define ROW(CLASS, ...)                                                        \
    class_rows[MPI_CLASS_##CLASS] = (struct mpi_class_row)                     \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* As mpi_functions_fill(). */
static void class_rows_fill(void)
{
    ROW(CALL, CK_KIND_MPI_CALL, NULL, call_plain_measure, NULL);
    ROW(INIT, CK_KIND_MPI_CALL, mpi_life_init_enter, NULL, mpi_life_init_leave);
    ROW(FINALIZE, CK_KIND_MPI_CALL, mpi_life_finalize_enter, NULL, NULL);
    ROW(SEND, CK_KIND_SEND, mpi_message_enter, mpi_message_measure,
        mpi_message_send_leave);
    ROW(ISEND, CK_KIND_SEND, mpi_message_enter, mpi_message_measure,
        mpi_message_isend_leave);
    ROW(SEND_INIT, CK_KIND_MPI_CALL, mpi_message_enter, mpi_message_measure,
        mpi_message_send_init_leave);
    ROW(RECV, CK_KIND_RECV, mpi_message_receive_enter, NULL,
        mpi_message_recv_leave);
    ROW(IRECV, CK_KIND_RECV, mpi_message_enter, mpi_message_measure,
        mpi_message_irecv_leave);
    ROW(RECV_INIT, CK_KIND_MPI_CALL, mpi_message_enter, mpi_message_measure,
        mpi_message_recv_init_leave);
    ROW(MRECV, CK_KIND_RECV, mpi_message_matched_enter, NULL,
        mpi_message_recv_leave);
    ROW(IMRECV, CK_KIND_RECV, mpi_message_matched_enter, mpi_message_measure,
        mpi_message_irecv_leave);
    ROW(SENDRECV, CK_KIND_SENDRECV, mpi_message_receive_enter,
        mpi_message_measure, mpi_message_sendrecv_leave);
    ROW(ISENDRECV, CK_KIND_SENDRECV, mpi_message_enter, mpi_message_measure,
        mpi_message_isendrecv_leave);
    ROW(PROBE, CK_KIND_PROBE, mpi_message_receive_enter, NULL,
        mpi_message_probe_leave);
    ROW(COLL, CK_KIND_COLLECTIVE, mpi_collective_enter, mpi_collective_measure,
        mpi_collective_leave);
    ROW(ICOLL, CK_KIND_ICOLLECTIVE, mpi_collective_enter,
        mpi_collective_measure, mpi_collective_leave);
    ROW(COLL_INIT, CK_KIND_MPI_CALL, mpi_collective_init_enter,
        mpi_collective_measure, mpi_collective_init_leave);
    ROW(WAIT, CK_KIND_MPI_CALL, mpi_completion_enter, NULL,
        mpi_completion_wait_leave);
    ROW(WAITALL, CK_KIND_MPI_CALL, mpi_completion_many_enter, NULL,
        mpi_completion_all_leave);
    ROW(WAITANY, CK_KIND_MPI_CALL, mpi_completion_many_enter, NULL,
        mpi_completion_any_leave);
    ROW(WAITSOME, CK_KIND_MPI_CALL, mpi_completion_many_enter, NULL,
        mpi_completion_some_leave);
    ROW(START, CK_KIND_MPI_CALL, NULL, NULL, mpi_completion_start_leave);
    ROW(STARTALL, CK_KIND_MPI_CALL, NULL, NULL, mpi_completion_startall_leave);
    ROW(REQUEST_FREE, CK_KIND_MPI_CALL, mpi_completion_enter, NULL,
        mpi_completion_free_leave);
    ROW(COMM_NEW, CK_KIND_COLLECTIVE, mpi_life_comm_enter, NULL,
        mpi_life_comm_leave);
    ROW(COMM_FREE, CK_KIND_MPI_CALL, mpi_life_free_enter, NULL,
        mpi_life_free_leave);
    ROW(COMM_NAME, CK_KIND_MPI_CALL, NULL, NULL, mpi_life_name_leave);
    ROW(TYPE_FREE, CK_KIND_MPI_CALL, mpi_life_type_enter, NULL, NULL);
    ROW(WINDOW_NEW, CK_KIND_COLLECTIVE, mpi_life_comm_enter, NULL,
        mpi_window_new_leave);
    ROW(WINDOW_FREE, CK_KIND_COLLECTIVE, mpi_window_free_enter, NULL,
        mpi_window_free_leave);
    ROW(FENCE, CK_KIND_COLLECTIVE, mpi_window_fence_enter, NULL,
        mpi_window_fence_leave);
    ROW(FILE_ALL, CK_KIND_COLLECTIVE, mpi_window_file_enter,
        mpi_window_file_measure, mpi_collective_leave);
    ROW(EPOCH, CK_KIND_MPI_CALL, mpi_window_epoch_enter, NULL,
        mpi_window_epoch_leave);
}

__attribute__((constructor)) static void library_load(void)
{
    mpi_requests_load();
    inject_load(CK_LIBRARY_MPI);
}

static void roles_place(struct mpi_function *function)
{
    memset(function->at, -1, sizeof(function->at));
    for (int i = 0; function->roles[i] != '\0'; i++) {
        if (function->roles[i] != '.') {
            function->at[function->roles[i] - 'A'] = (int8_t)i;
        }
    }
}

static void unreadable_say(void)
{
    char text[192];

    (void)snprintf(
        text, sizeof(text),
        "the %sMPI library \"%s\" is not known to ck: its calls "
        "are not recorded",
        mpi_abi.is_standard ? "standard interface (libmpi_abi) of the " : "",
        mpi_abi.version);
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
}

/* The first MPI call of the process. Other threads that come meanwhile are
 * not recorded; before MPI_Init has returned there are none. */
static int process_start(void)
{
    int unknown = PROCESS_UNKNOWN;
    int state = PROCESS_OFF;

    if (!atomic_compare_exchange_strong(&process_state, &unknown,
                                        PROCESS_STARTING)) {
        return unknown;
    }
    if (getenv(CK_RING_ENV) != NULL) {
        for (unsigned i = 0; i < mpi_functions_count; i++) {
            roles_place(&mpi_functions[i]);
        }
        mpi_abi_find();
        state =
            mpi_abi.kind == MPI_ABI_UNKNOWN ? PROCESS_UNREADABLE : PROCESS_ON;
    }
    if (state == PROCESS_UNREADABLE) {
        unreadable_say();
    }
    /* release: pairs with the acquire in process_is_on() */
    atomic_store_explicit(&process_state, state, memory_order_release);
    return state;
}

static void passed_say(uint64_t calls)
{
    char text[80];

    (void)snprintf(text, sizeof(text), "%llu MPI calls were not recorded",
                   (unsigned long long)calls);
    (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
}

static bool process_is_off(const struct mpi_function *function, int state)
{
    if (state == PROCESS_UNREADABLE) {
        uint64_t calls = atomic_fetch_add(&passed_through, 1) + 1;

        if (function->cls == MPI_CLASS_FINALIZE) {
            passed_say(calls);
        }
    }
    return state != PROCESS_ON;
}

static inline bool process_is_on(const struct mpi_function *function)
{
    int state = atomic_load_explicit(&process_state, memory_order_acquire);

    if (__builtin_expect(state == PROCESS_ON, 1)) {
        return true;
    }
    if (state == PROCESS_UNKNOWN) {
        state = process_start();
    }
    return !process_is_off(function, state);
}

/* The name of an entry point: "MPI_Send", "mpi_send_", "mpi_send_f08_". */
static mpi_next_f next_find(struct mpi_function *function, enum mpi_entry entry)
{
    static const char endings[MPI_ENTRIES][8] = {"", "_", "_f08_", "_f08ts_"};
    union {
        void *object;
        mpi_next_f call;
    } found;
    char name[64];

    /* Threads may come here at once: all write the same. */
    if (!atomic_load_explicit(&has_texts, memory_order_acquire)) {
        mpi_functions_fill();
        class_rows_fill();
        atomic_store_explicit(&has_texts, true, memory_order_release);
    }
    (void)snprintf(name, sizeof(name), "%s%s",
                   entry == MPI_ENTRY_C ? function->label.text
                                        : function->fortran,
                   endings[entry]);
    found.object = mpi_abi_symbol(name);
    atomic_store_explicit(&function->next[entry], found.call,
                          memory_order_relaxed);
    return found.call;
}

static inline mpi_next_f next_get(struct mpi_function *function,
                                  enum mpi_entry entry)
{
    mpi_next_f next =
        atomic_load_explicit(&function->next[entry], memory_order_relaxed);

    return __builtin_expect(next != NULL, 1) ? next
                                             : next_find(function, entry);
}

/* Now, where it takes time to show the call: a function's first one, as the
 * library is asked for it, and a thread's. 0 = it is shown at once. */
static inline int64_t entered_now(const struct mpi_function *function,
                                  enum mpi_entry entry)
{
    if (__builtin_expect(atomic_load_explicit(&function->next[entry],
                                              memory_order_relaxed) != NULL &&
                             inject_thread.slot != NULL,
                         1)) {
        return 0;
    }
    return inject_ring.incarnation == 0 ? 0 : inject_now();
}

/* Only outermost calls; `frame` = address of the call on its stack, which
 * grows downwards. */
static inline bool guard_take(uintptr_t frame)
{
    if (thread_guard.frame != 0 && frame < thread_guard.frame) {
        return false;
    }
    thread_guard.frame = frame;
    return true;
}

static inline bool is_message(enum ck_kind kind)
{
    return kind == CK_KIND_SEND || kind == CK_KIND_RECV ||
           kind == CK_KIND_PROBE || kind == CK_KIND_SENDRECV;
}

/* Show the call as open, with its peer and tag. One that sends and receives is
 * shown with those of its receive: that is what it waits for. */
static void
message_show(struct mpi_call *call, enum ck_kind kind, const void *site)
{
    bool is_both = mpi_call_has(call, 'P');
    int tag = is_both ? mpi_call_int(call, 'G') : call->tag;

    inject_call_show(
        &call->record, &call->function->label, site,
        (struct ck_ring_open){
            .start = call->entered,
            .object = call->comm_id,
            .seq = (uint32_t)(is_both ? mpi_abi_peer(mpi_call_int(call, 'P'))
                                      : call->peer),
            .kind = kind,
            .tag = (uint32_t)(tag < 0 ? -1 : tag) + 2,
        });
}

/* A thread's first call: ckposix, if it is there, must see that what libc is
 * asked for from now on may be for MPI. */
static void thread_begin(void)
{
    static _Atomic(void (*)(void)) attach;
    void (*known)(void) = atomic_load_explicit(&attach, memory_order_relaxed);

    if (inject_writer() == NULL) {
        return;
    }
    if (known == NULL) {
        known =
            (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "ck_posix_attach");
        atomic_store_explicit(&attach, known, memory_order_relaxed);
    }
    if (known != NULL) {
        known();
    }
}

static void call_begin(struct mpi_call *call, const void *site)
{
    const struct mpi_class_row *row = &class_rows[call->function->cls];

    if (__builtin_expect(inject_thread.slot == NULL, 0)) {
        thread_begin();
    }
    call->comm = NULL;
    call->comm_id = 0;
    call->seq = 0;
    call->peer = -1;
    call->tag = -1;
    call->bytes = 0;
    call->types = mpi_type_generation();
    if (mpi_call_has(call, 'c')) {
        mpi_call_comm_take(call, mpi_abi_handle(mpi_call_word(call, 'c')));
    }
    if (row->enter != NULL) {
        row->enter(call);
    }
    if (is_message(row->kind)) {
        message_show(call, row->kind, site);
        return;
    }
    inject_call_show(&call->record, &call->function->label, site,
                     (struct ck_ring_open){
                         .start = call->entered,
                         .object = call->comm_id,
                         .seq = call->seq,
                         .kind = row->kind,
                         .tag = row->kind == CK_KIND_COLLECTIVE
                                    ? (uint32_t)call->peer + 2
                                    : 0,
                     });
}

void mpi_call_enter(struct mpi_call *call,
                    struct mpi_function *function,
                    long *words,
                    const void *site)
{
    call->entered = entered_now(function, MPI_ENTRY_C);
    call->next = next_get(function, MPI_ENTRY_C);
    call->is_on = process_is_on(function) && call->next != NULL &&
                  guard_take((uintptr_t)call);
    if (!call->is_on) {
        return;
    }
    call->function = function;
    call->words = words;
    call->view = words;
    call->is_fortran = false;
    call->flags = 0;
    if (__builtin_expect(thread_guard.site != NULL, 0)) {
        site = thread_guard.site;
        call->flags = CK_FLAG_FORTRAN;
    }
    call_begin(call, site);
}

static void call_plain_measure(struct mpi_call *call)
{
    if (mpi_call_has(call, 'n')) {
        call->bytes = mpi_call_bytes(call, 'n', 't');
    }
}

static void call_plain_leave(struct mpi_call *call)
{
    uint64_t request = 0;

    if (mpi_call_has(call, 'q') && call->rc == 0) {
        struct mpi_request made = mpi_call_made(call, MPI_REQUEST_OTHER);

        request = made.handle;
        (void)mpi_request_insert(&made);
    }
    mpi_call_record(call,
                    mpi_call_has(call, 'p') ? (uint64_t)(int64_t)mpi_abi_peer(
                                                  mpi_call_int(call, 'p'))
                                            : 0,
                    request);
}

/* A communicator whose creation was not recorded: that the call took it shows
 * that it is one. What entering does with it is done now. */
static void comm_arrive(struct mpi_call *call, const struct mpi_class_row *row)
{
    call->comm = mpi_comm_discover(mpi_abi_handle(mpi_call_word(call, 'c')));
    if (call->comm == NULL) {
        return;
    }
    call->comm_id = call->comm->id;
    if (row->enter != NULL) {
        row->enter(call);
    }
}

void mpi_call_leave(struct mpi_call *call, int rc)
{
    const struct mpi_class_row *row;

    if (!call->is_on) {
        return;
    }
    if (call->record.writer != NULL) {
        call->end = inject_now();
    }
    thread_guard.frame = 0;
    call->rc = rc;
    if (rc != 0) {
        call->flags |= CK_FLAG_FAILED;
    }
    row = &class_rows[call->function->cls];
    if (__builtin_expect(rc == 0, 1)) {
        if (__builtin_expect(call->comm == NULL, 0) &&
            mpi_call_has(call, 'c')) {
            comm_arrive(call, row);
        }
        if (row->measure != NULL) {
            row->measure(call);
        }
    }
    if (row->leave != NULL) {
        row->leave(call);
    } else {
        call_plain_leave(call);
    }
    if (__builtin_expect(call->record.number % MPI_RENDEZVOUS_CALLS == 0, 0)) {
        mpi_rendezvous_look();
    }
}

/* ---- Fortran ------------------------------------------------------------ */

/* One argument as C would have passed it. */
static long view_word(char role, long word)
{
    switch (role) {
    case 'n':
    case 'N':
    case 'p':
    case 'P':
    case 'g':
    case 'G':
    case 'o':
    case 'k':
    case 'e':
        return *(const int *)word;
    case 'w':
        return mpi_abi.call.win_f2c(*(const int *)word);
    case 'r':
        return mpi_abi.call.group_f2c(*(const int *)word);
    case 'h':
        return mpi_abi.call.file_f2c == NULL
                   ? 0
                   : mpi_abi.call.file_f2c(*(const int *)word);
    case 't':
    case 'T':
        return mpi_abi.call.type_f2c(*(const int *)word);
    case 'c':
        return mpi_abi.call.comm_f2c(*(const int *)word);
    case 'b':
    case 'B':
        return mpi_abi_fortran_buffer(word);
    case 's':
    case 'S':
        return mpi_abi_fortran_ignores(word) ? mpi_abi.status_ignore : word;
    default:
        return word;
    }
}

typedef void (*fortran_f)(long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long,
                          long);

static void fortran_next(mpi_next_f next, const long *w)
{
    ((fortran_f)next)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8],
                      w[9], w[10], w[11], w[12], w[13], w[14], w[15]);
}

/* Where ierror is; MPI_Init's Fortran forms lack argc and argv. NULL when the
 * program left it out. */
static int *fortran_error(const struct mpi_function *function,
                          const long *words)
{
    return (int *)
        words[function->arguments - (function->cls == MPI_CLASS_INIT ? 2 : 0)];
}

/* Open MPI's Fortran calls PMPI_ below, and so do those forms of MPICH's
 * mpi_f08 that have no buffer. MPICH's others call MPI_. */
static bool is_recorded_here(enum mpi_entry entry)
{
    return mpi_abi.kind == MPI_ABI_OPENMPI || entry == MPI_ENTRY_F08;
}

static void fortran_record(struct mpi_call *call, const void *site)
{
    const struct mpi_function *function = call->function;
    const int *error = fortran_error(function, call->words);
    long view[MPI_WORDS];

    for (int i = 0; i < function->arguments; i++) {
        view[i] = view_word(function->roles[i], call->words[i]);
    }
    call->view = view;
    call->is_fortran = true;
    call->flags = CK_FLAG_FORTRAN;
    call_begin(call, site);
    fortran_next(call->next, call->words);
    mpi_call_leave(call, error != NULL ? *error : 0);
}

void mpi_call_fortran(struct mpi_function *function,
                      enum mpi_entry entry,
                      long *words,
                      const void *site)
{
    struct mpi_many many;
    struct mpi_call call;
    bool is_on;

    call.entered = entered_now(function, entry);
    call.next = next_get(function, entry);
    if (call.next == NULL) {
        int *error = fortran_error(function, words);

        if (error != NULL) {
            *error = MPI_MISSING;
        }
        return;
    }
    is_on = process_is_on(function);
    call.is_on =
        is_on && is_recorded_here(entry) && guard_take((uintptr_t)&call);
    if (call.is_on) {
        call.function = function;
        call.words = words;
        call.many = &many;
        fortran_record(&call, site);
        return;
    }
    /* MPI_ below is recorded: only the call site is from here. */
    if (is_on && thread_guard.frame == 0) {
        thread_guard.site = site;
    }
    fortran_next(call.next, words);
    thread_guard.site = NULL;
}

/* ---- for the classes ---------------------------------------------------- */

uint64_t mpi_call_request(const struct mpi_call *call, const void *at, size_t i)
{
    if (at == NULL) {
        return mpi_abi.request_null;
    }
    return call->is_fortran
               ? (uint64_t)mpi_abi.call.request_f2c(((const int *)at)[i])
               : mpi_abi_handle_at(at, i);
}

/* A handle in memory; `null` where there is none. */
static uint64_t handle_in(const struct mpi_call *call,
                          const void *at,
                          uint64_t null,
                          long (*f2c)(int handle))
{
    if (at == NULL) {
        return null;
    }
    return call->is_fortran ? (uint64_t)f2c(*(const int *)at)
                            : mpi_abi_handle_at(at, 0);
}

uint64_t mpi_call_comm(const struct mpi_call *call, const void *at)
{
    return handle_in(call, at, mpi_abi.comm_null, mpi_abi.call.comm_f2c);
}

uint64_t mpi_call_window(const struct mpi_call *call, const void *at)
{
    return handle_in(call, at, mpi_abi.comm_null, mpi_abi.call.win_f2c);
}

/* A pointer in both families; 0 = none. */
uint64_t mpi_call_file(const struct mpi_call *call, const void *at)
{
    if (at == NULL || mpi_abi.call.file_f2c == NULL) {
        return 0;
    }
    return call->is_fortran ? (uint64_t)mpi_abi.call.file_f2c(*(const int *)at)
                            : *(const uint64_t *)at;
}

uint64_t mpi_call_message(const struct mpi_call *call, const void *at)
{
    return handle_in(call, at, 0, mpi_abi.call.message_f2c);
}

uint64_t mpi_call_type(const struct mpi_call *call, const void *at, size_t i)
{
    return call->is_fortran
               ? (uint64_t)mpi_abi.call.type_f2c(((const int *)at)[i])
               : mpi_abi_handle_at(at, i);
}

uint64_t mpi_call_type_bytes(const struct mpi_call *call, uint64_t type)
{
    return mpi_type_bytes(type, call->types);
}

uint64_t mpi_call_bytes(const struct mpi_call *call, char count, char type)
{
    int64_t number;

    if (!mpi_call_has(call, count) || !mpi_call_has(call, type)) {
        return 0;
    }
    number = call->function->is_large ? mpi_call_word(call, count)
                                      : mpi_call_int(call, count);
    return number <= 0
               ? 0
               : (uint64_t)number *
                     mpi_call_type_bytes(
                         call, mpi_abi_handle(mpi_call_word(call, type)));
}

void mpi_call_status_ask(struct mpi_call *call)
{
    int at = (int)call->function->at['s' - 'A'];

    if (at >= 0 && call->view[at] == mpi_abi.status_ignore) {
        call->words[at] = (long)call->status;
    }
}

struct mpi_status mpi_call_status(const struct mpi_call *call)
{
    return mpi_abi_status(
        (const void *)call->words[call->function->at['s' - 'A']]);
}

void mpi_call_record(struct mpi_call *call, uint64_t arg, uint64_t extra)
{
    struct ck_call *record = inject_call_leave(&call->record, 2);

    if (record == NULL) {
        return;
    }
    record->e = mpi_call_head(call, CK_KIND_MPI_CALL, 2);
    record->dur = call->end - call->record.start;
    record->site = call->record.site;
    record->call = call->record.number;
    record->object = call->comm_id;
    record->bytes = call->bytes;
    record->arg = arg;
    record->extra = extra;
    inject_call_commit(&call->record, 2);
}

struct mpi_request mpi_call_made(const struct mpi_call *call,
                                 enum mpi_request_kind kind)
{
    struct mpi_request request = {
        .handle =
            mpi_call_request(call, (const void *)mpi_call_word(call, 'q'), 0),
        .label = &call->function->label,
        .where = call->comm,
        .bytes = call->bytes,
        .comm = call->comm_id,
        .peer = call->peer,
        .tag = call->tag,
        .kind = (uint8_t)kind,
        .is_fortran = call->is_fortran,
    };

    return request;
}

bool mpi_call_flag(const struct mpi_call *call)
{
    return !mpi_call_has(call, 'f') || *(const int *)mpi_call_word(call, 'f');
}
