/* links.c - which process is at the other end of a connection or a pipe
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/table.h"

#define TCP "tcp "
#define PIPE "pipe "

struct links {
    const struct cast *cast; /* borrowed */
    struct table *ends;      /* text, host -> whose end it is */
    uint32_t *owners;        /* by end; CAST_NONE = of several processes */
    size_t owners_count, owners_room;
};

bool links_is_tcp(const char *path)
{
    return path != NULL && strncmp(path, TCP, strlen(TCP)) == 0;
}

bool links_is_pipe(const char *path)
{
    return path != NULL && strncmp(path, PIPE, strlen(PIPE)) == 0;
}

/* Does the end mean something only within its host? */
static bool is_local(const char *path)
{
    const char *end = path + strlen(TCP);

    return links_is_pipe(path) || strncmp(end, "127.", 4) == 0 ||
           strncmp(end, "[::1]", 5) == 0;
}

/* Kept texts are one pointer where they are equal. */
static struct table_key
key_of(const struct cast *cast, uint32_t process, const char *path)
{
    uint32_t agent = cast->processes[process].agent;

    return (struct table_key){
        (uintptr_t)path,
        is_local(path) ? (uint64_t)cast->agents[agent].domain + 1 : 0, 0};
}

static int end_add(void *state, uint32_t process, const char *path)
{
    struct links *links = state;
    int64_t number =
        table_number(links->ends, key_of(links->cast, process, path));

    if (number < 0) {
        return -1;
    }
    if ((size_t)number == links->owners_count) {
        if (array_grow(&links->owners, &links->owners_room, links->owners_count,
                       sizeof(*links->owners)) != 0) {
            return -1;
        }
        links->owners[links->owners_count++] = process;
    } else if (links->owners[number] != process) {
        links->owners[number] = CAST_NONE;
    }
    return 0;
}

int links_each(const struct cast *cast, links_end_f take, void *state)
{
    for (uint32_t p = 0; p < cast->processes_count; p++) {
        size_t count = names_count(cast->processes[p].names);

        for (uint32_t id = 0; id < count; id++) {
            const char *text = names_get(cast->processes[p].names, id);

            if ((links_is_tcp(text) || links_is_pipe(text)) &&
                take(state, p, text) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

struct links *links_create(const struct cast *cast)
{
    struct links *links = calloc(1, sizeof(*links));

    if (links == NULL) {
        return NULL;
    }
    links->cast = cast;
    links->ends = table_create();
    if (links->ends == NULL || links_each(cast, end_add, links) != 0) {
        links_destroy(links);
        return NULL;
    }
    return links;
}

void links_destroy(struct links *links)
{
    if (links == NULL) {
        return;
    }
    table_destroy(links->ends);
    free(links->owners);
    free(links);
}

/* The path as the other end has it: its length, 0 = it has none. */
static size_t other_end(const char *path, char *other, size_t size)
{
    const char *first = path + strlen(links_is_tcp(path) ? TCP : PIPE);
    const char *second = strchr(first, ' ');
    int length;

    if (second == NULL) {
        return 0;
    }
    length = links_is_tcp(path)
                 ? snprintf(other, size, TCP "%s %.*s", second + 1,
                            (int)(second - first), first)
                 : snprintf(other, size, PIPE "%.*s %c", (int)(second - first),
                            first, second[1] == 'r' ? 'w' : 'r');
    return length < 0 || (size_t)length >= size ? 0 : (size_t)length;
}

uint32_t
links_peer(const struct links *links, uint32_t process, const char *path)
{
    const struct cast *cast = links->cast;
    struct table_key key;
    const char *kept;
    char other[256];
    size_t length;
    uint32_t owner;

    if (!links_is_tcp(path) && !links_is_pipe(path)) {
        return CAST_NONE;
    }
    length = other_end(path, other, sizeof(other));
    kept = length == 0 ? NULL : texts_keep(cast->texts, other, length);
    if (kept == NULL) {
        return CAST_NONE;
    }
    key = key_of(cast, process, kept);
    if (is_local(path) != is_local(kept) || !table_has(links->ends, key)) {
        return CAST_NONE;
    }
    owner = links->owners[table_number(links->ends, key)];
    return owner == process ? CAST_NONE : owner;
}
