/* jitmap.h - code that a process compiled at run time, as its own files have it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   a text: lines "START SIZE NAME", the numbers hexadecimal (perf-PID.map)
 *   a dump: a head, then records of code with their names and lines
 *           (jit-PID.dump, jitdump version 1)
 *
 * Both grow while the process runs, and are read piece by piece. Nothing in
 * them is believed: what they name wrongly is their own code only, as no
 * address of a file is asked for here.
 */
#ifndef CK_AGENT_UNWIND_JITMAP_H
#define CK_AGENT_UNWIND_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Pieces of code that are kept, and bytes of their names and lines. */
#define JITMAP_CODES 262144
#define JITMAP_BYTES (32u << 20)
/* A name is cut behind so many bytes. */
#define JITMAP_NAME 1000

struct jitmap;

/* NULL with ENOMEM. */
struct jitmap *jitmap_create(void);
void jitmap_destroy(struct jitmap *map);

/* Take lines of a text; how many bytes were whole lines. */
size_t jitmap_text(struct jitmap *map, const char *bytes, size_t length);
/* Take records of a dump, at first with its head; how many bytes were whole
 * ones, -1: they are none. */
ssize_t jitmap_dump(struct jitmap *map, const uint8_t *bytes, size_t length);

/* Where an address is. */
struct jitplace {
    const char *function; /* borrowed until more is taken */
    const char *file;     /* the same; NULL = not known */
    uint32_t line;        /* 0 = not known */
};
/* The newest code there. False: none is known. */
bool jitmap_find(struct jitmap *map, uint64_t address, struct jitplace *place);

/* Lines and records that were none, or for which there was no room. */
uint64_t jitmap_wrong(const struct jitmap *map);

#endif
