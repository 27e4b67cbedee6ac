/* clocksession.c - who may probe the clock, and what their probes came to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session's number is its place in the table (low 20 bits, from 1) and 44
 * random bits, so a stranger's datagram is found by one look, without
 * computing a tag. Numbers of exchanges may come out of order within a window
 * of 64; each is answered once.
 */
#include "aggregator/clock/clocksession.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PLACE_BITS 20
#define PLACE_MASK ((1u << PLACE_BITS) - 1)
#define WINDOW 64
/* Answers whose exchange may still be completed. */
#define ANSWERS 32

/* What we know of an exchange that was answered. */
struct answer {
    uint64_t number; /* 0 = none */
    ck_time_t received;
    ck_time_t sent; /* the kernel's when it is known */
    uint32_t received_error;
    uint32_t sent_error;
};

/* Made at the first good probe: most agents never send one. */
struct history {
    struct answer answers[ANSWERS];
    struct clocksession_probe probes[CLOCKSESSION_PROBES];
    uint64_t complete; /* probes ever */
    uint64_t stamped;  /* number of the answer that the kernel stamped last */
};

struct session {
    uint64_t number; /* 0 = free */
    uint8_t agent[16];
    uint8_t key[CK_AUTH_KEY_BYTES];
    uint64_t highest; /* number of an exchange */
    uint64_t seen;    /* bit i: highest - i was answered */
    uint64_t asked;
    struct history *history;
};

struct clocksessions {
    pthread_mutex_t lock; /* for all below */
    struct session *items;
    size_t count;
    size_t room;
    struct clocksession_facts facts;
};

_Static_assert(CLOCKSESSION_MAX <= PLACE_MASK, "a place fits its bits");

struct clocksessions *clocksessions_create(void)
{
    struct clocksessions *sessions = calloc(1, sizeof(*sessions));

    if (sessions && pthread_mutex_init(&sessions->lock, NULL) != 0) {
        free(sessions);
        errno = ENOMEM;
        return NULL;
    }
    return sessions;
}

static void session_clear(struct session *session)
{
    free(session->history);
    ck_auth_forget(session->key);
    memset(session, 0, sizeof(*session));
}

void clocksessions_destroy(struct clocksessions *sessions)
{
    if (!sessions) {
        return;
    }
    for (size_t i = 0; i < sessions->count; i++) {
        session_clear(&sessions->items[i]);
    }
    free(sessions->items);
    (void)pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

/* The agent's place, else a free one, else a new one; NULL: none. */
static struct session *place_find(struct clocksessions *sessions,
                                  const uint8_t agent[16])
{
    struct session *found = NULL;

    for (size_t i = 0; i < sessions->count; i++) {
        struct session *item = &sessions->items[i];

        if (item->number == 0) {
            found = found ? found : item;
        } else if (memcmp(item->agent, agent, 16) == 0) {
            return item;
        }
    }
    if (found || sessions->count == CLOCKSESSION_MAX) {
        return found;
    }
    if (sessions->count == sessions->room) {
        size_t room = sessions->room ? 2 * sessions->room : 64;
        struct session *grown = realloc(sessions->items, room * sizeof(*grown));

        if (!grown) {
            return NULL;
        }
        sessions->items = grown;
        sessions->room = room;
    }
    found = &sessions->items[sessions->count++];
    memset(found, 0, sizeof(*found));
    return found;
}

uint64_t clocksessions_open(struct clocksessions *sessions,
                            const uint8_t agent[16],
                            const uint8_t key[CK_AUTH_KEY_BYTES])
{
    struct session *session;
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
        return 0;
    }
    (void)pthread_mutex_lock(&sessions->lock);
    session = place_find(sessions, agent);
    if (session) {
        if (session->number == 0) {
            sessions->facts.sessions++;
        }
        session_clear(session);
        number = (number & ~(uint64_t)PLACE_MASK) |
                 (uint64_t)(session - sessions->items + 1);
        session->number = number;
        memcpy(session->agent, agent, 16);
        memcpy(session->key, key, CK_AUTH_KEY_BYTES);
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    return session ? number : 0;
}

void clocksessions_close(struct clocksessions *sessions,
                         const uint8_t agent[16])
{
    (void)pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count; i++) {
        struct session *item = &sessions->items[i];

        if (item->number != 0 && memcmp(item->agent, agent, 16) == 0) {
            session_clear(item);
            sessions->facts.sessions--;
        }
    }
    (void)pthread_mutex_unlock(&sessions->lock);
}

