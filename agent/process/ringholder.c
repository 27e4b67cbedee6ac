/* ringholder.c - does a process have a ring mapped?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/ringholder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* By number: in a container the path may be another one. */
static bool is_of(const char *line, const struct stat *file)
{
    unsigned major_id, minor_id;
    uint64_t inode;

    return sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &major_id, &minor_id,
                  &inode) == 3 &&
           inode == (uint64_t)file->st_ino &&
           makedev(major_id, minor_id) == file->st_dev;
}

bool ringholder_is(uint32_t pid, const char *path, int fd)
{
    struct stat file = {.st_ino = 0};
    char name[64];
    char *line = NULL;
    size_t room = 0;
    bool is_there = false;
    FILE *maps;

    (void)snprintf(name, sizeof(name), "/proc/%u/maps", pid);
    maps = fopen(name, "re");
    if (maps == NULL) {
        return errno == EACCES || errno == EPERM;
    }
    if (fd >= 0) {
        (void)fstat(fd, &file);
    }
    errno = 0;
    while (!is_there && getline(&line, &room, maps) > 0) {
        is_there = strstr(line, path) != NULL ||
                   (file.st_ino != 0 && is_of(line, &file));
    }
    is_there = is_there || errno == EACCES || errno == EPERM;
    free(line);
    (void)fclose(maps);
    return is_there;
}
