/* clockburst.c - one burst of clock probes, as an agent sends it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/bench/clockburst.h"

#include <string.h>

void clockburst_begin(struct clockburst *burst)
{
    burst->first = burst->number + 1;
    burst->sent = 0;
    burst->answered = 0;
    memset(burst->probes, 0, sizeof(burst->probes));
}

/* The probe of that number, NULL: of an earlier burst. */
static struct ck_clock_probe *probe_of(struct clockburst *burst,
                                       uint64_t number)
{
    return number >= burst->first && number <= burst->number
               ? &burst->probes[number - burst->first]
               : NULL;
}

static void stamps_take(struct clockburst *burst)
{
    struct clocklink_time left;
    uint64_t number;

    while (clocklink_sent(burst->link, &number, &left) == 1) {
        struct ck_clock_probe *probe = probe_of(burst, number);

        if (probe != NULL) {
            probe->a1 = left.at;
            probe->error_forward += left.error;
        }
    }
}

static int probe_send(struct clockburst *burst)
{
    struct ck_probe ask = {.type = CK_PROBE_ASK,
                           .session = burst->session,
                           .number = burst->number + 1};
    uint8_t bytes[CK_PROBE_BYTES];
    struct clocklink_time sent;

    ck_probe_encode(&ask, burst->key, bytes);
    if (clocklink_send(burst->link, ask.number, bytes, &sent) != 0) {
        return -1;
    }
    burst->number++;
    burst->probes[burst->sent++] =
        (struct ck_clock_probe){.a1 = sent.at, .error_forward = sent.error};
    return 0;
}

int clockburst_send(struct clockburst *burst)
{
    for (unsigned i = 0;
         i < CLOCKPROBE_VOLLEY && burst->sent < CLOCKPROBE_BURST; i++) {
        if (probe_send(burst) != 0) {
            return -1;
        }
        stamps_take(burst);
    }
    return 0;
}

static void answer_take(struct clockburst *burst,
                        const struct ck_probe *answer,
                        const struct clocklink_time *came)
{
    struct ck_clock_probe *probe = probe_of(burst, answer->number);
    struct ck_clock_probe *earlier = probe_of(burst, answer->earlier);

    if (probe == NULL || probe->r2 != 0) {
        return;
    }
    probe->r2 = answer->received;
    probe->r3 = answer->sent;
    probe->a4 = came->at;
    probe->error_forward += answer->received_error;
    probe->error_backward += came->error;
    burst->answered++;
    if (earlier != NULL) {
        earlier->r3 = answer->earlier_sent;
        earlier->error_backward += answer->earlier_error;
    }
}

bool clockburst_take(struct clockburst *burst)
{
    uint8_t bytes[CK_PROBE_BYTES + 1];
    struct clocklink_time came;
    struct ck_probe answer;
    int length;

    stamps_take(burst);
    while ((length = clocklink_receive(burst->link, bytes, &came)) > 0) {
        if (ck_probe_decode(bytes, (size_t)length, &answer) == 0 &&
            ck_probe_check(bytes, burst->key) == 0) {
            answer_take(burst, &answer, &came);
        }
    }
    return length == 0;
}

int clockburst_offset(const struct clockburst *burst,
                      struct ck_clock_offset *offset)
{
    struct ck_clockband *band = ck_clockband_create(NULL);
    struct ck_clock_offset here;
    int rc = -1;

    if (band == NULL) {
        return -1;
    }
    for (unsigned i = 0; i < burst->sent; i++) {
        (void)ck_clockband_add(band, &burst->probes[i]);
    }
    if (ck_clockband_solve(band) == 0) {
        for (unsigned i = 0; i < burst->sent; i++) {
            if (ck_clockband_at(band, burst->probes[i].a1, &here) == 0 &&
                (rc != 0 || here.bound < offset->bound)) {
                *offset = here;
                rc = 0;
            }
        }
    }
    ck_clockband_destroy(band);
    return rc;
}
