/* ckmpi.c - the entry points: every function of mpi.def, C and Fortran
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loaded with LD_PRELOAD in front of any MPI. One wrapper a function takes as
 * many words as the function has arguments and hands the same words on.
 */
#include <errno.h>
#include <unistd.h>

#include "agent/inject/mpi/mpicall.h"
#include "agent/inject/words.h"
#include "schema/kernelask.h"

#define EXPORT __attribute__((visibility("default")))
/* Those of one language are beside each other: mpi_entries_map(). */
#define EXPORT_C EXPORT __attribute__((section(".text.mpi_c.2")))
#define EXPORT_FORTRAN EXPORT __attribute__((section(".text.mpi_fortran.2")))

#define MADV_POPULATE_READ 22 /* Linux 5.14 */

enum mpi_function_number {
#define MPI_FUNCTION(symbol, fortran, n, CLASS, DETAIL, roles) NUMBER_##symbol,
#define MPI_LARGE(symbol, n, CLASS, DETAIL, roles) NUMBER_##symbol,
#include "agent/inject/mpi/mpi.def"
    NUMBER_LIMIT
};

INJECT_ROOM struct mpi_function mpi_functions[NUMBER_LIMIT];

const unsigned mpi_functions_count = NUMBER_LIMIT;

/* A function of its own: inline, some compilers would take both pointers from a
 * table that the loader has to fill in each program. */
static __attribute__((noinline)) void texts_fill(struct mpi_function *function,
                                                 const char *symbol,
                                                 const char *fortran,
                                                 const char *roles)
{
    function->label.text = symbol;
    function->fortran = fortran;
    function->roles = roles;
}

/* A function of mpi.def but for what next_find() fills in. */
#define FILL(symbol, fortran_, n, CLASS, DETAIL, roles_, large)                \
    function = &mpi_functions[NUMBER_##symbol];                                \
    texts_fill(function, #symbol, fortran_, roles_);                           \
    function->arguments = (n);                                                 \
    function->cls = MPI_CLASS_##CLASS;                                         \
    function->detail = (DETAIL);                                               \
    function->is_large = (large);

void mpi_functions_fill(void)
{
    struct mpi_function *function;

#define MPI_FUNCTION(symbol, fortran, n, CLASS, DETAIL, roles)                 \
    FILL(symbol, #fortran, n, CLASS, DETAIL, roles, 0)
#define MPI_LARGE(symbol, n, CLASS, DETAIL, roles)                             \
    FILL(symbol, NULL, n, CLASS, DETAIL, roles, 1)
#include "agent/inject/mpi/mpi.def"
}

/* MANY_...: the room for requests that some need. */
#define MANY_NONE call.many = NULL;
#define MANY_ROOM                                                              \
    struct mpi_many many;                                                      \
                                                                               \
    call.many = &many;

#define C_ENTRY(symbol, n, MANY)                                               \
    EXPORT_C int symbol(PARAMETERS_##n);                                       \
    int symbol(PARAMETERS_##n)                                                 \
    {                                                                          \
        long words[] = {NAMES_##n};                                            \
        struct mpi_call call;                                                  \
        int rc = MPI_MISSING;                                                  \
                                                                               \
        MANY mpi_call_enter(&call, &mpi_functions[NUMBER_##symbol], words,     \
                            __builtin_return_address(0));                      \
        if (__builtin_expect(call.next != NULL, 1)) {                          \
            rc = ((int (*)(TYPES_##n))call.next)(WORDS_##n);                   \
        }                                                                      \
        mpi_call_leave(&call, rc);                                             \
        return rc;                                                             \
    }

#define FORTRAN_ENTRY(symbol, name, ENTRY)                                     \
    EXPORT_FORTRAN void name(PARAMETERS_16);                                   \
    void name(PARAMETERS_16)                                                   \
    {                                                                          \
        long words[MPI_WORDS] = {NAMES_16};                                    \
                                                                               \
        mpi_call_fortran(&mpi_functions[NUMBER_##symbol], ENTRY, words,        \
                         __builtin_return_address(0));                         \
    }

#define FORTRAN_ENTRIES(symbol, fortran)                                       \
    FORTRAN_ENTRY(symbol, fortran##_, MPI_ENTRY_FORTRAN)                       \
    FORTRAN_ENTRY(symbol, fortran##_f08_, MPI_ENTRY_F08)                       \
    FORTRAN_ENTRY(symbol, fortran##_f08ts_, MPI_ENTRY_F08TS)

#define MPI_FUNCTION(symbol, fortran, n, CLASS, DETAIL, roles)                 \
    C_ENTRY(symbol, n, MANY_NONE)                                              \
    FORTRAN_ENTRIES(symbol, fortran)
#define MPI_LARGE(symbol, n, CLASS, DETAIL, roles) C_ENTRY(symbol, n, MANY_NONE)
#define MPI_MANY(symbol, fortran, n, CLASS, roles)                             \
    C_ENTRY(symbol, n, MANY_ROOM)                                              \
    FORTRAN_ENTRIES(symbol, fortran)
#include "agent/inject/mpi/mpi.def"

/* The linker sorts by these names (agent/inject/CMakeLists.txt). */
#define BORDER(name, part)                                                     \
    static __attribute__((section(".text.mpi_" part), used)) void name(void)   \
    {                                                                          \
    }
BORDER(c_begin, "c.1")
BORDER(c_end, "c.3")
BORDER(fortran_begin, "fortran.1")
BORDER(fortran_end, "fortran.3")

void mpi_entries_map(bool is_fortran)
{
    long page = sysconf(_SC_PAGESIZE);
    long begin = (long)(is_fortran ? fortran_begin : c_begin) & -page;
    long end = (long)(is_fortran ? fortran_end : c_end);
    int saved = errno;

    /* Another linker may not sort. */
    if (end > begin && inject_slow_enter()) {
        (void)ck_kernel_ask(SYS_madvise,
                            (long[6]){begin, end - begin, MADV_POPULATE_READ});
        inject_slow_leave();
    }
    errno = saved;
}
