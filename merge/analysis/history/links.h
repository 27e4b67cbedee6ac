/* links.h - which process is at the other end of a connection or a pipe
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The path of a connection is "tcp LOCAL PEER" in one process and "tcp PEER
 * LOCAL" in the other, that of a pipe "pipe NUMBER r" for the reader and
 * "pipe NUMBER w" for the writer. That of a UNIX socket is "unix NUMBER OTHER",
 * by the numbers of both ends, or "unix NUMBER pid PID" by the process that had
 * the other end; "pair NUMBER NUMBER" are the ends of two that a process made.
 * An end that several processes have belongs to none. Pipes, UNIX
 * sockets and addresses of the loopback mean something within a host.
 */
#ifndef CK_MERGE_ANALYSIS_HISTORY_LINKS_H
#define CK_MERGE_ANALYSIS_HISTORY_LINKS_H

#include "merge/model/defs.h"

struct links;
/* Definitions borrowed, with all its names. */
struct links *links_create(const struct defs *defs);
void links_destroy(struct links *links);
bool links_is_tcp(const char *path);
bool links_is_pipe(const char *path);
bool links_is_unix(const char *path);
/* Is it any of the three? */
bool links_is_end(const char *path);
/* The other process that has the other end of that path, DEFS_NONE = it is not
 * known, or not one. */
uint32_t
links_peer(const struct links *links, uint32_t process, const char *path);
/* For each end that a process has; 0, or -1 as `take`. */
typedef void (*links_end_f)(void *state, uint32_t process, const char *path);
void links_each(const struct defs *defs, links_end_f take, void *state);

#endif
