/* sockets.c - which rank's data a process waited for, outside of MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The path of a connection is "tcp LOCAL PEER" in one process and "tcp PEER
 * LOCAL" in the other. Addresses of the loopback mean something within a host.
 */
#include "merge/analysis/sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "merge/table.h"

#define PREFIX "tcp "
/* A read that took so long behind a wait for descriptors found no data: what
 * was awaited came at its end. */
#define LONG_READ (10 * CK_TIME_US)

/* What a function of libc does here. */
enum part { PART_NONE, PART_WAIT, PART_READ };

/* A thread that waits, and has read nothing since. */
struct waiting {
    bool is_set;
    struct region part;
};

/* The latest stretches of a process, the newest at next - 1. */
struct recent_stretches {
    struct sockets_stretch *items; /* SOCKETS_STRETCHES; NULL = none yet */
    size_t next;
};

struct sockets {
    const struct cast *cast; /* borrowed */
    struct table *ends;      /* text -> whose end it is */
    uint32_t *owners;        /* by end; CAST_NONE = of several processes */
    size_t owners_count, owners_room;
    struct waiting *waiting;         /* by thread */
    struct recent_stretches *recent; /* by process */
    bool *is_joined; /* by process: it has a connection to another rank */
    bool has_any;
};

static int end_add(struct sockets *sockets, uint32_t process, const char *text)
{
    struct table_key key = {(uintptr_t)text, 0, 0}; /* kept texts are unique */
    int64_t number = table_number(sockets->ends, key);

    if (number < 0) {
        return -1;
    }
    if ((size_t)number == sockets->owners_count) {
        if (array_grow(&sockets->owners, &sockets->owners_room,
                       sockets->owners_count, sizeof(*sockets->owners)) != 0) {
            return -1;
        }
        sockets->owners[sockets->owners_count++] = process;
    } else if (sockets->owners[number] != process) {
        sockets->owners[number] = CAST_NONE;
    }
    return 0;
}

static enum part part_of(const char *function)
{
    static const struct {
        const char *name;
        enum part part;
    } parts[] = {
        {"epoll_wait", PART_WAIT}, {"epoll_pwait", PART_WAIT},
        {"poll", PART_WAIT},       {"ppoll", PART_WAIT},
        {"select", PART_WAIT},     {"pselect", PART_WAIT},
        {"read", PART_READ},       {"readv", PART_READ},
        {"recv", PART_READ},       {"recvfrom", PART_READ},
        {"recvmsg", PART_READ},
    };

    for (size_t i = 0; function != NULL && i < sizeof(parts) / sizeof(parts[0]);
         i++) {
        if (strcmp(function, parts[i].name) == 0) {
            return parts[i].part;
        }
    }
    return PART_NONE;
}

static bool is_loopback(const char *end)
{
    return strncmp(end, "127.", 4) == 0 || strncmp(end, "[::1]", 5) == 0;
}

static bool is_same_host(const struct cast *cast, uint32_t a, uint32_t b)
{
    return cast->agents[cast->processes[a].agent].domain ==
           cast->agents[cast->processes[b].agent].domain;
}

/* The process of another rank at the other end of a connection, CAST_NONE =
 * not known. */
static uint32_t
peer_find(const struct sockets *sockets, uint32_t process, const char *path)
{
    const struct cast *cast = sockets->cast;
    const char *local = path + strlen(PREFIX);
    const char *peer = strchr(local, ' ');
    struct table_key key = {0, 0, 0};
    char other[256];
    uint32_t owner;
    int length;

    if (peer == NULL) {
        return CAST_NONE;
    }
    length = snprintf(other, sizeof(other), PREFIX "%s %.*s", peer + 1,
                      (int)(peer - local), local);
    if (length < 0 || length >= (int)sizeof(other)) {
        return CAST_NONE;
    }
    key.a = (uintptr_t)texts_keep(cast->texts, other, (size_t)length);
    if (!table_has(sockets->ends, key)) {
        return CAST_NONE;
    }
    owner = sockets->owners[table_number(sockets->ends, key)];
    if (owner == CAST_NONE || cast->processes[owner].rank < 0 ||
        cast->processes[owner].rank == cast->processes[process].rank ||
        (is_loopback(local) && !is_same_host(cast, owner, process))) {
        return CAST_NONE;
    }
    return owner;
}

