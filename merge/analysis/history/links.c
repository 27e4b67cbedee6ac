/* links.c - which process is at the other end of a connection or a pipe
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a UNIX socket that was connected each side knows only the process at the
 * other end, by its pid. Two that name each other are linked.
 */
#include "merge/analysis/history/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

#define TCP "tcp "
#define PIPE "pipe "
#define UNIX "unix "
#define PID "pid "
#define PAIR "pair "

#define END_BYTES 256

struct end {
    bool is_owned;
    uint32_t owner;    /* DEFS_NONE = several */
    const char *other; /* of a UNIX socket; NULL = not known */
};

struct links {
    const struct defs *defs; /* borrowed */
    struct table *numbers;   /* text, host -> end */
    struct end *ends;
    size_t ends_count, ends_room;
    struct table *pids;  /* pid, host -> process below */
    uint32_t *processes; /* DEFS_NONE = several had the pid */
    struct table *names; /* process, pid at the other end of one of its UNIX
                            sockets */
};

bool links_is_tcp(const char *path)
{
    return path != NULL && strncmp(path, TCP, strlen(TCP)) == 0;
}

bool links_is_pipe(const char *path)
{
    return path != NULL && strncmp(path, PIPE, strlen(PIPE)) == 0;
}

bool links_is_unix(const char *path)
{
    return path != NULL && strncmp(path, UNIX, strlen(UNIX)) == 0;
}

bool links_is_end(const char *path)
{
    return links_is_tcp(path) || links_is_pipe(path) || links_is_unix(path);
}

/* ---- texts -------------------------------------------------------------- */

/* Does the end mean something only within its host? */
static bool is_local(const char *path)
{
    const char *end = path + strlen(TCP);

    return !links_is_tcp(path) || strncmp(end, "127.", 4) == 0 ||
           strncmp(end, "[::1]", 5) == 0;
}

/* The path of an end as both sides know it: of a UNIX socket its number alone.
 * Its length, 0 = it is none. */
static size_t own_end(const char *path, char own[END_BYTES])
{
    size_t length = links_is_unix(path)
                        ? strlen(UNIX) + strcspn(path + strlen(UNIX), " ")
                        : strlen(path);

    if (length >= END_BYTES) {
        return 0;
    }
    memcpy(own, path, length);
    own[length] = '\0';
    return length;
}

/* The path as the other end has it: its length, 0 = not in it. */
static size_t other_end(const char *path, char other[END_BYTES])
{
    const char *first = strchr(path, ' ') + 1;
    const char *second = strchr(first, ' ');
    int length = -1;

    if (second == NULL) {
        return 0;
    }
    second++;
    if (links_is_tcp(path)) {
        length = snprintf(other, END_BYTES, TCP "%s %.*s", second,
                          (int)(second - first - 1), first);
    } else if (links_is_pipe(path)) {
        length = snprintf(other, END_BYTES, PIPE "%.*s %c",
                          (int)(second - first - 1), first,
                          second[0] == 'r' ? 'w' : 'r');
    } else if (strncmp(second, PID, strlen(PID)) != 0) {
        length = snprintf(other, END_BYTES, UNIX "%s", second);
    }
    return length < 0 || length >= END_BYTES ? 0 : (size_t)length;
}

/* Of the process at the other end, 0 = the path has none. */
static uint32_t pid_of(const char *path)
{
    const char *second = strchr(path + strlen(UNIX), ' ');

    return second == NULL || strncmp(second + 1, PID, strlen(PID)) != 0
               ? 0
               : (uint32_t)strtoul(second + 1 + strlen(PID), NULL, 10);
}

static uint64_t host_of(const struct links *links, uint32_t process)
{
    const struct defs *defs = links->defs;

    return (uint64_t)defs->agents[defs->processes[process].agent].domain + 1;
}

/* Kept texts are one pointer where they are equal. */
static struct table_key
key_of(const struct links *links, uint32_t process, const char *kept)
{
    return (struct table_key){(uintptr_t)kept,
                              is_local(kept) ? host_of(links, process) : 0, 0};
}

/* ---- ends --------------------------------------------------------------- */

static struct end *
end_find(struct links *links, uint32_t process, const char *kept)
{
    int64_t number = table_number(links->numbers, key_of(links, process, kept));

    if ((size_t)number == links->ends_count) {
        array_grow(&links->ends, &links->ends_room, links->ends_count,
                   sizeof(*links->ends));
        links->ends[links->ends_count++] = (struct end){0};
    }
    return &links->ends[number];
}

/* Two UNIX sockets that a process made as a pair. */
static void pair_add(struct links *links,
                     uint32_t process,
                     const char *kept,
                     const char *kept_other)
{
    struct end *end = end_find(links, process, kept);

    end->other = kept_other;
    end = end_find(links, process, kept_other);
    end->other = kept;
}

static void end_add(void *state, uint32_t process, const char *path)
{
    struct links *links = state;
    struct texts *texts = links->defs->texts;
    char own[END_BYTES], other[END_BYTES];
    size_t length = own_end(path, own);
    size_t other_length = links_is_unix(path) ? other_end(path, other) : 0;
    const char *kept = length == 0 ? NULL : texts_keep(texts, own, length);
    struct end *end;

    if (length == 0) {
        return;
    }
    end = end_find(links, process, kept);
    end->owner = end->is_owned && end->owner != process ? DEFS_NONE : process;
    end->is_owned = true;
    if (other_length != 0) {
        pair_add(links, process, kept, texts_keep(texts, other, other_length));
    }
}

