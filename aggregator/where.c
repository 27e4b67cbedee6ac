/* where.c - `ckagg --where`: where all ranks of a running job are
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   asked -> agents look and send -> all did, or WHERE_LIMIT -> ckmerge ->
 *   its text, and who did not answer, to all who asked
 */
#include "aggregator/where.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/live/merging.h"
#include "launch/cli.h"
#include "schema/store/frameindex.h"

/* Of the newest frames of all agents so much is read where an answer may be in
 * others than the last ones. */
#define LONGER_BYTES ((uint64_t)32 << 20)

struct awaited {
    const struct peer *peer;
    bool is_asked; /* it had a connection */
    bool has_looked;
};

struct where {
    struct jobs *jobs;   /* borrowed */
    struct reply *reply; /* borrowed */
    struct job *job;     /* NULL = no client asks */
    ck_time_t asked;
    struct awaited *awaited;
    size_t count;
    char *silent; /* lines on those who did not look */
    struct merging *merging;
    struct route clients[WHERE_CLIENTS_MAX];
    size_t clients_count;
};

struct where *where_create(struct jobs *jobs, struct reply *reply)
{
    struct where *where = calloc(1, sizeof(*where));

    if (where != NULL) {
        where->jobs = jobs;
        where->reply = reply;
    }
    return where;
}

/* No client asks any more. */
static void question_end(struct where *where)
{
    merging_destroy(where->merging);
    where->merging = NULL;
    free(where->awaited);
    free(where->silent);
    where->awaited = NULL;
    where->silent = NULL;
    where->count = where->clients_count = 0;
    where->job = NULL;
}

void where_destroy(struct where *where)
{
    int saved = errno;

    if (where != NULL) {
        question_end(where);
        free(where);
    }
    errno = saved;
}

bool where_is_busy(const struct where *where)
{
    return where->job != NULL;
}

/* Ask all agents that are there. False: no memory. */
static bool agents_ask(struct where *where)
{
    size_t count = job_peers(where->job);

    where->awaited = calloc(count + 1, sizeof(*where->awaited));
    if (where->awaited == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct peer *peer = job_peer_at(where->job, i);
        struct awaited *awaited = &where->awaited[where->count];

        if (!peer_is_active(peer)) {
            continue;
        }
        awaited->peer = peer;
        awaited->is_asked = peer_route(peer) != NULL &&
                            reply_text(where->reply, peer_route(peer),
                                       CK_CONTROL_WHERE, "") == 0;
        where->count++;
    }
    return true;
}

const char *where_ask(struct where *where,
                      struct job *job,
                      const struct route *client,
                      ck_time_t now)
{
    if (job_facts(job)->state != JOB_RUN) {
        return "the job has ended; its report has where it was";
    }
    if (where->job != NULL && where->job != job) {
        return "another job is looked at; ask again";
    }
    if (where->clients_count == WHERE_CLIENTS_MAX) {
        return "too many clients ask at the same time";
    }
    if (where->job == NULL) {
        where->job = job;
        where->asked = now;
        if (!agents_ask(where)) {
            question_end(where);
            return "out of memory";
        }
    }
    where->clients[where->clients_count++] = *client;
    return NULL;
}

void where_looked(struct where *where, const struct peer *peer)
{
    for (size_t i = 0; i < where->count; i++) {
        if (where->awaited[i].peer == peer) {
            where->awaited[i].has_looked = true;
        }
    }
}

static bool is_looked(const struct where *where, ck_time_t now)
{
    for (size_t i = 0; i < where->count; i++) {
        const struct awaited *awaited = &where->awaited[i];

        if (awaited->is_asked && !awaited->has_looked &&
            peer_is_active(awaited->peer) && now - where->asked < WHERE_LIMIT) {
            return false;
        }
    }
    return true;
}

