/* jsonscan.h - where strings, numbers and words of JSON end, and what they say
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Behind `end` there are JSON_SCAN_PAD readable zeros.
 */
#ifndef CK_MERGE_INPUT_JSONSCAN_H
#define CK_MERGE_INPUT_JSONSCAN_H

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

/* From behind the opening quote. */
struct json_scan json_scan_string(uint8_t *at, uint8_t *end);
/* Of a string that goes on behind `end`: up to where it holds only whole
 * escapes and characters. */
uint8_t *json_scan_whole(uint8_t *at, uint8_t *end);
/* Decode escapes in place and check UTF-8; *length = bytes that are left.
 * False: scan->end and scan->error say where and what. A half of a surrogate
 * pair becomes U+FFFD. */
bool json_decode(uint8_t *at,
                 uint8_t *end,
                 size_t *length,
                 struct json_scan *scan);
/* End of a number by JSON's grammar, NULL = it is none. */
uint8_t *json_scan_number(uint8_t *at);
/* The first byte that belongs to no number and no word. */
uint8_t *json_scan_word(uint8_t *at);

#endif
