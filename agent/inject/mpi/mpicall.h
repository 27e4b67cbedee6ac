/* mpicall.h - one MPI call on its way through ckmpi
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every wrapper does the same: enter, call the library, leave. What is
 * recorded follows from the function's class and the roles of its arguments
 * (mpi.def). A Fortran call is seen through a view of its arguments as C
 * would have passed them.
 */
#ifndef CK_AGENT_INJECT_MPI_MPICALL_H
#define CK_AGENT_INJECT_MPI_MPICALL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/inject/inject.h"
#include "agent/inject/mpi/mpiabi.h"
#include "agent/inject/mpi/mpicomm.h"
#include "agent/inject/mpi/mpirequest.h"

/* Words of any call: 13 arguments of C, ierror, two lengths of texts. */
#define MPI_WORDS 16
/* Requests of one call whose completions are recorded; more are counted. */
#define MPI_MANY_MAX 256
/* What a call returns when the library does not have the function. */
#define MPI_MISSING 16

enum mpi_class {
    MPI_CLASS_CALL = 0,
    MPI_CLASS_INIT,
    MPI_CLASS_FINALIZE,
    MPI_CLASS_SEND,
    MPI_CLASS_ISEND,
    MPI_CLASS_SEND_INIT,
    MPI_CLASS_RECV,
    MPI_CLASS_IRECV,
    MPI_CLASS_RECV_INIT,
    MPI_CLASS_MRECV,
    MPI_CLASS_IMRECV,
    MPI_CLASS_SENDRECV,
    MPI_CLASS_ISENDRECV,
    MPI_CLASS_PROBE,
    MPI_CLASS_COLL,
    MPI_CLASS_ICOLL,
    MPI_CLASS_COLL_INIT,
    MPI_CLASS_WAIT,
    MPI_CLASS_WAITALL,
    MPI_CLASS_WAITANY,
    MPI_CLASS_WAITSOME,
    MPI_CLASS_START,
    MPI_CLASS_STARTALL,
    MPI_CLASS_REQUEST_FREE,
    MPI_CLASS_COMM_NEW,
    MPI_CLASS_COMM_FREE,
    MPI_CLASS_COMM_NAME,
    MPI_CLASS_TYPE_FREE,
    MPI_CLASS_WINDOW_NEW,
    MPI_CLASS_WINDOW_FREE,
    MPI_CLASS_FENCE,
    MPI_CLASS_FILE_ALL,
    MPI_CLASS_EPOCH,
    MPI_CLASS_LIMIT
};

/* Which buffers of a collective count, and how often. */
enum mpi_pattern {
    MPI_PATTERN_NONE = 0,
    MPI_PATTERN_BCAST,
    MPI_PATTERN_GATHER,
    MPI_PATTERN_SCATTER,
    MPI_PATTERN_ALLGATHER,
    MPI_PATTERN_ALLTOALL,
    MPI_PATTERN_REDUCE,
    MPI_PATTERN_ALLREDUCE,
    MPI_PATTERN_EXSCAN,
    MPI_PATTERN_REDUCE_SCATTER,
    MPI_PATTERN_NEIGHBOR_ALLGATHER,
    MPI_PATTERN_NEIGHBOR_ALLTOALL,
};

/* The names one function is called by. */
enum mpi_entry {
    MPI_ENTRY_C = 0,
    MPI_ENTRY_FORTRAN = 1, /* mpi_x_: mpif.h, use mpi */
    MPI_ENTRY_F08 = 2,     /* mpi_x_f08_ */
    MPI_ENTRY_F08TS = 3,   /* mpi_x_f08ts_: MPICH, with descriptors */
    MPI_ENTRIES
};

typedef void (*mpi_next_f)(void);

/* One line of mpi.def. */
struct mpi_function {
    struct inject_label label; /* "MPI_Send" */
    const char *fortran;       /* "mpi_send", NULL: none */
    const char *roles;         /* a letter an argument */
    uint8_t arguments;
    uint8_t cls;    /* enum mpi_class */
    uint8_t detail; /* enum mpi_pattern or mpi_origin; of files, reads */
    uint8_t is_large;
    int8_t at['z' - 'A' + 1]; /* argument with a role, -1 none */
    _Atomic(mpi_next_f) next[MPI_ENTRIES];
};

/* All of mpi.def (ckmpi.c). */
extern struct mpi_function mpi_functions[];
extern const unsigned mpi_functions_count;

/* Put the texts into them, when the first is called: pointers that the loader
 * had to put there would cost each program of a script, with MPI or without,
 * a fault a page. */
