/* play.c - random MPI programs that know for whom their ranks wait
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/comm.h"
#include "tests/merge/chance.h"

#define RANKS PLAY_RANKS
#define SMALL 8
#define LARGE 100000
#define NEIGHBOR "MPI_Neighbor_allgather"
#define INEIGHBOR "MPI_Ineighbor_alltoall"

enum name {
    N_SEND = 1,
    N_RECV,
    N_ISEND,
    N_IRECV,
    N_WAIT,
    N_WAITALL,
    N_WAITANY,
    N_SENDRECV,
    N_PROBE,
    N_BARRIER,
    N_ALLREDUCE,
    N_BCAST,
    N_REDUCE,
    N_SCAN,
    N_IALLREDUCE,
    N_NEIGHBOR,
    N_INEIGHBOR,
    N_MPROBE,
    N_MRECV,
    N_ISSEND,
    N_DEED,                       /* the first of PLAY_DEEDS */
    N_FILE = N_DEED + PLAY_DEEDS, /* these are in no program */
    N_POST,
    N_START,
    N_COMPLETE,
    N_WINDOW_WAIT,
    NAMES
};
static const char *const names[NAMES] = {NULL,
                                         "MPI_Send",
                                         "MPI_Recv",
                                         "MPI_Isend",
                                         "MPI_Irecv",
                                         "MPI_Wait",
                                         "MPI_Waitall",
                                         "MPI_Waitany",
                                         "MPI_Sendrecv",
                                         "MPI_Probe",
                                         "MPI_Barrier",
                                         "MPI_Allreduce",
                                         "MPI_Bcast",
                                         "MPI_Reduce",
                                         "MPI_Scan",
                                         "MPI_Iallreduce",
                                         NEIGHBOR,
                                         INEIGHBOR,
                                         "MPI_Mprobe",
                                         "MPI_Mrecv",
                                         "MPI_Issend",
                                         "nanosleep",
                                         "fsync",
                                         "read",
                                         "MPI_File_write_all",
                                         "MPI_Win_post",
                                         "MPI_Win_start",
                                         "MPI_Win_complete",
                                         "MPI_Win_wait"};

/* Whom each rank receives from, in the communicators with a topology. */
static const char *const sources[PLAY_COMMS][RANKS] = {
    {NULL}, {"1", "0,2", "1,3", "2"}, {"2", "0", "0-1,3", ""}};

static bool is_source(int comm, int rank, int other)
{
    const char *text = sources[comm - 1][rank];
    int32_t first, last;

    while (comm_range(&text, &first, &last)) {
        if (first <= other && other <= last) {
            return true;
        }
    }
    return false;
}

/* What a call is over with. */
struct need {
    enum wait_kind kind;
    ck_time_t until; /* real */
    int whom;
    int64_t ideal; /* INT64_MIN = needs none */
};

/* A process records its communicators. */
static void comms_say(struct defs *defs, uint32_t process, int rank)
{
    static const char *const hows[PLAY_COMMS] = {"world", "cart", "graph"};

    for (uint32_t i = 0; i < PLAY_COMMS; i++) {
        struct {
            struct ck_text text;
            char bytes[128];
        } said = {.text = {.e = {.kind = CK_KIND_COMM, .name = i + 1},
                           .object = i > 0,
                           .extra = i}};
        int length = snprintf(said.bytes, sizeof(said.bytes),
                              "how=%s\nsize=%d\nrank=%d\nmembers=0-%d\n",
                              hows[i], RANKS, rank, RANKS - 1);

        if (i > 0) {
            length += snprintf(said.bytes + length,
                               sizeof(said.bytes) - (size_t)length,
                               "sources=%s\n", sources[i][rank]);
        }
        said.text.length = (uint32_t)length;
        comm_enter(defs, process, &said.text);
    }
}

void play_cast(struct world *world)
{
    struct defs *defs = world->defs = defs_create();

    for (int rank = 0; rank < RANKS; rank++) {
        uint8_t id[16] = {(uint8_t)(rank + 1)};
        uint32_t agent = defs_agent_find(defs, id);
        uint32_t process = defs_process_find(defs, agent, 1);
        struct defs_process *p = &defs->processes[process];

        (void)defs_thread_find(defs, process, 7);
        defs->agents[agent].rank = p->rank = rank;
        defs->agents[agent].has_identity = true;
        for (uint32_t i = 1; i < NAMES; i++) {
            assert_int_equal(
                names_set(p->names, i,
                          texts_keep(defs->texts, names[i], strlen(names[i]))),
                0);
        }
        comms_say(defs, process, rank);
    }
    defs_close(defs);
    comm_close(defs);
    world->align = align_create();
    align_close(world->align, defs);
}

