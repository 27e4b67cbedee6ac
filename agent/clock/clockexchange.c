/* clockexchange.c - exchanges of clock probes until they are complete
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clock/clockexchange.h"

#include <string.h>

#include "agent/stream/selfstream.h"
#include "schema/event.h"

/* As a CLOCK_PROBE; without an answer r2, r3 and a4 are 0. */
static void exchange_record(struct exchanges *exchanges,
                            struct exchange *exchange)
{
    ck_time_t forward = exchange->a1.error + exchange->r2.error;
    ck_time_t backward = exchange->r3.error + exchange->a4.error;
    struct ck_clock_fact fact = {
        .e = {.kind = CK_KIND_CLOCK_PROBE,
              .units = sizeof(fact) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .start = exchange->a1.at},
        .clock = CK_CLOCK_RAW,
        .number = (uint32_t)exchange->number,
        .peer = exchanges->reference,
    };

    if (exchange->is_answered) {
        fact.value = exchange->r2.at;
        fact.t3 = exchange->r3.at;
        fact.t4 = exchange->a4.at;
        fact.width = forward > backward ? forward : backward;
    } else {
        exchanges->lost++;
    }
    (void)selfstream_put(exchanges->selfstream, &fact.e);
    exchange->number = 0;
}

static struct exchange *exchange_find(struct exchanges *exchanges,
                                      uint64_t number)
{
    struct exchange *exchange = &exchanges->items[number % EXCHANGES_MAX];

    return number != 0 && exchange->number == number ? exchange : NULL;
}

void exchanges_open(struct exchanges *exchanges,
                    const struct clocklink_time *sent)
{
    struct exchange *exchange;

    exchanges->number++;
    exchange = &exchanges->items[exchanges->number % EXCHANGES_MAX];
    if (exchange->number != 0) {
        exchange_record(exchanges, exchange);
    }
    *exchange = (struct exchange){.number = exchanges->number, .a1 = *sent};
}

void exchanges_sent(struct exchanges *exchanges,
                    uint64_t number,
                    const struct clocklink_time *sent)
{
    struct exchange *exchange = exchange_find(exchanges, number);

    if (exchange != NULL &&
        sent->at + sent->error >= exchange->a1.at - exchange->a1.error) {
        exchange->a1 = *sent;
    }
}

ck_time_t exchanges_earlier(struct exchanges *exchanges,
                            const struct ck_probe *answer)
{
    struct exchange *exchange = exchange_find(exchanges, answer->earlier);
    ck_time_t half;

    if (exchange == NULL || !exchange->is_answered ||
        answer->earlier_sent + answer->earlier_error < exchange->r3.at) {
        return INT64_MAX;
    }
    exchange->r3.at = answer->earlier_sent;
    exchange->r3.error = answer->earlier_error;
    half = exchange_half(exchange);
    exchange_record(exchanges, exchange);
    return half;
}

void exchanges_tell(const struct exchanges *exchanges, struct ck_probe *ask)
{
    const struct exchange *told = &exchanges->tell[0];

    if (exchanges->tell_count > 0) {
        ask->earlier = told->number;
        ask->earlier_sent = told->a1.at;
        ask->earlier_received = told->a4.at;
        ask->earlier_error =
            (uint32_t)(told->a1.error > told->a4.error ? told->a1.error
                                                       : told->a4.error);
    }
}

void exchanges_told(struct exchanges *exchanges)
{
    if (exchanges->tell_count > 0) {
        exchanges->tell_count--;
        memmove(&exchanges->tell[0], &exchanges->tell[1],
                exchanges->tell_count * sizeof(exchanges->tell[0]));
    }
}

const struct exchange *exchanges_answer(struct exchanges *exchanges,
                                        const struct ck_probe *answer,
                                        const struct clocklink_time *came)
{
    struct exchange *exchange = exchange_find(exchanges, answer->number);

    if (exchange == NULL || exchange->is_answered) {
        return NULL;
    }
    exchange->is_answered = true;
    exchange->r2 =
        (struct clocklink_time){answer->received, answer->received_error};
    exchange->r3 = (struct clocklink_time){answer->sent, 0};
    exchange->a4 = *came;
    if (exchanges->tell_count == EXCHANGES_TELL) {
        exchanges_told(exchanges); /* the oldest gives way */
    }
    exchanges->tell[exchanges->tell_count++] = *exchange;
    return exchange;
}

bool exchanges_wait(const struct exchanges *exchanges)
{
    for (size_t i = 0; i < EXCHANGES_MAX; i++) {
        if (exchanges->items[i].number != 0 &&
            !exchanges->items[i].is_answered) {
            return true;
        }
    }
    return false;
}

void exchanges_record(struct exchanges *exchanges)
{
    uint64_t first = exchanges->number < EXCHANGES_MAX
                         ? 1
                         : exchanges->number - EXCHANGES_MAX + 1;

    for (uint64_t n = first; n <= exchanges->number; n++) {
        struct exchange *exchange = exchange_find(exchanges, n);

        if (exchange != NULL) {
            exchange_record(exchanges, exchange);
        }
    }
}

ck_time_t exchange_half(const struct exchange *exchange)
{
    ck_time_t trip = exchange->a4.at - exchange->a1.at;

    return (trip - (exchange->r3.at - exchange->r2.at)) / 2 +
           exchange->a1.error + exchange->a4.error;
}

bool exchange_refutes(const struct exchange *exchange)
{
    return exchange->r2.at + exchange->r2.error <
               exchange->a1.at - exchange->a1.error ||
           exchange->a4.at + exchange->a4.error <
               exchange->r3.at - exchange->r3.error;
}