/* Call `take` for each end of a process. 0, or -1 as that. */
typedef int (*end_f)(struct sockets *sockets, uint32_t process, const char *);
static int ends_each(struct sockets *sockets, end_f take)
{
    const struct cast *cast = sockets->cast;

    for (uint32_t p = 0; p < cast->processes_count; p++) {
        size_t count = names_count(cast->processes[p].names);

        for (uint32_t id = 0; id < count; id++) {
            const char *text = names_get(cast->processes[p].names, id);

            if (text != NULL && strncmp(text, PREFIX, strlen(PREFIX)) == 0 &&
                take(sockets, p, text) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int end_join(struct sockets *sockets, uint32_t process, const char *text)
{
    if (peer_find(sockets, process, text) != CAST_NONE) {
        sockets->is_joined[process] = true;
        sockets->has_any = true;
    }
    return 0;
}

struct sockets *sockets_create(const struct cast *cast)
{
    struct sockets *sockets = calloc(1, sizeof(*sockets));

    if (sockets == NULL) {
        return NULL;
    }
    sockets->cast = cast;
    sockets->ends = table_create();
    sockets->waiting =
        calloc(cast->threads_count + 1, sizeof(*sockets->waiting));
    sockets->recent =
        calloc(cast->processes_count + 1, sizeof(*sockets->recent));
    sockets->is_joined =
        calloc(cast->processes_count + 1, sizeof(*sockets->is_joined));
    if (sockets->ends == NULL || sockets->waiting == NULL ||
        sockets->recent == NULL || sockets->is_joined == NULL ||
        ends_each(sockets, end_add) != 0 || ends_each(sockets, end_join) != 0) {
        sockets_destroy(sockets);
        return NULL;
    }
    return sockets;
}

void sockets_destroy(struct sockets *sockets)
{
    if (sockets == NULL) {
        return;
    }
    for (size_t i = 0;
         sockets->recent != NULL && i < sockets->cast->processes_count; i++) {
        free(sockets->recent[i].items);
    }
    table_destroy(sockets->ends);
    free(sockets->owners);
    free(sockets->waiting);
    free(sockets->recent);
    free(sockets->is_joined);
    free(sockets);
}

static void stretch_keep(struct sockets *sockets,
                         const struct sockets_stretch *stretch)
{
    struct recent_stretches *recent = &sockets->recent[stretch->process];

    if (recent->items == NULL) {
        recent->items = calloc(SOCKETS_STRETCHES, sizeof(*recent->items));
    }
    if (recent->items != NULL) {
        recent->items[recent->next++ % SOCKETS_STRETCHES] = *stretch;
    }
}

/* Data came: the thread has waited for it until then. */
static bool read_take(struct sockets *sockets,
                      const struct timeline_event *event,
                      struct sockets_stretch *stretch)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct waiting *waiting = &sockets->waiting[event->thread];
    const char *path =
        cast_name(sockets->cast, event->process, (uint32_t)record->extra);

    *stretch = (struct sockets_stretch){.part = {event->start, event->end},
                                        .process = event->process,
                                        .peer = CAST_NONE};
    if (waiting->is_set) {
        stretch->part.start = waiting->part.start;
        if (event->end - event->start < LONG_READ) {
            stretch->part.end = waiting->part.end;
        }
        waiting->is_set = false;
    }
    if (path != NULL && strncmp(path, PREFIX, strlen(PREFIX)) == 0) {
        stretch->peer = peer_find(sockets, event->process, path);
    }
    if (stretch->peer == CAST_NONE) {
        return false;
    }
    stretch_keep(sockets, stretch);
    return true;
}

bool sockets_take(struct sockets *sockets,
                  const struct timeline_event *event,
                  struct sockets_stretch *stretch)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct waiting *waiting;

    if (!sockets->has_any || event->record->kind != CK_KIND_POSIX ||
        event->thread >= sockets->cast->threads_count ||
        !sockets->is_joined[event->process]) {
        return false;
    }
    waiting = &sockets->waiting[event->thread];
    switch (part_of(
        cast_name(sockets->cast, event->process, event->record->name))) {
    case PART_WAIT:
        if (!waiting->is_set) {
            waiting->is_set = true;
            waiting->part.start = event->start;
        }
        waiting->part.end = event->end;
        return false;
    case PART_READ:
        return record->bytes > 0 && read_take(sockets, event, stretch);
    default:
        return false;
    }
}

const struct sockets_stretch *
sockets_find(const struct sockets *sockets, uint32_t process, ck_time_t time)
{
    const struct recent_stretches *recent = &sockets->recent[process];
    size_t count =
        recent->next < SOCKETS_STRETCHES ? recent->next : SOCKETS_STRETCHES;

    for (size_t i = 1; i <= count; i++) {
        const struct sockets_stretch *stretch =
            &recent->items[(recent->next - i) % SOCKETS_STRETCHES];

        if (stretch->part.start <= time && time < stretch->part.end) {
            return stretch;
        }
    }
    return NULL;
}

/* Of processes that await each other's data in a circle, the wait for this
 * one's if that is over first; NULL = there is no such circle. */
static const struct sockets_stretch *
circle_find(const struct sockets *sockets,
            const struct sockets_stretch *stretch,
            ck_time_t time)
{
    ck_time_t first = stretch->part.end;
    const struct sockets_stretch *other =
        sockets_find(sockets, stretch->peer, time);

    for (unsigned hops = 0; other != NULL && hops < SOCKETS_CIRCLE; hops++) {
        if (other->peer == stretch->process) {
            return other->part.end < first ? other : NULL;
        }
        first = other->part.end < first ? other->part.end : first;
        other = sockets_find(sockets, other->peer, time);
    }
    return NULL;
}

const struct sockets_stretch *sockets_awaited(const struct sockets *sockets,
                                              uint32_t process,
                                              ck_time_t time,
                                              ck_time_t *until)
{
    const struct sockets_stretch *stretch =
        sockets_find(sockets, process, time);
    const struct sockets_stretch *other =
        stretch == NULL ? NULL : circle_find(sockets, stretch, time);

    if (other != NULL) {
        *until = other->part.end;
        return NULL;
    }
    return stretch;
}

/* Not one that reads a file, sleeps, or stands before a lock that is held. */
bool sockets_is_wait(const struct sockets *sockets,
                     const struct host_span *call)
{
    const char *name = cast_name(sockets->cast, call->process, call->name);
    const char *path = cast_name(sockets->cast, call->process, call->path);

    switch (part_of(name)) {
    case PART_WAIT:
        return true;
    case PART_READ:
        return path != NULL && strncmp(path, PREFIX, strlen(PREFIX)) == 0;
    default:
        return name != NULL && (strncmp(name, "pthread_cond_", 13) == 0 ||
                                strncmp(name, "sem_", 4) == 0);
    }
}

ck_time_t sockets_horizon(const struct sockets *sockets, ck_time_t now)
{
    if (!sockets->has_any) {
        return now;
    }
    for (size_t i = 0; i < sockets->cast->threads_count; i++) {
        const struct waiting *waiting = &sockets->waiting[i];

        if (waiting->is_set && waiting->part.start < now) {
            now = waiting->part.start;
        }
    }
    return now;
}