/* ---- the player --------------------------------------------------------- */

static struct event *
event_put(struct world *world, int rank, ck_time_t start, ck_time_t end)
{
    struct event *event = &world->events[world->count];

    assert_true(world->count < EVENTS);
    memset(event, 0, sizeof(*event));
    event->rank = rank;
    event->record.e.start = start;
    event->end = end;
    event->order = world->count++;
    return event;
}

static void message_put(struct world *world,
                        struct event *event,
                        enum ck_kind kind,
                        enum name name,
                        const struct ck_message *what)
{
    struct ck_message *message = &event->record.message;
    ck_time_t start = message->e.start;

    *message = *what;
    message->e =
        (struct ck_event){.kind = (uint16_t)kind, .name = name, .start = start};
    message->dur = event->end - start;
    message->call = world->call[event->rank];
    message->comm = 1;
}

/* A call of the rank from now on that is over when all it needs is there (for
 * is_any: the first of it); keeps what the wait was. Returns its end. */
static ck_time_t call_play(struct world *world,
                           int rank,
                           const struct need *needs,
                           int count,
                           bool is_any)
{
    ck_time_t start = world->now[rank];
    ck_time_t last = INT64_MIN;
    int64_t ideal = INT64_MIN;
    const struct need *cause = NULL;

    for (int i = 0; i < count; i++) {
        const struct need *need = &needs[i];

        if (is_any ? cause == NULL || need->until < last : need->until > last) {
            last = need->until;
        }
        if (cause == NULL ||
            (is_any ? need->until < cause->until
                    : need->until > start &&
                          (cause->until <= start ||
                           (need->kind == WAIT_LATE_RECEIVER
                                ? cause->kind == WAIT_LATE_RECEIVER &&
                                      need->until > cause->until
                                : cause->kind == WAIT_LATE_RECEIVER ||
                                      need->until > cause->until)))) {
            cause = need;
        }
        ideal = need->ideal > ideal ? need->ideal : ideal;
    }
    if (cause != NULL && cause->until > start) {
        assert_true(world->truths_count < SPANS);
        world->truths[world->truths_count++] =
            (struct truth){rank, start, cause->until, cause->whom, cause->kind};
    }
    world->call[rank]++;
    world->now[rank] = (last > start ? last : start) + 1 + chance_below(4);
    world->ideal[rank] =
        ideal > world->ideal[rank] ? ideal : world->ideal[rank];
    return world->now[rank];
}

static void compute(struct world *world, int rank)
{
    ck_time_t length =
        chance_below(3) == 0 ? chance_below(40) : chance_below(6);

    world->now[rank] += length;
    world->ideal[rank] += length;
}

static void compute_all(struct world *world)
{
    for (int rank = 0; rank < RANKS; rank++) {
        compute(world, rank);
    }
}

static struct need
need_of(const struct world *world, enum wait_kind kind, int whom)
{
    return (struct need){kind, world->now[whom], whom, world->ideal[whom]};
}

/* MPI_Send to MPI_Recv, maybe behind a probe. */
static void blocking_play(struct world *world, int source, int destination)
{
    bool is_large = chance_below(2) == 0;
    struct need sent = need_of(world, WAIT_LATE_SENDER, source);
    struct need taken = need_of(world, WAIT_LATE_RECEIVER, destination);
    struct ck_message message = {.tag = (int32_t)chance_below(3),
                                 .bytes = is_large ? LARGE : SMALL};
    int way = (int)chance_below(4);
    struct event *event;

    message.peer = source;
    if (way == 0 || way == 1) {
        event = event_put(world, destination, world->now[destination], 0);
        event->end = call_play(world, destination, &sent, 1, false);
        message.request = way == 0 ? 0 : ++world->request;
        message_put(world, event, CK_KIND_PROBE, way == 0 ? N_PROBE : N_MPROBE,
                    &message);
        message.request = 0;
        compute(world, destination);
        if (way == 0) {
            taken = need_of(world, WAIT_LATE_RECEIVER, destination);
        }
    }
    event = event_put(world, destination, world->now[destination], 0);
    event->end = call_play(world, destination, &sent, 1, false);
    message_put(world, event, CK_KIND_RECV, way == 1 ? N_MRECV : N_RECV,
                &message);
    message.peer = destination;
    event = event_put(world, source, world->now[source], 0);
    event->end = call_play(world, source, &taken, is_large, false);
    message_put(world, event, CK_KIND_SEND, N_SEND, &message);
}

