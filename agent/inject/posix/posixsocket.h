/* posixsocket.h - which connection a descriptor is, and who sent what was read
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The path of a TCP socket is "tcp LOCAL PEER", each an address and a port, so
 * that the merge can match the ends of one connection in two processes and
 * knows whose data a thread waited for. That of a pipe, with a name or without,
 * is "pipe NUMBER r" or "pipe NUMBER w", by the end. That of a UNIX socket is
 * "unix LOCAL PEER", the numbers of both ends, where this process or one that
 * it was forked from made the pair; else "unix LOCAL pid PID": that process had
 * the other end when the two were connected. A read of such a socket that is
 * the first after a long wait for descriptors is recorded however short it is:
 * it shows what ended the wait. So is the first write to one: a writer may
 * never take long, and then nothing else would show whose data it is.
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXSOCKET_H
#define CK_AGENT_INJECT_POSIX_POSIXSOCKET_H

#include "agent/inject/posix/posixcall.h"

/* Give the descriptor its path, if it is a connected socket or a pipe and has
 * none yet. Keeps errno. */
void posix_socket_look(int fd);

/* Two UNIX sockets were made that are each other's ends. Keeps errno. */
void posix_socket_pair(const int fds[2]);
/* Record the latest of them, once, as names "pair NUMBER NUMBER". Only with a
 * writer. */
void posix_pairs_say(void);

/* A read that was too short to be recorded, after a long wait. Keeps errno. */
void posix_socket_read(const struct posix_call *call,
                       const struct posix_entry *entry,
                       const void *site,
                       const struct posix_object *object);

/* A write, however short, to what has no path yet. Keeps errno. */
void posix_socket_write(const struct posix_call *call,
                        const struct posix_entry *entry,
                        const void *site,
                        const struct posix_object *object);

/* A long wait for descriptors ended in this thread, and nothing was read
 * since. */
extern __thread bool posix_has_waited;

static inline bool posix_is_wait(unsigned function)
{
    return function >= POSIX_poll && function <= POSIX_epoll_pwait;
}

/* Does the function read from what its first word is? */
static inline bool posix_is_read(unsigned function)
{
    return function == POSIX_read || function == POSIX_readv ||
           (function >= POSIX_recv && function <= POSIX_recvmsg);
}

static inline bool posix_is_write(unsigned function)
{
    return function == POSIX_write || function == POSIX_writev ||
           (function >= POSIX_send && function <= POSIX_sendmsg);
}

#endif
