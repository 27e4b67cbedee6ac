/* probe.c - the clock probe: one datagram of fixed size each way
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   0 magic CKP1   4 version, type, 0, 0   8 session   16 number
 *  24 received    32 sent                 40 received_error, earlier_error
 *  48 earlier     56 earlier_sent         64 earlier_received
 *  72 tag of the 72 bytes before (16)
 */
#include "schema/clock/probe.h"

#include <string.h>

#define MAGIC 0x31504b43u /* "CKP1" */
#define TAG_AT (CK_PROBE_BYTES - CK_AUTH_TAG_BYTES)

struct datagram {
    uint32_t magic;
    uint8_t version;
    uint8_t type;
    uint16_t reserved;
    uint64_t session;
    uint64_t number;
    int64_t received;
    int64_t sent;
    uint32_t received_error;
    uint32_t earlier_error;
    uint64_t earlier;
    int64_t earlier_sent;
    int64_t earlier_received;
    uint8_t tag[CK_AUTH_TAG_BYTES];
};

_Static_assert(sizeof(struct datagram) == CK_PROBE_BYTES, "on the wire");
_Static_assert(offsetof(struct datagram, tag) == TAG_AT, "the tag is last");
_Static_assert(TAG_AT <= CK_AUTH_BYTES_MAX, "it can have a tag");

void ck_probe_encode(const struct ck_probe *probe,
                     const uint8_t key[CK_AUTH_KEY_BYTES],
                     uint8_t bytes[CK_PROBE_BYTES])
{
    struct datagram made = {
        .magic = MAGIC,
        .version = CK_PROBE_VERSION,
        .type = (uint8_t)probe->type,
        .session = probe->session,
        .number = probe->number,
        .received = probe->received,
        .sent = probe->sent,
        .received_error = probe->received_error,
        .earlier_error = probe->earlier_error,
        .earlier = probe->earlier,
        .earlier_sent = probe->earlier_sent,
        .earlier_received = probe->earlier_received,
    };

    ck_auth_tag(key, &made, TAG_AT, made.tag);
    memcpy(bytes, &made, CK_PROBE_BYTES);
}

int ck_probe_decode(const void *bytes, size_t length, struct ck_probe *probe)
{
    struct datagram read;

    if (length != CK_PROBE_BYTES) {
        return -1;
    }
    memcpy(&read, bytes, sizeof(read));
    if (read.magic != MAGIC || read.version != CK_PROBE_VERSION ||
        read.reserved != 0 ||
        (read.type != CK_PROBE_ASK && read.type != CK_PROBE_ANSWER) ||
        read.number == 0) {
        return -1;
    }
    *probe = (struct ck_probe){
        .type = (enum ck_probe_type)read.type,
        .session = read.session,
        .number = read.number,
        .received = read.received,
        .sent = read.sent,
        .received_error = read.received_error,
        .earlier_error = read.earlier_error,
        .earlier = read.earlier,
        .earlier_sent = read.earlier_sent,
        .earlier_received = read.earlier_received,
    };
    return 0;
}

int ck_probe_check(const void *bytes, const uint8_t key[CK_AUTH_KEY_BYTES])
{
    const uint8_t *tag = (const uint8_t *)bytes + TAG_AT;

    return ck_auth_is(key, bytes, TAG_AT, tag) ? 0 : -1;
}

void ck_probe_to_hex(const uint8_t bytes[CK_PROBE_BYTES],
                     char hex[CK_PROBE_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < CK_PROBE_BYTES; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * CK_PROBE_BYTES] = '\0';
}

/* 0..15, or -1. */
static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

size_t ck_probe_from_hex(const char *hex, uint8_t bytes[CK_PROBE_BYTES])
{
    if (strlen(hex) != CK_PROBE_HEX - 1) {
        return 0;
    }
    for (size_t i = 0; i < CK_PROBE_BYTES; i++) {
        int high = digit_value(hex[2 * i]);
        int low = digit_value(hex[2 * i + 1]);

        if (high < 0 || low < 0) {
            return 0;
        }
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return CK_PROBE_BYTES;
}
