/* sockets.c - which rank's data a process waited for, outside of MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/history/sockets.h"

#include <stdlib.h>
#include <string.h>

#include "merge/analysis/history/links.h"
#include "merge/model/memory.h"

/* A read that took this long behind a wait for descriptors found no data: what
 * was awaited came at its end. */
#define LONG_READ (10 * CK_TIME_US)

/* A write that took this long did not only copy: what was written had no room.
 */
#define LONG_WRITE (100 * CK_TIME_US)

/* What a function of libc does here. */
enum part { PART_NONE, PART_WAIT, PART_READ, PART_WRITE };

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
    const struct defs *defs; /* borrowed */
    enum sockets_whom whom;
    struct links *links;
    struct waiting *waiting;             /* by thread */
    struct recent_stretches *timedfacts; /* by process */
    bool *is_joined; /* by process: it has a connection to another rank */
    bool has_any;
};

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
        {"recvmsg", PART_READ},    {"fread", PART_READ},
        {"write", PART_WRITE},     {"writev", PART_WRITE},
        {"send", PART_WRITE},      {"sendto", PART_WRITE},
        {"sendmsg", PART_WRITE},   {"fwrite", PART_WRITE},
    };

    for (size_t i = 0; function != NULL && i < sizeof(parts) / sizeof(parts[0]);
         i++) {
        if (strcmp(function, parts[i].name) == 0) {
            return parts[i].part;
        }
    }
    return PART_NONE;
}

/* The process at the other end that is of another rank, or the other way where
 * that is asked for; DEFS_NONE = not known. */
static uint32_t
peer_find(const struct sockets *sockets, uint32_t process, const char *path)
{
    const struct defs *defs = sockets->defs;
    const struct defs_process *own = &defs->processes[process];
    uint32_t peer = links_peer(sockets->links, process, path);
    const struct defs_process *its;

    if (peer == DEFS_NONE) {
        return DEFS_NONE;
    }
    its = &defs->processes[peer];
    if (sockets->whom == SOCKETS_OF_PROCESSES) {
        return its->agent == own->agent && its->rank == own->rank ? peer
                                                                  : DEFS_NONE;
    }
    return its->rank < 0 || its->rank == own->rank ? DEFS_NONE : peer;
}

static void end_join(void *state, uint32_t process, const char *path)
{
    struct sockets *sockets = state;

    if (peer_find(sockets, process, path) != DEFS_NONE) {
        sockets->is_joined[process] = true;
        sockets->has_any = true;
    }
}

struct sockets *sockets_create(const struct defs *defs, enum sockets_whom whom)
{
    struct sockets *sockets = xcalloc(1, sizeof(*sockets));

    sockets->defs = defs;
    sockets->whom = whom;
    sockets->links = links_create(defs);
    sockets->waiting =
        xcalloc(defs->threads_count + 1, sizeof(*sockets->waiting));
    sockets->timedfacts =
        xcalloc(defs->processes_count + 1, sizeof(*sockets->timedfacts));
    sockets->is_joined =
        xcalloc(defs->processes_count + 1, sizeof(*sockets->is_joined));
    links_each(defs, end_join, sockets);
    return sockets;
}

void sockets_destroy(struct sockets *sockets)
{
    if (sockets == NULL) {
        return;
    }
    for (size_t i = 0;
         sockets->timedfacts != NULL && i < sockets->defs->processes_count;
         i++) {
        free(sockets->timedfacts[i].items);
    }
    links_destroy(sockets->links);
    free(sockets->waiting);
    free(sockets->timedfacts);
    free(sockets->is_joined);
    free(sockets);
}

