/* test_match.c - which send each receive got, against a small MPI
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random programs of three ranks without clocks in common: each posts sends and
 * receives, some from any source or with any tag, some with a probe before. A
 * message is given to the first posted receive that fits it, or waits for one,
 * by MPI's rules. Each process's records are then handed over in its own order,
 * the processes mixed at random; every pair must be that of the program.
 * CK_SEED repeats a run, CK_WORLDS is how many worlds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "merge/messages/match.h"
#include "tests/merge/chance.h"
#include "tests/merge/play.h"

#define RANKS 3
#define MESSAGES 24

struct message {
    int source, destination, tag;
    uint32_t send, recv; /* calls; 0 = none as yet */
};

struct posted {
    int rank, source, tag; /* -1 = any */
    uint32_t call;
    uint64_t request; /* 0 = blocking */
    int message;      /* that it got, -1 = none as yet */
};

struct entry {
    struct ck_message message;
    uint32_t thread;
};

struct program {
    struct message messages[MESSAGES];
    int messages_count;
    struct posted posts[MESSAGES];
    int posts_count;
    struct entry records[RANKS][4 * MESSAGES];
    int counts[RANKS];
    uint32_t calls[RANKS];
    int matched;
    int wrong;
};

static struct entry *entry_put(
    struct program *program, int rank, enum ck_kind kind, int peer, int tag)
{
    struct entry *record = &program->records[rank][program->counts[rank]++];

    *record =
        (struct entry){.message = {.e = {.kind = (uint16_t)kind, .name = 1},
                                   .call = ++program->calls[rank],
                                   .comm = 1,
                                   .peer = peer,
                                   .tag = tag},
                       .thread = (uint32_t)rank};
    return record;
}

static bool fits(const struct posted *post, const struct message *message)
{
    return post->message < 0 && post->rank == message->destination &&
           (post->source < 0 || post->source == message->source) &&
           (post->tag < 0 || post->tag == message->tag);
}

/* Messages that no receive has taken, in the order of sending, to the receives
 * in the order of posting: the first that fits. */
static void deliver(struct program *program)
{
    for (int m = 0; m < program->messages_count; m++) {
        struct message *message = &program->messages[m];

        for (int p = 0; message->recv == 0 && p < program->posts_count; p++) {
            struct posted *post = &program->posts[p];

            if (fits(post, message)) {
                post->message = m;
                message->recv = post->call;
            }
        }
    }
}

static void send_put(struct program *program)
{
    struct message *message = &program->messages[program->messages_count++];

    message->source = (int)chance_below(RANKS);
    message->destination =
        (message->source + 1 + (int)chance_below(RANKS - 1)) % RANKS;
    message->tag = (int)chance_below(2);
    message->recv = 0;
    message->send = entry_put(program, message->source, CK_KIND_SEND,
                              message->destination, message->tag)
                        ->message.call;
    deliver(program);
}

/* A receive, posted now and complete some time. */
static void post_put(struct program *program)
{
    struct posted *post = &program->posts[program->posts_count++];
    struct entry *record;

    post->rank = (int)chance_below(RANKS);
    post->source =
        chance_below(3) == 0
            ? -1
            : (post->rank + 1 + (int)chance_below(RANKS - 1)) % RANKS;
    post->tag = chance_below(3) == 0 ? -1 : (int)chance_below(2);
    post->message = -1;
    post->request = (uint64_t)program->posts_count + 16;
    record =
        entry_put(program, post->rank, CK_KIND_RECV, post->source, post->tag);
    record->message.request = post->request;
    post->call = record->message.call;
    deliver(program);
}

/* Some receive that has its message is complete. */
static void complete_put(struct program *program)
{
    int first =
        program->posts_count > 0 ? (int)chance_below(program->posts_count) : 0;

    for (int i = 0; i < program->posts_count; i++) {
        struct posted *post =
            &program->posts[(first + i) % program->posts_count];
        const struct message *message;
        struct entry *record;

        if (post->message < 0 || post->request == 0) {
            continue;
        }
        message = &program->messages[post->message];
        record = entry_put(program, post->rank, CK_KIND_COMPLETE,
                           message->source, message->tag);
        record->message.request = post->request;
        post->request = 0;
        return;
    }
}

static void program_make(struct program *program)
{
    memset(program, 0, sizeof(*program));
    for (int i = 0; i < 3 * MESSAGES; i++) {
        int64_t what = chance_below(3);

        if (what == 0 && program->messages_count < MESSAGES) {
            send_put(program);
        } else if (what == 1 && program->posts_count < MESSAGES) {
            post_put(program);
        } else {
            complete_put(program);
        }
    }
    for (int i = 0; i < MESSAGES; i++) {
        complete_put(program);
    }
}