static struct session *session_find(struct clocksessions *sessions,
                                    uint64_t number)
{
    size_t place = number & PLACE_MASK;

    if (place == 0 || place > sessions->count ||
        sessions->items[place - 1].number != number) {
        return NULL;
    }
    return &sessions->items[place - 1];
}

/* Was it answered before, or is it too old to know? Else note it. */
static bool is_replay(struct session *session, uint64_t number)
{
    if (number > session->highest) {
        uint64_t by = number - session->highest;

        session->seen = by < WINDOW ? session->seen << by : 0;
        session->seen |= 1;
        session->highest = number;
        return false;
    }
    number = session->highest - number;
    if (number >= WINDOW || (session->seen >> number & 1) != 0) {
        return true;
    }
    session->seen |= (uint64_t)1 << number;
    return false;
}

/* The agent reports how an earlier exchange went for it. */
static void earlier_take(struct history *history, const struct ck_probe *probe)
{
    const struct answer *answer = &history->answers[probe->earlier % ANSWERS];
    struct clocksession_probe *kept =
        &history->probes[history->complete % CLOCKSESSION_PROBES];

    if (probe->earlier == 0 || answer->number != probe->earlier) {
        return;
    }
    *kept = (struct clocksession_probe){
        .a1 = probe->earlier_sent,
        .r2 = answer->received,
        .r3 = answer->sent,
        .a4 = probe->earlier_received,
        .error = (ck_time_t)probe->earlier_error +
                 (answer->received_error > answer->sent_error
                      ? answer->received_error
                      : answer->sent_error),
    };
    history->complete++;
}

/* A time that a datagram may carry: no sum of them overflows. */
static bool is_sane(ck_time_t time)
{
    return time >= -(INT64_MAX / 8) && time <= INT64_MAX / 8;
}

static void answer_make(struct session *session,
                        const struct ck_probe *ask,
                        const struct answer *received,
                        uint8_t bytes[CK_PROBE_BYTES])
{
    struct history *history = session->history;
    const struct answer *earlier =
        &history->answers[history->stamped % ANSWERS];
    struct answer *answer = &history->answers[ask->number % ANSWERS];
    struct ck_probe made = {
        .type = CK_PROBE_ANSWER,
        .session = session->number,
        .number = ask->number,
        .received = received->received,
        .received_error = received->received_error,
    };

    if (history->stamped != 0 && earlier->number == history->stamped &&
        history->stamped != ask->number) {
        made.earlier = earlier->number;
        made.earlier_sent = earlier->sent;
        made.earlier_error = earlier->sent_error;
    }
    *answer = *received;
    answer->number = ask->number;
    made.sent = ck_time_raw();
    answer->sent = made.sent;
    ck_probe_encode(&made, session->key, bytes);
}

static enum clocksession_verdict session_answer(struct clocksessions *sessions,
                                                const void *bytes,
                                                const struct ck_probe *ask,
                                                const struct answer *received,
                                                uint8_t answer[CK_PROBE_BYTES])
{
    struct session *session = session_find(sessions, ask->session);

    if (!session) {
        return CLOCKSESSION_FOREIGN;
    }
    if (ck_probe_check(bytes, session->key) != 0) {
        return CLOCKSESSION_UNTAGGED;
    }
    if (is_replay(session, ask->number)) {
        return CLOCKSESSION_REPLAYED;
    }
    if (!session->history) {
        session->history = calloc(1, sizeof(*session->history));
    }
    if (!session->history) {
        return CLOCKSESSION_FOREIGN;
    }
    session->asked++;
    earlier_take(session->history, ask);
    answer_make(session, ask, received, answer);
    sessions->facts.answered++;
    return CLOCKSESSION_GOOD;
}