void mpi_functions_fill(void);

/* Map the pages of the wrappers of C, or of Fortran: the fault of each would be
 * of the call that meets it, 10 to 40 us in a virtual machine. */
void mpi_entries_map(bool is_fortran);

/* Requests of a call on several; is in the wrappers that need it. */
struct mpi_many {
    uint64_t handles[MPI_MANY_MAX]; /* before the call nulls them */
    unsigned char statuses[MPI_MANY_MAX * MPI_STATUS_BYTES_MAX];
};

struct mpi_call {
    struct inject_call record;
    struct mpi_function *function;
    mpi_next_f next;
    long *words;           /* as they go to the library */
    const long *view;      /* as C would have passed them */
    struct mpi_many *many; /* NULL but for calls on several requests */
    bool is_on;            /* enter did its part, so leave has to */
    bool is_fortran;       /* the words are Fortran's */
    uint8_t flags;         /* of the records */
    int rc;
    int64_t entered;       /* stamp; 0 = it is shown at once */
    int64_t end;           /* stamp; only with record.writer */
    struct mpi_comm *comm; /* borrowed; NULL: none, or not known */
    uint32_t comm_id;
    uint32_t seq;
    uint32_t types; /* mpi_type_generation() at enter */
    int32_t peer;   /* or root */
    int32_t tag;
    uint64_t bytes;
    uint64_t bytes_in;
    uint64_t handle; /* that the call may null */
    uint32_t number; /* of a communicator's creation */
    uint32_t count;  /* requests of the call */
    _Alignas(8) unsigned char status[MPI_STATUS_BYTES_MAX];
};

/* Around the library's function, in this order. The call must be on the
 * caller's stack: its address identifies nested calls. next is set by both. */
void mpi_call_enter(struct mpi_call *call,
                    struct mpi_function *function,
                    long *words,
                    const void *site);
void mpi_call_leave(struct mpi_call *call, int rc);

/* The whole of a Fortran call, with MPI_WORDS words. */
void mpi_call_fortran(struct mpi_function *function,
                      enum mpi_entry entry,
                      long *words,
                      const void *site);

/* ---- for the classes ---------------------------------------------------- */

static inline bool mpi_call_has(const struct mpi_call *call, char role)
{
    return call->function->at[role - 'A'] >= 0;
}

static inline long mpi_call_word(const struct mpi_call *call, char role)
{
    return call->view[call->function->at[role - 'A']];
}

static inline int mpi_call_int(const struct mpi_call *call, char role)
{
    return (int)mpi_call_word(call, role);
}

/* Element i of an array of counts. */
static inline uint64_t
mpi_call_count_at(const struct mpi_call *call, const void *counts, int i)
{
    int64_t count = call->function->is_large ? ((const int64_t *)counts)[i]
                                             : ((const int32_t *)counts)[i];

    return count > 0 ? (uint64_t)count : 0;
}

/* What the call is on, by its handle: a communicator, or a window. Not in the
 * table: none. */
static inline void mpi_call_comm_take(struct mpi_call *call, uint64_t handle)
{
    call->comm = mpi_comm_find(handle);
    call->comm_id = call->comm != NULL ? call->comm->id : 0;
}

/* The handle behind a pointer argument, element i. No pointer, which MPI
 * refuses with an error that the program may handle: the handle of nothing. */
uint64_t
mpi_call_request(const struct mpi_call *call, const void *at, size_t i);
uint64_t mpi_call_comm(const struct mpi_call *call, const void *at);
uint64_t mpi_call_window(const struct mpi_call *call, const void *at);
uint64_t mpi_call_file(const struct mpi_call *call, const void *at);
uint64_t mpi_call_message(const struct mpi_call *call, const void *at);
uint64_t mpi_call_type(const struct mpi_call *call, const void *at, size_t i);

/* Bytes of one element of a type that the call has used with success. */
uint64_t mpi_call_type_bytes(const struct mpi_call *call, uint64_t type);

/* Bytes of count x type, by their roles; 0 where the call has none. As above.
 */
uint64_t mpi_call_bytes(const struct mpi_call *call, char count, char type);

/* Where the call's status (role s) will be: ours when the program ignores it.
 */
void mpi_call_status_ask(struct mpi_call *call);
struct mpi_status mpi_call_status(const struct mpi_call *call);

/* Write the call's own record: a plain call with these numbers. */
void mpi_call_record(struct mpi_call *call, uint64_t arg, uint64_t extra);

