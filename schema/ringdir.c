/* ringdir.c - where ring files lie, and how they are called
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/ringdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ck_ring_dirs(char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES])
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(dirs[0], CK_RING_DIR_BYTES, "/dev/shm/ck-%u",
                   (unsigned)geteuid());
    (void)snprintf(dirs[1], CK_RING_DIR_BYTES, "%s/ck-%u",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                   (unsigned)geteuid());
}

int ck_ring_path(char *path,
                 size_t room,
                 const char *dir,
                 const uint8_t agent[16])
{
    int n = snprintf(path, room,
                     "%s/%02x%02x%02x%02x%02x%02x%02x%02x" CK_RING_SUFFIX, dir,
                     agent[0], agent[1], agent[2], agent[3], agent[4], agent[5],
                     agent[6], agent[7]);

    if (n < 0 || (size_t)n >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t end = strlen(suffix);

    return length > end && strcmp(name + length - end, suffix) == 0;
}

bool ck_ring_is_name(const char *name)
{
    return ends_with(name, CK_RING_SUFFIX);
}

bool ck_ring_is_new_name(const char *name)
{
    return ends_with(name, CK_RING_SUFFIX_NEW);
}