static void
match_check(void *state, enum match_news news, const struct match *match)
{
    struct program *program = state;
    bool is_right = false;

    if (news != MATCH_RECEIVED) {
        return;
    }
    for (int i = 0; i < program->messages_count; i++) {
        const struct message *message = &program->messages[i];

        is_right =
            is_right || (message->source == (int)match->send.process &&
                         message->destination == (int)match->recv.process &&
                         message->send == match->send.posted.number &&
                         message->recv == match->recv.posted.number);
    }
    program->matched++;
    program->wrong += !is_right;
}

/* Pairs that must be found: received, and no vague receive before the one of
 * them, never complete, might have got the message. */
static int matched_least(const struct program *program)
{
    int count = 0;

    for (int i = 0; i < program->posts_count; i++) {
        const struct posted *post = &program->posts[i];
        bool is_certain = post->message >= 0;

        for (int j = 0; is_certain && j < i; j++) {
            is_certain = program->posts[j].rank != post->rank ||
                         program->posts[j].message >= 0;
        }
        count += is_certain;
    }
    return count;
}

static void record_take(struct matcher *matcher, const struct entry *record)
{
    static int64_t time;
    struct timeline_event event = {.record = &record->message.e,
                                   .start = time,
                                   .end = time,
                                   .rank = (int32_t)record->thread,
                                   .process = record->thread,
                                   .thread = record->thread};

    matcher_take(matcher, &event, 0);
    time++;
}

static void feed(struct program *program, struct matcher *matcher)
{
    int next[RANKS] = {0};

    for (int left = RANKS; left > 0;) {
        int rank = (int)chance_below(RANKS);

        if (next[rank] == program->counts[rank]) {
            left -= next[rank] >= 0;
            next[rank] = -1;
            continue;
        }
        if (next[rank] < 0) {
            continue;
        }
        record_take(matcher, &program->records[rank][next[rank]++]);
    }
}

static void
match_ignore(void *state, enum match_news news, const struct match *match)
{
    (void)state;
    (void)news;
    (void)match;
}

/* MPI_Sendrecv of rank 0 from rank 1, and from MPI_PROC_NULL; what it receives
 * is known when it is complete. */
static void a_receive_from_no_rank_is_not_counted(void **unused)
{
    static struct program program;
    struct world world;
    struct matcher *matcher;
    struct match_counts counts;

    (void)unused;
    play_cast(&world);
    matcher = matcher_create(world.defs, match_ignore, NULL);
    assert_non_null(matcher);
    record_take(matcher, entry_put(&program, 1, CK_KIND_SEND, 0, 5));
    record_take(matcher, entry_put(&program, 0, CK_KIND_SENDRECV, -2, 5));
    record_take(matcher, entry_put(&program, 0, CK_KIND_COMPLETE, 1, 5));
    record_take(matcher, entry_put(&program, 0, CK_KIND_SENDRECV, 1, 5));
    record_take(matcher, entry_put(&program, 0, CK_KIND_COMPLETE, -2, -1));
    counts = matcher_counts(matcher);
    assert_int_equal(counts.sends, 2);
    assert_int_equal(counts.receives, 1);
    assert_int_equal(counts.matched, 1);
    matcher_destroy(matcher);
    align_destroy(world.align);
    defs_destroy(world.defs);
}

/* A program, and those who play it. */
struct game {
    struct world world;
    struct program program;
};

static bool program_is_wrong(void *state)
{
    struct game *game = state;
    struct program *program = &game->program;
    struct matcher *matcher =
        matcher_create(game->world.defs, match_check, program);
    bool is_wrong;

    assert_non_null(matcher);
    program_make(program);
    feed(program, matcher);
    is_wrong = program->wrong > 0 || program->matched < matched_least(program);
    if (is_wrong) {
        print_error("%d wrong, %d of at least %d\n", program->wrong,
                    program->matched, matched_least(program));
    }
    matcher_destroy(matcher);
    return is_wrong;
}

static void every_receive_has_the_send_that_mpi_gives_it(void **unused)
{
    static struct game game;
    struct world *world = &game.world;

    (void)unused;
    play_cast(world);
    for (uint32_t i = 0; i < world->defs->agents_count; i++) {
        world->defs->agents[i].domain = i; /* no clock in common */
    }
    chance_worlds(3000, program_is_wrong, &game);
    align_destroy(world->align);
    defs_destroy(world->defs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_receive_has_the_send_that_mpi_gives_it),
        cmocka_unit_test(a_receive_from_no_rank_is_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
