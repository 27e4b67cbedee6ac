/* mpilife.c - begin and end of MPI, communicators and types coming and going
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "agent/inject/mpi/mpicall.h"
#include "agent/inject/mpi/mpirendezvous.h"
#include "agent/inject/mpi/mpitype.h"

/* Who this process image is in its MPI job. */
static void identity_say(void)
{
    char text[256];
    int rank = 0;
    int size = 0;
    int level = 0;

    (void)mpi_abi.call.comm_rank((long)mpi_abi.comm_world, &rank);
    (void)mpi_abi.call.comm_size((long)mpi_abi.comm_world, &size);
    (void)mpi_abi.call.query_thread(&level);
    (void)snprintf(text, sizeof(text),
                   "rank=%d\nsize=%d\nmpi=%s\nthread_level=%d\n", rank, size,
                   mpi_abi.version, level);
    (void)inject_say(CK_KIND_IDENTITY, 0, inject_ring.incarnation, 0, text);
    mpi_rendezvous_start(rank, size);
}

/* Exit handlers that the library registers are between ours. */
static void handlers_mark(bool is_behind)
{
    void (*mark)(bool) =
        (void (*)(bool))(uintptr_t)dlsym(RTLD_DEFAULT, "ck_posix_handlers");

    if (mark != NULL) {
        mark(is_behind);
    }
}

void mpi_life_init_enter(struct mpi_call *call)
{
    mpi_entries_map((call->flags & CK_FLAG_FORTRAN) != 0);
    handlers_mark(false);
}

void mpi_life_init_leave(struct mpi_call *call)
{
    handlers_mark(true);
    mpi_call_record(call, 0, 0);
    if (call->rc == 0 && call->record.writer != NULL) {
        identity_say();
    }
    if (call->rc == 0) {
        mpi_comm_start();
    }
}

static void shortage_say(const char *what, unsigned long long count)
{
    char text[128];

    if (count > 0) {
        (void)snprintf(text, sizeof(text), "%llu MPI %s", count, what);
        (void)inject_say(CK_KIND_NOTE, 0, 0, 0, text);
    }
}

void mpi_life_finalize_enter(struct mpi_call *call)
{
    struct mpi_comm *world = mpi_comm_find(mpi_abi.comm_world);

    if (world != NULL) {
        call->comm = world;
        call->comm_id = world->id;
    }
    shortage_say("communicators without a place in the table",
                 mpi_comm_refused());
    shortage_say("requests without a place in the table",
                 mpi_request_refused());
    shortage_say("completions not recorded: too many requests in one call",
                 mpi_completion_missed());
    shortage_say("groups of windows not recorded: too many ranks",
                 mpi_window_missed());
    mpi_rendezvous_look();
}

/* Creation with only some ranks of the parent is no collective on it. */
static bool is_collective(const struct mpi_call *call)
{
    return call->comm != NULL && call->function->detail != MPI_ORIGIN_GROUP;
}

void mpi_life_comm_enter(struct mpi_call *call)
{
    enum mpi_origin origin = (enum mpi_origin)call->function->detail;

    call->bytes_in = 0;
    call->number = mpi_comm_number(call->comm, origin);
    if (mpi_call_has(call, 'g')) {
        call->tag = mpi_call_int(call, 'g');
    }
    if (is_collective(call)) {
        call->seq = mpi_collective_next(call->comm);
    }
}

static void promise_keep(const struct mpi_call *call)
{
    struct mpi_request made = mpi_call_made(call, MPI_REQUEST_COMM);

    made.out = (void *)mpi_call_word(call, 'C');
    made.number = call->number;
    made.origin = call->function->detail;
    (void)mpi_request_insert(&made);
}

/* What a call starts, which only its root knows. */
static void command_find(const struct mpi_call *call,
                         struct mpi_comm_birth *birth)
{
    if (!mpi_call_has(call, 'z') || call->comm == NULL ||
        mpi_call_int(call, 'o') != call->comm->rank) {
        return;
    }
    birth->command = (const char *)mpi_call_word(call, 'z');
    birth->command_length =
        call->is_fortran ? (size_t)call->words[call->function->arguments + 1]
                         : strlen(birth->command);
}

void mpi_life_comm_leave(struct mpi_call *call)
{
    struct mpi_comm_birth birth = {
        .origin = (enum mpi_origin)call->function->detail,
        .parent = call->comm_id,
        .number = call->number,
        .tag = call->tag,
    };

    if (is_collective(call)) {
        mpi_collective_leave(call);
    } else {
        mpi_call_record(call, 0, 0);
    }
    if (call->rc != 0) {
        return;
    }
    if (mpi_call_has(call, 'q')) {
        promise_keep(call);
        return;
    }
    command_find(call, &birth);
    mpi_comm_create(mpi_call_comm(call, (const void *)mpi_call_word(call, 'C')),
                    &birth);
}

void mpi_life_free_enter(struct mpi_call *call)
{
    call->handle = mpi_call_comm(call, (const void *)mpi_call_word(call, 'C'));
    mpi_call_comm_take(call, call->handle);
}

void mpi_life_free_leave(struct mpi_call *call)
{
    mpi_call_record(call, 0, 0);
    if (call->rc == 0) {
        mpi_comm_remove(call->handle);
    }
}

/* A text of Fortran has its length after ierror. */
void mpi_life_name_leave(struct mpi_call *call)
{
    const char *name = (const char *)mpi_call_word(call, 'z');
    size_t length = MPI_COMM_NAME_BYTES;

    mpi_call_record(call, 0, 0);
    if (call->rc != 0 || call->comm == NULL) {
        return;
    }
    if (call->is_fortran) {
        length = (size_t)call->words[call->function->arguments + 1];
    }
    mpi_comm_rename(call->comm, name, length);
}

void mpi_life_type_enter(struct mpi_call *call)
{
    (void)call;
    mpi_type_forget();
}
