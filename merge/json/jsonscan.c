/* jsonscan.c - where strings, numbers and words of JSON end, and their values
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/json/jsonscan.h"

#include <string.h>

/* The portable scan goes on where the fast one stops, and does all of it on
 * machines without SSE2. */
#ifdef __SSE2__
uint8_t *json_scan_plain(uint8_t *at, bool *high)
{
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i control = _mm_set1_epi8(0x1f);
    unsigned above = 0;

    for (;;) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        __m128i hit =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
                                      _mm_cmpeq_epi8(bytes, slash)),
                         _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        unsigned upper = (unsigned)_mm_movemask_epi8(bytes);

        if (mask != 0) {
            unsigned first = (unsigned)__builtin_ctz(mask);

            above |= upper & ((1u << first) - 1);
            *high = *high || above != 0;
            return at + first;
        }
        above |= upper;
        at += 16;
    }
}
#else
uint8_t *json_scan_plain(uint8_t *at, bool *high)
{
    while (*at != '"' && *at != '\\' && *at >= 0x20) {
        *high = *high || *at >= 0x80;
        at++;
    }
    return at;
}
#endif

struct json_scan json_scan_string(uint8_t *at, uint8_t *end)
{
    struct json_scan scan = {.stop = JSON_SCAN_MORE, .end = end};

    while (at < end) {
        at = json_scan_plain(at, &scan.needs_decode);
        if (at >= end) {
            break;
        }
        scan.end = at;
        if (*at == '"') {
            scan.stop = JSON_SCAN_QUOTE;
            return scan;
        }
        if (*at != '\\') {
            scan.stop = JSON_SCAN_CONTROL;
            return scan;
        }
        scan.needs_decode = true;
        at += 2;
    }
    scan.end = end;
    return scan;
}

/* Bytes of the character that this one begins; 1 for what begins none. */
static unsigned utf8_bytes(uint8_t first)
{
    if (first < 0xc0) {
        return 1;
    }
    if (first < 0xe0) {
        return 2;
    }
    if (first < 0xf0) {
        return 3;
    }
    return 4;
}

uint8_t *json_scan_whole(uint8_t *at, uint8_t *end)
{
    uint8_t *from = end - at > 16 ? end - 16 : at;
    uint8_t *back = from;
    unsigned slashes = 0;

    /* Is `from` behind a lone backslash? Then it is escaped. */
    while (back > at && back[-1] == '\\') {
        back--;
        slashes++;
    }
    from -= slashes % 2;
    while (from > at && (*from & 0xc0) == 0x80) {
        from--;
    }
    while (from < end) {
        unsigned bytes = utf8_bytes(*from);

        if (*from == '\\') {
            /* A pair of surrogates is 12 bytes; a \u may begin one. */
            bytes = end - from < 2 || from[1] == 'u' ? 12 : 2;
        }
        if ((size_t)(end - from) < bytes) {
            break;
        }
        from += *from == '\\' && bytes == 12 ? 6 : bytes;
    }
    return from;
}

/* Length of a valid character of more than one byte, 0 = none. */
static unsigned utf8_check(const uint8_t *at, const uint8_t *end)
{
    unsigned bytes = utf8_bytes(*at);
    uint32_t code;

    if (bytes == 1 || *at > 0xf4 || (size_t)(end - at) < bytes) {
        return 0;
    }
    code = *at & (0xffu >> (bytes + 1));
    for (unsigned i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fu);
    }
    if ((bytes == 2 && code < 0x80) || (bytes == 3 && code < 0x800) ||
        (bytes == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code < 0xe000)) {
        return 0;
    }
    return bytes;
}

/* Four hexadecimal digits, -1 = they are none. */
static int32_t hex4(const uint8_t *at, const uint8_t *end)
{
    int32_t value = 0;

    if (end - at < 4) {
        return -1;
    }
    for (unsigned i = 0; i < 4; i++) {
        uint8_t c = at[i] | 0x20;
        int digit;

        if (at[i] >= '0' && at[i] <= '9') {
            digit = at[i] - '0';
        } else if (c >= 'a' && c <= 'f') {
            digit = c - 'a' + 10;
        } else {
            digit = -1;
        }

        if (digit < 0) {
            return -1;
        }
        value = value << 4 | digit;
    }
    return value;
}

static uint8_t *utf8_put(uint8_t *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (uint8_t)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (uint8_t)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (uint8_t)(0xe0 | code >> 12);
        } else {
            *to++ = (uint8_t)(0xf0 | code >> 18);
            *to++ = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        }
        *to++ = (uint8_t)(0x80 | (code >> 6 & 0x3f));
    }
    *to++ = (uint8_t)(0x80 | (code & 0x3f));
    return to;
}

/* What follows "\u" at *at; *at moves behind it. -1 = no digits. */
static int32_t unicode_next(const uint8_t **at, const uint8_t *end)
{
    int32_t code = hex4(*at, end);
    int32_t low;

    if (code < 0) {
        return -1;
    }
    *at += 4;
    if (code < 0xd800 || code > 0xdfff) {
        return code;
    }
    if (code < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' &&
        (*at)[1] == 'u') {
        low = hex4(*at + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return 0xfffd;
}

/* The escape at *at (its backslash), decoded to *to. */
static bool escape_decode(const uint8_t **at, const uint8_t *end, uint8_t **to)
{
    static const char from[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *found;
    uint8_t c;
    int32_t code;

    if (end - *at < 2) {
        return false;
    }
    c = (*at)[1];
    if (c == 'u') {
        const uint8_t *digits = *at + 2;

        code = unicode_next(&digits, end);
        if (code < 0) {
            return false;
        }
        *at = digits;
        *to = utf8_put(*to, (uint32_t)code);
        return true;
    }
    found = c == 0 ? NULL : strchr(from, c);
    if (found == NULL) {
        return false;
    }
    *(*to)++ = (uint8_t)meant[found - from];
    *at += 2;
    return true;
}

bool json_decode(uint8_t *at,
                 uint8_t *end,
                 size_t *length,
                 struct json_scan *scan)
{
    const uint8_t *from = at;
    uint8_t *to = at;

    while (from < end) {
        unsigned bytes = 1;

        scan->end = (uint8_t *)(uintptr_t)from;
        if (*from == '\\') {
            if (!escape_decode(&from, end, &to)) {
                scan->error = "a wrong escape in a string";
                return false;
            }
            continue;
        }
        if (*from >= 0x80) {
            bytes = utf8_check(from, end);
        }
        if (bytes == 0) {
            scan->error = "a string that is not UTF-8";
            return false;
        }
        for (; bytes > 0; bytes--) {
            *to++ = *from++;
        }
    }
    *length = (size_t)(to - at);
    return true;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

uint8_t *json_scan_number(uint8_t *at)
{
    at += *at == '-';
    if (!is_digit(*at)) {
        return NULL;
    }
    if (*at == '0') {
        at++;
    } else {
        while (is_digit(*at)) {
            at++;
        }
    }
    if (*at == '.') {
        at++;
        if (!is_digit(*at)) {
            return NULL;
        }
        while (is_digit(*at)) {
            at++;
        }
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at)) {
            return NULL;
        }
        while (is_digit(*at)) {
            at++;
        }
    }
    return at;
}

uint8_t *json_scan_word(uint8_t *at)
{
    while (is_digit(*at) || ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') ||
           *at == '-' || *at == '+' || *at == '.') {
        at++;
    }
    return at;
}
