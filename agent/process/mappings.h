/* mappings.h - what a process has mapped
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_MAPPINGS_H
#define CK_AGENT_PROCESS_MAPPINGS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The text of /proc/PID/maps; zeroed at first, the memory is used again. */
struct mappings {
    char *text;
    size_t room;
    size_t length;
    char *next; /* line that is taken next */
};

/* One line of it. */
struct mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset;  /* in the file */
    const char *path; /* "" = none; borrowed from the text */
    bool is_code;     /* may be executed */
    bool is_writable;
};

/* A mapping at `start` of the page of a file at `offset`: is it of this part of
 * the file? Then *bias is what the process adds to the file's addresses. */
bool mapping_bias(const Elf64_Phdr *part,
                  uint64_t start,
                  uint64_t offset,
                  uint64_t *bias);

/* Read all of it. Its length, 0 = nothing: the process has ended, it may not be
 * read, or no memory. */
size_t mappings_read(struct mappings *mappings, pid_t pid);
void mappings_fini(struct mappings *mappings);

/* The next line that is one. False: there is none. */
bool mappings_next(struct mappings *mappings, struct mapping *mapping);

#endif
