/* probe.h - the clock probe: one datagram of fixed size each way
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ASK from an agent, ANSWER from ckagg (docs/protocol.md). Each also reports
 * what its sender has learned meanwhile of an earlier exchange: when exactly
 * the kernel let the datagram out. Little-endian, tagged with the key that the
 * agent gave in its HELLO.
 */
#ifndef CK_SCHEMA_CLOCK_PROBE_H
#define CK_SCHEMA_CLOCK_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "schema/auth.h"
#include "schema/time.h"

#define CK_PROBE_BYTES 88
/* Answers of one session that may share a datagram. */
#define CK_PROBE_PIECES 8
#define CK_PROBE_VERSION 2

enum ck_probe_type {
    CK_PROBE_ASK = 1,
    CK_PROBE_ANSWER = 2,
};

struct ck_probe {
    enum ck_probe_type type;
    uint64_t session; /* from WELCOME */
    uint64_t number;  /* of the exchange, from 1 */
    /* ANSWER: r2, and r3 as it was before sending. ASK: 0. */
    ck_time_t received;
    ck_time_t sent;
    uint32_t received_error; /* ns */
    uint32_t earlier_error;  /* ns, of the two below together */
    uint64_t earlier;        /* number of an earlier exchange, 0 = none */
    /* ASK: its a1 and a4. ANSWER: 0, and its r3 as the kernel stamped it. */
    ck_time_t earlier_sent;
    ck_time_t earlier_received;
};

void ck_probe_encode(const struct ck_probe *probe,
                     const uint8_t key[CK_AUTH_KEY_BYTES],
                     uint8_t bytes[CK_PROBE_BYTES]);
/* Take apart without looking at the tag. 0, or -1: not such a datagram. */
int ck_probe_decode(const void *bytes, size_t length, struct ck_probe *probe);
/* Is the tag that of the key? The bytes are a datagram (CK_PROBE_BYTES). */
int ck_probe_check(const void *bytes, const uint8_t key[CK_AUTH_KEY_BYTES]);

/* As text, for ways that carry text. Length of the bytes: CK_PROBE_BYTES, or 0
 * when it is not exactly such a text. */
#define CK_PROBE_HEX (2 * CK_PROBE_BYTES + 1)
void ck_probe_to_hex(const uint8_t bytes[CK_PROBE_BYTES],
                     char hex[CK_PROBE_HEX]);
size_t ck_probe_from_hex(const char *hex, uint8_t bytes[CK_PROBE_BYTES]);

#endif