/* "pair A B": who made the pair has neither end. */
static void made_add(struct links *links, uint32_t process, const char *path)
{
    struct texts *texts = links->defs->texts;
    char ends[2][END_BYTES];
    const char *first = path + strlen(PAIR);
    const char *second = strchr(first, ' ');
    int lengths[2];
    const char *kept[2];

    if (second == NULL) {
        return;
    }
    lengths[0] =
        snprintf(ends[0], END_BYTES, UNIX "%.*s", (int)(second - first), first);
    lengths[1] = snprintf(ends[1], END_BYTES, UNIX "%s", second + 1);
    for (size_t i = 0; i < 2; i++) {
        if (lengths[i] < 0 || lengths[i] >= END_BYTES) {
            return;
        }
        kept[i] = texts_keep(texts, ends[i], (size_t)lengths[i]);
    }
    pair_add(links, process, kept[0], kept[1]);
}

static void pairs_add(struct links *links)
{
    const struct defs *defs = links->defs;

    for (uint32_t p = 0; p < defs->processes_count; p++) {
        size_t count = names_count(defs->processes[p].names);

        for (uint32_t id = 0; id < count; id++) {
            const char *text = names_get(defs->processes[p].names, id);

            if (text != NULL && strncmp(text, PAIR, strlen(PAIR)) == 0) {
                made_add(links, p, text);
            }
        }
    }
}

/* The end of that text on the host of the process; NULL = none has it. */
static const struct end *
end_search(const struct links *links, uint32_t process, const char *kept)
{
    int64_t number =
        kept == NULL ? -1
                     : table_find(links->numbers, key_of(links, process, kept));

    return number < 0 ? NULL : &links->ends[number];
}

static uint32_t owner_of(const struct end *end)
{
    return end != NULL && end->is_owned ? end->owner : DEFS_NONE;
}

/* Whom the process at an end that is its own alone names by pid. */
static void name_add(void *state, uint32_t process, const char *path)
{
    struct links *links = state;
    uint32_t pid = links_is_unix(path) ? pid_of(path) : 0;
    char own[END_BYTES];
    size_t length = pid == 0 ? 0 : own_end(path, own);

    if (length == 0 || owner_of(end_search(links, process,
                                           texts_keep(links->defs->texts, own,
                                                      length))) != process) {
        return;
    }
    table_number_of(links->names, process, pid, 0);
}

static void pids_add(struct links *links)
{
    const struct defs *defs = links->defs;

    links->processes =
        xmalloc((defs->processes_count + 1) * sizeof(*links->processes));
    for (uint32_t p = 0; p < defs->processes_count; p++) {
        size_t known = table_count(links->pids);
        int64_t number = table_number_of(links->pids, defs->processes[p].pid,
                                         host_of(links, p), 0);

        links->processes[number] = (size_t)number == known ? p : DEFS_NONE;
    }
}

void links_each(const struct defs *defs, links_end_f take, void *state)
{
    for (uint32_t p = 0; p < defs->processes_count; p++) {
        size_t count = names_count(defs->processes[p].names);

        for (uint32_t id = 0; id < count; id++) {
            const char *text = names_get(defs->processes[p].names, id);

            if (links_is_end(text)) {
                take(state, p, text);
            }
        }
    }
}

struct links *links_create(const struct defs *defs)
{
    struct links *links = xcalloc(1, sizeof(*links));

    links->defs = defs;
    links->numbers = table_create();
    links->pids = table_create();
    links->names = table_create();
    links_each(defs, end_add, links);
    pairs_add(links);
    pids_add(links);
    links_each(defs, name_add, links);
    return links;
}

void links_destroy(struct links *links)
{
    if (links == NULL) {
        return;
    }
    table_destroy(links->numbers);
    table_destroy(links->pids);
    table_destroy(links->names);
    free(links->ends);
    free(links->processes);
    free(links);
}

/* ---- peers -------------------------------------------------------------- */

/* The process of that pid, if it names this one as well. */
static uint32_t
named_peer(const struct links *links, uint32_t process, uint32_t pid)
{
    int64_t number =
        pid == 0
            ? -1
            : table_find(links->pids,
                         (struct table_key){pid, host_of(links, process), 0});
    uint32_t peer = number < 0 ? DEFS_NONE : links->processes[number];

    return peer != DEFS_NONE &&
                   table_has(links->names,
                             (struct table_key){
                                 peer, links->defs->processes[process].pid, 0})
               ? peer
               : DEFS_NONE;
}

static uint32_t
unix_peer(const struct links *links, uint32_t process, const char *path)
{
    char own[END_BYTES];
    size_t length = own_end(path, own);
    const struct end *end =
        length == 0 ? NULL
                    : end_search(links, process,
                                 texts_keep(links->defs->texts, own, length));

    return end != NULL && end->other != NULL
               ? owner_of(end_search(links, process, end->other))
               : named_peer(links, process, pid_of(path));
}

static uint32_t
other_peer(const struct links *links, uint32_t process, const char *path)
{
    char other[END_BYTES];
    size_t length = other_end(path, other);
    const char *kept =
        length == 0 ? NULL : texts_keep(links->defs->texts, other, length);

    return kept != NULL && is_local(path) == is_local(kept)
               ? owner_of(end_search(links, process, kept))
               : DEFS_NONE;
}

uint32_t
links_peer(const struct links *links, uint32_t process, const char *path)
{
    uint32_t owner;

    if (!links_is_end(path)) {
        return DEFS_NONE;
    }
    owner = links_is_unix(path) ? unix_peer(links, process, path)
                                : other_peer(links, process, path);
    return owner == process ? DEFS_NONE : owner;
}
