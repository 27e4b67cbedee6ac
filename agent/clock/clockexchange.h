/* clockexchange.h - exchanges of clock probes until they are complete
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An exchange is opened with a time of our own, improved when the kernel
 * reports when the probe left, answered, and improved again when the next
 * answer reports when this one's answer left. Then, or at the end of its burst,
 * it becomes a CLOCK_PROBE record.
 */
#ifndef CK_AGENT_CLOCK_CLOCKEXCHANGE_H
#define CK_AGENT_CLOCK_CLOCKEXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/clock/clocklink.h"
#include "schema/clock/probe.h"

/* Under way at once; an older one is recorded as it is. */
#define EXCHANGES_MAX 32
/* Answered ones that are still to be reported to the aggregator. */
#define EXCHANGES_TELL 8

struct selfstream;

struct exchange {
    uint64_t number; /* 0 = none */
    struct clocklink_time a1;
    struct clocklink_time r2;
    struct clocklink_time r3;
    struct clocklink_time a4;
    bool is_answered;
};

struct exchanges {
    struct selfstream *selfstream; /* borrowed */
    uint64_t reference;            /* whose clock is asked, for the records */
    uint64_t number;               /* of the last one */
    uint64_t lost;
    struct exchange items[EXCHANGES_MAX];
    struct exchange tell[EXCHANGES_TELL]; /* oldest first */
    unsigned tell_count;
};

/* The next number's probe was sent. */
void exchanges_open(struct exchanges *exchanges,
                    const struct clocklink_time *sent);
/* When the kernel let it out; never before it was given to it. */
void exchanges_sent(struct exchanges *exchanges,
                    uint64_t number,
                    const struct clocklink_time *sent);
/* What an answer reports of an earlier one, which is recorded then. The half
 * width of that one, or INT64_MAX. */
ck_time_t exchanges_earlier(struct exchanges *exchanges,
                            const struct ck_probe *answer);
/* An answer came. The exchange, borrowed; NULL: it is not waited for. */
const struct exchange *exchanges_answer(struct exchanges *exchanges,
                                        const struct ck_probe *answer,
                                        const struct clocklink_time *came);
/* Write into a probe how the oldest exchange went that was not yet reported to
 * the aggregator; when the probe is sent, that one is reported. */
void exchanges_tell(const struct exchanges *exchanges, struct ck_probe *ask);
void exchanges_told(struct exchanges *exchanges);
/* Is an answer still to come? */
bool exchanges_wait(const struct exchanges *exchanges);
/* Record all as they are. */
void exchanges_record(struct exchanges *exchanges);
/* How far the offset may be from the middle. */
ck_time_t exchange_half(const struct exchange *exchange);
/* It cannot be if both stamped with one clock. */
bool exchange_refutes(const struct exchange *exchange);

#endif
