/* posixpath.h - which path a descriptor was opened by
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIXPATH_H
#define CK_AGENT_INJECT_POSIXPATH_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors whose paths are kept. */
#define POSIX_PATHS 1024

/* `path` is copied at first sight; -1 and beyond POSIX_PATHS: nothing. */
void posix_path_set(int fd, const char *path);
void posix_path_forget(int fd);
/* Has nobody set the path of the descriptor? The empty one says that it has
 * none. */
bool posix_path_is_unknown(int fd);
/* Is its path that of a connection or a pipe (posixsocket.h)? */
bool posix_path_is_socket(int fd);
/* Id of the path as a name of this process image, said on first use; 0 = not
 * known. Only with a writer. */
uint32_t posix_path_id(int fd);
/* Is it the ring's own? Those calls are ck's. */
bool posix_path_is_ring(const char *path);

void posix_path_load(void);

#endif
