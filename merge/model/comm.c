/* comm.c - which communicators of different processes are one
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/table.h"
#include "schema/store/run.h"

/* Creations from creations that are followed. */
#define DEPTH_MAX 64
/* Bytes of a label. */
#define LABEL 128

/* Place of the id in the process's array, which is in order of id. */
static size_t comm_place(const struct defs_process *process, uint32_t id)
{
    size_t low = 0;
    size_t high = process->comms_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (process->comms[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct defs_comm *
comm_find(const struct defs *defs, uint32_t process, uint32_t id)
{
    const struct defs_process *owner = &defs->processes[process];
    size_t at = comm_place(owner, id);

    return at < owner->comms_count && owner->comms[at].id == id
               ? &owner->comms[at]
               : NULL;
}

static int32_t line_number(const struct ck_text *text, const char *key)
{
    char value[32];

    return ck_lines_get(ck_text_bytes(text), text->length, key, value,
                        sizeof(value))
               ? (int32_t)strtol(value, NULL, 10)
               : -1;
}

/* "how;tag;members" as a kept text, NULL when a part is missing. */
static const char *birth_keep(const struct defs *defs,
                              const struct ck_text *text)
{
    const char *bytes = ck_text_bytes(text);
    char how[32] = "", tag[32] = "", other[64] = "";
    char members[CK_TEXT_BYTES_MAX] = "";
    char line[CK_TEXT_BYTES_MAX + 80];
    int length;

    (void)ck_lines_get(bytes, text->length, "how", how, sizeof(how));
    (void)ck_lines_get(bytes, text->length, "tag", tag, sizeof(tag));
    if (!ck_lines_get(bytes, text->length, "members", members,
                      sizeof(members)) ||
        ck_lines_get(bytes, text->length, "members_cut", other,
                     sizeof(other)) ||
        ck_lines_get(bytes, text->length, "remote", members, sizeof(members))) {
        return NULL;
    }
    length = snprintf(line, sizeof(line), "%s;%s;%s", how, tag, members);
    return texts_keep(defs->texts, line, (size_t)length);
}

/* The value of a line as a kept text, NULL where there is none. */
static const char *
line_keep(const struct defs *defs, const struct ck_text *text, const char *key)
{
    char value[CK_TEXT_BYTES_MAX];

    if (!ck_lines_get(ck_text_bytes(text), text->length, key, value,
                      sizeof(value))) {
        return NULL;
    }
    return texts_keep(defs->texts, value, strlen(value));
}

/* Processes that MPI_Comm_spawn started, at its first rank: those of another
 * world are "?" each. */
static uint32_t spawned_count(const struct ck_text *text)
{
    const char *bytes = ck_text_bytes(text);
    char how[32] = "", remote[CK_TEXT_BYTES_MAX];
    uint32_t count = 0;

    (void)ck_lines_get(bytes, text->length, "how", how, sizeof(how));
    if (strcmp(how, "spawn") != 0 || line_number(text, "rank") != 0 ||
        !ck_lines_get(bytes, text->length, "remote", remote, sizeof(remote))) {
        return 0;
    }
    for (const char *c = remote; *c != '\0'; c++) {
        count += *c == '?';
    }
    return count;
}

void comm_enter(struct defs *defs, uint32_t process, const struct ck_text *text)
{
    struct defs_process *owner = &defs->processes[process];
    size_t at = comm_place(owner, text->e.name);
    const char *command = line_keep(defs, text, "command");
    struct defs_comm comm = {
        .id = text->e.name,
        .parent = (uint32_t)text->object,
        .number = text->extra,
        .size = line_number(text, "size"),
        .rank = line_number(text, "rank"),
        .global = DEFS_NONE,
        .birth = birth_keep(defs, text),
        .name = line_keep(defs, text, "name"),
        .sources = line_keep(defs, text, "sources"),
    };

    if (command != NULL) {
        owner->spawned_command = command;
    }
    if (line_number(text, "sources_cut") > 0) {
        comm.sources = NULL;
    }
    if (at < owner->comms_count && owner->comms[at].id == comm.id) {
        owner->comms[at] = comm; /* recorded again: it got a name */
        return;
    }
    array_grow(&owner->comms, &owner->comms_room, owner->comms_count,
               sizeof(comm));
    memmove(&owner->comms[at + 1], &owner->comms[at],
            (owner->comms_count - at) * sizeof(comm));
    owner->comms[at] = comm;
    owner->comms_count++;
    owner->spawned += spawned_count(text);
}

bool comm_range(const char **text, int32_t *first, int32_t *last)
{
    char *end;
    long number = strtol(*text, &end, 10);

    if (end == *text || number < 0 || number > INT32_MAX) {
        return false;
    }
    *first = *last = (int32_t)number;
    if (*end == '-') {
        number = strtol(end + 1, &end, 10);
        *last =
            number < *first || number > INT32_MAX ? *first : (int32_t)number;
    }
    *text = *end == ',' ? end + 1 : end;
    return true;
}

int32_t comm_member(const struct defs *defs,
                    uint32_t process,
                    uint32_t id,
                    int32_t rank)
{
    const struct defs_comm *comm = comm_find(defs, process, id);
    const char *members;
    int32_t first, last;

    if (rank < 0 || (comm == NULL && id != COMM_WORLD)) {
        return DEFS_RANK_UNKNOWN;
    }
    if (comm == NULL) {
        return rank < defs_size(defs) ? rank : DEFS_RANK_UNKNOWN;
    }
    /* "how;tag;0-3,8" */
    members = comm->birth == NULL ? NULL : strchr(comm->birth, ';');
    members = members == NULL ? NULL : strchr(members + 1, ';');
    if (members == NULL) {
        return DEFS_RANK_UNKNOWN;
    }
    members++;
    while (comm_range(&members, &first, &last)) {
        if (rank <= last - first) {
            return first + rank;
        }
        rank -= last - first + 1;
    }
    return DEFS_RANK_UNKNOWN;
}

static const char *label_keep(const struct defs *defs, const char *text)
{
    return texts_keep(defs->texts, text, strlen(text));
}

const char *comm_label(const struct defs *defs, uint32_t process, uint32_t id)
{
    const struct defs_comm *comm = comm_find(defs, process, id);
    const struct defs_comm *parent;
    const char *of;
    char text[LABEL];
    int how;

    if (comm != NULL && comm->name != NULL) {
        return comm->name;
    }
    if (id == COMM_WORLD || id == COMM_SELF) {
        return label_keep(defs, id == COMM_WORLD ? "MPI_COMM_WORLD"
                                                 : "MPI_COMM_SELF");
    }
    if (comm == NULL || comm->birth == NULL) {
        return label_keep(defs, "members not known");
    }
    parent = comm_find(defs, process, comm->parent);
    of = parent != NULL ? parent->name : NULL;
    if (of == NULL) {
        of = comm->parent == COMM_WORLD ? "MPI_COMM_WORLD"
                                        : "another communicator";
    }
    how = (int)strcspn(comm->birth, ";");
    (void)snprintf(text, sizeof(text), "%.*s of %.64s, %d rank%s",
                   how < 16 ? how : 16, comm->birth, of, comm->size,
                   comm->size == 1 ? "" : "s");
    return label_keep(defs, text);
}

/* Number of the communicator in the run, its parents' first. */
static void comm_number(struct table *keys,
                        struct defs_process *process,
                        struct defs_comm *comm,
                        unsigned depth)
{
    struct table_key key = {0, comm->number, (uint64_t)(uintptr_t)comm->birth};
    int64_t number;

    if (comm->global != DEFS_NONE || comm->birth == NULL || comm->size <= 0) {
        return;
    }
    if (comm->parent != 0) {
        size_t at = comm_place(process, comm->parent);

        if (depth == DEPTH_MAX || at == process->comms_count ||
            process->comms[at].id != comm->parent) {
            return;
        }
        comm_number(keys, process, &process->comms[at], depth + 1);
        if (process->comms[at].global == DEFS_NONE) {
            return;
        }
        key.a = (uint64_t)process->comms[at].global + 1;
    }
    number = table_number(keys, key);
    comm->global = (uint32_t)number;
}

void comm_close(struct defs *defs)
{
    struct table *keys = table_create();

    for (size_t i = 0; i < defs->processes_count; i++) {
        struct defs_process *process = &defs->processes[i];

        for (size_t c = 0; c < process->comms_count; c++) {
            comm_number(keys, process, &process->comms[c], 0);
        }
    }
    defs->comms = (uint32_t)table_count(keys);
    table_destroy(keys);
}