/* Messages of an exchange without blocking. */
struct transfer {
    int source, destination, tag;
    bool is_large;
    uint64_t requests[2]; /* send, receive */
    struct need needs[2];
};

static void post_play(struct world *world, struct transfer *t, bool is_send)
{
    int rank = is_send ? t->source : t->destination;
    struct ck_message message = {.peer = is_send ? t->destination : t->source,
                                 .tag = t->tag,
                                 .bytes = t->is_large ? LARGE : SMALL};
    struct event *event = event_put(world, rank, world->now[rank], 0);
    struct need *other = &t->needs[is_send]; /* what the other end needs */

    *other =
        need_of(world, is_send ? WAIT_LATE_SENDER : WAIT_LATE_RECEIVER, rank);
    t->requests[is_send] = message.request = ++world->request;
    event->end = call_play(world, rank, NULL, 0, false);
    if (!is_send && !t->is_large && chance_below(3) == 0) {
        /* Tags are different: from any rank. (A late receiver with a wildcard
         * is known too late for its sender.) */
        message.peer = -1;
    }
    message_put(world, event, is_send ? CK_KIND_SEND : CK_KIND_RECV,
                is_send ? N_ISEND : N_IRECV, &message);
}

static void complete_put(struct world *world,
                         const struct transfer *t,
                         bool is_send,
                         enum name name)
{
    int rank = is_send ? t->source : t->destination;
    struct event *event =
        event_put(world, rank, world->now[rank], world->now[rank]);
    struct ck_message message = {.peer = is_send ? t->destination : t->source,
                                 .tag = t->tag,
                                 .bytes = t->is_large ? LARGE : SMALL,
                                 .request = t->requests[is_send]};

    message_put(world, event, CK_KIND_COMPLETE, name, &message);
}

/* Complete the rank's ends of some messages in calls of one sort. */
static void
wait_play(struct world *world, struct transfer *transfers, int count, int rank)
{
    struct need needs[2 * 8];
    const struct transfer *owners[2 * 8];
    bool is_send[2 * 8];
    int ends = 0;
    enum name name = (enum name)(N_WAIT + chance_below(3));

    for (int i = 0; i < count; i++) {
        for (int side = 0; side < 2; side++) {
            const struct transfer *t = &transfers[i];

            if ((side == 1 ? t->source : t->destination) != rank) {
                continue;
            }
            owners[ends] = t;
            is_send[ends] = side == 1;
            needs[ends] = t->needs[side == 0];
            if (side == 1 && !t->is_large) {
                needs[ends].until = needs[ends].ideal = INT64_MIN;
            }
            ends++;
        }
    }
    while (ends > 0) {
        int done = name == N_WAITALL ? ends : 1;
        int which = 0;
        struct event *event = event_put(world, rank, world->now[rank], 0);

        if (name == N_WAITANY) {
            for (int i = 1; i < ends; i++) {
                which = needs[i].until < needs[which].until ? i : which;
            }
        }
        event->end = call_play(world, rank, &needs[which], done, false);
        event->record.call =
            (struct ck_call){.e = {.kind = CK_KIND_MPI_CALL,
                                   .name = name,
                                   .start = event->record.e.start},
                             .dur = event->end - event->record.e.start,
                             .call = world->call[rank]};
        for (int i = which; i < which + done; i++) {
            complete_put(world, owners[i], is_send[i], name);
        }
        for (int i = which + done; i < ends; i++) {
            owners[i - done] = owners[i];
            is_send[i - done] = is_send[i];
            needs[i - done] = needs[i];
        }
        ends -= done;
        if (chance_below(2) == 0) {
            compute(world, rank);
        }
    }
}

static void exchange_play(struct world *world)
{
    struct transfer transfers[6];
    int count = 1 + (int)chance_below(6);

    for (int i = 0; i < count; i++) {
        struct transfer *t = &transfers[i];

        t->source = (int)chance_below(RANKS);
        t->destination = (t->source + 1 + (int)chance_below(RANKS - 1)) % RANKS;
        t->tag = 10 + i;
        t->is_large = chance_below(2) == 0;
        for (int side = 0; side < 2; side++) {
            post_play(world, t, (side + i) % 2 == 0);
        }
        compute(world, (int)chance_below(RANKS));
    }
    compute_all(world);
    for (int rank = 0; rank < RANKS; rank++) {
        wait_play(world, transfers, count, rank);
    }
}

