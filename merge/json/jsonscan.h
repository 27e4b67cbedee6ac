/* jsonscan.h - where strings, numbers and words of JSON end, and their values
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Behind `end` there are JSON_SCAN_PAD readable zeros.
 */
#ifndef CK_MERGE_JSON_JSONSCAN_H
#define CK_MERGE_JSON_JSONSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JSON_SCAN_PAD 64

enum json_scan_stop {
    JSON_SCAN_QUOTE,   /* end of the string: `end` is its quote */
    JSON_SCAN_CONTROL, /* a control character at `end` */
    JSON_SCAN_MORE,    /* the bytes end before the string does */
};

struct json_scan {
    enum json_scan_stop stop;
    bool needs_decode;
    uint8_t *end;
    const char *error; /* of json_decode() */
};

/* Length of a string that ends within 16 bytes and needs no decoding; -1 =
 * look at it closer. From behind the opening quote. */
#ifdef __SSE2__
static inline int json_scan_short(const uint8_t *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i hit =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                     _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')),
                                  /* signed: control, or above 127 */
                                  _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20))));
    unsigned mask = (unsigned)_mm_movemask_epi8(hit);
    int length = mask == 0 ? 0 : __builtin_ctz(mask);

    return mask != 0 && at[length] == '"' ? length : -1;
}
#else
static inline int json_scan_short(const uint8_t *at)
{
    (void)at;
    return -1;
}
#endif

/* White space of JSON. */
static inline uint8_t *json_scan_space(uint8_t *at)
{
    while (*at <= ' ' &&
           (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Up to the first quote, backslash or control character; *high |= there were
 * bytes above 127. */
uint8_t *json_scan_plain(uint8_t *at, bool *high);
/* From behind the opening quote. */
struct json_scan json_scan_string(uint8_t *at, uint8_t *end);
/* Of a string that goes on behind `end`: up to where it holds only whole
 * escapes and characters. */
uint8_t *json_scan_whole(uint8_t *at, uint8_t *end);
/* Decode escapes in place and check UTF-8; *length = bytes that are left.
 * False: scan->end and scan->error have where and what. A half of a surrogate
 * pair becomes U+FFFD. */
bool json_decode(uint8_t *at,
                 uint8_t *end,
                 size_t *length,
                 struct json_scan *scan);
/* End of a number by JSON's grammar, NULL = it is none. */
uint8_t *json_scan_number(uint8_t *at);
/* The same; numbers without an exponent of less than 31 characters are looked
 * at as a whole, and it does not matter how long they are. */
#ifdef __SSE2__
static inline uint8_t *json_scan_digits(uint8_t *at)
{
    const __m128i zero = _mm_set1_epi8((char)('0' - 128));
    const __m128i ten = _mm_set1_epi8(10 - 128);
    uint8_t *first = at + (*at == '-');
    __m128i low = _mm_loadu_si128((const __m128i *)first);
    __m128i high = _mm_loadu_si128((const __m128i *)(first + 16));
    /* signed: '0' becomes the least number there is */
    uint32_t other = ~((uint32_t)_mm_movemask_epi8(
                           _mm_cmplt_epi8(_mm_sub_epi8(low, zero), ten)) |
                       (uint32_t)_mm_movemask_epi8(
                           _mm_cmplt_epi8(_mm_sub_epi8(high, zero), ten))
                           << 16);
    unsigned whole = other == 0 ? 32 : (unsigned)__builtin_ctz(other);
    unsigned end = whole;

    if (whole < 31 && first[whole] == '.') {
        other &= other - 1;
        end = other == 0 ? 32 : (unsigned)__builtin_ctz(other);
    }
    if (whole == 0 || end > 30 || (*first == '0' && whole > 1) ||
        (end != whole && end == whole + 1) || (first[end] | 0x20) == 'e') {
        return json_scan_number(at);
    }
    return first + end;
}
#else
static inline uint8_t *json_scan_digits(uint8_t *at)
{
    return json_scan_number(at);
}
#endif
/* The first byte that belongs to no number and no word. */
uint8_t *json_scan_word(uint8_t *at);

#endif