/* Head of a record of this call, with its flags. */
static inline struct ck_event
mpi_call_head(const struct mpi_call *call, enum ck_kind kind, unsigned units)
{
    struct ck_event event = inject_call_head(&call->record, kind, units);

    event.flags = call->flags;
    return event;
}

/* A request that this call made, filled in as far as all kinds agree. */
struct mpi_request mpi_call_made(const struct mpi_call *call,
                                 enum mpi_request_kind kind);

/* Flag of a Test or Iprobe; true where there is none. */
bool mpi_call_flag(const struct mpi_call *call);

/* How a class is recorded. Each may be NULL (a plain call). `measure` comes
 * before `leave` where the call succeeded, and may ask MPI for the sizes of
 * what it used. At enter nothing is known to be valid: MPI hands what is not
 * to the program's error handler, which may end the program. */
struct mpi_class_row {
    enum ck_kind kind;
    void (*enter)(struct mpi_call *call);
    void (*measure)(struct mpi_call *call);
    void (*leave)(struct mpi_call *call);
};

/* mpimessage.c */
void mpi_message_enter(struct mpi_call *call);
void mpi_message_measure(struct mpi_call *call);
void mpi_message_receive_enter(struct mpi_call *call);
void mpi_message_matched_enter(struct mpi_call *call);
void mpi_message_send_leave(struct mpi_call *call);
void mpi_message_isend_leave(struct mpi_call *call);
void mpi_message_send_init_leave(struct mpi_call *call);
void mpi_message_recv_leave(struct mpi_call *call);
void mpi_message_irecv_leave(struct mpi_call *call);
void mpi_message_recv_init_leave(struct mpi_call *call);
void mpi_message_sendrecv_leave(struct mpi_call *call);
void mpi_message_isendrecv_leave(struct mpi_call *call);
void mpi_message_probe_leave(struct mpi_call *call);

/* mpicollective.c */
void mpi_collective_enter(struct mpi_call *call);
void mpi_collective_init_enter(struct mpi_call *call);
void mpi_collective_measure(struct mpi_call *call);
void mpi_collective_leave(struct mpi_call *call);
void mpi_collective_init_leave(struct mpi_call *call);
/* The number of the next collective on a communicator (NULL: 0). */
uint32_t mpi_collective_next(struct mpi_comm *comm);
void mpi_collective_started(struct mpi_call *call, struct mpi_request *request);

/* mpicompletion.c */
void mpi_completion_enter(struct mpi_call *call);
void mpi_completion_many_enter(struct mpi_call *call);
void mpi_completion_wait_leave(struct mpi_call *call);
void mpi_completion_all_leave(struct mpi_call *call);
void mpi_completion_any_leave(struct mpi_call *call);
void mpi_completion_some_leave(struct mpi_call *call);
void mpi_completion_start_leave(struct mpi_call *call);
void mpi_completion_startall_leave(struct mpi_call *call);
void mpi_completion_free_leave(struct mpi_call *call);
/* Completions beyond MPI_MANY_MAX in one call. */
uint64_t mpi_completion_missed(void);
/* One COMPLETE record, at the end of the call. */
struct mpi_completion {
    uint32_t comm;
    int32_t peer;
    int32_t tag;
    uint64_t bytes;
    uint64_t request;
};
void mpi_completion_record(struct mpi_call *call,
                           const struct mpi_completion *completion,
                           unsigned flags);

/* mpilife.c */
void mpi_life_init_enter(struct mpi_call *call);
void mpi_life_init_leave(struct mpi_call *call);
void mpi_life_finalize_enter(struct mpi_call *call);
void mpi_life_comm_enter(struct mpi_call *call);
void mpi_life_comm_leave(struct mpi_call *call);
void mpi_life_free_enter(struct mpi_call *call);
void mpi_life_free_leave(struct mpi_call *call);
void mpi_life_name_leave(struct mpi_call *call);
void mpi_life_type_enter(struct mpi_call *call);

/* mpiwindow.c, also of files */
void mpi_window_new_leave(struct mpi_call *call);
void mpi_window_free_enter(struct mpi_call *call);
void mpi_window_free_leave(struct mpi_call *call);
void mpi_window_fence_enter(struct mpi_call *call);
void mpi_window_fence_leave(struct mpi_call *call);
void mpi_window_file_enter(struct mpi_call *call);
void mpi_window_file_measure(struct mpi_call *call);
void mpi_window_epoch_enter(struct mpi_call *call);
void mpi_window_epoch_leave(struct mpi_call *call);
/* Groups of more than MPI_MANY_MAX ranks: their waits are not known. */
uint64_t mpi_window_missed(void);

#endif
