/* posixsocket.h - which connection a descriptor is, and who sent what was read
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The path of a TCP socket is "tcp LOCAL PEER", each an address and a port, so
 * that two processes' ends of one connection can be told: the merge knows then
 * whose data a thread waited for. A read of such a socket that is the first
 * after a long wait for descriptors is recorded however short it is: it says
 * what ended the wait.
 */
#ifndef CK_AGENT_INJECT_POSIXSOCKET_H
#define CK_AGENT_INJECT_POSIXSOCKET_H

#include "agent/inject/posixcall.h"

/* Give the descriptor its path, if it is a connected TCP socket and has none.
 * Keeps errno. */
void posix_socket_look(int fd);

/* A read that was too short to be recorded, after a long wait. Keeps errno. */
void posix_socket_read(const struct posix_call *call,
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

#endif
