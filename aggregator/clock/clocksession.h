/* clocksession.h - who may probe the clock, and what their probes came to
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A session is made by a HELLO that has a key; WELCOME carries its number.
 * Every datagram is checked against it before it is answered. From what an
 * agent reports of earlier exchanges the latest probes are kept complete, for
 * `ckagg --clocks`. Used from the loop and from the thread of clockserve.c: a
 * lock inside.
 */
#ifndef CK_AGGREGATOR_CLOCK_CLOCKSESSION_H
#define CK_AGGREGATOR_CLOCK_CLOCKSESSION_H

#include <stddef.h>
#include <stdint.h>

#include "schema/auth.h"
#include "schema/clock/probe.h"
#include "schema/time.h"

/* Agents that may probe; a HELLO of one more gets no session. */
#define CLOCKSESSION_MAX 131072
/* Complete probes kept of each. */
#define CLOCKSESSION_PROBES 256

enum clocksession_verdict {
    CLOCKSESSION_GOOD = 0,
    CLOCKSESSION_MALFORMED, /* not a probe */
    CLOCKSESSION_FOREIGN,   /* no such session */
    CLOCKSESSION_UNTAGGED,  /* the tag is not the key's */
    CLOCKSESSION_REPLAYED,  /* the number was there before, or is too old */
    CLOCKSESSION_VERDICTS
};

struct clocksession_facts {
    uint64_t verdicts[CLOCKSESSION_VERDICTS];
    uint64_t answered;
    size_t sessions;
};

/* A complete exchange, as clockband takes it; 0 = missing. */
struct clocksession_probe {
    ck_time_t a1;
    ck_time_t r2;
    ck_time_t r3;
    ck_time_t a4;
    ck_time_t error; /* of either direction */
};

struct clocksession_look {
    uint8_t agent[16];
    uint64_t asked;
    uint64_t complete;
    size_t count;                                          /* of probes */
    struct clocksession_probe probes[CLOCKSESSION_PROBES]; /* oldest first */
};

struct clocksessions;

/* NULL with ENOMEM. */
struct clocksessions *clocksessions_create(void);
void clocksessions_destroy(struct clocksessions *sessions);

/* A session for the agent, in place of its earlier one. Its number, or 0:
 * too many, no memory, no random bytes. */
uint64_t clocksessions_open(struct clocksessions *sessions,
                            const uint8_t agent[16],
                            const uint8_t key[CK_AUTH_KEY_BYTES]);
/* The agent has sent GOODBYE. */
void clocksessions_close(struct clocksessions *sessions,
                         const uint8_t agent[16]);

/* A datagram and when it came, +- error. */
struct clocksession_arrival {
    const void *bytes;
    size_t length;
    ck_time_t received;
    ck_time_t error;
};

/* Check it and make its answer. The answer's `sent` is taken now, so it must
 * go at once. */
enum clocksession_verdict
clocksessions_answer(struct clocksessions *sessions,
                     const struct clocksession_arrival *arrival,
                     uint8_t answer[CK_PROBE_BYTES]);
/* The kernel let the answer to (session, number) out at that time. */
void clocksessions_sent(struct clocksessions *sessions,
                        uint64_t session,
                        uint64_t number,
                        ck_time_t sent,
                        ck_time_t error);

struct clocksession_facts clocksessions_facts(struct clocksessions *sessions);
/* The index-th session that has asked. 0, or -1 beyond the last. */
int clocksessions_look(struct clocksessions *sessions,
                       size_t index,
                       struct clocksession_look *look);
const char *clocksession_verdict_name(enum clocksession_verdict verdict);

#endif
