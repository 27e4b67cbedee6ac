/* mappings.c - what a process has mapped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/mappings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)16 << 20)
#define BYTES_FIRST ((size_t)64 << 10)
#define BYTES_READ 4096

/* Room for one more read and an end. False: there is none. */
static bool has_room(struct mappings *mappings)
{
    size_t room = mappings->room * 2 + BYTES_FIRST;
    char *grown;

    if (mappings->length + BYTES_READ + 1 <= mappings->room) {
        return true;
    }
    grown = room > BYTES_MAX ? NULL : realloc(mappings->text, room);
    if (grown == NULL) {
        return false;
    }
    mappings->text = grown;
    mappings->room = room;
    return true;
}

bool mapping_bias(const Elf64_Phdr *part,
                  uint64_t start,
                  uint64_t offset,
                  uint64_t *bias)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

    if (part->p_type != PT_LOAD || offset < (part->p_offset & ~page) ||
        offset >= part->p_offset + part->p_filesz) {
        return false;
    }
    *bias = start - (part->p_vaddr + offset - part->p_offset);
    return true;
}

size_t mappings_read(struct mappings *mappings, pid_t pid)
{
    char path[64];
    ssize_t got = 1;
    int fd;

    mappings->length = 0;
    mappings->next = NULL;
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    while (got > 0 && has_room(mappings)) {
        got = read(fd, mappings->text + mappings->length,
                   mappings->room - mappings->length - 1);
        mappings->length += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    if (mappings->length > 0) {
        mappings->text[mappings->length] = '\0';
        mappings->next = mappings->text;
    }
    return mappings->length;
}

void mappings_fini(struct mappings *mappings)
{
    free(mappings->text);
    *mappings = (struct mappings){NULL, 0, 0, NULL};
}

bool mappings_next(struct mappings *mappings, struct mapping *mapping)
{
    char *line;

    while (mappings->next != NULL &&
           (line = strsep(&mappings->next, "\n")) != NULL) {
        char rights[8] = "";
        int at = 0;

        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n",
                   &mapping->start, &mapping->end, rights, &mapping->offset,
                   &at) == 4 &&
            at > 0) {
            mapping->path = line + at;
            mapping->is_code = strchr(rights, 'x') != NULL;
            mapping->is_writable = strchr(rights, 'w') != NULL;
            return true;
        }
    }
    return false;
}