static void stretch_keep(struct sockets *sockets,
                         const struct sockets_stretch *stretch)
{
    struct recent_stretches *timedfacts =
        &sockets->timedfacts[stretch->process];

    if (timedfacts->items == NULL) {
        timedfacts->items =
            xcalloc(SOCKETS_STRETCHES, sizeof(*timedfacts->items));
    }
    if (timedfacts->items != NULL) {
        timedfacts->items[timedfacts->next++ % SOCKETS_STRETCHES] = *stretch;
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
        defs_name(sockets->defs, event->process, (uint32_t)record->extra);

    *stretch = (struct sockets_stretch){.part = {event->start, event->end},
                                        .process = event->process,
                                        .peer = DEFS_NONE};
    if (waiting->is_set) {
        stretch->part.start = waiting->part.start;
        if (event->end - event->start < LONG_READ) {
            stretch->part.end = waiting->part.end;
        }
        waiting->is_set = false;
    }
    stretch->peer = peer_find(sockets, event->process, path);
    if (stretch->peer == DEFS_NONE) {
        return false;
    }
    stretch_keep(sockets, stretch);
    return true;
}

/* Room came: what was written did not fit before the other end had read. */
static bool write_take(struct sockets *sockets,
                       const struct timeline_event *event,
                       struct sockets_stretch *stretch)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    const char *path =
        defs_name(sockets->defs, event->process, (uint32_t)record->extra);

    if (event->end - event->start < LONG_WRITE) {
        return false;
    }
    *stretch = (struct sockets_stretch){
        .part = {event->start, event->end},
        .process = event->process,
        .peer = peer_find(sockets, event->process, path),
        .is_write = true,
    };
    if (stretch->peer == DEFS_NONE) {
        return false;
    }
    stretch_keep(sockets, stretch);
    return true;
}

/* Did the read get what it waited for? Of ranks only data count; for a process
 * of a pipeline its end, too. */
static bool is_answer(const struct sockets *sockets,
                      const struct ck_call *record)
{
    return record->bytes > 0 ||
           (sockets->whom == SOCKETS_OF_PROCESSES &&
            (record->e.flags & (CK_FLAG_FAILED | CK_FLAG_CUT)) == 0);
}

bool sockets_take(struct sockets *sockets,
                  const struct timeline_event *event,
                  struct sockets_stretch *stretch)
{
    const struct ck_call *record = (const struct ck_call *)event->record;
    struct waiting *waiting;

    if (!sockets->has_any || event->record->kind != CK_KIND_POSIX ||
        event->thread >= sockets->defs->threads_count ||
        !sockets->is_joined[event->process]) {
        return false;
    }
    waiting = &sockets->waiting[event->thread];
    switch (part_of(
        defs_name(sockets->defs, event->process, event->record->name))) {
    case PART_WAIT:
        if (!waiting->is_set) {
            waiting->is_set = true;
            waiting->part.start = event->start;
        }
        waiting->part.end = event->end;
        return false;
    case PART_READ:
        return is_answer(sockets, record) && read_take(sockets, event, stretch);
    case PART_WRITE:
        return sockets->whom == SOCKETS_OF_PROCESSES &&
               write_take(sockets, event, stretch);
    default:
        return false;
    }
}

const struct sockets_stretch *
sockets_find(const struct sockets *sockets, uint32_t process, ck_time_t time)
{
    const struct recent_stretches *timedfacts = &sockets->timedfacts[process];
    size_t count = timedfacts->next < SOCKETS_STRETCHES ? timedfacts->next
                                                        : SOCKETS_STRETCHES;

    for (size_t i = 1; i <= count; i++) {
        const struct sockets_stretch *stretch =
            &timedfacts->items[(timedfacts->next - i) % SOCKETS_STRETCHES];

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

/* Not one that reads a file, sleeps, or wants a lock that is held. */
bool sockets_is_wait(const struct sockets *sockets,
                     const struct history_span *call)
{
    const char *name = defs_name(sockets->defs, call->process, call->name);
    const char *path = defs_name(sockets->defs, call->process, call->path);

    switch (part_of(name)) {
    case PART_WAIT:
        return true;
    case PART_READ:
        /* Not what a process of its own rank writes to it. */
        return links_is_tcp(path) ||
               peer_find(sockets, call->process, path) != DEFS_NONE;
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
    for (size_t i = 0; i < sockets->defs->threads_count; i++) {
        const struct waiting *waiting = &sockets->waiting[i];

        if (waiting->is_set && waiting->part.start < now) {
            now = waiting->part.start;
        }
    }
    return now;
}

bool sockets_has_any(const struct sockets *sockets)
{
    return sockets->has_any;
}
