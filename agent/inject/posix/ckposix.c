/* ckposix.c - the entry points: functions of libc that may block
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loaded with LD_PRELOAD. A wrapper takes as many words as the function has
 * arguments and hands the same words on, as ckmpi's do. The C names are our
 * own, so that no macro or inline of the headers can meet them; the symbols
 * are libc's.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "agent/inject/posix/posixcall.h"
#include "agent/inject/posix/posixexec.h"
#include "agent/inject/posix/posixpath.h"
#include "agent/inject/posix/posixsocket.h"
#include "agent/inject/words.h"
#include "schema/kernelask.h"

#define EXPORT __attribute__((visibility("default")))

/* The second word, where there is one. */
#define SECOND_1 0
#define SECOND_2 w1
#define SECOND_3 w1
#define SECOND_4 w1
#define SECOND_5 w1
#define SECOND_6 w1
#define SECOND_7 w1

/* What a finished call shows of its object. */
static inline struct posix_object
object_of(enum posix_shape shape, long first, long second, long rc)
{
    struct posix_object object = {0};

    switch (shape) {
    case POSIX_BYTES:
        object.number = (uint32_t)first + 1;
        object.bytes = rc > 0 ? (uint64_t)rc : 0;
        object.is_failed = rc < 0;
        break;
    case POSIX_FD:
        object.number = (uint32_t)first + 1;
        object.is_failed = (int)rc < 0;
        break;
    case POSIX_OPEN:
    case POSIX_OPENAT:
        object.is_failed = (int)rc < 0;
        if ((int)rc >= 0) {
            posix_path_open(
                (int)rc, (const char *)(shape == POSIX_OPEN ? first : second));
            object.number = (uint32_t)rc + 1;
        }
        break;
    case POSIX_ADDRESS:
        object.address = (uint64_t)first;
        object.is_failed = (int)rc != 0;
        break;
    case POSIX_BARRIER:
        object.address = (uint64_t)first;
        object.is_failed = (int)rc > 0;
        break;
    case POSIX_NUMBER:
    case POSIX_THREAD:
        object.is_failed = (int)rc != 0;
        break;
    case POSIX_REST:
        break;
    default:
        object.is_failed = (int)rc < 0;
        break;
    }
    return object;
}

/* The end of a read: the one behind a long wait counts more. */
static inline void posix_end_read(const struct posix_call *call,
                                  const struct posix_entry *entry,
                                  const void *site,
                                  const struct posix_object *object)
{
    posix_end(call, entry, site, object);
    if (__builtin_expect(posix_has_waited, 0) && object->bytes > 0) {
        posix_socket_read(call, entry, site, object);
    }
}

/* The end of a write: the first one to a connection or a pipe counts more. */
static inline void posix_end_write(const struct posix_call *call,
                                   const struct posix_entry *entry,
                                   const void *site,
                                   const struct posix_object *object)
{
    posix_end(call, entry, site, object);
    if (object->bytes > 0 &&
        __builtin_expect(posix_path_is_unknown((int)object->number - 1), 0)) {
        posix_socket_write(call, entry, site, object);
    }
}

#define POSIX_ENTRY(symbol_, name, words, shape_)                              \
    POSIX_SYMBOL(symbol_, POSIX_##name, POSIX_##shape_);                       \
                                                                               \
    EXPORT long entry_##symbol_(PARAMETERS_##words) __asm__(#symbol_);         \
    long entry_##symbol_(PARAMETERS_##words)                                   \
    {                                                                          \
        long (*next)(TYPES_##words) =                                          \
            (long (*)(TYPES_##words))POSIX_NEXT(symbol_);                      \
        struct posix_object object;                                            \
        struct posix_call call;                                                \
        long rc;                                                               \
                                                                               \
        if (__builtin_expect(next == NULL, 0)) {                               \
            errno = ENOSYS;                                                    \
            return -1;                                                         \
        }                                                                      \
        if (posix_is_inside()) {                                               \
            return next(NAMES_##words);                                        \
        }                                                                      \
        if (POSIX_##shape_ == POSIX_CLOSE) {                                   \
            posix_path_forget((int)w0);                                        \
        }                                                                      \
        posix_begin(&call);                                                    \
        rc = next(NAMES_##words);                                              \
        object = object_of(POSIX_##shape_, w0, SECOND_##words, rc);            \
        if (POSIX_##shape_ == POSIX_BYTES && posix_is_read(POSIX_##name)) {    \
            posix_end_read(&call, &data_##symbol_,                             \
                           __builtin_return_address(0), &object);              \
            return rc;                                                         \
        }                                                                      \
        if (POSIX_##shape_ == POSIX_BYTES && posix_is_write(POSIX_##name)) {   \
            posix_end_write(&call, &data_##symbol_,                            \
                            __builtin_return_address(0), &object);             \
            return rc;                                                         \
        }                                                                      \
        posix_end(&call, &data_##symbol_, __builtin_return_address(0),         \
                  &object);                                                    \
        return rc;                                                             \
    }
#include "agent/inject/posix/posix.def"

/* Not counted: it never waits. */
static const char pair_symbol[] = "socketpair";
static _Atomic(posix_next_f) next_pair;

INJECT_ENTRY(int, socketpair, int domain, int type, int protocol, int fds[2])
{
    int (*next)(int, int, int, int *) =
        (int (*)(int, int, int, int *))posix_next(&next_pair, pair_symbol);
    int rc;

    if (__builtin_expect(next == NULL, 0)) {
        errno = ENOSYS;
        return -1;
    }
    rc = next(domain, type, protocol, fds);
    if (rc == 0 && domain == AF_UNIX) {
        posix_socket_pair(fds);
    }
    return rc;
}

/* Before the constructors of the other parts: the key of posixcount.c comes
 * first. */
__attribute__((constructor(102))) static void
library_load(int argc, char **argv, char **env)
{
    const char *path = ck_start_env(env, CK_RING_ENV_HERE);

    (void)argc;
    (void)argv;
    posix_exec_load(ck_start_env(env, (char[]){"LD_PRELOAD"}));
    if (path != NULL) {
        posix_counts_load();
        inject_load_at(CK_LIBRARY_POSIX, path);
        posix_call_load();
    }
    posix_counts_begin();
}
