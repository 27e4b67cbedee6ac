/* posixpath.h - which path a descriptor was opened by
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_POSIX_POSIXPATH_H
#define CK_AGENT_INJECT_POSIX_POSIXPATH_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors whose paths are kept. */
#define POSIX_PATHS 1024

/* `path` is copied at first sight; -1 and beyond POSIX_PATHS: nothing. */
void posix_path_set(int fd, const char *path);
/* The same by open(), which does not know what it opened: it is still to be
 * looked at (posixsocket.h). */
void posix_path_open(int fd, const char *path);
void posix_path_forget(int fd);
/* Is it still unknown what the descriptor is? An empty path means that it has
 * none. */
bool posix_path_is_unknown(int fd);
/* Was it opened, and not looked at yet? */
bool posix_path_is_fresh(int fd);
/* It was looked at, and the path that it was opened by is enough. */
void posix_path_settle(int fd);
/* Is its path that of a connection or a pipe (posixsocket.h)? */
bool posix_path_is_socket(int fd);
/* Id of the path as a name of this process image, recorded on first use; 0 =
 * not known. Only with a writer. */
uint32_t posix_path_id(int fd);

#endif