static void sendrecv_play(struct world *world, int left, int right)
{
    const int ranks[2] = {left, right};
    struct need needs[2][2];

    for (int i = 0; i < 2; i++) {
        needs[i][0] = need_of(world, WAIT_LATE_SENDER, ranks[1 - i]);
        needs[i][1] = need_of(world, WAIT_LATE_RECEIVER, ranks[1 - i]);
    }
    for (int i = 0; i < 2; i++) {
        int rank = ranks[i];
        struct ck_message message = {
            .peer = ranks[1 - i], .tag = 5, .bytes = SMALL};
        struct event *event = event_put(world, rank, world->now[rank], 0);
        struct event *half;

        event->end = call_play(world, rank, needs[i], 1, false);
        message_put(world, event, CK_KIND_SENDRECV, N_SENDRECV, &message);
        half = event_put(world, rank, world->now[rank], world->now[rank]);
        message_put(world, half, CK_KIND_COMPLETE, N_SENDRECV, &message);
    }
}

/* A collective of all ranks. */
struct meeting {
    enum name name;
    int comm;
    int root;
};

/* For whom a member waits in a collective. */
static struct need collective_need(const struct world *world,
                                   const struct meeting *meeting,
                                   int rank)
{
    struct need need = {WAIT_NXN, INT64_MIN, rank, INT64_MIN};
    enum name name = meeting->name;

    for (int other = 0; other < RANKS; other++) {
        bool is_needed =
            meeting->comm > 1  ? is_source(meeting->comm, rank, other)
            : name == N_BCAST  ? other == meeting->root && rank != other
            : name == N_REDUCE ? rank == meeting->root && other != rank
            : name == N_SCAN   ? other <= rank
                               : true;

        if (!is_needed) {
            continue;
        }
        if (world->now[other] > need.until) {
            need.until = world->now[other];
            need.whom = other;
        }
        need.ideal =
            world->ideal[other] > need.ideal ? world->ideal[other] : need.ideal;
    }
    need.kind = name == N_BCAST     ? WAIT_LATE_BROADCAST
                : name == N_REDUCE  ? WAIT_EARLY_REDUCE
                : name == N_SCAN    ? WAIT_EARLY_SCAN
                : name == N_BARRIER ? WAIT_BARRIER
                : meeting->comm > 1 ? WAIT_NEIGHBOURS
                                    : WAIT_NXN;
    return need;
}

