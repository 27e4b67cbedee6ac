/* fd.h - a descriptor is closed as memory is freed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_SCHEMA_FD_H
#define CK_SCHEMA_FD_H

#include <errno.h>
#include <unistd.h>

/* Of -1 nothing is done. Keeps errno. */
static inline void ck_fd_close(int fd)
{
    int saved = errno;

    if (fd >= 0) {
        (void)close(fd);
        errno = saved;
    }
}

#endif