enum clocksession_verdict
clocksessions_answer(struct clocksessions *sessions,
                     const struct clocksession_arrival *arrival,
                     uint8_t answer[CK_PROBE_BYTES])
{
    struct answer kept = {
        .received = arrival->received,
        .received_error =
            arrival->error < UINT32_MAX ? (uint32_t)arrival->error : UINT32_MAX,
    };
    enum clocksession_verdict verdict = CLOCKSESSION_MALFORMED;
    struct ck_probe ask;
    bool is_ask = ck_probe_decode(arrival->bytes, arrival->length, &ask) == 0 &&
                  ask.type == CK_PROBE_ASK && is_sane(ask.earlier_sent) &&
                  is_sane(ask.earlier_received);

    (void)pthread_mutex_lock(&sessions->lock);
    if (is_ask) {
        verdict = session_answer(sessions, arrival->bytes, &ask, &kept, answer);
    }
    sessions->facts.verdicts[verdict]++;
    (void)pthread_mutex_unlock(&sessions->lock);
    return verdict;
}

void clocksessions_sent(struct clocksessions *sessions,
                        uint64_t session,
                        uint64_t number,
                        ck_time_t sent,
                        ck_time_t error)
{
    struct session *found;

    (void)pthread_mutex_lock(&sessions->lock);
    found = session_find(sessions, session);
    if (found && found->history) {
        struct answer *answer = &found->history->answers[number % ANSWERS];

        /* Before it was given to the kernel it cannot have left. */
        if (answer->number == number && sent + error >= answer->sent) {
            answer->sent = sent;
            answer->sent_error = (uint32_t)error;
            found->history->stamped = number;
        }
    }
    (void)pthread_mutex_unlock(&sessions->lock);
}

struct clocksession_facts clocksessions_facts(struct clocksessions *sessions)
{
    struct clocksession_facts facts;

    (void)pthread_mutex_lock(&sessions->lock);
    facts = sessions->facts;
    (void)pthread_mutex_unlock(&sessions->lock);
    return facts;
}

static void look_fill(const struct session *session,
                      struct clocksession_look *look)
{
    const struct history *history = session->history;
    uint64_t first = history->complete > CLOCKSESSION_PROBES
                         ? history->complete - CLOCKSESSION_PROBES
                         : 0;

    memcpy(look->agent, session->agent, 16);
    look->asked = session->asked;
    look->complete = history->complete;
    look->count = (size_t)(history->complete - first);
    for (size_t i = 0; i < look->count; i++) {
        look->probes[i] = history->probes[(first + i) % CLOCKSESSION_PROBES];
    }
}

int clocksessions_look(struct clocksessions *sessions,
                       size_t index,
                       struct clocksession_look *look)
{
    int result = -1;

    (void)pthread_mutex_lock(&sessions->lock);
    for (size_t i = 0; i < sessions->count && result != 0; i++) {
        const struct session *session = &sessions->items[i];

        if (session->number != 0 && session->history && index-- == 0) {
            look_fill(session, look);
            result = 0;
        }
    }
    (void)pthread_mutex_unlock(&sessions->lock);
    return result;
}

const char *clocksession_verdict_name(enum clocksession_verdict verdict)
{
    static const char *const names[CLOCKSESSION_VERDICTS] = {
        [CLOCKSESSION_GOOD] = "good",
        [CLOCKSESSION_MALFORMED] = "malformed",
        [CLOCKSESSION_FOREIGN] = "foreign",
        [CLOCKSESSION_UNTAGGED] = "untagged",
        [CLOCKSESSION_REPLAYED] = "replayed",
    };

    return names[verdict];
}
