/* lockserial.c - when a lock lets no more than one of its threads run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/threads/lockserial.h"

#include <stdlib.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/order.h"

struct piece {
    struct region part;
    uint32_t lock;
    uint32_t waiters;
};

struct user {
    uint32_t lock;
    uint32_t thread;
};

struct lockserial {
    const struct defs *defs; /* borrowed */
    struct region *lives;    /* by thread */
    bool *is_sampled;        /* by process */
    struct piece *pieces;
    size_t pieces_count, pieces_room;
    struct user *users;
    size_t users_count, users_room;
    bool is_full;
};

struct lockserial *lockserial_create(const struct defs *defs)
{
    struct lockserial *serial = xcalloc(1, sizeof(*serial));

    serial->defs = defs;
    serial->lives = xcalloc(defs->threads_count + 1, sizeof(*serial->lives));
    serial->is_sampled =
        xcalloc(defs->processes_count + 1, sizeof(*serial->is_sampled));
    for (size_t i = 0; i < defs->threads_count; i++) {
        serial->lives[i] = (struct region){INT64_MAX, INT64_MIN};
    }
    return serial;
}

void lockserial_destroy(struct lockserial *serial)
{
    if (serial != NULL) {
        free(serial->lives);
        free(serial->is_sampled);
        free(serial->pieces);
        free(serial->users);
        free(serial);
    }
}

void lockserial_seen(struct lockserial *serial,
                     uint32_t thread,
                     struct region part,
                     bool is_sample)
{
    struct region *life = &serial->lives[thread];

    life->start = part.start < life->start ? part.start : life->start;
    life->end = part.end > life->end ? part.end : life->end;
    if (is_sample) {
        serial->is_sampled[serial->defs->threads[thread].process] = true;
    }
}

void lockserial_waited(struct lockserial *serial,
                       uint32_t lock,
                       struct region part,
                       uint32_t waiters)
{
    if (serial->pieces_count == LOCKSERIAL_PIECES) {
        serial->is_full = true;
        return;
    }
    array_grow(&serial->pieces, &serial->pieces_room, serial->pieces_count,
               sizeof(*serial->pieces));
    serial->pieces[serial->pieces_count++] =
        (struct piece){part, lock, waiters};
}

void lockserial_user(struct lockserial *serial, uint32_t lock, uint32_t thread)
{
    array_grow(&serial->users, &serial->users_room, serial->users_count,
               sizeof(*serial->users));
    serial->users[serial->users_count++] = (struct user){lock, thread};
}

CK_ORDER(by_lock_and_time,
         struct piece,
         CK_UP(lock) ?: CK_UP(part.start) ?: CK_UP(part.end))

CK_ORDER(by_lock, struct user, CK_UP(lock) ?: CK_UP(thread))

CK_ORDER(by_time, ck_time_t, CK_LESS(*a, *b))

void lockserial_close(struct lockserial *serial)
{
    if (serial->pieces_count > 1) {
        qsort(serial->pieces, serial->pieces_count, sizeof(*serial->pieces),
              by_lock_and_time);
    }
    if (serial->users_count > 1) {
        qsort(serial->users, serial->users_count, sizeof(*serial->users),
              by_lock);
    }
}

/* ---- one lock ------------------------------------------------------------ */

/* When threads come and go, ascending each. */
struct lives {
    ck_time_t *starts, *ends;
    size_t count;
};

CK_BEFORE(pieces_before, struct piece, uint32_t, a->lock < key)
CK_BEFORE(users_before, struct user, uint32_t, a->lock < key)

static struct region life_of(const struct lockserial *serial, uint32_t thread)
{
    uint32_t process = serial->defs->threads[thread].process;

    return serial->is_sampled[process] ? serial->lives[thread]
                                       : (struct region){INT64_MIN, INT64_MAX};
}

static struct lives lives_of(const struct lockserial *serial, uint32_t lock)
{
    size_t first = users_before(serial->users, serial->users_count, lock);
    size_t end = users_before(serial->users, serial->users_count, lock + 1);
    struct lives lives = {.count = end - first};

    lives.starts = xcalloc(lives.count + 1, sizeof(*lives.starts));
    lives.ends = xcalloc(lives.count + 1, sizeof(*lives.ends));
    for (size_t i = 0; i < lives.count; i++) {
        struct region life = life_of(serial, serial->users[first + i].thread);

        lives.starts[i] = life.start;
        lives.ends[i] = life.end;
    }
    qsort(lives.starts, lives.count, sizeof(*lives.starts), by_time);
    qsort(lives.ends, lives.count, sizeof(*lives.ends), by_time);
    return lives;
}

static void lives_fini(struct lives *lives)
{
    free(lives->starts);
    free(lives->ends);
}

/* How far the threads' coming and going was followed. */
struct walk {
    size_t come, gone;
    ck_time_t next; /* when the number changes */
};

/* The threads that are there at a time; later ones only. */
static uint32_t
walk_to(struct walk *walk, const struct lives *lives, ck_time_t now)
{
    while (walk->come < lives->count && lives->starts[walk->come] <= now) {
        walk->come++;
    }
    while (walk->gone < lives->count && lives->ends[walk->gone] <= now) {
        walk->gone++;
    }
    walk->next = INT64_MAX;
    if (walk->come < lives->count) {
        walk->next = lives->starts[walk->come];
    }
    if (walk->gone < lives->count && lives->ends[walk->gone] < walk->next) {
        walk->next = lives->ends[walk->gone];
    }
    /* Who was never seen is gone from the first. */
    return walk->come > walk->gone ? (uint32_t)(walk->come - walk->gone) : 0;
}

static void piece_add(const struct piece *piece,
                      struct walk *walk,
                      const struct lives *lives,
                      struct lockserial_sum *sum)
{
    ck_time_t at = piece->part.start;

    while (at < piece->part.end) {
        uint32_t users = walk_to(walk, lives, at);
        ck_time_t until =
            walk->next < piece->part.end ? walk->next : piece->part.end;

        if (users > 1 && piece->waiters + 1 >= users) {
            sum->serial += until - at;
        }
        sum->at_once = users > sum->at_once ? users : sum->at_once;
        at = until;
    }
}

bool lockserial_find(const struct lockserial *serial,
                     uint32_t lock,
                     struct lockserial_sum *sum)
{
    size_t at = pieces_before(serial->pieces, serial->pieces_count, lock);
    struct walk walk = {.come = 0};
    struct lives lives;

    if (serial->is_full) {
        return false;
    }
    *sum = (struct lockserial_sum){.at_once = 0};
    lives = lives_of(serial, lock);
    while (at < serial->pieces_count && serial->pieces[at].lock == lock) {
        piece_add(&serial->pieces[at++], &walk, &lives, sum);
    }
    lives_fini(&lives);
    return true;
}