/* The answer to all who asked; of type REFUSED it is why there is none. */
static void
answer_send(struct where *where, enum ck_control_type type, const char *text)
{
    for (size_t i = 0; i < where->clients_count; i++) {
        (void)reply_text(where->reply, &where->clients[i], type, text);
    }
    question_end(where);
}

static void refusal_send(struct where *where, const char *why)
{
    answer_send(where, CK_CONTROL_REFUSED, why);
}

/* Who did not look: what is known of them is older. From here on no peer is
 * asked after, as they may go while a merge is at work. */
static void silent_keep(struct where *where)
{
    size_t length;
    FILE *file = open_memstream(&where->silent, &length);

    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < where->count; i++) {
        const struct awaited *awaited = &where->awaited[i];
        const struct peer_facts *facts = peer_facts(awaited->peer);

        if (!awaited->has_looked) {
            (void)fprintf(file,
                          " rank %" PRId64 " on %s: its ckagent did not answer "
                          "(it is stopped, cut off, or has ended): what is "
                          "above is what it sent before\n",
                          facts->rank, facts->host);
        }
    }
    (void)fclose(file);
    free(where->awaited);
    where->awaited = NULL;
    where->count = 0;
}

static void merge_end(struct where *where, int code)
{
    size_t length;
    const char *merged = merging_text(where->merging, &length);
    char *text = NULL;
    FILE *file;

    if ((code != CK_EXIT_DONE && code != CK_EXIT_PARTIAL) || length == 0) {
        refusal_send(where,
                     "ckmerge of the running job failed; see ckagg's log, "
                     "or try ckmerge --live on the run");
        return;
    }
    file = open_memstream(&text, &length);
    if (file != NULL) {
        (void)fwrite(merged, 1, length, file);
        (void)fputs(where->silent == NULL ? "" : where->silent, file);
        if (fclose(file) != 0) {
            free(text);
            text = NULL;
        }
    }
    if (text == NULL || strlen(text) > CK_CONTROL_TEXT_MAX) {
        refusal_send(where, "the answer is too long to send");
    } else {
        answer_send(where, CK_CONTROL_WHERE, text);
    }
    free(text);
}

/* Which frames show what is now, the caller's to free; NULL = not known. */
static void *index_make(const struct where *where, size_t *bytes)
{
    const struct ck_frameindex_head room = {0};
    size_t count = job_peers(where->job);
    uint32_t files = 0;
    char *index = NULL;
    FILE *file = open_memstream(&index, bytes);

    if (file == NULL) {
        return NULL;
    }
    (void)fwrite(&room, sizeof(room), 1, file);
    for (size_t i = 0; i < count; i++) {
        files += store_index(peer_store(job_peer_at(where->job, i)),
                             LONGER_BYTES / count, file);
    }
    if (fclose(file) != 0) {
        free(index);
        return NULL;
    }
    ck_frameindex_seal(index, *bytes, files);
    return index;
}

static void merge_start(struct where *where)
{
    static const char *const outputs[] = {"where", NULL};
    struct merging_wish wish = {.outputs = outputs,
                                .is_pageless = true,
                                .is_live = true,
                                .is_urgent = true,
                                .cpu_s = WHERE_CPU_S};
    struct ck_err err;
    void *index = index_make(where, &wish.index_bytes);

    wish.index = index;
    where->merging = merging_start(job_facts(where->job)->dir, &wish, &err);
    free(index);
    if (where->merging == NULL) {
        refusal_send(where, err.text);
    }
}

void where_step(struct where *where, ck_time_t now)
{
    int code;

    if (where->job == NULL) {
        return;
    }
    if (where->merging != NULL) {
        if (merging_look(where->merging, &code) == 1) {
            merge_end(where, code);
        } else if (now - where->asked >= WHERE_WALL) {
            refusal_send(where, "ckmerge of the running job took too long; try "
                                "ckmerge --live on the run");
        }
        return;
    }
    if (!is_looked(where, now)) {
        return;
    }
    silent_keep(where);
    merge_start(where);
}
