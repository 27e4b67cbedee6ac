/* names.h - texts kept once, ids of a process to texts, addresses to lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MODEL_NAMES_H
#define CK_MERGE_MODEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every text of a merge, each once: equal texts have equal pointers. */
struct texts;
struct texts *texts_create(void);
void texts_destroy(struct texts *texts);
/* The kept copy of a text (cut at a NUL); lives as long as `texts`. Any thread
 * may ask. */
const char *texts_keep(struct texts *texts, const char *bytes, size_t length);

/* A place in a program's source. */
struct place {
    const char *function; /* kept texts; NULL = not known */
    const char *file;
    uint32_t line;
};

/* The ids and addresses of one process image. */
struct spot;

/* What was inlined at an address. */
struct inlined;

/* In full here, because it is asked for each record. */
struct names {
    const char **ids;
    size_t ids_count;
    struct spot *spots;
    size_t spots_mask;
    size_t spots_count;
    struct inlined *inlined; /* sorted by address when it is asked for */
    size_t inlined_count, inlined_room;
    bool is_sorted;
};

struct names *names_create(void);
void names_destroy(struct names *names);
/* Set the text of an id (`text` is kept elsewhere). The last one set
 * holds. 0, or -1 with errno (ERANGE: no honest recorder gives such an id). */
int names_set(struct names *names, uint32_t id, const char *text);
/* NULL = not set. */
static inline const char *names_get(const struct names *names, uint32_t id)
{
    return id < names->ids_count ? names->ids[id] : NULL;
}
/* One more than the largest id that may have been set. */
static inline size_t names_count(const struct names *names)
{
    return names->ids_count;
}
void names_set_place(struct names *names, uint64_t address, struct place place);
/* The place of an address; all fields empty when it is not known. */
struct place names_get_place(const struct names *names, uint64_t address);

/* Functions of one instruction at most. */
#define NAMES_INLINED_MAX 32
/* At the address is code of `count` functions, each inlined into the next;
 * the last one is the function itself. They are copied. */
void names_set_inlined(struct names *names,
                       uint64_t address,
                       const struct place *places,
                       size_t count);
/* Those functions, innermost first, borrowed; *count is 0 where nothing was
 * inlined. */
const struct place *
names_get_inlined(struct names *names, uint64_t address, size_t *count);

#endif
