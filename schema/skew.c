/* skew.c - the text of CK_TEST_CLOCK, and what it does to a clock
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/skew.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BILLION 1000000000

/* A decimal number times 10^places as an integer: [-]digits[.digits]. What
 * follows is left at *at. 0 or -1. */
static int number_read(const char **at, int places, int64_t *value)
{
    const char *text = *at;
    bool is_negative = *text == '-';
    int64_t sum = 0;
    int digits = 0;
    int left = -1; /* places still to come; -1 = before the point */

    text += is_negative || *text == '+';
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && left < 0);
         text++) {
        if (*text == '.') {
            left = places;
            continue;
        }
        if (left == 0) {
            return -1; /* finer than can be represented */
        }
        if (sum > (INT64_MAX - 9) / 10) {
            return -1;
        }
        sum = sum * 10 + (*text - '0');
        digits++;
        left -= left > 0;
    }
    for (left = left < 0 ? places : left; left > 0; left--) {
        if (sum > INT64_MAX / 10) {
            return -1;
        }
        sum *= 10;
    }
    if (digits == 0) {
        return -1;
    }
    *at = text;
    *value = is_negative ? -sum : sum;
    return 0;
}

static int step_read(struct ck_skew *skew, const char **at)
{
    struct ck_skew_part *part = &skew->steps[skew->steps_count];

    if (skew->steps_count == CK_SKEW_PARTS ||
        number_read(at, 9, &part->from) != 0 || *(*at)++ != ':' ||
        number_read(at, 0, &part->amount) != 0) {
        return -1;
    }
    part->to = part->from;
    skew->steps_count++;
    return 0;
}

static int slew_read(struct ck_skew *skew, const char **at)
{
    struct ck_skew_part *part = &skew->slews[skew->slews_count];

    if (skew->slews_count == CK_SKEW_PARTS ||
        number_read(at, 9, &part->from) != 0 || *(*at)++ != '-' ||
        number_read(at, 9, &part->to) != 0 || part->to < part->from ||
        *(*at)++ != ':' || number_read(at, 3, &part->amount) != 0) {
        return -1;
    }
    skew->slews_count++;
    return 0;
}

/* One key=value. 0 or -1. */
static int item_read(struct ck_skew *skew, const char **at)
{
    const struct {
        const char *key;
        int places;
        int64_t *value;
    } rows[] = {
        {"off=", 0, &skew->offset},
        {"ppm=", 3, &skew->rate_ppb},
        {"at=", 0, &skew->origin},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].key);

        if (strncmp(*at, rows[i].key, length) == 0) {
            *at += length;
            if (number_read(at, rows[i].places, rows[i].value) != 0) {
                return -1;
            }
            /* At -1,000,000 ppm a clock does not move, and waits never end. */
            return skew->rate_ppb > -900000000 ? 0 : -1;
        }
    }
    if (strncmp(*at, "step=", 5) == 0) {
        *at += 5;
        return step_read(skew, at);
    }
    if (strncmp(*at, "slew=", 5) == 0) {
        *at += 5;
        return slew_read(skew, at);
    }
    if (strncmp(*at, "clone", 5) == 0) {
        *at += 5;
        skew->is_clone = true;
        return 0;
    }
    return -1;
}

int ck_skew_parse(const char *text, struct ck_skew *skew)
{
    struct ck_skew read = {.offset = 0};
    const char *at = text;

    do {
        if (item_read(&read, &at) != 0 || (*at != '\0' && *at != ',')) {
            errno = EINVAL;
            return -1;
        }
    } while (*at++ == ',');
    *skew = read;
    return 0;
}

/* ppb of a duration. */
static int64_t share(int64_t duration, int64_t ppb)
{
    return (int64_t)((__int128)duration * ppb / BILLION);
}

int64_t ck_skew_apply(const struct ck_skew *skew, int64_t raw)
{
    int64_t since = raw - skew->origin;
    int64_t shown = raw + skew->offset + share(since, skew->rate_ppb);

    for (size_t i = 0; i < skew->steps_count; i++) {
        shown += since >= skew->steps[i].from ? skew->steps[i].amount : 0;
    }
    for (size_t i = 0; i < skew->slews_count; i++) {
        const struct ck_skew_part *slew = &skew->slews[i];

        if (since > slew->from) {
            shown += share((since < slew->to ? since : slew->to) - slew->from,
                           slew->amount);
        }
    }
    return shown;
}
