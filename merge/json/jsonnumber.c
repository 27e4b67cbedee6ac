/* jsonnumber.c - numbers of JSON text as integers, exact
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/json/jsonread.h"

#include <stdlib.h>

/* Of a number's text: sign, digits, where the point is. */
struct digits {
    bool is_negative;
    const char *at;
    const char *end;
    int64_t exponent;
};

/* Exponents beyond change nothing: the value is 0 or does not fit. */
#define EXPONENT_MAX 100000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The exponent at *at ("e-3"); it moves behind it. False: no digits. */
static bool exponent_read(const char **at, const char *end, int64_t *value)
{
    bool is_negative;

    (*at)++;
    is_negative = *at < end && **at == '-';
    *at += *at < end && (**at == '-' || **at == '+');
    if (*at == end) {
        return false;
    }
    *value = 0;
    for (; *at < end && is_digit(**at); (*at)++) {
        if (*value < EXPONENT_MAX) {
            *value = *value * 10 + (**at - '0');
        }
    }
    *value = is_negative ? -*value : *value;
    return true;
}

/* Check the whole text: a string of any bytes may come here. */
static bool digits_read(const struct json_token *token, struct digits *digits)
{
    const char *at = token->text;
    const char *end = at + token->length;
    size_t count = 0;

    if ((token->type != JSON_NUMBER && token->type != JSON_STRING) ||
        token->is_long) {
        return false;
    }
    digits->exponent = 0;
    digits->is_negative = at < end && *at == '-';
    at += digits->is_negative;
    digits->at = at;
    for (; at < end && is_digit(*at); at++, count++) {
    }
    if (count > 0 && at < end && *at == '.') {
        const char *point = at++;

        for (; at < end && is_digit(*at); at++) {
        }
        if (at == point + 1) {
            return false;
        }
    }
    digits->end = at;
    if (count > 0 && at < end && (*at == 'e' || *at == 'E') &&
        !exponent_read(&at, end, &digits->exponent)) {
        return false;
    }
    return count > 0 && at == end;
}

/* Value times 10^places, to the nearest (a half away from zero). */
static bool
digits_value(const struct digits *digits, int64_t places, int64_t *value)
{
    const char *point = memchr(digits->at, '.', digits->end - digits->at);
    int64_t left = (point != NULL ? point : digits->end) - digits->at;
    uint64_t sum = 0;
    unsigned next = 0; /* the first digit that is cut off */

    /* So many digits count. */
    left += digits->exponent + places;
    for (const char *at = digits->at; at < digits->end; at++) {
        if (*at == '.') {
            continue;
        }
        if (left-- <= 0) {
            next = left == -1 ? (unsigned)(*at - '0') : 0;
            break;
        }
        if (__builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (unsigned)(*at - '0'), &sum)) {
            return false;
        }
    }
    for (; left > 0 && sum != 0; left--) {
        if (__builtin_mul_overflow(sum, 10u, &sum)) {
            return false;
        }
    }
    sum += next >= 5;
    if (sum > (uint64_t)INT64_MAX + digits->is_negative) {
        return false;
    }
    *value = digits->is_negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

/* Most numbers: up to so many digits, three decimals or none. */
#define DIGITS_SHORT 16
#define DECIMALS 3

/* Value of so many characters (1 to 8) if they are digits; 8 are readable. */
static inline bool eight_value(const char *at, unsigned count, uint64_t *value)
{
    uint64_t text;
    uint64_t high;

    memcpy(&text, at, sizeof(text));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    text = __builtin_bswap64(text);
#endif
    text = (text ^ 0x3030303030303030u) << (64 - 8 * count);
    high = (text + 0x7676767676767676u) | text;
    text = (text * 10) + (text >> 8);
    text = (((text & 0x000000ff000000ffu) * 0x000f424000000064u) +
            (((text >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
           32;
    *value = text;
    return (high & 0x8080808080808080u) == 0;
}

static inline bool digits_sum(const char *at, size_t count, uint64_t *value)
{
    static const uint64_t powers[] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t more;

    if (count - 1 < 8) {
        return eight_value(at, (unsigned)count, value);
    }
    if (count - 1 >= DIGITS_SHORT || !eight_value(at, 8, value) ||
        !eight_value(at + 8, (unsigned)count - 8, &more)) {
        return false;
    }
    *value = *value * powers[count - 8] + more;
    return true;
}

/* False: look closer. */
static inline bool
short_value(const struct json_token *token, unsigned places, int64_t *value)
{
    static const uint64_t powers[] = {1, 10, 100, 1000};
    const char *at = token->text;
    size_t length = token->length;
    bool is_negative = length > 0 && *at == '-';
    uint64_t decimals = 0;
    uint64_t sum;

    if (token->type != JSON_NUMBER || places > DECIMALS) {
        return false;
    }
    at += is_negative;
    length -= is_negative;
    if (places == DECIMALS && length > DECIMALS + 1 &&
        at[length - DECIMALS - 1] == '.') {
        if (!eight_value(at + length - DECIMALS, DECIMALS, &decimals)) {
            return false;
        }
        length -= DECIMALS + 1;
    }
    if (!digits_sum(at, length, &sum) || sum > INT64_MAX / 1000 - 1) {
        return false;
    }
    sum = sum * powers[places] + decimals;
    *value = is_negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

bool json_int(const struct json_token *token, int64_t *value)
{
    struct digits digits;

    if (short_value(token, 0, value)) {
        return true;
    }
    if (!digits_read(token, &digits) || digits.exponent != 0 ||
        memchr(digits.at, '.', digits.end - digits.at) != NULL) {
        return false;
    }
    return digits_value(&digits, 0, value);
}

bool json_decimal(const struct json_token *token,
                  unsigned places,
                  int64_t *value)
{
    struct digits digits;

    return short_value(token, places, value) ||
           (digits_read(token, &digits) &&
            digits_value(&digits, places, value));
}

bool json_double(const struct json_token *token, double *value)
{
    struct digits digits;
    char text[64];

    if (!digits_read(token, &digits) || token->length >= sizeof(text)) {
        return false;
    }
    memcpy(text, token->text, token->length);
    text[token->length] = '\0';
    *value = strtod(text, NULL);
    return true;
}