static void collective_play(struct world *world, enum name name)
{
    struct meeting meeting = {
        .name = name, .comm = 1, .root = (int)chance_below(RANKS)};
    struct need needs[RANKS];
    bool has_root = name == N_BCAST || name == N_REDUCE;
    bool is_posted = name == N_IALLREDUCE || name == N_INEIGHBOR;
    uint64_t requests[RANKS];

    if (name == N_NEIGHBOR || name == N_INEIGHBOR) {
        meeting.comm = 2 + (int)chance_below(PLAY_COMMS - 1);
    }
    world->seqs[meeting.comm - 1]++;
    for (int rank = 0; rank < RANKS; rank++) {
        needs[rank] = collective_need(world, &meeting, rank);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        struct event *event = event_put(world, rank, world->now[rank], 0);
        ck_time_t start = world->now[rank];

        bool is_alone = meeting.comm > 1 && needs[rank].until == INT64_MIN;

        requests[rank] = is_posted ? ++world->request : 0;
        event->end = call_play(world, rank, &needs[rank], !is_posted, false);
        event->record.collective = (struct ck_collective){
            .e = {.kind = is_posted ? CK_KIND_ICOLLECTIVE : CK_KIND_COLLECTIVE,
                  .name = name,
                  .start = start},
            .dur = event->end - start,
            .call = world->call[rank],
            .comm = (uint32_t)meeting.comm,
            .seq = world->seqs[meeting.comm - 1],
            .root = has_root ? meeting.root : -1,
            .bytes_out = 4,
            .bytes_in = name == N_BARRIER || is_alone ? 0 : 4,
            .request = requests[rank]};
    }
    for (int rank = 0; is_posted && rank < RANKS; rank++) {
        struct transfer alone = {.source = rank,
                                 .destination = rank,
                                 .requests = {requests[rank], 0},
                                 .needs = {needs[rank], needs[rank]}};
        struct event *event;

        compute(world, rank);
        event = event_put(world, rank, world->now[rank], 0);
        event->end = call_play(world, rank, &needs[rank], 1, false);
        event->record.call =
            (struct ck_call){.e = {.kind = CK_KIND_MPI_CALL,
                                   .name = N_WAIT,
                                   .start = event->record.e.start},
                             .dur = event->end - event->record.e.start,
                             .call = world->call[rank]};
        complete_put(world, &alone, false, N_WAIT);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct event *left = a;
    const struct event *right = b;

    if (left->record.e.start != right->record.e.start) {
        return left->record.e.start < right->record.e.start ? -1 : 1;
    }
    if (left->rank != right->rank) {
        return left->rank - right->rank;
    }
    return left->order < right->order ? -1 : 1;
}

static ck_time_t world_end(const struct world *world)
{
    ck_time_t end = 0;

    for (int rank = 0; rank < RANKS; rank++) {
        end = world->now[rank] > end ? world->now[rank] : end;
    }
    return end;
}

void play_world(struct world *world)
{
    world->count = world->truths_count = 0;
    world->request = 16;
    memset(world->seqs, 0, sizeof(world->seqs));
    memset(world->now, 0, sizeof(world->now));
    memset(world->ideal, 0, sizeof(world->ideal));
    memset(world->call, 0, sizeof(world->call));
    for (int i = 0; i < 8; i++) {
        int source = (int)chance_below(RANKS);
        int destination = (source + 1 + (int)chance_below(RANKS - 1)) % RANKS;

        compute_all(world);
        switch (chance_below(5)) {
        case 0:
        case 1:
            blocking_play(world, source, destination);
            break;
        case 2:
            exchange_play(world);
            break;
        case 3:
            sendrecv_play(world, source, destination);
            break;
        default:
            collective_play(world, (enum name)(N_BARRIER + chance_below(8)));
            break;
        }
    }
    compute_all(world);
    qsort(world->events, world->count, sizeof(world->events[0]), by_start);
    world->region = (struct region){0, world_end(world)};
}

/* ---- what the ranks do beside ------------------------------------------- */

static void deed_put(struct world *world, int rank, struct region part)
{
    struct event *event = event_put(world, rank, part.start, part.end);

    event->record.call = (struct ck_call){
        .e = {.kind = CK_KIND_POSIX,
              .name = (uint32_t)(N_DEED + chance_below(PLAY_DEEDS)),
              .start = part.start},
        .dur = region_length(part),
        .site = (uint64_t)(1 + chance_below(PLAY_SITES))};
}

/* The record is a collector's: the name is the process's incarnation, the value
 * the thread. */
static void preempted_put(struct world *world, int rank, struct region part)
{
    struct event *event = event_put(world, rank, part.start, part.end);

    event->record.mark = (struct ck_mark){
        .e = {.kind = CK_KIND_PREEMPTED, .name = 1, .start = part.start},
        .dur = region_length(part),
        .value = 7};
}

/* A part of [from, to). */
static struct region part_of(ck_time_t from, ck_time_t to)
{
    struct region part = {from + chance_below(to - from), to};

    part.end = part.start + 1 + chance_below(to - part.start);
    return part;
}

/* The rank's first MPI call that begins at `from` or later; the world's end. */
static ck_time_t next_call(const struct world *world, int rank, ck_time_t from)
{
    ck_time_t next = world->region.end;

    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];

        if (event->rank == rank && event->record.e.kind != CK_KIND_POSIX &&
            event->record.e.kind != CK_KIND_PREEMPTED &&
            event->record.e.start >= from && event->record.e.start < next) {
            next = event->record.e.start;
        }
    }
    return next;
}

void play_deeds(struct world *world)
{
    size_t calls = world->count;

    for (size_t i = 0; i < calls; i++) {
        int rank = world->events[i].rank;
        ck_time_t start = world->events[i].end;
        ck_time_t end = next_call(world, rank, start);

        if (world->events[i].record.e.kind != CK_KIND_COMPLETE && end > start &&
            chance_below(2) == 0) {
            deed_put(world, rank, part_of(start, end));
        }
    }
    for (int rank = 0; rank < RANKS; rank++) {
        ck_time_t from = 0;

        while (from < world->region.end && chance_below(4) > 0) {
            struct region part = part_of(from, world->region.end);

            part.end = part.end - part.start > 8 ? part.start + 8 : part.end;
            preempted_put(world, rank, part);
            from = part.end;
        }
    }
    qsort(world->events, world->count, sizeof(world->events[0]), by_start);
}

struct play_deed play_deed(const struct world *world, int rank, ck_time_t t)
{
    struct play_deed deed = {NULL, 0, false};

    for (size_t i = 0; i < world->count; i++) {
        const struct event *event = &world->events[i];
        unsigned kind = event->record.e.kind;

        if (event->rank != rank || event->record.e.start > t ||
            event->end <= t || kind == CK_KIND_COMPLETE) {
            continue;
        }
        if (kind == CK_KIND_PREEMPTED) {
            deed.is_preempted = true;
        } else {
            deed.call = names[event->record.e.name];
            deed.site = kind == CK_KIND_POSIX ? event->record.call.site : 0;
        }
    }
    return deed;
}
