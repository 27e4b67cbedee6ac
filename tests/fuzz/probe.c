/* probe.c - any bytes as a clock probe, as they are and with a right tag
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "aggregator/clock/clocksession.h"

static const uint8_t key[CK_AUTH_KEY_BYTES] = {7};

static void
one_put(struct clocksessions *sessions, const uint8_t *bytes, size_t length)
{
    struct clocksession_arrival arrival = {bytes, length, 1000, 10};
    uint8_t answer[CK_PROBE_BYTES];
    struct ck_probe made;

    if (clocksessions_answer(sessions, &arrival, answer) == CLOCKSESSION_GOOD) {
        if (ck_probe_decode(answer, sizeof(answer), &made) != 0 ||
            made.type != CK_PROBE_ANSWER || ck_probe_check(answer, key) != 0) {
            abort();
        }
        clocksessions_sent(sessions, made.session, made.number, made.sent, 5);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct clocksession_look look;
    static const uint8_t agent[16] = {1};
    struct clocksessions *sessions = clocksessions_create();
    uint64_t session = clocksessions_open(sessions, agent, key);
    uint8_t hex[CK_PROBE_BYTES];
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    (void)ck_probe_from_hex(text, hex);
    free(text);
    for (size_t at = 0; at < size; at += CK_PROBE_BYTES) {
        size_t length = size - at < CK_PROBE_BYTES ? size - at : CK_PROBE_BYTES;
        struct ck_probe probe;
        uint8_t bytes[CK_PROBE_BYTES];

        one_put(sessions, data + at, length);
        /* What gets past the tag. */
        if (ck_probe_decode(data + at, length, &probe) == 0) {
            probe.session = session;
            ck_probe_encode(&probe, key, bytes);
            one_put(sessions, bytes, sizeof(bytes));
        }
    }
    (void)clocksessions_look(sessions, 0, &look);
    clocksessions_destroy(sessions);
    return 0;
}
